"""Facts, and how they are collected on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps.facts.model import Collector, Facts, NotObserved
from accelcaps.facts.sources import DeviceSource

if TYPE_CHECKING:
    from accelcaps.facts.sources import Sources

__all__ = ["Collector", "DeviceSource", "Facts", "NotObserved", "this_machine"]


def this_machine(sources: Sources) -> Facts:
    """Return the facts of this machine; nothing is observed until it is asked for.

    Args:
        sources: accelerator name → how its devices are seen.
    """
    from accelcaps.facts.collectors import collectors

    return Facts(collectors=collectors(sources))
