"""Placeholder."""
from accelcaps.accelerators.base import Accelerator
from accelcaps.facts.sources import DeviceSource


class Sdaa(Accelerator):
    """Placeholder."""

    name = "sdaa"
    title = "sdaa"
    seen_by = DeviceSource(torch_type="sdaa", module="torch_sdaa")
