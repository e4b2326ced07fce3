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
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

__all__ = ["Outcome", "Report", "Watch", "child_main", "run_probe"]


class Report(Protocol):
    """What a probe calls with each thing it observed."""

    def __call__(self, key: str, value: Any = ...) -> None:
        """Report a JSON-serialisable value; without one, announce what is looked at next."""


_START = (
    "import sys; sys.path[:] = {path!r}; "  # before any import: the working folder comes first
    "from accelcaps.facts.isolation import child_main; child_main(*sys.argv[1:])"
)
_LAST_LINES = 3
_LOOK = 0.05
"""Seconds between two looks at a child that is watched."""


@dataclass(frozen=True, slots=True)
class Watch:
    """How to watch a child that reports many things, one after the other.

    Attributes:
        patience: seconds that may pass between two lines of its report.
        start: seconds that may pass before its first value, where that takes longer.
        stop: when it is set, the child is ended.
        follow: called with each key and value as it is reported, while the child runs.
    """

    patience: float | None = None
    start: float | None = None
    stop: threading.Event | None = None
    follow: Callable[[str, Any], None] | None = None


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
    watch: Watch | None = None,
) -> Outcome:
    """Call ``probe(report, *arguments)`` in a child process.

    Args:
        probe: ``package.module:function``; the function takes a :data:`Report` first.
        arguments: JSON-serialisable.
        deadline: seconds until the child, and all it started, is ended.
        environment: variables to set (or with ``None`` to remove) in the child.
        watch: how to watch it while it runs; else only the deadline ends it.

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
            ended_by = _Ends(deadline, watch, answer)
            status = _run(command, printed, ended_by, _environment(environment))
            printed.seek(0)
            text = printed.read().decode(errors="replace")
        results, doing, ended, damage = _read(answer.read_bytes())
    failure = None
    if damage is not None:
        failure = NotObserved(Code.PROBE_CRASHED, f"{_short(probe)} {damage}")
    elif status is None and ended_by.stopped:
        failure = NotObserved(Code.NOT_OBSERVED, f"{_short(probe)} was interrupted")
    elif status is None:
        what = f" at {doing}" if doing else ""
        failure = NotObserved(
            Code.PROBE_TIMEOUT, f"{_short(probe)} did not answer within {ended_by.limit:g} s{what}"
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


class _Ends:
    """Tells when a child must be ended: at the deadline, when it is silent, or when asked to."""

    def __init__(self, deadline: float, watch: Watch | None, answer: Path) -> None:
        self.limit = deadline
        self.stopped = False
        self._watch = watch or Watch()
        self._answer = answer
        self._begun = self._heard = time.monotonic()
        self._read = 0
        self._deadline = deadline
        self._patience = self._watch.start or self._watch.patience

    @property
    def next_look(self) -> float:
        """Seconds until it may be time."""
        left = self._begun + self._deadline - time.monotonic()
        return max(0.0, left if self._watch == Watch() else min(left, _LOOK))

    def reached(self) -> bool:
        """Whether it is time; passes on what was reported since the last look."""
        now = time.monotonic()
        self.listen()
        if self._watch.stop is not None and self._watch.stop.is_set():
            self.stopped = True
        elif now - self._begun >= self._deadline:
            self.limit = self._deadline
        elif self._patience is not None and now - self._heard >= self._patience:
            self.limit = self._patience
        else:
            return False
        return True

    def listen(self) -> None:
        """Pass on what was reported since the last look."""
        if self._watch == Watch():
            return
        with self._answer.open("rb") as lines:
            lines.seek(self._read)
            new = lines.read()
        whole = new[: new.rfind(b"\n") + 1]  # the last line may be half written
        if not whole:
            return
        self._read += len(whole)
        self._heard = time.monotonic()
        for key, value in _read(whole)[0].items():
            self._patience = self._watch.patience
            if self._watch.follow is not None:
                self._watch.follow(key, value)


def _run(command: list[str], printed: Any, ends: _Ends, environment: dict[str, str]) -> int | None:
    """Return the child's status, or ``None`` where it had to be ended."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    try:
        while True:
            try:
                status = process.wait(ends.next_look)
            except subprocess.TimeoutExpired:
                if ends.reached():
                    return None
            else:
                ends.listen()
                return status
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
