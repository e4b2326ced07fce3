"""``optimizer.*``: what the installed DeepSpeed takes, and what it uses here.

Read from DeepSpeed 0.19.8, runtime/engine.py, ``_configure_basic_optimizer``, and for what that
release removed from 0.18.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import (
    AVAILABLE,
    deepspeed,
    package,
    removed_from_deepspeed,
)
from accelcaps.rules import Rule, all_of, any_of, as_rule, degraded
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["OPTIMIZERS"]

_ENGINE = "DeepSpeed 0.19.8, runtime/engine.py, _configure_basic_optimizer"
_ADAM = all_of(
    AVAILABLE,
    deepspeed(),
    as_rule(F.OP_FUSED_ADAM).otherwise(
        degraded(
            Code.LIMITED, "only torch's Adam: without the op DeepSpeed's does not load"
        ).remedy("set optimizer.params.torch_adam to true in the DeepSpeed configuration")
    ),
).source(_ENGINE)
_ONE_BIT = (
    removed_from_deepspeed("0.19.8", "use Adam or Lamb")
    .then(
        all_of(
            AVAILABLE,
            F.COMM_ALL_REDUCE,
            any_of(
                package("cupy", "cupy-cuda12x", "cupy-cuda13x", "cupy-cuda11x"), package("mpi4py")
            ),
        )
    )
    .source("DeepSpeed 0.18.9, runtime/fp16/onebit/ and runtime/comm/ (cupy or mpi4py)")
)

OPTIMIZERS: Mapping[Feature, Rule] = {
    F.OPTIMIZER_ADAM: _ADAM,
    F.OPTIMIZER_ADAMW: _ADAM,
    F.OPTIMIZER_FUSED_ADAM: all_of(F.OP_FUSED_ADAM, AVAILABLE).source(_ENGINE),
    F.OPTIMIZER_CPU_ADAM: all_of(F.OP_CPU_ADAM).source(_ENGINE),
    F.OPTIMIZER_ADAGRAD: all_of(AVAILABLE, deepspeed()).source(
        _ENGINE, "without offload it is torch's"
    ),
    F.OPTIMIZER_LION: all_of(
        AVAILABLE,
        as_rule(F.OP_FUSED_LION).otherwise(
            as_rule(F.OP_CPU_LION).then(
                degraded(Code.LIMITED, "only with offload_optimizer.device cpu")
            )
        ),
    ).source(_ENGINE),
    F.OPTIMIZER_LAMB: all_of(AVAILABLE, F.OP_FUSED_LAMB).source(_ENGINE),
    F.OPTIMIZER_MUON: all_of(
        AVAILABLE,
        F.COMM_ALL_GATHER,
        deepspeed("0.17.6"),
    ).source(f"{_ENGINE}; runtime/zero/muon/ since 0.17.6"),
    F.OPTIMIZER_MU_ADAM: all_of(AVAILABLE, deepspeed(), package("mup")).source(_ENGINE),
    F.OPTIMIZER_ONEBIT_ADAM: _ONE_BIT,
    F.OPTIMIZER_ZERO_ONE_ADAM: _ONE_BIT,
    F.OPTIMIZER_ONEBIT_LAMB: _ONE_BIT,
}
