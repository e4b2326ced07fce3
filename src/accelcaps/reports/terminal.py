"""Show a report to a person: grouped, what does not work first, at most 100 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from accelcaps.features import REGISTRY
from accelcaps.verdict import Code, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.console import Console

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.accelerators.registry import Choice
    from accelcaps.feature import Feature

__all__ = [
    "STYLE", "WIDTH", "console", "explain_lines", "group_lines", "report_lines", "show", "wrapped",
]  # fmt: skip

WIDTH = 100
_ORDER = (Status.NO, Status.DEGRADED, Status.UNKNOWN, Status.YES)
STYLE = {
    Status.YES: "green",
    Status.DEGRADED: "yellow",
    Status.NO: "red",
    Status.UNKNOWN: "magenta",
}
_LABEL = 12
_Line = tuple[str, str]
"""A style (empty: plain) and a line of text."""


def console() -> Console:
    """Return a console of at most :data:`WIDTH` columns; plain text where it is no terminal."""
    from rich.console import Console

    made = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    made.width = min(made.width, WIDTH) if made.is_terminal else WIDTH
    return made


def show(lines: Iterable[_Line], out: Console) -> None:
    """Print lines in their styles."""
    for style, text in lines:
        out.print(text, style=style or None)


def report_lines(accelerator: Accelerator, choice: Choice) -> Iterator[_Line]:
    """Yield the report of an accelerator."""
    from accelcaps.reports.verification import disagreement_lines

    yield from _head(accelerator, choice)
    verdicts = accelerator.features()
    yield from disagreement_lines(verdicts.values())
    for group in REGISTRY.groups():
        members = {f: v for f, v in verdicts.items() if f.group == group}
        yield "", ""
        yield "bold", group
        yield from group_lines(members, limits=group == "limit")
    yield "", ""
    yield "dim", "accelcaps explain NAME tells what an answer rests on; --json gives everything."


def explain_lines(verdict: Verdict, depth: int = 0) -> Iterator[_Line]:
    """Yield a verdict with everything it rests on, indented by how it follows."""
    yield from _explained(verdict, depth, set(), remedies=True)


def _explained(
    verdict: Verdict, depth: int, told: set[str], *, remedies: bool = False
) -> Iterator[_Line]:
    indent = "  " * depth
    value = f" = {verdict.value}" if verdict.value is not None else ""
    again = verdict.feature in told
    line = f"{indent}{verdict.feature}: {verdict.status}{value} ({verdict.evidence})"
    yield STYLE[verdict.status], line + (", told above" if again and verdict.because else "")
    if again:
        return
    told.add(verdict.feature)
    for reason in verdict.reasons:
        yield from wrapped(f"{indent}  {reason.code}: ", reason.text)
    for remedy in verdict.remedies if remedies else ():
        yield from wrapped(f"{indent}  → ", remedy)
    if verdict.source:
        yield from wrapped(f"{indent}  source: ", verdict.source, "dim")
    for part in verdict.because:
        yield from _explained(part, depth + 1, told)


def _head(accelerator: Accelerator, choice: Choice) -> Iterator[_Line]:
    from accelcaps.facts.model import NotObserved

    devices = accelerator.devices()
    if isinstance(devices, NotObserved):
        named = "devices not known"
    else:
        names = [str(device.get("name") or "unnamed") for device in devices]
        counted = (
            f"{names.count(n)} × {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names)
        )
        named = ", ".join(counted) or "no device"
    yield from wrapped(f"{accelerator.name}: ", named, "bold")
    because = choice.because if choice.chosen == accelerator.name else "it was asked for"
    yield from wrapped("chosen because ", because)
    if choice.chosen == accelerator.name:
        for candidate in choice.overlooked:
            yield from wrapped(
                f"{candidate.name} is there and not used: ", _why_not(candidate.available), "red"
            )
    for by in dict.fromkeys(said.by for said in accelerator.forced.values()):
        names = [f"{f}={s.status}" for f, s in accelerator.forced.items() if s.by == by]
        yield from wrapped(f"forced by {by}: ", ", ".join(names), "magenta")


def group_lines(members: Mapping[Feature, Verdict], *, limits: bool = False) -> Iterator[_Line]:
    """Yield a group: rows that say the same are one row; what works is one line."""
    for status in _ORDER:
        alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for feature, verdict in members.items():
            if verdict.status is status:
                name = str(feature).partition(".")[2]
                if limits and verdict.value is not None:
                    name += f" {verdict.value}"
                elif verdict.value is not None:
                    name += f" ({verdict.value})"
                why = "" if status is Status.YES else _why_not(verdict)
                why = why.removeprefix(f"{feature}: ")
                alike.setdefault((why, verdict.remedies), []).append(name)
        for (why, remedies), names in alike.items():
            yield from _row(status, names, why, remedies)


def _row(status: Status, names: list[str], why: str, remedies: tuple[str, ...]) -> Iterator[_Line]:
    label = f"  {status.value:<{_LABEL - 2}}"
    yield from wrapped(label, ", ".join(names), STYLE[status])
    if why:
        yield from wrapped(" " * _LABEL, why)
    for remedy in remedies:
        yield from wrapped(" " * _LABEL + "→ ", remedy)


def _why_not(verdict: Verdict) -> str:
    against = [reason.text for reason in verdict.reasons if reason.code is not Code.MET]
    return "; ".join(dict.fromkeys(against))


def wrapped(lead: str, text: str, style: str = "") -> Iterator[_Line]:
    """Yield ``text`` in lines that fit, indented by the width of ``lead``."""
    lines = textwrap.wrap(
        text, WIDTH - len(lead), break_long_words=True, break_on_hyphens=False
    ) or [""]
    yield style, lead + lines[0]
    for line in lines[1:]:
        yield style, " " * len(lead) + line
