"""How the devices of an accelerator are seen: what each accelerator states about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

__all__ = ["DeviceSource", "Sources"]


@dataclass(frozen=True, slots=True)
class DeviceSource:
    """How the devices of one accelerator are seen, from the bus up to the framework.

    Attributes:
        torch_type: its device type in torch, as in ``torch.device("cuda")``.
        module: the Python module that adds it to torch; empty where torch itself has it.
        build: the name in ``torch/version.py`` that is set in a torch built for it (``hip``);
            empty where every build has it, or ``module`` brings it.
        system: the only operating system that has it, as ``platform.system()`` calls it.
        pci: PCI vendor id and the beginnings of the device classes, such as
            ``("0x10de", "0x03")``.
        nodes: patterns of device nodes under ``/dev``, each of which is a device.
        probe: ``module:function`` that reports ``driver`` and ``devices`` without the framework;
            run in a child process.
        without_signs: whether to ask ``probe`` although neither bus nor nodes show a device.
        visibility: the environment variables that hide devices; each numbers what the one before
            it left.
        by_uuid: the one of them that takes UUIDs, where one does.
        deepspeed: ``module:Class`` of DeepSpeed's accelerator, where DeepSpeed does not have it.
    """

    torch_type: str
    module: str = ""
    build: str = ""
    system: str = ""
    pci: tuple[tuple[str, str], ...] = ()
    nodes: tuple[str, ...] = ()
    probe: str = ""
    without_signs: bool = False
    visibility: tuple[str, ...] = ()
    by_uuid: str = ""
    deepspeed: str = ""


Sources: TypeAlias = "Mapping[str, DeviceSource]"
"""Accelerator name → how its devices are seen."""
