"""What stands for every op that the Quoll does not have."""

from __future__ import annotations

from typing import Any

from deepspeed.ops.op_builder.builder import OpBuilder

__all__ = ["NotImplementedBuilder"]


class NotImplementedBuilder(OpBuilder):  # type: ignore[misc]
    """Refuses to load, by a name that DeepSpeed's own placeholders have."""

    BUILD_VAR = "DS_BUILD_NOT_IMPLEMENTED"
    NAME = "deepspeed_not_implemented"

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name or self.NAME)

    def absolute_name(self) -> str:
        return f"torch_quoll.ops.{self.NAME}"

    def sources(self) -> list[str]:
        return []

    def load(self, verbose: bool = True) -> Any:
        raise ValueError("this op is not implemented on a Quoll")
