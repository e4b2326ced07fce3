"""References to facts. A comparison of one is a rule, and explains itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from accelcaps.facts.model import NotObserved
from accelcaps.rules.base import Question, Rule
from accelcaps.rules.finding import Finding
from accelcaps.verdict import Code, Evidence, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Reference", "device_fact", "fact", "version", "version_of"]


@dataclass(frozen=True)
class Reference:
    """A fact, by path, with the words and the code that a rule about it uses.

    Attributes:
        path: where the fact lies; the first element names the section. ``{accelerator}`` in it
            stands for the accelerator's name. For facts of a device, the path inside the device.
        label: what to call it in a sentence ("compute capability").
        code: the reason's code where a comparison is not met.
        absent: the sentence for a fact that was observed to be absent (``None``), and
        absent_code: its code.
        of_device: whether the path is inside the device in question.
        is_version: whether it compares as a version rather than as it is.
    """

    path: tuple[str, ...]
    label: str
    code: Code = Code.SOFTWARE_VERSION
    absent: str = ""
    absent_code: Code = Code.SOFTWARE_MISSING
    of_device: bool = False
    is_version: bool = False

    def value(self, question: Question) -> Any:
        """Return the fact, ``None`` where observed to be absent, or why it is not observed."""
        if self.of_device:
            found = _in_device(self, question)
        else:
            path = [part.format(accelerator=question.accelerator) for part in self.path]
            found = question.facts.get(*path)
        if not self.is_version or found is None or isinstance(found, NotObserved):
            return found
        return version(found if isinstance(found, str) else repr(found), self.label)

    def __ge__(self, wanted: Any) -> Rule:
        return _Comparison(self, wanted, "needs at least", lambda a, b: a >= b)

    def __gt__(self, wanted: Any) -> Rule:
        return _Comparison(self, wanted, "needs more than", lambda a, b: a > b)

    def __le__(self, wanted: Any) -> Rule:
        return _Comparison(self, wanted, "needs at most", lambda a, b: a <= b)

    def __lt__(self, wanted: Any) -> Rule:
        return _Comparison(self, wanted, "needs less than", lambda a, b: a < b)

    def between(self, low: str, high: str) -> Rule:
        """Hold for ``low <= fact < high``."""
        return _Comparison(
            self, (low, high), f"needs {low} up to, not including, {high}",
            lambda a, b: b[0] <= a < b[1], tell_wanted=False,
        )  # fmt: skip

    def equals(self, wanted: Any) -> Rule:
        """Hold where the fact is ``wanted``."""
        return _Comparison(self, wanted, "needs", lambda a, b: a == b)

    def is_one_of(self, *wanted: Any) -> Rule:
        """Hold where the fact is one of ``wanted``."""
        words = f"needs {' or '.join(map(str, wanted))}"
        return _Comparison(self, wanted, words, lambda a, b: a in b, tell_wanted=False)

    def has(self, *wanted: str) -> Rule:
        """Hold where the fact, a list, has all of ``wanted``."""
        return _Contains(self, wanted, all)

    def has_any(self, *wanted: str) -> Rule:
        """Hold where the fact, a list, has one of ``wanted``."""
        return _Contains(self, wanted, any)

    def is_not_empty(self, empty: str) -> Rule:
        """Hold where the fact, a list, has something in it; ``empty`` says that it has not."""
        return _Holds(self, f"{self.label} are there", empty, list)

    def exists(self, text: str = "") -> Rule:
        """Hold where the fact was observed to be there (not ``None``)."""
        return _Exists(self, text)

    def holds(self, text: str, unmet: str) -> Rule:
        """Hold where the fact is true; ``text`` says so, ``unmet`` says that it is not."""
        return _Holds(self, text, unmet)

    def coded(self, code: Code) -> Reference:
        """Return the same reference with another code for what is not met."""
        return replace(self, code=code)


def fact(path: str, label: str, **words: Any) -> Reference:
    """Refer to a fact by dotted path."""
    return Reference(tuple(path.split(".")), label, **words)


def version_of(path: str, label: str, **words: Any) -> Reference:
    """Refer to a fact that is a version."""
    return Reference(tuple(path.split(".")), label, is_version=True, **words)


def device_fact(path: str, label: str, **words: Any) -> Reference:
    """Refer to a fact of the device in question; the rule is then judged for each device."""
    return Reference(tuple(path.split(".")), label, of_device=True, **words)


def version(text: str, label: str = "version") -> Version | NotObserved:
    """Read a version leniently: ``2.6.0+cu126`` and ``535.154.05`` both count."""
    try:
        return Version(text)
    except InvalidVersion:
        pass
    try:
        return Version(text.split("-")[0].split(" ")[0])
    except InvalidVersion:
        return NotObserved(Code.NOT_OBSERVED, f"{label}: {text!r} is not a version")


def _in_device(reference: Reference, question: Question) -> Any:
    if question.device is None:
        return NotObserved(
            Code.NOT_OBSERVED,
            f"no {question.accelerator} device is on this host: ask on a host that has one",
        )
    found: Any = question.device
    for part in reference.path:
        if not isinstance(found, Mapping) or part not in found:
            return NotObserved(Code.NOT_RECORDED, f"{reference.label} is not recorded")
        found = found[part]
    stated = NotObserved.read(found)
    return stated if stated is not None else found


@dataclass(frozen=True)
class _ReferenceRule(Rule):
    reference: Reference

    @property
    def looks_at_device(self) -> bool:
        return self.reference.of_device

    def judge(self, question: Question) -> Finding:
        found = self.reference.value(question)
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (found.reason(),))
        if found is None:
            reference = self.reference
            text = reference.absent or f"{reference.label} is not there"
            reason = Reason(reference.absent_code, text)
            return Finding(Status.NO, question.facts.evidence, (reason,))
        return self.compare(found, question)

    @abstractmethod
    def compare(self, found: Any, question: Question) -> Finding:
        """Judge a fact that was observed, and is there."""

    def conclude(
        self, question: Question, met: bool, text: str, code: Code | None = None
    ) -> Finding:
        code = Code.MET if met else (code or self.reference.code)
        status = Status.YES if met else Status.NO
        return Finding(status, question.facts.evidence, (Reason(code, text),))


@dataclass(frozen=True)
class _Comparison(_ReferenceRule):
    wanted: Any
    needs: str
    holds: Callable[[Any, Any], bool]
    tell_wanted: bool = True

    @property
    def looks_at_device(self) -> bool:
        other = isinstance(self.wanted, Reference) and self.wanted.of_device
        return self.reference.of_device or other

    def compare(self, found: Any, question: Question) -> Finding:
        wanted, shown = self.wanted, self.wanted
        if isinstance(wanted, Reference):
            other = wanted
            wanted = other.value(question)
            if isinstance(wanted, NotObserved):
                return Finding(Status.UNKNOWN, Evidence.DETECTED, (wanted.reason(),))
            if wanted is None:
                reason = Reason(other.absent_code, other.absent or f"{other.label} is not there")
                return Finding(Status.NO, question.facts.evidence, (reason,))
            shown = f"{wanted} ({other.label})"
        elif self.reference.is_version:
            if isinstance(wanted, tuple):
                wanted = tuple(Version(each) for each in wanted)
            else:
                wanted = Version(wanted)
        # A nightly or a vendor's build of 2.5 (2.5.0a0+…) has what 2.5 has.
        held = Version(found.base_version) if isinstance(found, Version) else found
        if isinstance(wanted, Version):
            wanted = Version(wanted.base_version)
        try:
            met = self.holds(held, wanted)
        except TypeError:
            text = f"{self.reference.label}: {found!r} cannot be compared with {shown!r}"
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (Reason(Code.NOT_OBSERVED, text),))
        needs = f"{self.needs} {shown}" if self.tell_wanted else self.needs
        return self.conclude(question, met, f"{self.reference.label} is {found}, {needs}")


@dataclass(frozen=True)
class _Contains(_ReferenceRule):
    wanted: tuple[str, ...]
    how: Callable[[Any], bool]

    def compare(self, found: Any, question: Question) -> Finding:
        if isinstance(found, str) or not isinstance(found, (Sequence, Mapping)):
            text = f"{self.reference.label}: {found!r} is not a list"
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (Reason(Code.NOT_OBSERVED, text),))
        there = [each for each in self.wanted if each in found]
        missing = [each for each in self.wanted if each not in found]
        if self.how(each in found for each in self.wanted):
            return self.conclude(question, True, f"{self.reference.label}: {', '.join(there)}")
        text = f"{self.reference.label}: no {', no '.join(missing)}"
        return self.conclude(question, False, text)


@dataclass(frozen=True)
class _Exists(_ReferenceRule):
    text: str

    def compare(self, found: Any, question: Question) -> Finding:
        return self.conclude(question, True, self.text or f"{self.reference.label}: {found}")


@dataclass(frozen=True)
class _Holds(_ReferenceRule):
    text: str
    unmet: str
    kind: type = bool

    def compare(self, found: Any, question: Question) -> Finding:
        if not isinstance(found, self.kind):
            text = f"{self.reference.label}: {found!r} is not a {self.kind.__name__}"
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (Reason(Code.NOT_OBSERVED, text),))
        return self.conclude(question, bool(found), self.text if found else self.unmet)
