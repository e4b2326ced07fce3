"""What a rule finds, and how findings combine: three-valued logic with ``degraded`` in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accelcaps.verdict import Code, Evidence, Reason, Status, Value, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Finding", "best", "worst"]

_WORST_FIRST = (Status.NO, Status.UNKNOWN, Status.DEGRADED, Status.YES)
_BEST_FIRST = (Status.YES, Status.DEGRADED, Status.UNKNOWN, Status.NO)


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict that does not know yet which feature it is about."""

    status: Status
    evidence: Evidence
    reasons: tuple[Reason, ...] = ()
    remedies: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    because: tuple[Verdict, ...] = ()
    value: Value = None

    def verdict(self, feature: str) -> Verdict:
        """Return the verdict for ``feature``."""
        return Verdict(
            feature=feature,
            status=self.status,
            evidence=self.evidence,
            reasons=self.reasons,
            remedies=self.remedies,
            source="; ".join(self.sources) or None,
            because=self.because,
            value=self.value,
        )

    def with_prefix(self, prefix: str) -> Finding:
        """Return the finding with ``prefix`` before each reason, to say whose reason it is."""
        reasons = tuple(replace(each, text=f"{prefix}: {each.text}") for each in self.reasons)
        return replace(self, reasons=reasons)


def worst(findings: Sequence[Finding]) -> Finding:
    """Combine as *and*: a no decides, else unknown, else degraded; yes only when all are yes."""
    return _combine(findings, _WORST_FIRST, Status.YES)


def best(findings: Sequence[Finding]) -> Finding:
    """Combine as *or*: a yes decides, else degraded, else unknown; no only when all are no."""
    return _combine(findings, _BEST_FIRST, Status.NO)


def _combine(findings: Sequence[Finding], order: Sequence[Status], neutral: Status) -> Finding:
    """Take the first status in ``order`` that occurs; keep every reason, deciding ones first."""
    if not findings:
        return Finding(neutral, Evidence.DECLARED)
    status = next(each for each in order if any(f.status is each for f in findings))
    deciding = [f for f in findings if f.status is status]
    others = [f for f in findings if f.status is not status]
    ranked = deciding + sorted(others, key=lambda finding: _WORST_FIRST.index(finding.status))
    if neutral is Status.NO and status in (Status.YES, Status.DEGRADED):
        ranked = deciding  # an alternative that was not needed is no reason against the answer
    if status is Status.YES:
        reasons = _gather(ranked, lambda finding: finding.reasons)
    else:
        reasons = _unmet(ranked)
    return Finding(
        status=status,
        evidence=min((f.evidence for f in deciding), key=lambda evidence: evidence.strength),
        reasons=reasons,
        remedies=_gather(
            [f for f in ranked if f.status is not Status.YES], lambda finding: finding.remedies
        ),
        sources=_gather(ranked, lambda finding: finding.sources),
        because=_gather(ranked, lambda finding: finding.because),
        value=next((f.value for f in findings if f.value is not None), None),
    )


def _unmet(findings: Sequence[Finding]) -> tuple[Reason, ...]:
    """Return the reasons against a yes: what is met elsewhere is no reason for a no."""
    against = [f for f in findings if f.status is not Status.YES]
    reasons = _gather(against, lambda finding: finding.reasons)
    return tuple(r for r in reasons if r.code is not Code.MET) or reasons


def _gather(findings: Iterable[Finding], part: Callable[[Finding], tuple]) -> tuple:  # type: ignore[type-arg]
    """Collect a part of every finding, in order and without repetition."""
    return tuple(dict.fromkeys(item for finding in findings for item in part(finding)))
