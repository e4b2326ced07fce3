"""Cambricon MLUs, by torch_mlu and CNToolkit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from accelcaps import features as F
from accelcaps.accelerators.base import Accelerator
from accelcaps.accelerators.building import BUILD
from accelcaps.accelerators.collectives import every_collective
from accelcaps.accelerators.host import HOST
from accelcaps.accelerators.kinds import by_kind
from accelcaps.accelerators.limits import device_limits
from accelcaps.accelerators.presence import torch_runs, usable_device
from accelcaps.accelerators.references import (
    ON_A_DEVICE,
    TORCH,
    package,
    torch,
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
    peer_access,
)
from accelcaps.facts.model import NotObserved
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

__all__ = ["Mlu"]

_DS_MLU = "DeepSpeed 0.19.8, accelerator/mlu_accelerator.py"
_SOURCE = "Cambricon/torch_mlu (d578002, 2024-09-18)"
_TYPES = f"{_SOURCE}, csrc/aten/utils/types.cpp"
_MM = f"{_SOURCE}, csrc/aten/operators/cnnl/internal/addmm_internal.cpp"
_SEEN = "the PCI bus (vendor cabc, class 12); /dev/cambricon_dev*; torch_mlu"
_NONE = Code.NOT_IMPLEMENTED
_HERE = all_of(ON_A_DEVICE)
_PLUGIN = version_of("packages.torch-mlu", "torch_mlu", absent="torch_mlu is not installed")
_NOT_PUBLIC = "the public source, of 2024, does not have it; no document tells of newer packages"


def _series(question: Question) -> str | None:
    """Return ``3``, ``5`` and so on: the series of a card called MLU370 or MLU590."""
    named = re.search(r"MLU ?(\d)\d\d", str((question.device or {}).get("name", "")))
    return f"{named[1]}xx" if named else None


def _by(table: Mapping[str, Rule], what: str) -> Rule:
    return all_of(ON_A_DEVICE, by_kind(_series, table, what=what))


def _of_this_torch() -> Rule:
    """torch_mlu's version names the PyTorch that it is built for: ``1.22.0+torch2.4.0``."""

    def judge(question: Question) -> Finding:
        plugin, found = _PLUGIN.value(question), TORCH.value(question)
        evidence = question.facts.evidence
        if any(each is None or isinstance(each, NotObserved) for each in (plugin, found)):
            return Finding(Status.YES, evidence)  # what is missing, other rules say
        wanted = re.fullmatch(r"torch(\d+\.\d+)(\.\d+)*", plugin.local or "")
        if wanted is None or wanted[1] == f"{found.major}.{found.minor}":
            return Finding(Status.YES, evidence)
        text = f"torch_mlu {plugin} is built for PyTorch {wanted[1]}, found {found}"
        remedies = (f"install PyTorch {wanted[1]}, or a torch_mlu for {found}",)
        return Finding(Status.NO, evidence, (Reason(Code.SOFTWARE_VERSION, text),), remedies)

    return value_of(judge).source(f"{_SOURCE}, README: version numbers")


_BF16 = _by(
    {
        "5xx": yes("the MLU500 series has bf16"),
        "2xx 3xx": no(Code.HARDWARE_TOO_OLD, "bf16 needs the MLU500 series").remedy(
            use_instead(F.DTYPE_FP16, F.DTYPE_FP32)
        ),
    },
    "bf16",
)
_IN_32_BITS = "torch_mlu holds and computes float64 as float32 on the device"
_NO_FP64 = no(_NONE, _IN_32_BITS).remedy("use fp32, or the CPU").source(_TYPES)
_NO_COMPLEX = no(_NONE, "matrix products take fp32, fp16 and bf16, and no complex types").source(
    _MM
)
_DTYPES: Mapping[Feature, Rule] = {
    F.DTYPE_FP64: _NO_FP64,
    F.DTYPE_FP64_STORAGE: all_of(
        ON_A_DEVICE, degraded(Code.LIMITED, f"{_IN_32_BITS}: digits are lost")
    ).source(_TYPES),
    F.DTYPE_FP32: _HERE.source(_MM),
    F.DTYPE_FP32_STORAGE: _HERE.source(_TYPES),
    F.DTYPE_TF32: undocumented(
        "torch_mlu has switches for TF32, and no document tells which cards have it"
    ).source(f"{_SOURCE}, backends/mlu/__init__.py, matmul.allow_tf32"),
    F.DTYPE_FP16: _HERE.source(_MM),
    F.DTYPE_FP16_STORAGE: _HERE.source(_TYPES),
    F.DTYPE_BF16: _BF16.source(f"{_SOURCE}, mlu/__init__.py, is_bf16_supported: major 5", _MM),
    F.DTYPE_BF16_STORAGE: _BF16.source(_TYPES),
    F.DTYPE_INT8: undocumented(_NOT_PUBLIC).source(f"{_SOURCE}: no torch._int_mm"),
    F.DTYPE_INT8_STORAGE: _HERE.source(_TYPES),
    F.DTYPE_INT4: undocumented(_NOT_PUBLIC).source(f"{_SOURCE}: no torch._weight_int4pack_mm"),
    F.DTYPE_COMPLEX64: _NO_COMPLEX,
    F.DTYPE_COMPLEX64_STORAGE: _HERE.source(f"{_TYPES}: CNNL_DTYPE_COMPLEX_FLOAT"),
    F.DTYPE_COMPLEX128: all_of(_NO_FP64, _NO_COMPLEX),
    F.DTYPE_COMPLEX128_STORAGE: all_of(
        ON_A_DEVICE, degraded(Code.LIMITED, "held as complex64 on the device: digits are lost")
    ).source(_TYPES),
    **dict.fromkeys(
        (
            F.DTYPE_FP8_E4M3, F.DTYPE_FP8_E5M2, F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ,
            F.DTYPE_FP8_E4M3_STORAGE, F.DTYPE_FP8_E5M2_STORAGE, F.DTYPE_FP8_E4M3FNUZ_STORAGE,
            F.DTYPE_FP8_E5M2FNUZ_STORAGE, F.DTYPE_MXFP8, F.DTYPE_MXFP4, F.DTYPE_NVFP4,
        ),
        undocumented(_NOT_PUBLIC).source(f"{_TYPES}: no 8-bit floats"),
    ),
    F.DTYPE_FP16_AUTOCAST: all_of(F.DTYPE_FP16).source(f"{_SOURCE}, mlu/autocast_utils.py"),
    F.DTYPE_BF16_AUTOCAST: all_of(F.DTYPE_BF16).source(f"{_SOURCE}, mlu/autocast_utils.py"),
    F.DTYPE_FP16_GRAD_SCALER: undocumented(
        "torch_mlu has one of its own (torch.mlu.amp.GradScaler); whether torch.amp's works is "
        "not told"
    ).source(f"{_SOURCE}, mlu/amp/grad_scaler.py"),
}  # fmt: skip

