"""Ask the driver which devices there are. accelcaps runs this in a child process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import quoll_driver

if TYPE_CHECKING:
    from accelcaps.facts.isolation import Report

__all__ = ["probe"]


def probe(report: Report) -> None:
    """Report ``driver`` and ``devices``; what is hidden from a process is told apart later."""
    report("driver", {"version": quoll_driver.version()})
    report("devices", quoll_driver.devices())
