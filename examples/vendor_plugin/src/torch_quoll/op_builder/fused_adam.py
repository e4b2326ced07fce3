"""An op in Python, under the name that DeepSpeed's FusedAdam looks for: nothing is compiled."""

from __future__ import annotations

from typing import Any

import torch
from deepspeed.ops.op_builder.builder import OpBuilder

__all__ = ["FusedAdamBuilder"]

Tensors = list[torch.Tensor]


class QuollFusedAdam:
    """What DeepSpeed's optimizer calls, as it calls it on CUDA."""

    @staticmethod
    def multi_tensor_adam(
        chunk_size: int,  # noqa: ARG004
        noop_flag: torch.Tensor | None,  # noqa: ARG004
        tensors: tuple[Tensors, Tensors, Tensors, Tensors],
        lr: float,
        beta1: float,
        beta2: float,
        eps: float,
        step: int,
        adam_w: int,
        bias_correction: int,
        weight_decay: float,
    ) -> None:
        """Step every parameter in place.

        Args:
            chunk_size: unused: the device takes tensors of any size.
            noop_flag: unused: no overflow is looked for.
            tensors: gradients, parameters, first and second moments, of equal shapes.
            lr: learning rate.
            beta1: decay of the first moment.
            beta2: decay of the second moment.
            eps: added to the root of the second moment.
            step: the step, from 1 on.
            adam_w: 1 to decay weights apart from the gradient.
            bias_correction: 1 to correct the moments' start from zero.
            weight_decay: the decay of weights.
        """
        first = 1 - beta1**step if bias_correction else 1.0
        second = 1 - beta2**step if bias_correction else 1.0
        for grad, weight, mean, square in zip(*tensors, strict=True):
            if not adam_w:
                grad = grad + weight_decay * weight
            mean.mul_(beta1).add_(grad, alpha=1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            update = (mean / first) / ((square / second).sqrt() + eps)
            if adam_w:
                update = update + weight_decay * weight
            weight.sub_(update, alpha=lr)


class FusedAdamBuilder(OpBuilder):  # type: ignore[misc]
    """Gives DeepSpeed's FusedAdam its op."""

    BUILD_VAR = "DS_BUILD_FUSED_ADAM"
    NAME = "fused_adam"

    def __init__(self) -> None:
        super().__init__(name=self.NAME)

    def absolute_name(self) -> str:
        return f"torch_quoll.ops.{self.NAME}"

    def sources(self) -> list[str]:
        return []

    def load(self, verbose: bool = True) -> Any:
        return QuollFusedAdam
