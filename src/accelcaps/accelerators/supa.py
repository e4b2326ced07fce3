"""Biren GPUs, by torch_supa, which also stands in for torch.cuda."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from packaging.version import Version

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD, COMPILE_PYTHON, INDUCTOR_CXX
from accelcaps.accelerators.collectives import every_collective
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.limits import device_limits
from accelcaps.accelerators.presence import usable_device
from accelcaps.accelerators.references import (
    ON_A_DEVICE,
    TORCH,
    TORCH_INSTALLED,
    undocumented,
)
from accelcaps.accelerators.rows import (
    FORK_SAFE,
    NO_DEEPCOMPILE,
    NO_MONITORED_BARRIER,
    deepspeeds_word,
    own_backend,
    peer_access,
)
from accelcaps.accelerators.supa_dtypes import (
    DTYPES,
    GUIDE,
    PLUGIN,
    SUPA_SOURCE,
    family,
    wheel_family,
)
from accelcaps.facts.model import NotObserved
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import (
    Finding,
    Question,
    Rule,
    all_of,
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

__all__ = ["Supa"]

_DS_SUPA = "DeepSpeed 0.19.8, accelerator/supa_accelerator.py"
_TABLE = f"{GUIDE}, torch.cuda: the table of torch.supa"
_SEEN = "device nodes /dev/biren/card_*; torch.supa"
_SDPA = f"{SUPA_SOURCE}, csrc/aten/ops/kernels/transformers/SdpUtils.cpp"
_NONE = Code.NOT_IMPLEMENTED


def _of_this_torch() -> Rule:
    """Each torch_supa is built for one PyTorch, which the fourth number of its version tells."""

    def judge(question: Question) -> Finding:
        plugin, torch = PLUGIN.value(question), TORCH.value(question)
        evidence = question.facts.evidence
        if not isinstance(plugin, Version) or not isinstance(torch, Version):
            return Finding(Status.YES, evidence)  # what is missing, other rules say
        number = plugin.release[3] if len(plugin.release) == 4 else 0
        built_for = number // 10000, number // 100 % 100
        if number < 10000 or built_for == (torch.major, torch.minor):
            return Finding(Status.YES, evidence)
        wanted = f"{built_for[0]}.{built_for[1]}.{number % 100}"
        text = f"torch_supa {plugin} is built for PyTorch {wanted}, found {torch}"
        remedies = (
            f"install PyTorch {wanted}, the build for the CPU, or the torch_supa for {torch}",
        )
        return Finding(Status.NO, evidence, (Reason(Code.SOFTWARE_VERSION, text),), remedies)

    return value_of(judge).source(f"{GUIDE}, chapter 2, table of PyTorch versions")


def _kernels(*, untold: Status) -> Rule:
    """A torch_supa has kernels for one family, which its version ends in (``+br2xx``).

    Args:
        untold: the answer where nothing tells the family of the package or of the GPU.
    """

    def judge(question: Question) -> Finding:
        built, found, evidence = wheel_family(question), family(question), question.facts.evidence
        plugin = PLUGIN.value(question)
        if isinstance(plugin, NotObserved):
            return Finding(Status.UNKNOWN, evidence, (plugin.reason(),))
        if built is None or found is None:
            text = "torch_supa does not tell by its version for which GPUs it is built"
            return Finding(untold, evidence, (Reason(Code.NOT_DOCUMENTED, text),))
        if built == found:
            text = f"torch_supa is built for {built}"
            return Finding(Status.YES, evidence, (Reason(Code.MET, text),))
        text = f"torch_supa is built for {built}, and the GPU is of the family {found}"
        remedies = (f"install the torch_supa that is built for {found}",)
        return Finding(Status.NO, evidence, (Reason(Code.SOFTWARE_BUILD, text),), remedies)

    return (
        value_of(judge, per_device=True)
        .where_recorded()
        .source(f"{GUIDE}, chapter 2: names of the wheels")
    )


_ASYNCHRONOUS = no(_NONE, "work is queued, and runs beside the host").source(_DS_SUPA)
_HERE = all_of(ON_A_DEVICE)
_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "Biren GPU", _SEEN, _of_this_torch(), _kernels(untold=Status.YES),
        hides="SUPA_VISIBLE_DEVICES",
        remedy="install Biren's driver and SUPA SDK, and source its brsw_set_env.sh",
    ),
    F.DEVICE_SYNCHRONOUS: _ASYNCHRONOUS,
    F.DEVICE_HOST_TIMERS: _ASYNCHRONOUS,
    F.DEVICE_RESOLVES_DATA_DEPENDENCY: _ASYNCHRONOUS,
    F.DEVICE_HANDLES_MEMORY_BACKPRESSURE: _ASYNCHRONOUS,
    F.RUNTIME_STREAMS: _HERE.source(_TABLE, _DS_SUPA),
    F.RUNTIME_STREAM_PRIORITIES: _HERE.source(f"{SUPA_SOURCE}, supa/streams.py, Stream"),
    F.RUNTIME_EVENTS: _HERE.source(_TABLE, _DS_SUPA),
    F.RUNTIME_EVENT_TIMING: _HERE.source(f"{_TABLE}: Event.elapsed_time"),
    F.RUNTIME_GRAPH_CAPTURE: _HERE.source(f"{_TABLE}: SUPAGraph; {GUIDE}, chapter 8", _DS_SUPA),
    F.RUNTIME_RNG_PER_DEVICE: _HERE.source(f"{_TABLE}: get_rng_state", _DS_SUPA),
    F.RUNTIME_DETERMINISTIC: undocumented(
        "Biren lists the switch of the convolutions, and does not tell which operations stay "
        "nondeterministic"
    ).source(f"{GUIDE}, torch.backends: cudnn.deterministic"),
    F.RUNTIME_PROFILER_RANGES: all_of(
        ON_A_DEVICE, yes("by torch.supa.brtx; DeepSpeed's own ranges are dropped")
    ).source(f"{SUPA_SOURCE}, supa/brtx.py; {_DS_SUPA}, range_push"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: no(_NONE, "torch.supa.brtx takes no domains").source(
        f"{SUPA_SOURCE}, supa/brtx.py"
    ),
    **FORK_SAFE,
    F.MEMORY_PINNED_HOST: _HERE.source(
        f"{SUPA_SOURCE}, csrc/aten/PinMemory.cpp and core/supa/CachingHostAllocator.cpp"
    ),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY).source(
        "DeepSpeed 0.19.8, op_builder/supa"
    ),
    F.MEMORY_ASYNC_COPY: _HERE.source(f"{SUPA_SOURCE}, csrc/aten/common/Copy.cpp: supaMemcpyAsync"),
    F.MEMORY_STATS: _HERE.source(f"{_TABLE}: memory.memory_stats", _DS_SUPA),
    F.MEMORY_UNIFIED: undocumented("no document or source of Biren tells of managed memory").source(
        GUIDE
    ),
    **peer_access("supa", f"{_TABLE}: can_device_access_peer"),
    F.MEMORY_EXPANDABLE_SEGMENTS: undocumented(
        "the allocator reads the setting, and Biren's guide does not tell of it"
    ).source(f"{SUPA_SOURCE}, csrc/core/supa/SUPAAllocatorConfig.cpp"),
    F.MEMORY_IPC: _HERE.source(
        f"{_TABLE}: ipc_collect; {SUPA_SOURCE}, multiprocessing/reductions.py"
    ),
}  # fmt: skip

_COMM_TABLE = f"{GUIDE}, torch.distributed"
_BCCL_TYPES = f"{SUPA_SOURCE}, csrc/distributed/BCCLUtils.hpp, bcclDataType"
_BCCL = f"{SUPA_SOURCE}, csrc/distributed/ProcessGroupBCCL.cpp"
_ON_BCCL = all_of(F.COMM_BACKEND)
_UNVERIFIED = undocumented("Biren's table leaves it open: not fully verified").source(_COMM_TABLE)
_AVERAGES = (
    F.COMM_ALL_REDUCE_AVG, F.COMM_REDUCE_SCATTER_AVG, F.COMM_REDUCE_SCATTER_TENSOR_AVG
)  # fmt: skip
_REDUCING = (
    "comm.all_reduce.", "comm.reduce.", "comm.reduce_scatter.", "comm.reduce_scatter_tensor."
)  # fmt: skip


def _collectives() -> Mapping[Feature, Rule]:
    rules = dict(every_collective(_ON_BCCL.source(_COMM_TABLE)))
    for feature in rules:
        plain, _, aspect = feature.rpartition(".")
        if aspect in ("fp16", "bf16") or (aspect == "fp8" and not feature.startswith(_REDUCING)):
            rules[feature] = all_of(plain).source(_BCCL_TYPES)
        elif aspect == "fp8":
            rules[feature] = undocumented(
                "BCCL reduces 8-bit floats from 2.24 on, and nothing tells which one is here"
            ).source(_BCCL_TYPES)
    rules.update(dict.fromkeys((F.COMM_REDUCE, F.COMM_GATHER, F.COMM_SCATTER), _UNVERIFIED))
    for feature in _AVERAGES:
        rules[feature] = all_of(feature.removesuffix(".avg")).source(f"{_BCCL}, bcclOp")
    rules[F.COMM_ALL_REDUCE_PREMUL_SUM] = undocumented(
        "torch_supa has it where it was built with BCCL 2.11 or newer, and nothing tells which"
    ).source(_BCCL)
    rules.update(NO_MONITORED_BARRIER)
    rules[F.COMM_COALESCING] = undocumented(
        "Biren's table leaves batch_isend_irecv open, and does not tell of other groups"
    ).source(_COMM_TABLE)
    rules[F.COMM_OBJECT_COLLECTIVES] = all_of(
        _ON_BCCL,
        degraded(Code.LIMITED, "Biren verified broadcast and all_gather, not gather and scatter"),
    ).source(_COMM_TABLE)
    rules[F.COMM_DEVICE_MESH] = _ON_BCCL.source(
        f"{SUPA_SOURCE}, contrib/transfer_to_supa.py; test/distributed/fsdp"
    )
    return rules


_COMM: Mapping[Feature, Rule] = {
    **_collectives(),
    **own_backend(
        "bccl",
        f"{SUPA_SOURCE}, distributed/distributed_c10d.py, register_backend", _DS_SUPA,
    ),
    F.COMM_SYMMETRIC_MEMORY: _ON_BCCL.source(f"{GUIDE}, torch.distributed.symmetric_memory"),
    F.COMM_GPU_DIRECT_RDMA: undocumented(
        "no document of Biren tells whether a network adapter reaches the GPU's memory"
    ).source(GUIDE),
}  # fmt: skip

_BR_TRITON = (
    fact("packages.br-triton", "br-triton", absent="no distribution called br-triton is installed")
    .exists()
    .where_recorded()
    .otherwise(undocumented("and Biren does not tell whether it goes by another name"))
)
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: all_of(
        ON_A_DEVICE, yes("by Biren's br-triton; triton itself has no such backend")
    ).source(f"{GUIDE}, chapter 4, graph mode", f"{_DS_SUPA}, is_triton_supported"),
    F.TRITON_USABLE: all_of(ON_A_DEVICE, _BR_TRITON).source(f"{GUIDE}, chapter 4, graph mode"),
    F.COMPILE_INDUCTOR: all_of(
        ON_A_DEVICE, TORCH_INSTALLED.where_recorded(), COMPILE_PYTHON.where_recorded(),
        INDUCTOR_CXX.where_recorded(), F.TRITON_USABLE,
    ).source(f"{GUIDE}, chapter 4, graph mode"),
    F.COMPILE_TORCH_COMPILE: all_of(F.COMPILE_INDUCTOR).source(f"{GUIDE}, torch.compiler"),
    **NO_DEEPCOMPILE,
    F.BUILD_CUDA: undocumented(
        "Biren's SUDA compiles CUDA sources by CMake; whether torch's CUDAExtension works by it "
        "is not told"
    ).source(f"{GUIDE}, chapter 4, libraries of the community"),
    **dict.fromkeys(
        (F.BUILD_HIP, F.BUILD_SYCL),
        no(Code.HARDWARE_UNSUPPORTED, "a Biren GPU is not such a device").source(
            "PyTorch 2.13, torch/utils/cpp_extension.py"
        ),
    ),
    F.BUILD_DRIVER: undocumented(
        "driver, SDK and torch_supa must be of one release, and no table tells which are"
    ).source(f"{GUIDE}, chapter 2"),
    F.BUILD_KERNEL_IMAGE: ON_A_DEVICE.then(_kernels(untold=Status.UNKNOWN)).source(
        f"{GUIDE}, chapter 2: names of the wheels"
    ),
    F.ATTENTION_SDPA: _HERE.source(f"{GUIDE}, torch.nn.functional"),
    F.ATTENTION_FLASH_ATTENTION: all_of(
        ON_A_DEVICE,
        degraded(Code.LIMITED, "bf16 and fp32 only, without a mask, and heads up to 512"),
    ).source(f"{GUIDE}, torch.nn.functional, scaled_dot_product_attention", _SDPA),
    F.ATTENTION_MEM_EFFICIENT: no(_NONE, "torch_supa does not have it").source(
        f"{GUIDE}, torch.nn.functional, scaled_dot_product_attention", _SDPA
    ),
    F.ATTENTION_CUDNN: all_of(
        ON_A_DEVICE,
        degraded(Code.LIMITED, "by Biren's suDNN: fp16 and bf16 only, and heads up to 256"),
    ).source(_SDPA),
    **dict.fromkeys(
        (F.ATTENTION_FLASH_ATTN_PACKAGE, F.ATTENTION_FLASH_ATTN_3),
        no(_NONE, "the package has no kernels for it: use SDPA").source(
            "LLaMA-Factory documentation, Biren SUPA"
        ),
    ),
    F.ATTENTION_PAGED: undocumented(
        "Biren's plugins for vLLM and SGLang are delivered without public documents"
    ).source(GUIDE),
    F.OP_GROUPED_MM: undocumented(
        "Biren lists grouped_mm as supported, and does not tell how fast it is"
    ).source(f"{GUIDE}, torch.nn.functional"),
}  # fmt: skip


class Supa(Accelerator):
    """Biren GPUs with the SUPA software."""

    name = "supa"
    title = "Biren GPU"
    seen_by = DeviceSource(
        torch_type="supa",
        module="torch_supa",
        nodes=("biren/card_*",),  # the PCI ID repository has no vendor id of Biren
        visibility=("SUPA_VISIBLE_DEVICES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(_DS_SUPA),
        **device_limits(
            "supa", _SEEN,
            runtime=undocumented(
                "torch_supa does not tell the SUPA SDK that it was built with before a device is "
                "opened"
            ).source(f"{GUIDE}, torch_supa._C._supa_getCompiledVersion"),
            comm=unknown(
                Code.NOT_OBSERVED, "torch.supa.bccl.version() tells it, and is not asked"
            ).source(f"{SUPA_SOURCE}, supa/bccl.py", f"{_DS_SUPA}, communication_backend_version"),
        ),
    }  # fmt: skip