_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "Cambricon MLU", _SEEN, _of_this_torch(),
        hides="MLU_VISIBLE_DEVICES",
        remedy="install the Cambricon driver, CNToolkit and torch_mlu",
    ),
    **asynchronous(_DS_MLU),
    F.RUNTIME_STREAMS: _HERE.source(f"{_SOURCE}, mlu/streams.py"),
    F.RUNTIME_STREAM_PRIORITIES: _HERE.source(f"{_SOURCE}, csrc/python/Stream.cpp: priority"),
    F.RUNTIME_EVENTS: _HERE.source(f"{_SOURCE}, mlu/streams.py, Event"),
    F.RUNTIME_EVENT_TIMING: _HERE.source(f"{_SOURCE}, mlu/streams.py, elapsed_time"),
    F.RUNTIME_GRAPH_CAPTURE: _HERE.source(f"{_SOURCE}, mlu/graphs.py", f"{_DS_MLU}, create_graph"),
    F.RUNTIME_RNG_PER_DEVICE: _HERE.source(f"{_SOURCE}, mlu/random.py"),
    F.RUNTIME_DETERMINISTIC: undocumented(
        "CNNL's switch is 'not available on MLU', and which operations follow torch's is not told"
    ).source(f"{_SOURCE}, backends/cnnl/__init__.py, set_flags"),
    F.RUNTIME_PROFILER_RANGES: _HERE.source(f"{_SOURCE}, mlu/cnpx.py", f"{_DS_MLU}, range_push"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: no(_NONE, "torch.mlu.cnpx takes no domain").source(
        f"{_SOURCE}, mlu/cnpx.py, range_push(msg)"
    ),
    **FORK_SAFE,
    F.MEMORY_PINNED_HOST: _HERE.source(f"{_SOURCE}, codegen/mlu_functions.yaml: _pin_memory"),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY).source("DeepSpeed 0.19.8, op_builder/mlu"),
    F.MEMORY_ASYNC_COPY: all_of(F.MEMORY_PINNED_HOST).source(
        f"{_SOURCE}, csrc/aten/operators/cnnl/copy.cpp: non_blocking"
    ),
    F.MEMORY_STATS: _HERE.source(f"{_SOURCE}, mlu/memory.py, memory_stats", _DS_MLU),
    F.MEMORY_UNIFIED: undocumented("no document tells of memory that is migrated").source(_SOURCE),
    **peer_access("mlu", f"{_SOURCE}, mlu/device.py, can_device_access_peer"),
    F.MEMORY_EXPANDABLE_SEGMENTS: _HERE.source(
        f"{_SOURCE}, csrc/framework/core/caching_allocator.cpp: PYTORCH_MLU_ALLOC_CONF"
    ),
    F.MEMORY_IPC: _HERE.source(f"{_SOURCE}, mlu/reductions.py; caching_allocator.cpp, cnrtIpc*"),
}  # fmt: skip

_CNCL = f"{_SOURCE}, csrc/framework/distributed/process_group_cncl.cpp"
_ON_CNCL = all_of(F.COMM_BACKEND)


