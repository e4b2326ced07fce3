"""How accelcaps exercises what only a Quoll has. It runs these in child processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from accelcaps.checks.running.deepspeed import builder
from accelcaps.checks.running.device import WrongResultError

if TYPE_CHECKING:
    from accelcaps.checks.running.device import Device

__all__ = ["axpy", "kernel_counter"]


def kernel_counter(device: Device) -> dict[str, str]:
    """Every sum is a kernel more; a copy is none."""
    there = device.put(device.normal(8).float())
    before = torch.quoll.launches()
    for _ in range(5):
        there = there + 1
    counted = torch.quoll.launches() - before
    if counted != 5:
        raise WrongResultError(f"5 sums were counted as {counted} kernels")
    return {"text": "5 sums, 5 kernels"}


def axpy(device: Device) -> dict[str, float]:
    """Build the op, and compare ``y + a x`` with the same in float64."""
    from torch_quoll import address

    op = builder(device, "quoll_axpy").load(verbose=False)
    x, y = device.normal(1000).float(), device.normal(1000).float()
    factor = float(device.normal(1))
    there = device.put(x), device.put(y)
    op.axpy(factor, address(there[0]), address(there[1]), 1000)
    reference = y.double() + factor * x.double()
    return {"error": device.agree(there[1], reference, 1e-6, "y + a x")}
