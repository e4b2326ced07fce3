"""Intel Gaudi: how they are seen."""

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

__all__ = ["Hpu"]


class Hpu(Accelerator):
    """Intel Gaudis, seen and not yet described: what its rows do not say is unknown."""

    name = "hpu"
    title = "Intel Gaudi"
    seen_by = DeviceSource(
        torch_type="hpu",
        module="habana_frameworks.torch",
        pci=(("0x1da3", "0x12"),),
        visibility=("HABANA_VISIBLE_MODULES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST,
        F.DEVICE_AVAILABLE: usable_device(
            "Intel Gaudi",
            "the PCI bus (vendor 1da3, class 12); habana_frameworks.torch",
            hides="HABANA_VISIBLE_MODULES",
            remedy="install the Intel Gaudi driver",
        ),
    }  # fmt: skip
