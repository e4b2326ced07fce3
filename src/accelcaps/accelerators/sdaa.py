"""Tecorigin SDAAs (T100), by torch_sdaa. Few of its documents are public: most rows are open."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD
from accelcaps.accelerators.collectives import every_collective
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.limits import device_limits
from accelcaps.accelerators.presence import torch_runs, usable_device
from accelcaps.accelerators.references import (
    ON_A_DEVICE,
    undocumented,
    use_instead,
)
from accelcaps.accelerators.rows import (
    CUDA_KERNELS,
    FORK_SAFE,
    NO_DEEPCOMPILE,
    NO_MONITORED_BARRIER,
    asynchronous,
    deepspeeds_word,
    no_other_toolkits,
    own_backend,
)
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import Rule, all_of, degraded, no, unknown, yes
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["Sdaa"]

_DS_SDAA = "DeepSpeed 0.19.8, accelerator/sdaa_accelerator.py"
_SEEN = "device nodes /dev/tcaicard*, four devices each; torch_sdaa, asked in a child process"
# Tecorigin's manuals were read as a public survey of them reports (2026-08-08), not themselves.
_PCX = "Tecorigin, PCX Programming Guide 1.2.0, matrix instructions, as a public survey reports it"
_TORCH = "Tecorigin, TecoPyTorch manual 3.2.0 (PyTorch 2.7.1), as a public survey reports it"
_ZOO = "Tecorigin/modelzoo, PyTorch: training scripts"
_NONE = Code.NOT_IMPLEMENTED
_HERE = all_of(ON_A_DEVICE)
_UNTOLD = undocumented("no public document of Tecorigin tells")

_NO_UNIT = no(Code.HARDWARE_UNSUPPORTED, "the matrix unit multiplies fp16 and int16 only").remedy(
    use_instead(F.DTYPE_FP16, F.DTYPE_FP32)
)
_DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: undocumented(
        "the instruction set has float64, and which products torch_sdaa has is not told"
    ).source(_PCX),
    F.DTYPE_FP32: all_of(
        ON_A_DEVICE,
        yes("convolutions run in fp16 unless TORCH_SDAA_CONV_USE_FP32 is set", code=Code.NOTE),
    ).source(_TORCH, _ZOO),
    F.DTYPE_FP32_STORAGE: _HERE.source(_ZOO),
    F.DTYPE_TF32: no(
        Code.HARDWARE_UNSUPPORTED, "the matrix unit multiplies fp16 and int16 only"
    ).source(_PCX),
    F.DTYPE_FP16: _HERE.source(_PCX, _ZOO),
    F.DTYPE_FP16_STORAGE: _HERE.source(_ZOO),
    F.DTYPE_BF16: all_of(
        ON_A_DEVICE,
        degraded(
            Code.EMULATED, "products run on the fp16 unit, whose range is smaller (±65407)"
        ).remedy(use_instead(F.DTYPE_FP16, F.DTYPE_FP32)),
    ).source(f"{_TORCH}: TORCH_SDAA_BF16_CLIP", _PCX),
    F.DTYPE_BF16_STORAGE: _HERE.source(_TORCH),
    **dict.fromkeys(
        (F.DTYPE_FP8_E4M3, F.DTYPE_FP8_E5M2, F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ,
         F.DTYPE_MXFP8, F.DTYPE_MXFP4, F.DTYPE_NVFP4, F.DTYPE_INT8),
        _NO_UNIT.source(_PCX),
    ),
    F.DTYPE_INT4: undocumented(
        "Teco-vLLM has int4 weights; whether torch's own product with them works is not told"
    ).source("Tecorigin, Teco-vLLM manual 3.2.0, as a public survey reports it"),
    **dict.fromkeys(
        (F.DTYPE_COMPLEX64, F.DTYPE_COMPLEX128, F.DTYPE_FP64_STORAGE, F.DTYPE_INT8_STORAGE,
         F.DTYPE_COMPLEX64_STORAGE, F.DTYPE_COMPLEX128_STORAGE, F.DTYPE_FP8_E4M3_STORAGE,
         F.DTYPE_FP8_E5M2_STORAGE, F.DTYPE_FP8_E4M3FNUZ_STORAGE, F.DTYPE_FP8_E5M2FNUZ_STORAGE),
        _UNTOLD.source(_TORCH),
    ),
    F.DTYPE_FP16_AUTOCAST: _HERE.source(f"{_ZOO}: torch.sdaa.amp.autocast", _TORCH),
    F.DTYPE_BF16_AUTOCAST: undocumented("the manual tells of mixed precision in fp16 only").source(
        _TORCH
    ),
    F.DTYPE_FP16_GRAD_SCALER: undocumented(
        "torch_sdaa has one of its own (torch.sdaa.amp.GradScaler); whether torch.amp's works is "
        "not told"
    ).source(_ZOO),
}  # fmt: skip

_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "Tecorigin SDAA", _SEEN, hides="SDAA_VISIBLE_DEVICES",
        remedy="install TecoDriver, TecoToolKit and torch_sdaa",
    ),
    **asynchronous(_DS_SDAA),
    F.RUNTIME_STREAMS: _HERE.source(f"{_DS_SDAA}, Stream", "Tecorigin, SDAARuntime manual 3.2.0"),
    F.RUNTIME_EVENTS: _HERE.source(f"{_DS_SDAA}, Event", "Tecorigin, SDAARuntime manual 3.2.0"),
    F.RUNTIME_RNG_PER_DEVICE: _HERE.source(f"{_DS_SDAA}, default_generator"),
    F.RUNTIME_GRAPH_CAPTURE: undocumented(
        "the runtime has an error for capture that is not supported, and no way to capture is told"
    ).source("Tecorigin, SDAARuntime manual 3.2.0, as a public survey reports it",
             f"{_DS_SDAA}, create_graph: none"),
    **dict.fromkeys(
        (F.RUNTIME_STREAM_PRIORITIES, F.RUNTIME_EVENT_TIMING, F.RUNTIME_DETERMINISTIC,
         F.RUNTIME_PROFILER_RANGES, F.RUNTIME_PROFILER_RANGES_DOMAIN),
        _UNTOLD.source(_TORCH),
    ),
    **FORK_SAFE,
    F.MEMORY_PINNED_HOST: _HERE.source(f"{_DS_SDAA}, pin_memory"),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY, F.HOST_MEMLOCK).source(
        "DeepSpeed 0.19.8, op_builder/sdaa"
    ),
    F.MEMORY_STATS: undocumented("older releases have none, and which ones do is not told").source(
        f"{_DS_SDAA}, memory_stats: where torch.sdaa has it"
    ),
    F.MEMORY_UNIFIED: no(
        Code.HARDWARE_UNSUPPORTED, "each device has an address space of its own"
    ).source("Tecorigin, SDAA C Programming Guide 3.2.0, as a public survey reports it"),
    **dict.fromkeys(
        (F.MEMORY_ASYNC_COPY, F.MEMORY_PEER_ACCESS, F.MEMORY_EXPANDABLE_SEGMENTS, F.MEMORY_IPC),
        _UNTOLD.source(_TORCH),
    ),
}  # fmt: skip

_ON_TCCL = all_of(F.COMM_BACKEND)
_TRAINED = (
    F.COMM_ALL_REDUCE, F.COMM_BROADCAST, F.COMM_ALL_GATHER, F.COMM_BARRIER, F.COMM_NEW_GROUP,
    F.COMM_REDUCE_SCATTER_TENSOR, F.COMM_ALL_GATHER_INTO_TENSOR,
)  # fmt: skip
_COMM: Mapping[Feature, Rule] = {
    **every_collective(
        undocumented("no public document tells which collectives and types TCCL has").source(_TORCH)
    ),
    # What DeepSpeed's ZeRO and DDP use, with which Tecorigin trained models.
    **{
        feature: _ON_TCCL.source("huggingface/accelerate PR #3330 (ZeRO-3)", _ZOO)
        for feature in _TRAINED
    },
    **NO_MONITORED_BARRIER,
    **own_backend(
        "tccl",
        f"{_DS_SDAA}, communication_backend_name", f"{_ZOO}: init_process_group('tccl')",
    ),
    F.COMM_SYMMETRIC_MEMORY: _UNTOLD.source(_TORCH),
    F.COMM_GPU_DIRECT_RDMA: _UNTOLD.source("Tecorigin, installation manual 3.2.0"),
}  # fmt: skip

_NO_TRITON = no(Code.HARDWARE_UNSUPPORTED, "triton has no backend for it").source(
    "triton README, Compatibility", f"{_DS_SDAA}, is_triton_supported: false"
)
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: _NO_TRITON,
    F.TRITON_USABLE: _NO_TRITON,
    F.COMPILE_INDUCTOR: undocumented(
        "torch_sdaa has a backend of its own; whether backend='inductor' reaches it is not told"
    ).source(_TORCH),
    F.COMPILE_TORCH_COMPILE: all_of(
        ON_A_DEVICE,
        degraded(Code.LIMITED, "with backend='teco_inductor', of torch_sdaa 3.2, static shapes"),
    ).source(_TORCH),
    **NO_DEEPCOMPILE,
    **no_other_toolkits("an SDAA", "SDAA Extension"),
    F.BUILD_DRIVER: torch_runs().otherwise(
        unknown(
            Code.NOT_OBSERVED,
            "torch_sdaa cannot use the device; TecoDriver must be as new as TecoToolKit or newer",
        )
    ).source("Tecorigin, installation manual 3.2.0, as a public survey reports it"),
    F.BUILD_KERNEL_IMAGE: undocumented(
        "the manuals name the T100 series only, and nothing tells which card this is"
    ).source(_PCX),
    F.ATTENTION_SDPA: _UNTOLD.source(_TORCH),
    F.ATTENTION_FLASH_ATTENTION: _UNTOLD.source(_TORCH),
    F.ATTENTION_MEM_EFFICIENT: _UNTOLD.source(_TORCH),
    **CUDA_KERNELS,
    F.ATTENTION_PAGED: undocumented(
        "Teco-vLLM has one; no package that is looked for here does"
    ).source("Tecorigin, Teco-vLLM manual 3.2.0, as a public survey reports it"),
    F.OP_GROUPED_MM: _UNTOLD.source(_TORCH),
}  # fmt: skip

_PASSED_ON = undocumented("DeepSpeed passes on torch_sdaa's answer, which is not told")


class Sdaa(Accelerator):
    """Tecorigin SDAAs with TecoToolKit."""

    name = "sdaa"
    title = "Tecorigin SDAA"
    seen_by = DeviceSource(
        torch_type="sdaa",
        module="torch_sdaa",
        nodes=("tcaicard[0-9]*",),  # a card; which vendor id it has on the bus is not told
        visibility=("SDAA_VISIBLE_DEVICES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **_DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(_DS_SDAA, bf16=_PASSED_ON, fp16_note=": always true"),
        **device_limits(
            "sdaa", _SEEN,
            runtime=unknown(Code.NOT_OBSERVED, "TecoToolKit's version is not looked for").source(
                "Tecorigin, installation manual 3.2.0"
            ),
            comm=unknown(Code.NOT_OBSERVED, "TCCL comes with TecoToolKit, not looked for").source(
                "Tecorigin, installation manual 3.2.0"
            ),
        ),
    }  # fmt: skip
