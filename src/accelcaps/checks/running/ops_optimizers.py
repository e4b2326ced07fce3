"""DeepSpeed's optimizers on random weights and gradients, beside the same steps in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running.deepspeed import builder

if TYPE_CHECKING:
    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]

_STEPS = 5
_RATE, _BETAS, _EPS, _DECAY = 1e-2, (0.9, 0.99), 1e-8, 0.1
_Make = Callable[[Any, list[torch.nn.Parameter]], Any]
"""Makes an optimizer from the loaded op (a reference has no use for it) and its parameters."""


class _Lion(torch.optim.Optimizer):  # type: ignore[misc]
    """Lion as its paper writes it (arXiv 2302.06675, algorithm 2)."""

    def __init__(self, op: Any, parameters: list[torch.nn.Parameter]) -> None:
        super().__init__(parameters, {})

    def step(self) -> None:
        """Step every parameter in place."""
        with torch.no_grad():
            for weight in (each for group in self.param_groups for each in group["params"]):
                mean = self.state[weight].setdefault("mean", torch.zeros_like(weight))
                update = (_BETAS[0] * mean + (1 - _BETAS[0]) * weight.grad).sign()
                weight.mul_(1 - _RATE * _DECAY).sub_(update, alpha=_RATE)
                mean.mul_(_BETAS[1]).add_(weight.grad, alpha=1 - _BETAS[1])


def _compared(name: str, ours: _Make, theirs: _Make, *, on_host: bool) -> Any:
    """Return an exercise that builds the op, takes some steps by both, and compares weights."""

    def use(device: Device) -> dict[str, Any]:
        op = builder(device, name).load(verbose=False)
        start = device.normal(1003).float()
        weight = torch.nn.Parameter(start.clone() if on_host else device.put(start))
        mirror = torch.nn.Parameter(start.double())
        optimizer, reference = ours(op, [weight]), theirs(op, [mirror])
        for _ in range(_STEPS):
            gradient = device.normal(1003).float()
            weight.grad = gradient.clone() if on_host else device.put(gradient)
            mirror.grad = gradient.double()
            optimizer.step()
            reference.step()
        moved = float((mirror.detach() - start.double()).abs().max())
        error = device.agree(weight, mirror.detach(), 1e-4 * moved, "a weight")
        return {"error": error, "text": f"{_STEPS} steps beside torch in float64"}

    return use


def _adamw(op: Any, parameters: list[torch.nn.Parameter]) -> Any:
    return torch.optim.AdamW(parameters, lr=_RATE, betas=_BETAS, eps=_EPS, weight_decay=_DECAY)


def _adagrad(op: Any, parameters: list[torch.nn.Parameter]) -> Any:
    return torch.optim.Adagrad(parameters, lr=_RATE, eps=1e-10, weight_decay=_DECAY)


def _cpu_adam(op: Any, parameters: list[torch.nn.Parameter]) -> Any:
    from deepspeed.ops.adam import DeepSpeedCPUAdam

    return DeepSpeedCPUAdam(parameters, lr=_RATE, betas=_BETAS, eps=_EPS, weight_decay=_DECAY)


def _cpu_adagrad(op: Any, parameters: list[torch.nn.Parameter]) -> Any:
    from deepspeed.ops.adagrad import DeepSpeedCPUAdagrad

    return DeepSpeedCPUAdagrad(parameters, lr=_RATE, eps=1e-10, weight_decay=_DECAY)


def _cpu_lion(op: Any, parameters: list[torch.nn.Parameter]) -> Any:
    from deepspeed.ops.lion import DeepSpeedCPULion

    return DeepSpeedCPULion(parameters, lr=_RATE, betas=_BETAS, weight_decay=_DECAY)


class _FusedAdam:
    """Steps by the op of the accelerator's own builder, as DeepSpeed's FusedAdam calls it.

    FusedAdam itself takes the builder that DeepSpeed bound when it was imported, which for a
    vendor's accelerator is another one.
    """

    def __init__(self, op: Any, parameters: list[torch.nn.Parameter]) -> None:
        self._op = op
        self._parameters = parameters
        self._moments = [[torch.zeros_like(p.data) for p in parameters] for _ in range(2)]
        self._overflow = torch.zeros(1, dtype=torch.int32, device=parameters[0].device)
        self._step = 0

    def step(self) -> None:
        """Step every parameter in place."""
        self._step += 1
        weights = [each.data for each in self._parameters]
        gradients = [each.grad for each in self._parameters]
        self._op.multi_tensor_adam(
            2048 * 32, self._overflow, [gradients, weights, *self._moments],
            _RATE, *_BETAS, _EPS, self._step, 1, 1, _DECAY,
        )  # fmt: skip


def _fused_lion(op: Any, parameters: list[torch.nn.Parameter]) -> Any:
    from deepspeed.ops.lion import FusedLion

    return FusedLion(parameters, lr=_RATE, betas=_BETAS, weight_decay=_DECAY)


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.OP_CPU_ADAM: _compared("cpu_adam", _cpu_adam, _adamw, on_host=True),
    F.OP_CPU_ADAGRAD: _compared("cpu_adagrad", _cpu_adagrad, _adagrad, on_host=True),
    F.OP_CPU_LION: _compared("cpu_lion", _cpu_lion, _Lion, on_host=True),
    F.OP_FUSED_ADAM: _compared("fused_adam", _FusedAdam, _adamw, on_host=False),
    F.OP_FUSED_LION: _compared("fused_lion", _fused_lion, _Lion, on_host=False),
}
