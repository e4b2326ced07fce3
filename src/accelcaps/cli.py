"""The command ``accelcaps``: report, explain, verify, features, profiles, matrix, why."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from accelcaps._version import __version__
from accelcaps.cli_checks import add_run_options, conformance
from accelcaps.errors import AccelcapsError, ProfileError, UnknownAcceleratorError
from accelcaps.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.facts import Facts

__all__ = ["main", "run"]

YES, NO, ERROR, UNKNOWN = 0, 1, 2, 3
_EXIT = {Status.YES: YES, Status.DEGRADED: YES, Status.NO: NO, Status.UNKNOWN: UNKNOWN}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        0 for yes (degraded included), 1 for no, 2 for a usage or tool error, 3 for unknown.
    """
    parser = _parser()
    words = list(sys.argv[1:] if argv is None else argv)
    options = parser.parse_args(words if _names_a_command(words) else ["report", *words])
    try:
        return int(options.command(options))
    except AccelcapsError as error:
        print(f"accelcaps: {error}", file=sys.stderr)  # noqa: T201
        return ERROR


def run() -> None:
    """Be the installed command."""
    warnings.simplefilter("ignore")  # what a warning would say is in the report
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # print what the encoding lacks as an escape
            stream.reconfigure(errors="backslashreplace")
    try:
        status = main()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = YES
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def _report(options: argparse.Namespace) -> int:
    from accelcaps.accelerators.registry import choose
    from accelcaps.reports.document import report_document
    from accelcaps.reports.terminal import report_lines

    facts = _facts(options)
    choice = choose(facts, variables=_asked_for(options) is None)
    if options.on is not None:
        choice = replace(choice, because=f"{options.on} is a device of it")
    accelerator = _accelerator(options, facts, choice.chosen)
    accelerator.facts.collect_all(accelerator.name)  # all of it is needed: several at a time
    status = _verified_first(options, accelerator) if options.verify else YES
    if options.json:
        _print_json(report_document(accelerator, choice))
    else:
        _show(report_lines(accelerator, choice))
    return status


def _verified_first(options: argparse.Namespace, accelerator: Accelerator) -> int:
    """Exercise what can be, so that the report tells it; return the exit status."""
    from accelcaps.checks.catalog import exercisable
    from accelcaps.checks.evidence import disagreements
    from accelcaps.cli_checks import INTERRUPTED, exercised

    checks = exercisable(accelerator)
    wanted = [feature for feature, check in checks.items() if options.builds or not check.builds]
    found, interrupted = exercised(options, accelerator, wanted)
    if interrupted:
        return INTERRUPTED
    return NO if disagreements(map(accelerator.explain, found)) else YES


def _verify(options: argparse.Namespace) -> int:
    from accelcaps.accelerators.registry import why
    from accelcaps.cli_checks import verify

    chosen = options.accelerator or why().chosen
    return verify(options, _accelerator(options, None, chosen))


def _explain(options: argparse.Namespace) -> int:
    from accelcaps.accelerators.registry import why
    from accelcaps.reports.terminal import explain_lines

    facts = _facts(options)
    chosen = _asked_for(options) or why(facts).chosen
    accelerator = _accelerator(options, facts, chosen)
    verdicts = [accelerator.explain(name) for name in options.feature]
    if options.json:
        documents = [verdict.to_json() for verdict in verdicts]
        _print_json(documents[0] if len(documents) == 1 else documents)
    else:
        for verdict in verdicts:
            _show(explain_lines(verdict))
    statuses = {verdict.status for verdict in verdicts}
    worst = next(
        each
        for each in (Status.NO, Status.UNKNOWN, Status.DEGRADED, Status.YES)
        if each in statuses
    )
    return _EXIT[worst]


def _features(options: argparse.Namespace) -> int:
    from accelcaps.accelerators.registry import plugins
    from accelcaps.features import REGISTRY

    plugins()  # which may bring features of their own
    found = REGISTRY.in_group(options.group)
    if options.json:
        _print_json(
            [
                {"feature": str(f), "group": f.group, "title": f.title, "meaning": f.meaning,
                 "since": f.since}
                for f in found
            ]
        )  # fmt: skip
        return YES
    width = max(len(feature) for feature in found)
    _show([("", f"{feature:<{width}}  {feature.meaning}") for feature in found])
    return YES


def _why(options: argparse.Namespace) -> int:
    from accelcaps.accelerators.registry import why
    from accelcaps.reports.terminal import explain_lines

    choice = why(_facts(options))
    if options.json:
        _print_json(choice.to_json())
        return YES
    _show([("bold", f"{choice.chosen}, because {choice.because}")])
    for candidate in choice.candidates:
        _show([("", ""), ("bold", f"{candidate.name}{' (chosen)' if candidate.chosen else ''}")])
        _show(explain_lines(candidate.available, 1))
    for plugin in choice.plugins:
        if plugin.trouble:
            _show([("", ""), ("red", f"plugin {plugin.name} ({plugin.package}) is not used:")])
            _show([("", f"  {plugin.trouble.code}: {plugin.trouble}")])
    return YES


