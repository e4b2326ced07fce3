"""What child processes of the conformance kit run: asking an accelerator everything, watched."""

from __future__ import annotations

import importlib
import json
import os
import stat
import sys
import time
from importlib.metadata import (
    PackageNotFoundError,
    distribution,
    entry_points,
    packages_distributions,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.accelerators.plugins import GROUP
from accelcaps.accelerators.registry import choose, get_accelerator
from accelcaps.facts import Facts
from accelcaps.features import REGISTRY
from accelcaps.reports.document import facts_of, report_document
from accelcaps.verdict import Code, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.facts.isolation import Report

__all__ = ["ask", "ask_with_framework", "rules"]

_SINKS = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
          "/dev/ptmx"}  # fmt: skip
_FRAMEWORKS = {"torch", "deepspeed", "triton", "jax", "tensorflow"}


def ask(report: Report, name: str) -> None:
    """Ask for everything in a fresh process; report what that did to it.

    Reports ``seconds``, ``imports`` (top-level names that should not be there), ``opened`` (device
    files), ``context`` (whether the framework says that it has one) and ``round_trip`` (the
    features whose answer changes when the report is read back).
    """
    modules, opened = set(sys.modules), _device_files()
    begun = time.monotonic()
    report("seconds")
    accelerator = get_accelerator(name)
    accelerator.facts.collect_all(accelerator.name)
    accelerator.features()
    report("seconds", time.monotonic() - begun)
    report("imports", sorted(_strangers(set(sys.modules) - modules, accelerator)))
    report("opened", sorted(_device_files() - opened))
    report("context", _has_context(accelerator))
    report("round_trip")
    report("round_trip", _changed(accelerator))


def ask_with_framework(report: Report, name: str, kind: str, module: str) -> None:
    """Ask in a process that has imported the framework, fork, and use the device in the child.

    Reports ``before`` and ``context`` (whether the framework has a context), ``opened`` and
    ``fork`` (the child's status).
    """
    import torch

    if module:
        importlib.import_module(module)
    accelerator = get_accelerator(name)
    report("before", _has_context(accelerator))
    opened = _device_files()
    report("context")
    accelerator.facts.collect_all(accelerator.name)
    accelerator.features()
    report("context", _has_context(accelerator))
    report("opened", sorted(_device_files() - opened))
    if not hasattr(os, "fork"):
        return
    report("fork")
    child = os.fork()
    if child == 0:
        try:
            there = torch.full((64,), 3.0, device=kind)
            right = bool(((there + 1).cpu() == 4.0).all())
        except BaseException as error:
            print(f"in the forked child: {type(error).__name__}: {error}", flush=True)  # noqa: T201
            right = False
        os._exit(0 if right else 1)
    report("fork", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def rules(report: Report, name: str) -> None:
    """Report ``undeclared``, ``unsourced`` and ``faults`` of the accelerator's table.

    Its rules are judged on this machine, on a machine of which nothing is recorded, and on this
    machine with each section of the facts left out in turn.
    """
    accelerator = get_accelerator(name)
    table = type(accelerator).capabilities
    named = [*table, *(f for f in accelerator.checks if not f.startswith("op."))]
    report("undeclared", sorted({str(f) for f in named if f not in REGISTRY}))
    accelerator.facts.collect_all(name)
    declared = [feature for feature in table if feature in REGISTRY]
    report("unsourced")
    report("unsourced", [str(f) for f in declared if not accelerator.claim(f).source])
    whole = accelerator.facts.to_json()
    faults: dict[str, str] = {}
    for what, facts in _variants(whole):
        report("faults")  # each may take a while
        for feature, fault in _faults(type(accelerator)(facts), table):
            faults.setdefault(feature, f"{fault} ({what})")
    report("faults", faults)


def _variants(whole: dict[str, Any]) -> Iterator[tuple[str, Facts]]:
    yield "on this machine", Facts(whole)
    yield "where nothing is recorded", Facts({})
    for section in whole:
        kept = {name: value for name, value in whole.items() if name != section}
        yield f"where {section} is not recorded", Facts(kept)


def _faults(accelerator: Accelerator, table: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield feature and fault of what does not answer as it should."""
    for feature in table:
        if feature not in REGISTRY:
            continue  # told as undeclared
        try:
            verdict = accelerator.explain(feature)
        except Exception as error:
            yield str(feature), f"raises {type(error).__name__}: {error}"
            continue
        crashed = [r for r in verdict.reasons if r.code is Code.PROBE_CRASHED]
        raised = [r.text for r in crashed if r.text.startswith("the rule raised")]
        if raised:
            yield str(feature), raised[0]
        elif verdict.status is not Status.YES and not verdict.reasons:
            yield str(feature), f"is {verdict.status} without a reason"


def _changed(accelerator: Accelerator) -> list[str]:
    """Return the features whose answer is another when the report is read back."""
    document = report_document(accelerator, choose(accelerator.facts))
    again = json.loads(json.dumps(document))
    read = type(accelerator)(facts_of(again, "the report"))
    now = {str(name): verdict.status for name, verdict in read.features().items()}
    return sorted(
        name
        for name, verdict in again["verdicts"].items()
        if now.get(name) is None or now[name].value != verdict["status"]
    )


def _strangers(new: set[str], accelerator: Accelerator) -> set[str]:
    """Return the top-level modules that asking should not import in the caller's process."""
    tops = {name.partition(".")[0] for name in new}
    own = {type(accelerator).__module__.partition(".")[0], *_modules_of_plugin(accelerator.name)}
    allowed = set(sys.stdlib_module_names) | {"accelcaps", "__main__"} | own | _requirements()
    frameworks = tops & _FRAMEWORKS
    framework_module = accelerator.seen_by.module.partition(".")[0]
    return (
        {t for t in tops - allowed if not t.startswith("_")}
        | frameworks
        | ({framework_module} & tops)
    )


def _modules_of_plugin(name: str) -> set[str]:
    """Return the top-level modules of the distribution that brings the accelerator."""
    entry = next((e for e in entry_points(group=GROUP) if e.name == name), None)
    if entry is None or entry.dist is None:
        return set()
    found = packages_distributions()
    return {top for top, dists in found.items() if entry.dist.name in dists}


def _requirements() -> set[str]:
    """Return the top-level modules of what accelcaps requires, and of what that requires."""
    wanted, seen = ["accelcaps"], set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:  # nothing of it can be imported either
            continue
        wanted += [_name(need) for need in needs if "extra ==" not in need]
    canonical = {each.lower().replace("_", "-") for each in seen}
    return {
        top
        for top, dists in packages_distributions().items()
        if any(each.lower().replace("_", "-") in canonical for each in dists)
    }


def _name(requirement: str) -> str:
    from packaging.requirements import Requirement

    return Requirement(requirement).name


def _has_context(accelerator: Accelerator) -> bool | None:
    """Whether the framework, where it is imported, has a context; ``None``: it does not tell."""
    kind = accelerator.seen_by.torch_type
    torch = sys.modules.get("torch")
    if torch is None or kind == "cpu":
        return False
    told = getattr(getattr(torch, kind, None), "is_initialized", None)
    return bool(told()) if told is not None else None


def _device_files() -> set[str]:
    """Return the character devices that this process has open (Linux)."""
    found = set()
    for entry in Path("/proc/self/fd").glob("*"):
        try:
            target = entry.readlink()
            if stat.S_ISCHR(target.stat().st_mode):
                found.add(str(target))
        except OSError:
            continue
    return {each for each in found - _SINKS if not each.startswith("/dev/pts/")}
