"""The rules and the combinators they are written with. Pure: facts in, findings out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from accelcaps.rules.finding import Finding, best, worst
from accelcaps.verdict import Code, Evidence, Reason, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.facts import Facts

__all__ = [
    "Question",
    "Remedy",
    "Rule",
    "RuleLike",
    "all_of",
    "any_of",
    "as_rule",
    "degraded",
    "no",
    "unknown",
    "value_of",
    "yes",
]


class _Resolver(Protocol):
    def explain(self, feature: str) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What a rule may look at.

    Attributes:
        facts: what was observed.
        resolver: answers for other features, so that a rule can rest on them.
        accelerator: the accelerator's name.
        device: facts of the device in question, for rules that look at one; else ``None``.
    """

    facts: Facts
    resolver: _Resolver
    accelerator: str
    device: Mapping[str, Any] | None = None


Remedy: TypeAlias = "str | Callable[[Question], str | None]"
"""What to do: a sentence, or a function that makes one for this machine (``None``: nothing)."""


class Rule(ABC):
    """A pure function from facts to a finding, made of smaller ones."""

    @property
    def looks_at_device(self) -> bool:
        """Whether the rule must be judged for each device."""
        return any(rule.looks_at_device for rule in self.inner())

    def inner(self) -> tuple[Rule, ...]:
        """Return the rules that this one is made of."""
        return ()

    @abstractmethod
    def judge(self, question: Question) -> Finding:
        """Return what the rule finds."""

    def otherwise(self, alternative: RuleLike) -> Rule:
        """Where this rule says no, let ``alternative`` decide; this rule's reasons stay."""
        return _Otherwise(self, as_rule(alternative))

    def then(self, following: RuleLike) -> Rule:
        """Look further only where this rule does not say no: a no here makes the rest moot.

        Unlike ``all_of``, no remedy is then offered for what would not help. A degraded answer
        stays at least as bad.
        """
        return _Then(self, as_rule(following))

    def remedy(self, *remedies: Remedy) -> Rule:
        """Say what to do where this rule says no or degraded."""
        return _Annotated(self, remedies=remedies)

    def source(self, *sources: str) -> Rule:
        """Cite where the rule comes from."""
        return _Annotated(self, sources=sources)

    def when(self, condition: RuleLike) -> Rule:
        """Apply this rule only where ``condition`` holds; elsewhere it is met."""
        return _Conditional(self, as_rule(condition))

    def where_recorded(self) -> Rule:
        """Leave this rule out where a facts file does not have what it looks at.

        A collector that failed still makes the answer unknown: only what nobody recorded is
        left out.
        """
        return _WhereRecorded(self, None)

    def or_if_not_recorded(self, alternative: RuleLike) -> Rule:
        """Let ``alternative`` decide where a facts file does not have what this looks at."""
        return _WhereRecorded(self, as_rule(alternative))


RuleLike: TypeAlias = "Rule | str"
"""A rule, or the name of a feature that must be there."""


def as_rule(rule: RuleLike) -> Rule:
    """Return ``rule`` itself, or the rule that rests on the feature of that name."""
    return rule if isinstance(rule, Rule) else _FeatureRule(rule)


def all_of(*rules: RuleLike) -> Rule:
    """Every part is needed: the worst part decides."""
    return _Combined(tuple(as_rule(rule) for rule in rules), worst)


def any_of(*rules: RuleLike) -> Rule:
    """One part is enough: the best part decides."""
    return _Combined(tuple(as_rule(rule) for rule in rules), best)


def yes(text: str = "", *, code: Code = Code.MET) -> Rule:
    """Declare that it works, by documentation or the vendor's word."""
    return _Constant(Status.YES, code, text)


def no(code: Code, text: str) -> Rule:
    """Declare that it does not work."""
    return _Constant(Status.NO, code, text)


def degraded(code: Code, text: str) -> Rule:
    """Declare that it works, but not at hardware speed or not fully."""
    return _Constant(Status.DEGRADED, code, text)


def unknown(code: Code, text: str) -> Rule:
    """Declare that it cannot be told."""
    return _Constant(Status.UNKNOWN, code, text)


def value_of(read: Callable[[Question], Finding], *, per_device: bool = False) -> Rule:
    """Make a rule of a function, for what the combinators do not cover."""
    return _Function(read, per_device)


@dataclass(frozen=True)
class _Constant(Rule):
    status: Status
    code: Code
    text: str

    def judge(self, question: Question) -> Finding:
        text = self.text.format(accelerator=question.accelerator)
        reasons = (Reason(self.code, text),) if text else ()
        return Finding(self.status, Evidence.DECLARED, reasons)