def _profiles(options: argparse.Namespace) -> int:
    from accelcaps.accelerators.registry import accelerators
    from accelcaps.profiles import profiles

    known = [kind.name for kind in accelerators()]
    if options.accelerator not in (None, *known):
        raise UnknownAcceleratorError(options.accelerator, known)
    found = [each for each in profiles() if options.accelerator in (None, each.accelerator)]
    if options.json:
        _print_json(
            [
                {"name": each.name, "title": each.title, "accelerator": each.accelerator,
                 "device": dict(each.device), "sources": dict(each.sources)}
                for each in found
            ]
        )  # fmt: skip
        return YES
    width = max((len(each.name) for each in found), default=0)
    _show([("", f"{each.name:<{width}}  {each.accelerator:<6}{each.title}") for each in found])
    return YES


def _matrix(options: argparse.Namespace) -> int:
    from accelcaps.profiles import read_stack
    from accelcaps.reports.matrix import matrix

    on = [name.strip() for name in (options.on or "").split(",") if name.strip()]
    stack = read_stack(options.stack) if options.stack else None
    found = matrix(options.group, on, stack)
    if options.json:
        _print_json(found.to_json())
    elif options.markdown:
        for line in found.markdown():
            sys.stdout.write(f"{line}\n")
    else:
        _show(found.lines())
    return YES


def _asked_for(options: argparse.Namespace) -> str | None:
    """Return the accelerator that the user names, or that the profile is a device of."""
    named: str | None = options.accelerator
    if named is None and options.on:
        from accelcaps.profiles import profile

        return profile(options.on).accelerator
    return named


def _facts(options: argparse.Namespace) -> Facts | None:
    on = getattr(options, "on", None)
    stack = getattr(options, "stack", None)
    if on is not None:
        from accelcaps.profiles import profile, read_stack

        if options.facts is not None:
            raise ProfileError("--on and --facts both name a machine: give one of them")
        return profile(on).facts(read_stack(stack) if stack else None)
    if stack is not None:
        raise ProfileError("--with tells the software of a profile: name one with --on")
    if options.facts is None:
        return None
    from accelcaps.reports.document import read_facts

    return read_facts(options.facts)


def _accelerator(options: argparse.Namespace, facts: Facts | None, chosen: str) -> Accelerator:
    from accelcaps.accelerators.registry import get_accelerator

    forced = getattr(options, "force", None)
    return get_accelerator(options.accelerator or chosen, facts, force=forced)


def _show(lines: Any) -> None:
    from accelcaps.reports.terminal import console, show

    show(lines, console())


def _print_json(document: Any) -> None:
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def _names_a_command(words: Sequence[str]) -> bool:
    return bool(words) and (
        not words[0].startswith("-") or words[0] in ("-h", "--help", "--version")
    )


def _add_stack(parser: Any) -> None:
    parser.add_argument(
        "--with", dest="stack", metavar="NAME=VERSION,…",
        help="the software on it, such as torch=2.6.0+cu126,driver=570.26",
    )  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="accelcaps",
        description="What an accelerator can really do, why not where it cannot, and what would "
        "change that. Without a command: report.",
        epilog="Exit status: 0 yes (or degraded), 1 no, 2 usage or tool error, 3 unknown; of "
        "verify: 0 every claim held, 1 one was wrong, 3 one that was named is not decided.",
    )
    parser.add_argument("--version", action="version", version=f"accelcaps {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, function: Any, text: str, *, machine: bool = True) -> Any:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=function)
        sub.add_argument("--json", action="store_true", help="print JSON")
        if machine:
            sub.add_argument(
                "--facts", metavar="FILE", help="answer for the machine of this report"
            )
        return sub

    report = command("report", _report, "everything about the accelerator of this machine")
    explain = command("explain", _explain, "one feature, with everything it rests on")
    for sub in (report, explain):
        sub.add_argument("--accelerator", metavar="NAME", help="ask this one, chosen or not")
        sub.add_argument("--on", metavar="PROFILE", help="answer for this hardware instead")
        _add_stack(sub)
        sub.add_argument("--force", metavar="NAME=STATUS", help="decide a verdict yourself")
    report.add_argument("--verify", action="store_true", help="exercise what can be, first")
    verify = command(
        "verify", _verify,
        "exercise features on the device, and compare with a reference: is every claim true?",
        machine=False,
    )  # fmt: skip
    verify.add_argument("feature", nargs="*", help="a feature, or a group such as dtype or 'op.*'")
    verify.add_argument("--accelerator", metavar="NAME", help="this one, chosen or not")
    kit = command(
        "conformance", conformance,
        "is what an accelerator says of itself true, and does asking it do no harm?",
        machine=False,
    )  # fmt: skip
    kit.add_argument("name", metavar="NAME", help="the accelerator's name")
    kit.add_argument("feature", nargs="*", help="try the claims of these features or groups only")
    kit.add_argument("--write", metavar="FILE", help="write a report in Markdown, to publish")
    for sub in (report, verify, kit):
        add_run_options(sub)
    explain.add_argument("feature", nargs="+", help="a feature's name, such as dtype.bf16")
    features = command(
        "features", _features, "the vocabulary: every name and what a yes promises", machine=False
    )
    features.add_argument("group", nargs="?", default="*", help="a group, such as op")
    listed = command("profiles", _profiles, "hardware to ask about with --on", machine=False)
    listed.add_argument("accelerator", nargs="?", help="of this accelerator only")
    table = command("matrix", _matrix, "features × accelerators or profiles", machine=False)
    table.add_argument("--group", default="*", metavar="GROUP", help="a group, such as dtype")
    table.add_argument("--on", metavar="A,B,C", help="these accelerators or profiles only")
    table.add_argument("--markdown", action="store_true", help="print Markdown")
    _add_stack(table)
    command("why", _why, "which accelerators were considered, and why one was chosen")
    return parser
