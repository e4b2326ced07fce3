"""The data types of Intel GPUs, by what the device tells of itself and by generation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.kinds import by_kind
from accelcaps.accelerators.references import (
    ON_A_DEVICE,
    since,
    torch,
    undocumented,
    use_instead,
)
from accelcaps.rules import (
    Question,
    Rule,
    all_of,
    degraded,
    device_fact,
    no,
    unknown,
    yes,
)
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["DTYPES", "by_generation", "generation"]

_PROPERTIES = "PyTorch 2.13, torch/xpu/__init__.py, get_device_properties"
_OPS = "intel/torch-xpu-ops (ab84f92)"
_XMX = (
    "Intel, oneAPI GPU Optimization Guide, Programming Intel XMX Using SYCL Joint Matrix: types of "
    "each GPU"
)
_ONEDNN = "oneDNN documentation, Data Types: hardware of each type"
_ARCS = "Intel, Arc A-Series: no FP64 in hardware, emulated by IGC_EnableDPEmulation=1"
_COMPLEX_PRODUCTS = "PyTorch PR #160867 (by oneMKL, 2.10); intel/torch-xpu-ops#1918"
_NONE = Code.NOT_IMPLEMENTED

# How Intel's drivers name the cards of each generation.
_GENERATIONS = (
    ("pvc", r"Data Center GPU Max|Ponte Vecchio"),
    ("dg2", r"Arc.* A\d{3}|Data Center GPU Flex|\bDG2\b"),
    ("bmg", r"Arc.* B\d{2,3}|Battlemage|\bBMG\b"),
)


def generation(question: Question) -> str | None:
    """Return ``pvc``, ``dg2`` or ``bmg``, as the device is called; ``None``: another one."""
    name = str((question.device or {}).get("name", ""))
    return next((each for each, words in _GENERATIONS if re.search(words, name)), None)


def by_generation(table: Mapping[str, Rule], *, what: str) -> Rule:
    """Let the rule of the device's generation decide.

    Args:
        table: generations, with spaces between them → their rule.
        what: what is not known of a generation that the table does not name.
    """
    return by_kind(generation, table, what=what)


def _has(fact: str, label: str, text: str, unmet: str) -> Rule:
    """What the device tells; a driver or PyTorch that does not tell it leaves it open."""
    return device_fact(fact, label, code=Code.HARDWARE_UNSUPPORTED).holds(text, unmet)


_NARROW = use_instead(F.DTYPE_BF16, F.DTYPE_FP16, F.DTYPE_FP32)
_HAS_FP64 = _has(
    "has_fp64", "float64", "the device has float64", "the device has no float64: kernels refuse it"
).remedy("use fp32, or the CPU")
_FP64 = all_of(
    ON_A_DEVICE,
    _HAS_FP64,
    by_generation(
        {
            "pvc": yes("float64 at the rate of fp32"),
            "dg2": degraded(Code.EMULATED, "Arc A GPUs have no float64: the compiler emulates it"),
            "bmg": undocumented("Intel tells that Battlemage has float64, and not how fast"),
        },
        what="the rate of float64",
    ),
)
_UNITS = _has(
    "has_matrix_units", "matrix units (XMX)", "the device has matrix units (XMX)",
    "the device has no matrix units (XMX)",
)  # fmt: skip
_NO_UNITS = degraded(Code.SLOW, "without matrix units, at the rate of vector instructions")
_BF16 = _has(
    "has_bf16", "bfloat16", "the device converts bf16 in hardware",
    "the device has no bf16 in hardware",
).otherwise(
    degraded(Code.EMULATED, "the device has no bf16: it is computed in software").remedy(
        use_instead(F.DTYPE_FP16, F.DTYPE_FP32)
    )
)  # fmt: skip
_TF32 = by_generation(
    {
        "pvc bmg": since("2.9"),
        "dg2": no(Code.HARDWARE_UNSUPPORTED, "XMX of Arc A GPUs has no TensorFloat-32"),
    },
    what="TensorFloat-32",
)
_FP8 = all_of(
    ON_A_DEVICE,
    torch("2.10"),
    by_generation(
        {
            "pvc dg2 bmg": degraded(
                Code.EMULATED, "XMX of this GPU has no 8-bit floats: oneDNN computes in wider ones"
            ).remedy(_NARROW)
        },
        what="8-bit floats",
    ),
).source("PyTorch PRs #165978 and #167518 (2.10)", _XMX, _ONEDNN)
_FNUZ = no(_NONE, "oneDNN has the OCP types only (float8_e4m3fn, float8_e5m2)").source(_ONEDNN)
_BLOCKS = unknown(
    Code.NOT_DOCUMENTED,
    "block-scaled products were under way for PyTorch 2.16, and no release is told to have them",
).source("intel/torch-xpu-ops#2207, #1574")
_INT8 = all_of(ON_A_DEVICE, since("2.9"), _UNITS.otherwise(_NO_UNITS))
_COMPLEX = all_of(ON_A_DEVICE, since("2.10"))
_STORED = all_of(ON_A_DEVICE)

DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: _FP64.source(_PROPERTIES, _ARCS, "Intel, Data Center GPU Max: 52 TFLOPS of FP64"),
    F.DTYPE_FP64_STORAGE: all_of(
        ON_A_DEVICE,
        _HAS_FP64.otherwise(
            degraded(Code.LIMITED, "allocated and copied; a conversion on the device is refused")
        ),
    ).source("intel/torch-xpu-ops#628 (Required aspect fp64 is not supported on the device)"),
    F.DTYPE_FP32: _STORED.source(_PROPERTIES),
    F.DTYPE_FP32_STORAGE: _STORED.source(_PROPERTIES),
    F.DTYPE_TF32: all_of(ON_A_DEVICE, _TF32).source(
        "PyTorch PRs #137570 (torch.backends.mkldnn.allow_tf32 for XPU), #144240 (products)", _XMX,
        f"{_PROPERTIES}: is_tf32_supported() is true wherever there is XMX, Arc A GPUs included",
    ),
    F.DTYPE_FP16: all_of(
        ON_A_DEVICE, _has("has_fp16", "float16", "the device has float16", "it has no float16")
    ).source(_PROPERTIES, _XMX),
    F.DTYPE_FP16_STORAGE: _STORED.source(_PROPERTIES),
    F.DTYPE_BF16: all_of(ON_A_DEVICE, _BF16).source(
        f"{_PROPERTIES}, is_bf16_supported(including_emulation=False)", _XMX
    ),
    F.DTYPE_BF16_STORAGE: _STORED.source(_PROPERTIES),
    F.DTYPE_FP8_E4M3: _FP8,
    F.DTYPE_FP8_E5M2: _FP8,
    F.DTYPE_FP8_E4M3FNUZ: _FNUZ,
    F.DTYPE_FP8_E5M2FNUZ: _FNUZ,
    **{
        feature: all_of(ON_A_DEVICE, since("2.10")).source("intel/torch-xpu-ops#2207")
        for feature in (
            F.DTYPE_FP8_E4M3_STORAGE, F.DTYPE_FP8_E5M2_STORAGE, F.DTYPE_FP8_E4M3FNUZ_STORAGE,
            F.DTYPE_FP8_E5M2FNUZ_STORAGE,
        )
    },
    F.DTYPE_MXFP8: _BLOCKS,
    F.DTYPE_MXFP4: _BLOCKS,
    F.DTYPE_NVFP4: _BLOCKS,
    F.DTYPE_INT8: _INT8.source(
        "PyTorch, aten/src/ATen/native/mkldnn/xpu/Blas.cpp (torch._int_mm by oneDNN)",
        "bitsandbytes PR #1736: since torch 2.9", _XMX,
    ),
    F.DTYPE_INT8_STORAGE: _STORED.source(_PROPERTIES),
    F.DTYPE_INT4: all_of(
        ON_A_DEVICE, since("2.8"), yes("weights only: products run in fp16 or bf16", code=Code.NOTE)
    ).source(f"{_OPS}, src/ATen/native/xpu/LinearInt4.cpp; PyTorch PR #137566"),
    F.DTYPE_COMPLEX64: _COMPLEX.source(_COMPLEX_PRODUCTS),
    F.DTYPE_COMPLEX64_STORAGE: _STORED.source("PyTorch documentation, Complex Numbers"),
    F.DTYPE_COMPLEX128: all_of(_COMPLEX, _FP64).source(
        _COMPLEX_PRODUCTS, _PROPERTIES
    ),
    F.DTYPE_COMPLEX128_STORAGE: all_of(F.DTYPE_FP64_STORAGE).source(_PROPERTIES),
    F.DTYPE_FP16_AUTOCAST: all_of(torch("2.4"), F.DTYPE_FP16).source(
        "PyTorch 2.4 to 2.13, torch/amp/autocast_mode.py: fp16 and bf16 for xpu"
    ),
    F.DTYPE_BF16_AUTOCAST: all_of(torch("2.4"), F.DTYPE_BF16).source(
        "PyTorch 2.4 to 2.13, torch/amp/autocast_mode.py: fp16 and bf16 for xpu"
    ),
    F.DTYPE_FP16_GRAD_SCALER: all_of(
        ON_A_DEVICE,
        since("2.5"),
        _HAS_FP64.otherwise(
            no(
                Code.HARDWARE_UNSUPPORTED,
                "the scaler inverts its scale in float64, which the device does not have",
            )
        ),
    ).source(
        "PyTorch 2.13, torch/amp/grad_scaler.py, unscale_: self._scale.double()",
        "pytorch#147731 and intel/torch-xpu-ops#1742 (Arc A GPUs)",
    ),
}  # fmt: skip
