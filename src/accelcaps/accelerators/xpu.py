"""Placeholder."""
from accelcaps.accelerators.base import Accelerator
from accelcaps.facts.sources import DeviceSource


class Xpu(Accelerator):
    """Placeholder."""

    name = "xpu"
    title = "xpu"
    seen_by = DeviceSource(torch_type="xpu", module="torch_xpu")
