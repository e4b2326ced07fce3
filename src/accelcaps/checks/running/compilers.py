"""Compile a function, and a triton kernel, for the device; run both and compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running.device import WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]


def _function(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x @ weight).sin() * 0.5 + x.mean(0)


def _compiled(**options: Any) -> Callable[[Device], dict[str, float]]:
    def use(device: Device) -> dict[str, float]:
        """Run and differentiate the compiled function on two inputs."""
        torch._dynamo.reset()
        torch._dynamo.config.suppress_errors = False
        compiled = torch.compile(_function, **options)
        weight = (device.normal(32, 32) / 6).float()
        error = 0.0
        for _ in range(2):
            x = device.normal(24, 32).float()
            there = device.put(x).requires_grad_(True)
            wide = x.double().requires_grad_(True)
            found, reference = compiled(there, device.put(weight)), _function(wide, weight.double())
            error = max(error, device.agree(found, reference.detach(), 1e-4, "what was compiled"))
            found.sum().backward()
            reference.sum().backward()
            if there.grad is None or wide.grad is None:
                raise WrongResultError("backward gave no gradient")
            device.agree(there.grad, wide.grad, 1e-4, "a gradient of what was compiled")
        return {"error": error}

    return use


def _inductor(device: Device) -> dict[str, Any]:
    """As above, and inductor itself has written code: it did not fall back to eager."""
    from torch._inductor import metrics

    metrics.reset()
    found = _compiled(backend="inductor", fullgraph=True)(device)
    if not metrics.generated_kernel_count:
        raise NotImplementedError("inductor wrote no kernel for the function")
    return {**found, "text": f"{metrics.generated_kernel_count} kernels written"}


def _triton_installed(device: Device) -> dict[str, str]:
    import triton

    return {"text": f"triton {triton.__version__}"}


def _triton(device: Device) -> dict[str, float]:
    """Compile a kernel that adds and multiplies, with a mask, and run it."""
    from accelcaps.checks.running.triton_kernel import fused

    size, block = 1000, 256
    a, b = device.normal(size).float(), device.normal(size).float()
    out = torch.full((size,), float("nan"), device=device.name)
    fused[(-(-size // block),)](device.put(a), device.put(b), out, size, BLOCK=block)
    reference = a.double() * b.double() + a.double()
    return {"error": device.agree(out, reference, 1e-6, "what the kernel wrote")}


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.COMPILE_TORCH_COMPILE: _compiled(),
    F.COMPILE_INDUCTOR: _inductor,
    F.TRITON_INSTALLED: _triton_installed,
    F.TRITON_USABLE: _triton,
}