def _collectives() -> Mapping[Feature, Rule]:
    rules = dict(every_collective(_ON_CNCL.source(_CNCL)))
    for feature in rules:
        plain, _, aspect = feature.rpartition(".")
        if aspect == "fp16":
            rules[feature] = all_of(plain).source(f"{_CNCL}, cncl_data_type")
        elif aspect == "bf16":
            rules[feature] = all_of(plain, F.DTYPE_BF16_STORAGE).source(f"{_CNCL}, cncl_data_type")
        elif aspect == "fp8":
            rules[feature] = undocumented(_NOT_PUBLIC).source(f"{_CNCL}, cncl_data_type")
    for feature in (F.COMM_ALL_REDUCE_AVG, F.COMM_REDUCE_SCATTER_AVG,
                    F.COMM_REDUCE_SCATTER_TENSOR_AVG, F.COMM_ALL_REDUCE_PREMUL_SUM):  # fmt: skip
        rules[feature] = (
            no(_NONE, "CNCL has sum, prod, max and min: torch_mlu refuses others")
            .remedy("use SUM, and divide")
            .source(f"{_CNCL}, getCnclReduceOp")
        )
    rules.update(NO_MONITORED_BARRIER)
    return rules


_COMM: Mapping[Feature, Rule] = {
    **_collectives(),
    **own_backend("cncl", f"{_SOURCE}, mlu/cncl.py", f"{_DS_MLU}, communication_backend_name"),
    F.COMM_SYMMETRIC_MEMORY: undocumented(_NOT_PUBLIC).source(_SOURCE),
    F.COMM_GPU_DIRECT_RDMA: undocumented(
        "no public document tells whether a network adapter reaches the card's memory"
    ).source(_SOURCE),
}  # fmt: skip

_TRITON = undocumented("Cambricon's triton is delivered without public documents").source(
    f"{_DS_MLU}, is_triton_supported: true, without looking", "triton README, Compatibility"
)
_FUSED = _by(
    {
        "5xx": yes("fp16 and bf16", code=Code.NOTE),
        "2xx 3xx": no(Code.HARDWARE_TOO_OLD, "both fused kernels need the MLU500 series"),
    },
    "fused attention",
).source(f"{_SOURCE}, csrc/aten/operators/cnnl/transformers/sdp_utils.h and sdp_utils.cpp")
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: _TRITON,
    F.TRITON_USABLE: all_of(_TRITON, package("triton").where_recorded()).source(
        "triton README, Compatibility"
    ),
    F.COMPILE_INDUCTOR: undocumented(_NOT_PUBLIC).source(f"{_SOURCE}: nothing of inductor"),
    F.COMPILE_TORCH_COMPILE: undocumented(_NOT_PUBLIC).source(f"{_SOURCE}: nothing of inductor"),
    **NO_DEEPCOMPILE,
    **no_other_toolkits("an MLU", "MLUExtension"),
    F.BUILD_DRIVER: torch_runs().otherwise(
        unknown(
            Code.NOT_OBSERVED,
            "torch_mlu cannot use the device, and nothing tells which driver CNToolkit needs",
        )
    ).source(f"{_SOURCE}, README"),
    F.BUILD_KERNEL_IMAGE: undocumented(
        "for which cards the kernels of the package are built is not told"
    ).source(f"{_SOURCE}, README"),
    F.ATTENTION_SDPA: all_of(ON_A_DEVICE, torch("2.1")).source(
        f"{_SOURCE}, csrc/aten/operators/cnnl/transformers/attention.cpp"
    ),
    F.ATTENTION_FLASH_ATTENTION: _FUSED,
    F.ATTENTION_MEM_EFFICIENT: _FUSED,
    **CUDA_KERNELS,
    F.ATTENTION_PAGED: undocumented(
        "Cambricon's vLLM is delivered without public documents"
    ).source(_SOURCE),
    F.OP_GROUPED_MM: undocumented(_NOT_PUBLIC).source(f"{_SOURCE}: no torch._grouped_mm"),
}  # fmt: skip


class Mlu(Accelerator):
    """Cambricon MLUs with CNToolkit."""

    name = "mlu"
    title = "Cambricon MLU"
    seen_by = DeviceSource(
        torch_type="mlu",
        module="torch_mlu",
        pci=(("0xcabc", "0x12"),),
        nodes=("cambricon_dev[0-9]*",),
        visibility=("MLU_VISIBLE_DEVICES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **_DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(
            _DS_MLU,
            bf16=F.DTYPE_BF16, fp16_note=": always true", bf16_note=": torch_mlu's answer",
        ),
        **device_limits(
            "mlu", _SEEN,
            runtime=unknown(Code.NOT_OBSERVED, "CNToolkit's version is not looked for").source(
                f"{_SOURCE}, utils/collect_env.py"
            ),
            comm=unknown(Code.NOT_OBSERVED, "CNCL comes with CNToolkit, not looked for").source(
                f"{_SOURCE}, utils/collect_env.py, cncl_runtime_version"
            ),
        ),
    }  # fmt: skip
