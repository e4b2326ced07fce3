"""Tensors of the Quoll, and how it computes: in host memory, by PyTorch's kernels for the CPU.

A tensor wraps a host tensor that stands for device memory. Every operation comes to
``__torch_dispatch__``; those that make a tensor from nothing come to the kernels that are
registered for the PrivateUse1 key.
"""

from __future__ import annotations

from typing import Any

import quoll_driver
import torch
from torch.utils._pytree import tree_flatten, tree_map_only

from torch_quoll import device

NATIVE = {
    "q1": {torch.float32},
    "q2": {torch.float32, torch.bfloat16},
}
"""Generation → the floats that it computes with."""
EMULATED = {torch.float16}
"""Computed in float32: a kernel to convert each operand, and one for each result."""
STORED = {torch.float8_e4m3fn, torch.float8_e5m2}
"""Can be kept and converted, and not computed with."""
REFUSED = {
    torch.float64, torch.complex32, torch.complex64, torch.complex128,
    torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
}  # fmt: skip
"""Cannot be on the device at all."""

_MOVES = {
    "_copy_from", "_local_scalar_dense", "_to_copy", "clone", "copy_", "empty", "empty_like",
    "empty_strided", "fill_", "new_empty", "new_empty_strided", "zero_",
}  # fmt: skip
"""What keeps, copies or converts, and computes nothing; views do not compute either."""
_NO_KERNEL = {
    "_grouped_mm", "_scaled_mm", "_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu",
    "_flash_attention_forward", "_efficient_attention_forward",
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
}  # fmt: skip
"""What the CPU has and the Quoll has not."""
_FACTORIES = (
    "empty.memory_format", "empty_strided", "arange", "arange.start", "arange.start_step", "eye",
    "eye.m", "linspace", "randperm", "scalar_tensor",
)  # fmt: skip
_library = torch.library.Library("aten", "IMPL")


class QuollTensor(torch.Tensor):
    """A tensor whose memory is on the device."""

    _host: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, host: torch.Tensor) -> QuollTensor:
        """Wrap a host tensor that stands for the device's memory."""
        device.open_context()
        if host.dtype in REFUSED:
            raise RuntimeError(f"a Quoll has no {host.dtype}")
        made: QuollTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            host.size(),
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=torch.device("quoll", 0),
        )
        made._host = host
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"{repr(self._host)[:-1]}, device='quoll:0')"

    @classmethod
    def __torch_dispatch__(
        cls, op: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run any operation that has a tensor of the device among its arguments."""
        return _run(op, args, kwargs or {})


def address(tensor: QuollTensor) -> int:
    """Return where the tensor begins in the device's memory, for a kernel of one's own."""
    return tensor._host.data_ptr()


def register() -> None:
    """Register the kernels that PyTorch looks for by the device alone."""
    for name in _FACTORIES:
        _library.impl(name, _factory(name), "PrivateUse1")
    _library.impl("_copy_from", _copy_from, "PrivateUse1")


def _factory(name: str) -> Any:
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def make(
        *args: Any, device: Any = None, pin_memory: Any = None, generator: Any = None, **kwargs: Any
    ) -> QuollTensor:
        return QuollTensor(op(*args, device="cpu", **kwargs))

    return make


def _copy_from(source: Any, target: Any, non_blocking: bool = False) -> Any:
    """Copy between host and device, where PyTorch does it below ``__torch_dispatch__``."""
    _host_of(target).copy_(_host_of(source))
    return target


def _host_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor._host if isinstance(tensor, QuollTensor) else tensor


def _run(op: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = op._schema.name.partition("::")[2]
    if op.namespace != "aten" or name in _NO_KERNEL:
        raise NotImplementedError(f"a Quoll has no kernel for {op}")
    ours = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, QuollTensor)]
    computes = name not in _MOVES and not op.is_view
    floats = {each.dtype for each in ours if each.dtype.is_floating_point}
    if computes:
        _check(floats, op)
        _check_devices(op, args, kwargs)
    args, kwargs = tree_map_only(QuollTensor, _host_of, (args, dict(kwargs)))
    if "generator" in {each.name for each in op._schema.arguments} and not kwargs.get("generator"):
        kwargs["generator"] = device.generator()
    to_host = kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "cpu"
    if "device" in kwargs:
        kwargs["device"] = "cpu"
    if computes and floats & EMULATED:
        found = _emulated(op, args, kwargs, floats)
    else:
        found = op(*args, **kwargs)
        device.count(1 if computes else 0)
    if to_host or (name == "copy_" and not any(args[0] is each._host for each in ours)):
        return found
    known = {id(each._host): each for each in ours}  # what works in place returns its argument
    if any(each.shape != each._host.shape for each in ours):
        raise NotImplementedError(f"{op}: a tensor on a Quoll cannot be resized")
    return tree_map_only(
        torch.Tensor, lambda t: known[id(t)] if id(t) in known else QuollTensor(t), found
    )


def _check(floats: set[torch.dtype], op: Any) -> None:
    """Raise where the device does not compute with one of these types."""
    generation = quoll_driver.visible()[0]["arch"]
    lacking = floats - NATIVE[generation] - EMULATED
    if lacking:
        names = ", ".join(sorted(map(str, lacking)))
        raise RuntimeError(f"a Quoll {generation.upper()} does not compute with {names} ({op})")


def _check_devices(op: Any, args: Any, kwargs: dict[str, Any]) -> None:
    """Raise where a tensor on the host meets one on the device; numbers and indices may."""
    for each in tree_flatten((args, kwargs))[0]:
        if isinstance(each, torch.Tensor) and not isinstance(each, QuollTensor) and each.dim():
            if "index" in op._schema.name:
                continue
            raise RuntimeError(f"{op}: one tensor is on quoll:0 and another on {each.device}")


def _emulated(op: Any, args: Any, kwargs: dict[str, Any], floats: set[torch.dtype]) -> Any:
    """Convert 16-bit floats to float32, compute, and convert back."""
    wide: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def widened(narrow: torch.Tensor) -> torch.Tensor:
        if narrow.dtype not in EMULATED:
            return narrow
        return wide.setdefault(id(narrow), (narrow, narrow.float()))[1]

    args, kwargs = tree_map_only(torch.Tensor, widened, (args, kwargs))
    found = op(*args, **kwargs)
    device.count(1 + len(wide))
    back = {id(wider): narrow for narrow, wider in wide.values()}
    if op._schema.is_mutable:
        for narrow, wider in wide.values():
            narrow.copy_(wider)
            device.count(1)
    keep = kwargs.get("dtype") is not None or floats - EMULATED

    def narrowed(result: torch.Tensor) -> torch.Tensor:
        if id(result) in back:
            return back[id(result)]
        if keep or result.dtype is not torch.float32:
            return result
        device.count(1)
        return result.half()

    return tree_map_only(torch.Tensor, narrowed, found)
