"""NVIDIA GPUs: compute capability, driver, toolkit and PyTorch build."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD, COMPILE_PYTHON
from accelcaps.accelerators.collectives import backend, nccl
from accelcaps.accelerators.cuda_dtypes import DTYPES
from accelcaps.accelerators.cuda_limits import LIMITS
from accelcaps.accelerators.cuda_rules import (
    compiles_for_device,
    device_seen,
    driver_new_enough,
    kernel_image,
    nvcc,
    toolkit_matches,
    torch_runs,
)
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.presence import hardware_there
from accelcaps.accelerators.references import (
    COMPUTE_CAPABILITY,
    EXACT_CAPABILITY,
    ON_A_DEVICE,
    TORCH,
    TORCH_CUDA,
    TORCH_INSTALLED,
    built_with,
    environment,
    if_recorded,
    package,
    torch,
)
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import (
    Finding,
    Question,
    Rule,
    all_of,
    any_of,
    as_rule,
    degraded,
    fact,
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

__all__ = ["Cuda"]

_SDPA = "PyTorch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp"
_WSL = "NVIDIA CUDA on WSL User Guide, Known Limitations"
_DS_CUDA = "DeepSpeed 0.19.8, accelerator/cuda_accelerator.py"
_TORCH_CUDA_PY = "PyTorch 2.13, torch/cuda"

_ON_WSL = (
    fact("host.wsl", "WSL")
    .holds("this is WSL", "this is not WSL")
    .or_if_not_recorded(no(Code.NOTE, "not recorded as WSL"))
)
_ON_WINDOWS = (
    fact("host.system", "operating system")
    .equals("Windows")
    .or_if_not_recorded(no(Code.NOTE, "not recorded as Windows"))
)
_LINUX = (
    fact("host.system", "operating system", code=Code.SOFTWARE_VERSION)
    .equals("Linux")
    .where_recorded()
)


_CUDNN = (
    fact("torch.runtime.cudnn_built", "cuDNN of this PyTorch", code=Code.SOFTWARE_BUILD)
    .holds("this PyTorch has cuDNN", "this PyTorch is built without cuDNN")
    .where_recorded()
)

_PAGED = (version_of("packages.flash-attn", "flash-attn") >= "2.5").where_recorded()
_ASYNCHRONOUS = no(Code.NOT_IMPLEMENTED, "work is queued, and runs beside the host").source(
    _DS_CUDA
)
_LIMITED_ON_WSL = degraded(
    Code.LIMITED, "WSL limits pinned memory (users measure 0.5 to 1 GB in all)"
).remedy("set pin_memory: false")
_PINNED = all_of(ON_A_DEVICE, _LIMITED_ON_WSL.when(_ON_WSL))
_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: hardware_there("NVIDIA device")
    .source("NVML; the PCI bus (vendor 10de, class 03)")
    .then(
        all_of(
            device_seen(),
            TORCH_INSTALLED,
            TORCH_CUDA.exists().remedy("install a PyTorch built with CUDA"),
            F.BUILD_DRIVER,
            F.BUILD_KERNEL_IMAGE,
            torch_runs(),
        )
    )
    .source(f"{_TORCH_CUDA_PY}/__init__.py"),
    F.DEVICE_SYNCHRONOUS: _ASYNCHRONOUS,
    F.DEVICE_HOST_TIMERS: _ASYNCHRONOUS,
    F.DEVICE_RESOLVES_DATA_DEPENDENCY: _ASYNCHRONOUS,
    F.DEVICE_HANDLES_MEMORY_BACKPRESSURE: _ASYNCHRONOUS,
    F.RUNTIME_STREAMS: all_of(ON_A_DEVICE).source(f"{_TORCH_CUDA_PY}/streams.py"),
    F.RUNTIME_EVENTS: all_of(ON_A_DEVICE).source(f"{_TORCH_CUDA_PY}/streams.py"),
    F.RUNTIME_EVENT_TIMING: all_of(ON_A_DEVICE).source(f"{_TORCH_CUDA_PY}/streams.py"),
    F.RUNTIME_STREAM_PRIORITIES: all_of(ON_A_DEVICE, COMPUTE_CAPABILITY >= "3.5").source(
        "CUDA Runtime API, cudaStreamCreateWithPriority"
    ),
    F.RUNTIME_GRAPH_CAPTURE: all_of(ON_A_DEVICE, torch("1.10"), built_with("11.0")).source(
        "PyTorch, aten/src/ATen/cuda/CUDAGraph.cpp; PyTorch PR #65247"
    ),
    F.RUNTIME_RNG_PER_DEVICE: all_of(ON_A_DEVICE).source(f"{_TORCH_CUDA_PY}/random.py"),
    F.RUNTIME_DETERMINISTIC: all_of(
        ON_A_DEVICE, yes("set CUBLAS_WORKSPACE_CONFIG=:4096:8 for cuBLAS", code=Code.NOTE)
    ).source("PyTorch documentation, torch.use_deterministic_algorithms"),
    F.RUNTIME_PROFILER_RANGES: all_of(ON_A_DEVICE).source(f"{_TORCH_CUDA_PY}/nvtx.py"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: all_of(ON_A_DEVICE, package("nvtx")).source(
        f"{_DS_CUDA}, range_push; torch.cuda.nvtx has no domains"
    ),
    F.RUNTIME_FORK_SAFE: yes("no context is made in the process that asks").source(
        "accelcaps: what makes a context is asked in a child process"
    ),
    F.MEMORY_PINNED_HOST: _PINNED.source(_WSL),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY, F.HOST_MEMLOCK).source(
        "DeepSpeed 0.19.8, ops/csrc/pin_memory/page_alloc.cpp (mlock)"
    ),
    F.MEMORY_ASYNC_COPY: all_of(F.MEMORY_PINNED_HOST).source("CUDA Runtime API, cudaMemcpyAsync"),
    F.MEMORY_STATS: all_of(ON_A_DEVICE).source(f"{_TORCH_CUDA_PY}/memory.py"),
    F.MEMORY_PEER_ACCESS: all_of(
        ON_A_DEVICE,
        (fact("torch.devices.cuda.count", "devices", code=Code.HARDWARE_MISSING) >= 2).then(
            fact(
                "torch.devices.cuda.peer_access", "peer access", code=Code.HARDWARE_UNSUPPORTED
            ).holds("between every pair of devices", "not between every pair of devices")
        ),
    ).source("CUDA Runtime API, cudaDeviceCanAccessPeer"),
    F.MEMORY_UNIFIED: all_of(
        ON_A_DEVICE,
        (COMPUTE_CAPABILITY >= "6.0").otherwise(
            degraded(Code.LIMITED, "no page faults on the device")
        ),
        degraded(Code.LIMITED, "host and device cannot use it at once on WSL").when(_ON_WSL),
    ).source("CUDA Programming Guide, Unified Memory", _WSL),
    F.MEMORY_EXPANDABLE_SEGMENTS: all_of(ON_A_DEVICE, torch("2.1"), _LINUX).source(
        "PyTorch 2.13, c10/cuda/CMakeLists.txt and CUDAAllocatorConfig.h"
    ),
    F.MEMORY_IPC: all_of(ON_A_DEVICE, _LINUX).source(
        "PyTorch Windows FAQ (CUDA IPC); CUDA on WSL User Guide (IPC since R510)"
    ),
}

_RDMA_MODULE = any_of(
    fact("host.kernel_modules", "kernel modules", code=Code.SOFTWARE_MISSING)
    .has("nvidia_peermem")
    .remedy("modprobe nvidia_peermem"),
    unknown(Code.NOT_OBSERVED, "whether the open kernel driver offers DMA-BUF was not looked at"),
)
_COMM: Mapping[Feature, Rule] = {
    F.COMM_BACKEND: all_of(
        ON_A_DEVICE,
        _ON_WINDOWS.then(unknown(Code.NOT_OBSERVED, "collectives on Windows were not looked at"))
        .otherwise(backend("nccl").where_recorded()),
    ).source(f"{_DS_CUDA}, communication_backend_name"),
    **nccl(fp8_needs=COMPUTE_CAPABILITY >= "9.0"),
    F.COMM_SYMMETRIC_MEMORY: all_of(
        ON_A_DEVICE, (COMPUTE_CAPABILITY >= "6.0").then(all_of(torch("2.5"), _LINUX)),
        F.MEMORY_PEER_ACCESS,
    ).source("PyTorch, torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemory.cu"),
    F.COMM_GPU_DIRECT_RDMA: all_of(
        ON_A_DEVICE,
        fact("limits.infiniband", "RDMA adapters", code=Code.HARDWARE_MISSING).is_not_empty(
            "there is no RDMA adapter (/sys/class/infiniband)"
        ),
        F.HOST_MEMLOCK,
        _RDMA_MODULE,
    ).source("NCCL User Guide, Troubleshooting, GPU Direct", "NVIDIA GPUDirect RDMA documentation"),
}  # fmt: skip

_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: all_of(
        ON_A_DEVICE,
        (COMPUTE_CAPABILITY >= "8.0").otherwise(
            (COMPUTE_CAPABILITY >= "7.0").then(
                degraded(Code.SLOW, "triton uses no tensor cores below 8.0")
            )
        ),
    ).source("triton README and PR #5066; PyTorch 2.13, _dynamo/device_interface.py"),
    F.TRITON_USABLE: as_rule(F.TRITON_DEVICE)
    .then(if_recorded(F.TRITON_INSTALLED, F.BUILD_CC, F.BUILD_PYTHON_HEADERS))
    .source("triton, python/triton/runtime/build.py"),
    F.COMPILE_INDUCTOR: all_of(
        if_recorded(TORCH_INSTALLED, TORCH >= "2.0", COMPILE_PYTHON), F.TRITON_USABLE
    ).source("PyTorch 2.13, torch/_inductor/exc.py and utils/_triton.py"),
    F.COMPILE_TORCH_COMPILE: all_of(F.COMPILE_INDUCTOR).source(
        "PyTorch documentation, torch.compile"
    ),
    F.COMPILE_DEEPCOMPILE: all_of(torch("2.6"), F.OP_DC, F.COMPILE_INDUCTOR).source(
        "DeepSpeed 0.19.8, compile/util.py"
    ),
    F.BUILD_CUDA: all_of(
        F.BUILD_CXX,
        TORCH_CUDA.exists().remedy("install a PyTorch built with CUDA"),
        nvcc(),
        toolkit_matches(),
        compiles_for_device(),
    ).source("PyTorch 2.13, torch/utils/cpp_extension.py"),
    **{
        feature: no(Code.HARDWARE_UNSUPPORTED, "this accelerator is CUDA").source(
            "PyTorch 2.13, torch/utils/cpp_extension.py"
        )
        for feature in (F.BUILD_HIP, F.BUILD_SYCL)
    },
    F.BUILD_DRIVER: driver_new_enough(),
    F.BUILD_KERNEL_IMAGE: kernel_image(),
    F.ATTENTION_SDPA: all_of(ON_A_DEVICE, torch("2.0")).source("PyTorch 2.0 release notes"),
    F.ATTENTION_FLASH_ATTENTION: all_of(
        ON_A_DEVICE, EXACT_CAPABILITY.between("8.0", "12.2").then(torch("2.0")),
        yes("fp16 and bf16, head dimension up to 256", code=Code.NOTE),
    ).source(_SDPA),
    F.ATTENTION_MEM_EFFICIENT: all_of(
        ON_A_DEVICE, EXACT_CAPABILITY.between("5.0", "12.2").then(torch("2.0"))
    ).source(_SDPA),
    F.ATTENTION_CUDNN: all_of(
        ON_A_DEVICE, EXACT_CAPABILITY.between("8.0", "12.2").then(all_of(torch("2.5"), _CUDNN)),
        yes("fp16 and bf16, head dimension up to 128 on most", code=Code.NOTE),
    ).source(_SDPA),
    F.ATTENTION_FLASH_ATTN_PACKAGE: all_of(
        ON_A_DEVICE, (COMPUTE_CAPABILITY >= "8.0").then("pkg.flash-attn")
    ).source("Dao-AILab/flash-attention README"),
    F.ATTENTION_FLASH_ATTN_3: all_of(
        ON_A_DEVICE,
        EXACT_CAPABILITY.between("9.0", "10.0").then("pkg.flash-attn-3"),
    ).source("Dao-AILab/flash-attention README; PyTorch 2.13, torch/nn/attention/_fa3.py"),
    F.ATTENTION_PAGED: all_of(F.ATTENTION_FLASH_ATTN_PACKAGE, _PAGED).source(
        "Dao-AILab/flash-attention 2.5 changelog: paged KV cache (block_table)"
    ),
    F.OP_GROUPED_MM: all_of(
        ON_A_DEVICE,
        torch("2.8"),
        any_of(
            EXACT_CAPABILITY.is_one_of("9.0"),
            torch("2.9").then(
                any_of(
                    COMPUTE_CAPABILITY.between("10.0", "11.0"),
                    (COMPUTE_CAPABILITY >= "8.0").then(
                        degraded(Code.SLOW, "beside 9.x and 10.x one product after the other")
                    ),
                )
            ),
        ),
    ).source("PyTorch PRs #161407 and #161717 (2.9), aten/src/ATen/native/cuda/GroupedBlas.cpp"),
}  # fmt: skip


def _own_word(method: str, rule: Rule) -> Rule:
    """DeepSpeed's own answer where it was asked beside a device, else the rule it follows.

    Without a device DeepSpeed answers yes to everything, so it is not asked then.
    """
    said = (
        fact(f"ops.{{accelerator}}.accelerator.{method}", "DeepSpeed's word", code=Code.POLICY)
        .holds(f"DeepSpeed's {method}() is true", f"DeepSpeed's {method}() is false")
        .or_if_not_recorded(rule)
    )
    return COMPUTE_CAPABILITY.exists().then(said)


def _deprecated_fp16(question: Question) -> Finding:
    if environment(question, "DS_ALLOW_DEPRECATED_FP16") == "1":
        reason = Reason(Code.NOTE, "DS_ALLOW_DEPRECATED_FP16 is 1")
        return Finding(Status.YES, question.facts.evidence, (reason,))
    text = "DeepSpeed refuses fp16 below compute capability 7.0 (policy, not hardware)"
    remedies = ("use fp32", "set DS_ALLOW_DEPRECATED_FP16=1")
    return Finding(Status.NO, question.facts.evidence, (Reason(Code.POLICY, text),), remedies)


_DEEPSPEED: Mapping[Feature, Rule] = {
    F.DEEPSPEED_FP16: _own_word(
        "is_fp16_supported",
        (COMPUTE_CAPABILITY.coded(Code.POLICY) >= "7.0").otherwise(
            (COMPUTE_CAPABILITY >= "6.0").remedy("use fp32").then(value_of(_deprecated_fp16))
        ),
    ).source(f"{_DS_CUDA}, is_fp16_supported"),
    F.DEEPSPEED_BF16: _own_word("is_bf16_supported", torch("1.10")).source(
        f"{_DS_CUDA}, is_bf16_supported: torch's answer, which counts emulation"
    ),
}


class Cuda(Accelerator):
    """NVIDIA GPUs with CUDA."""

    name = "cuda"
    title = "NVIDIA GPU"
    seen_by = DeviceSource(
        torch_type="cuda",
        build="cuda",
        pci=(("0x10de", "0x03"),),
        probe="accelcaps.facts.probes.nvml:probe",
        without_signs=True,  # WSL and integrated GPUs are not on the bus
        visibility=("CUDA_VISIBLE_DEVICES",),
        by_uuid="CUDA_VISIBLE_DEVICES",
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **DTYPES, **_RUNTIME, **_COMM, **_COMPILING, **_DEEPSPEED, **LIMITS,
    }  # fmt: skip
