"""Whether the host waits for the device: told by the time that a call takes, and its end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running.device import WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]

_LONG_ENOUGH = 0.02
"""Seconds of work that starting it does not decide."""


def _call_and_end(device: Device, work: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds until the calls come back, and until the work is done."""
    device.synchronize()
    begun = time.perf_counter()
    work()
    called = time.perf_counter() - begun
    device.synchronize()
    return called, time.perf_counter() - begun


def _synchronous(device: Device) -> dict[str, Any]:
    """A call comes back when its work is done: waiting afterwards takes no time."""
    a = device.put((device.normal(1024, 1024) / 32).float())
    rounds = 1
    while True:

        def work(rounds: int = rounds) -> None:
            found = a
            for _ in range(rounds):
                found = found @ a

        work()
        called, ended = _call_and_end(device, work)
        if ended > _LONG_ENOUGH or rounds > 4096:
            break
        rounds *= 4
    if called < 0.9 * ended:
        raise NotImplementedError(
            f"calls come back after {called * 1000:.3g} ms, and the work ends after "
            f"{ended * 1000:.3g} ms"
        )
    return {"text": f"{rounds} products: all of their {ended * 1000:.3g} ms in the calls"}


def _async_copy(device: Device) -> dict[str, Any]:
    """A copy from pinned memory comes back before it has ended, and is right when it has."""
    host = device.normal(1 << 24).float().pin_memory()  # 64 MiB
    there = torch.empty(host.shape, device=device.name)
    there.copy_(host, non_blocking=True)
    device.synchronize()
    there.zero_()
    called, ended = _call_and_end(device, lambda: there.copy_(host, non_blocking=True))
    device.same(there, host.clone(), "what was copied")
    if called > 0.5 * ended:
        raise WrongResultError(
            f"the copy comes back after {called * 1000:.3g} of {ended * 1000:.3g} ms: the host "
            "waits for it"
        )
    return {"text": f"back after {called * 1000:.3g} of {ended * 1000:.3g} ms"}


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.DEVICE_SYNCHRONOUS: _synchronous,
    F.DEVICE_HOST_TIMERS: _synchronous,
    F.MEMORY_ASYNC_COPY: _async_copy,
}
