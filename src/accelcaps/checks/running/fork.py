"""A process that asked accelcaps about everything can still fork, and use the device there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.checks.running.device import NotTriedError
from accelcaps.checks.running.presence import EXERCISES as PRESENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.checks.running.device import Device

__all__ = ["EXERCISES"]


def _fork(device: Device) -> None:
    if not hasattr(os, "fork"):
        raise NotTriedError("this system has no fork")
    asked = get_accelerator(device.accelerator)
    asked.facts.collect_all(asked.name)
    asked.features()
    child = os.fork()
    if child == 0:
        try:
            PRESENCE[F.DEVICE_AVAILABLE](device)
        except BaseException as error:
            print(f"in the forked child: {type(error).__name__}: {error}", flush=True)  # noqa: T201
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        raise RuntimeError(f"the forked child could not use {device.name} (status {status})")


EXERCISES: Mapping[str, Callable[[Device], Any]] = {F.RUNTIME_FORK_SAFE: _fork}
