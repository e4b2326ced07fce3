"""What follows on every accelerator alike, from its other features; no accelerator declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.rules import all_of
from accelcaps.training.inference import INFERENCE
from accelcaps.training.optimizers import OPTIMIZERS
from accelcaps.training.parallel import PARALLEL
from accelcaps.training.starting import STARTS
from accelcaps.training.zero import OFFLOAD, ZERO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature
    from accelcaps.rules import Rule

__all__ = ["DERIVED"]

_BY_TORCH = (F.PARALLEL_DATA, F.PARALLEL_FSDP, F.PARALLEL_FSDP2)
_INITIALISED = {
    feature: rule if feature in _BY_TORCH else all_of(rule, STARTS)
    for feature, rule in {**ZERO, **OFFLOAD, **OPTIMIZERS, **PARALLEL}.items()
}
"""What a training engine does, which starts by initialising DeepSpeed's communication."""
DERIVED: Mapping[Feature, Rule] = {**_INITIALISED, **INFERENCE}
