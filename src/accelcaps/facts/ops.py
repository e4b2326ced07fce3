"""The section ``ops.<accelerator>``: the op builders of the installed DeepSpeed, as they answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from accelcaps.facts.isolation import run_probe
from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts
    from accelcaps.facts.sources import Sources

__all__ = ["CALLED", "OpsCollector"]

_ATTEMPTS = 6
CALLED = {"rocm": "cuda"}
"""What DeepSpeed calls an accelerator, where its name differs."""


class OpsCollector:
    """Asks DeepSpeed in a child process; an op that takes the child down is left out next time.

    Args:
        sources: accelerator name → how its devices are seen.
        deadline: seconds for one child process.
    """

    section = ("ops",)
    keyed_by = "accelerator"

    def __init__(self, sources: Sources, deadline: float = 90.0) -> None:
        self._sources = sources
        self._deadline = deadline

    def collect(self, facts: Facts, key: str) -> dict[str, Any] | NotObserved:
        """Observe the builders of the accelerator called ``key``."""
        if facts.get("packages", "deepspeed") is None:
            return NotObserved(Code.SOFTWARE_MISSING, "DeepSpeed is not installed")
        if facts.get("torch", "version") is None:
            text = "PyTorch is not installed, and DeepSpeed needs it"
            return NotObserved(Code.SOFTWARE_MISSING, text)
        source = self._sources.get(key)
        outside = source.deepspeed if source else ""
        # ROCm is what DeepSpeed calls cuda; one that it does not know is set in the child.
        name = None if outside else CALLED.get(key, key)
        ops: dict[str, Any] = {}
        about: dict[str, Any] = {}
        end = time.monotonic() + 2 * self._deadline
        for _ in range(_ATTEMPTS):
            if time.monotonic() > end:
                break
            outcome = run_probe(
                "accelcaps.facts.probes.deepspeed_ops:probe",
                sorted(ops),
                outside,
                deadline=self._deadline,
                environment={"DS_ACCELERATOR": name},
            )
            results = dict(outcome.results)
            about |= {
                name: results.pop(name) for name in ("accelerator", "names") if name in results
            }
            ops |= results
            if outcome.failure is None:
                break
            stopped_at = outcome.doing or ""
            if stopped_at not in about.get("names", ()) or stopped_at in ops:
                if "names" not in about:
                    return outcome.failure
                break
            ops[stopped_at] = outcome.failure.to_json()
        names = [name for name in about.get("names", []) if name not in ops]
        text = "the probe ended before it had looked at this op"
        ended = outcome.failure if outcome.failure else NotObserved(Code.PROBE_CRASHED, text)
        not_reached = NotObserved(ended.code, ended.text)
        ops |= dict.fromkeys(names, not_reached.to_json())
        return {"builders": ops, "accelerator": about.get("accelerator")}
