"""Intel Gaudi, by Intel's PyTorch bridge (habana_frameworks.torch) and SynapseAI."""

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
    environment,
    torch,
    undocumented,
    use_instead,
)
from accelcaps.accelerators.rows import (
    CUDA_KERNELS,
    FORK_SAFE,
    NO_DEEPCOMPILE,
    NO_MONITORED_BARRIER,
    deepspeeds_word,
    no_other_toolkits,
    own_backend,
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
    yes,
)
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["Hpu"]

_DS_HPU = "DeepSpeed 0.19.8, accelerator/hpu_accelerator.py"
_SEEN = "the PCI bus (vendor 1da3, class 12); habana_frameworks.torch, asked in a child process"
_GUIDE = "Intel Gaudi documentation"
_MATRIX = f"{_GUIDE}, PyTorch Support Matrix"
_OPERATORS = f"{_GUIDE}, PyTorch Operators: FP32, BF16, FP16 and FP8 of each"
_PRACTICES = f"{_GUIDE}, Best Practices for Model Training with Gaudi"
_WHITE_PAPER = "Intel Gaudi 3 AI Accelerator white paper, table of peak rates of Gaudi 2 and 3"
_NONE = Code.NOT_IMPLEMENTED
_HERE = all_of(ON_A_DEVICE)
# Gaudi's device names, and what its first generation is called.
_GENERATIONS = (("gaudi3", r"GAUDI ?3"), ("gaudi2", r"GAUDI ?2"), ("gaudi1", r"GAUDI\b"))


def _generation(question: Question) -> str | None:
    name = str((question.device or {}).get("name", "")).upper()
    return next((each for each, words in _GENERATIONS if re.search(words, name)), None)


def _by(table: Mapping[str, Rule], what: str) -> Rule:
    return all_of(ON_A_DEVICE, by_kind(_generation, table, what=what))


_FP16 = _by(
    {
        "gaudi2 gaudi3": yes("the matrix engine multiplies fp16"),
        "gaudi1": no(Code.HARDWARE_TOO_OLD, "the first Gaudi has no fp16").remedy(
            use_instead(F.DTYPE_BF16, F.DTYPE_FP32)
        ),
    },
    "fp16",
)
_NO_FP8 = no(Code.HARDWARE_TOO_OLD, "8-bit floats need Gaudi 2").remedy(
    use_instead(F.DTYPE_BF16, F.DTYPE_FP32)
)
_LISTED = "for the operators that Intel lists, by its Fp8 modules and casts"
_E5M2 = _by({"gaudi2 gaudi3": degraded(Code.LIMITED, _LISTED), "gaudi1": _NO_FP8}, "8-bit floats")
_E4M3 = _by(
    {
        "gaudi3": degraded(Code.LIMITED, _LISTED),
        "gaudi2": degraded(Code.LIMITED, f"{_LISTED}; its e4m3 ends at 240, and not at 448"),
        "gaudi1": _NO_FP8,
    },
    "8-bit floats",
)
_NO_FP64 = no(
    _NONE, "double precision and complex types are not supported, or hardly"
).remedy("use fp32, or the CPU").source(_PRACTICES)  # fmt: skip
_NOT_TOLD = undocumented("Intel's tables do not speak of it")
_DTYPES: Mapping[Feature, Rule] = {
    **dict.fromkeys(
        (F.DTYPE_FP64, F.DTYPE_COMPLEX64, F.DTYPE_COMPLEX128, F.DTYPE_FP64_STORAGE,
         F.DTYPE_COMPLEX64_STORAGE, F.DTYPE_COMPLEX128_STORAGE),
        _NO_FP64,
    ),
    F.DTYPE_FP32: _HERE.source(_OPERATORS),
    F.DTYPE_FP32_STORAGE: _HERE.source(_OPERATORS),
    F.DTYPE_TF32: undocumented(
        "the matrix engine has TensorFloat-32, and how fp32 products are made to use it is not told"
    ).source(_WHITE_PAPER),
    F.DTYPE_FP16: _FP16.source(_OPERATORS, f"{_DS_HPU}: htexp._is_fp16_supported()"),
    F.DTYPE_FP16_STORAGE: _FP16.source(_OPERATORS),
    F.DTYPE_BF16: _HERE.source(_OPERATORS, f"{_DS_HPU}, is_bf16_supported"),
    F.DTYPE_BF16_STORAGE: _HERE.source(_OPERATORS),
    F.DTYPE_FP8_E4M3: _E4M3.source(_OPERATORS, f"{_GUIDE}, FP8 Training and Inference"),
    F.DTYPE_FP8_E5M2: _E5M2.source(_OPERATORS, f"{_GUIDE}, FP8 Training and Inference"),
    F.DTYPE_FP8_E4M3_STORAGE: _E4M3.source(_OPERATORS),
    F.DTYPE_FP8_E5M2_STORAGE: _E5M2.source(_OPERATORS),
    **dict.fromkeys(
        (F.DTYPE_FP8_E4M3FNUZ, F.DTYPE_FP8_E5M2FNUZ, F.DTYPE_FP8_E4M3FNUZ_STORAGE,
         F.DTYPE_FP8_E5M2FNUZ_STORAGE, F.DTYPE_MXFP8, F.DTYPE_MXFP4, F.DTYPE_NVFP4),
        _NOT_TOLD.source(_OPERATORS),
    ),
    F.DTYPE_INT8: undocumented("Intel tells of limited operators, and not which products").source(
        f"{_MATRIX}, Data Types: Int8"
    ),
    F.DTYPE_INT8_STORAGE: _HERE.source(f"{_MATRIX}, Data Types: Int8"),
    F.DTYPE_INT4: undocumented(
        "Intel loads 4-bit weights (UINT4) in its own tools; what torch's products do is not told"
    ).source(f"{_GUIDE}, Run Inference Using UINT4"),
    F.DTYPE_FP16_AUTOCAST: all_of(F.DTYPE_FP16).source(
        f"{_GUIDE}, Mixed Precision Training with PyTorch Autocast"
    ),
    F.DTYPE_BF16_AUTOCAST: _HERE.source(
        f"{_GUIDE}, Mixed Precision Training with PyTorch Autocast"
    ),
    F.DTYPE_FP16_GRAD_SCALER: undocumented(
        "Intel trains in bf16, which needs no scaler, and tells of none"
    ).source(f"{_GUIDE}, Mixed Precision Training with PyTorch Autocast"),
}  # fmt: skip


