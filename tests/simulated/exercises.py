"""Exercises that go right and wrong in every way; run in child processes by the real runner."""

import os
import signal
import sys
import threading
from pathlib import Path

import torch

from accelcaps.checks.running.device import NotTriedError


def right(device):
    host = device.normal(64)
    print("noise on stdout, which is no answer")
    return {"error": device.agree(device.put(host) * 2, host * 2, 1e-12, "a product"), "text": "ok"}


def wrong(device):
    host = device.normal(64)
    device.agree(device.put(host) * 2.001, host * 2, 1e-6, "a product")


def unwritten(device):
    """A result that nobody wrote: memory as it was, here full of zeros."""
    host = device.normal(64)
    device.agree(torch.zeros(64), host * 2, 1e-6, "a product")


def stale(device):
    """What an earlier run, with other numbers, left in memory."""
    earlier = Path(device.spec["scratch"]).parent / "accelcaps-stale.pt"
    host = device.normal(64)
    expected = host * 2
    if earlier.exists():
        found = torch.load(earlier)
        earlier.unlink()
        device.agree(found, expected, 1e-6, "a product")
    torch.save(expected, earlier)


def infinite(device):
    device.agree(torch.full((4,), float("nan")), device.normal(4), 1e9, "a product")


def misshapen(device):
    device.agree(torch.zeros(3), device.normal(4), 1e9, "a product")


def raises(device):
    raise NotImplementedError("no such kernel\nwith a second line")


def leaves(device):
    sys.exit(3)


def segfaults(device):
    print("last words", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(device):
    threading.Event().wait()


def cannot(device):
    raise NotTriedError("a second device is needed")


def too_large(device):
    raise MemoryError("7 TB")


def flaky(device):
    """Fails the first time, works the second."""
    mark = Path(os.environ["ACCELCAPS_TEST_MARK"])
    if not mark.exists():
        mark.touch()
        raise RuntimeError("not this time")


def poisons(device):
    """Fails, and leaves the process unable to compute."""
    torch.full = None
    raise RuntimeError("an illegal memory access")


EXERCISES = {
    "x.trial.right": right,
    "x.trial.segfaults": segfaults,
    "x.trial.wrong": wrong,
    "x.trial.hangs": hangs,
    "x.trial.poisons": poisons,
    "x.trial.raises": raises,
    "x.trial.last": right,
}


def ranks_differ(device):
    if device.rank == 1:
        raise RuntimeError("only here")


def rank_dies(device):
    if device.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()  # as a collective waits for the other rank


def both_ranks(device):
    first = int(device.integers(0, 10**9, 1))
    folder = Path(device.spec["scratch"])
    (folder / str(device.rank)).write_text(str(first))
    return {"text": "same input"}


RANKS = {"x.trial.wrong": ranks_differ, "x.trial.segfaults": rank_dies, "x.trial.right": both_ranks}
