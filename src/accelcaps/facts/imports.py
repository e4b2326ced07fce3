"""The section ``imports.<distribution>``: whether a child process can import what it installs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelcaps.facts.isolation import run_probe
from accelcaps.facts.model import NotObserved
from accelcaps.facts.packages import normalised
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts

__all__ = ["ImportsCollector"]

_DEADLINE = 60.0


class ImportsCollector:
    """Imports the distribution's top-level modules in a child process."""

    section = ("imports",)
    keyed_by = "distribution"

    def collect(self, facts: Facts, key: str) -> dict[str, Any] | NotObserved:
        """Observe the part for one distribution."""
        if normalised(key) not in facts.section("packages"):
            return {"imported": False, "error": "it is not installed"}
        outcome = run_probe("accelcaps.facts.probes.imports:probe", key, deadline=_DEADLINE)
        if "imported" in outcome.results:
            return {"imported": True, "modules": outcome.results["imported"], "error": None}
        failure = outcome.failure or NotObserved(Code.PROBE_CRASHED, "the child said nothing")
        if failure.text.startswith("the imports probe raised "):
            return {"imported": False, "error": failure.text.partition(" raised ")[2]}
        return failure