def _mode(wanted: str, usual: str, refused: str) -> Rule:
    """HPU graphs are of the lazy mode; torch.compile with Gaudi's backend is of the other one.

    Args:
        wanted: what PT_HPU_LAZY_MODE must be.
        usual: what is so where it is not set.
        refused: what is so where it is set to the other mode.
    """

    def judge(question: Question) -> Finding:
        mode = environment(question, "PT_HPU_LAZY_MODE")
        evidence = question.facts.evidence
        if mode == wanted:
            reason = Reason(Code.NOTE, f"PT_HPU_LAZY_MODE is {mode}")
            return Finding(Status.YES, evidence, (reason,))
        status, reason = (
            (Status.DEGRADED, Reason(Code.LIMITED, usual))
            if mode is None
            else (Status.NO, Reason(Code.POLICY, f"PT_HPU_LAZY_MODE is {mode}: {refused}"))
        )
        return Finding(status, evidence, (reason,), (f"export PT_HPU_LAZY_MODE={wanted}",))

    return value_of(judge)


_LAZY = _mode(
    "1",
    "only in the lazy mode, which older releases start in and newer ones do not",
    "graphs are captured in the lazy mode only",
)
_EAGER = _mode(
    "0",
    "only outside the lazy mode, which older releases start in",
    "the lazy mode compiles nothing",
)
_PYTHON_API = f"{_GUIDE}, Python APIs (habana_frameworks.torch.hpu)"
_RUNTIME: Mapping[Feature, Rule] = {
    F.DEVICE_AVAILABLE: usable_device(
        "Intel Gaudi", _SEEN, hides="HABANA_VISIBLE_MODULES",
        remedy="install the Intel Gaudi driver (habanalabs) and its PyTorch packages",
    ),
    F.DEVICE_SYNCHRONOUS: no(_NONE, "work is queued, and runs beside the host").source(_DS_HPU),
    F.DEVICE_HOST_TIMERS: no(_NONE, "work is queued, and runs beside the host").source(_DS_HPU),
    F.DEVICE_RESOLVES_DATA_DEPENDENCY: yes("the graph compiler orders the work").source(_DS_HPU),
    F.DEVICE_HANDLES_MEMORY_BACKPRESSURE: yes("the bridge holds back work").source(_DS_HPU),
    F.RUNTIME_STREAMS: _HERE.source(f"{_PYTHON_API}: Stream"),
    F.RUNTIME_STREAM_PRIORITIES: _NOT_TOLD.source(_PYTHON_API),
    F.RUNTIME_EVENTS: _HERE.source(f"{_PYTHON_API}: Event"),
    F.RUNTIME_EVENT_TIMING: _HERE.source(f"{_PYTHON_API}: Event.elapsed_time", _DS_HPU),
    F.RUNTIME_GRAPH_CAPTURE: all_of(ON_A_DEVICE, _LAZY).source(
        f"{_MATRIX}: HPU Graphs", f"{_DS_HPU}, create_graph"
    ),
    F.RUNTIME_RNG_PER_DEVICE: _HERE.source(_DS_HPU, "habana_frameworks.torch.hpu.random"),
    F.RUNTIME_DETERMINISTIC: _HERE.source(f"{_DS_HPU}: torch.use_deterministic_algorithms(True)"),
    F.RUNTIME_PROFILER_RANGES: undocumented(
        "Intel tells of its own profiler, and of no named ranges"
    ).source(f"{_GUIDE}, Profiling with PyTorch; {_DS_HPU}, range_push: nothing"),
    F.RUNTIME_PROFILER_RANGES_DOMAIN: undocumented("Intel tells of no named ranges").source(
        f"{_GUIDE}, Profiling with PyTorch"
    ),
    **FORK_SAFE,
    F.MEMORY_PINNED_HOST: _HERE.source(f"{_GUIDE}, pin_memory of DataLoader; {_DS_HPU}"),
    F.MEMORY_PINNED_HOST_NATIVE: all_of(F.OP_PIN_MEMORY, F.HOST_MEMLOCK).source(
        "DeepSpeed 0.19.8, op_builder/hpu"
    ),
    F.MEMORY_ASYNC_COPY: all_of(F.MEMORY_PINNED_HOST).source(
        f"{_PRACTICES}: pin_memory and non_blocking copies"
    ),
    F.MEMORY_STATS: _HERE.source(f"{_PYTHON_API}: memory_stats", _DS_HPU),
    **dict.fromkeys(
        (F.MEMORY_UNIFIED, F.MEMORY_PEER_ACCESS, F.MEMORY_EXPANDABLE_SEGMENTS, F.MEMORY_IPC),
        _NOT_TOLD.source(_PYTHON_API),
    ),
}  # fmt: skip

