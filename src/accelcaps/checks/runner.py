"""Run checks in child processes: progress, deadlines, several at a time, nothing lost.

A child exercises one feature after the other and reports each. One that crashes or hangs costs
the feature it was at; the others go on in a new child.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from accelcaps.checks.attempt import Attempt
from accelcaps.checks.catalog import Check, exercisable
from accelcaps.checks.evidence import verified
from accelcaps.checks.exercise import Exercise, Outcome, Speed
from accelcaps.errors import VerificationError
from accelcaps.features import COMM_BACKEND, DEVICE_AVAILABLE

if TYPE_CHECKING:
    from accelcaps.accelerators.base import Accelerator
    from accelcaps.feature import Feature

__all__ = ["Follow", "Runner", "exercise"]

Follow: TypeAlias = Callable[[str, "Exercise | None"], None]
"""Called with a feature when it is begun (``None``), and again with what happened."""
_WORST_FIRST = (
    Outcome.CRASHED, Outcome.WRONG, Outcome.RAISED, Outcome.TIMED_OUT, Outcome.UNSTABLE,
    Outcome.ABSENT,
    Outcome.NOT_TRIED, Outcome.WORKED,
)  # fmt: skip


def exercise(
    accelerator: Accelerator, features: Iterable[Feature], *, deadline: float | None = None
) -> dict[str, Exercise]:
    """Exercise features one after the other; those without a check are left out.

    Raises:
        VerificationError: when these are the facts of another machine.
    """
    return Runner(accelerator, deadline=deadline).run(features)


def default_jobs() -> int:
    """Return how many checks run side by side where nobody says: half the cores, at most 4."""
    return max(1, min(4, (os.cpu_count() or 1) // 2))


class Runner:
    """Exercises features of one accelerator on this machine.

    Args:
        accelerator: whose features.
        jobs: how many checks may run side by side; those that measure time run alone.
        deadline: seconds that one feature may take; each check has its own where not given.
        follow: told of what begins and what happened, from any thread.

    Attributes:
        interrupted: whether Ctrl-C ended the run; what was learned until then is returned.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        *,
        jobs: int = 1,
        deadline: float | None = None,
        follow: Follow | None = None,
    ) -> None:
        if not accelerator.facts.can_be_observed:
            raise VerificationError(
                f"{accelerator.facts.name} is a record: features can be exercised only on the "
                "machine itself (leave out --facts and --on)"
            )
        self.interrupted = False
        self._accelerator = accelerator
        self._jobs = max(1, jobs)
        self._deadline = deadline
        self._follow = follow or _tell_nobody
        self._stop = threading.Event()
        self._found: dict[str, Exercise] = {}
        self._devices = _devices(accelerator)

    def run(self, features: Iterable[Feature]) -> dict[str, Exercise]:
        """Exercise these features; those without a check are left out of the answer.

        A failure or success that contradicts the claim is tried once more, by itself.
        """
        checks = exercisable(self._accelerator)
        wanted = {feature: checks[feature] for feature in features if feature in checks}
        try:
            usable = self._presence(wanted, checks)
            tried = {f: c for f, c in wanted.items() if f not in self._found}
            if not usable:
                self._leave_out(f for f, c in tried.items() if c.on_device)
            self._run_units(_units({f: c for f, c in tried.items() if f not in self._found}))
            self._confirm(wanted)
        except KeyboardInterrupt:
            self.interrupted = True
        return dict(self._found)

    def _presence(self, wanted: Mapping[Feature, Check], checks: Mapping[Feature, Check]) -> bool:
        """Exercise the device itself first, where something needs it; return whether it works."""
        if not any(check.on_device for check in wanted.values()):
            return True
        known = self._accelerator.exercised(DEVICE_AVAILABLE)
        if known is None or known.outcome is not Outcome.WORKED:
            self._unit(checks[DEVICE_AVAILABLE], [DEVICE_AVAILABLE])
            known = self._found.get(DEVICE_AVAILABLE)
        return known is None or not known.outcome.failed

    def _leave_out(self, features: Iterable[str]) -> None:
        for feature in features:
            text = f"{self._accelerator.name} has no device here that can be used"
            self._keep(Exercise(feature, Outcome.NOT_TRIED, text))

    def _run_units(self, units: list[tuple[Check, list[str]]]) -> None:
        for check, features in units:
            if check.timed:
                self._unit(check, features)
        with ThreadPoolExecutor(self._jobs) as pool:
            waiting: list[Future[None]] = [
                pool.submit(self._unit, check, features)
                for check, features in units
                if not check.timed
            ]
            try:
                for each in waiting:
                    each.result()
            except KeyboardInterrupt:
                self._stop.set()
                for each in waiting:
                    each.cancel()
                raise

    def _unit(self, check: Check, features: list[str]) -> None:
        """Exercise these features of one check, on a device of each kind."""
        if self._stop.is_set():
            return
        backend = self._accelerator.explain(COMM_BACKEND)
        if check.ranks > 1 and backend.value is None:
            against = "; ".join(reason.text for reason in backend.reasons)
            text = f"no collective backend is known to be here: {against}"
            for feature in features:
                self._keep(Exercise(feature, Outcome.NOT_TRIED, text))
            return
        if check.ranks > len(self._devices) and not self._may_share():
            text = f"{check.ranks} devices are needed, and there is {len(self._devices)}"
            for feature in features:
                self._keep(Exercise(feature, Outcome.NOT_TRIED, text))
            return
        places = _kinds(self._devices) if check.on_device and check.ranks == 1 else [0]
        alone = len(places) == 1
        found = [
            Attempt(
                self._accelerator, check, index, self._deadline, self._stop,
                begun=lambda feature: self._follow(feature, None),
                done=self._keep if alone else None,
            ).run(features)
            for index in places
        ]  # fmt: skip
        for feature in features if not alone else ():
            on_each = [each[feature] for each in found if feature in each]
            if on_each:
                self._keep(_worst(on_each))

    def _may_share(self) -> bool:
        """Whether the ranks may share one device: the host's ranks do."""
        return self._accelerator.seen_by.torch_type == "cpu" or self._accelerator.simulated

    def _confirm(self, wanted: Mapping[Feature, Check]) -> None:
        """Try once more, in a process of its own, what contradicts the claim."""
        for feature, check in wanted.items():
            first = self._found.get(feature)
            if first is None or not self._contradicts(first):
                continue
            self._unit(replace(check, apart=True), [feature])
            second = self._found[feature]
            if second.outcome.failed != first.outcome.failed:
                text = f"it {_said(first)}; tried again, it {_said(second)}"
                self._keep(replace(second, outcome=Outcome.UNSTABLE, text=text))
            elif second.speed is not first.speed:
                self._keep(replace(second, speed=Speed.NOT_TOLD))

    def _contradicts(self, done: Exercise) -> bool:
        claim = self._accelerator.claim(done.feature)
        return verified(claim, done).disagrees

    def _keep(self, done: Exercise) -> None:
        self._found[done.feature] = done
        self._follow(done.feature, done)


