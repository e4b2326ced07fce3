"""Placeholder."""
from accelcaps.accelerators.base import Accelerator
from accelcaps.facts.sources import DeviceSource


class Supa(Accelerator):
    """Placeholder."""

    name = "supa"
    title = "supa"
    seen_by = DeviceSource(torch_type="supa", module="torch_supa")
