"""Placeholder."""
from accelcaps.accelerators.base import Accelerator
from accelcaps.facts.sources import DeviceSource


class Rocm(Accelerator):
    """Placeholder."""

    name = "rocm"
    title = "rocm"
    seen_by = DeviceSource(torch_type="rocm", module="torch_rocm")
