"""Ascend NPUs, by torch_npu and CANN."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD, COMPILE_PYTHON, INDUCTOR_CXX
from accelcaps.accelerators.collectives import every_collective
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.limits import device_limits
from accelcaps.accelerators.npu_dtypes import (
    DTYPES,
    PLUGIN,
    WHEEL,
    by_series,
    plugin_since,
)
from accelcaps.accelerators.presence import torch_runs, usable_device
from accelcaps.accelerators.references import (
    ON_A_DEVICE,
    TORCH,
    TORCH_INSTALLED,
    if_recorded,
    package,
    torch,
    undocumented,
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
    peer_access,
)
from accelcaps.facts.model import NotObserved
from accelcaps.facts.sources import DeviceSource
from accelcaps.rules import (
    Finding,
    Question,
    Rule,
    all_of,
    any_of,
    as_rule,
    degraded,
    no,
    unknown,
    value_of,
    yes,
)
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["Npu"]

_DS_NPU = "DeepSpeed 0.19.8, accelerator/npu_accelerator.py"
_SEEN = "the PCI bus (vendor 19e5, class 12); /dev/davinci*; torch_npu, asked in a child process"
_NONE = Code.NOT_IMPLEMENTED
_HERE = all_of(ON_A_DEVICE)


def _of_this_torch() -> Rule:
    """Each torch_npu is built for one release of PyTorch, of the same number."""

    def judge(question: Question) -> Finding:
        plugin, found = PLUGIN.value(question), TORCH.value(question)
        evidence = question.facts.evidence
        if any(each is None or isinstance(each, NotObserved) for each in (plugin, found)):
            return Finding(Status.YES, evidence)  # what is missing, other rules say
        if plugin.release[:2] == found.release[:2]:
            return Finding(Status.YES, evidence)
        text = f"torch_npu {plugin} is built for PyTorch {plugin.base_version}, found {found}"
        remedies = (f"install the torch_npu of {found.major}.{found.minor}",)
        return Finding(Status.NO, evidence, (Reason(Code.SOFTWARE_VERSION, text),), remedies)

    return value_of(judge)


_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "Ascend NPU", _SEEN,
        PLUGIN.exists().remedy("pip install torch-npu, of PyTorch's release").where_recorded(),
        _of_this_torch(),
        hides="ASCEND_RT_VISIBLE_DEVICES",
        remedy="install the Ascend driver and CANN, and source CANN's set_env.sh",
    ),
    **asynchronous(_DS_NPU),
    F.RUNTIME_STREAMS: _HERE.source(f"{WHEEL}, npu/streams.py, Stream"),
    F.RUNTIME_STREAM_PRIORITIES: all_of(ON_A_DEVICE, plugin_since("2.13")).source(
        f"{WHEEL}, npu/streams.py, Stream(priority=…)"
    ),
    F.RUNTIME_EVENTS: _HERE.source(f"{WHEEL}, npu/streams.py, Event"),
    F.RUNTIME_EVENT_TIMING: _HERE.source(f"{WHEEL}, npu/streams.py, elapsed_time"),
    F.RUNTIME_GRAPH_CAPTURE: all_of(
        ON_A_DEVICE, plugin_since("2.13"),
        by_series({"a2 a3 a5": yes("by ACLGraph")}, what="graph capture"),
    ).source(f"{WHEEL}, npu/graphs.py, NPUGraph", f"{_DS_NPU}, create_graph: none"),
    F.RUNTIME_RNG_PER_DEVICE: _HERE.source(f"{WHEEL}, npu/random.py"),
    F.RUNTIME_DETERMINISTIC: _HERE.source(
        f"{WHEEL}, npu/__init__.py, set_deterministic_level and use_deterministic_algorithms"
    ),
    F.RUNTIME_PROFILER_RANGES: _HERE.source(f"{WHEEL}, npu/mstx.py, range_start and range_push"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: all_of(ON_A_DEVICE, plugin_since("2.13")).source(
        f"{WHEEL}, npu/mstx.py, range_push(domain=…)"
    ),
    **FORK_SAFE,
    F.MEMORY_PINNED_HOST: _HERE.source(
        f"{WHEEL}, csrc/core/npu/CachingHostAllocator.cpp; DeepSpeed 0.19.8, npu_accelerator.py"
    ),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY, F.HOST_MEMLOCK).source(
        "DeepSpeed 0.19.8, op_builder/npu"
    ),
    F.MEMORY_ASYNC_COPY: all_of(F.MEMORY_PINNED_HOST).source(
        "Huawei, CANN documentation, aclrtMemcpyAsync: asynchronous from pinned memory"
    ),
    F.MEMORY_STATS: _HERE.source(f"{WHEEL}, npu/memory.py, memory_stats"),
    F.MEMORY_UNIFIED: undocumented(
        "torch_npu has memory that is swapped to the host; whether any is migrated is not told"
    ).source(f"{WHEEL}, _op_plugin_docs.py, empty_with_swapped_memory"),
    **peer_access("npu", f"{WHEEL}, npu/__init__.py, can_device_access_peer"),
    F.MEMORY_EXPANDABLE_SEGMENTS: all_of(ON_A_DEVICE, plugin_since("2.13")).source(
        f"{WHEEL}, PYTORCH_NPU_ALLOC_CONF=expandable_segments:True; NPUCachingAllocator.cpp"
    ),
    F.MEMORY_IPC: all_of(ON_A_DEVICE, plugin_since("2.13")).source(
        f"{WHEEL}, multiprocessing/reductions.py"
    ),
}  # fmt: skip

_HCCL = "Ascend/pytorch, torch_npu/csrc/distributed/ProcessGroupHCCL.cpp"
_HCCL_TYPES = "Huawei, CANN 8.5 documentation, HcclAllReduce: types of each product series"
_ON_HCCL = all_of(F.COMM_BACKEND)
_REDUCING = "comm.reduce", "comm.all_reduce"
_BF16_SUMS = by_series(
    {
        "a2 a3 a5": yes("HCCL reduces bf16"),
        "a1 310p": no(Code.HARDWARE_TOO_OLD, "HCCL reduces bf16 from Atlas A2 on"),
    },
    what="reductions of bf16",
)


def _collectives() -> Mapping[Feature, Rule]:
    rules = dict(every_collective(_ON_HCCL.source(_HCCL)))
    for feature in rules:
        plain, _, aspect = feature.rpartition(".")
        reduces = plain.startswith(_REDUCING)
        if aspect == "fp16":
            rules[feature] = all_of(plain).source(_HCCL_TYPES)
        elif aspect == "bf16":
            rules[feature] = all_of(plain, _BF16_SUMS if reduces else F.DTYPE_BF16_STORAGE).source(
                _HCCL_TYPES
            )
        elif aspect == "fp8" and reduces:
            text = "torch_npu refuses to reduce other types than fp16, fp32, bf16 and integers"
            rules[feature] = all_of(plain, no(_NONE, text)).source(
                f"{_HCCL}, checkSupportedDataType"
            )
        elif aspect == "fp8":
            rules[feature] = undocumented(
                "HCCL moves 8-bit floats on Ascend 950; whether torch_npu asks it to is not told"
            ).source("CANN, hccl, list of algorithms between servers")
    for feature in (F.COMM_ALL_REDUCE_AVG, F.COMM_REDUCE_SCATTER_AVG,
                    F.COMM_REDUCE_SCATTER_TENSOR_AVG):  # fmt: skip
        rules[feature] = all_of(
            feature.removesuffix(".avg"), yes("torch_npu sums, and divides")
        ).source(f"{_HCCL}, getHcclReduceOp")
    rules[F.COMM_ALL_REDUCE_PREMUL_SUM] = no(
        _NONE, "HCCL has sum, prod, max and min: torch_npu refuses PREMUL_SUM"
    ).source(f"{_HCCL}, getHcclReduceOp", _HCCL_TYPES)
    rules.update(NO_MONITORED_BARRIER)
    rules[F.COMM_COALESCING] = all_of(_ON_HCCL, plugin_since("2.13")).source(
        f"{WHEEL}: ProcessGroupHCCL::startCoalescing; distributed/distributed_c10d.py"
    )
    return rules


_COMM: Mapping[Feature, Rule] = {
    **_collectives(),
    **own_backend(
        "hccl",
        f"{WHEEL}, __init__.py, register_backend", f"{_DS_NPU}, communication_backend_name",
    ),
    F.COMM_SYMMETRIC_MEMORY: undocumented(
        "torch_npu names aclshmem, and no document tells what of symmetric memory works"
    ).source(WHEEL),
    F.COMM_GPU_DIRECT_RDMA: undocumented(
        "an NPU has a network port of its own, and nothing here tells whether it is connected"
    ).source("Huawei, CANN documentation, HCCL cluster configuration, hccn_tool"),
}  # fmt: skip

_TRITON_PACKAGE = package("triton-ascend")
_KERNELS_OF_ITS_OWN = no(
    _NONE, "torch_npu has no such kernel: scaled_dot_product_attention uses its own"
).remedy("call torch_npu.npu_fusion_attention").source(
    f"{WHEEL}, npu/_backends.py: 'does not support flash sdp and only sets the global variable'"
)  # fmt: skip
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: all_of(
        ON_A_DEVICE, by_series({"a2 a3": yes("by triton-ascend")}, what="triton-ascend's support")
    ).source("triton-ascend README: Atlas A2 and A3", f"{_DS_NPU}, is_triton_supported: false"),
    F.TRITON_USABLE: as_rule(F.TRITON_DEVICE).then(if_recorded(_TRITON_PACKAGE)).source(
        f"{WHEEL}, _inductor/__init__.py: 'triton-ascend is not installed'"
    ),
    F.COMPILE_INDUCTOR: all_of(
        if_recorded(TORCH_INSTALLED, COMPILE_PYTHON, INDUCTOR_CXX), plugin_since("2.13"),
        F.TRITON_USABLE,
    ).source(f"{WHEEL}, _inductor/__init__.py"),
    F.COMPILE_TORCH_COMPILE: any_of(
        F.COMPILE_INDUCTOR,
        all_of(
            ON_A_DEVICE, if_recorded(TORCH_INSTALLED, COMPILE_PYTHON),
            degraded(Code.LIMITED, "with backend='npu' (TorchAir) only, without triton-ascend"),
        ),
    ).source(f"{WHEEL}, entry points torch_dynamo_backends: npu, npugraphs, npugraph_ex"),
    **NO_DEEPCOMPILE,
    **no_other_toolkits("an Ascend NPU"),
    F.BUILD_DRIVER: torch_runs().otherwise(
        unknown(
            Code.NOT_OBSERVED,
            "torch_npu cannot use the device, and nothing here tells which driver CANN needs",
        )
    ).source("Huawei, CANN documentation, version matching of driver, firmware and CANN"),
    F.BUILD_KERNEL_IMAGE: undocumented(
        "CANN installs the kernels of each series apart, and they are not looked for"
    ).source("Huawei, CANN documentation, Installation: kernels packages"),
    F.ATTENTION_SDPA: all_of(ON_A_DEVICE, torch("2.1")).source(
        f"{WHEEL}: kernels of scaled_dot_product_attention"
    ),
    F.ATTENTION_FLASH_ATTENTION: _KERNELS_OF_ITS_OWN,
    F.ATTENTION_MEM_EFFICIENT: _KERNELS_OF_ITS_OWN,
    **CUDA_KERNELS,
    F.ATTENTION_PAGED: all_of(
        ON_A_DEVICE, plugin_since("2.13"),
        by_series({"a2 a3": yes("torch_npu.npu_fused_infer_attention_score")}, what="paged caches"),
    ).source(f"{WHEEL}, _op_plugin_docs.py: block_table"),
    F.OP_GROUPED_MM: all_of(
        ON_A_DEVICE, torch("2.9"),
        degraded(Code.SLOW, "torch's fallback: one product after the other").remedy(
            "call torch_npu.npu_grouped_matmul"
        ),
    ).source(
        f"{WHEEL}: no kernel of _grouped_mm",
        "PyTorch 2.13, ATen/ops/_grouped_mm_compositeexplicitautograd_dispatch.h",
    ),
}  # fmt: skip


class Npu(Accelerator):
    """Huawei Ascend NPUs with CANN."""

    name = "npu"
    title = "Ascend NPU"
    seen_by = DeviceSource(
        torch_type="npu",
        module="torch_npu",
        pci=(("0x19e5", "0x12"),),
        nodes=("davinci[0-9]*",),
        probe="accelcaps.facts.probes.ascend:probe",
        visibility=("ASCEND_RT_VISIBLE_DEVICES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(
            _DS_NPU,
            bf16=F.DTYPE_BF16, fp16_note=": always true", bf16_note=": torch_npu's answer",
        ),
        **device_limits(
            "npu", _SEEN,
            runtime=unknown(Code.NOT_OBSERVED, "CANN's version is not looked for").source(
                f"{WHEEL}, utils/collect_env.py, get_cann_version"
            ),
            comm=unknown(Code.NOT_OBSERVED, "HCCL comes with CANN, and is not looked for").source(
                f"{WHEEL}, utils/collect_hccl_info.py"
            ),
        ),
    }  # fmt: skip
