"""The section ``ops.<accelerator>``: the op builders of the installed DeepSpeed, as they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelcaps.facts.isolation import run_probe
from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts

__all__ = ["OpsCollector"]

_ATTEMPTS = 6


class OpsCollector:
    """Asks DeepSpeed in a child process; an op that takes the child down is left out next time.

    Args:
        deadline: seconds for one child process.
    """

    section = ("ops",)
    keyed_by = "accelerator"

    def __init__(self, deadline: float = 90.0) -> None:
        self._deadline = deadline

    def collect(self, facts: Facts, key: str) -> dict[str, Any] | NotObserved:
        """Observe the builders of the accelerator called ``key``."""
        if facts.get("packages", "deepspeed") is None:
            return NotObserved(Code.SOFTWARE_MISSING, "DeepSpeed is not installed")
        ops: dict[str, Any] = {}
        about: dict[str, Any] = {}
        for _ in range(_ATTEMPTS):
            outcome = run_probe(
                "accelcaps.facts.probes.deepspeed_ops:probe",
                sorted(ops),
                deadline=self._deadline,
                environment={"DS_ACCELERATOR": key},
            )
            results = dict(outcome.results)
            about |= {
                name: results.pop(name) for name in ("accelerator", "names") if name in results
            }
            ops |= results
            if outcome.failure is None:
                break
            if outcome.doing is None or outcome.doing in ops:
                if "names" not in about:
                    return outcome.failure
                break
            ops[outcome.doing] = outcome.failure.to_json()
        names = [name for name in about.get("names", []) if name not in ops]
        not_reached = NotObserved(Code.PROBE_CRASHED, "the probe ended before it reached this op")
        ops |= dict.fromkeys(names, not_reached.to_json())
        return {"builders": ops, "accelerator": about.get("accelerator")}
