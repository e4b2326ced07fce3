"""What happened when a feature was exercised: plain data, a fact like any other."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SECTION", "Exercise", "Outcome", "Speed"]

SECTION = "exercised"
"""The section of the facts that exercises are kept in: ``exercised.<accelerator>.<feature>``."""


class Outcome(str, Enum):
    """How an exercise ended."""

    WORKED = "worked"
    """It ran, and what it gave agreed with the reference."""
    WRONG = "wrong"
    """It ran, and gave something else than the reference."""
    RAISED = "raised"
    """It failed cleanly, with an exception."""
    CRASHED = "crashed"
    """It took its process down."""
    TIMED_OUT = "timed out"
    """It did not end in time."""
    UNSTABLE = "unstable"
    """It worked once and failed once."""
    ABSENT = "absent"
    """torch's own way to it is not there for this device; the vendor may have another one."""
    NOT_TRIED = "not tried"
    """It could not be exercised here; that says nothing about the feature."""

    def __str__(self) -> str:
        return self.value

    @property
    def failed(self) -> bool:
        """Whether the feature does not work."""
        return self in (Outcome.WRONG, Outcome.RAISED, Outcome.CRASHED)


class Speed(str, Enum):
    """What timing beside fp32 in the same process tells."""

    HARDWARE = "hardware"
    """Too fast to be emulated."""
    SLOW = "slow"
    """Too slow to be done by the hardware's units for it."""
    NOT_TOLD = "not told"
    """In between, or not timed: timing does not decide."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise of one feature.

    Attributes:
        feature: the feature's name.
        outcome: how it ended.
        text: what happened, where it did not work; else what was compared.
        measured: numbers and words: ``error`` (of the largest value of the reference), ``ratio``
            (time beside fp32 in the same process) and others.
        speed: what timing tells.
        seconds: how long it took, with all it waited for.
        seed: what the random input was made from.
        device: torch's name for the device, such as ``cuda:0``.
    """

    feature: str
    outcome: Outcome
    text: str = ""
    measured: Mapping[str, Any] = field(default_factory=dict)
    speed: Speed = Speed.NOT_TOLD
    seconds: float = 0.0
    seed: int | None = None
    device: str = ""

    def __str__(self) -> str:
        said = f": {self.text}" if self.text else ""
        return f"{self.feature}: {self.outcome}{said} ({self.seconds:.1f} s)"

    @property
    def numbers(self) -> str:
        """What was measured, in words."""
        told = []
        if "ratio" in self.measured:
            told.append(f"{self.measured['ratio']:.3g} × the time of fp32")
        if "error" in self.measured:
            error = self.measured["error"]
            told.append(f"off by {error:.2g} of the largest value at most" if error else "exact")
        return ", ".join(told)

    def to_json(self) -> dict[str, Any]:
        """Return the exercise as JSON-serialisable data."""
        return {
            "outcome": self.outcome.value,
            "text": self.text,
            "measured": dict(self.measured),
            "speed": self.speed.value,
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "device": self.device,
        }

    @classmethod
    def from_json(cls, feature: str, data: Mapping[str, Any]) -> Exercise:
        """Read what :meth:`to_json` wrote.

        Raises:
            KeyError, ValueError: when something is missing or is no word of ours.
        """
        return cls(
            feature=feature,
            outcome=Outcome(data["outcome"]),
            text=str(data.get("text", "")),
            measured=dict(data.get("measured", {})),
            speed=Speed(data.get("speed", "not told")),
            seconds=float(data.get("seconds", 0.0)),
            seed=data.get("seed"),
            device=str(data.get("device", "")),
        )
