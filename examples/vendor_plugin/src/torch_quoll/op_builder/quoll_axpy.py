"""An op in C++: ``y += a * x``, on the device's memory. Built with the host's compiler."""

from __future__ import annotations

from pathlib import Path

from deepspeed.ops.op_builder.builder import OpBuilder

__all__ = ["QuollAxpyBuilder"]


class QuollAxpyBuilder(OpBuilder):  # type: ignore[misc]
    """Builds ``quoll_axpy``, for float32."""

    BUILD_VAR = "DS_BUILD_QUOLL_AXPY"
    NAME = "quoll_axpy"

    def __init__(self) -> None:
        super().__init__(name=self.NAME)

    def absolute_name(self) -> str:
        return f"torch_quoll.ops.{self.NAME}"

    def sources(self) -> list[str]:
        return [str(Path(__file__).parent.parent / "csrc" / "axpy.cpp")]

    def cxx_args(self) -> list[str]:
        return ["-O3"]
