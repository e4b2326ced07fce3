"""ZeRO: no accelerator declares it, it follows from device, runtime and collectives.

What each stage uses is read from DeepSpeed 0.19.8: runtime/zero/stage_1_and_2.py, stage3.py,
partition_parameters.py and comm/torch.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import (
    AVAILABLE,
    deepspeed,
    only_on,
    package,
    removed_from_deepspeed,
    torch,
)
from accelcaps.rules import Rule, all_of, any_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["OFFLOAD", "ZERO"]

_DS = "DeepSpeed 0.19.8"
_ORDERING = any_of(F.DEVICE_SYNCHRONOUS, F.RUNTIME_STREAMS)
_GATHERING = any_of(F.COMM_ALL_GATHER_INTO_TENSOR, F.COMM_ALL_GATHER)
_STAGE_1_AND_2 = all_of(
    AVAILABLE,
    _ORDERING,
    F.COMM_ALL_REDUCE,
    F.COMM_REDUCE,
    F.COMM_BROADCAST,
    F.COMM_BARRIER,
    _GATHERING,
).source(f"{_DS}, runtime/zero/stage_1_and_2.py: what it calls")
_PSUTIL = package("psutil").where_recorded()

ZERO: Mapping[Feature, Rule] = {
    F.ZERO_1: _STAGE_1_AND_2,
    F.ZERO_2: _STAGE_1_AND_2,
    F.ZERO_3: all_of(
        AVAILABLE,
        _ORDERING,
        F.COMM_ALL_REDUCE,
        F.COMM_BROADCAST,
        F.COMM_REDUCE_SCATTER_TENSOR,
        _GATHERING,
    ).source(f"{_DS}, runtime/zero/stage3.py, partition_parameters.py: what they call"),
    F.ZERO_3_HPZ: all_of(F.ZERO_3, F.COMM_NEW_GROUP, deepspeed("0.10")).source(
        f"{_DS}, utils/groups.py and runtime/zero/partition_parameters.py; release 0.10 (ZeRO++)"
    ),
    F.ZERO_QUANTIZED_WEIGHTS: all_of(
        F.ZERO_3, F.OP_QUANTIZER, any_of(F.DTYPE_BF16, F.DTYPE_FP16), deepspeed("0.10")
    ).source(f"{_DS}, runtime/zero/partition_parameters.py, CUDAQuantizer"),
    F.ZERO_QUANTIZED_GRADIENTS: all_of(
        F.ZERO_3, F.OP_QUANTIZER, F.COMM_ALL_TO_ALL_SINGLE, F.COMM_NEW_GROUP, deepspeed("0.10")
    ).source(f"{_DS}, runtime/comm/coalesced_collectives.py"),
    F.ZERO_MICS: removed_from_deepspeed("0.19.8", "use zero_hpz_partition_size")
    .then(all_of(F.ZERO_3, F.COMM_COALESCING, F.COMM_NEW_GROUP))
    .source("DeepSpeed 0.19.6, runtime/zero/mics.py"),
    F.ZERO_SUPEROFFLOAD: only_on(
        "cuda", "rocm", because="DeepSpeed asserts that the accelerator is called cuda"
    )
    .then(all_of(F.ZERO_3, F.OFFLOAD_OPTIMIZER_CPU, deepspeed("0.18"), _PSUTIL))
    .source(f"{_DS}, runtime/superoffload/superoffload_stage3.py"),
    F.ZERO_ZENFLOW: all_of(
        F.OFFLOAD_OPTIMIZER_CPU, F.RUNTIME_STREAMS, torch("2.1"), deepspeed("0.17.5"), _PSUTIL
    ).source(f"{_DS}, runtime/zenflow/engine.py and zenflow_stage_1_and_2.py"),
}

_SWAPPING = all_of(F.ZERO_3, F.OP_ASYNC_IO, F.HOST_O_DIRECT)
OFFLOAD: Mapping[Feature, Rule] = {
    F.OFFLOAD_OPTIMIZER_CPU: all_of(F.ZERO_1, F.OP_CPU_ADAM).source(
        f"{_DS}, runtime/engine.py, _configure_basic_optimizer"
    ),
    F.OFFLOAD_OPTIMIZER_NVME: all_of(_SWAPPING, F.OP_CPU_ADAM).source(
        f"{_DS}, runtime/swap_tensor/partitioned_optimizer_swapper.py; stages 1 and 2 keep it in "
        "host memory (stage_1_and_2.py)"
    ),
    F.OFFLOAD_PARAM_CPU: all_of(F.ZERO_3).source(f"{_DS}, runtime/zero/stage3.py"),
    F.OFFLOAD_PARAM_NVME: _SWAPPING.source(
        f"{_DS}, runtime/swap_tensor/partitioned_param_swapper.py"
    ),
    F.OFFLOAD_GDS: only_on(
        "cuda",
        because="DeepSpeed asserts that the accelerator is called cuda, and its gds builder "
        "refuses ROCm",
    )
    .then(all_of(F.ZERO_3, F.OP_GDS))
    .source(f"{_DS}, runtime/swap_tensor/aio_config.py and ops/op_builder/gds.py"),
}
