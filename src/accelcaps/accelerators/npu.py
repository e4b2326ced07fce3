"""Placeholder."""
from accelcaps.accelerators.base import Accelerator
from accelcaps.facts.sources import DeviceSource


class Npu(Accelerator):
    """Placeholder."""

    name = "npu"
    title = "npu"
    seen_by = DeviceSource(torch_type="npu", module="torch_npu")
