"""Show what exercising showed: what was claimed wrongly first, then what works and what not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from accelcaps.checks.evidence import disagreements
from accelcaps.checks.exercise import Outcome
from accelcaps.reports.terminal import STYLE, group_lines, wrapped
from accelcaps.verdict import Evidence, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.checks.exercise import Exercise
    from accelcaps.feature import Feature

__all__ = ["disagreement_lines", "verification_document", "verification_lines"]

_Line = tuple[str, str]


def verification_lines(
    accelerator: Accelerator,
    found: Mapping[str, Exercise],
    without_check: Sequence[str],
    seconds: float,
) -> Iterator[_Line]:
    """Yield the outcome of a run.

    Args:
        accelerator: whose features, with what happened recorded in it.
        found: feature → what happened.
        without_check: features that were asked for and have no check.
        seconds: how long the run took.
    """
    verdicts = {accelerator.explain(name).feature: accelerator.explain(name) for name in found}
    yield from disagreement_lines(verdicts.values())
    groups: dict[str, dict[Feature, Verdict]] = {}
    for name in found:
        feature = accelerator.feature(name)
        if verdicts[name].evidence is Evidence.VERIFIED or verdicts[name].claimed is not None:
            groups.setdefault(feature.group, {})[feature] = verdicts[name]
    for group, members in groups.items():
        yield "", ""
        yield "bold", group
        yield from group_lines(members)
    left = [(done.feature, done.text) for done in found.values() if _not_tried(done)]
    left += [(name, "there is no check for it") for name in without_check]
    if left:
        yield "", ""
        yield "bold", "not exercised"
        alike: dict[str, list[str]] = {}
        for name, text in left:
            alike.setdefault(text, []).append(str(name))
        for text, names in alike.items():
            yield from wrapped("  ", f"{', '.join(names)}: {text}")
    yield "", ""
    yield from wrapped("", _summary(accelerator.name, list(verdicts.values()), left, seconds))


def disagreement_lines(verdicts: Any) -> Iterator[_Line]:
    """Yield the claims that were wrong; nothing where all were right."""
    wrong = disagreements(verdicts)
    if not wrong:
        return
    yield "bold red", f"claims that are wrong: {len(wrong)}"
    for verdict in wrong:
        yield STYLE[verdict.status], f"  {verdict.feature}: {verdict.status}, not {verdict.claimed}"
        for reason in verdict.reasons:
            yield from wrapped("    ", reason.text)


def verification_document(
    accelerator: Accelerator, found: Mapping[str, Exercise], without_check: Sequence[str]
) -> dict[str, Any]:
    """Return the outcome of a run as JSON-serialisable data.

    Returns:
        ``accelerator``, ``disagreements`` (names), ``verdicts`` (name → verdict), ``exercises``
        (name → what happened) and ``without_check`` (names).
    """
    verdicts = {name: accelerator.explain(name) for name in found}
    return {
        "accelerator": accelerator.name,
        "disagreements": [str(v.feature) for v in disagreements(verdicts.values())],
        "verdicts": {str(name): verdict.to_json() for name, verdict in verdicts.items()},
        "exercises": {str(name): done.to_json() for name, done in found.items()},
        "without_check": [str(name) for name in without_check],
    }


def _not_tried(done: Exercise) -> bool:
    return done.outcome is Outcome.NOT_TRIED


def _summary(
    name: str, verdicts: Sequence[Verdict], left: Sequence[tuple[str, str]], seconds: float
) -> str:
    verified = [v for v in verdicts if v.evidence is Evidence.VERIFIED]
    counts = Counter(verdict.status for verdict in verified)
    told = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    undecided = sum(v.claimed is not None for v in verdicts) - len(verified)
    parts = [f"{name}: {len(verified)} verified in {seconds:.0f} s ({told or 'none'})"]
    if undecided:
        parts.append(f"{undecided} not decided")
    if left:
        parts.append(f"{len(left)} not exercised")
    wrong = len(disagreements(verdicts))
    held = "every claim held" if verified else "no claim was tried"
    parts.append(f"{wrong} claimed wrongly" if wrong else held)
    return "; ".join(parts)
