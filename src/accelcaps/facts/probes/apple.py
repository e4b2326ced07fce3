"""Ask macOS for the GPU, without torch."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accelcaps.facts.isolation import Report

__all__ = ["probe"]

# Apple, Metal Feature Set Tables (May 2026): the GPU family of each generation of chips.
_FAMILY = {"M1": "apple7", "M2": "apple8", "M3": "apple9", "M4": "apple9", "M5": "apple10"}


def probe(report: Report) -> None:
    """Report ``driver`` (macOS brings it) and ``devices``: the Apple GPU, where there is one."""
    import platform

    report("driver", {"version": platform.mac_ver()[0]})
    listed = json.loads(_run("system_profiler", "SPDisplaysDataType", "-json"))
    memory = int(_run("sysctl", "-n", "hw.memsize"))
    devices = [
        device
        for entry in listed.get("SPDisplaysDataType", [])
        if (device := describe(entry, memory)) is not None
    ]
    report("devices", devices)


def describe(entry: dict[str, Any], memory: int) -> dict[str, Any] | None:
    """Return an entry of ``system_profiler`` as a device; ``None`` where it is not Apple's.

    Args:
        entry: one GPU; Apple silicon is built in and has neither UUID nor PCI address.
        memory: the machine's memory in bytes, which the GPU shares.
    """
    name = str(entry.get("sppci_model", ""))
    chip = re.match(r"Apple (M\d+)", name)
    if chip is None:
        return None
    cores = str(entry.get("sppci_cores", ""))
    return {
        "uuid": None,
        "pci": None,
        "index": 0,
        "name": name,
        "arch": _FAMILY.get(chip[1], chip[1]),
        "memory_bytes": memory,
        "multiprocessors": int(cores) if cores.isdigit() else None,
        "integrated": True,
    }


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=15, check=True).stdout
