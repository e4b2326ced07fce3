"""Profiles: the facts of a piece of hardware, read from ``data/*.json`` or from a file of yours."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.errors import ProfileError
from accelcaps.facts import Facts
from accelcaps.verdict import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.abc import Traversable

    from accelcaps.profiles.stack import Stack

__all__ = ["SCHEMA_VERSION", "Profile", "profile", "profiles", "schema"]

SCHEMA_VERSION = 1
_SECTIONS = ("host", "cpu")


@dataclass(frozen=True, slots=True)
class Profile:
    """A piece of hardware, described by facts.

    Attributes:
        name: how to ask for it, such as ``nvidia-t4``.
        title: its name for people.
        accelerator: the accelerator it is a device of.
        device: the facts of the device; empty for a CPU.
        sections: further sections of facts, ``host`` and ``cpu``.
        sources: path of a fact, such as ``device.memory_bytes`` → where it is from.
    """

    name: str
    title: str
    accelerator: str
    device: Mapping[str, Any]
    sections: Mapping[str, Mapping[str, Any]]
    sources: Mapping[str, str]

    def facts(self, stack: Stack | None = None) -> Facts:
        """Return the facts of a machine with one such device.

        Args:
            stack: the software on it; nothing is known of its software without one.
        """
        tree: dict[str, Any] = {name: dict(facts) for name, facts in self.sections.items()}
        device = {"uuid": None, **self.device} if self.accelerator != "cpu" else {
            "uuid": "cpu", "name": self.title
        }  # fmt: skip
        tree["devices"] = {
            self.accelerator: {"list": [device], "visible_to_system": [{"pci": self.name}]}
        }
        name = self.name
        if stack is not None:
            for section, facts in stack.facts(self.accelerator).items():
                known = tree.get(section, {})
                tree[section] = {**known, **facts} if section != "devices" else {
                    self.accelerator: {**known[self.accelerator], **facts}
                }  # fmt: skip
            name = f"{self.name} with {stack}"
        return Facts(tree, evidence=Evidence.DECLARED, name=name, complete=False)


def profiles() -> list[Profile]:
    """Return every profile that comes with accelcaps, by name."""
    return [_read(place) for place in _files().values()]


def profile(name: str) -> Profile:
    """Return a profile by name, or read one of yours from a file (``./mine.json``).

    Raises:
        ProfileError: when there is none, with the nearest names, or the file is not a profile.
    """
    if name.endswith(".json"):
        return _read(Path(name))
    found = _files().get(name)
    if found is None:
        near = difflib.get_close_matches(name.lower(), _files(), n=3, cutoff=0.5)
        near = near or [each for each in _files() if name.lower() in each][:3]
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise ProfileError(f"no profile is called {name!r}{hint} (accelcaps profiles lists them)")
    return _read(found)


def schema() -> dict[str, Any]:
    """Return the JSON schema of profile files."""
    text = resources.files("accelcaps.profiles").joinpath("profile.schema.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


@lru_cache(maxsize=1)
def _files() -> dict[str, Traversable]:
    folder = resources.files("accelcaps.profiles").joinpath("data")
    found = {place.name.removesuffix(".json"): place for place in folder.iterdir()}
    return dict(sorted(found.items()))


def _read(place: Traversable | Path) -> Profile:
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProfileError(f"{place}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"{place}: is not JSON: {error}") from error
    _validate(document, str(place))
    sections = {name: document[name] for name in _SECTIONS if name in document}
    stated = {"device": document.get("device", {}), **sections}
    return Profile(
        name=document["name"],
        title=document["title"],
        accelerator=document["accelerator"],
        device={name: fact["value"] for name, fact in stated["device"].items()},
        sections={
            name: {key: fact["value"] for key, fact in facts.items()}
            for name, facts in sections.items()
        },
        sources={
            f"{section}.{name}": fact["source"]
            for section, facts in stated.items()
            for name, fact in facts.items()
        },
    )


def _validate(document: Any, name: str) -> None:
    import fastjsonschema

    try:
        _validator()(document)
    except fastjsonschema.JsonSchemaValueException as error:
        where = error.name.removeprefix("data").removeprefix(".") or "the document"
        what = error.message.removeprefix(error.name).removeprefix("data").strip()
        raise ProfileError(f"{name}: {where}: {what}") from error


@lru_cache(maxsize=1)
def _validator() -> Callable[[Any], Any]:
    import fastjsonschema

    validate: Callable[[Any], Any] = fastjsonschema.compile(schema(), use_default=False)
    return validate
