"""Accelerators that other packages bring, by the entry-point group ``accelcaps.accelerators``.

A package is tried in a child process first: one that is broken, slow, or of a wrong kind is told
about, and harms nothing else.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelcaps.accelerators.base import INTERFACE, Accelerator
from accelcaps.facts.isolation import run_probe
from accelcaps.facts.sources import DeviceSource
from accelcaps.feature import Feature
from accelcaps.rules import Rule
from accelcaps.verdict import Code, Reason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["GROUP", "VARIABLE", "Plugin", "fault_of", "kinds", "load_plugins"]

GROUP = "accelcaps.accelerators"
VARIABLE = "ACCELCAPS_PLUGINS"
_DEADLINE = 10.0
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One accelerator that a package offers.

    Attributes:
        name: the name of its entry point, which is the accelerator's.
        package: the distribution that brings it, with version.
        kind: the accelerator, where it could be loaded.
        trouble: why it could not be.
    """

    name: str
    package: str
    kind: type[Accelerator] | None = None
    trouble: Reason | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.package}): {self.trouble or 'loaded'}"

    def to_json(self) -> dict[str, Any]:
        """Return the plugin as JSON-serialisable data."""
        trouble = self.trouble.to_json() if self.trouble else None
        return {"name": self.name, "package": self.package, "trouble": trouble}


def load_plugins(taken: Collection[str], deadline: float = _DEADLINE) -> list[Plugin]:
    """Load what installed packages offer; ``ACCELCAPS_PLUGINS`` can name the only ones, or none.

    Args:
        taken: names that exist already.
        deadline: seconds that a package may take to be imported.
    """
    entries = list(importlib.metadata.entry_points(group=GROUP))
    wanted = _wanted()
    missing: list[Plugin] = []
    if wanted is not None:
        there = {entry.name for entry in entries}
        missing = [_not_installed(name) for name in wanted if name not in there]
        entries = [entry for entry in entries if entry.name in wanted]
    if not entries:
        return missing
    with ThreadPoolExecutor(4) as pool:
        tried = list(pool.map(lambda entry: _try(entry, deadline), entries))
    loaded: list[Plugin] = []
    names = set(taken)
    for entry, trouble in zip(entries, tried, strict=True):
        if trouble is None and entry.name in names:
            text = f"an accelerator called {entry.name} is there already"
            trouble = Reason(Code.POLICY, text)
        loaded.append(_load(entry, trouble))
        names.add(entry.name)
    return loaded + missing


def fault_of(kind: Any, name: str) -> str | None:
    """Return what is wrong with an accelerator that a package offers; ``None``: nothing."""
    if not isinstance(kind, type) or not issubclass(kind, Accelerator):
        return f"{kind!r} is not a subclass of accelcaps.Accelerator"
    below = kind.__mro__[: kind.__mro__.index(Accelerator)]
    stated = next((c.__dict__["interface"] for c in below if "interface" in c.__dict__), None)
    if stated is None:
        return f"it does not state which interface it is built for (interface = {INTERFACE})"
    if stated != INTERFACE:
        update = "accelcaps" if isinstance(stated, int) and stated > INTERFACE else "the package"
        return f"it is built for interface {stated!r}, and this is {INTERFACE}: update {update}"
    if not isinstance(getattr(kind, "name", None), str) or not _NAME.fullmatch(kind.name):
        return "its name must be lower case letters, digits and underscores"
    if kind.name != name:
        return f"its entry point is called {name}, and the accelerator {kind.name}"
    if not isinstance(getattr(kind, "title", None), str):
        return "it has no title"
    if not isinstance(getattr(kind, "seen_by", None), DeviceSource):
        return "seen_by must be a DeviceSource"
    return _fault_of_table(kind.capabilities)


def _fault_of_table(table: Any) -> str | None:
    if not isinstance(table, Mapping):
        return "capabilities must map features to rules"
    for feature, rule in table.items():
        if not isinstance(feature, Feature):
            return f"capabilities: {feature!r} is not a feature (see accelcaps.features)"
        if not isinstance(rule, Rule):
            return f"capabilities: {feature} has {rule!r}, which is not a rule"
    return None


def _wanted() -> list[str] | None:
    """Return the names that the environment allows; ``None``: every one."""
    listed = os.environ.get(VARIABLE)
    if listed is None:
        return None
    return [name for name in re.split(r"[,\s]+", listed) if name and name != "none"]


def _not_installed(name: str) -> Plugin:
    text = f"{VARIABLE} names it, and no installed package offers it"
    return Plugin(name, "not installed", trouble=Reason(Code.SOFTWARE_MISSING, text))


def _try(entry: importlib.metadata.EntryPoint, deadline: float) -> Reason | None:
    """Load the package in a child process; return what goes wrong there."""
    outcome = run_probe(
        "accelcaps.facts.probes.plugins:probe", entry.value, entry.name, deadline=deadline
    )
    if outcome.failure is not None:
        return outcome.failure.reason()
    fault = outcome.results.get("fault")
    return Reason(Code.POLICY, fault) if fault else None


def _load(entry: importlib.metadata.EntryPoint, trouble: Reason | None) -> Plugin:
    found = entry.dist
    package = f"{found.name} {found.version}" if found is not None else "an unnamed package"
    if trouble is not None:
        return Plugin(entry.name, package, trouble=trouble)
    try:
        return Plugin(entry.name, package, kind=entry.load())
    except (Exception, SystemExit) as error:  # it did load in the child
        text = f"loading it raised {type(error).__name__}: {error}"
        return Plugin(entry.name, package, trouble=Reason(Code.PROBE_CRASHED, text))


def kinds(plugins: Iterable[Plugin]) -> list[type[Accelerator]]:
    """Return the accelerators that could be loaded."""
    return [plugin.kind for plugin in plugins if plugin.kind is not None]
