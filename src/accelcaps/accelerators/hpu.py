"""Placeholder."""
from accelcaps.accelerators.base import Accelerator
from accelcaps.facts.sources import DeviceSource


class Hpu(Accelerator):
    """Placeholder."""

    name = "hpu"
    title = "hpu"
    seen_by = DeviceSource(torch_type="hpu", module="torch_hpu")
