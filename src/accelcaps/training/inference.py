"""``inference.*`` and ``quant.*``: what DeepSpeed and bitsandbytes need to serve a model here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import AVAILABLE, deepspeed, only_on
from accelcaps.rules import Rule, all_of, any_of, fact, no
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["INFERENCE"]

_DS = "DeepSpeed 0.19.8"
_BITSANDBYTES = "bitsandbytes documentation, Installation: CUDA, ROCm, Intel XPU, Gaudi, CPU"

INFERENCE: Mapping[Feature, Rule] = {
    F.INFERENCE_KERNEL_INJECT: all_of(AVAILABLE, F.OP_TRANSFORMER_INFERENCE).source(
        f"{_DS}, inference/engine.py and ops/transformer/inference/"
    ),
    F.INFERENCE_V2: all_of(
        AVAILABLE,
        F.OP_RAGGED_OPS,
        F.OP_RAGGED_DEVICE_OPS,
        F.OP_INFERENCE_CORE_OPS,
        any_of(F.DTYPE_BF16, F.DTYPE_FP16),
    ).source(f"{_DS}, inference/v2/kernels/"),
    F.INFERENCE_HYBRID_ENGINE: all_of(
        AVAILABLE, F.OP_TRANSFORMER_INFERENCE, F.COMM_ALL_GATHER, deepspeed()
    ).source(f"{_DS}, runtime/hybrid_engine.py"),
    F.INFERENCE_CUDA_GRAPH: only_on(
        "cuda", "rocm",
        because="DeepSpeed ignores enable_cuda_graph unless the accelerator is called cuda",
    ).then(all_of(F.RUNTIME_GRAPH_CAPTURE, deepspeed())).source(f"{_DS}, inference/engine.py"),
    F.INFERENCE_INT8: all_of(F.DEEPSPEED_INT8_INFERENCE).source(f"{_DS}, inference/engine.py"),
    # DeepSpeed's own word where it was asked; what its accelerators say where it was not.
    F.DEEPSPEED_INT8_INFERENCE: deepspeed().then(
        fact("ops.{accelerator}.accelerator.supported_dtypes", "types that DeepSpeed lists here",
             code=Code.POLICY)
        .has("int8")
        .or_if_not_recorded(
            no(Code.POLICY, "DeepSpeed refuses int8: no accelerator's supported_dtypes() lists it")
        )
    ).source(f"{_DS}, inference/engine.py (the check) and accelerator/*.py, supported_dtypes"),
    F.QUANT_FP_QUANTIZER: all_of(F.OP_FP_QUANTIZER, F.DTYPE_BF16).source(
        f"{_DS}, ops/fp_quantizer/quantize.py (bf16 input)"
    ),
    F.QUANT_FP6: only_on("cuda", because="DeepSpeed's fp6 kernel is written for NVIDIA GPUs")
    .then(F.INFERENCE_V2)
    .source(f"{_DS}, inference/v2/modules/heuristics.py and kernels/core_ops/cuda_linear"),
    F.QUANT_INT8: all_of(F.OP_BITSANDBYTES).source(_BITSANDBYTES),
    F.QUANT_NF4: all_of(F.OP_BITSANDBYTES).source(_BITSANDBYTES),
    F.OP_BITSANDBYTES: only_on(
        "cuda", "rocm", "xpu", "hpu", "cpu", because="bitsandbytes has no kernels for it"
    )
    .then(all_of(AVAILABLE, "pkg.bitsandbytes"))
    .source(_BITSANDBYTES),
}  # fmt: skip
