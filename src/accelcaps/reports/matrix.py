"""The matrix: features × accelerators or profiles, each cell a status and its one-line reason."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from accelcaps.accelerators.registry import accelerators, get_accelerator
from accelcaps.facts import Facts
from accelcaps.features import REGISTRY
from accelcaps.profiles import profile, profiles
from accelcaps.verdict import Code, Evidence, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.feature import Feature
    from accelcaps.profiles import Stack
    from accelcaps.verdict import Verdict

__all__ = ["VARIES", "Cell", "Column", "Matrix", "matrix"]

VARIES = "varies"
"""The status of an accelerator whose profiles differ."""
_BEST_FIRST = (Status.YES, Status.DEGRADED, Status.UNKNOWN, Status.NO)
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Cell:
    """The answer for one feature in one column.

    Attributes:
        status: a status, or ``varies``.
        reason: why, in one line; empty where a yes needs no word.
        by_profile: profile → its status, where they differ.
    """

    status: str
    reason: str = ""
    by_profile: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the cell as JSON-serialisable data."""
        data: dict[str, Any] = {"status": self.status, "reason": self.reason}
        return {**data, "by_profile": self.by_profile} if self.by_profile else data


@dataclass(frozen=True, slots=True)
class Column:
    """One accelerator or profile.

    Attributes:
        name: what was asked for.
        title: its name for people.
        asked: whom to ask: one accelerator for each profile it stands for, by profile.
    """

    name: str
    title: str
    asked: dict[str, Accelerator]

    def cell(self, feature: Feature) -> Cell:
        """Return the answer for a feature."""
        verdicts = {name: each.explain(feature) for name, each in self.asked.items()}
        statuses = {name: verdict.status for name, verdict in verdicts.items()}
        if len(set(statuses.values())) == 1:
            name, first = next(iter(verdicts.items()))
            of_one = "" if len(verdicts) == 1 else f" in {self.asked[name].facts.name}"
            reason = _one_line(first)
            return Cell(first.status.value, reason.replace(of_one, "") if of_one else reason)
        told = []
        for status in _BEST_FIRST:
            names = [name for name in statuses if statuses[name] is status]
            if names:
                told.append(f"{status.value} on {', '.join(names)}")
        by_profile = {name: status.value for name, status in statuses.items()}
        return Cell(VARIES, "; ".join(told), by_profile)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Features × columns.

    Attributes:
        columns: accelerators or profiles.
        rows: feature → its cells, in the order of the columns.
    """

    columns: tuple[Column, ...]
    rows: dict[Feature, tuple[Cell, ...]]

    def to_json(self) -> dict[str, Any]:
        """Return ``columns`` and ``rows`` as JSON-serialisable data."""
        return {
            "schema_version": 1,
            "columns": [
                {"name": each.name, "title": each.title, "profiles": list(each.asked)}
                for each in self.columns
            ],
            "rows": [
                {
                    "feature": str(feature),
                    "cells": {
                        column.name: cell.to_json()
                        for column, cell in zip(self.columns, cells, strict=True)
                    },
                }
                for feature, cells in self.rows.items()
            ],
        }

    def markdown(self) -> Iterator[str]:
        """Yield the lines of Markdown: a table for each group, and the reasons below it."""
        names = [column.name for column in self.columns]
        for group in dict.fromkeys(feature.group for feature in self.rows):
            members = {f: cells for f, cells in self.rows.items() if f.group == group}
            yield f"## {group}"
            yield ""
            yield f"| feature | {' | '.join(names)} |"
            yield f"|---|{'---|' * len(names)}"
            for feature, cells in members.items():
                words = " | ".join(c.status for c in cells)
                yield f"| `{feature}` | {words} |"
            yield ""
            yield from _reasons_in_markdown(names, members)
            yield ""

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield styled lines for a terminal: the table, then the reason of each cell."""
        names = [column.name for column in self.columns]
        first = max((len(feature) for feature in self.rows), default=0)
        widths = [max(len(name), len("degraded")) for name in names]
        if first + sum(widths) + 2 * len(widths) > _WIDTH:  # too wide: letters stand for names
            for letter, column in zip(_letters(), self.columns, strict=False):
                yield "", f"{letter}  {column.name} ({column.title})"
            yield "", ""
            names = [letter for letter, _ in zip(_letters(), names, strict=False)]
            widths = [len("degr") for _ in names]
        yield "bold", _row("", names, first, widths)
        for feature, cells in self.rows.items():
            yield "", _row(feature, [cell.status for cell in cells], first, widths)
        yield "", ""
        for feature, cells in self.rows.items():
            for (status, reason), alike in _alike(names, cells).items():
                if reason:
                    text = f"{feature}, {', '.join(alike)}: {status}: {reason}"
                    for line in textwrap.wrap(text, _WIDTH, subsequent_indent="    "):
                        yield "", line


