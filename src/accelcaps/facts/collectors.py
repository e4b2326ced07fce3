"""Every collector, one for each section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps.facts.cpu import CpuCollector
from accelcaps.facts.devices import CpuDeviceCollector, CudaDevicesCollector
from accelcaps.facts.host import HostCollector
from accelcaps.facts.imports import ImportsCollector
from accelcaps.facts.libraries import LibrariesCollector
from accelcaps.facts.limits import LimitsCollector
from accelcaps.facts.ops import OpsCollector
from accelcaps.facts.packages import PackagesCollector
from accelcaps.facts.toolchain import ToolchainCollector
from accelcaps.facts.torch import TorchCollector, TorchDevicesCollector, TorchRuntimeCollector

if TYPE_CHECKING:
    from accelcaps.facts.model import Collector

__all__ = ["COLLECTORS"]

COLLECTORS: tuple[Collector, ...] = (
    HostCollector(),
    CpuCollector(),
    LimitsCollector(),
    PackagesCollector(),
    ToolchainCollector(),
    LibrariesCollector(),
    TorchCollector(),
    TorchRuntimeCollector(),
    TorchDevicesCollector(),
    CpuDeviceCollector(),
    CudaDevicesCollector(),
    ImportsCollector(),
    OpsCollector(),
)
