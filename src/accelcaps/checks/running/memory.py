"""Memory: pinned, counted, shared with another process, reached from another device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running.device import NotTriedError, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]

_MEGABYTES = 32


def _pinned(device: Device) -> None:
    """Pin host memory, copy from it without waiting, and back into other pinned memory."""
    host = device.normal(1 << 16).float()
    pinned = host.pin_memory()
    if not pinned.is_pinned():
        raise WrongResultError("what was pinned says that it is not")
    if device.kind == "cpu":
        raise NotTriedError("the CPU copies nothing from it: pinned memory is its own already")
    there = torch.full_like(host, float("nan"), device=device.name)
    there.copy_(pinned, non_blocking=True)
    back = torch.full_like(host, float("nan")).pin_memory()
    back.copy_(there, non_blocking=True)
    device.synchronize()
    device.same(back, host, "what came back")


def _stats(device: Device) -> dict[str, str]:
    """The numbers follow an allocation and its end."""
    module = device.module
    if not hasattr(module, "memory_allocated") and hasattr(module, "current_allocated_memory"):
        return _allocated_only(device)
    size = _MEGABYTES << 20
    before = int(module.memory_allocated())
    module.reset_peak_memory_stats()
    block = torch.empty(size, dtype=torch.uint8, device=device.name)
    during, reserved = int(module.memory_allocated()), int(module.memory_reserved())
    del block
    after, peak = int(module.memory_allocated()), int(module.max_memory_allocated())
    if during - before < size or after >= during or peak < during or reserved < during:
        raise WrongResultError(
            f"with {size} bytes allocated: {before} before, {during} during (reserved {reserved}), "
            f"{after} after, {peak} at most"
        )
    return {"text": f"{_MEGABYTES} MiB were counted and freed"}


def _allocated_only(device: Device) -> dict[str, str]:
    """As MPS tells it: what is allocated, without peaks."""
    size = _MEGABYTES << 20
    before = int(device.module.current_allocated_memory())
    block = torch.empty(size, dtype=torch.uint8, device=device.name)
    during = int(device.module.current_allocated_memory())
    del block
    if during - before < size:
        raise WrongResultError(f"with {size} bytes allocated: {before} before, {during} during")
    return {"text": f"{_MEGABYTES} MiB were counted"}


def _peer(device: Device) -> dict[str, str]:
    """Each device reads each other's memory, and says that it can do so directly."""
    count = int(device.module.device_count())
    if count < 2:
        raise NotTriedError("a second device is needed")
    host = device.normal(4096).float()
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    for a, b in pairs:
        if not device.module.can_device_access_peer(a, b):
            raise NotImplementedError(f"device {a} cannot reach the memory of device {b}")
        there = host.to(f"{device.kind}:{b}").to(f"{device.kind}:{a}")
        device.same(there, host, f"what came from device {b} to device {a}")
    return {"text": f"{len(pairs)} pairs"}


def double_in_place(shared: torch.Tensor, done: Any) -> None:
    """Be the other process: change the shared memory."""
    shared.mul_(2)
    getattr(getattr(torch, shared.device.type), "synchronize", lambda: None)()
    done.set()


def _ipc(device: Device) -> None:
    """Another process changes memory of the device in place, and it is seen here."""
    import torch.multiprocessing as multiprocessing

    host = device.normal(1024).float()
    there = device.put(host)
    if device.kind == "cpu":
        there.share_memory_()
    context = multiprocessing.get_context("spawn")
    done = context.Event()
    other = context.Process(target=double_in_place, args=(there, done))
    other.start()
    other.join()
    if other.exitcode != 0 or not done.is_set():
        raise RuntimeError(f"the other process ended with status {other.exitcode}")
    device.same(there, host * 2, "what the other process wrote")


def _unified(device: Device) -> None:
    """The host writes where the device reads, without a copy."""
    if device.kind != "cpu":
        raise NotTriedError("torch gives no memory that is addressable from both")
    host = device.normal(256)
    there = torch.zeros(256, dtype=torch.float64)
    there.numpy()[:] = host.numpy()
    device.agree(there + 0, host, 0.0, "what the host wrote")


def _expandable(device: Device) -> None:
    """With the setting, a segment grows in place."""
    with device.by_torch():
        memory = device.module.memory
        memory._set_allocator_settings("expandable_segments:True")
        snapshot = memory.memory_snapshot
    blocks = [torch.empty(n << 20, dtype=torch.uint8, device=device.name) for n in (4, 64, 128)]
    segments = snapshot()
    if not any(segment.get("is_expandable") for segment in segments):
        raise NotImplementedError(f"none of {len(segments)} segments is expandable")
    del blocks


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.MEMORY_PINNED_HOST: _pinned,
    F.MEMORY_STATS: _stats,
    F.MEMORY_PEER_ACCESS: _peer,
    F.MEMORY_IPC: _ipc,
    F.MEMORY_UNIFIED: _unified,
    F.MEMORY_EXPANDABLE_SEGMENTS: _expandable,
}
