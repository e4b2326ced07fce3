"""Run every criterion on one accelerator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from accelcaps.accelerators.registry import get_accelerator, plugins
from accelcaps.checks.catalog import exercisable
from accelcaps.checks.exercise import Exercise, Outcome
from accelcaps.checks.runner import Follow, Runner
from accelcaps.conformance.result import Mark, Result
from accelcaps.facts.isolation import Outcome as Ended
from accelcaps.facts.isolation import run_probe
from accelcaps.features import DEVICE_AVAILABLE
from accelcaps.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.feature import Feature

__all__ = ["Conformance", "Kit", "wanted"]

_PROBE = "accelcaps.conformance.probe"
_WORD = {True: Mark.PASSED, False: Mark.FAILED}


@dataclass
class Conformance:
    """What the kit found.

    Attributes:
        name: the accelerator's name.
        results: one for each criterion and subject.
        exercises: feature → what happened.
        claims: feature → what was claimed of it.
        interrupted: whether Ctrl-C ended it.
    """

    name: str
    results: list[Result] = field(default_factory=list)
    exercises: dict[str, Exercise] = field(default_factory=dict)
    claims: dict[str, Status] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def failures(self) -> list[Result]:
        """The results that are failures."""
        return [each for each in self.results if each.mark is Mark.FAILED]

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and something was asked."""
        return bool(self.results) and not self.failures and not self.interrupted


def wanted(
    accelerator: Accelerator, patterns: Sequence[str] = (), *, builds: bool = False
) -> list[Feature]:
    """Return the features that the kit exercises.

    Args:
        accelerator: whose features.
        patterns: features and groups, where only these are wanted; they are built, too.
        builds: whether to build and run the ops, where nothing is named.

    Raises:
        UnknownFeatureError: when something named does not exist.
    """
    checks = exercisable(accelerator)
    if patterns:
        return [feature for feature in accelerator.matching(patterns) if feature in checks]
    return [feature for feature, check in checks.items() if builds or not check.builds]


