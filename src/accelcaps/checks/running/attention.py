"""Attention kernels, each forced, beside attention computed in float64 on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from accelcaps import features as F
from accelcaps.checks.running.device import AbsentError, NotTriedError, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]

_Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
_BATCH, _HEADS, _LENGTH, _WIDTH = 2, 4, 128, 64


def _inputs(device: Device, dtype: torch.dtype) -> _Inputs:
    """Return query, key and value, [batch, heads, length, width], rounded to the type."""
    shape = (_BATCH, _HEADS, _LENGTH, _WIDTH)
    query, key, value = (device.normal(*shape).to(dtype) for _ in range(3))
    return query, key, value


def _reference(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return causal attention in float64."""
    scores = query.double() @ key.double().transpose(-1, -2) / _WIDTH**0.5
    ahead = torch.ones(_LENGTH, _LENGTH, dtype=torch.bool).triu(1)
    return scores.masked_fill(ahead, float("-inf")).softmax(-1) @ value.double()


def _types(device: Device) -> tuple[torch.dtype, ...]:
    """Return the types to try: kernels for accelerators take 16 bits only."""
    return (torch.float32,) if device.kind == "cpu" else (torch.bfloat16, torch.float16)


_KERNELS = {
    "FLASH_ATTENTION": "flash_attention", "EFFICIENT_ATTENTION": "efficient_attention",
    "CUDNN_ATTENTION": "cudnn_attention",
}  # fmt: skip
"""torch's name of a backend → what its operators are called (torch/nn/attention)."""
_VENDORS_OWN = "fused_attention_overrideable"


class _Called(TorchDispatchMode):  # type: ignore[misc]
    """Keeps the names of the operators that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Keep the name and run the operator."""
        self.names.add(op._schema.name)
        return op(*args, **(kwargs or {}))


def _sdpa(backend: str) -> Callable[[Device], dict[str, Any]]:
    def use(device: Device) -> dict[str, Any]:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        chosen = getattr(SDPBackend, backend)
        types = (torch.float32, *_types(device)) if backend == "MATH" else _types(device)

        def attend(inputs: list[torch.Tensor]) -> torch.Tensor:
            with sdpa_kernel(chosen), _Called() as called:
                found = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)
            _is_the_kernel(backend, called.names)
            return found

        return _first_that_works(types, device, attend)

    return use


def _is_the_kernel(backend: str, called: set[str]) -> None:
    """Raise where another kernel ran than was asked for: torch may fall back without a word."""
    wanted = _KERNELS.get(backend)
    if wanted is None or any(f"_dot_product_{wanted}" in name for name in called):
        return
    if any(_VENDORS_OWN in name for name in called):
        raise AbsentError("the vendor's own fused kernel ran, whatever kernel was asked for")
    raise NotImplementedError("torch fell back to another kernel than the one asked for")


def _first_that_works(
    types: tuple[torch.dtype, ...], device: Device, attend: Callable[[list[torch.Tensor]], Any]
) -> dict[str, Any]:
    """Compare attention, and its gradient, in the first of the types that the kernel takes."""
    failed: Exception = NotTriedError("there is no type to try it with")
    for dtype in types:
        host = _inputs(device, dtype)
        there = [device.put(each).requires_grad_(True) for each in host]
        try:
            found = attend(there)
        except (AbsentError, WrongResultError):
            raise
        except Exception as error:
            failed = error
            continue
        tolerance = 1e-5 if dtype is torch.float32 else 0.01
        error_found = device.agree(found, _reference(*host), tolerance, f"attention in {dtype}")
        weights = device.normal(*found.shape).to(dtype)
        found.backward(device.put(weights))
        wide = [each.double().requires_grad_(True) for each in host]
        _reference(*wide).backward(weights.double())
        for name, ours, theirs in zip(("query", "key", "value"), there, wide, strict=True):
            if ours.grad is None or theirs.grad is None:
                raise WrongResultError(f"backward gave no gradient for the {name}")
            device.agree(ours.grad, theirs.grad, 2 * tolerance, f"the gradient of the {name}")
        return {"error": error_found, "text": f"in {str(dtype).removeprefix('torch.')}"}
    raise failed


def _flash_attn(device: Device) -> dict[str, Any]:
    from flash_attn import flash_attn_func

    def attend(inputs: list[torch.Tensor]) -> torch.Tensor:
        found = flash_attn_func(*(each.transpose(1, 2) for each in inputs), causal=True)
        return found.transpose(1, 2)

    return _first_that_works(_types(device), device, attend)


def _flash_attn_3(device: Device) -> dict[str, Any]:
    from flash_attn_interface import flash_attn_func

    def attend(inputs: list[torch.Tensor]) -> torch.Tensor:
        found = flash_attn_func(*(each.transpose(1, 2) for each in inputs), causal=True)
        found = found[0] if isinstance(found, tuple) else found
        return found.transpose(1, 2)

    return _first_that_works(_types(device), device, attend)


def _grouped_mm(device: Device) -> dict[str, Any]:
    """Multiply groups of rows, each with a matrix of its own."""
    a, b = device.normal(48, 32).bfloat16(), device.normal(3, 32, 16).bfloat16()
    ends = torch.tensor([16, 24, 48], dtype=torch.int32)
    there = device.put(a), device.put(b), device.put(ends)
    with device.by_torch():
        found = torch._grouped_mm(there[0], there[1], offs=there[2])
    starts = [0, *ends[:-1].tolist()]
    parts = [
        a[begin:end].double() @ b[group].double()
        for group, (begin, end) in enumerate(zip(starts, ends.tolist(), strict=True))
    ]
    return {"error": device.agree(found, torch.cat(parts), 0.01, "a grouped product")}


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.ATTENTION_SDPA: _sdpa("MATH"),
    F.ATTENTION_FLASH_ATTENTION: _sdpa("FLASH_ATTENTION"),
    F.ATTENTION_MEM_EFFICIENT: _sdpa("EFFICIENT_ATTENTION"),
    F.ATTENTION_CUDNN: _sdpa("CUDNN_ATTENTION"),
    F.ATTENTION_FLASH_ATTN_PACKAGE: _flash_attn,
    F.ATTENTION_FLASH_ATTN_3: _flash_attn_3,
    F.OP_GROUPED_MM: _grouped_mm,
}
