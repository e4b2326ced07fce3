"""What the kit finds: one result for each criterion and subject."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CRITERIA", "Mark", "Result"]

CRITERIA: Mapping[str, str] = {
    "loads": "the package that brings the accelerator loads",
    "declared": "every name in its table is in the vocabulary, or registered as the vendor's own",
    "sourced": "every rule of its table cites a source",
    "rules": "every rule judges whatever was observed without raising, and says why it is no yes",
    "imports": "asking imports no framework and nothing of anybody else in the caller's process",
    "context": "asking opens no device and makes no context in the caller's process",
    "fork": "a process that has asked can fork, and use the device in the child",
    "time": "asking for everything ends in time",
    "round trip": "a report read back gives the same answers",
    "claim": "claimed yes works, claimed no fails cleanly, unknown does no harm",
}
"""Criterion → what it asks for."""


class Mark(str, Enum):
    """How a criterion came out."""

    PASSED = "passed"
    FAILED = "failed"
    LEFT = "left"
    """It could not be tried here."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Result:
    """One criterion on one subject.

    Attributes:
        criterion: a key of :data:`CRITERIA`.
        subject: the feature in question; empty where it is the accelerator as a whole.
        mark: how it came out.
        text: what was found.
    """

    criterion: str
    subject: str
    mark: Mark
    text: str = ""

    def __str__(self) -> str:
        about = f" {self.subject}" if self.subject else ""
        return f"{self.criterion}{about}: {self.mark}" + (f": {self.text}" if self.text else "")

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON-serialisable data."""
        return {
            "criterion": self.criterion,
            "subject": self.subject,
            "mark": self.mark.value,
            "text": self.text,
        }