class Kit:
    """The criteria, for one accelerator on this machine.

    Args:
        name: the accelerator's name.
        features: features and groups whose claims are tried; all, where none is named.
        jobs: how many checks may run side by side.
        deadline: seconds for one feature; each check has its own where not given.
        builds: whether to build and run the ops too.
        asking: seconds in which asking for everything must end.
        follow: told of each exercise.
    """

    def __init__(
        self,
        name: str,
        features: Sequence[str] = (),
        *,
        jobs: int = 1,
        deadline: float | None = None,
        builds: bool = False,
        asking: float = 120.0,
        follow: Follow | None = None,
    ) -> None:
        self._name = name
        self._features = features
        self._jobs = jobs
        self._deadline = deadline
        self._builds = builds
        self._asking = asking
        self._follow = follow
        self.found = Conformance(name)

    def run(self) -> Conformance:
        """Run every criterion.

        Raises:
            UnknownAcceleratorError: when nothing offers an accelerator of that name.
        """
        trouble = next((p.trouble for p in plugins() if p.name == self._name and p.trouble), None)
        if trouble is not None:
            self._add("loads", "", Mark.FAILED, str(trouble))
            return self.found
        accelerator = get_accelerator(self._name)
        self._add("loads", "", Mark.PASSED, type(accelerator).__module__)
        try:
            self._table()
            self._asked()
            self._asked_with_framework(accelerator)
            self._claims(accelerator)
        except KeyboardInterrupt:
            self.found.interrupted = True
        return self.found

    def _table(self) -> None:
        ended = self._probe("rules", self._name)
        for criterion, key, what in (
            ("declared", "undeclared", "nobody registered this name"),
            ("sourced", "unsourced", "its rule cites no source"),
        ):
            if self._ended(criterion, ended, key):
                named = ended.results[key]
                for feature in named:
                    self._add(criterion, feature, Mark.FAILED, what)
                if not named:
                    self._add(criterion, "", Mark.PASSED)
        if self._ended("rules", ended, "faults"):
            faults: Mapping[str, str] = ended.results["faults"]
            for feature, fault in faults.items():
                self._add("rules", feature, Mark.FAILED, fault)
            if not faults:
                self._add("rules", "", Mark.PASSED)

    def _asked(self) -> None:
        """Judge what asking does to a process that has imported no framework."""
        ended = self._probe("ask", self._name)
        if self._ended("time", ended, "seconds"):
            self._add("time", "", Mark.PASSED, f"{ended.results['seconds']:.1f} s")
        if self._ended("imports", ended, "imports"):
            names = ", ".join(ended.results["imports"])
            self._add("imports", "", _WORD[not names], f"imported: {names}" if names else "")
        self._context(ended)
        if self._ended("round trip", ended, "round_trip"):
            changed = ended.results["round_trip"]
            text = f"answered differently: {', '.join(changed)}" if changed else ""
            self._add("round trip", "", _WORD[not changed], text)

    def _context(self, ended: Ended, when: str = "") -> None:
        if not self._ended("context", ended, "opened"):
            return
        opened, context = ended.results["opened"], ended.results.get("context")
        text = f"opened: {', '.join(opened)}" if opened else ""
        if context:
            text = f"a device context was made in the caller's process{when}"
        self._add("context", "", _WORD[not opened and not context], text)

    def _asked_with_framework(self, accelerator: Accelerator) -> None:
        """Judge what asking does to a process that has imported the framework."""
        if not accelerator.supports(DEVICE_AVAILABLE):
            self._add("fork", "", Mark.LEFT, "there is no usable device here")
            return
        source = accelerator.seen_by
        ended = self._probe("ask_with_framework", self._name, source.torch_type, source.module)
        if ended.results.get("before"):
            text = "importing the framework alone makes a context"
            self._add("context", "with the framework", Mark.LEFT, text)
        elif "opened" in ended.results:
            self._context(ended, ", which had imported the framework")
        if ended.failure is not None:
            self._add("fork", "", Mark.FAILED, ended.failure.text)
        elif "fork" in ended.results:
            status = ended.results["fork"]
            said = ended.printed.strip().splitlines()[-1:] or [""]
            text = f"the forked child failed (status {status}): {said[0]}" if status else ""
            self._add("fork", "", _WORD[status == 0], text)

    def _claims(self, accelerator: Accelerator) -> None:
        runner = Runner(
            accelerator, jobs=self._jobs, deadline=self._deadline, follow=self._follow
        )  # fmt: skip
        features = wanted(accelerator, self._features, builds=self._builds)
        claims = {feature: accelerator.claim(feature) for feature in features}
        self.found.exercises = runner.run(features)
        self.found.interrupted = runner.interrupted
        accelerator.record(self.found.exercises.values())
        for feature in features:
            done = self.found.exercises.get(feature)
            if done is None:
                continue
            claim = claims[feature].status
            self.found.claims[str(feature)] = claim
            speed = accelerator.explain(feature)
            if speed.disagrees and done.outcome is Outcome.WORKED and claim is not Status.NO:
                text = "; ".join(reason.text for reason in speed.reasons)
                self._add("claim", feature, Mark.FAILED, text)
            else:
                self._add("claim", feature, *judged(claim, done))

    def _probe(self, function: str, *arguments: Any) -> Ended:
        return run_probe(
            f"{_PROBE}:{function}", *arguments, deadline=self._asking,
            environment={"ACCELCAPS_PLUGINS": self._plugins()},
        )  # fmt: skip

    def _plugins(self) -> str:
        """Return what to load: no other package's accelerator is blamed on this one."""
        own = {plugin.name for plugin in plugins()}
        return self._name if self._name in own else "none"

    def _ended(self, criterion: str, ended: Ended, key: str) -> bool:
        """Whether the child told ``key``; where not, that is the failure."""
        if key in ended.results:
            return True
        text = ended.failure.text if ended.failure else f"it did not tell {key}"
        self._add(criterion, "", Mark.FAILED, text)
        return False

    def _add(self, criterion: str, subject: str, mark: Mark, text: str = "") -> None:
        self.found.results.append(Result(criterion, str(subject), mark, text))


def judged(claim: Status, done: Exercise) -> tuple[Mark, str]:
    """Return how a claim comes out beside what happened: a pure function.

    A yes must work; a no must fail cleanly, by an exception; an unknown may do either, and must
    not take its process down or hang.
    """
    text = ", ".join(filter(None, (f"{done.outcome}", done.text, done.numbers)))
    absent = done.outcome is Outcome.ABSENT and claim is not Status.NO
    if done.outcome is Outcome.NOT_TRIED or absent:
        return Mark.LEFT, done.text
    if done.outcome in (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.UNSTABLE):
        return Mark.FAILED, f"claimed {claim}; {text}"
    worked = done.outcome is Outcome.WORKED
    if claim is Status.NO and worked:
        return Mark.FAILED, f"claimed no; {text}"
    if claim is Status.NO and done.outcome is Outcome.WRONG:
        return Mark.FAILED, f"claimed no, and does not fail cleanly; {text}"
    if claim in (Status.YES, Status.DEGRADED) and not worked:
        return Mark.FAILED, f"claimed {claim}; {text}"
    return Mark.PASSED, f"claimed {claim}; {text}"
