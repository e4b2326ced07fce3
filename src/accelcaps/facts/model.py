"""Facts: what was observed, in named sections, each collected on first need and at most once."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from accelcaps.verdict import Code, Evidence, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Collector", "Facts", "NotObserved"]


@dataclass(frozen=True, slots=True)
class NotObserved:
    """Stands where a fact could not be observed, and says why."""

    code: Code
    text: str

    def reason(self) -> Reason:
        """Return the reason that a verdict resting on this fact gives."""
        return Reason(self.code, self.text)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"not_observed": {"code": …, "text": …}}``."""
        return {"not_observed": {"code": self.code.value, "text": self.text}}

    @classmethod
    def read(cls, data: Any) -> NotObserved | None:
        """Return the value that :meth:`to_json` wrote, or ``None`` for anything else."""
        if isinstance(data, cls):
            return data
        if isinstance(data, Mapping) and set(data) == {"not_observed"}:
            stated = data["not_observed"]
            try:
                code = Code(stated["code"])
            except (KeyError, TypeError, ValueError):  # written by a later version
                code = Code.NOT_OBSERVED
            text = stated.get("text") if isinstance(stated, Mapping) else stated
            return cls(code, str(text))
        return None


_COMPLETE = {("packages",), ("host", "environment"), ("limits", "visible_devices")}
"""Mappings that list all there is: what is not in them was observed not to be there."""


class Collector(Protocol):
    """Observes one section.

    Attributes:
        section: the section's path, such as ``("torch", "runtime")``.
        keyed_by: of what the section has one part each, collected one by one: ``accelerator``,
            ``distribution``, or nothing (empty).
    """

    @property
    def section(self) -> tuple[str, ...]:
        """The section's path."""
        ...

    @property
    def keyed_by(self) -> str:
        """Of what the section has one part each."""
        ...

    def collect(self, facts: Facts, key: str) -> Mapping[str, Any] | NotObserved:
        """Observe the section (or its part for ``key``); may look at other sections."""
        ...


class Facts:
    """A tree of observed facts; what is missing is collected on first need, where it can be.

    Args:
        observed: what is known already, as nested mappings.
        collectors: how to observe more. Without any, these are recorded facts: of another
            machine, from a file, or of hardware nobody here has.
        evidence: what a verdict that rests on these facts can claim.
        name: what to call these facts in a sentence.
        complete: whether sections that list all there is, such as the packages, do so.
    """

    def __init__(
        self,
        observed: Mapping[str, Any] | None = None,
        collectors: Iterable[Collector] = (),
        *,
        evidence: Evidence = Evidence.DETECTED,
        name: str = "this machine",
        complete: bool = True,
    ) -> None:
        self._tree: dict[str, Any] = dict(observed or {})
        self._collectors = {collector.section: collector for collector in collectors}
        self._done: set[tuple[str, ...]] = set()
        self._begun: set[tuple[str, ...]] = set()
        self._lock = threading.RLock()  # for the tree
        self._busy: defaultdict[tuple[str, ...], threading.RLock] = defaultdict(threading.RLock)
        self.evidence = evidence
        self.name = name
        self._complete = _COMPLETE if complete else set()

    def get(self, *path: str) -> Any:
        """Return the fact at ``path``.

        Returns:
            The value; ``None`` where something was observed not to be there; or a
            :class:`NotObserved` that says why it is not known.
        """
        self._ensure(path)
        found: Any = self._tree
        for depth, part in enumerate(path):
            if isinstance(found, Mapping) and part not in found and path[:depth] in self._complete:
                return None
            if found is None:
                return None  # what is not there has no parts either
            if not isinstance(found, Mapping) or part not in found:
                return self._missing(path[: depth + 1])
            found = found[part]
            stated = NotObserved.read(found)
            if stated is not None:
                return stated
        return found

    def section(self, *path: str) -> Mapping[str, Any]:
        """Return the mapping at ``path``, empty where it is not observed."""
        found = self.get(*path)
        return found if isinstance(found, Mapping) else {}

    def collect(self, *paths: Sequence[str]) -> None:
        """Observe these sections now."""
        for path in paths:
            self._ensure(tuple(path))

    def collect_all(self, *accelerators: str) -> None:
        """Observe every section, and the parts for these accelerators, several at a time."""
        places: list[tuple[str, ...]] = []
        for section, collector in self._collectors.items():
            if not collector.keyed_by:
                places.append(section)
            elif collector.keyed_by == "accelerator":
                places += [(*section, accelerator) for accelerator in accelerators]
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(self._ensure, places))

    @property
    def can_be_observed(self) -> bool:
        """Whether these are facts of the machine this runs on, rather than recorded ones."""
        return bool(self._collectors)

    def record(self, place: Sequence[str], found: Mapping[str, Any]) -> None:
        """Add what was observed by other means than a collector; it replaces what was there.

        Args:
            place: the path, such as ``("exercised", "cpu", "dtype.bf16")``.
            found: JSON-serialisable data.
        """
        with self._lock:
            self._store((*place,), NotObserved(Code.NOT_OBSERVED, ""))  # nothing is merged
            self._store((*place,), found)

    def to_json(self) -> dict[str, Any]:
        """Return everything observed so far as JSON-serialisable data."""
        with self._lock:
            return {name: _plain(value) for name, value in self._tree.items()}

    def _ensure(self, path: tuple[str, ...]) -> None:
        """Collect the sections that ``path`` lies in, outermost first."""
        for depth in range(1, len(path) + 1):
            collector = self._collectors.get(path[:depth])
            if collector is None:
                continue
            if not collector.keyed_by:
                self._run(collector, path[:depth], "")
            elif len(path) > depth:
                self._run(collector, path[: depth + 1], path[depth])

    def _run(self, collector: Collector, place: tuple[str, ...], key: str) -> None:
        if place in self._done:
            return
        with self._lock:
            busy = self._busy[place]
        with busy:  # a second thread that asks for the same section waits for the first
            if place in self._done or place in self._begun:
                return
            self._begun.add(place)  # a collector that asks for its own section must end
            found: Mapping[str, Any] | NotObserved
            try:
                found = collector.collect(self, key)
            except Exception as error:  # a collector must not take the caller down
                text = f"{'.'.join(place)}: {type(error).__name__}: {error}"
                found = NotObserved(Code.PROBE_CRASHED, text)
            except BaseException:  # interrupted: the next who asks may try again
                self._begun.discard(place)
                raise
            with self._lock:
                self._store(place, found)
                self._done.add(place)

    def _store(self, place: tuple[str, ...], found: Mapping[str, Any] | NotObserved) -> None:
        node = self._tree
        for part in place[:-1]:
            child = node.get(part)
            if not isinstance(child, dict):
                child = {} if child is None or NotObserved.read(child) else dict(child)
                node[part] = child
            node = child
        present = node.get(place[-1])
        if isinstance(found, Mapping) and isinstance(present, Mapping):
            found = {**found, **present}  # what is nested below was collected on its own
        node[place[-1]] = found if isinstance(found, NotObserved) else dict(found)

    def _missing(self, path: Sequence[str]) -> NotObserved:
        where = ".".join(path)
        if self._collectors:
            return NotObserved(Code.NOT_OBSERVED, f"{where} could not be observed on {self.name}")
        return NotObserved(Code.NOT_RECORDED, f"{where} is not recorded in {self.name}")


def _plain(value: Any) -> Any:
    if isinstance(value, NotObserved):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value
