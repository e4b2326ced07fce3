"""DeepSpeed's view of the Quoll: its accelerator, made for ``deepspeed.accelerator``.

A device that computes in the host's memory is nearly DeepSpeed's CPU, so this changes what
differs. A real vendor implements ``DeepSpeedAccelerator`` itself.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from deepspeed.accelerator.cpu_accelerator import CPU_Accelerator

from torch_quoll import device, tensor

__all__ = ["QuollAccelerator"]

_BUILDERS = "torch_quoll.op_builder"


class QuollAccelerator(CPU_Accelerator):  # type: ignore[misc]
    """The accelerator ``quoll``, with op builders of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._name = "quoll"

    def device_name(self, device_index: int | None = None) -> str:
        return "quoll" if device_index is None else f"quoll:{device_index}"

    def device(self, device_index: int | None = None) -> torch.device:
        return torch.device("quoll", device_index or 0)

    def current_device_name(self) -> str:
        return "quoll:0"

    def device_count(self) -> int:
        return device.device_count()

    def is_available(self) -> bool:
        return device.is_available()

    def on_accelerator(self, tensor: torch.Tensor) -> bool:
        return tensor.device.type == "quoll"

    def is_bf16_supported(self) -> bool:
        return torch.bfloat16 in self.supported_dtypes()

    def is_fp16_supported(self) -> bool:
        return True  # emulated

    def supported_dtypes(self) -> list[torch.dtype]:
        generation = device.get_device_properties().architecture
        return [*tensor.NATIVE[generation], *tensor.EMULATED]

    def visible_devices_envs(self) -> list[str]:
        return ["QUOLL_VISIBLE_DEVICES"]

    def op_builder_dir(self) -> str:
        """Return the package whose modules hold the builders: all that is needed to find them."""
        return _BUILDERS

    def get_op_builder(self, class_name: str) -> Any:
        builders = importlib.import_module(_BUILDERS)
        return getattr(builders, class_name, builders.NotImplementedBuilder)

    def create_op_builder(self, class_name: str) -> Any:
        return self.get_op_builder(class_name)()
