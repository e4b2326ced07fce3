"""The data types of NVIDIA GPUs, by compute capability and PyTorch build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import (
    COMPUTE_CAPABILITY,
    EXACT_CAPABILITY,
    ON_A_DEVICE,
    built_with,
    environment,
    torch,
    use_instead,
)
from accelcaps.rules import Finding, Question, all_of, any_of, degraded, no, value_of, yes
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature
    from accelcaps.rules import Rule

__all__ = ["DTYPES"]

_TABLE_29 = "NVIDIA CUDA Programming Guide, Compute Capabilities, table 29 (feature support)"
_TABLE_30 = "NVIDIA CUDA Programming Guide, Compute Capabilities, table 30 (FP32 to FP64 ratio)"
_TABLE_33 = "NVIDIA CUDA Programming Guide, Compute Capabilities, table 33 (tensor core types)"
_ARITHMETIC = "NVIDIA CUDA C++ Programming Guide 12, Arithmetic Instructions, throughput table"
_SCALED_MM = "PyTorch, aten/src/ATen/native/cuda/ScaledBlas.cpp and ScaledBlasDeviceUtils.cpp"
_TORCH_CUDA_PY = "PyTorch 2.13, torch/cuda"


_FP64 = EXACT_CAPABILITY.is_one_of("6.0", "7.0", "8.0", "9.0", "10.0", "10.7").otherwise(
    degraded(Code.SLOW, "fp64 runs at 1/32 or 1/64 of the fp32 rate")
)
_BF16 = (COMPUTE_CAPABILITY >= "8.0").otherwise(
    (COMPUTE_CAPABILITY >= "7.0")
    .then(
        degraded(Code.EMULATED, "emulated through fp32").remedy(
            use_instead(F.DTYPE_FP16, F.DTYPE_FP32)
        )
    )
    .otherwise(
        no(Code.HARDWARE_UNSUPPORTED, "cuBLAS refuses bf16 products (CUBLAS_STATUS_NOT_SUPPORTED)")
        .remedy("use fp32")
        .source("DeepSpeed#6723 (compute capability 6.1) and pytorch#57773 (6.0), as reported")
    )
)
_FP16 = any_of(
    COMPUTE_CAPABILITY >= "7.0",
    EXACT_CAPABILITY.is_one_of("5.3", "6.0", "6.2"),
    EXACT_CAPABILITY.is_one_of("6.1").then(
        degraded(
            Code.SLOW, "at compute capability 6.1 fp16 arithmetic runs at 1/64 of the fp32 rate"
        ).remedy("use fp32")
    ),
    (COMPUTE_CAPABILITY < "5.3").then(
        degraded(
            Code.EMULATED, "below compute capability 5.3 fp16 is computed through fp32"
        ).remedy("use fp32")
    ),
)
_FP8 = (
    (COMPUTE_CAPABILITY >= "8.9").then(
        any_of(
            (COMPUTE_CAPABILITY >= "9.0").then(all_of(torch("2.1"), built_with("11.8"))),
            all_of(torch("2.3"), built_with("12.1")),
        )
    )
).remedy(use_instead(F.DTYPE_BF16, F.DTYPE_FP16, F.DTYPE_FP32))
_BLOCK_SCALED = (COMPUTE_CAPABILITY >= "10.0").then(
    (EXACT_CAPABILITY < "12.0").otherwise(
        degraded(Code.LIMITED, "only with the first matrix row-major and the second column-major")
    )
)
_INT8 = (COMPUTE_CAPABILITY >= "6.1").then(
    any_of(
        COMPUTE_CAPABILITY.between("8.0", "10.3"),
        COMPUTE_CAPABILITY >= "11.0",
        COMPUTE_CAPABILITY.between("10.3", "11.0").then(
            degraded(Code.SLOW, "int8 runs below the rate of bf16: this GPU has few int8 units")
        ),
        COMPUTE_CAPABILITY.between("7.5", "8.0").then(
            built_with("12.3").otherwise(
                degraded(Code.LIMITED, "torch._int_mm only with the second matrix column-major")
            )
        ),
        COMPUTE_CAPABILITY.between("6.1", "7.5").then(
            degraded(Code.SLOW, "below compute capability 7.5 by dp4a, without tensor cores")
        ),
    )
)


def _tf32_not_off(question: Question) -> Finding:
    if environment(question, "NVIDIA_TF32_OVERRIDE") != "0":
        return Finding(Status.YES, question.facts.evidence)
    reason = Reason(Code.POLICY, "NVIDIA_TF32_OVERRIDE=0 switches TensorFloat-32 off")
    return Finding(Status.NO, question.facts.evidence, (reason,), ("unset NVIDIA_TF32_OVERRIDE",))


DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: all_of(ON_A_DEVICE, _FP64).source(_TABLE_30, _ARITHMETIC),
    F.DTYPE_FP32: all_of(ON_A_DEVICE, yes("every CUDA device")).source(_ARITHMETIC),
    F.DTYPE_TF32: all_of(
        ON_A_DEVICE,
        COMPUTE_CAPABILITY >= "8.0",
        value_of(_tf32_not_off),
    ).source(_TABLE_33, f"{_TORCH_CUDA_PY}/__init__.py, is_tf32_supported"),
    F.DTYPE_FP16: all_of(ON_A_DEVICE, _FP16).source(
        _ARITHMETIC, "CUDA 13.0, cuda_fp16.hpp (sm_53)"
    ),
    F.DTYPE_BF16: all_of(ON_A_DEVICE, _BF16).source(
        _TABLE_29, f"{_TORCH_CUDA_PY}/__init__.py, is_bf16_supported"
    ),
    F.DTYPE_FP8_E4M3: all_of(ON_A_DEVICE, _FP8).source(
        _TABLE_33, _SCALED_MM, "PyTorch PR #118881 (8.9 since 2.3)",
        "CUDA 11.8 and 12.1 Update 1 release notes, cuBLAS",
    ),
    F.DTYPE_FP8_E5M2: all_of(
        ON_A_DEVICE, _FP8, yes("against e4m3: not e5m2 by e5m2", code=Code.NOTE)
    ).source(_TABLE_33, _SCALED_MM, "cuBLAS, cublasLtMatmul, table of FP8 types"),
    F.DTYPE_MXFP8: all_of(
        ON_A_DEVICE, _BLOCK_SCALED.then(all_of(torch("2.7"), built_with("12.8")))
    ).source(
        _TABLE_33, _SCALED_MM, "PyTorch PR #147548 (2.7)", "pytorch#198126 (12.x: one layout)"
    ),
    F.DTYPE_NVFP4: all_of(
        ON_A_DEVICE, _BLOCK_SCALED.then(all_of(torch("2.8"), built_with("12.8")))
    ).source(
        _TABLE_33, _SCALED_MM, "PyTorch PR #148792 (2.8)"
    ),
    F.DTYPE_MXFP4: all_of(
        ON_A_DEVICE,
        EXACT_CAPABILITY.between("10.0", "11.0").then(all_of(built_with("12.8"), torch("2.10"))),
    ).source(_TABLE_33, f"{_SCALED_MM}, _check_mxfp4_support", "PyTorch PR #166526 (2.10)"),
    F.DTYPE_INT8: all_of(ON_A_DEVICE, _INT8).source(
        _TABLE_33, "NVIDIA GB300 NVL72 datasheet (165 of 2500 TOPS)",
        "CUDA 13.0, crt/mma.h and sm_61_intrinsics.h; PyTorch PR #169961",
    ),
    F.DTYPE_INT4: all_of(
        ON_A_DEVICE,
        (COMPUTE_CAPABILITY >= "8.0").then(torch("2.2")),
        yes("weights only: products run in bf16", code=Code.NOTE),
    ).source("PyTorch, aten/src/ATen/native/cuda/int4mm.cu (code for 8.0 and newer)"),
    F.DTYPE_COMPLEX64: all_of(ON_A_DEVICE, yes("computed in fp32 pairs")).source(
        "PyTorch documentation, Complex Numbers"
    ),
    F.DTYPE_COMPLEX128: all_of(ON_A_DEVICE, _FP64).source(
        "PyTorch documentation, Complex Numbers", _TABLE_30
    ),
    F.DTYPE_FP16_AUTOCAST: all_of(F.DTYPE_FP16).source(f"{_TORCH_CUDA_PY}/amp"),
    F.DTYPE_BF16_AUTOCAST: all_of(torch("1.10"), F.DTYPE_BF16).source(
        "PyTorch, torch/amp/autocast_mode.py"
    ),
    F.DTYPE_FP16_GRAD_SCALER: all_of(ON_A_DEVICE).source("PyTorch, torch/amp/grad_scaler.py"),
    **{
        feature: no(Code.HARDWARE_UNSUPPORTED, "fnuz types are AMD's").source(_SCALED_MM)
        for feature in (F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ)
    },
    **{
        feature: all_of(ON_A_DEVICE).source("PyTorch documentation, torch.dtype")
        for feature in (
            F.DTYPE_FP64_STORAGE, F.DTYPE_FP32_STORAGE, F.DTYPE_FP16_STORAGE, F.DTYPE_BF16_STORAGE,
            F.DTYPE_INT8_STORAGE, F.DTYPE_COMPLEX64_STORAGE, F.DTYPE_COMPLEX128_STORAGE,
        )
    },
    **{
        feature: all_of(ON_A_DEVICE, torch(since)).source(
            "PyTorch, c10/util/Float8_*.h: converted in software below 8.9"
        )
        for feature, since in (
            (F.DTYPE_FP8_E4M3_STORAGE, "2.1"), (F.DTYPE_FP8_E5M2_STORAGE, "2.1"),
            (F.DTYPE_FP8_E4M3FNUZ_STORAGE, "2.2"), (F.DTYPE_FP8_E5M2FNUZ_STORAGE, "2.2"),
        )
    },
}  # fmt: skip
