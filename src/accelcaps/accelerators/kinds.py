"""Rules by what kind of device it is: an architecture, a generation, a series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps.accelerators.references import undocumented
from accelcaps.facts.model import NotObserved
from accelcaps.rules import Finding, Question, Rule, value_of
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["by_kind"]


def by_kind(
    kind: Callable[[Question], str | NotObserved | None], table: Mapping[str, Rule], *, what: str
) -> Rule:
    """Let the rule of the device's kind decide.

    Args:
        kind: tells the kind of the device in question; ``None`` where its name does not tell.
        table: kinds, with spaces between them → their rule.
        what: what is not known of a kind that the table does not name.
    """
    rules: dict[str, Rule] = {}
    for names, rule in table.items():
        for name in names.split():
            if name in rules:
                raise ValueError(f"{name} has two rules about {what}")
            rules[name] = rule

    def judge(question: Question) -> Finding:
        found = kind(question)
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, question.facts.evidence, (found.reason(),))
        shown = found or (question.device or {}).get("name") or "a device without a name"
        rule = rules.get(found or "") or undocumented(f"{what} of {shown} was not looked up")
        finding = rule.judge(question)
        if finding.reasons or finding.status is not Status.YES:
            return finding
        reason = Reason(Code.MET, f"the device is of the kind {shown}")
        return Finding(Status.YES, finding.evidence, (reason,))

    return value_of(judge, per_device=True)
