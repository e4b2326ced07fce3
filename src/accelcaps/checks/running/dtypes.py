"""Data types: make, convert, compute, differentiate, multiply; and time beside fp32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running import scaled
from accelcaps.checks.running.device import NotTriedError, WrongResultError
from accelcaps.checks.running.speed import beside_fp32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]

_TYPES = {
    F.DTYPE_FP64: "float64", F.DTYPE_FP32: "float32", F.DTYPE_FP16: "float16",
    F.DTYPE_BF16: "bfloat16", F.DTYPE_COMPLEX64: "complex64", F.DTYPE_COMPLEX128: "complex128",
}  # fmt: skip
_STORED = {
    F.DTYPE_FP64_STORAGE: "float64", F.DTYPE_FP32_STORAGE: "float32",
    F.DTYPE_FP16_STORAGE: "float16", F.DTYPE_BF16_STORAGE: "bfloat16",
    F.DTYPE_TF32_STORAGE: "float32", F.DTYPE_COMPLEX64_STORAGE: "complex64",
    F.DTYPE_COMPLEX128_STORAGE: "complex128", F.DTYPE_INT8_STORAGE: "int8",
    F.DTYPE_FP8_E4M3_STORAGE: "float8_e4m3fn", F.DTYPE_FP8_E5M2_STORAGE: "float8_e5m2",
    F.DTYPE_FP8_E4M3FNUZ_STORAGE: "float8_e4m3fnuz",
    F.DTYPE_FP8_E5M2FNUZ_STORAGE: "float8_e5m2fnuz",
}  # fmt: skip


def _dtype(name: str) -> torch.dtype:
    found: torch.dtype = getattr(torch, name)  # raises where this torch has no such type
    return found


def _host_values(device: Device, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Return random numbers on the host, rounded to the type by the host."""
    if dtype.is_complex:
        return torch.complex(device.normal(*shape), device.normal(*shape)).to(dtype)
    if not dtype.is_floating_point:
        return device.integers(-128, 128, *shape).to(dtype)
    return device.normal(*shape).to(dtype)


def _tolerance(dtype: torch.dtype) -> float:
    """Return how far off a sum of some 80 products may be, as a part of the largest value.

    A type of 16 bits rounds a result that was summed up in 32: by half of its eps. Wider types
    round each of the sums.
    """
    return float(torch.finfo(dtype).eps) * (2 if dtype.itemsize == 2 else 16)


def _compute(name: str) -> Callable[[Device], Mapping[str, Any]]:
    def use(device: Device) -> Mapping[str, Any]:
        dtype = _dtype(name)
        wide = torch.complex128 if dtype.is_complex else torch.float64
        tolerance = _tolerance(dtype)
        a, b = _host_values(device, dtype, 48, 80), _host_values(device, dtype, 80, 56)
        weights = _host_values(device, dtype, 48, 56)
        x, y, w = (device.put(each) for each in (a, b, weights))
        a, b, weights = a.to(wide), b.to(wide), weights.to(wide)
        device.agree(x * w[:, :1] + x, a * weights[:, :1] + a, tolerance, "an elementwise result")
        x.requires_grad_(True)
        product = x @ y
        error = device.agree(product, a @ b, tolerance, "a matrix product")
        torch.autograd.backward(product, w)
        if x.grad is None:
            raise WrongResultError("backward gave no gradient")
        device.agree(x.grad, weights @ b.mH, tolerance, "a gradient")
        if dtype is torch.float32:
            return {"error": error, "ratio": 1.0}
        return {"error": error, **beside_fp32(device, name, lambda n: _product(device, dtype, n))}

    return use


def _product(device: Device, dtype: torch.dtype, n: int) -> Callable[[], Any]:
    a, b = (device.put(_host_values(device, dtype, n, n)) for _ in "ab")
    return lambda: a @ b


def _store(name: str) -> Callable[[Device], None]:
    def use(device: Device) -> None:
        dtype = _dtype(name)
        host = _host_values(device, dtype, 37, 3)
        there = device.put(host)
        device.same(there, host, "what came back")
        if dtype in (torch.float32, torch.float64):
            narrow = _host_values(device, torch.float32, 37)
            device.same(device.put(narrow).to(dtype), narrow.to(dtype), "what was converted")
            return
        wide = torch.complex64 if dtype.is_complex else torch.float32
        if dtype is torch.complex128:  # from the narrower one; no device is asked for a wider one
            narrow = _host_values(device, wide, 37)
            device.same(device.put(narrow).to(dtype), narrow.to(dtype), "what was converted")
            return
        device.same(there.to(wide), host.to(wide), "what was converted")
        back = host.to(wide)
        device.same(device.put(back).to(dtype), host, "what was converted back")

    return use


def _tf32(device: Device) -> Mapping[str, Any]:
    """A product that may use TF32 is less precise than fp32, and no less than TF32."""
    a, b = device.normal(512, 512).float(), device.normal(512, 512).float()
    x, y = device.put(a), device.put(b)
    torch.set_float32_matmul_precision("high")
    try:
        found = x @ y
        reference = a.double() @ b.double()
        error = device.agree(found, reference, 4e-3, "a product in TF32")
    finally:
        torch.set_float32_matmul_precision("highest")
    if error < 2e-5:
        raise NotImplementedError("the product has the precision of fp32: TF32 was not used")
    return {"error": error}


