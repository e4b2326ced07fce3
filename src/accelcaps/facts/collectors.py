"""Every collector, one for each section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps.facts.cpu import CpuCollector
from accelcaps.facts.devices import DevicesCollector
from accelcaps.facts.host import HostCollector
from accelcaps.facts.imports import ImportsCollector
from accelcaps.facts.launchers import LaunchersCollector
from accelcaps.facts.libraries import LibrariesCollector
from accelcaps.facts.limits import LimitsCollector
from accelcaps.facts.ops import OpsCollector
from accelcaps.facts.packages import PackagesCollector
from accelcaps.facts.toolchain import ToolchainCollector
from accelcaps.facts.torch import TorchCollector, TorchDevicesCollector, TorchRuntimeCollector

if TYPE_CHECKING:
    from accelcaps.facts.model import Collector
    from accelcaps.facts.sources import Sources

__all__ = ["collectors"]


def collectors(sources: Sources) -> tuple[Collector, ...]:
    """Return the collectors of this machine.

    Args:
        sources: accelerator name → how its devices are seen.
    """
    return (
        HostCollector(),
        CpuCollector(),
        LimitsCollector(sources),
        PackagesCollector(),
        ToolchainCollector(),
        LaunchersCollector(),
        LibrariesCollector(),
        TorchCollector(),
        TorchRuntimeCollector(),
        TorchDevicesCollector(sources),
        DevicesCollector(sources),
        ImportsCollector(),
        OpsCollector(sources),
    )