def _tell_nobody(feature: str, done: Exercise | None) -> None:
    """Follow nothing."""


def _units(wanted: Mapping[Feature, Check]) -> list[tuple[Check, list[str]]]:
    """Return what each process exercises, the longest first."""
    together: dict[str, tuple[Check, list[str]]] = {}
    apart: list[tuple[Check, list[str]]] = []
    for feature, check in wanted.items():
        if check.apart:
            apart.append((check, [feature]))
        else:
            together.setdefault(check.name, (check, []))[1].append(feature)
    units = [*together.values(), *apart]
    return sorted(units, key=lambda unit: -unit[0].patience)


def _devices(accelerator: Accelerator) -> list[str]:
    """Return the names of the devices in torch's order; the CPU is one."""
    listed = accelerator.facts.get("torch", "devices", accelerator.name, "list")
    if isinstance(listed, list) and listed:
        return [str(device.get("name")) for device in listed]
    return [accelerator.name]


def _kinds(devices: list[str]) -> list[int]:
    """Return the index of one device of each kind."""
    return [devices.index(name) for name in dict.fromkeys(devices)]


def _worst(found: list[Exercise]) -> Exercise:
    slow = [each for each in found if each.speed is Speed.SLOW]
    worst = min(found, key=lambda each: _WORST_FIRST.index(each.outcome))
    return slow[0] if slow and worst.outcome is Outcome.WORKED else worst


def _said(done: Exercise) -> str:
    verb = "was " if done.outcome in (Outcome.WRONG, Outcome.ABSENT, Outcome.NOT_TRIED) else ""
    return f"{verb}{done.outcome}" + (f" ({done.text})" if done.text else "")
