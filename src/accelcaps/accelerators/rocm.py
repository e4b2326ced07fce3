"""AMD GPUs: how they are seen."""

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

__all__ = ["Rocm"]


class Rocm(Accelerator):
    """AMD GPUs, seen and not yet described: what its rows do not say is unknown."""

    name = "rocm"
    title = "AMD GPU"
    seen_by = DeviceSource(
        torch_type="cuda",
        build="hip",
        pci=(("0x1002", "0x03"), ("0x1002", "0x12")),
        visibility=("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
        by_uuid="ROCR_VISIBLE_DEVICES",
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST,
        F.DEVICE_AVAILABLE: usable_device(
            "AMD GPU",
            "the PCI bus (vendor 1002, classes 03 and 12); torch, asked in a child process",
            fact("torch.hip", "ROCm of this PyTorch", code=Code.SOFTWARE_BUILD)
            .exists()
            .remedy("install a PyTorch built with ROCm"),
            hides="ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES",
            remedy="install the amdgpu driver and ROCm",
        ),
    }  # fmt: skip