def _autocast(name: str) -> Callable[[Device], Mapping[str, Any]]:
    def use(device: Device) -> Mapping[str, Any]:
        dtype = _dtype(name)
        a, b = device.normal(32, 48).float(), device.normal(48, 16).float()
        x, y = device.put(a).requires_grad_(True), device.put(b)
        with torch.autocast(device.kind, dtype=dtype):
            found = x @ y
        if found.dtype is not dtype:
            raise NotImplementedError(f"the product is {found.dtype}: autocast did not cast it")
        tolerance = _tolerance(dtype)
        error = device.agree(found, a.double() @ b.double(), tolerance, "a product")
        found.float().sum().backward()
        if x.grad is None:
            raise WrongResultError("backward gave no gradient")
        rows = b.double().sum(1).expand(32, 48)
        device.agree(x.grad, rows, tolerance, "a gradient")
        return {"error": error}

    return use


def _grad_scaler(device: Device) -> Mapping[str, Any]:
    """Steps by the unscaled gradient, and skips a step whose gradient is not finite."""
    start, gradient = device.normal(64).float(), device.normal(64).float()
    parameter = torch.nn.Parameter(device.put(start))
    factor = device.put(gradient)
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scaler = torch.amp.GradScaler(device.kind, init_scale=2.0**10)
    scaler.scale((parameter * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    expected = start.double() - 0.5 * gradient.double()
    error = device.agree(parameter, expected, 1e-6, "a step")
    optimizer.zero_grad()
    scaler.scale((parameter * factor * float("inf")).sum()).backward()
    scaler.step(optimizer)
    device.agree(parameter, expected, 1e-6, "a step that had to be skipped")
    return {"error": error}


def _int8(device: Device) -> Mapping[str, Any]:
    def product(n: int) -> Callable[[], Any]:
        x, y = (device.put(device.integers(-128, 128, n, n).to(torch.int8)) for _ in "ab")
        return lambda: torch._int_mm(x, y)

    a = device.integers(-128, 128, 64, 96).to(torch.int8)
    b = device.integers(-128, 128, 96, 32).to(torch.int8)
    with device.by_torch():
        found = torch._int_mm(device.put(a), device.put(b))
    device.same(found, (a.int() @ b.int()), "a product")
    return beside_fp32(device, "int8", product)


def _int4(device: Device) -> Mapping[str, Any]:
    """Multiply by weights of 4 bits with a scale and a zero for each group of 32."""
    rows, inner, columns, group = 32, 128, 64, 32
    a = device.normal(rows, inner).bfloat16()
    weights = device.integers(0, 16, columns, inner)
    scales = (device.normal(inner // group, columns).abs() + 0.1).bfloat16()
    zeros = device.normal(inner // group, columns).bfloat16()
    about = torch.stack([scales, zeros], -1)
    spread = [each.double().repeat_interleave(group, 0).T for each in (scales, zeros)]
    reference = a.double() @ ((weights.double() - 8) * spread[0] + spread[1]).T
    if device.kind == "cpu":
        packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(weights.int(), 2)
        found = torch.ops.aten._weight_int4pack_mm_for_cpu(a, packed, group, about)
    else:
        pairs = (weights[:, ::2] << 4 | weights[:, 1::2]).to(torch.uint8)
        there = device.put(pairs), device.put(a), device.put(about)
        with device.by_torch():
            packed = torch.ops.aten._convert_weight_to_int4pack(there[0], 2)
            found = torch.ops.aten._weight_int4pack_mm(there[1], packed, group, there[2])
    return {"error": device.agree(found, reference, 0.01, "a product")}


def _int4_storage(device: Device) -> None:
    there = torch.empty(8, dtype=_dtype("int4"), device=device.name)
    host = there.cpu()
    there.to(torch.int8)
    if host.dtype is not torch.int4:
        raise NotTriedError("what came back is not int4")


def _packed_storage(*names: str) -> Callable[[Device], None]:
    """Elements and scales of a block-scaled type come back as they were put there."""

    def use(device: Device) -> None:
        for name in names:
            dtype = _dtype(name)
            host = device.integers(0, 127, 64).to(torch.uint8).view(dtype)
            device.same(device.put(host), host, f"what came back as {name}")

    return use


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    **{feature: _compute(name) for feature, name in _TYPES.items()},
    **{feature: _store(name) for feature, name in _STORED.items()},
    F.DTYPE_TF32: _tf32,
    F.DTYPE_INT8: _int8,
    F.DTYPE_INT4: _int4,
    F.DTYPE_INT4_STORAGE: _int4_storage,
    F.DTYPE_FP16_AUTOCAST: _autocast("float16"),
    F.DTYPE_BF16_AUTOCAST: _autocast("bfloat16"),
    F.DTYPE_FP16_GRAD_SCALER: _grad_scaler,
    F.DTYPE_MXFP8_STORAGE: _packed_storage("float8_e4m3fn", "float8_e8m0fnu"),
    F.DTYPE_MXFP4_STORAGE: _packed_storage("float4_e2m1fn_x2", "float8_e8m0fnu"),
    F.DTYPE_NVFP4_STORAGE: _packed_storage("float4_e2m1fn_x2", "float8_e4m3fn"),
    **scaled.EXERCISES,
}
