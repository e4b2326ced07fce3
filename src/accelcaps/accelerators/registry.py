"""Which accelerators there are, which one is chosen, and why the others are not."""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelcaps.accelerators.cpu import Cpu
from accelcaps.accelerators.cuda import Cuda
from accelcaps.accelerators.forced import read_force
from accelcaps.accelerators.hpu import Hpu
from accelcaps.accelerators.klxpu import Klxpu
from accelcaps.accelerators.mlu import Mlu
from accelcaps.accelerators.mps import Mps
from accelcaps.accelerators.npu import Npu
from accelcaps.accelerators.plugins import Plugin, kinds, load_plugins
from accelcaps.accelerators.rocm import Rocm
from accelcaps.accelerators.sdaa import Sdaa
from accelcaps.accelerators.supa import Supa
from accelcaps.accelerators.xpu import Xpu
from accelcaps.errors import UnknownAcceleratorError
from accelcaps.facts import Facts, this_machine
from accelcaps.features import DEVICE_AVAILABLE
from accelcaps.verdict import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.accelerators.forced import Force
    from accelcaps.facts.sources import DeviceSource

__all__ = [
    "ACCELERATORS", "Candidate", "Choice", "accelerators", "choose", "get_accelerator", "plugins",
    "sources", "why",
]  # fmt: skip

ACCELERATORS: tuple[type[Accelerator], ...] = (
    Cuda, Rocm, Hpu, Npu, Mlu, Sdaa, Supa, Klxpu, Xpu, Mps, Cpu
)  # fmt: skip
"""Those that come with accelcaps, in the order in which they are considered."""

_VARIABLES = ("ACCELCAPS_ACCELERATOR", "DS_ACCELERATOR")
_FORCE = "ACCELCAPS_FORCE"
_here: dict[str, Accelerator] = {}
_facts_here: list[Facts] = []
_plugins: list[Plugin] | None = None
_loading = threading.Lock()


def plugins() -> list[Plugin]:
    """Return what installed packages offer, loaded or not; they are loaded once."""
    global _plugins
    with _loading:
        if _plugins is None:
            _plugins = load_plugins([kind.name for kind in ACCELERATORS])
        return _plugins


def accelerators() -> tuple[type[Accelerator], ...]:
    """Return every accelerator in the order in which it is considered; the CPU is the last."""
    return (*ACCELERATORS[:-1], *kinds(plugins()), ACCELERATORS[-1])


def sources() -> dict[str, DeviceSource]:
    """Return how the devices of each accelerator are seen."""
    return {kind.name: kind.seen_by for kind in accelerators()}


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
        plugins: what installed packages offer, with what went wrong.
    """

    chosen: str
    because: str
    candidates: tuple[Candidate, ...]
    on_purpose: bool = False
    plugins: tuple[Plugin, ...] = ()

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
            "plugins": [plugin.to_json() for plugin in self.plugins],
        }

    def __str__(self) -> str:
        failed = [f"plugin {plugin}" for plugin in self.plugins if plugin.trouble]
        lines = [f"{self.chosen}, because {self.because}", *map(str, self.candidates), *failed]
        return "\n".join(lines)


def get_accelerator(
    name: str | None = None, facts: Facts | None = None, *, force: Force | None = None
) -> Accelerator:
    """Return an accelerator to ask.

    Args:
        name: which one; else ``ACCELCAPS_ACCELERATOR``, then ``DS_ACCELERATOR``, else the first
            with a usable device.
        facts: facts of another machine; this machine's, where not given.
        force: verdicts that you decide, ``"dtype.bf16=no"`` or a mapping. On this machine
            ``ACCELCAPS_FORCE`` does the same for every accelerator.

    Raises:
        UnknownAcceleratorError: when no accelerator has that name; it lists those that exist.
        OverrideError: when a forced verdict cannot be understood.
        UnknownFeatureError: when one names a feature that does not exist.

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
    return _make(name, facts, force)


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
    asked = [_make(each.name, facts) for each in accelerators()]
    verdicts = {each.name: each.explain(DEVICE_AVAILABLE) for each in asked}
    visible = {each.name: _is_visible(each) for each in asked}
    if chosen is None:
        integrated = {each.name for each in asked if _is_integrated(each)}
        chosen, because = _first_usable(verdicts, visible, integrated)
    candidates = (Candidate(name, v, visible[name], name == chosen) for name, v in verdicts.items())
    return Choice(chosen, because, tuple(candidates), on_purpose, tuple(plugins()))


def _is_visible(accelerator: Accelerator) -> bool:
    found = accelerator.facts.section("devices", accelerator.name)
    listed = found.get("list")
    return bool(isinstance(listed, list) and listed) or bool(found.get("visible_to_system"))


def _is_integrated(accelerator: Accelerator) -> bool:
    """Whether every device of it is a part of the processor."""
    devices = accelerator.devices()
    if not isinstance(devices, list) or not devices:
        return False
    return all(device.get("integrated") is True for device in devices)


def _first_usable(
    verdicts: Mapping[str, Verdict], visible: Mapping[str, bool], integrated: Collection[str]
) -> tuple[str, str]:
    """Choose a discrete device before an integrated one, and any device before the CPU."""
    usable = [name for name, verdict in verdicts.items() if verdict.supported()]
    ranked = sorted(usable, key=lambda name: (name == Cpu.name, name in integrated))
    if ranked and ranked[0] != Cpu.name:
        return ranked[0], "it is the first with a usable device" + _also(ranked, integrated)
    for name, verdict in verdicts.items():  # facts of hardware alone tell no framework
        if verdict.status is Status.UNKNOWN and visible[name] and name != Cpu.name:
            return name, "its hardware is there, and whether it can be used is not known"
    if ranked:
        return Cpu.name, "it is the first with a usable device"
    return Cpu.name, "nothing else is usable"


def _also(ranked: Sequence[str], integrated: Collection[str]) -> str:
    """Say which others are usable, and come after."""
    others = [
        f"{name} (integrated)" if name in integrated else name
        for name in ranked[1:]
        if name != Cpu.name
    ]
    return f"; {', '.join(others)} can be used too, asked for by name" if others else ""


def _overridden() -> tuple[str | None, str]:
    for variable in _VARIABLES:
        name = os.environ.get(variable)
        if name == "cuda" and variable == "DS_ACCELERATOR" and _facts().get("torch", "hip"):
            built = _facts().get("torch", "hip")
            if isinstance(built, str):
                return "rocm", f"{variable} says cuda, as DeepSpeed calls ROCm"
        if name:
            _known(name, variable)
            return name, f"{variable} says so"
    return None, ""


def _make(name: str, facts: Facts | None, force: Force | None = None) -> Accelerator:
    kind = _known(name)
    forced = read_force(force, "an argument") if force else {}
    if facts is not None:
        return kind(facts, forced)
    forced = {**read_force(os.environ.get(_FORCE, ""), _FORCE), **forced}
    known = _here.get(name)
    if known is None or known.forced != forced:
        known = kind(_facts(), forced)
        if not force:
            _here[name] = known
    return known


def _facts() -> Facts:
    if not _facts_here:
        _facts_here.append(this_machine(sources()))
    return _facts_here[0]


def _known(name: str, asked_by: str = "") -> type[Accelerator]:
    for kind in accelerators():
        if kind.name == name:
            return kind
    trouble = next((str(p.trouble) for p in plugins() if p.name == name and p.trouble), "")
    raise UnknownAcceleratorError(name, [kind.name for kind in accelerators()], asked_by, trouble)
