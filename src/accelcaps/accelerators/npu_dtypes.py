"""Data types of Ascend NPUs, by series, as torch_npu and CANN have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.kinds import by_kind
from accelcaps.accelerators.references import ON_A_DEVICE, undocumented, use_instead
from accelcaps.rules import (
    Question,
    Rule,
    all_of,
    degraded,
    no,
    unknown,
    version_of,
    yes,
)
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["DTYPES", "PLUGIN", "WHEEL", "by_series", "plugin_since", "series"]

PLUGIN = version_of("packages.torch-npu", "torch_npu", absent="torch_npu is not installed")
WHEEL = "torch_npu 2.13.0 (the released wheel)"
_ACLNN_MM = "Huawei, CANN 8.0 documentation, aclnnMm: types of each product series, cubeMathType"
_QUANT = "Huawei, CANN 8.2 documentation, aclnnQuantMatmulV5"
_SOC = "Ascend/pytorch, torch_npu/csrc/core/npu/NpuVariables.cpp, IsBF16Supported: from Ascend910B1"
_SCALED = f"{WHEEL}: '_scaled_mm is supported only on the Ascend950 platform and after'"
_NONE = Code.NOT_IMPLEMENTED

# How torch_npu names the chips of each series (SocVersion): Atlas training, A2, A3 and 950.
_SERIES = (
    ("a5", r"Ascend950|Ascend910_95"),
    ("a3", r"Ascend910_93"),
    ("a2", r"Ascend910B\d"),
    ("310p", r"Ascend310P"),
    ("310b", r"Ascend310B"),
    ("a1", r"Ascend910"),
)


def series(question: Question) -> str | None:
    """Return ``a1``, ``a2``, ``a3``, ``a5``, ``310p`` or ``310b``, as the chip is called."""
    device = question.device or {}
    name = f"{device.get('arch', '')} {device.get('name', '')}"
    return next((each for each, words in _SERIES if re.search(words, name)), None)


def by_series(table: Mapping[str, Rule], *, what: str) -> Rule:
    """Let the rule of the device's series decide; see :func:`by_kind`."""
    return by_kind(series, table, what=what)


def plugin_since(version: str) -> Rule:
    """Hold for this torch_npu or a newer one; which older ones have it was not looked up."""
    older = unknown(
        Code.NOT_OBSERVED, f"whether a torch_npu older than {version} has it was not looked up"
    )
    return (version <= PLUGIN).otherwise(older).where_recorded()


_NARROW = use_instead(F.DTYPE_FP16, F.DTYPE_FP32)
_BF16 = by_series(
    {
        "a2 a3 a5": yes("the cube unit multiplies bf16"),
        "a1 310p": no(
            Code.HARDWARE_TOO_OLD, "bf16 needs Ascend 910B (Atlas A2) or newer"
        ).remedy(_NARROW),
    },
    what="bf16",
)  # fmt: skip
_FP32 = by_series(
    {
        "a2 a3 a5": yes("float32, unless torch.npu.matmul.allow_hf32 lets products use HF32"),
        "a1 310p": degraded(
            Code.LIMITED, "products of fp32 are computed in fp16 on this series"
        ),
    },
    what="how fp32 is multiplied",
)  # fmt: skip
_NO_FP64 = no(
    _NONE, "matrix products take fp16, fp32 and bf16, and not float64"
).remedy("use fp32, or the CPU")  # fmt: skip
_FP8 = all_of(
    ON_A_DEVICE,
    by_series(
        {
            "a5": plugin_since("2.13"),
            "a1 a2 a3 310p 310b": no(
                Code.HARDWARE_TOO_OLD, "torch_npu refuses _scaled_mm before Ascend 950"
            ).remedy(use_instead(F.DTYPE_BF16, F.DTYPE_FP16, F.DTYPE_FP32)),
        },
        what="8-bit floats",
    ),
)
_MX = all_of(
    ON_A_DEVICE,
    by_series(
        {
            "a5": undocumented(
                "CANN multiplies it; whether torch._scaled_mm does on this series is not told"
            ),
            "a1 a2 a3 310p 310b": no(
                Code.HARDWARE_TOO_OLD, "block-scaled types need Ascend 950"
            ),
        },
        what="block-scaled types",
    ),
)  # fmt: skip
_COMPLEX = undocumented("which operations take complex types is not told for matrix products")
_FP8_STORED = undocumented("which conversions of 8-bit floats a series has is not told")
_STORED = all_of(ON_A_DEVICE)

DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: _NO_FP64.source(_ACLNN_MM),
    F.DTYPE_FP64_STORAGE: undocumented(
        "float64 tensors can be made, some operations cast them to fp32, and no table tells which"
    ).source(f"{WHEEL}: 'Device do not support double dtype now, dtype cast replace with float.'"),
    F.DTYPE_FP32: all_of(ON_A_DEVICE, _FP32).source(_ACLNN_MM, f"{WHEEL}, npu/npu_config.py"),
    F.DTYPE_FP32_STORAGE: _STORED.source(_ACLNN_MM),
    F.DTYPE_TF32: no(
        Code.HARDWARE_UNSUPPORTED, "Ascend has HF32 instead, a 19-bit type of its own"
    ).remedy("set torch.npu.matmul.allow_hf32 = True").source(
        f"{WHEEL}, npu/npu_config.py, allow_hf32", _ACLNN_MM
    ),
    F.DTYPE_FP16: _STORED.source(_ACLNN_MM),
    F.DTYPE_FP16_STORAGE: _STORED.source(_ACLNN_MM),
    F.DTYPE_BF16: all_of(ON_A_DEVICE, _BF16).source(
        _ACLNN_MM, _SOC, f"{WHEEL}, npu/utils.py, is_bf16_supported"
    ),
    F.DTYPE_BF16_STORAGE: all_of(F.DTYPE_BF16).source(_SOC),
    F.DTYPE_FP8_E4M3: _FP8.source(_SCALED, _QUANT),
    F.DTYPE_FP8_E5M2: _FP8.source(
        _SCALED, f"{WHEEL}: 'Multiplication of two Float8_e5m2 matrices is not supported'"
    ),
    **dict.fromkeys(
        (F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ, F.DTYPE_FP8_E4M3FNUZ_STORAGE,
         F.DTYPE_FP8_E5M2FNUZ_STORAGE),
        no(_NONE, "CANN has the OCP types and HiFloat8, and no fnuz ones").source(_QUANT),
    ),
    F.DTYPE_FP8_E4M3_STORAGE: _FP8_STORED.source(_QUANT),
    F.DTYPE_FP8_E5M2_STORAGE: _FP8_STORED.source(_QUANT),
    F.DTYPE_MXFP8: _MX.source(_QUANT),
    F.DTYPE_MXFP4: _MX.source(_QUANT),
    F.DTYPE_NVFP4: no(_NONE, "CANN's 4-bit floats have scales of e8m0, not NVIDIA's").source(
        _QUANT
    ),
    F.DTYPE_INT8: all_of(
        ON_A_DEVICE,
        degraded(Code.LIMITED, "torch._int_mm falls back to the CPU").remedy(
            "call torch_npu.npu_quant_matmul"
        ),
    ).source(f"{WHEEL}: no kernel of _int_mm, and the fallback's message", _QUANT),
    F.DTYPE_INT8_STORAGE: _STORED.source(_QUANT),
    F.DTYPE_INT4: all_of(
        ON_A_DEVICE,
        degraded(Code.LIMITED, "only by torch_npu.npu_weight_quant_batchmatmul"),
    ).source(f"{WHEEL}, _op_plugin_docs.py, npu_weight_quant_batchmatmul"),
    F.DTYPE_COMPLEX64: _COMPLEX.source(_ACLNN_MM),
    F.DTYPE_COMPLEX128: all_of(_NO_FP64, _COMPLEX).source(_ACLNN_MM),
    F.DTYPE_COMPLEX64_STORAGE: undocumented(
        "torch_npu has complex tensors, not with jit_compile=True, and tells no table of them"
    ).source(f"{WHEEL}: 'Current settings do not support Complex dtype'"),
    F.DTYPE_COMPLEX128_STORAGE: undocumented(
        "torch_npu has complex tensors, and tells no table of them"
    ).source(f"{WHEEL}: 'Current settings do not support Complex dtype'"),
    F.DTYPE_FP16_AUTOCAST: all_of(F.DTYPE_FP16).source(
        f"{WHEEL}, npu/autocast_utils.py, get_amp_supported_dtype"
    ),
    F.DTYPE_BF16_AUTOCAST: all_of(F.DTYPE_BF16).source(
        f"{WHEEL}, npu/autocast_utils.py, get_amp_supported_dtype"
    ),
    F.DTYPE_FP16_GRAD_SCALER: undocumented(
        "torch_npu has one of its own (torch_npu.npu.amp.GradScaler); whether torch.amp's works, "
        "which inverts its scale in float64, is not told"
    ).source(f"{WHEEL}, npu/amp/grad_scaler.py"),
}  # fmt: skip
