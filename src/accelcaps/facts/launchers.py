"""The section ``launchers``: the programs that start ranks, or bind them to cores."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from accelcaps.facts.commands import ask

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts

__all__ = ["LaunchersCollector"]

_PROGRAMS = {
    "srun": ("srun", "--version"),
    "mpirun": ("mpirun", "--version"),
    "pdsh": ("pdsh", "-V"),
    "numactl": ("numactl", "--hardware"),  # asks the kernel, which a container may forbid
}


class LaunchersCollector:
    """Finds each program and runs it: a file that is there and does not run starts nothing."""

    section = ("launchers",)
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section."""
        with ThreadPoolExecutor(4) as pool:
            return dict(zip(_PROGRAMS, pool.map(_program, _PROGRAMS.values()), strict=True))


def _program(command: tuple[str, ...]) -> dict[str, Any]:
    path = shutil.which(command[0])
    found: dict[str, Any] = {
        "command": command[0], "path": path, "runs": False, "version": None, "error": None
    }  # fmt: skip
    if path is not None:
        answer = ask([path, *command[1:]])
        number = re.search(r"\d+(?:\.\d+)+", answer.stdout + answer.stderr)
        found["runs"] = answer.ok
        found["version"] = number[0] if answer.ok and number else None
        found["error"] = None if answer.ok else answer.complaint()
    return found
