"""Data types of Biren GPUs, by family (BR1xx, BR2xx), as its PyTorch plugin torch_supa has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import Version

from accelcaps import features as F
from accelcaps.accelerators.references import ON_A_DEVICE, undocumented
from accelcaps.rules import (
    Finding,
    Question,
    Rule,
    all_of,
    degraded,
    no,
    value_of,
    version_of,
)
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["DTYPES", "GUIDE", "PLUGIN", "SUPA_SOURCE", "family", "wheel_family"]

PLUGIN = version_of("packages.torch-supa", "torch_supa", absent="torch_supa is not installed")
SUPA_SOURCE = "torch_supa 1.0.0 (BIRENSUPA/torch-supa, 68fb624)"
GUIDE = "Biren, Torch SUPA User Guide 1.0.0 (2026-06-24)"
_SUBLAS = f"{SUPA_SOURCE}, csrc/aten/ops/sublas/Sublas.cpp"
_COPY = f"{SUPA_SOURCE}, csrc/aten/common/Copy.cpp"
_AMP = f"{SUPA_SOURCE}, supa/amp/autocast_mode.py, get_amp_supported_dtype"
_HOT_CHIPS = "Biren at Hot Chips 34 (2022), BR100: FP32, TF32+, BF16, INT8, and no FP64"
_NAMED = re.compile(r"\b(?:biren|br)[ -]?([1-9])\d\d", re.IGNORECASE)


def family(question: Question) -> str | None:
    """Return ``br1xx`` or ``br2xx``: what the device is called, else what torch_supa is for."""
    named = _NAMED.search(str((question.device or {}).get("name", "")))
    return f"br{named[1]}xx" if named else wheel_family(question)


def wheel_family(question: Question) -> str | None:
    """Return what the installed torch_supa is built for; the wheel's version ends in it."""
    found = PLUGIN.value(question)
    local = found.local if isinstance(found, Version) else None
    return local if local and re.fullmatch(r"br\dxx", local) else None


def _only(wanted: str) -> Rule:
    """Hold for the devices of one family."""

    def judge(question: Question) -> Finding:
        found = family(question)
        text = f"the GPU is of the family {found}" if found else "nothing tells the GPU's family"
        status = Status.YES if found == wanted else Status.NO
        return Finding(status, question.facts.evidence, (Reason(Code.NOTE, text),))

    return value_of(judge, per_device=True)


def _known_of(wanted: str, what: str) -> Rule:
    return all_of(
        ON_A_DEVICE,
        _only(wanted).otherwise(
            undocumented(f"no document tells how fast this GPU computes {what}")
        ),
    )


_NO_FP64 = (
    no(
        Code.HARDWARE_UNSUPPORTED,
        "the GPU does not support float64: torch_supa refuses to copy it there and to multiply it",
    )
    .remedy("use fp32, or the CPU")
    .source(_COPY, _SUBLAS, f"{GUIDE}, chapter 8; {_HOT_CHIPS}")
)
_NO_COMPLEX = no(
    Code.NOT_IMPLEMENTED, "matrix-vector and dot products refuse complex types"
).source(_SUBLAS)
_COMPLEX_STORAGE = undocumented("Biren says that complex types are not fully verified").source(
    f"{GUIDE}, chapter 5, note"
)
_FP8_SPEED = undocumented(
    "Biren lists scaled_mm as supported, and tells neither on which GPUs nor how fast"
).source(f"{GUIDE}, torch.nn.functional", f"{SUPA_SOURCE}, csrc/core/supa/SUPADataType.h")
_FP8_STORAGE = undocumented(
    "torch_supa has a name for the type; no document tells of conversions"
).source(f"{SUPA_SOURCE}, csrc/core/supa/SUPADataType.h")
_NO_FNUZ = undocumented("no document or source of Biren speaks of fnuz types").source(
    f"{SUPA_SOURCE}, csrc/core/supa/SUPADataType.h"
)
_SCALED = undocumented(
    "Biren lists scaled_mm as supported, and does not tell with which block scales"
).source(f"{GUIDE}, torch.nn.functional: scaled_mm, ScalingType, SwizzleType")
_SCALER = undocumented(
    "Biren's guide uses GradScaler, and its table says no to scale, step and update"
).source(f"{GUIDE}, chapter 4 and torch.amp")

DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: _NO_FP64,
    F.DTYPE_FP64_STORAGE: _NO_FP64,
    F.DTYPE_FP32: all_of(ON_A_DEVICE).source(_SUBLAS, f"{SUPA_SOURCE}, test/test_blas.py"),
    F.DTYPE_FP32_STORAGE: all_of(ON_A_DEVICE).source(_COPY),
    F.DTYPE_TF32: all_of(
        ON_A_DEVICE,
        degraded(
            Code.LIMITED,
            "asked for only by products with a bias (addmm), unless torch_supa is told to use "
            "Sublaslt for all",
        ).remedy("export BRTB_SUBLAS_PREFERRED_BACKEND=Sublaslt"),
    ).source(_SUBLAS, f"{GUIDE}, chapter 6; {_HOT_CHIPS}"),
    F.DTYPE_FP16: _known_of("br2xx", "fp16").source(
        f"{GUIDE}, chapters 4 and 8: autocast in fp16 as the first means against slow training",
        _SUBLAS,
    ),
    F.DTYPE_FP16_STORAGE: all_of(ON_A_DEVICE).source(_SUBLAS),
    F.DTYPE_BF16: _known_of("br1xx", "bf16").source(
        f"{_HOT_CHIPS}: BF16 at four times the rate of FP32", _SUBLAS
    ),
    F.DTYPE_BF16_STORAGE: all_of(ON_A_DEVICE).source(_SUBLAS),
    F.DTYPE_INT8: undocumented(
        "torch_supa tests torch._int_mm, and no document tells how fast it is"
    ).source(f"{SUPA_SOURCE}, test/test_blas.py, test_int_mm", _HOT_CHIPS),
    F.DTYPE_INT8_STORAGE: all_of(ON_A_DEVICE).source(f"{GUIDE}, torch.Tensor.char"),
    F.DTYPE_INT4: undocumented("no document or source of Biren speaks of int4").source(GUIDE),
    F.DTYPE_COMPLEX64: _NO_COMPLEX,
    F.DTYPE_COMPLEX128: all_of(_NO_FP64, _NO_COMPLEX),
    F.DTYPE_COMPLEX64_STORAGE: _COMPLEX_STORAGE,
    F.DTYPE_COMPLEX128_STORAGE: _COMPLEX_STORAGE,
    F.DTYPE_FP8_E4M3: _FP8_SPEED,
    F.DTYPE_FP8_E5M2: _FP8_SPEED,
    F.DTYPE_FP8_E4M3_STORAGE: _FP8_STORAGE,
    F.DTYPE_FP8_E5M2_STORAGE: _FP8_STORAGE,
    **dict.fromkeys(
        (
            F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ, F.DTYPE_FP8_E4M3FNUZ_STORAGE,
            F.DTYPE_FP8_E5M2FNUZ_STORAGE,
        ),
        _NO_FNUZ,
    ),
    **dict.fromkeys((F.DTYPE_MXFP8, F.DTYPE_MXFP4, F.DTYPE_NVFP4), _SCALED),
    # That a product is cast and right; how fast it is, is the type's own question.
    F.DTYPE_FP16_AUTOCAST: all_of(ON_A_DEVICE).source(f"{GUIDE}, chapter 4", _AMP),
    F.DTYPE_BF16_AUTOCAST: all_of(ON_A_DEVICE).source(f"{GUIDE}, torch.autocast", _AMP),
    F.DTYPE_FP16_GRAD_SCALER: _SCALER,
}  # fmt: skip
