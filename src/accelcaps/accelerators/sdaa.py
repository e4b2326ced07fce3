"""Tecorigin SDAA: how they are seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.presence import usable_device
from accelcaps.facts.sources import DeviceSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature
    from accelcaps.rules import Rule

__all__ = ["Sdaa"]


class Sdaa(Accelerator):
    """Tecorigin SDAAs, seen and not yet described: what its rows do not say is unknown."""

    name = "sdaa"
    title = "Tecorigin SDAA"
    seen_by = DeviceSource(
        torch_type="sdaa",
        module="torch_sdaa",
        visibility=("SDAA_VISIBLE_DEVICES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST,
        F.DEVICE_AVAILABLE: usable_device(
            "Tecorigin SDAA",
            "torch_sdaa, asked in a child process",
            hides="SDAA_VISIBLE_DEVICES",
            remedy="install the Tecorigin driver",
        ),
    }  # fmt: skip
