"""AMD GPUs with ROCm: architecture, PyTorch and the ROCm that it is built with."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD, COMPILE_PYTHON, tool
from accelcaps.accelerators.collectives import backend, nccl
from accelcaps.accelerators.host import HOST, value
from accelcaps.accelerators.limits import device_limits
from accelcaps.accelerators.presence import torch_runs, usable_device
from accelcaps.accelerators.references import (
    ON_A_DEVICE,
    TORCH,
    TORCH_INSTALLED,
    environment,
    if_recorded,
    since,
    torch,
    undocumented,
)
from accelcaps.accelerators.rocm_arch import (
    CDNA,
    GCN,
    HIP,
    RDNA,
    RDNA2,
    RDNA3,
    by_arch,
    hip,
    kernel_image,
)
from accelcaps.accelerators.rocm_dtypes import DTYPES
from accelcaps.accelerators.rows import (
    asynchronous,
    deepspeeds_word,
    peer_access,
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
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["Rocm"]

_SEEN = "the PCI bus (vendor 1002, classes 03 and 12); the amdgpu driver's KFD topology; torch"
_HIP_PAGE = "PyTorch documentation, HIP (ROCm) semantics"
_SDPA = "PyTorch, aten/src/ATen/native/transformers/hip/sdp_utils.cpp and aotriton_versions.h"
_DS_CUDA = "DeepSpeed 0.19.8, accelerator/cuda_accelerator.py, which takes ROCm for CUDA"
_TORCH_CUDA_PY = "PyTorch 2.13, torch/cuda"
_NONE = Code.NOT_IMPLEMENTED
_HERE = all_of(ON_A_DEVICE)

_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "AMD GPU", _SEEN, HIP.exists().remedy("install a PyTorch built with ROCm"),
        F.BUILD_KERNEL_IMAGE,
        hides="ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES",
        remedy="install the amdgpu driver, and let the user into the groups render and video",
    ),
    **asynchronous(_DS_CUDA),
    F.RUNTIME_STREAMS: _HERE.source(f"{_TORCH_CUDA_PY}/streams.py; {_HIP_PAGE}"),
    F.RUNTIME_STREAM_PRIORITIES: _HERE.source("HIP Runtime API, hipStreamCreateWithPriority"),
    F.RUNTIME_EVENTS: _HERE.source(f"{_TORCH_CUDA_PY}/streams.py; {_HIP_PAGE}"),
    F.RUNTIME_EVENT_TIMING: _HERE.source("HIP Runtime API, hipEventElapsedTime"),
    # Merged on 2023-02-14, a month before 2.0 was released: whether 2.0 has it was not found.
    F.RUNTIME_GRAPH_CAPTURE: all_of(ON_A_DEVICE, torch("2.0"), since("2.1"), hip("5.3")).source(
        "PyTorch PR #88202 (HIP graphs; ROCm 5.3)", "HIP Runtime API, graph management"
    ),
    F.RUNTIME_RNG_PER_DEVICE: _HERE.source(f"{_TORCH_CUDA_PY}/random.py"),
    F.RUNTIME_DETERMINISTIC: _HERE.source(
        "PyTorch documentation, torch.use_deterministic_algorithms"
    ),
    F.RUNTIME_PROFILER_RANGES: _HERE.source(
        f"{_TORCH_CUDA_PY}/nvtx.py; roctx stands for nvtx (torch/csrc/cuda/shared/nvtx.cpp)"
    ),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: no(
        _NONE, "roctx as torch uses it has no domains, and the nvtx package is NVIDIA's"
    ).source(_DS_CUDA),
    F.RUNTIME_FORK_SAFE: yes("no context is made in the process that asks").source(
        "accelcaps: what makes a context is asked in a child process"
    ),
    F.MEMORY_PINNED_HOST: _HERE.source("HIP Runtime API, hipHostMalloc"),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY, F.HOST_MEMLOCK).source(
        "DeepSpeed 0.19.8, ops/csrc/pin_memory/page_alloc.cpp (mlock)"
    ),
    F.MEMORY_ASYNC_COPY: all_of(F.MEMORY_PINNED_HOST).source("HIP Runtime API, hipMemcpyAsync"),
    F.MEMORY_STATS: _HERE.source(f"{_TORCH_CUDA_PY}/memory.py; {_HIP_PAGE}"),
    F.MEMORY_UNIFIED: all_of(
        ON_A_DEVICE,
        by_arch(
            {
                "gfx90a gfx942 gfx950": degraded(
                    Code.LIMITED, "pages migrate on demand only with HSA_XNACK=1"
                ).remedy("export HSA_XNACK=1"),
                f"{GCN} gfx908": undocumented("AMD tells of XNACK since gfx900, not for this GPU"),
                RDNA: degraded(Code.LIMITED, "without XNACK: no page faults on the device"),
            },
            what="unified memory",
        ),
    ).source("HIP documentation, Unified memory management: XNACK and supported GPUs"),
    **peer_access("rocm", "HIP Runtime API, hipDeviceCanAccessPeer"),
    F.MEMORY_EXPANDABLE_SEGMENTS: all_of(ON_A_DEVICE, torch("2.12"), hip("7.0")).source(
        "PyTorch 2.12, c10/cuda/CMakeLists.txt: PYTORCH_C10_DRIVER_API_SUPPORTED for ROCm 7.0"
    ),
    F.MEMORY_IPC: _HERE.source("HIP Runtime API, hipIpcGetMemHandle; torch/multiprocessing"),
}  # fmt: skip

_RDMA = unknown(
    Code.NOT_OBSERVED, "whether the RDMA driver reaches the GPU's memory was not looked at"
)
# RCCL carries NCCL's version number; its fp8 reductions add in the device's own 8-bit types.
_FP8_SUMS = by_arch(
    {
        "gfx950 gfx1200 gfx1201": yes("the GPU has the OCP types"),
        f"{GCN} gfx908 gfx90a gfx942 {RDNA2} {RDNA3}": undocumented(
            "RCCL reduces torch's OCP types on this GPU as fnuz ones or in software: not told"
        ),
    },
    what="fp8 reductions",
)
_COMM: Mapping[Feature, Rule] = {
    **nccl(fp8_needs=_FP8_SUMS),
    F.COMM_BACKEND: all_of(ON_A_DEVICE, backend("nccl").where_recorded()).source(
        f"{_HIP_PAGE}: RCCL under the name nccl", f"{_DS_CUDA}, communication_backend_name"
    ),
    F.COMM_SYMMETRIC_MEMORY: all_of(
        ON_A_DEVICE,
        by_arch(
            {
                "gfx942 gfx950": since("2.8"),
                f"{GCN} gfx908 gfx90a {RDNA}": undocumented(
                    "PyTorch tests symmetric memory on gfx942 and gfx950 only"
                ),
            },
            what="symmetric memory",
        ),
        F.MEMORY_PEER_ACCESS,
    ).source(
        "PyTorch PR #150580 (2.8)",
        "PyTorch 2.13, torch/testing/_internal/common_distributed.py, gfx942 and gfx950",
    ),
    F.COMM_GPU_DIRECT_RDMA: all_of(
        ON_A_DEVICE,
        fact("limits.infiniband", "RDMA adapters", code=Code.HARDWARE_MISSING).is_not_empty(
            "there is no RDMA adapter (/sys/class/infiniband)"
        ),
        F.HOST_MEMLOCK,
        _RDMA,
    ).source("ROCm documentation, GPU-enabled MPI: RDMA by the amdgpu driver's peer memory"),
}  # fmt: skip


def _experimental(question: Question) -> Finding:
    """PyTorch leaves these kernels out unless a variable asks for them."""
    evidence = question.facts.evidence
    name = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
    if environment(question, name) == "1":
        reason = Reason(Code.LIMITED, f"experimental on this GPU, and {name} asks for it")
        return Finding(Status.DEGRADED, evidence, (reason,))
    text = f"experimental on this GPU: left out unless {name} is 1"
    return Finding(Status.NO, evidence, (Reason(Code.POLICY, text),), (f"export {name}=1",))


_ASKED_FOR = value_of(_experimental)
_AOTRITON = all_of(
    ON_A_DEVICE,
    by_arch(
        {
            "gfx90a gfx942": since("2.5"),
            "gfx950 gfx1201": torch("2.8"),
            "gfx1100": (TORCH >= "2.11").where_recorded().otherwise(
                TORCH.between("2.8", "2.9").otherwise(
                    TORCH.between("2.9", "2.11").then(
                        undocumented("PyTorch 2.9 and 2.10 moved this GPU back to experimental")
                    ).otherwise(_ASKED_FOR)
                )
            ),
            "gfx1101 gfx1102 gfx1150 gfx1151 gfx1200": torch("2.8").then(_ASKED_FOR),
            f"{GCN} gfx908 {RDNA2}": no(_NONE, "AOTriton has no kernels for this GPU"),
        },
        what="AOTriton's kernels",
    ),
).source(
    _SDPA, "PyTorch 2.13, torch/testing/_internal/common_cuda.py, gfx lists of flash attention",
    "PyTorch PR #166397 (gfx1100 experimental again)",
)  # fmt: skip
_TRITON_DEVICE = all_of(
    ON_A_DEVICE,
    by_arch(
        {
            f"{CDNA} gfx1100 gfx1101 gfx1102 gfx1150 gfx1151 gfx1200 gfx1201 {RDNA2}": yes(
                "triton has an AMD backend"
            ),
            GCN: undocumented("triton names no GPU older than gfx908 as supported"),
        },
        what="triton's support",
    ),
)
_HIPCC = tool("hipcc", "HIP compiler").remedy(
    "install ROCm's HIP development files, and set ROCM_HOME to its folder"
)
_FLASH_PACKAGE = by_arch(
    {
        "gfx90a gfx942 gfx950": as_rule("pkg.flash-attn"),
        f"{GCN} gfx908 {RDNA}": all_of(
            "pkg.flash-attn",
            undocumented("flash-attn names only its triton backend for this GPU"),
        ),
    },
    what="flash-attn",
)
_NO_CUDA_KERNEL = no(Code.HARDWARE_UNSUPPORTED, "it is written for NVIDIA GPUs")
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: _TRITON_DEVICE.source(
        "triton README, Compatibility: AMD GPUs, ROCm 6.2 and newer",
        "triton, third_party/amd/backend/compiler.py",
    ),
    F.TRITON_USABLE: as_rule(F.TRITON_DEVICE)
    .then(if_recorded(F.TRITON_INSTALLED, F.BUILD_CC, F.BUILD_PYTHON_HEADERS))
    .source("triton, python/triton/runtime/build.py; DeepSpeed 0.19.8 leaves triton out on ROCm"),
    F.COMPILE_INDUCTOR: all_of(
        if_recorded(TORCH_INSTALLED, TORCH >= "2.0", COMPILE_PYTHON), F.TRITON_USABLE
    ).source("PyTorch 2.13, torch/_inductor/utils.py and utils/_triton.py"),
    F.COMPILE_TORCH_COMPILE: all_of(F.COMPILE_INDUCTOR).source(
        "PyTorch documentation, torch.compile"
    ),
    F.COMPILE_DEEPCOMPILE: all_of(torch("2.6"), F.OP_DC, F.COMPILE_INDUCTOR).source(
        "DeepSpeed 0.19.8, compile/util.py: the accelerator that it calls cuda"
    ),
    F.BUILD_CUDA: no(
        Code.HARDWARE_UNSUPPORTED, "torch turns CUDA sources into HIP here: see build.hip"
    ).source("PyTorch 2.13, torch/utils/cpp_extension.py, CUDAExtension and hipify"),
    F.BUILD_HIP: all_of(
        F.BUILD_CXX, HIP.exists().remedy("install a PyTorch built with ROCm"), _HIPCC
    ).source("PyTorch 2.13, torch/utils/cpp_extension.py, _find_rocm_home"),
    F.BUILD_SYCL: no(Code.HARDWARE_UNSUPPORTED, "this accelerator is ROCm").source(
        "PyTorch 2.13, torch/utils/cpp_extension.py"
    ),
    F.BUILD_DRIVER: torch_runs().otherwise(
        unknown(
            Code.NOT_OBSERVED,
            "torch cannot use the device, and the kernel driver does not tell which ROCm it is for",
        )
    ).source("AMD, User and kernel-space support matrix"),
    F.BUILD_KERNEL_IMAGE: kernel_image().source(
        "PyTorch, torch.cuda.get_arch_list; LLVM, User Guide for AMDGPU Backend, Target ID",
        "ROCm documentation, environment variables, HSA_OVERRIDE_GFX_VERSION",
    ),
    F.ATTENTION_SDPA: all_of(ON_A_DEVICE, torch("2.0")).source("PyTorch 2.0 release notes"),
    F.ATTENTION_FLASH_ATTENTION: _AOTRITON,
    F.ATTENTION_MEM_EFFICIENT: _AOTRITON,
    F.ATTENTION_CUDNN: _NO_CUDA_KERNEL.source(_SDPA),
    F.ATTENTION_FLASH_ATTN_PACKAGE: all_of(ON_A_DEVICE, _FLASH_PACKAGE).source(
        "Dao-AILab/flash-attention README, AMD ROCm support"
    ),
    F.ATTENTION_FLASH_ATTN_3: _NO_CUDA_KERNEL.source(
        "Dao-AILab/flash-attention README: FlashAttention-3 is for Hopper"
    ),
    F.ATTENTION_PAGED: all_of(
        ON_A_DEVICE,
        unknown(Code.NOT_OBSERVED, "AITER has one for gfx942 and gfx950, and is not looked for"),
    ).source("ROCm/aiter README"),
    F.OP_GROUPED_MM: all_of(
        ON_A_DEVICE,
        torch("2.10"),
        by_arch(
            {
                "gfx942 gfx950": undocumented(
                    "fast only in a PyTorch built with Composable Kernel, which nothing tells"
                ),
                f"{GCN} gfx908 gfx90a {RDNA}": degraded(
                    Code.SLOW, "one product after the other"
                ),
            },
            what="grouped products",
        ),
    ).source("PyTorch 2.13, aten/src/ATen/native/cuda/GroupedBlas.cpp, _grouped_mm_cuda"),
}  # fmt: skip


class Rocm(Accelerator):
    """AMD GPUs with ROCm."""

    name = "rocm"
    title = "AMD GPU"
    seen_by = DeviceSource(
        torch_type="cuda",
        build="hip",
        pci=(("0x1002", "0x03"), ("0x1002", "0x12")),
        probe="accelcaps.facts.probes.amd_kfd:probe",
        visibility=("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        by_uuid="ROCR_VISIBLE_DEVICES",
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(_DS_CUDA, fp16_note=": gfx9 counts as capability 9"),
        **device_limits(
            "rocm", _SEEN,
            runtime=value("torch.hip", "ROCm of this PyTorch").source("PyTorch, torch/version.py"),
            comm=value("torch.runtime.comm_version", "RCCL").source(
                "PyTorch, torch/cuda/nccl.py: RCCL tells the NCCL version that it follows"
            ),
        ),
    }  # fmt: skip
