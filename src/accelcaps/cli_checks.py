"""The commands that exercise features: ``verify`` and ``conformance``."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.checks.exercise import Exercise
    from accelcaps.feature import Feature

__all__ = ["Progress", "add_run_options", "conformance", "exercised", "verify"]

HELD, WRONG, UNDECIDED, INTERRUPTED = 0, 1, 3, 130


class Progress:
    """Tells on stderr what is being exercised: one line that changes, or a line for each.

    Args:
        total: how many features there are.
        quiet: whether to tell nothing.
    """

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        from rich.console import Console

        self._total = total
        self._quiet = quiet
        self._done: set[str] = set()
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._status = None
        console = Console(stderr=True, highlight=False, markup=False)
        if console.is_terminal and not quiet:
            self._status = console.status("")
            self._status.start()

    def __call__(self, feature: str, done: Exercise | None) -> None:
        """Take the beginning (``None``) or the end of an exercise."""
        with self._lock:
            if done is not None:
                self._done.add(feature)
            seconds = time.monotonic() - self._begun
            total = max(
                self._total, len(self._done)
            )  # the device itself comes first, asked for or not
            count = f"{len(self._done)}/{total}, {seconds:.0f} s"
            if self._status is not None:
                self._status.update(f"exercising {feature} ({count})")
            elif not self._quiet and done is not None:
                sys.stderr.write(f"[{count}] {feature}: {done.outcome}\n")
                sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._status is not None:
            self._status.stop()


def verify(options: argparse.Namespace, accelerator: Accelerator) -> int:
    """Exercise features and show what happened.

    Returns:
        0 where every claim held, 1 where one was wrong, 3 where one that was named (or every one)
        could not be decided, 130 where Ctrl-C ended it.
    """
    from accelcaps.checks.catalog import exercisable
    from accelcaps.checks.evidence import disagreements
    from accelcaps.reports.verification import verification_document, verification_lines

    asked = accelerator.matching(options.feature or ["*"])
    checks = exercisable(accelerator)
    named = bool(options.feature)
    wanted = [f for f in asked if f in checks and (named or options.builds or not checks[f].builds)]
    without_check = [f for f in asked if f not in checks] if named else []
    begun = time.monotonic()
    found, interrupted = exercised(options, accelerator, wanted)
    if options.json:
        _print_json(verification_document(accelerator, found, without_check))
    else:
        _show(verification_lines(accelerator, found, without_check, time.monotonic() - begun))
    if interrupted:
        left = len([feature for feature in wanted if feature not in found])
        sys.stderr.write(f"accelcaps: interrupted; {left} features were not exercised\n")
        return INTERRUPTED
    verdicts = [accelerator.explain(feature) for feature in found]
    if disagreements(verdicts):
        return WRONG
    undecided = without_check or any(v.claimed is None or v.status == "unknown" for v in verdicts)
    nothing = all(verdict.claimed is None for verdict in verdicts)
    return UNDECIDED if nothing or (named and undecided) else HELD


def conformance(options: argparse.Namespace) -> int:
    """Run the conformance kit, and show or write its report.

    Returns:
        0 where the accelerator conforms, 1 where not, 130 where Ctrl-C ended it.
    """
    from pathlib import Path

    from accelcaps.accelerators.registry import get_accelerator, plugins
    from accelcaps.checks.runner import default_jobs
    from accelcaps.conformance import report
    from accelcaps.conformance.kit import Kit, wanted

    name = options.name
    troubled = any(plugin.name == name and plugin.trouble for plugin in plugins())
    total = 0
    if not troubled:
        total = len(wanted(get_accelerator(name), options.feature, builds=options.builds))
    progress = Progress(total, quiet=options.quiet)
    kit = Kit(
        name, options.feature, jobs=options.jobs or default_jobs(), deadline=options.deadline,
        builds=options.builds, follow=progress,
    )  # fmt: skip
    try:
        found = kit.run()
    finally:
        progress.close()
    if options.write:
        Path(options.write).write_text(report.markdown(found), encoding="utf-8")
    if options.json:
        _print_json(report.document(found))
    else:
        _show(report.lines(found))
    return INTERRUPTED if found.interrupted else HELD if found.passed else WRONG


def exercised(
    options: argparse.Namespace, accelerator: Accelerator, wanted: list[Feature]
) -> tuple[dict[str, Exercise], bool]:
    """Exercise features, tell the progress, and record what happened in the accelerator."""
    from accelcaps.checks.runner import Runner, default_jobs

    progress = Progress(len(wanted), quiet=options.quiet)
    jobs = options.jobs or default_jobs()
    runner = Runner(accelerator, jobs=jobs, deadline=options.deadline, follow=progress)
    try:
        found = runner.run(wanted)
    finally:
        progress.close()
    accelerator.record(found.values())
    return found, runner.interrupted


def add_run_options(parser: Any) -> None:
    """Add the options of a run to a command."""
    parser.add_argument("--jobs", type=_positive(int), metavar="N", help="checks side by side")
    parser.add_argument(
        "--deadline", type=_positive(float), metavar="SECONDS", help="for one feature, at most"
    )
    parser.add_argument(
        "--builds", action="store_true", help="also build and run DeepSpeed's ops; takes minutes"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress on stderr")


def _positive(kind: Any) -> Any:
    def read(text: str) -> Any:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise ValueError(text)
        return value

    read.__name__ = "positive number"
    return read


def _show(lines: Any) -> None:
    from accelcaps.reports.terminal import console, show

    show(lines, console())


def _print_json(document: Any) -> None:
    import json

    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
