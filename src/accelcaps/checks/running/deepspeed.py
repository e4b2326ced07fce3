"""DeepSpeed with the accelerator in question, and its builders by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accelcaps.checks.running.device import Device

__all__ = ["builder", "set_up"]


def set_up(device: Device) -> Any:
    """Return DeepSpeed's accelerator; one that DeepSpeed does not have is given to it."""
    outside = device.spec["deepspeed"]
    from deepspeed import accelerator

    if outside:
        module, _, name = outside.partition(":")
        kind = getattr(importlib.import_module(module), name)
        if not isinstance(accelerator.get_accelerator(), kind):
            accelerator.set_accelerator(kind())
    return accelerator.get_accelerator()


def builder(device: Device, name: str) -> Any:
    """Return the builder of the op called ``name``.

    Raises:
        LookupError: when this DeepSpeed offers no such op for the accelerator.
    """
    accelerator = set_up(device)
    from deepspeed.ops.op_builder.all_ops import ALL_OPS

    found = ALL_OPS.get(name)
    if found is None:
        raise LookupError(f"DeepSpeed offers no op called {name} for {accelerator._name}")
    return found
