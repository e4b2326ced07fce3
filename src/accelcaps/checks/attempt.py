"""Exercise the features of one check in child processes, until each has an outcome."""

from __future__ import annotations

import secrets
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.checks.exercise import Exercise, Outcome, Speed
from accelcaps.facts.isolation import Outcome as Ended
from accelcaps.facts.isolation import Watch, run_probe
from accelcaps.facts.ops import CALLED
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.checks.catalog import Check

__all__ = ["SETUP", "Attempt"]

SETUP = "setup"
"""What a child announces while it imports the framework, before any feature."""
_START = 90.0
"""Seconds that importing the framework may take, besides the patience for a feature."""


@dataclass
class Attempt:
    """One check on one device.

    Attributes:
        accelerator: whose feature it is.
        check: what is run.
        index: the device's index in torch.
        deadline: seconds for one feature, where the user says; else the check's patience.
        stop: ends the children when it is set.
        begun: told of each process that begins, by its first feature.
        done: told of each outcome; ``None``: somebody else tells.
    """

    accelerator: Accelerator
    check: Check
    index: int
    deadline: float | None
    stop: threading.Event
    begun: Callable[[str], None]
    done: Callable[[Exercise], None] | None

    def run(self, features: list[str]) -> dict[str, Exercise]:
        """Return feature → what happened; where interrupted, only what is known."""
        found: dict[str, Exercise] = {}
        left = list(features)
        while left and not self.stop.is_set():
            self.begun(left[0])
            with tempfile.TemporaryDirectory(prefix="accelcaps-") as scratch:
                children = _Children(self, left, Path(scratch), found)
                children.run()
            if self.stop.is_set():
                break
            for exercise in children.blame():
                self.keep(exercise, found)
            still = [feature for feature in left if feature not in found]
            if len(still) == len(left):  # never the same twice
                text = "its process ended before it had tried it"
                self.keep(Exercise(left[0], Outcome.NOT_TRIED, text), found)
                still = still[1:]
            left = still
        return found

    def keep(self, exercise: Exercise, found: dict[str, Exercise]) -> None:
        found[exercise.feature] = exercise
        if self.done is not None:
            self.done(exercise)

    @property
    def device(self) -> str:
        kind = self.accelerator.seen_by.torch_type
        return kind if kind == "cpu" else f"{kind}:{self.index}"

    def spec(self, features: list[str], scratch: Path, seed: int, rank: int) -> dict[str, Any]:
        source = self.accelerator.seen_by
        backend = self.accelerator.explain("comm.backend").value if self.check.ranks > 1 else None
        return {
            "accelerator": self.accelerator.name,
            "kind": source.torch_type,
            "module": source.module,
            "deepspeed": source.deepspeed,
            "index": self.index + rank if source.torch_type != "cpu" else 0,
            "simulated": self.accelerator.simulated,
            "source": self.check.source,
            "features": features,
            "seed": seed,
            "rank": rank,
            "ranks": self.check.ranks,
            "backend": backend,
            "scratch": str(scratch),
        }

    def environment(self, scratch: Path) -> dict[str, str | None]:
        asked = {
            name: value if value is None else value.format(scratch=scratch)
            for name, value in self.check.environment.items()
        }
        if not self.accelerator.seen_by.deepspeed:
            name = self.accelerator.name
            asked["DS_ACCELERATOR"] = CALLED.get(name, name)
        if self.check.ranks > 1 and sys.platform == "linux":
            asked |= {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}  # both are here
        return asked


class _Children:
    """One child process for each rank, run until the first ends badly or all are done."""

    def __init__(
        self, attempt: Attempt, features: list[str], scratch: Path, found: dict[str, Exercise]
    ) -> None:
        self._attempt = attempt
        self._features = features
        self._scratch = scratch
        self._found = found
        self._ranks = range(attempt.check.ranks)
        self._reported: list[dict[str, Exercise]] = [{} for _ in self._ranks]
        self._ended: list[Ended] = []
        self._seed = secrets.randbits(31)
        self._stop = attempt.stop if len(self._ranks) == 1 else threading.Event()
        self._lock = threading.Lock()
        self._begun = time.monotonic()

    def run(self) -> None:
        """Run them all; what every rank reports of a feature is kept at once."""
        if len(self._ranks) == 1:
            self._ended = [self._child(0)]
            return
        with ThreadPoolExecutor(len(self._ranks)) as pool:
            waiting = [pool.submit(self._child, rank) for rank in self._ranks]
            try:
                while not all(each.done() for each in waiting):
                    wait(waiting, timeout=0.05)
                    if self._attempt.stop.is_set():
                        self._stop.set()
                self._ended = [each.result() for each in waiting]
            finally:
                self._stop.set()

    def blame(self) -> list[Exercise]:
        """Say what the children's bad ends mean for the features that have no outcome yet."""
        blamed = []
        for feature in self._features:  # of which one rank knows that it failed
            known = [each[feature] for each in self._reported if feature in each]
            if feature not in self._found and any(each.outcome.failed for each in known):
                blamed.append(_of_ranks(known))
        bad = [e for e in self._ended if e.failure and e.failure.code is not Code.NOT_OBSERVED]
        if blamed or not bad:
            return blamed
        first = min(bad, key=_timed_out)
        text = first.failure.text.replace("the child probe", "its process") if first.failure else ""
        at = first.doing
        if at is None or at == SETUP:
            text = f"nothing could be tried: {text}"
            left = (f for f in self._features if f not in self._found)
            return [Exercise(feature, Outcome.NOT_TRIED, text) for feature in left]
        if at in self._features and at not in self._found:
            outcome = Outcome.TIMED_OUT if _timed_out(first) else Outcome.CRASHED
            seconds = time.monotonic() - self._begun
            device = self._attempt.device
            return [Exercise(at, outcome, text, {}, Speed.NOT_TOLD, seconds, self._seed, device)]
        return []

    def _child(self, rank: int) -> Ended:
        patience = self._attempt.deadline or self._attempt.check.patience
        ended = run_probe(
            "accelcaps.checks.running.child:exercise",
            self._attempt.spec(self._features, self._scratch, self._seed, rank),
            deadline=_START + patience * (len(self._features) + 1),
            environment=self._attempt.environment(self._scratch),
            watch=Watch(
                patience,
                max(patience, _START),
                self._stop,
                lambda feature, value: self._follow(rank, feature, value),
            ),
        )
        if len(self._ranks) > 1 and len(self._reported[rank]) < len(self._features):
            self._stop.set()  # the others would wait for it
        return ended

    def _follow(self, rank: int, feature: str, value: Mapping[str, Any]) -> None:
        if feature == SETUP:
            return
        done = Exercise.from_json(feature, {**value, "seed": self._seed})
        with self._lock:
            self._reported[rank][feature] = done
            if all(feature in each for each in self._reported):
                exercises = [each[feature] for each in self._reported]
                self._attempt.keep(_of_ranks(exercises), self._found)


def _timed_out(ended: Ended) -> bool:
    return ended.failure is not None and ended.failure.code is Code.PROBE_TIMEOUT


_OF_RANKS = (
    Outcome.WRONG, Outcome.RAISED, Outcome.ABSENT, Outcome.NOT_TRIED, Outcome.WORKED
)  # fmt: skip


def _of_ranks(exercises: list[Exercise]) -> Exercise:
    """Return the worst, saying of which rank it is where they differ."""
    worst = min(exercises, key=lambda each: _OF_RANKS.index(each.outcome))
    if len({each.outcome for each in exercises}) > 1:
        return replace(worst, text=f"rank {exercises.index(worst)}: {worst.text}")
    return worst
