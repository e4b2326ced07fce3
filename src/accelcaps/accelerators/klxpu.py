"""Kunlunxin XPUs, by torch_xmlir, which presents them as torch.cuda.

Kunlunxin publishes no reference of torch_xmlir. What its adapters for DeepSpeed and vLLM say is
taken as its word; what follows from CUDA alone is not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from packaging.version import Version

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD
from accelcaps.accelerators.collectives import every_collective
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.limits import device_limits
from accelcaps.accelerators.presence import usable_device
from accelcaps.accelerators.references import (
    BACKENDS,
    ON_A_DEVICE,
    TORCH_INSTALLED,
    environment,
    package,
    undocumented,
    use_instead,
)
from accelcaps.accelerators.rows import (
    FORK_SAFE,
    NO_DEEPCOMPILE,
    NO_MONITORED_BARRIER,
    deepspeeds_word,
)
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import (
    Finding,
    Question,
    Rule,
    all_of,
    degraded,
    no,
    unknown,
    value_of,
    version_of,
    yes,
)
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["Klxpu"]

_DS_KLXPU = "DeepSpeed 0.19.8, accelerator/klxpu_accelerator.py"
_DS_CUDA = "DeepSpeed 0.19.8, accelerator/cuda_accelerator.py, which klxpu inherits"
_VLLM = "vLLM-Kunlun (baidu/vLLM-Kunlun, 09869ee)"
_TYPES = f"{_VLLM}, platforms/kunlun.py, check_if_supports_dtype"
_PROFILE = f"{_VLLM}, documentation, Profiling: kernels of a P800"
_FLAGGEMS = "FlagGems, runtime/backend/device.py, UNSUPPORT_FP64"
_SEEN = "the PCI bus (vendor 1d22, classes 12 and 0780); device nodes /dev/xpu*; torch.cuda"
_NONE = Code.NOT_IMPLEMENTED
_TIMERS = "XPU_EVENT_KL3_ENABLE"
_HERE = all_of(ON_A_DEVICE)


def _is_kunlun3() -> Rule:
    """Hold for a P800; some releases of torch_xmlir call every device GPU."""

    def judge(question: Question) -> Finding:
        name = str((question.device or {}).get("name") or "")
        met = re.search(r"\bP800\b", name, re.IGNORECASE) is not None
        text = f"the device is called {name}" if name else "the device has no name"
        status = Status.YES if met else Status.NO
        return Finding(status, question.facts.evidence, (Reason(Code.NOTE, text),))

    return value_of(judge, per_device=True)


_KUNLUN3 = _is_kunlun3()
_TOLD_OF_KUNLUN3 = _KUNLUN3.otherwise(undocumented("it is told of Kunlun3 (P800) only"))
_NO_FP64 = (
    no(_NONE, "FlagGems and vLLM, as adapted to Kunlunxin, take no float64")
    .remedy("use fp32, or the CPU")
    .source(_FLAGGEMS, _TYPES)
)
_NO_FP8 = all_of(
    ON_A_DEVICE,
    no(_NONE, "on Kunlun3, Kunlunxin's vLLM plugin takes fp32, fp16, bf16 and int8 only")
    .remedy(use_instead(F.DTYPE_FP16, F.DTYPE_FP32))
    .when(_KUNLUN3),
    _TOLD_OF_KUNLUN3,
).source(_TYPES)
_DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: _NO_FP64,
    F.DTYPE_FP32: _HERE.source(_TYPES),
    F.DTYPE_FP16: _HERE.source(
        f"{_PROFILE} multiply in fp16 (xblas fc), and accumulate in fp32", _TYPES
    ),
    F.DTYPE_BF16: undocumented(
        "Kunlunxin's adapters take bf16 on Kunlun3, and nothing tells how fast it is"
    ).source(_TYPES, "FastDeploy documentation, Kunlunxin XPU deployment: models in BF16 on P800"),
    F.DTYPE_TF32: undocumented("nothing tells whether fp32 products are rounded").source(_VLLM),
    F.DTYPE_INT8: undocumented(
        "int8 products run in vLLM-Kunlun's own kernels; of torch._int_mm nothing is told"
    ).source(f"{_VLLM}, documentation, Quantization Guide"),
    F.DTYPE_INT4: undocumented(
        "int4 weights work in vLLM-Kunlun's own kernels (AWQ, GPTQ); nothing tells how fast"
    ).source(f"{_VLLM}, documentation, Quantization Guide"),
    **dict.fromkeys(
        (F.DTYPE_FP32_STORAGE, F.DTYPE_FP16_STORAGE, F.DTYPE_INT8_STORAGE), _HERE.source(_TYPES)
    ),
    F.DTYPE_BF16_STORAGE: all_of(ON_A_DEVICE, _TOLD_OF_KUNLUN3).source(_TYPES),
    F.DTYPE_FP64_STORAGE: undocumented("nothing tells of float64 tensors that only lie there")
    .source(_TYPES),
    **dict.fromkeys(
        (
            F.DTYPE_COMPLEX64, F.DTYPE_COMPLEX128, F.DTYPE_COMPLEX64_STORAGE,
            F.DTYPE_COMPLEX128_STORAGE,
        ),
        undocumented("nothing tells of complex types under torch_xmlir").source(_VLLM, _DS_KLXPU),
    ),
    **dict.fromkeys(
        (
            F.DTYPE_FP8_E4M3, F.DTYPE_FP8_E5M2, F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ,
            F.DTYPE_MXFP8, F.DTYPE_MXFP4, F.DTYPE_NVFP4,
        ),
        _NO_FP8,
    ),
    **dict.fromkeys(
        (
            F.DTYPE_FP8_E4M3_STORAGE, F.DTYPE_FP8_E5M2_STORAGE, F.DTYPE_FP8_E4M3FNUZ_STORAGE,
            F.DTYPE_FP8_E5M2FNUZ_STORAGE,
        ),
        undocumented("nothing tells of 8-bit floats that only lie there").source(_TYPES),
    ),
    **dict.fromkeys(
        (F.DTYPE_FP16_AUTOCAST, F.DTYPE_BF16_AUTOCAST, F.DTYPE_FP16_GRAD_SCALER),
        undocumented("nothing tells of mixed precision under torch_xmlir").source(_DS_KLXPU, _VLLM),
    ),
}  # fmt: skip


def _event_timing() -> Rule:
    """Timed events count only where a variable turns them on."""

    def judge(question: Question) -> Finding:
        on = environment(question, _TIMERS) == "1"
        text = "timed events tell the time" if on else "the time between two events reads as 0"
        reason = Reason(
            Code.MET if on else Code.POLICY, f"{text}: {_TIMERS} is {'' if on else 'not '}1"
        )
        status = Status.YES if on else Status.NO
        return Finding(status, question.facts.evidence, (reason,))

    return value_of(judge).remedy(
        f"use the host's clock after torch.cuda.synchronize(), or export {_TIMERS}=1"
    )


_ASYNCHRONOUS = no(_NONE, "work is queued, and runs beside the host").source(_DS_KLXPU, _DS_CUDA)
_INHERITED = _HERE.source(f"{_DS_KLXPU}: streams, random state and memory are those of torch.cuda")
_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "Kunlunxin XPU", _SEEN, hides="XPU_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES",
        remedy="install Kunlunxin's driver and runtime (XRE)",
    ),
    F.DEVICE_SYNCHRONOUS: _ASYNCHRONOUS,
    F.DEVICE_HOST_TIMERS: yes("after torch.cuda.synchronize()").source(
        f"{_DS_KLXPU}, use_host_timers"
    ),
    F.DEVICE_RESOLVES_DATA_DEPENDENCY: _ASYNCHRONOUS,
    F.DEVICE_HANDLES_MEMORY_BACKPRESSURE: _ASYNCHRONOUS,
    F.RUNTIME_STREAMS: _INHERITED,
    F.RUNTIME_EVENTS: _INHERITED,
    F.RUNTIME_EVENT_TIMING: all_of(ON_A_DEVICE, _event_timing()).source(
        f"{_DS_KLXPU}, use_host_timers"
    ),
    F.RUNTIME_STREAM_PRIORITIES: undocumented(
        "nothing tells whether a stream's priority has an effect"
    ).source(_DS_KLXPU),
    F.RUNTIME_GRAPH_CAPTURE: _HERE.source(
        f"{_VLLM}, documentation, Kunlun Graph; platforms/kunlun.py, get_static_graph_wrapper_cls"
    ),
    F.RUNTIME_RNG_PER_DEVICE: _INHERITED,
    F.RUNTIME_DETERMINISTIC: undocumented("nothing tells of deterministic algorithms").source(
        _DS_KLXPU, _VLLM
    ),
    F.RUNTIME_PROFILER_RANGES: undocumented(
        "nothing tells whether ranges reach Kunlunxin's profiler"
    ).source(f"{_VLLM}, documentation, Profiling"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: no(_NONE, "Kunlunxin's adapter uses no domains").source(
        f"{_DS_KLXPU}, supports_nvtx_domain"
    ),
    **FORK_SAFE,
    F.MEMORY_PINNED_HOST: _INHERITED,
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY).source(
        "DeepSpeed 0.19.8, op_builder/klxpu"
    ),
    F.MEMORY_STATS: _INHERITED,
    F.MEMORY_IPC: all_of(
        ON_A_DEVICE,
        degraded(Code.LIMITED, "by raw addresses, and not by torch's CUDA IPC handles"),
    ).source("LMCache, lmcache/v1/platform/klx_xpu"),
    **dict.fromkeys(
        (
            F.MEMORY_ASYNC_COPY, F.MEMORY_UNIFIED, F.MEMORY_PEER_ACCESS,
            F.MEMORY_EXPANDABLE_SEGMENTS,
        ),
        undocumented(
            "torch.cuda has it, and nothing tells whether torch_xmlir does it or only accepts it"
        ).source(_DS_KLXPU, _VLLM),
    ),
}  # fmt: skip

_ON_BKCL = all_of(F.COMM_BACKEND)
_COMM: Mapping[Feature, Rule] = {
    **every_collective(
        undocumented(
            "torch_xmlir performs nccl's calls by BKCL, and nothing tells which of them"
        ).source(_DS_KLXPU, _VLLM)
    ),
    F.COMM_BACKEND: all_of(
        ON_A_DEVICE, TORCH_INSTALLED.where_recorded(), BACKENDS.has("nccl").where_recorded(),
        value_of(lambda question: Finding(Status.YES, question.facts.evidence, value="nccl")),
    ).source(f"{_DS_CUDA}; {_DS_KLXPU}, export_envs (BKCL)", f"{_VLLM}, platforms/kunlun.py"),
    F.COMM_ALL_REDUCE: _ON_BKCL.source(_PROFILE, _VLLM),
    F.COMM_ALL_REDUCE_FP16: all_of(F.COMM_ALL_REDUCE).source(f"{_PROFILE}, kl3_all_reduce"),
    **NO_MONITORED_BARRIER,
    F.COMM_SYMMETRIC_MEMORY: undocumented("nothing tells of it under torch_xmlir").source(_VLLM),
    F.COMM_GPU_DIRECT_RDMA: undocumented(
        "BKCL has a switch for RDMA (BKCL_ENABLE_XDR), and nothing tells what it does"
    ).source("FastDeploy documentation, Kunlunxin XPU deployment"),
}  # fmt: skip


def _flagtree() -> Rule:
    """Hold for a FlagTree that is built for XPUs; its version ends in that (``+xpu3.6``)."""

    def judge(question: Question) -> Finding:
        found = _FLAGTREE.value(question)
        local = found.local if isinstance(found, Version) else None
        met = bool(local and local.startswith("xpu"))
        text = f"FlagTree is {found}, {'built' if met else 'not told to be built'} for XPUs"
        status = Status.YES if met else Status.UNKNOWN
        code = Code.MET if met else Code.NOT_DOCUMENTED
        return Finding(status, question.facts.evidence, (Reason(code, text),))

    return value_of(judge)


_FLAGTREE = version_of(
    "packages.flagtree", "FlagTree",
    absent="triton itself has no backend for XPUs, and FlagTree is not installed",
)  # fmt: skip
_UNTOLD_ATTENTION = undocumented("nothing tells which kernel runs under torch_xmlir").source(
    _DS_KLXPU, _VLLM
)
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: all_of(
        ON_A_DEVICE, yes("by FlagTree; triton itself has no such backend")
    ).source("FlagTree, third_party/xpu"),
    F.TRITON_USABLE: all_of(
        ON_A_DEVICE, _FLAGTREE.exists().then(_flagtree()).where_recorded()
    ).source("FlagTree, third_party/xpu; DeepSpeed uses no triton here (is_triton_supported)"),
    F.COMPILE_INDUCTOR: undocumented(
        "Kunlunxin's vLLM plugin compiles by the eager backend, to avoid inductor"
    ).source(f"{_VLLM}, platforms/kunlun.py, check_and_update_config"),
    F.COMPILE_TORCH_COMPILE: undocumented(
        "torch_xmlir can replace torch.compile by a mock, and nothing tells what the real one does"
    ).source(f"{_VLLM}, documentation, Environment Variables: XMLIR_ENABLE_MOCK_TORCH_COMPILE"),
    **NO_DEEPCOMPILE,
    F.BUILD_CUDA: no(_NONE, "there is no usable nvcc for an XPU").source(
        "DeepSpeed 0.19.8, op_builder/klxpu/builder.py"
    ),
    **dict.fromkeys(
        (F.BUILD_HIP, F.BUILD_SYCL),
        no(Code.HARDWARE_UNSUPPORTED, "a Kunlunxin XPU is not such a device").source(
            "PyTorch 2.13, torch/utils/cpp_extension.py"
        ),
    ),
    F.BUILD_DRIVER: undocumented("no table tells which driver torch_xmlir needs").source(
        f"{_VLLM}, documentation, Installation"
    ),
    F.BUILD_KERNEL_IMAGE: undocumented("nothing tells for which XPUs torch_xmlir is built").source(
        f"{_VLLM}, documentation, Installation"
    ),
    **dict.fromkeys(
        (
            F.ATTENTION_SDPA, F.ATTENTION_FLASH_ATTENTION, F.ATTENTION_MEM_EFFICIENT,
            F.ATTENTION_CUDNN, F.ATTENTION_FLASH_ATTN_PACKAGE, F.ATTENTION_FLASH_ATTN_3,
        ),
        _UNTOLD_ATTENTION,
    ),
    F.ATTENTION_PAGED: all_of(
        ON_A_DEVICE, package("vllm-kunlun").where_recorded(), _TOLD_OF_KUNLUN3
    ).source(f"{_VLLM}, ops/paged_attn.py; FAQs: Kunlun3 only"),
    F.OP_GROUPED_MM: undocumented("nothing tells of torch._grouped_mm under torch_xmlir").source(
        f"{_DS_KLXPU}, prefer_triton_grouped_mm"
    ),
}  # fmt: skip

_ASKED = "DeepSpeed asks torch.cuda, and what torch_xmlir answers is not documented"
_IMITATED = unknown(Code.NOT_OBSERVED, "torch.cuda's figure is one made for CUDA programs").source(
    _DS_KLXPU
)


class Klxpu(Accelerator):
    """Kunlunxin XPUs under torch.cuda's name."""

    name = "klxpu"
    title = "Kunlunxin XPU"
    seen_by = DeviceSource(
        torch_type="cuda",
        module="torch_xmlir",
        pci=(("0x1d22", "0x12"), ("0x1d22", "0x0780")),  # 1d22 also makes storage devices
        nodes=("xpu[0-9]*",),
        visibility=("XPU_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **_DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(_DS_CUDA, fp16=undocumented(_ASKED), bf16=undocumented(_ASKED)),
        **device_limits(
            "klxpu", _SEEN,
            runtime=undocumented("nothing tells the XRE that torch_xmlir was built with").source(
                f"{_VLLM}, documentation, Installation"
            ),
            comm=undocumented("nothing tells how BKCL's version is read").source(_DS_KLXPU),
        ),
        F.LIMIT_WARP_SIZE: _IMITATED,
        F.LIMIT_SHARED_MEMORY_PER_BLOCK: _IMITATED,
    }  # fmt: skip
