"""The kit's report: lines for a terminal, Markdown to publish, JSON for programs."""

from __future__ import annotations

import datetime
import platform
from collections import Counter
from typing import TYPE_CHECKING, Any

from accelcaps._version import __version__
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.conformance.result import CRITERIA, Mark
from accelcaps.reports.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accelcaps.conformance.kit import Conformance
    from accelcaps.conformance.result import Result

__all__ = ["document", "lines", "markdown"]

_STYLE = {Mark.PASSED: "green", Mark.FAILED: "red", Mark.LEFT: "magenta"}


def lines(found: Conformance) -> Iterator[tuple[str, str]]:
    """Yield the report for a terminal: every failure, and a count for each criterion."""
    for criterion, asks in CRITERIA.items():
        members = [each for each in found.results if each.criterion == criterion]
        if not members:
            continue
        worst = _worst(members)
        counts = Counter(each.mark for each in members)
        told = ", ".join(f"{counts[mark]} {mark}" for mark in Mark if counts[mark])
        yield from wrapped(f"{criterion}: ", f"{asks}: {told}", _STYLE[worst])
        for each in members:
            if each.mark is Mark.FAILED:
                yield from wrapped("  ", f"{each.subject or found.name}: {each.text}", "red")
    yield "", ""
    yield "bold", _summary(found)


def markdown(found: Conformance) -> str:
    """Return the report that a vendor can publish."""
    rows = ["| criterion | what it asks for | result |", "|---|---|---|"]
    for criterion, asks in CRITERIA.items():
        members = [each for each in found.results if each.criterion == criterion]
        if members:
            rows.append(f"| {criterion} | {asks} | {_told(members, found.name)} |")
    claims = ["| feature | claimed | when run | result |", "|---|---|---|---|"]
    for each in found.results:
        if each.criterion == "claim" and each.mark is not Mark.LEFT:
            claimed = found.claims[each.subject]
            done = found.exercises[each.subject]
            said = ", ".join(filter(None, (str(done.outcome), done.text, done.numbers)))
            claims.append(f"| {each.subject} | {claimed} | {_cell(said)} | {each.mark} |")
    left = [
        f"- {each.subject or each.criterion}: {each.text}"
        for each in found.results
        if each.mark is Mark.LEFT
    ]
    parts = [
        f"# Conformance of the accelerator {found.name}",
        "",
        f"**{_summary(found)}**",
        "",
        *(f"- {name}: {value}" for name, value in _about(found.name).items()),
        "",
        f"Made by `accelcaps conformance {found.name}`.",
        "",
        "## Criteria",
        "",
        *rows,
        "",
        "## Claims, and what happened",
        "",
        *claims,
        "",
    ]
    if left:
        parts += ["## Not tried", "", *left, ""]
    return "\n".join(parts)


def document(found: Conformance) -> dict[str, Any]:
    """Return the report as JSON-serialisable data."""
    return {
        "accelerator": found.name,
        "passed": found.passed,
        "interrupted": found.interrupted,
        "about": _about(found.name),
        "results": [each.to_json() for each in found.results],
        "exercises": {str(name): done.to_json() for name, done in found.exercises.items()},
    }


def _about(name: str) -> dict[str, str]:
    """Return what the report was made with."""
    about = {"date": datetime.date.today().isoformat(), "accelcaps": __version__}
    try:
        accelerator = get_accelerator(name)
    except Exception:  # a package that does not load is what the report says
        return about
    devices = accelerator.devices()
    if isinstance(devices, list):
        about["devices"] = ", ".join(str(each.get("name") or "unnamed") for each in devices)
    if accelerator.simulated:
        about["note"] = "the device is simulated: other hardware computes, speed was not judged"
    about["PyTorch"] = str(accelerator.facts.get("torch", "version"))
    about["Python"] = platform.python_version()
    about["system"] = f"{platform.system()} {platform.machine()}"
    return about


def _summary(found: Conformance) -> str:
    counts = Counter(each.mark for each in found.results)
    told = ", ".join(f"{counts[mark]} {mark}" for mark in Mark if counts[mark])
    word = (
        "interrupted" if found.interrupted else "conforms" if found.passed else "does not conform"
    )
    return f"{found.name} {word} ({told})"


def _told(members: list[Result], name: str) -> str:
    failed = [each for each in members if each.mark is Mark.FAILED]
    if not failed:
        return str(_worst(members))
    return "; ".join(f"**failed**: {each.subject or name}: {_cell(each.text)}" for each in failed)


def _worst(members: list[Result]) -> Mark:
    marks = {each.mark for each in members}
    return next(each for each in (Mark.FAILED, Mark.PASSED, Mark.LEFT) if each in marks)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
