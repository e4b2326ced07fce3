"""Whether the device is there and computes at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]


def _sum(device: Device) -> dict[str, float]:
    """Add two tensors, by one of the framework's own kernels."""
    a, b = device.normal(257).float(), device.normal(257).float()
    found = device.put(a) + device.put(b)
    return {"error": device.agree(found, a.double() + b.double(), 1e-6, "a sum")}


EXERCISES: Mapping[str, Callable[[Device], object]] = {
    F.DEVICE_AVAILABLE: _sum,
    F.BUILD_KERNEL_IMAGE: _sum,
    F.BUILD_DRIVER: _sum,
}
