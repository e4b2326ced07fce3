"""The Quoll's op builders. DeepSpeed finds them by the modules of this package."""

from torch_quoll.op_builder.fused_adam import FusedAdamBuilder
from torch_quoll.op_builder.no_impl import NotImplementedBuilder
from torch_quoll.op_builder.quoll_axpy import QuollAxpyBuilder

__all__ = ["FusedAdamBuilder", "NotImplementedBuilder", "QuollAxpyBuilder"]
