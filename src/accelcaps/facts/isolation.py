"""Run a probe in a child process with a deadline.

Whatever imports somebody else's runtime, touches a driver or runs somebody else's code goes
through here. The child reports over a file of its own, so that nothing printed can be mistaken
for an answer; a crash, a hang, an early exit or garbage becomes :class:`NotObserved`, with the
last lines of what was printed.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Outcome", "Report", "child_main", "run_probe"]


class Report(Protocol):
    """What a probe calls with each thing it observed."""

    def __call__(self, key: str, value: Any = ...) -> None:
        """Report a JSON-serialisable value; without one, announce what is looked at next."""


_START = (
    "import sys; sys.path[:] = {path!r}; "  # before any import: the working folder comes first
    "from accelcaps.facts.isolation import child_main; child_main(*sys.argv[1:])"
)
_LAST_LINES = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a probe observed.

    Attributes:
        results: key → value, everything the child reported, even where it ended badly after.
        failure: why the child did not end well; ``None`` where it did.
        doing: the key the child had announced and not reported when it ended.
        printed: what it wrote to stdout and stderr.
    """

    results: Mapping[str, Any] = field(default_factory=dict)
    failure: NotObserved | None = None
    doing: str | None = None
    printed: str = ""


def run_probe(
    probe: str,
    *arguments: Any,
    deadline: float,
    environment: Mapping[str, str | None] | None = None,
) -> Outcome:
    """Call ``probe(report, *arguments)`` in a child process.

    Args:
        probe: ``package.module:function``; the function takes a :data:`Report` first.
        arguments: JSON-serialisable.
        deadline: seconds until the child, and all it started, is ended.
        environment: variables to set (or with ``None`` to remove) in the child.

    Returns:
        The outcome; this function does not raise for anything the child does.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        text = "this Python has no executable of its own to ask in a child process"
        return Outcome(failure=NotObserved(Code.NOT_OBSERVED, text))
    path = [entry or str(Path.cwd()) for entry in sys.path]
    with tempfile.TemporaryDirectory(prefix="accelcaps-") as directory:
        answer = Path(directory) / "answer"
        answer.touch()
        command = [
            sys.executable, "-c", _START.format(path=path),
            probe, json.dumps(arguments), str(answer),
        ]  # fmt: skip
        with (Path(directory) / "printed").open("w+b") as printed:
            status = _run(command, printed, deadline, _environment(environment))
            printed.seek(0)
            text = printed.read().decode(errors="replace")
        results, doing, ended, damage = _read(answer.read_bytes())
    failure = None
    if damage is not None:
        failure = NotObserved(Code.PROBE_CRASHED, f"{_short(probe)} {damage}")
    elif status is None:
        what = f" at {doing}" if doing else ""
        failure = NotObserved(
            Code.PROBE_TIMEOUT, f"{_short(probe)} did not answer within {deadline:g} s{what}"
        )
    elif not ended:
        failure = NotObserved(
            Code.PROBE_CRASHED, f"{_short(probe)} {_ending(status)}{_last_lines(text)}"
        )
    return Outcome(results, failure, doing, text)


def child_main(probe: str, arguments: str, answer: str) -> None:
    """Be the child: call the probe, write what it reports to the file ``answer``."""
    with Path(answer).open("a", encoding="utf-8") as out:

        def write(line: Mapping[str, Any]) -> None:
            out.write(json.dumps(line) + "\n")
            out.flush()

        def report(key: str, value: Any = ...) -> None:
            write({"doing": key} if value is ... else {"key": key, "value": value})

        module, _, function = probe.partition(":")
        try:
            getattr(importlib.import_module(module), function)(report, *json.loads(arguments))
        except Exception as error:
            write({"error": f"{type(error).__name__}: {error}"})
        write({"end": True})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # all is written; tearing a framework down takes longer than asking it


def _run(
    command: list[str], printed: Any, deadline: float, environment: dict[str, str]
) -> int | None:
    """Return the child's status, or ``None`` where it was ended at the deadline."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    try:
        return process.wait(deadline)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started that is still in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _environment(changes: Mapping[str, str | None] | None) -> dict[str, str]:
    environment = dict(os.environ)
    for name, value in (changes or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


def _read(answer: bytes) -> tuple[dict[str, Any], str | None, bool, str | None]:
    """Return what was reported, what was under way, whether it ended, and what is wrong."""
    results: dict[str, Any] = {}
    doing: str | None = None
    ended = False
    damage: str | None = None
    for line in answer.splitlines():
        try:
            item = json.loads(line)
            if "key" in item:
                results[item["key"]] = item["value"]
                doing = None if doing == item["key"] else doing
            elif "doing" in item:
                doing = item["doing"]
            elif "error" in item:
                damage = f"raised {item['error']}"
            else:
                ended = bool(item["end"])
        except (ValueError, KeyError, TypeError):
            damage = f"answered with something that is not an answer: {line[:80]!r}"
    return results, doing, ended, damage


def _ending(status: int) -> str:
    if status < 0:
        try:
            return f"was ended by signal {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"exited with status {status} before it answered"


def _last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()][-_LAST_LINES:]
    return f": {' / '.join(lines)[-300:]}" if lines else ""


def _short(probe: str) -> str:
    return f"the {probe.rpartition('.')[2].partition(':')[0]} probe"
