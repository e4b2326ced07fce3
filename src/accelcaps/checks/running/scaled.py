"""Products of 8-bit and 4-bit floats with scales: whole tensors, and blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running.speed import beside_fp32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]

_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The values of a 4-bit float without its sign (OCP Microscaling Formats 1.0, E2M1)."""


def _fp8(left: str, right: str) -> Callable[[Device], Mapping[str, Any]]:
    """Multiply two matrices, each with a scale; the second is of the other type where one asks."""

    def use(device: Device) -> Mapping[str, Any]:
        first, second = getattr(torch, left), getattr(torch, right)

        def operands(rows: int, inner: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
            a = device.normal(rows, inner).float().to(first)
            b = device.normal(columns, inner).float().to(second)  # its transpose is multiplied
            return a, b

        a, b = operands(64, 128, 48)
        scales = [float(each.abs() + 0.5) for each in device.normal(2)]
        one, two = (torch.tensor(each, device=device.name) for each in scales)
        x, y = device.put(a), device.put(b)
        with device.by_torch():
            found = torch._scaled_mm(x, y.t(), one, two, out_dtype=torch.bfloat16)
        reference = (a.double() @ b.double().t()) * float(one) * float(two)
        error = device.agree(found, reference, 0.01, "a product")

        def product(n: int) -> Callable[[], Any]:
            p, q = (device.put(each) for each in operands(n, n, n))
            return lambda: torch._scaled_mm(p, q.t(), one, two, out_dtype=torch.bfloat16)

        return {"error": error, **beside_fp32(device, left, product)}

    return use


def _blocks(kind: str) -> Callable[[Device], Mapping[str, Any]]:
    """Multiply matrices whose scale is the same in every block, so that no layout matters."""

    def use(device: Device) -> Mapping[str, Any]:
        rows, inner, columns = 128, 256, 128
        size = 16 if kind == "nvfp4" else 32
        if kind == "mxfp8":
            a, b = (
                device.normal(n, inner).float().to(torch.float8_e4m3fn) for n in (rows, columns)
            )
            wide = a.double(), b.double()
        else:
            bits = [device.integers(0, 256, n, inner // 2).to(torch.uint8) for n in (rows, columns)]
            a, b = (each.view(torch.float4_e2m1fn_x2) for each in bits)
            wide = _unpacked(bits[0]), _unpacked(bits[1])
        power = int(device.integers(-2, 3, 1))
        scale_type = torch.float8_e4m3fn if kind == "nvfp4" else torch.float8_e8m0fnu
        scales = [
            torch.full((n * inner // size,), 2.0**power).to(scale_type) for n in (rows, columns)
        ]
        there = device.put(a), device.put(b).t(), *(device.put(each) for each in scales)
        with device.by_torch():
            found = torch._scaled_mm(*there, out_dtype=torch.bfloat16)
        reference = (wide[0] @ wide[1].T) * 4.0**power
        return {"error": device.agree(found, reference, 0.01, "a product")}

    return use


def _unpacked(pairs: torch.Tensor) -> torch.Tensor:
    """Return the values of packed 4-bit floats in float64; the low half of a byte is the first."""
    halves = torch.stack([pairs & 15, pairs >> 4], -1).flatten(1).long()
    values = torch.tensor([*_E2M1, *(-each for each in _E2M1)], dtype=torch.float64)
    return values[halves]


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.DTYPE_FP8_E4M3: _fp8("float8_e4m3fn", "float8_e4m3fn"),
    F.DTYPE_FP8_E5M2: _fp8("float8_e5m2", "float8_e4m3fn"),
    F.DTYPE_FP8_E4M3FNUZ: _fp8("float8_e4m3fnuz", "float8_e4m3fnuz"),
    F.DTYPE_FP8_E5M2FNUZ: _fp8("float8_e5m2fnuz", "float8_e4m3fnuz"),
    F.DTYPE_MXFP8: _blocks("mxfp8"),
    F.DTYPE_MXFP4: _blocks("mxfp4"),
    F.DTYPE_NVFP4: _blocks("nvfp4"),
}
