"""Apple GPUs: chip generation, macOS and PyTorch release."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD, COMPILE_PYTHON, INDUCTOR_CXX
from accelcaps.accelerators.collectives import every_collective, gloo
from accelcaps.accelerators.host import HOST, value
from accelcaps.accelerators.limits import device_limits
from accelcaps.accelerators.presence import usable_device
from accelcaps.accelerators.references import (
    BACKENDS,
    DEEPSPEED,
    ON_A_DEVICE,
    TORCH_INSTALLED,
    torch,
    undocumented,
    use_instead,
)
from accelcaps.accelerators.rows import (
    CUDA_KERNELS,
    FORK_SAFE,
    NO_DEEPCOMPILE,
    deepspeeds_word,
    no_other_toolkits,
)
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import (
    Finding,
    Question,
    Rule,
    all_of,
    degraded,
    device_fact,
    no,
    value_of,
    version_of,
    yes,
)
from accelcaps.verdict import Code, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["Mps"]

_WHEELS = "PyTorch macOS wheels 2.0 to 2.14"
_ALLOCATION = "PyTorch, aten/src/ATen/mps/EmptyTensor.cpp"
_DTYPES_MM = "PyTorch, aten/src/ATen/native/mps/OperationUtils.mm, getMPSDataType"
_FAMILIES = "Apple, Metal Feature Set Tables (May 2026): M1 apple7, M2 apple8, M3 and M4 apple9"
_TORCH_MPS = "PyTorch 2.13, torch/mps/__init__.py"
_DS_MPS = "DeepSpeed 0.19.8, accelerator/mps_accelerator.py"
_SEEN = "system_profiler SPDisplaysDataType and sysctl; torch.backends.mps"
_NONE = Code.NOT_IMPLEMENTED

_FAMILY = device_fact("arch", "GPU family", code=Code.HARDWARE_TOO_OLD)
_MACOS = version_of("host.macos", "macOS", absent="this is not macOS")


def _macos(version: str) -> Rule:
    return (version <= _MACOS).remedy(f"update macOS to {version} or newer").where_recorded()


def _macos_of_this_torch(question: Question) -> Finding:
    """PyTorch 2.9 and newer need macOS 14, 2.6 to 2.8 need 13, older ones 12.3."""
    since = (torch("2.9").judge(question), "14.0"), (torch("2.6").judge(question), "13.0")
    oldest = next((v for finding, v in since if finding.status is Status.YES), "12.3")
    return _macos(oldest).judge(question)


_FP32 = use_instead(F.DTYPE_FP32)
_BF16_SPEED = _FAMILY.is_one_of("apple9", "apple10").otherwise(
    _FAMILY.is_one_of("apple7", "apple8")
    .then(
        degraded(Code.EMULATED, "M1 and M2 emulate bf16, at about half the speed of fp32").remedy(
            use_instead(F.DTYPE_FP16, F.DTYPE_FP32)
        )
    )
    .otherwise(undocumented("no source tells how fast this GPU computes bf16"))
)
_BF16_SOURCES = (
    "PyTorch PR #119641 (2.3); zzc0721/torch-performance-test-data#191 (M1 Pro: 2.3 of 4.3 TFLOPS) "
    "and #65 (M4 Max)",
    "philipturner/metal-flash-attention, GEMMKernelDescriptor.cpp: bf16 registers from apple9",
    _FAMILIES,
)
_BF16_EXISTS = all_of(ON_A_DEVICE, torch("2.3"), _macos("14.0"))
_COMPLEX_EXISTS = all_of(ON_A_DEVICE, torch("2.3"), _macos("14.0"))
_NO_FP64 = no(Code.HARDWARE_UNSUPPORTED, "MPS has no float64").remedy("use fp32, or the CPU")
_NO_FP8 = no(_NONE, "torch has no 8-bit floats on MPS, up to 2.14").remedy(
    use_instead(F.DTYPE_FP16, F.DTYPE_FP32)
)
_DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: _NO_FP64.source(_ALLOCATION),
    F.DTYPE_FP64_STORAGE: _NO_FP64.source(_ALLOCATION),
    F.DTYPE_FP32: all_of(ON_A_DEVICE).source(_DTYPES_MM),
    F.DTYPE_FP32_STORAGE: all_of(ON_A_DEVICE).source(_DTYPES_MM),
    F.DTYPE_TF32: no(_NONE, "torch has no TensorFloat-32 switch for MPS").source(_TORCH_MPS),
    F.DTYPE_FP16: all_of(ON_A_DEVICE).source(_DTYPES_MM),
    F.DTYPE_FP16_STORAGE: all_of(ON_A_DEVICE).source(_DTYPES_MM),
    F.DTYPE_BF16: all_of(_BF16_EXISTS, _BF16_SPEED).source(*_BF16_SOURCES),
    F.DTYPE_BF16_STORAGE: _BF16_EXISTS.source(_ALLOCATION, "PyTorch PR #119641 (2.3)"),
    F.DTYPE_INT8: no(_NONE, "torch._int_mm has no MPS kernel, up to PyTorch 2.14").source(
        f"{_WHEELS}, include/ATen/ops/_int_mm_*_dispatch.h"
    ),
    F.DTYPE_INT8_STORAGE: all_of(ON_A_DEVICE).source(_DTYPES_MM),
    F.DTYPE_INT4: all_of(
        ON_A_DEVICE,
        torch("2.4"),
        degraded(Code.LIMITED, "weights only: products run in fp32, fp16 or bf16"),
    ).source("PyTorch, aten/src/ATen/native/mps/operations/Quantized.mm (2.4)"),
    F.DTYPE_COMPLEX64: all_of(
        _COMPLEX_EXISTS,
        torch("2.7"),
        degraded(Code.LIMITED, "some operations refuse it, such as torch.nn.functional.linear"),
    ).source(f"{_WHEELS}: messages in libtorch_cpu; products since 2.7"),
    F.DTYPE_COMPLEX64_STORAGE: _COMPLEX_EXISTS.source(f"{_WHEELS}: messages in libtorch_cpu"),
    **dict.fromkeys(
        (F.DTYPE_COMPLEX128, F.DTYPE_COMPLEX128_STORAGE),
        no(Code.HARDWARE_UNSUPPORTED, "MPS has no float64, so no complex128")
        .remedy("use complex64, or the CPU")
        .source(_ALLOCATION),
    ),
    **dict.fromkeys(
        (
            F.DTYPE_FP8_E4M3, F.DTYPE_FP8_E5M2, F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ,
            F.DTYPE_FP8_E4M3_STORAGE, F.DTYPE_FP8_E5M2_STORAGE, F.DTYPE_FP8_E4M3FNUZ_STORAGE,
            F.DTYPE_FP8_E5M2FNUZ_STORAGE, F.DTYPE_MXFP8, F.DTYPE_MXFP4, F.DTYPE_NVFP4,
        ),
        _NO_FP8.source(f"{_WHEELS}, include/ATen/ops: no _scaled_mm for MPS; {_DTYPES_MM}"),
    ),
    F.DTYPE_FP16_AUTOCAST: all_of(torch("2.5"), F.DTYPE_FP16).source("PyTorch PR #99272 (2.5)"),
    F.DTYPE_BF16_AUTOCAST: all_of(torch("2.6"), F.DTYPE_BF16).source("PyTorch PR #139390 (2.6)"),
    F.DTYPE_FP16_GRAD_SCALER: all_of(
        ON_A_DEVICE,
        torch("2.8"),
        torch("2.13").otherwise(
            degraded(Code.LIMITED, "gradients kept in fp16 or bf16 are zeroed (keep fp32 ones)")
        ),
    ).source("PyTorch PR #150255 (2.8); PR #184286 (gradients zeroed, after 2.12.0)"),
}  # fmt: skip

_STREAMS = no(_NONE, "torch has one queue on MPS and no streams, up to PyTorch 2.14").source(
    "PyTorch, aten/src/ATen/mps/MPSGuardImpl.h"
)
_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "Apple GPU", _SEEN, value_of(_macos_of_this_torch), hides="",
        remedy="use macOS on Apple silicon, outside a virtual machine without a GPU",
    ),
    F.DEVICE_SYNCHRONOUS: no(_NONE, "work is queued, and torch.mps.synchronize() waits").source(
        "PyTorch, aten/src/ATen/mps/MPSStream.mm; DeepSpeed says true, meaning that one queue "
        "keeps the order"
    ),
    F.DEVICE_HOST_TIMERS: yes("after torch.mps.synchronize()").source(_DS_MPS),
    F.DEVICE_RESOLVES_DATA_DEPENDENCY: yes("one queue runs all work in order").source(_DS_MPS),
    F.DEVICE_HANDLES_MEMORY_BACKPRESSURE: yes("one queue runs all work in order").source(_DS_MPS),
    F.RUNTIME_STREAMS: _STREAMS,
    F.RUNTIME_STREAM_PRIORITIES: _STREAMS,
    F.RUNTIME_EVENTS: all_of(ON_A_DEVICE, torch("2.1")).source("PyTorch 2.1, torch/mps/event.py"),
    F.RUNTIME_EVENT_TIMING: all_of(ON_A_DEVICE, torch("2.1")).source(
        "PyTorch 2.1, torch/mps/event.py, elapsed_time"
    ),
    F.RUNTIME_GRAPH_CAPTURE: no(_NONE, "torch captures no graphs on MPS").source(
        "pytorch#180397 (open)"
    ),
    F.RUNTIME_RNG_PER_DEVICE: all_of(ON_A_DEVICE).source(f"{_TORCH_MPS}, get_rng_state"),
    F.RUNTIME_DETERMINISTIC: all_of(
        ON_A_DEVICE,
        degraded(Code.LIMITED, "some operations stay nondeterministic without an alert"),
    ).source("pytorch#161029, pytorch#195404"),
    F.RUNTIME_PROFILER_RANGES: no(
        _NONE, "torch.mps.profiler marks operations for Instruments, and takes no named ranges"
    ).source("PyTorch 2.13, torch/mps/profiler.py"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: no(_NONE, "there are no named ranges").source(
        "PyTorch 2.13, torch/mps/profiler.py"
    ),
    **FORK_SAFE,
    F.MEMORY_PINNED_HOST: all_of(
        ON_A_DEVICE,
        torch("2.14"),
        degraded(Code.LIMITED, "a shared buffer, which copies no faster"),
    ).source("PyTorch PR #181720 (2.14)"),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY).source("DeepSpeed 0.19.8, op_builder/mps"),
    F.MEMORY_ASYNC_COPY: undocumented(
        "whether a copy overlaps with the host's work is not documented"
    ).source("PyTorch, aten/src/ATen/native/mps/operations/Copy.mm; pytorch#193845 (open)"),
    F.MEMORY_STATS: all_of(
        ON_A_DEVICE,
        torch("2.13").otherwise(
            degraded(Code.LIMITED, "allocated and driver memory, without peaks")
        ),
    ).source(f"{_TORCH_MPS}; {_WHEELS}: getDeviceStats since 2.13"),
    F.MEMORY_UNIFIED: all_of(ON_A_DEVICE).source("Apple, MTLDevice.hasUnifiedMemory"),
    F.MEMORY_PEER_ACCESS: no(Code.HARDWARE_MISSING, "there is one device").source(
        "PyTorch, aten/src/ATen/mps/MPSGuardImpl.h"
    ),
    F.MEMORY_EXPANDABLE_SEGMENTS: no(_NONE, "the MPS allocator has none").source(
        "PyTorch, aten/src/ATen/mps/MPSAllocator.mm"
    ),
    F.MEMORY_IPC: no(_NONE, "torch shares no MPS memory between processes").source(
        "pytorch#87688"
    ),
}  # fmt: skip

_STAGED = (
    (DEEPSPEED >= "0.19.8")
    .or_if_not_recorded(no(_NONE, "no backend of torch.distributed takes MPS tensors"))
    .remedy("use DeepSpeed 0.19.8 or newer, which copies through host memory, or another device")
    .then(
        degraded(
            Code.LIMITED,
            "through DeepSpeed only, which copies through host memory to gloo: torch.distributed "
            "alone refuses MPS tensors",
        )
    )
)
_STAGING = "DeepSpeed 0.19.8, comm/torch.py, stage_on_cpu; PyTorch 2.14, distributed_c10d.py"
_GLOO = gloo()
_COMM: Mapping[Feature, Rule] = {
    **{
        feature: all_of(ON_A_DEVICE, _STAGED, _GLOO[feature]).source(_STAGING)
        for feature in every_collective(_STAGED)
    },
    F.COMM_BACKEND: all_of(
        ON_A_DEVICE, TORCH_INSTALLED.where_recorded(), BACKENDS.has("gloo").where_recorded(),
        _STAGED, value_of(lambda question: Finding(
            Status.YES, question.facts.evidence, value="gloo")),
    ).source(_STAGING),
    F.COMM_SYMMETRIC_MEMORY: no(_NONE, "there is one device").source("pytorch#189853"),
    F.COMM_GPU_DIRECT_RDMA: no(_NONE, "torch has no RDMA on MPS").source("pytorch#189853"),
}  # fmt: skip

_NO_TRITON = no(Code.HARDWARE_UNSUPPORTED, "triton has no backend for Apple GPUs").source(
    "triton README, Compatibility"
)
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: _NO_TRITON,
    F.TRITON_USABLE: _NO_TRITON,
    F.COMPILE_INDUCTOR: all_of(
        ON_A_DEVICE, TORCH_INSTALLED.where_recorded(), torch("2.7"),
        COMPILE_PYTHON.where_recorded(),
        INDUCTOR_CXX.where_recorded(),
        degraded(Code.LIMITED, "an early prototype, by its own word"),
    ).source("PyTorch 2.7 to 2.13, torch/_inductor/codegen/mps.py"),
    F.COMPILE_TORCH_COMPILE: all_of(F.COMPILE_INDUCTOR).source(
        "PyTorch documentation, torch.compile"
    ),
    **NO_DEEPCOMPILE,
    **no_other_toolkits("an Apple GPU"),
    F.BUILD_DRIVER: value_of(_macos_of_this_torch).source(
        f"{_WHEELS}: 'The MPS backend is supported on MacOS …+'"
    ),
    F.BUILD_KERNEL_IMAGE: all_of(ON_A_DEVICE, yes("macOS compiles the kernels for its GPU")).source(
        f"{_WHEELS}: the metallib holds AIR, not code of a chip"
    ),
    F.ATTENTION_SDPA: all_of(ON_A_DEVICE, torch("2.0")).source("PyTorch 2.0 release notes"),
    **dict.fromkeys(
        (F.ATTENTION_FLASH_ATTENTION, F.ATTENTION_MEM_EFFICIENT),
        no(_NONE, "torch has no such kernel on MPS, up to 2.14: SDPA runs its own").source(
            f"{_WHEELS}: no _fused_sdp_choice for MPS; PyTorch PR #184585"
        ),
    ),
    **CUDA_KERNELS,
    F.ATTENTION_PAGED: undocumented(
        "torch has none on MPS, and no package's was looked at"
    ).source("PyTorch 2.13, torch/nn/attention"),
    F.OP_GROUPED_MM: undocumented(
        "whether torch._grouped_mm has an MPS kernel is not documented"
    ).source("PyTorch 2.13, aten/src/ATen/native/native_functions.yaml"),
}  # fmt: skip


class Mps(Accelerator):
    """Apple GPUs with Metal Performance Shaders."""

    name = "mps"
    title = "Apple GPU"
    seen_by = DeviceSource(
        torch_type="mps",
        system="Darwin",
        probe="accelcaps.facts.probes.apple:probe",
        without_signs=True,  # an Apple GPU is on no bus
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **_DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(_DS_MPS, bf16=_macos("14.0"), bf16_note=": macOS 14, emulation included"),
        **device_limits(
            "mps", _SEEN,
            runtime=value("host.macos", "macOS").source("sw_vers"),
            comm=no(_NONE, "gloo has no version of its own").source(_STAGING),
        ),
    }  # fmt: skip
