"""DeepSpeed's ops: build each in an empty folder, load it, run it, and compare.

An op that is not compared with anything here is built and loaded; that it loads is not taken for
working, so it stays as it was claimed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running import ops_host, ops_optimizers
from accelcaps.checks.running.deepspeed import builder
from accelcaps.checks.running.device import Device, NotTriedError, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["EXERCISES", "exercise_other"]


def exercise_other(feature: str, device: Device) -> None:
    """Build and load an op that has no comparison here; failing is told, loading is not enough."""
    name = feature.removeprefix("op.")
    loaded = builder(device, name).load(verbose=False)
    if loaded is None:
        raise RuntimeError(f"the builder of {name} loads nothing")
    raise NotTriedError("it was built and loaded here; no check computes with it")


def _quantizer(device: Device) -> dict[str, float]:
    """Quantise to 8 bits in groups and back: no value is off by more than half a step."""
    op = builder(device, "quantizer").load(verbose=False)
    groups, size = 8, 256
    host = device.normal(groups, size).half()
    there = device.put(host)
    packed, scales = op.quantize(there, groups, 8, op.Symmetric)
    back = op.dequantize(packed, scales, groups, 8, op.Symmetric).cpu().double().view(groups, size)
    step = host.double().abs().amax(1, keepdim=True) / 127
    off = float(((back - host.double()).abs() / step).max())
    if not 0 < off < 0.6:
        raise WrongResultError(f"a value is off by {off:.2g} of a step of its group")
    return {"off_in_steps": off}


def _utils(device: Device) -> None:
    """Flatten tensors into one, and take it apart again."""
    op = builder(device, "utils").load(verbose=False)
    parts = [device.normal(n).float() for n in (5, 64, 3)]
    there = [device.put(each) for each in parts]
    flat = op.flatten(there)
    device.same(flat, torch.cat(parts), "the flat tensor")
    for found, part in zip(op.unflatten(flat, there), parts, strict=True):
        device.same(found, part, "a part of it")


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    **ops_optimizers.EXERCISES,
    **ops_host.EXERCISES,
    F.OP_QUANTIZER: _quantizer,
    F.OP_UTILS: _utils,
}
