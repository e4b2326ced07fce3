"""ZeRO stages: no accelerator declares them, they follow from device, runtime and collectives.

What each stage uses is read from DeepSpeed 0.19.8: runtime/zero/stage_1_and_2.py, stage3.py,
partition_parameters.py and comm/torch.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.rules import Rule, all_of, any_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["DERIVED"]

_ORDERING = any_of(F.DEVICE_SYNCHRONOUS, F.RUNTIME_STREAMS)
_GATHERING = any_of(F.COMM_ALL_GATHER_INTO_TENSOR, F.COMM_ALL_GATHER)
_STAGE_1_AND_2 = all_of(
    F.DEVICE_AVAILABLE,
    _ORDERING,
    F.COMM_ALL_REDUCE,
    F.COMM_REDUCE,
    F.COMM_BROADCAST,
    F.COMM_BARRIER,
    _GATHERING,
).source("DeepSpeed 0.19.8, runtime/zero/stage_1_and_2.py: what it calls")

DERIVED: Mapping[Feature, Rule] = {
    F.ZERO_1: _STAGE_1_AND_2,
    F.ZERO_2: _STAGE_1_AND_2,
    F.ZERO_3: all_of(
        F.DEVICE_AVAILABLE,
        _ORDERING,
        F.COMM_ALL_REDUCE,
        F.COMM_BROADCAST,
        F.COMM_REDUCE_SCATTER_TENSOR,
        _GATHERING,
    ).source("DeepSpeed 0.19.8, runtime/zero/stage3.py, partition_parameters.py: what they call"),
}
