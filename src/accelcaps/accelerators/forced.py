"""Verdicts that a user decides: ``ACCELCAPS_FORCE="dtype.bf16=no"``, or an argument."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from accelcaps.errors import OverrideError
from accelcaps.rules import Finding
from accelcaps.verdict import Code, Evidence, Reason, Status

if TYPE_CHECKING:
    from accelcaps.feature import Feature

__all__ = ["Force", "Forced", "read_force"]

Force: TypeAlias = "str | Mapping[str, str]"
"""``"dtype.bf16=no, op.async_io=yes"``, or the same as a mapping."""


@dataclass(frozen=True, slots=True)
class Forced:
    """One forced verdict: its status, and who decided it."""

    status: Status
    by: str

    def finding(self, feature: Feature) -> Finding:
        """Return the finding that stands in place of the rule's."""
        reason = Reason(Code.FORCED, f"{feature} is forced to {self.status} by {self.by}")
        return Finding(self.status, Evidence.DECLARED, (reason,), sources=(f"forced: {self.by}",))


def read_force(force: Force, by: str) -> dict[str, Forced]:
    """Return name → forced verdict.

    Args:
        force: what the user says.
        by: where it was said, for the reason.

    Raises:
        OverrideError: when something in it is not ``name=status``.
    """
    if isinstance(force, Mapping):
        pairs = [(str(name), str(getattr(said, "value", said))) for name, said in force.items()]
    else:
        parts = [part for part in re.split(r"[,;\s]+", force) if part]
        pairs = []
        for part in parts:
            name, equals, said = part.partition("=")
            if not equals or not name:
                raise OverrideError(f"{by}: {part!r} is not of the form name=status")
            pairs.append((name, said))
    found: dict[str, Forced] = {}
    for name, said in pairs:
        if said not in {status.value for status in Status}:
            words = ", ".join(status.value for status in Status)
            raise OverrideError(f"{by}: {name}={said}: the status must be one of {words}")
        if name.startswith("limit."):
            raise OverrideError(f"{by}: {name} is a value, and cannot be forced to {said}")
        found[name] = Forced(Status(said), by)
    return found
