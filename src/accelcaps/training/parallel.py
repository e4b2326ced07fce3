"""``parallel.*``: ways to spread a model over ranks, from the collectives each one calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import AVAILABLE, deepspeed, package, torch
from accelcaps.rules import Rule, all_of, any_of, as_rule, degraded
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["PARALLEL"]

_DS = "DeepSpeed 0.19.8"
_SHARDING = (
    AVAILABLE, F.COMM_ALL_GATHER_INTO_TENSOR, F.COMM_REDUCE_SCATTER_TENSOR,
    F.COMM_BROADCAST,
)  # fmt: skip
_EINOPS = package("einops").where_recorded()

PARALLEL: Mapping[Feature, Rule] = {
    F.PARALLEL_DATA: all_of(AVAILABLE, F.COMM_ALL_REDUCE, F.COMM_BROADCAST).source(
        "PyTorch 2.13, torch/nn/parallel/distributed.py"
    ),
    F.PARALLEL_PIPELINE: all_of(
        AVAILABLE, F.COMM_SEND_RECV, F.COMM_BROADCAST, F.COMM_NEW_GROUP, deepspeed(),
        package("msgpack").where_recorded(),
    ).source(f"{_DS}, runtime/pipe/p2p.py"),
    F.PARALLEL_TENSOR: all_of(
        AVAILABLE, F.COMM_ALL_REDUCE, F.COMM_ALL_GATHER_INTO_TENSOR, F.COMM_BROADCAST,
        deepspeed("0.16.4"),
    ).source(f"{_DS}, module_inject/layers.py; training with it since 0.16.4"),
    F.PARALLEL_SEQUENCE: all_of(
        AVAILABLE, F.COMM_ALL_TO_ALL_SINGLE, F.COMM_ALL_GATHER, deepspeed("0.10.2"),
        _EINOPS,
    ).source(f"{_DS}, sequence/layer.py"),
    F.PARALLEL_FPDT: all_of(
        F.PARALLEL_SEQUENCE, F.ATTENTION_FLASH_ATTN_PACKAGE, F.RUNTIME_STREAMS,
        deepspeed("0.16.3"),
    ).source(f"{_DS}, sequence/fpdt_layer.py (flash-attn 2.5 or newer)"),
    F.PARALLEL_MOE: all_of(
        AVAILABLE, F.COMM_ALL_TO_ALL_SINGLE, F.COMM_ALL_REDUCE, deepspeed()
    ).source(f"{_DS}, moe/sharded_moe.py"),
    F.PARALLEL_AUTOEP: all_of(
        F.PARALLEL_MOE, any_of(F.OP_GROUPED_MM, F.TRITON_USABLE), deepspeed("0.19.2")
    ).source(f"{_DS}, module_inject/auto_ep.py and moe/ep_experts.py"),
    F.PARALLEL_DOMINO: all_of(
        AVAILABLE, F.COMM_ALL_REDUCE, F.ATTENTION_SDPA, deepspeed("0.16"),
        as_rule(F.DEVICE_SYNCHRONOUS).then(
            degraded(Code.LIMITED, "on a synchronous device nothing overlaps")
        ).otherwise(F.RUNTIME_STREAMS),
    ).source(f"{_DS}, runtime/domino/transformer.py"),
    F.PARALLEL_FSDP: all_of(*_SHARDING, torch("1.12")).source(
        "PyTorch 2.13, torch/distributed/fsdp/fully_sharded_data_parallel.py"
    ),
    F.PARALLEL_FSDP2: all_of(*_SHARDING, torch("2.6"), F.COMM_DEVICE_MESH).source(
        "PyTorch 2.13, torch/distributed/fsdp/_fully_shard (public since 2.6)"
    ),
}  # fmt: skip
