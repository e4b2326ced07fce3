"""Ask a system program one question, with a time limit."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Answer", "ask"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program answered: its exit ``status`` (``None``: it did not run) and output."""

    status: int | None
    stdout: str = ""
    stderr: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ran and succeeded."""
        return self.status == 0

    def complaint(self) -> str:
        """Return the line that says best what went wrong."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower()] or lines
        if telling:
            return telling[0][:200]
        return "it did not run" if self.status is None else f"it exited with status {self.status}"


def ask(command: Sequence[str], *, limit: float = 10, given: str = "") -> Answer:
    """Run ``command`` and return its answer; never raises for anything the program does.

    Args:
        command: the program and its arguments, no shell.
        limit: seconds until it is ended.
        given: text for its standard input.
    """
    with tempfile.TemporaryDirectory(prefix="accelcaps-") as directory:
        try:
            done = subprocess.run(
                command, input=given, capture_output=True, text=True, errors="replace",
                timeout=limit, check=False, cwd=directory,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Answer(None, stderr=f"{command[0]} did not answer within {limit:g} s")
        except (OSError, ValueError) as error:
            return Answer(None, stderr=str(error))
        return Answer(done.returncode, done.stdout, done.stderr)
