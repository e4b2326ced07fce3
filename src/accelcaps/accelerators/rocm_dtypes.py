"""The data types of AMD GPUs, by architecture, PyTorch and the ROCm that it is built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import (
    ON_A_DEVICE,
    TORCH,
    environment,
    since,
    torch,
    undocumented,
    use_instead,
)
from accelcaps.accelerators.rocm_arch import (
    CDNA,
    GCN,
    RDNA,
    RDNA2,
    RDNA3,
    RDNA4,
    by_arch,
    hip,
)
from accelcaps.rules import Finding, Question, Rule, all_of, degraded, no, value_of, yes
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["DTYPES"]

_CDNA3_PAPER = "AMD CDNA 3 Architecture white paper, table of peak rates per compute unit"
_PROFILER = "AMD, rocprofiler-compute documentation, CDNA architecture: data type support"
_PRODUCTS = (
    "AMD product pages, peak rates: Instinct MI100, MI210, MI250X, MI300X, MI325X, MI355X; Radeon "
    "RX 6900 XT, RX 7900 XTX, RX 9070 XT"
)
_ISA = "AMD, RDNA 2, RDNA 3 and RDNA 4 instruction set architectures: WMMA since RDNA 3"
_SCALED = "PyTorch 2.13, aten/src/ATen/native/cuda/ScaledBlas.cpp and ScaledBlasDeviceUtils.cpp"
_PLATFORM = "PyTorch 2.13, torch/testing/_internal/common_cuda.py, evaluate_platform_supports_"
_TORCH_CUDA_PY = "PyTorch 2.13, torch/cuda/__init__.py"

_HALF = use_instead(F.DTYPE_BF16, F.DTYPE_FP16, F.DTYPE_FP32)
_YES = yes("at hardware speed")
_NO_MATRIX = no(Code.HARDWARE_UNSUPPORTED, "the GPU has no such units").remedy(_HALF)

_FP64 = by_arch(
    {
        f"gfx906 {CDNA}": yes("fp64 runs at 1/4 of the fp32 rate or faster"),
        f"gfx900 {RDNA2}": degraded(Code.SLOW, "fp64 runs at 1/16 of the fp32 rate"),
        f"{RDNA3} {RDNA4}": degraded(Code.SLOW, "fp64 runs at 1/32 of the fp32 rate"),
    },
    what="the rate of fp64",
)
_FP16 = by_arch({f"{GCN} {CDNA} {RDNA}": _YES}, what="the rate of fp16")
_BF16 = by_arch(
    {
        f"{CDNA} {RDNA3} {RDNA4}": yes("by matrix instructions"),
        f"{GCN} {RDNA2}": degraded(
            Code.EMULATED, "the GPU has no bf16 instructions: it is computed through fp32"
        ).remedy(use_instead(F.DTYPE_FP16, F.DTYPE_FP32)),
    },
    what="the rate of bf16",
)


def _fp8(table: Mapping[str, Rule], other: str) -> Rule:
    """The 8-bit floats of one format; the other format, or none, is what other GPUs have."""
    rules = dict(table)
    named = {name for names in table for name in names.split()}
    formats = " ".join(name for name in ("gfx942", "gfx950", *RDNA4.split()) if name not in named)
    rules[formats] = no(Code.HARDWARE_UNSUPPORTED, other).remedy(_HALF)
    rules[f"gfx908 gfx90a {GCN} {RDNA2} {RDNA3}"] = no(
        Code.HARDWARE_UNSUPPORTED, "the GPU has no 8-bit float units"
    ).remedy(_HALF)
    return all_of(ON_A_DEVICE, by_arch(rules, what="the 8-bit floats"))


_OCP = _fp8(
    {
        "gfx950": all_of(hip("7.0"), since("2.10")),
        RDNA4: all_of(hip("6.3"), since("2.8")),
    },
    "the GPU's 8-bit floats are fnuz ones (float8_e4m3fnuz, float8_e5m2fnuz)",
).source(_SCALED, f"{_PLATFORM}fp8", _CDNA3_PAPER)
_FNUZ = _fp8(
    {"gfx942": all_of(hip("6.0"), since("2.5"))},
    "the GPU's 8-bit floats are the OCP ones (float8_e4m3fn, float8_e5m2)",
).source(_SCALED, f"{_PLATFORM}fp8", _CDNA3_PAPER)
_MX = all_of(
    ON_A_DEVICE,
    by_arch(
        {
            "gfx950": all_of(hip("7.0"), torch("2.9")),
            f"{GCN} gfx908 gfx90a gfx942 {RDNA}": _NO_MATRIX,
        },
        what="the block-scaled types",
    ),
).source(
    f"{_PLATFORM}mx_gemm (gfx950, ROCm 7.0)",
    "AMD CDNA 4 Architecture white paper: MXFP8, MXFP6 and MXFP4",
)


def _tf32_asked_for(question: Question) -> Finding:
    """PyTorch 2.10 and newer take the switch as it is; 2.7 to 2.9 need a variable beside it."""
    evidence = question.facts.evidence
    if torch("2.10").judge(question).status is Status.YES:
        return Finding(Status.YES, evidence)
    found = TORCH.value(question)
    variable = environment(question, "HIPBLASLT_ALLOW_TF32")
    if torch("2.7").judge(question).status is Status.YES and variable == "1":
        return Finding(Status.YES, evidence, (Reason(Code.NOTE, "HIPBLASLT_ALLOW_TF32 is 1"),))
    text = f"PyTorch has it since 2.7, before 2.10 only with HIPBLASLT_ALLOW_TF32=1; found {found}"
    remedies = ("install PyTorch 2.10 or newer", "export HIPBLASLT_ALLOW_TF32=1 (2.7 to 2.9)")
    return Finding(Status.NO, evidence, (Reason(Code.SOFTWARE_VERSION, text),), remedies)


_TF32 = by_arch(
    {
        "gfx942": value_of(_tf32_asked_for),
        "gfx950": all_of(
            value_of(_tf32_asked_for),
            degraded(Code.EMULATED, "the GPU has no TensorFloat-32: it is computed through bf16"),
        ),
        f"{GCN} gfx908 gfx90a {RDNA}": no(
            Code.HARDWARE_UNSUPPORTED, "the GPU has no TensorFloat-32 units"
        ),
    },
    what="TensorFloat-32",
)
_INT8 = by_arch(
    {
        "gfx90a gfx942 gfx950": since("2.5"),
        "gfx900 gfx906": no(
            Code.NOT_IMPLEMENTED, "torch._int_mm needs hipBLASLt, which does not support this GPU"
        ),
        f"gfx908 {RDNA}": undocumented(
            "whether hipBLASLt's int8 products work on this GPU is not documented"
        ),
    },
    what="int8 products",
)
_INT4 = by_arch(
    {
        "gfx90a gfx942 gfx950": all_of(
            since("2.6"), yes("weights only: products run in bf16", code=Code.NOTE)
        ),
        f"{GCN} gfx908 {RDNA}": no(
            Code.NOT_IMPLEMENTED, "torch's int4 kernel is written for gfx90a, gfx942 and gfx950"
        ),
    },
    what="int4 products",
)
DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: all_of(ON_A_DEVICE, _FP64).source(_PRODUCTS),
    F.DTYPE_FP32: all_of(ON_A_DEVICE, yes("every AMD GPU")).source(_PRODUCTS),
    F.DTYPE_TF32: all_of(ON_A_DEVICE, _TF32).source(
        f"{_TORCH_CUDA_PY}, is_tf32_supported", _PROFILER, "PyTorch documentation, HIP semantics",
        "hipBLASLt changelog: TF32 of gfx950 emulated by BF16",
    ),
    F.DTYPE_FP16: all_of(ON_A_DEVICE, _FP16).source(_PRODUCTS),
    F.DTYPE_BF16: all_of(ON_A_DEVICE, _BF16).source(
        _PRODUCTS, _ISA, f"{_TORCH_CUDA_PY}, is_bf16_supported: true for every AMD GPU, emulation "
        "included",
    ),
    F.DTYPE_FP8_E4M3: _OCP,
    F.DTYPE_FP8_E5M2: _OCP,
    F.DTYPE_FP8_E4M3FNUZ: _FNUZ,
    F.DTYPE_FP8_E5M2FNUZ: _FNUZ,
    F.DTYPE_MXFP8: _MX,
    F.DTYPE_MXFP4: _MX,
    F.DTYPE_NVFP4: no(Code.HARDWARE_UNSUPPORTED, "it is NVIDIA's format").source(_SCALED),
    F.DTYPE_INT8: all_of(ON_A_DEVICE, _INT8).source(
        "PyTorch PR #122431 (hipBLASLt); ROCm/hipBLASLt PR #668 (gfx90a, gfx94x)",
        "ROCm/TheRock#6175 (gfx906 refused); ROCm/rocm-libraries#5205 (a crash on gfx1200)",
    ),
    F.DTYPE_INT4: all_of(ON_A_DEVICE, _INT4).source(
        "PyTorch, aten/src/ATen/native/cuda/int4mm.cu; common_cuda.py, CDNA2OrLater"
    ),
    F.DTYPE_COMPLEX64: all_of(ON_A_DEVICE, yes("computed in fp32 pairs")).source(
        "rocBLAS, API reference: complex types of gemm"
    ),
    F.DTYPE_COMPLEX128: all_of(ON_A_DEVICE, _FP64).source(
        "rocBLAS, API reference: complex types of gemm", _PRODUCTS
    ),
    F.DTYPE_FP16_AUTOCAST: all_of(F.DTYPE_FP16).source("PyTorch documentation, HIP semantics"),
    F.DTYPE_BF16_AUTOCAST: all_of(torch("1.10"), F.DTYPE_BF16).source(
        "PyTorch, torch/amp/autocast_mode.py"
    ),
    F.DTYPE_FP16_GRAD_SCALER: all_of(ON_A_DEVICE).source("PyTorch, torch/amp/grad_scaler.py"),
    **{
        feature: all_of(ON_A_DEVICE).source("PyTorch documentation, torch.dtype; HIP semantics")
        for feature in (
            F.DTYPE_FP64_STORAGE, F.DTYPE_FP32_STORAGE, F.DTYPE_FP16_STORAGE, F.DTYPE_BF16_STORAGE,
            F.DTYPE_INT8_STORAGE, F.DTYPE_COMPLEX64_STORAGE, F.DTYPE_COMPLEX128_STORAGE,
        )
    },
    **{
        feature: all_of(ON_A_DEVICE, torch(first)).source(
            "PyTorch, c10/util/Float8_*.h: converted in software"
        )
        for feature, first in (
            (F.DTYPE_FP8_E4M3_STORAGE, "2.1"), (F.DTYPE_FP8_E5M2_STORAGE, "2.1"),
            (F.DTYPE_FP8_E4M3FNUZ_STORAGE, "2.2"), (F.DTYPE_FP8_E5M2FNUZ_STORAGE, "2.2"),
        )
    },
}  # fmt: skip
