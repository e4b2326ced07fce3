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
    from accelcaps.facts.sources import Sources

__all__ = ["UNLIMITED", "LimitsCollector"]

_ORDER = "CUDA_DEVICE_ORDER"
"""Numbers devices otherwise; what hides them, each accelerator states."""

UNLIMITED = "unlimited"
"""How a limit that is not there is written; every other limit is a number of bytes or things."""


class LimitsCollector:
    """Reads ``/proc``, ``/sys`` and the process's resource limits.

    Args:
        sources: accelerator name → how its devices are seen.
    """

    section = ("limits",)
    keyed_by = ""

    def __init__(self, sources: Sources) -> None:
        hiding = [name for source in sources.values() for name in source.visibility]
        self._variables = tuple(dict.fromkeys([_ORDER, *hiding]))

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section."""
        return {
            "memory_bytes": _memory(),
            "memlock_bytes": _memlock(),
            "may_lock_any": _has_ipc_lock(),
            "shm_bytes": _shm(),
            "aio_max_nr": _number(Path("/proc/sys/fs/aio-max-nr")),
            "visible_devices": {
                name: os.environ[name] for name in self._variables if name in os.environ
            },
            "o_direct": _takes_o_direct(Path.cwd()),
            "huge_pages": _huge_pages(),
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


def _takes_o_direct(folder: Path) -> bool | NotObserved:
    """Open a file without a name in a folder for direct access; nothing is left behind."""
    flags = [getattr(os, name, None) for name in ("O_DIRECT", "O_TMPFILE", "O_RDWR")]
    direct, unnamed, writing = flags
    if direct is None or unnamed is None or writing is None:
        return NotObserved(Code.NOT_OBSERVED, f"O_DIRECT is not known on {sys.platform}")
    try:
        os.close(os.open(folder, unnamed | writing))
    except OSError as error:
        text = f"{folder} takes no unnamed file to try O_DIRECT with: {error.strerror}"
        return NotObserved(Code.NOT_OBSERVED, text)
    try:
        os.close(os.open(folder, direct | unnamed | writing))
    except OSError:
        return False
    return True


def _huge_pages() -> str | int | None:
    """Return how huge pages are given: ``always``, ``madvise``, ``never``, or reserved ones."""
    reserved = _number(Path("/proc/sys/vm/nr_hugepages"))
    if reserved:
        return reserved
    try:
        text = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        return None
    return text.partition("[")[2].partition("]")[0] or None


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
