"""Placeholder."""
from accelcaps.accelerators.base import Accelerator
from accelcaps.facts.sources import DeviceSource


class Mlu(Accelerator):
    """Placeholder."""

    name = "mlu"
    title = "mlu"
    seen_by = DeviceSource(torch_type="mlu", module="torch_mlu")
