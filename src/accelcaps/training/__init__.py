"""What follows from other features, on every accelerator alike."""

from accelcaps.training.zero import DERIVED

__all__ = ["DERIVED"]
