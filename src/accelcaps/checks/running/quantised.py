"""bitsandbytes: products with int8 weights, and with 4-bit normal floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]


def _int8(device: Device) -> dict[str, float]:
    """A layer with int8 weights is near the layer with the weights as they were."""
    import bitsandbytes

    weight, x = device.normal(64, 128).float() / 12, device.normal(16, 128).float()
    layer = bitsandbytes.nn.Linear8bitLt(128, 64, bias=False, has_fp16_weights=False)
    layer.load_state_dict({"weight": weight.half()})
    layer = layer.to(device.name)
    found = layer(device.put(x.half()))
    return {"error": device.agree(found, x.double() @ weight.double().T, 0.05, "a product")}


def _nf4(device: Device) -> dict[str, float]:
    """Quantise to nf4 and back: each value is near what it was, and the largest of a block kept."""
    import bitsandbytes.functional as functional

    block = 64
    host = device.normal(32, block).float()
    packed, state = functional.quantize_4bit(device.put(host), blocksize=block, quant_type="nf4")
    back = functional.dequantize_4bit(packed, state)
    error = device.agree(back, host.double(), 0.17, "a value")  # half of nf4's widest step
    x = device.normal(8, block).float()
    found = torch.matmul(device.put(x), back.t().contiguous())
    device.agree(found, x.double() @ back.cpu().double().T, 1e-4, "a product")
    return {"error": error}


def _whole(device: Device) -> dict[str, float]:
    _nf4(device)
    return _int8(device)


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.OP_BITSANDBYTES: _whole,
    F.QUANT_INT8: _int8,
    F.QUANT_NF4: _nf4,
}