@dataclass(frozen=True)
class _FeatureRule(Rule):
    feature: str

    def judge(self, question: Question) -> Finding:
        verdict = question.resolver.explain(self.feature)
        met = Reason(Code.MET, f"{verdict.feature} is there")
        reasons = (met,) if verdict.status is Status.YES else verdict.reasons
        return Finding(
            status=verdict.status,
            evidence=verdict.evidence,
            reasons=reasons,
            remedies=verdict.remedies,
            because=(verdict,),
        )


@dataclass(frozen=True)
class _Combined(Rule):
    parts: tuple[Rule, ...]
    combine: Callable[[list[Finding]], Finding]

    def inner(self) -> tuple[Rule, ...]:
        return self.parts

    def judge(self, question: Question) -> Finding:
        return self.combine([part.judge(question) for part in self.parts])


@dataclass(frozen=True)
class _Wrapping(Rule):
    rule: Rule

    def inner(self) -> tuple[Rule, ...]:
        return (self.rule,)


@dataclass(frozen=True)
class _Otherwise(_Wrapping):
    alternative: Rule

    def inner(self) -> tuple[Rule, ...]:
        return (self.rule, self.alternative)

    def judge(self, question: Question) -> Finding:
        first = self.rule.judge(question)
        if first.status is not Status.NO:
            return first
        second = self.alternative.judge(question)
        if second.status is Status.YES:
            return replace(second, sources=(*first.sources, *second.sources))
        evidence = min(first.evidence, second.evidence, key=lambda each: each.strength)
        if first.evidence is Evidence.DETECTED:  # what the system said decided which rule applies
            evidence = first.evidence
        return Finding(
            status=second.status,
            evidence=evidence,
            reasons=(*first.reasons, *second.reasons),
            remedies=(*first.remedies, *second.remedies),
            sources=(*first.sources, *second.sources),
            because=(*first.because, *second.because),
            value=second.value,
        )


@dataclass(frozen=True)
class _Then(_Wrapping):
    following: Rule

    def inner(self) -> tuple[Rule, ...]:
        return (self.rule, self.following)

    def judge(self, question: Question) -> Finding:
        first = self.rule.judge(question)
        if first.status in (Status.NO, Status.UNKNOWN):
            return first
        second = self.following.judge(question)
        if first.status is Status.DEGRADED:
            return worst([first, second])
        # What was found out decided which rule applies, so the answer rests on it.
        evidence = first.evidence if second.evidence is Evidence.DECLARED else second.evidence
        return replace(second, evidence=evidence, because=(*first.because, *second.because))


@dataclass(frozen=True)
class _Annotated(_Wrapping):
    remedies: tuple[Remedy, ...] = ()
    sources: tuple[str, ...] = ()

    def judge(self, question: Question) -> Finding:
        finding = self.rule.judge(question)
        remedies = finding.remedies
        if finding.status in (Status.NO, Status.DEGRADED):
            offered = (each if isinstance(each, str) else each(question) for each in self.remedies)
            remedies = tuple(dict.fromkeys((*remedies, *(each for each in offered if each))))
        sources = tuple(dict.fromkeys((*finding.sources, *self.sources)))
        return replace(finding, remedies=remedies, sources=sources)


@dataclass(frozen=True)
class _Conditional(_Wrapping):
    condition: Rule

    def inner(self) -> tuple[Rule, ...]:
        return (self.rule, self.condition)

    def judge(self, question: Question) -> Finding:
        condition = self.condition.judge(question)
        if condition.status is Status.NO:
            return Finding(Status.YES, condition.evidence)
        finding = self.rule.judge(question)
        if condition.status is Status.UNKNOWN and finding.status is not Status.YES:
            return condition
        return finding


@dataclass(frozen=True)
class _WhereRecorded(_Wrapping):
    alternative: Rule | None

    def inner(self) -> tuple[Rule, ...]:
        return (self.rule,) if self.alternative is None else (self.rule, self.alternative)

    def judge(self, question: Question) -> Finding:
        finding = self.rule.judge(question)
        not_recorded = finding.reasons and all(
            reason.code is Code.NOT_RECORDED for reason in finding.reasons
        )
        if finding.status is not Status.UNKNOWN or not not_recorded:
            return finding
        if self.alternative is None:
            return Finding(Status.YES, question.facts.evidence)
        return self.alternative.judge(question)


@dataclass(frozen=True)
class _Function(Rule):
    read: Callable[[Question], Finding]
    per_device: bool

    @property
    def looks_at_device(self) -> bool:
        return self.per_device

    def judge(self, question: Question) -> Finding:
        return self.read(question)
