"""DeepSpeed's ops for the host: files, locked pages, and reducing over shared memory."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from accelcaps import features as F
from accelcaps.checks.running.deepspeed import builder
from accelcaps.checks.running.device import Device, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["EXERCISES"]

_BYTES = 1 << 20


def _async_io(device: Device) -> dict[str, str]:
    """Write a file and read it back, at once and asynchronously, several blocks at a time."""
    op = builder(device, "async_io").load(verbose=False)
    handle = op.aio_handle(128 << 10, 8, False, False, 1)
    host = device.integers(0, 256, _BYTES).to(torch.uint8)
    with tempfile.TemporaryDirectory(prefix="accelcaps-", dir=".") as folder:
        name = str(Path(folder, "swap").resolve())
        for wait in (False, True):
            written = handle.new_cpu_locked_tensor(_BYTES, torch.empty(0, dtype=torch.uint8))
            written.copy_(host)
            if wait:
                handle.async_pwrite(written, name)
                handle.wait()
            else:
                handle.sync_pwrite(written, name)
            if Path(name).read_bytes() != host.numpy().tobytes():
                raise WrongResultError("the file does not hold what was written")
            read = handle.new_cpu_locked_tensor(_BYTES, torch.empty(0, dtype=torch.uint8))
            read.fill_(int(host[0]) ^ 255)
            if wait:
                handle.async_pread(read, name)
                handle.wait()
            else:
                handle.sync_pread(read, name)
            device.same(read.clone(), host, "what was read")
            Path(name).unlink()
    return {"text": f"{_BYTES >> 10} KiB written and read, twice"}


def _locked_bytes() -> int:
    """Return how many bytes this process has locked, as the kernel counts them."""
    found = re.search(r"^VmLck:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def _pin_memory(device: Device) -> dict[str, str]:
    """Allocate by the op, use the memory, and see that the kernel has locked it."""
    op = builder(device, "pin_memory").load(verbose=False)
    handle = op.pin_handle()
    before = _locked_bytes() if Path("/proc/self/status").exists() else None
    host = device.normal(_BYTES // 4).float()
    pinned = handle.new_cpu_locked_tensor(host.numel(), torch.empty(0, dtype=torch.float32))
    pinned.copy_(host)
    device.same(pinned.clone(), host, "what was written to it")
    if not handle.is_pinned(pinned):
        raise WrongResultError("the op says that its own memory is not pinned")
    if before is None:
        return {}
    locked = _locked_bytes() - before
    if locked < _BYTES:
        raise WrongResultError(f"of {_BYTES} bytes, the kernel has locked {locked}")
    if not handle.free_cpu_locked_tensor(pinned):
        raise WrongResultError("the op does not free what it allocated")
    return {"text": f"{locked >> 10} KiB locked, as the kernel counts"}


def reduce_over_shared_memory(rank: int, seed: int, spec: dict[str, Any], folder: str) -> None:
    """Be one of two ranks: reduce by the op, compare, and say so in a file."""
    os.environ |= {"LOCAL_SIZE": "2", "MASTER_ADDR": f"accelcaps-{seed}", "MASTER_PORT": "0"}
    device = Device.open({**spec, "rank": rank, "ranks": 2})
    op = builder(device, "deepspeed_shm_comm").load(verbose=False)
    op.initialize(2, rank)
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.bfloat16, 0.02)):
        for size in (64, 4096):
            both = [device.normal(size).to(dtype) for _ in range(2)]
            found = both[rank].clone()
            torch.ops.deepspeed.inference_all_reduce_(found)
            device.agree(found, both[0].double() + both[1].double(), tolerance, f"a sum in {dtype}")
    Path(folder, f"right-{rank}").touch()


def _shared_memory(device: Device) -> dict[str, str]:
    """Build once, then let two processes add what they have."""
    import torch.multiprocessing as multiprocessing

    builder(device, "deepspeed_shm_comm").load(verbose=False)
    seed = int(device.spec["seed"])
    folder = device.spec["scratch"]
    arguments = (seed, dict(device.spec), folder)
    multiprocessing.spawn(reduce_over_shared_memory, arguments, nprocs=2)
    missing = [rank for rank in range(2) if not Path(folder, f"right-{rank}").exists()]
    if missing:
        raise RuntimeError(f"rank {missing[0]} ended before it had compared its sum")
    return {"text": "two ranks, in fp32 and bf16"}


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.OP_ASYNC_IO: _async_io,
    F.OP_PIN_MEMORY: _pin_memory,
    F.MEMORY_PINNED_HOST_NATIVE: _pin_memory,
    F.OP_DEEPSPEED_SHM_COMM: _shared_memory,
}
