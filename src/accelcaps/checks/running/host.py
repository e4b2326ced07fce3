"""The host: files past the page cache, shared and locked memory, starting ranks."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps import features as F
from accelcaps.checks.running.device import NotTriedError, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]

_BLOCK = 4096
_SHARED = 512 << 20
"""Bytes of /dev/shm that NCCL and data loaders are taken to need, as in the rule."""
_LOCKED = 1 << 30
"""Bytes that must be lockable, as in the rule."""


def _o_direct(device: Device) -> None:
    """Write and read a block of a file in the working folder with O_DIRECT."""
    if not hasattr(os, "O_DIRECT"):
        raise OSError("this system has no O_DIRECT")
    block = mmap.mmap(-1, _BLOCK)  # aligned to a page, as O_DIRECT wants it
    data = os.urandom(_BLOCK)
    with tempfile.TemporaryDirectory(prefix="accelcaps-", dir=".") as folder:
        name = Path(folder, "block")
        for flags, use in ((os.O_WRONLY | os.O_CREAT, os.writev), (os.O_RDONLY, os.readv)):
            block[:] = data if use is os.writev else bytes(_BLOCK)
            file = os.open(name, flags | os.O_DIRECT)
            try:
                use(file, [block])
            finally:
                os.close(file)
        if block[:] != data:
            raise WrongResultError("the block that was read is not the one that was written")


def _shared(device: Device) -> dict[str, str]:
    """Take as much of /dev/shm as is needed, and give it back."""
    file = os.open(f"/dev/shm/accelcaps-{os.getpid()}", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.unlink(f"/dev/shm/accelcaps-{os.getpid()}")  # noqa: PTH108
        os.posix_fallocate(file, 0, _SHARED)
    finally:
        os.close(file)
    return {"text": f"{_SHARED >> 20} MB taken at once"}


def _locked(device: Device) -> dict[str, str]:
    """Lock memory, and unlock it."""
    import ctypes

    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free < 2 * _LOCKED:
        raise NotTriedError(f"only {free >> 20} MB of memory are free")
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    block = mmap.mmap(-1, _LOCKED)
    address = ctypes.addressof(ctypes.c_char.from_buffer(block))
    if library.mlock(ctypes.c_void_p(address), ctypes.c_size_t(_LOCKED)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{_LOCKED >> 20} MB cannot be locked: {os.strerror(number)}")
    library.munlock(ctypes.c_void_p(address), ctypes.c_size_t(_LOCKED))
    return {"text": f"{_LOCKED >> 20} MB locked at once"}


_RANK = """
import os, pathlib, sys
pathlib.Path(sys.argv[1], os.environ["RANK"]).write_text(os.environ["WORLD_SIZE"])
"""


def _torchrun(device: Device) -> None:
    """Start two processes by torchrun; each must know its rank."""
    folder = Path(device.spec["scratch"], "ranks")
    folder.mkdir()
    script = folder / "rank.py"
    script.write_text(_RANK)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", str(script), str(folder)],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise RuntimeError(f"torchrun exited with status {done.returncode}: {said[0]}")
    told = [(folder / rank).read_text() for rank in "01" if (folder / rank).exists()]
    if told != ["2", "2"]:
        raise WrongResultError(f"of two ranks, {len(told)} ran")


EXERCISES: Mapping[str, Callable[[Device], Any]] = {
    F.HOST_O_DIRECT: _o_direct,
    F.HOST_SHM: _shared,
    F.HOST_MEMLOCK: _locked,
    F.LAUNCH_TORCHRUN: _torchrun,
}
