"""Tell native from emulated: time a product beside the same product in fp32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from accelcaps.checks.exercise import Speed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["beside_fp32", "told_by"]

_SMALLEST, _LARGEST = 512, 8192
_LONG_ENOUGH = 2e-3
"""Seconds of a product in fp32 that starting it does not decide."""
_AT_MOST = 3.0
"""Seconds that timing may take."""
_ROUNDS = 7

# A ratio to fp32 up to which the hardware must have units for the type, and from which on it
# cannot have them. Units for fewer bits are at least as fast as those for fp32, and software that
# goes through fp32 is slower; fp64 has half the rate of fp32 where it has units, 1/32 to 1/64 where
# it has few; a complex product is four real ones; products of 8-bit integers without units for them
# are still up to twice as fast as fp32. In between, timing does not tell.
_BOUNDS = {
    "float64": (4.0, 8.0), "complex64": (6.0, 16.0), "complex128": (12.0, 32.0),
    "int8": (0.3, 2.0),
}  # fmt: skip
_NARROW = (0.6, 2.0)


def beside_fp32(
    device: Device, name: str, product: Callable[[int], Callable[[], Any]]
) -> Mapping[str, Any]:
    """Return ``ratio`` (best time / best time of fp32, taken in turns) and ``speed``.

    Args:
        device: where to compute.
        name: torch's name of the type.
        product: given n, returns what multiplies two n × n matrices.
    """
    n, fp32 = _SMALLEST, _fp32(device, _SMALLEST)
    while min(device.seconds(fp32) for _ in range(3)) < _LONG_ENOUGH and n < _LARGEST:
        n *= 2
        fp32 = _fp32(device, n)
    other = product(n)
    spent = device.seconds(other)  # once unmeasured: it may set up
    ours, theirs = [], []
    for _ in range(_ROUNDS):
        theirs.append(device.seconds(fp32))
        ours.append(device.seconds(other))
        spent += theirs[-1] + ours[-1]
        if spent > _AT_MOST:
            break
    ratio = min(ours) / min(theirs)
    return {"ratio": round(ratio, 3), "n": n, "speed": told_by(name, ratio, device.spec)}


def told_by(name: str, ratio: float, spec: Mapping[str, Any]) -> Speed:
    """Return what a ratio tells of a type; nothing where other hardware computes."""
    if spec.get("simulated"):
        return Speed.NOT_TOLD
    fast, slow = _BOUNDS.get(name, _NARROW)
    if ratio <= fast:
        return Speed.HARDWARE
    return Speed.SLOW if ratio >= slow else Speed.NOT_TOLD


def _fp32(device: Device, n: int) -> Callable[[], Any]:
    a, b = (device.put(device.normal(n, n).float()) for _ in "ab")
    return lambda: torch.mm(a, b)
