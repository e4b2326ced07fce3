"""The section ``limits``: memory, memlock, ``/dev/shm``, visible devices, RDMA adapters."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts

__all__ = ["UNLIMITED", "VISIBILITY", "LimitsCollector"]

VISIBILITY = ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES")
"""The environment variables that hide devices, or number them otherwise."""

UNLIMITED = "unlimited"
"""How a limit that is not there is written; every other limit is a number of bytes or things."""


class LimitsCollector:
    """Reads ``/proc``, ``/sys`` and the process's resource limits."""

    section = ("limits",)
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section."""
        return {
            "memory_bytes": _memory(),
            "memlock_bytes": _memlock(),
            "may_lock_any": _has_ipc_lock(),
            "shm_bytes": _shm(),
            "aio_max_nr": _number(Path("/proc/sys/fs/aio-max-nr")),
            "visible_devices": {n: os.environ[n] for n in VISIBILITY if n in os.environ},
            "infiniband": sorted(_names(Path("/sys/class/infiniband"))),
        }


def _memory() -> int | NotObserved:
    """Return the machine's memory, or the control group's limit where that is lower."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError) as error:
        return NotObserved(Code.NOT_OBSERVED, f"memory size: {error}")
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        limit = _number(Path(place))
        if limit is not None:
            total = min(total, limit)
    return total


def _memlock() -> int | str | NotObserved:
    if sys.platform == "win32":
        return NotObserved(Code.NOT_OBSERVED, "Windows has no limit on locked memory to read")
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _has_ipc_lock() -> bool | None:
    """Return whether the process has ``CAP_IPC_LOCK`` (bit 14), which no memlock limit binds."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    effective = next((line for line in status.splitlines() if line.startswith("CapEff:")), "")
    return bool(int(effective.partition(":")[2].strip() or "0", 16) >> 14 & 1)


def _shm() -> int | None:
    try:
        size = os.statvfs("/dev/shm")
    except (AttributeError, OSError):
        return None
    return size.f_frsize * size.f_blocks


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text().strip())
    except (OSError, ValueError):
        return None


def _names(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.iterdir()]
    except OSError:
        return []
