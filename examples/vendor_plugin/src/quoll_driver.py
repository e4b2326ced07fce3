"""The driver of the made-up Quoll: which devices there are.

A real vendor has a library or a command for this. It needs neither PyTorch nor a device context,
so it can be asked on any host. Two environment variables change what this one answers, so that
other machines can be tried out: ``QUOLL_ARCH`` (``q1`` or ``q2``) and ``QUOLL_DRIVER`` (a version).
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["HIDES", "devices", "version", "visible"]

HIDES = "QUOLL_VISIBLE_DEVICES"
"""The variable that hides devices: numbers or UUIDs, those that stay visible."""


def version() -> str:
    """Return the driver's version."""
    return os.environ.get("QUOLL_DRIVER", "1.2")


def devices() -> list[dict[str, Any]]:
    """Return every device of this host, hidden ones too, as accelcaps names their facts."""
    generation = os.environ.get("QUOLL_ARCH", "q2")
    return [
        {
            "index": 0,
            "uuid": "QUOLL-0",
            "name": f"Quoll {generation.upper()}",
            "arch": generation,
            "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            "multiprocessors": 1,
            "integrated": True,  # it computes in the host's memory, on the host's processor
        }
    ]


def visible() -> list[dict[str, Any]]:
    """Return the devices that this process may use."""
    listed = os.environ.get(HIDES)
    if listed is None:
        return devices()
    kept = [entry.strip() for entry in listed.split(",")]
    return [each for each in devices() if {str(each["index"]), each["uuid"]} & set(kept)]