_HCCL = "HabanaAI, python_packages/habana_frameworks, process_group_hccl: hcclOp and types"
_ON_HCCL = all_of(F.COMM_BACKEND)
_NO_AVG = no(_NONE, "HCCL has sum, prod, max and min: the bridge refuses others").remedy(
    "use SUM, and divide"
)


def _collectives() -> Mapping[Feature, Rule]:
    rules = dict(every_collective(_ON_HCCL.source(f"{_GUIDE}, Distributed Training, HCCL")))
    for feature in rules:
        plain, _, aspect = feature.rpartition(".")
        reduces = plain.startswith(("comm.reduce", "comm.all_reduce"))
        if aspect == "bf16":
            rules[feature] = all_of(plain).source(_HCCL)
        elif aspect == "fp16" and reduces:
            rules[feature] = undocumented(
                "the bridge reduces fp32 and bf16; what becomes of fp16 differs by release"
            ).source(f"{_HCCL}: is_valid_reduction_dtype")
        elif aspect == "fp16":
            rules[feature] = all_of(plain, F.DTYPE_FP16_STORAGE).source(_HCCL)
        elif aspect == "fp8":
            rules[feature] = _NOT_TOLD.source(_HCCL)
    for feature in (F.COMM_ALL_REDUCE_AVG, F.COMM_REDUCE_SCATTER_AVG,
                    F.COMM_REDUCE_SCATTER_TENSOR_AVG, F.COMM_ALL_REDUCE_PREMUL_SUM):  # fmt: skip
        rules[feature] = _NO_AVG.source(_HCCL)
    rules.update(NO_MONITORED_BARRIER)
    rules[F.COMM_COALESCING] = undocumented("Intel does not tell of coalesced groups").source(_HCCL)
    return rules


