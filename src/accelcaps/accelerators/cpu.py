"""The CPU as an accelerator: instruction-set flags, and how torch was built."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD, COMPILE_PYTHON, INDUCTOR_CXX
from accelcaps.accelerators.collectives import gloo
from accelcaps.accelerators.host import HOST, value
from accelcaps.accelerators.references import (
    CPU_FLAGS,
    TORCH,
    TORCH_INSTALLED,
    if_recorded,
    torch,
    torch_imports,
    undocumented,
    use_instead,
)
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import (
    Finding,
    Question,
    Rule,
    all_of,
    as_rule,
    degraded,
    fact,
    no,
    unknown,
    value_of,
    yes,
)
from accelcaps.training.starting import STARTS
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["Cpu"]

_ONEDNN = "oneDNN 3.12, doc/programming_model/data_types.md (the table of native types)"
_TORCH_CPU = "PyTorch 2.13, torch/cpu/__init__.py and aten/src/ATen/native/mkldnn, run on a CPU"
_DS_CPU = "DeepSpeed 0.19.8, accelerator/cpu_accelerator.py"
_USABLE = all_of(
    fact("cpu", "the CPU").exists("there is a CPU"), all_of(F.DEVICE_AVAILABLE).where_recorded()
)


def _emulated(text: str, *instead: str) -> Rule:
    return degraded(Code.EMULATED, text).remedy(use_instead(*instead))


def _onednn() -> Rule:
    """Hold where torch has oneDNN, whose kernels use the units; else nothing does."""

    def judge(question: Question) -> Finding:
        built = question.facts.get("torch", "mkldnn")
        if not isinstance(built, bool) and getattr(built, "code", None) is not Code.NOT_RECORDED:
            built = question.facts.get("torch", "runtime", "mkldnn")
        if built is not False:  # recorded machines may not tell; every released wheel has it
            return Finding(Status.YES, question.facts.evidence)
        reason = Reason(Code.SOFTWARE_BUILD, "this PyTorch is built without oneDNN")
        return Finding(Status.NO, question.facts.evidence, (reason,))

    return value_of(judge).otherwise(
        degraded(Code.SLOW, "torch has no other kernels for the units")
    )


_BF16_UNITS = CPU_FLAGS.has_any("avx512_bf16", "amx_bf16", "avx10_2", "bf16", "svebf16")
_FP16_UNITS = CPU_FLAGS.has_any("avx512_fp16", "amx_fp16", "avx10_2", "asimdhp")
_INT8_UNITS = CPU_FLAGS.has_any("avx512_vnni", "avx_vnni", "amx_int8", "avx10_2", "asimddp", "i8mm")

_DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: all_of(_USABLE).source(_TORCH_CPU),
    F.DTYPE_FP32: all_of(_USABLE).source(_TORCH_CPU),
    F.DTYPE_TF32: all_of(
        _USABLE,
        CPU_FLAGS.has("amx_fp16")
        .then(unknown(Code.NOT_OBSERVED, "no source tells whether torch uses TF32 on AMX"))
        .otherwise(no(Code.HARDWARE_UNSUPPORTED, "this CPU has no TensorFloat-32 units")),
    ).source(_ONEDNN),
    F.DTYPE_BF16: all_of(
        _USABLE,
        _BF16_UNITS.otherwise(
            _emulated("computed by conversion to and from fp32, slower than fp32", F.DTYPE_FP32)
        ),
        _onednn(),
    ).source(_ONEDNN),
    F.DTYPE_FP16: all_of(
        _USABLE,
        torch("2.2"),
        _FP16_UNITS.otherwise(
            _emulated(
                "computed in software, many times slower than fp32", F.DTYPE_BF16, F.DTYPE_FP32
            )
        ),
        _onednn(),
    ).source(_ONEDNN, "PyTorch PR #99498 (products since 2.2)"),
    F.DTYPE_FP8_E4M3: all_of(
        _USABLE,
        torch("2.8"),
        _emulated("torch._scaled_mm converts to fp32 on the CPU", F.DTYPE_BF16, F.DTYPE_FP32),
    ).source(_TORCH_CPU, "PyTorch PR #150410"),
    F.DTYPE_INT8: all_of(
        _USABLE,
        torch("2.4"),
        _INT8_UNITS.otherwise(degraded(Code.SLOW, "without integer dot products")),
        _onednn(),
    ).source(_ONEDNN, "PyTorch PR #121792 (torch._int_mm on the CPU)"),
    F.DTYPE_INT4: all_of(
        _USABLE,
        torch("2.6"),
        degraded(Code.LIMITED, "weights only, with bf16 or fp32 activations"),
    ).source("PyTorch 2.6, aten::_weight_int4pack_mm_for_cpu"),
    F.DTYPE_COMPLEX64: all_of(_USABLE).source(_TORCH_CPU),
    F.DTYPE_COMPLEX128: all_of(_USABLE).source(_TORCH_CPU),
    F.DTYPE_BF16_AUTOCAST: all_of(torch("1.10"), F.DTYPE_BF16).source(
        "PyTorch, torch/amp/autocast_mode.py"
    ),
    F.DTYPE_FP16_AUTOCAST: all_of(torch("2.2"), F.DTYPE_FP16).source("PyTorch PR #112484"),
    F.DTYPE_FP16_GRAD_SCALER: all_of(_USABLE, torch("2.3")).source(
        "PyTorch 2.3, torch/amp/grad_scaler.py"
    ),
}  # fmt: skip
_DTYPES = {
    **_DTYPES,
    F.DTYPE_FP8_E5M2: _DTYPES[F.DTYPE_FP8_E4M3],
    **{
        feature: all_of(_USABLE).source(_TORCH_CPU)
        for feature in (
            F.DTYPE_FP64_STORAGE, F.DTYPE_FP32_STORAGE, F.DTYPE_FP16_STORAGE, F.DTYPE_BF16_STORAGE,
            F.DTYPE_INT8_STORAGE, F.DTYPE_COMPLEX64_STORAGE, F.DTYPE_COMPLEX128_STORAGE,
        )
    },
    **{
        feature: all_of(_USABLE, torch("2.1")).source("PyTorch 2.1, c10/util/Float8_*.h")
        for feature in (F.DTYPE_FP8_E4M3_STORAGE, F.DTYPE_FP8_E5M2_STORAGE)
    },
    **{
        feature: all_of(_USABLE, torch("2.2")).source("PyTorch 2.2, c10/util/Float8_*fnuz.h")
        for feature in (F.DTYPE_FP8_E4M3FNUZ_STORAGE, F.DTYPE_FP8_E5M2FNUZ_STORAGE)
    },
    **{
        feature: all_of(
            _DTYPES[F.DTYPE_FP8_E4M3],
            (TORCH >= "2.13").otherwise(
                unknown(Code.NOT_OBSERVED, "fnuz products on the CPU were tried with 2.13 only")
            ),
        ).source(_TORCH_CPU)
        for feature in (F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ)
    },
    **{
        feature: no(Code.NOT_IMPLEMENTED, "torch has no block-scaled product on the CPU").source(
            _TORCH_CPU
        )
        for feature in (F.DTYPE_MXFP8, F.DTYPE_MXFP4, F.DTYPE_NVFP4)
    },
}  # fmt: skip

_NO_STREAMS = no(
    Code.NOT_IMPLEMENTED, "work on the CPU runs at once: torch.cpu.Stream and Event do nothing"
).source(_TORCH_CPU)
_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: TORCH_INSTALLED.then(torch_imports().where_recorded()).source(
        "PyTorch 2.13, torch/__init__.py, _import_device_backends",
        "the installed PyTorch, imported: every build has the CPU",
    ),
    F.DEVICE_SYNCHRONOUS: yes("the CPU runs its work at once").source(_DS_CPU),
    F.DEVICE_HOST_TIMERS: all_of(F.DEVICE_SYNCHRONOUS).source(_DS_CPU),
    F.DEVICE_RESOLVES_DATA_DEPENDENCY: all_of(F.DEVICE_SYNCHRONOUS).source(_DS_CPU),
    F.DEVICE_HANDLES_MEMORY_BACKPRESSURE: all_of(F.DEVICE_SYNCHRONOUS).source(_DS_CPU),
    F.RUNTIME_STREAMS: _NO_STREAMS,
    F.RUNTIME_EVENTS: _NO_STREAMS,
    F.RUNTIME_EVENT_TIMING: _NO_STREAMS,
    F.RUNTIME_STREAM_PRIORITIES: _NO_STREAMS,
    F.RUNTIME_GRAPH_CAPTURE: no(Code.NOT_IMPLEMENTED, "torch captures no graphs on the CPU").source(
        _DS_CPU, _TORCH_CPU
    ),
    F.RUNTIME_RNG_PER_DEVICE: all_of(_USABLE).source("PyTorch, torch/random.py"),
    F.RUNTIME_DETERMINISTIC: all_of(_USABLE).source(
        "PyTorch documentation, torch.use_deterministic_algorithms"
    ),
    F.RUNTIME_PROFILER_RANGES: all_of(
        _USABLE,
        fact("torch.runtime.itt", "ITT of this PyTorch", code=Code.SOFTWARE_BUILD).holds(
            "torch.profiler.itt is built in", "this PyTorch is built without ITT"
        ),
    ).source("PyTorch, torch/profiler/itt.py"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: no(
        Code.NOT_IMPLEMENTED, "torch.profiler.itt has no domains"
    ).source("PyTorch 2.13, torch/profiler/itt.py"),
    F.RUNTIME_FORK_SAFE: yes("asking leaves nothing behind in the process").source(
        "accelcaps: what makes a context is asked in a child process"
    ),
    F.MEMORY_PINNED_HOST: no(
        Code.HARDWARE_MISSING, "there is no accelerator to pin memory for; torch refuses"
    ).source(_TORCH_CPU),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY, F.HOST_MEMLOCK).source(
        "DeepSpeed 0.19.8, ops/csrc/pin_memory/page_alloc.cpp (mlock)"
    ),
    F.MEMORY_ASYNC_COPY: no(Code.NOT_IMPLEMENTED, "a copy on the CPU runs at once").source(
        _TORCH_CPU
    ),
    F.MEMORY_STATS: no(Code.NOT_IMPLEMENTED, "torch keeps no memory statistics for the CPU")
    .remedy("read the process's resident memory (psutil)")
    .source(_TORCH_CPU),
    F.MEMORY_PEER_ACCESS: no(Code.HARDWARE_MISSING, "there is one CPU device").source(_TORCH_CPU),
    F.MEMORY_UNIFIED: yes("host and device memory are the same").source(_TORCH_CPU),
    F.MEMORY_EXPANDABLE_SEGMENTS: no(
        Code.NOT_IMPLEMENTED, "the CPU allocator has no segments"
    ).source(_TORCH_CPU),
    F.MEMORY_IPC: all_of(_USABLE).source("PyTorch documentation, torch.multiprocessing"),
}

_COMPILING: Mapping[Feature, Rule] = {
    F.COMPILE_INDUCTOR: all_of(
        if_recorded(
            TORCH_INSTALLED, torch("2.0"), COMPILE_PYTHON, INDUCTOR_CXX, F.BUILD_PYTHON_HEADERS
        )
    ).source("PyTorch 2.13, torch/_inductor/cpp_builder.py"),
    F.COMPILE_TORCH_COMPILE: all_of(F.COMPILE_INDUCTOR).source(
        "PyTorch documentation, torch.compile"
    ),
    F.COMPILE_DEEPCOMPILE: no(
        Code.POLICY, "DeepSpeed registers its compiler passes for the cuda accelerator only"
    ).source("DeepSpeed 0.19.8, compile/util.py, is_deepcompile_supported"),
    F.TRITON_DEVICE: no(Code.HARDWARE_UNSUPPORTED, "triton's releases have no CPU backend").source(
        "triton README, Compatibility"
    ),
    F.TRITON_USABLE: as_rule(F.TRITON_DEVICE).then(F.TRITON_INSTALLED).source("triton README"),
    **{
        feature: no(Code.HARDWARE_MISSING, "the CPU is not such a device").source(
            "PyTorch 2.13, torch/utils/cpp_extension.py"
        )
        for feature in (F.BUILD_CUDA, F.BUILD_HIP, F.BUILD_SYCL)
    },
    F.BUILD_KERNEL_IMAGE: all_of(_USABLE).source("every PyTorch build has CPU kernels"),
    F.BUILD_DRIVER: yes("the CPU needs no driver").source(_TORCH_CPU),
    F.ATTENTION_SDPA: all_of(_USABLE, torch("2.0")).source("PyTorch 2.0 release notes"),
    F.ATTENTION_FLASH_ATTENTION: all_of(_USABLE, torch("2.1")).source(
        "PyTorch PR #103826 (2.1), aten/src/ATen/native/cpu/FlashAttentionKernel.cpp"
    ),
    **{
        feature: no(Code.HARDWARE_UNSUPPORTED, "it is a CUDA kernel").source(
            "PyTorch 2.13, torch/nn/attention; flash-attention README"
        )
        for feature in (
            F.ATTENTION_MEM_EFFICIENT, F.ATTENTION_CUDNN, F.ATTENTION_FLASH_ATTN_PACKAGE,
            F.ATTENTION_FLASH_ATTN_3,
        )
    },
    F.ATTENTION_PAGED: undocumented(
        "torch has no paged attention for the CPU, and whether a package here has was not looked at"
    ).source("PyTorch 2.13, torch/nn/attention"),
    F.OP_GROUPED_MM: all_of(
        _USABLE, torch("2.9"), degraded(Code.SLOW, "computed one group after the other")
    ).source("PyTorch PR #161407 (2.9); run on a CPU with 2.13"),
}  # fmt: skip

_DEEPSPEED: Mapping[Feature, Rule] = {
    # DeepSpeed's own word where it was asked; its rule where only the machine is recorded.
    F.DEEPSPEED_FP16: fact(
        "ops.{accelerator}.accelerator.is_fp16_supported",
        "DeepSpeed's word",
        code=Code.POLICY,
        absent="DeepSpeed refuses fp16 on this CPU (it answers None)",
        absent_code=Code.POLICY,
    )
    .holds("DeepSpeed accepts fp16 here", "DeepSpeed refuses fp16 on this CPU")
    .or_if_not_recorded(
        CPU_FLAGS.has_any("avx512_fp16", "avx_ne_convert").otherwise(
            no(Code.POLICY, "DeepSpeed refuses fp16 on a CPU without fp16 units")
        )
    )
    .remedy("set bf16.enabled (slow without bf16 units), or neither, for fp32")
    .source(f"{_DS_CPU}, is_fp16_supported")
    .then(STARTS),
    F.DEEPSPEED_BF16: fact("ops.{accelerator}.accelerator.is_bf16_supported", "DeepSpeed's word")
    .coded(Code.POLICY)
    .holds("DeepSpeed accepts bf16 here", "DeepSpeed refuses bf16 on this CPU")
    .or_if_not_recorded(yes("DeepSpeed accepts bf16 on every CPU"))
    .source(f"{_DS_CPU}, is_bf16_supported")
    .then(STARTS),
}

_LIMITS: Mapping[Feature, Rule] = {
    F.LIMIT_DEVICE_COUNT: value("devices.cpu.list", "CPU device", count=True).source(_TORCH_CPU),
    F.LIMIT_MEMORY_BYTES: value("limits.memory_bytes", "host memory").source("sysconf, cgroup"),
    F.LIMIT_ARCH: value("cpu.microarchitecture", "micro-architecture").source("archspec"),
    F.LIMIT_CORES: value("cpu.usable", "usable cores").source("sched_getaffinity"),
    **{
        feature: no(Code.NOT_IMPLEMENTED, "a CPU has no such limit").source(_TORCH_CPU)
        for feature in (
            F.LIMIT_COMPUTE_CAPABILITY, F.LIMIT_SHARED_MEMORY_PER_BLOCK, F.LIMIT_WARP_SIZE,
            F.LIMIT_DRIVER_VERSION, F.LIMIT_RUNTIME_VERSION, F.LIMIT_COMM_VERSION,
        )
    },
}  # fmt: skip


class Cpu(Accelerator):
    """Any CPU that torch runs on."""

    name = "cpu"
    title = "CPU"
    seen_by = DeviceSource(torch_type="cpu")
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **gloo(device_needs=_USABLE), **_DTYPES, **_RUNTIME, **_COMPILING,
        **_DEEPSPEED, **_LIMITS,
        F.COMM_GPU_DIRECT_RDMA: no(
            Code.HARDWARE_MISSING, "there is no device memory for the adapter to reach"
        ).source("NVIDIA GPUDirect RDMA documentation"),
    }  # fmt: skip
