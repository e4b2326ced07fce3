"""What ``torch.quoll`` offers: the functions that PyTorch asks a device's module for."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import quoll_driver
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

OLDEST_DRIVER = "1.1"

_generator = torch.Generator()
_launches = 0
_context_of: int | None = None
"""The process that has opened the device; a forked child cannot use what its parent opened."""


class _Hooks(torch._C._acc.PrivateUse1Hooks):  # type: ignore[misc]
    def is_available(self) -> bool:
        return is_available()

    def has_primary_context(self, index: int) -> bool:
        return is_available()

    def is_built(self) -> bool:
        return True


def register() -> None:
    """Add the device to PyTorch, as ``quoll`` and ``torch.quoll``."""
    _setup_privateuseone_for_python_backend("quoll", sys.modules[__name__], _Hooks())


def open_context() -> None:
    """Open the device for this process, where it is not open yet; the first tensor does so."""
    global _context_of
    require()
    if _context_of is None:
        _context_of = os.getpid()
    elif _is_in_bad_fork():
        raise RuntimeError("a forked process cannot use the Quoll that its parent has opened")


def require() -> None:
    """Raise where no tensor can be made here, and say why."""
    if not quoll_driver.visible():
        raise RuntimeError(f"no Quoll is visible (see {quoll_driver.HIDES})")
    if _numbers(quoll_driver.version()) < _numbers(OLDEST_DRIVER):
        found = quoll_driver.version()
        raise RuntimeError(f"the Quoll driver is {found}, and {OLDEST_DRIVER} or newer is needed")


def is_available() -> bool:
    """Return whether a tensor can be made on a Quoll here."""
    try:
        require()
    except RuntimeError:
        return False
    return True


def is_initialized() -> bool:
    """Return whether this process has opened the device."""
    return _context_of is not None


def device_count() -> int:
    """Return how many devices are visible."""
    return len(quoll_driver.visible())


def current_device() -> int:
    """Return the number of the current device; there is one."""
    return 0


def set_device(index: int) -> None:
    """Make a device the current one; there is one."""


def synchronize(index: int | None = None) -> None:
    """Wait until all work is done: every call has done its work when it returns."""


def get_device_name(index: int | None = None) -> str:
    """Return the name for people."""
    return str(get_device_properties(index).name)


def get_device_properties(index: int | None = None) -> SimpleNamespace:
    """Return what PyTorch's own backends call so."""
    found = quoll_driver.visible()[index or 0]
    return SimpleNamespace(
        name=found["name"], architecture=found["arch"], total_memory=found["memory_bytes"]
    )


def generator() -> torch.Generator:
    """Return the device's own random numbers."""
    return _generator


def manual_seed_all(seed: int) -> None:
    """Set the seed of every device; ``torch.manual_seed`` calls this."""
    _generator.manual_seed(seed)


def manual_seed(seed: int) -> None:
    """Set the seed of the current device."""
    _generator.manual_seed(seed)


def get_rng_state(index: int | None = None) -> torch.Tensor:
    """Return the state of the device's random numbers."""
    return _generator.get_state()


def set_rng_state(state: torch.Tensor, index: int | None = None) -> None:
    """Set the state of the device's random numbers."""
    _generator.set_state(state)


def launches() -> int:
    """Return how many kernels the device has run (``x.quoll.kernel_counter``)."""
    return _launches


def count(kernels: int) -> None:
    """Count kernels that are run."""
    global _launches
    _launches += kernels


def _is_in_bad_fork() -> bool:
    return _context_of is not None and _context_of != os.getpid()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