def matrix(pattern: str = "*", on: Sequence[str] = (), stack: Stack | None = None) -> Matrix:
    """Return the matrix of a group of features.

    Args:
        pattern: a group, such as ``dtype``.
        on: names of profiles or accelerators; an accelerator stands for all its profiles. Every
            accelerator, where not given.
        stack: the software that each of them has; hardware alone, where not given.

    Raises:
        UnknownFeatureError: when no feature is in the group.
        ProfileError: when no profile and no accelerator has that name.
    """
    features = REGISTRY.in_group(pattern)
    known = {kind.name: kind for kind in accelerators()}
    names = on or list(known)
    columns = []
    for name in names:
        if name in known:
            columns.append(_of_accelerator(known[name], stack))
        else:
            found = profile(name)
            asked = get_accelerator(found.accelerator, found.facts(stack))
            columns.append(Column(found.name, found.title, {found.name: asked}))
    rows = {feature: tuple(column.cell(feature) for column in columns) for feature in features}
    return Matrix(tuple(columns), rows)


def _of_accelerator(kind: type[Accelerator], stack: Stack | None) -> Column:
    """Return the column of an accelerator: its profiles, or a device of which nothing is known."""
    owned = [each for each in profiles() if each.accelerator == kind.name]
    asked = {each.name: kind(each.facts(stack)) for each in owned}
    if not asked:
        device = {"uuid": None, "name": f"any {kind.title}"}
        devices = {kind.name: {"list": [device], "visible_to_system": [{"pci": "any"}]}}
        facts = Facts({"devices": devices}, evidence=Evidence.DECLARED, name=f"any {kind.title}",
                      complete=False)  # fmt: skip
        asked = {kind.name: kind(facts)}
    return Column(kind.name, kind.title, asked)


def _one_line(verdict: Verdict) -> str:
    if verdict.value is not None and verdict.status is Status.YES:
        return str(verdict.value)
    if verdict.status is Status.YES:
        return ""
    against = [reason.text for reason in verdict.reasons if reason.code is not Code.MET]
    return "; ".join(dict.fromkeys(against)).removeprefix(f"{verdict.feature}: ")


def _alike(names: Sequence[str], cells: Sequence[Cell]) -> dict[tuple[str, str], list[str]]:
    """Return the columns that say the same, by what they say."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, cell in zip(names, cells, strict=True):
        found.setdefault((cell.status, cell.reason), []).append(name)
    return found


def _reasons_in_markdown(
    names: Sequence[str], members: Mapping[Feature, Sequence[Cell]]
) -> Iterator[str]:
    """Yield the reasons as a list; features that say the same of the same columns are one item."""
    told: dict[tuple[str, str, tuple[str, ...]], list[Feature]] = {}
    for feature, cells in members.items():
        for (status, reason), alike in _alike(names, cells).items():
            if reason:
                told.setdefault((status, reason, tuple(alike)), []).append(feature)
    for (status, reason, columns), features in told.items():
        which = ", ".join(f"`{feature}`" for feature in features)
        words = reason.replace("|", "\\|")
        yield f"- {which}, {', '.join(columns)}: {status}: {words}"


def _row(first: str, words: Sequence[str], width: int, widths: Sequence[int]) -> str:
    parts = [f"{word[:size]:<{size}}" for word, size in zip(words, widths, strict=True)]
    return f"{first:<{width}}  {'  '.join(parts)}".rstrip()


def _letters() -> Iterator[str]:
    """Yield A, B, …, Z, A2, B2 and so on."""
    turn = 1
    while True:
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            yield letter if turn == 1 else f"{letter}{turn}"
        turn += 1
