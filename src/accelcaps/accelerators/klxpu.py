"""Placeholder."""
from accelcaps.accelerators.base import Accelerator
from accelcaps.facts.sources import DeviceSource


class Klxpu(Accelerator):
    """Placeholder."""

    name = "klxpu"
    title = "klxpu"
    seen_by = DeviceSource(torch_type="klxpu", module="torch_klxpu")
