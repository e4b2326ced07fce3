"""Intel GPUs: generation, what the device tells of itself, and PyTorch's release."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD, COMPILE_PYTHON, INDUCTOR_CXX, tool
from accelcaps.accelerators.collectives import every_collective
from accelcaps.accelerators.host import HOST, value
from accelcaps.accelerators.limits import device_limits
from accelcaps.accelerators.presence import torch_runs, usable_device
from accelcaps.accelerators.references import (
    BACKENDS,
    ON_A_DEVICE,
    TORCH_INSTALLED,
    if_recorded,
    package,
    since,
    torch,
    undocumented,
)
from accelcaps.accelerators.rows import (
    FORK_SAFE,
    NO_DEEPCOMPILE,
    NO_MONITORED_BARRIER,
    asynchronous,
    deepspeeds_word,
)
from accelcaps.accelerators.xpu_dtypes import DTYPES, by_generation
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import (
    Finding,
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
from accelcaps.verdict import Code, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["Xpu"]

_DS_XPU = "DeepSpeed 0.19.8, accelerator/xpu_accelerator.py"
_SEEN = "the PCI bus (vendor 8086, class 03); torch.xpu, asked in a child process"
_TORCH_XPU = "PyTorch 2.13, torch/xpu"
_OPS = "intel/torch-xpu-ops (ab84f92)"
_NONE = Code.NOT_IMPLEMENTED
_HERE = all_of(ON_A_DEVICE)
_XPU_BUILD = version_of(
    "torch.xpu",
    "SYCL of this PyTorch",
    absent="this PyTorch is built without XPU",
    absent_code=Code.SOFTWARE_BUILD,
)
_BUILT_FOR_XPU = _XPU_BUILD.exists().remedy(
    "install a PyTorch built for XPU, 2.5 or newer (its builds are called +xpu)"
)
_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "Intel GPU", _SEEN, _BUILT_FOR_XPU, hides="ZE_AFFINITY_MASK",
        remedy="install the Intel GPU driver with Level Zero, and let the user into the groups "
        "render and video",
    ),
    **asynchronous(_DS_XPU),
    F.RUNTIME_STREAMS: _HERE.source(f"{_TORCH_XPU}/streams.py"),
    F.RUNTIME_STREAM_PRIORITIES: _HERE.source(f"{_TORCH_XPU}/streams.py, Stream(priority=…)"),
    F.RUNTIME_EVENTS: _HERE.source(f"{_TORCH_XPU}/streams.py"),
    F.RUNTIME_EVENT_TIMING: all_of(ON_A_DEVICE, since("2.6")).source(
        f"{_TORCH_XPU}/streams.py, elapsed_time"
    ),
    F.RUNTIME_GRAPH_CAPTURE: all_of(
        ON_A_DEVICE, torch("2.11"),
        degraded(Code.LIMITED, "flash attention is captured only with oneAPI 2026.0 or newer"),
    ).source(f"{_TORCH_XPU}/graphs.py; pytorch#162143 (2.11)", "intel/torch-xpu-ops#3142"),
    F.RUNTIME_RNG_PER_DEVICE: _HERE.source(f"{_TORCH_XPU}/random.py"),
    F.RUNTIME_DETERMINISTIC: undocumented(
        "which operations of XPU are deterministic is not documented"
    ).source("PyTorch documentation, torch.use_deterministic_algorithms"),
    F.RUNTIME_PROFILER_RANGES: undocumented(
        "torch.profiler.itt marks ranges of the host; whether Intel's tools tie them to the GPU's "
        "work is not told"
    ).source(f"{_DS_XPU}, range_push: not supported yet", "PyTorch, torch/profiler/itt.py"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: no(_NONE, "torch.profiler.itt takes no domain").source(
        "PyTorch, torch/profiler/itt.py"
    ),
    **FORK_SAFE,
    F.MEMORY_PINNED_HOST: _HERE.source(
        "PyTorch, aten/src/ATen/xpu/CachingHostAllocator.cpp (sycl::aligned_alloc_host)"
    ),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY, F.HOST_MEMLOCK).source(
        "DeepSpeed 0.19.8, ops/csrc/pin_memory/page_alloc.cpp (mlock)"
    ),
    F.MEMORY_ASYNC_COPY: all_of(F.MEMORY_PINNED_HOST).source(
        f"{_OPS}, src/ATen/native/xpu/sycl/CopyKernel.cpp; non_blocking copies of pinned memory"
    ),
    F.MEMORY_STATS: _HERE.source(f"{_TORCH_XPU}/memory.py, memory_stats"),
    F.MEMORY_UNIFIED: undocumented("torch allocates no shared memory of SYCL on XPU").source(
        "PyTorch, c10/xpu/XPUCachingAllocator.cpp: sycl::aligned_alloc_device"
    ),
    F.MEMORY_PEER_ACCESS: all_of(
        ON_A_DEVICE,
        (fact("torch.devices.xpu.count", "devices", code=Code.HARDWARE_MISSING) >= 2).then(
            fact("torch.devices.xpu.peer_access", "peer access", code=Code.HARDWARE_UNSUPPORTED)
            .holds("between every pair of devices", "not between every pair of devices")
            .or_if_not_recorded(
                unknown(Code.NOT_OBSERVED, "this torch.xpu does not tell (newer ones do)")
            )
        ),
    ).source(f"{_TORCH_XPU}/__init__.py, can_device_access_peer"),
    F.MEMORY_EXPANDABLE_SEGMENTS: undocumented(
        "which release's XPU allocator grows segments in place is not told"
    ).source("PyTorch 2.13, c10/xpu/XPUCachingAllocator.cpp"),
    F.MEMORY_IPC: undocumented(
        "no document tells whether torch shares XPU memory between processes"
    ).source("PyTorch 2.13, torch/multiprocessing/reductions.py: CUDA only"),
}  # fmt: skip

_XCCL = f"{_OPS}, src/xccl/ProcessGroupXCCL.hpp and xccl.h"
_ON_BACKEND = all_of(F.COMM_BACKEND)
_FP8_MOVES = "comm.reduce", "comm.all_reduce"


def _named(name: str) -> Rule:
    return value_of(lambda question: Finding(Status.YES, question.facts.evidence, value=name))


def _collectives() -> Mapping[Feature, Rule]:
    rules = dict(every_collective(_ON_BACKEND.source(_XCCL)))
    for feature in rules:
        plain, _, aspect = feature.rpartition(".")
        if aspect in ("fp16", "bf16"):
            rules[feature] = all_of(plain).source(_XCCL)
        elif aspect == "fp8" and plain.startswith(_FP8_MOVES):
            rules[feature] = all_of(
                plain, no(_NONE, "XCCL refuses reductions of 8-bit floats")
            ).source(f"{_XCCL}: checks of Float8")
        elif aspect == "fp8":
            rules[feature] = all_of(plain, since("2.9")).source(f"{_XCCL}: moved as bytes")
    for feature in (F.COMM_ALL_REDUCE_AVG, F.COMM_REDUCE_SCATTER_AVG,
                    F.COMM_REDUCE_SCATTER_TENSOR_AVG):  # fmt: skip
        rules[feature] = all_of(feature.removesuffix(".avg"), since("2.8")).source(_XCCL)
    rules[F.COMM_ALL_REDUCE_PREMUL_SUM] = all_of(F.COMM_ALL_REDUCE, since("2.9")).source(
        f"{_OPS}, src/xccl/ProcessGroupXCCL.cpp, applyPreMulSumIfNeeded"
    )
    rules.update(NO_MONITORED_BARRIER)
    return rules


_COMM: Mapping[Feature, Rule] = {
    **_collectives(),
    # XCCL is torch's own since 2.8; before, Intel's package adds ccl.
    F.COMM_BACKEND: all_of(
        ON_A_DEVICE,
        TORCH_INSTALLED.where_recorded(),
        any_of(
            BACKENDS.has("xccl").where_recorded().then(_named("xccl")),
            package("oneccl-bind-pt").then(_named("ccl")),
        ).remedy("install PyTorch 2.8 or newer, built for XPU"),
    ).source(
        "PyTorch 2.8, torch/distributed/distributed_c10d.py, is_xccl_available",
        f"{_DS_XPU}: ccl where oneccl_bindings_for_pytorch is installed, else xccl",
    ),
    F.COMM_SYMMETRIC_MEMORY: undocumented(
        "symmetric memory of XPU is under way, and no release is told to have it"
    ).source("intel/torch-xpu-ops, issues on symmetric memory"),
    F.COMM_GPU_DIRECT_RDMA: undocumented(
        "whether oneCCL's transport reaches the GPU's memory on this host is not told"
    ).source("Intel oneCCL documentation, environment variables, CCL_ATL_HMEM"),
}  # fmt: skip

_TRITON_GPU = all_of(
    ON_A_DEVICE,
    by_generation(
        {
            "pvc bmg": yes("Intel's backend for triton supports it"),
            "dg2": degraded(
                Code.LIMITED, "Arc A GPUs are tried less: float64 and some dot products fail"
            ),
        },
        what="triton's support",
    ),
)
_TRITON_PACKAGE = package("pytorch-triton-xpu", "triton-xpu").remedy(
    "install the triton that PyTorch's XPU build requires (pytorch-triton-xpu, or triton-xpu)"
)
_ICPX = tool("icpx", "SYCL compiler").remedy(
    "install Intel's oneAPI DPC++ compiler of PyTorch's release, and source its setvars.sh"
)
_ON_LINUX = (
    fact("host.system", "operating system", code=Code.SOFTWARE_VERSION)
    .equals("Linux")
    .where_recorded()
)
_NO_CUDA_KERNEL = no(Code.HARDWARE_UNSUPPORTED, "it is written for NVIDIA GPUs")
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: _TRITON_GPU.source(
        "intel/intel-xpu-backend-for-triton README: Max, Arc B, Core Ultra", "its issue #1840",
        f"{_DS_XPU}, is_triton_supported: false",
    ),
    F.TRITON_USABLE: as_rule(F.TRITON_DEVICE)
    .then(if_recorded(_TRITON_PACKAGE, F.BUILD_CXX))
    .source("intel/intel-xpu-backend-for-triton, python/triton/runtime/build.py"),
    F.COMPILE_INDUCTOR: all_of(
        if_recorded(TORCH_INSTALLED, COMPILE_PYTHON, INDUCTOR_CXX), torch("2.5"), F.TRITON_USABLE
    ).source("PyTorch 2.13, torch/_inductor/utils.py, GPU_TYPES; PyTorch 2.5 release notes"),
    F.COMPILE_TORCH_COMPILE: all_of(F.COMPILE_INDUCTOR).source(
        "PyTorch documentation, Getting Started on Intel GPU"
    ),
    **NO_DEEPCOMPILE,
    **dict.fromkeys(
        (F.BUILD_CUDA, F.BUILD_HIP),
        no(Code.HARDWARE_UNSUPPORTED, "an Intel GPU is not such a device").source(
            "PyTorch 2.13, torch/utils/cpp_extension.py"
        ),
    ),
    F.BUILD_SYCL: all_of(F.BUILD_CXX, _BUILT_FOR_XPU, torch("2.7"), _ICPX).source(
        "PyTorch 2.7, torch/utils/cpp_extension.py, SyclExtension"
    ),
    F.BUILD_DRIVER: torch_runs().otherwise(
        unknown(
            Code.NOT_OBSERVED,
            "torch cannot use the device, and nothing tells which driver this PyTorch needs",
        )
    ).source("PyTorch documentation, Getting Started on Intel GPU, software prerequisite"),
    F.BUILD_KERNEL_IMAGE: ON_A_DEVICE.then(
        yes("kernels are in the wheel for the GPUs it names, and as SPIR-V for any other")
    ).source(f"{_OPS}, cmake/BuildFlags.cmake, AOT_TARGETS and spir64"),
    F.ATTENTION_SDPA: all_of(ON_A_DEVICE, torch("2.5")).source(
        "PyTorch 2.13, aten/src/ATen/native/mkldnn/xpu/Attention.cpp; PyTorch 2.5 release notes"
    ),
    F.ATTENTION_FLASH_ATTENTION: all_of(
        ON_A_DEVICE, torch("2.11"), _ON_LINUX,
        by_generation(
            {
                "bmg": yes("fp16 and bf16, heads up to 256", code=Code.NOTE),
                "pvc": degraded(Code.LIMITED, "the LTS driver may give inaccurate results"),
                "dg2": no(_NONE, "the kernels are for Battlemage and Ponte Vecchio"),
            },
            what="flash attention",
        ),
    ).source("PyTorch PRs #169101 and #167057 (2.11), #178131 (Ponte Vecchio's driver)"),
    F.ATTENTION_MEM_EFFICIENT: all_of(ON_A_DEVICE, since("2.9")).source(
        f"{_OPS}, src/ATen/native/transformers/SDPUtils.cpp, can_use_mem_efficient_attention"
    ),
    F.ATTENTION_CUDNN: _NO_CUDA_KERNEL.source("PyTorch 2.13, torch/nn/attention"),
    **dict.fromkeys(
        (F.ATTENTION_FLASH_ATTN_PACKAGE, F.ATTENTION_FLASH_ATTN_3),
        _NO_CUDA_KERNEL.source("Dao-AILab/flash-attention README: CUDA and ROCm"),
    ),
    F.ATTENTION_PAGED: undocumented(
        "vLLM's XPU kernels have one; no package that is looked for here does"
    ).source("vllm-project/vllm-xpu-kernels README"),
    F.OP_GROUPED_MM: no(
        _NONE, "torch._grouped_mm has no XPU kernel, up to PyTorch 2.14"
    ).source("intel/torch-xpu-ops#1574; PyTorch PRs #195427 and #195428 (open)"),
}  # fmt: skip


class Xpu(Accelerator):
    """Intel GPUs with PyTorch's XPU build."""

    name = "xpu"
    title = "Intel GPU"
    seen_by = DeviceSource(
        torch_type="xpu",
        build="xpu",
        pci=(("0x8086", "0x03"),),
        visibility=("ZE_AFFINITY_MASK",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(_DS_XPU, fp16_note=": always true", bf16_note=": always true"),
        **device_limits(
            "xpu", _SEEN,
            runtime=value("torch.xpu", "SYCL of this PyTorch").source("PyTorch, torch/version.py"),
            comm=unknown(
                Code.NOT_OBSERVED, "torch does not tell oneCCL's version before a group is made"
            ).source(_XCCL),
        ),
    }  # fmt: skip
