"""Storing types that torch only carries: block-scaled ones, and those with no type of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import torch, undocumented
from accelcaps.rules import Finding, Question, Rule, all_of, degraded, no, value_of, yes
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["PACKED"]

_TYPES = "PyTorch, c10/core/ScalarType.h: float8_e8m0fnu since 2.7, float4_e2m1fn_x2 since 2.8"
_RUN = "PyTorch 2.13, run on the CPU"
_OTHERS = "whether this backend stores {} is not documented"


def _known_on(accelerators: tuple[str, ...], rule: Rule, otherwise: str) -> Rule:
    """Let ``rule`` decide on these accelerators, and leave the others open."""
    unknown = undocumented(otherwise)

    def judge(question: Question) -> Finding:
        return (rule if question.accelerator in accelerators else unknown).judge(question)

    return value_of(judge)


_FP4 = all_of(
    F.DTYPE_INT8_STORAGE,
    torch("2.8"),
    _known_on(
        ("cpu", "cuda", "rocm"),
        degraded(Code.LIMITED, "torch copies fp4 tensors, and converts nothing to or from them"),
        _OTHERS.format("float4_e2m1fn_x2"),
    ),
).source(_TYPES, f"{_RUN}: copies, and no conversion")
PACKED: Mapping[Feature, Rule] = {
    F.DTYPE_TF32_STORAGE: all_of(F.DTYPE_FP32_STORAGE).source(
        "PyTorch, CUDA semantics: TensorFloat-32 multiplies tensors of float32"
    ),
    F.DTYPE_MXFP8_STORAGE: all_of(
        F.DTYPE_FP8_E4M3_STORAGE,
        torch("2.7"),
        _known_on(
            ("cpu", "cuda", "rocm"),
            yes("its scales are float8_e8m0fnu"),
            _OTHERS.format("float8_e8m0fnu, the type of its scales,"),
        ),
    ).source(_TYPES, f"{_RUN}: copied and converted"),
    F.DTYPE_MXFP4_STORAGE: _FP4,
    F.DTYPE_NVFP4_STORAGE: _FP4,
    F.DTYPE_INT4_STORAGE: _known_on(
        ("cpu",),
        no(Code.NOT_IMPLEMENTED, "torch copies and converts no int4 tensors").remedy(
            "pack two values into an int8, as torchao does"
        ),
        _OTHERS.format("int4 or uint4"),
    ).source(f"{_RUN}: allocated, neither copied nor converted"),
}