_COMM: Mapping[Feature, Rule] = {
    **_collectives(),
    **own_backend(
        "hccl",
        f"{_GUIDE}, Distributed Training: import habana_frameworks.torch.distributed.hccl", _DS_HPU,
    ),
    F.COMM_SYMMETRIC_MEMORY: _NOT_TOLD.source(_PYTHON_API),
    F.COMM_GPU_DIRECT_RDMA: undocumented(
        "Gaudi has network ports of its own, and nothing here tells whether they are connected"
    ).source(f"{_GUIDE}, Scale-Out via Host NIC and Gaudi NICs"),
}  # fmt: skip

_NO_TRITON = no(Code.HARDWARE_UNSUPPORTED, "triton has no backend for Gaudi").source(
    "triton README, Compatibility; DeepSpeed 0.19.8, hpu_accelerator.py, is_triton_supported"
)
_OWN_KERNEL = no(_NONE, "Gaudi has a kernel of its own (FusedSDPA) instead").source(
    f"{_GUIDE}, Using Fused Scaled Dot Product Attention (FusedSDPA)"
)
_COMPILING: Mapping[Feature, Rule] = {
    F.TRITON_DEVICE: _NO_TRITON,
    F.TRITON_USABLE: _NO_TRITON,
    F.COMPILE_INDUCTOR: no(_NONE, "torch.compile works with backend='hpu_backend' only")
    .remedy("torch.compile(backend='hpu_backend')")
    .source(f"{_MATRIX}: torch.compile(backend=\"inductor\")"),
    F.COMPILE_TORCH_COMPILE: all_of(ON_A_DEVICE, _EAGER).source(
        f"{_MATRIX}: torch.compile(backend=\"hpu_backend\")", f"{_DS_HPU}, get_compile_backend"
    ),
    **NO_DEEPCOMPILE,
    **no_other_toolkits("Gaudi"),
    F.BUILD_DRIVER: torch_runs().otherwise(
        unknown(
            Code.NOT_OBSERVED,
            "the bridge cannot use the device, and the driver must be of the release that it is of",
        )
    ).source(f"{_GUIDE}, Support Matrix: driver, SynapseAI and PyTorch of one release"),
    F.BUILD_KERNEL_IMAGE: ON_A_DEVICE.then(
        yes("the graph compiler makes the kernels for its device")
    ).source(f"{_GUIDE}, PyTorch Gaudi Theory of Operations"),
    F.ATTENTION_SDPA: all_of(ON_A_DEVICE, torch("2.0")).source(
        f"{_OPERATORS}: scaled_dot_product_attention"
    ),
    F.ATTENTION_FLASH_ATTENTION: _OWN_KERNEL,
    F.ATTENTION_MEM_EFFICIENT: _OWN_KERNEL,
    **CUDA_KERNELS,
    F.ATTENTION_PAGED: undocumented(
        "Intel's vLLM has one; no package that is looked for here does"
    ).source("HabanaAI/vllm-hpu-extension README"),
    F.OP_GROUPED_MM: _NOT_TOLD.source(_OPERATORS),
}  # fmt: skip


class Hpu(Accelerator):
    """Intel Gaudi with SynapseAI."""

    name = "hpu"
    title = "Intel Gaudi"
    seen_by = DeviceSource(
        torch_type="hpu",
        module="habana_frameworks.torch",
        pci=(("0x1da3", "0x12"),),
        visibility=("HABANA_VISIBLE_MODULES",),
    )
    capabilities: ClassVar[Mapping[Feature, Rule]] = {
        **BUILD, **HOST, **_DTYPES, **_RUNTIME, **_COMM, **_COMPILING,
        **deepspeeds_word(
            _DS_HPU,
            fp16=F.DTYPE_FP16, fp16_note=": the bridge's answer", bf16_note=": always true",
        ),
        **device_limits(
            "hpu", _SEEN,
            runtime=unknown(Code.NOT_OBSERVED, "SynapseAI's version is not looked for").source(
                f"{_GUIDE}, Support Matrix"
            ),
            comm=unknown(Code.NOT_OBSERVED, "HCCL comes with SynapseAI, not looked for").source(
                f"{_GUIDE}, Distributed Training, HCCL"
            ),
        ),
    }  # fmt: skip
