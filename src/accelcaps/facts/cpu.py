"""The section ``cpu``: micro-architecture, and the flags as the operating system gives them."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.commands import ask
from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts

__all__ = ["CpuCollector", "flags_of_cpuinfo"]


class CpuCollector:
    """Reads ``/proc/cpuinfo`` (``sysctl`` on macOS); archspec names the micro-architecture."""

    section = ("cpu",)
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section."""
        text = _description()
        return {
            "architecture": platform.machine(),
            "microarchitecture": _microarchitecture(),
            "model": _field(text, "model name", "machdep.cpu.brand_string") or platform.processor(),
            "flags": flags_of_cpuinfo(text),
            "count": os.cpu_count(),
            "usable": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
        }


def flags_of_cpuinfo(text: str) -> list[str] | NotObserved:
    """Return the instruction-set flags that ``/proc/cpuinfo`` or ``sysctl`` lists, sorted.

    Every processor is looked at; a flag counts where all of them have it, since a thread may run
    on any.
    """
    lists = [
        set(line.partition(":")[2].lower().split())
        for line in text.splitlines()
        if line.partition(":")[0].strip().lower()
        in ("flags", "features", "machdep.cpu.features", "machdep.cpu.leaf7_features")
    ]
    if not lists:
        return NotObserved(Code.NOT_OBSERVED, "the operating system lists no CPU flags here")
    if text.startswith("machdep") or "\nmachdep" in text:  # two lists of one processor
        return sorted(set.union(*lists))
    return sorted(set.intersection(*lists))


def _description() -> str:
    if sys.platform == "darwin":
        return ask(["sysctl", "machdep.cpu"]).stdout
    try:
        return Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return ""


def _field(text: str, *names: str) -> str | None:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in names and value.strip():
            return value.strip()
    return None


def _microarchitecture() -> str | NotObserved:
    import archspec.cpu

    try:
        return str(archspec.cpu.host().name)
    except Exception as error:
        return NotObserved(Code.NOT_OBSERVED, f"archspec: {type(error).__name__}: {error}")
