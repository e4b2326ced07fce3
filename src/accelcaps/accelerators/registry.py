"""Which accelerators there are, which one is chosen, and why the others are not."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelcaps.accelerators.cpu import Cpu
from accelcaps.accelerators.cuda import Cuda
from accelcaps.errors import UnknownAcceleratorError
from accelcaps.facts import Facts, this_machine
from accelcaps.features import DEVICE_AVAILABLE
from accelcaps.verdict import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accelcaps.accelerators.base import Accelerator

__all__ = ["ACCELERATORS", "Candidate", "Choice", "choose", "get_accelerator", "why"]

ACCELERATORS: tuple[type[Accelerator], ...] = (Cuda, Cpu)
"""In the order in which they are considered; the first that is usable is chosen."""

_VARIABLES = ("ACCELCAPS_ACCELERATOR", "DS_ACCELERATOR")
_here: dict[str, Accelerator] = {}
_facts_here: list[Facts] = []


@dataclass(frozen=True, slots=True)
class Candidate:
    """One accelerator that was considered.

    Attributes:
        name: its name.
        available: whether a device of it is usable, and why not.
        visible: whether hardware of this family is there, usable or not.
        chosen: whether it is the one.
    """

    name: str
    available: Verdict
    visible: bool
    chosen: bool

    def to_json(self) -> dict[str, Any]:
        """Return the candidate as JSON-serialisable data."""
        return {
            "name": self.name,
            "chosen": self.chosen,
            "visible": self.visible,
            "available": self.available.to_json(),
        }

    def __str__(self) -> str:
        mark = "chosen" if self.chosen else "not chosen"
        return f"{self.name}: {mark}; {self.available}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which accelerator is chosen, because of what, among which.

    Attributes:
        chosen: the name.
        because: why, in words.
        candidates: every accelerator, in the order of preference.
        on_purpose: whether somebody chose it, rather than what is here.
    """

    chosen: str
    because: str
    candidates: tuple[Candidate, ...]
    on_purpose: bool = False

    @property
    def overlooked(self) -> tuple[Candidate, ...]:
        """Accelerators whose hardware is there and cannot be used, before the one chosen."""
        names = [candidate.name for candidate in self.candidates]
        before = self.candidates[: names.index(self.chosen)]
        return tuple(each for each in before if each.visible and not each.available.supported())

    def to_json(self) -> dict[str, Any]:
        """Return the choice as JSON-serialisable data."""
        return {
            "chosen": self.chosen,
            "because": self.because,
            "candidates": [candidate.to_json() for candidate in self.candidates],
        }

    def __str__(self) -> str:
        lines = [f"{self.chosen}, because {self.because}", *map(str, self.candidates)]
        return "\n".join(lines)


def get_accelerator(name: str | None = None, facts: Facts | None = None) -> Accelerator:
    """Return an accelerator to ask.

    Args:
        name: which one; else ``ACCELCAPS_ACCELERATOR``, then ``DS_ACCELERATOR``, else the first
            with a usable device.
        facts: facts of another machine; this machine's, where not given.

    Raises:
        UnknownAcceleratorError: when no accelerator has that name; it lists those that exist.

    Warns:
        UserWarning: when hardware is there that cannot be used, and another one is chosen.
    """
    if name is None:
        choice = choose(facts)
        if choice.overlooked and facts is None and not choice.on_purpose:
            told = "; ".join(str(each.available) for each in choice.overlooked)
            warnings.warn(
                f"using {choice.chosen}, although {choice.overlooked[0].name} hardware is there: "
                f"{told} (set ACCELCAPS_ACCELERATOR={choice.chosen} to choose it on purpose)",
                stacklevel=2,
            )
        name = choice.chosen
    return _make(name, facts)


def why(facts: Facts | None = None) -> Choice:
    """Return which accelerators were considered, which one is chosen, and why not the others."""
    return choose(facts)


def choose(facts: Facts | None = None, *, variables: bool = True) -> Choice:
    """Choose an accelerator; every one is looked at, so that each can be answered for.

    Args:
        facts: facts of another machine; this machine's, where not given.
        variables: whether the environment variables may decide (for this machine).

    Raises:
        UnknownAcceleratorError: when an environment variable names one that does not exist.
    """
    chosen, because = _overridden() if facts is None and variables else (None, "")
    on_purpose = chosen is not None
    asked = [_make(each.name, facts) for each in ACCELERATORS]
    verdicts = [(each.name, each.explain(DEVICE_AVAILABLE)) for each in asked]
    visible = {each.name: _is_visible(each) for each in asked}
    if chosen is None:
        chosen, because = _first_usable(verdicts, visible)
        because += _other_build(asked[0].facts) if chosen == Cpu.name else ""
    candidates = (Candidate(name, v, visible[name], name == chosen) for name, v in verdicts)
    return Choice(chosen, because, tuple(candidates), on_purpose)


def _is_visible(accelerator: Accelerator) -> bool:
    found = accelerator.facts.section("devices", accelerator.name)
    listed = found.get("list")
    return bool(isinstance(listed, list) and listed) or bool(found.get("visible_to_system"))


def _first_usable(
    verdicts: Sequence[tuple[str, Verdict]], visible: Mapping[str, bool]
) -> tuple[str, str]:
    for name, verdict in verdicts:
        if verdict.supported():
            return name, "it is the first with a usable device"
    for name, verdict in verdicts:  # facts of hardware alone tell no framework
        if verdict.status is Status.UNKNOWN and visible[name] and name != Cpu.name:
            return name, "its hardware is there, and whether it can be used is not known"
    return Cpu.name, "nothing else is usable"


def _other_build(facts: Facts) -> str:
    """Name the family that this torch is built for, where no accelerator here is of it."""
    build = facts.get("torch", "build")
    known = {kind.name for kind in ACCELERATORS}
    if not isinstance(build, str) or build in known:
        return ""
    return f" (this PyTorch is built for {build}, which this accelcaps does not know)"


def _overridden() -> tuple[str | None, str]:
    for variable in _VARIABLES:
        name = os.environ.get(variable)
        if name:
            _known(name, variable)
            return name, f"{variable} says so"
    return None, ""


def _make(name: str, facts: Facts | None) -> Accelerator:
    kind = _known(name)
    if facts is not None:
        return kind(facts)
    if name not in _here:
        if not _facts_here:
            _facts_here.append(this_machine())
        _here[name] = kind(_facts_here[0])
    return _here[name]


def _known(name: str, asked_by: str = "") -> type[Accelerator]:
    for kind in ACCELERATORS:
        if kind.name == name:
            return kind
    raise UnknownAcceleratorError(name, [kind.name for kind in ACCELERATORS], asked_by)
