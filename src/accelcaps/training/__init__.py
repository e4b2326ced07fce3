"""What follows on every accelerator alike, from its other features; no accelerator declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps.training.inference import INFERENCE
from accelcaps.training.optimizers import OPTIMIZERS
from accelcaps.training.parallel import PARALLEL
from accelcaps.training.zero import OFFLOAD, ZERO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature
    from accelcaps.rules import Rule

__all__ = ["DERIVED"]

DERIVED: Mapping[Feature, Rule] = {**ZERO, **OFFLOAD, **OPTIMIZERS, **PARALLEL, **INFERENCE}
