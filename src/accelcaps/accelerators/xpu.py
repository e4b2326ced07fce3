"""Intel GPUs: how they are seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.presence import usable_device
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import fact
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature
    from accelcaps.rules import Rule

__all__ = ["Xpu"]


class Xpu(Accelerator):
    """Intel GPUs, seen and not yet described: what its rows do not say is unknown."""

    name = "xpu"
    title = "Intel GPU"
    seen_by = DeviceSource(
        torch_type="xpu",
        build="xpu",
        pci=(("0x8086", "0x03"),),
        visibility=("ZE_AFFINITY_MASK",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST,
        F.DEVICE_AVAILABLE: usable_device(
            "Intel GPU",
            "the PCI bus (vendor 8086, class 03); torch.xpu, asked in a child process",
            fact("torch.xpu", "SYCL of this PyTorch", code=Code.SOFTWARE_BUILD)
            .exists()
            .remedy("install a PyTorch built for XPU"),
            hides="ZE_AFFINITY_MASK",
            remedy="install the Intel GPU driver with Level Zero",
        ),
    }  # fmt: skip
