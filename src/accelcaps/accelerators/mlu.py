"""Cambricon MLUs: how they are seen."""

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

__all__ = ["Mlu"]


class Mlu(Accelerator):
    """Cambricon MLUs, seen and not yet described: what its rows do not say is unknown."""

    name = "mlu"
    title = "Cambricon MLU"
    seen_by = DeviceSource(
        torch_type="mlu",
        module="torch_mlu",
        pci=(("0xcabc", "0x12"),),
        nodes=("cambricon_dev[0-9]*",),
        visibility=("MLU_VISIBLE_DEVICES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST,
        F.DEVICE_AVAILABLE: usable_device(
            "Cambricon MLU",
            "the PCI bus (vendor cabc, class 12); /dev/cambricon_dev*; torch_mlu",
            hides="MLU_VISIBLE_DEVICES",
            remedy="install the Cambricon driver",
        ),
    }  # fmt: skip
