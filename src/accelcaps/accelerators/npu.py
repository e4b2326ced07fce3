"""Huawei Ascend: how they are seen."""

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

__all__ = ["Npu"]


class Npu(Accelerator):
    """Ascend NPUs, seen and not yet described: what its rows do not say is unknown."""

    name = "npu"
    title = "Ascend NPU"
    seen_by = DeviceSource(
        torch_type="npu",
        module="torch_npu",
        pci=(("0x19e5", "0x12"),),
        nodes=("davinci[0-9]*",),
        visibility=("ASCEND_RT_VISIBLE_DEVICES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST,
        F.DEVICE_AVAILABLE: usable_device(
            "Ascend NPU",
            "the PCI bus (vendor 19e5, class 12); /dev/davinci*; torch_npu",
            hides="ASCEND_RT_VISIBLE_DEVICES",
            remedy="install the Ascend driver and CANN",
        ),
    }  # fmt: skip
