"""What a feature is, and the registry every name goes through."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelcaps.errors import FeatureRegistrationError, UnknownFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Feature", "FeatureRegistry"]

_NAME = re.compile(r"[a-z0-9_]+(\.[A-Za-z0-9_-]+)+")
_VENDOR_NAME = re.compile(r"x\.[a-z0-9_]+(\.[a-z0-9_]+)+")


class Feature(str):
    """A named ability, ``group.name``; hashes, compares and serialises as its name.

    Attributes:
        title: a few words for a table.
        meaning: what a yes promises, in one sentence.
        since: the accelcaps version that brought the name.
    """

    __slots__ = ("meaning", "since", "title")

    title: str  # type: ignore[assignment]  # a word for tables, not str.title
    meaning: str
    since: str

    def __new__(cls, name: str, title: str, meaning: str, since: str = "0.1") -> Feature:
        """Make a feature without registering it; use a registry to make one that is known."""
        feature = super().__new__(cls, name)
        feature.title = title
        feature.meaning = meaning
        feature.since = since
        return feature

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (str(self), self.title, self.meaning, self.since)

    @property
    def group(self) -> str:
        """The part before the first dot."""
        return self.partition(".")[0]


@dataclass(frozen=True, slots=True)
class _OpenGroup:
    """A group whose members depend on what is installed, such as ``pkg``."""

    title: str
    meaning: str


class FeatureRegistry:
    """Every feature by name: one place, each name once, with who registered it."""

    def __init__(self) -> None:
        self._features: dict[str, Feature] = {}
        self._registrants: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._open_groups: dict[str, _OpenGroup] = {}

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._features.values())

    def __len__(self) -> int:
        return len(self._features)

    def __contains__(self, name: object) -> bool:
        return name in self._features

    def define(self, name: str, title: str, meaning: str, *, since: str = "0.1") -> Feature:
        """Add one of accelcaps' own names."""
        return self._add(Feature(name, title, meaning, since), "accelcaps")

    def register(self, name: str, title: str, meaning: str, *, by: str) -> Feature:
        """Add a vendor's name, ``x.<vendor>.<name>``.

        Args:
            name: the full name; lower case letters, digits and underscores between the dots.
            title: a few words for a table.
            meaning: what a yes promises, in one sentence.
            by: who registers it, for the error when somebody else does too.

        Raises:
            FeatureRegistrationError: when the name is malformed or taken.
        """
        if not _VENDOR_NAME.fullmatch(name):
            raise FeatureRegistrationError(
                f"{by} cannot register {name!r}: a vendor's feature is called x.<vendor>.<name>, "
                "in lower case letters, digits and underscores"
            )
        return self._add(Feature(name, title, meaning), by)

    def alias(self, word: str, name: str) -> None:
        """Let ``word`` stand for the feature called ``name``."""
        self._aliases[word] = name

    def aliases(self) -> dict[str, Feature]:
        """Return each other word and the feature that it stands for."""
        return {word: self.get(name) for word, name in self._aliases.items()}

    def open_group(self, group: str, title: str, meaning: str) -> None:
        """Let any ``group.name`` exist; ``{}`` in title and meaning stands for the name."""
        self._open_groups[group] = _OpenGroup(title, meaning)

    def get(self, name: str, *, also: Iterable[str] = ()) -> Feature:
        """Return the feature called ``name`` (or an alias of it).

        Args:
            name: a feature's name.
            also: further names that exist here, such as ops reflected from an installed package.

        Raises:
            UnknownFeatureError: with the nearest names, when there is none.
        """
        found = self._features.get(name) or self._features.get(self._aliases.get(name, ""))
        if found is not None:
            return found
        group, _, rest = name.partition(".")
        if group in self._open_groups and rest:
            title, meaning = self._open_groups[group].title, self._open_groups[group].meaning
            return Feature(name, title.format(rest), meaning.format(rest))
        also = set(also)
        if name in also:
            return Feature(name, rest, f"{rest} can be loaded and used here")
        raise UnknownFeatureError(name, self.nearest(name, also=also))

    def nearest(self, name: str, *, also: Iterable[str] = ()) -> list[str]:
        """Return up to three names that look like ``name``."""
        known = {*self._features, *self._aliases, *also}
        wanted = name.lower()
        close = difflib.get_close_matches(wanted, sorted(known), n=3, cutoff=0.6)
        if not close:  # a bare name, without its group
            alike = [each for each in known if each.rpartition(".")[2] == wanted]
            close = sorted(alike, key=lambda each: (each.count("."), each))[:3]
        return close

    def groups(self) -> list[str]:
        """Return the groups in the order in which they are defined."""
        return list(dict.fromkeys(feature.group for feature in self))

    def in_group(self, pattern: str) -> list[Feature]:
        """Return the features matching ``group``, ``group.*`` or ``*``.

        Raises:
            UnknownFeatureError: when no feature matches.
        """
        prefix = pattern.removesuffix("*").removesuffix(".")
        found = [f for f in self if not prefix or f == prefix or f.startswith(f"{prefix}.")]
        if not found:
            raise UnknownFeatureError(pattern, self.nearest(prefix) or self.groups())
        return found

    def _add(self, feature: Feature, by: str) -> Feature:
        name = str(feature)
        if not _NAME.fullmatch(name):
            raise FeatureRegistrationError(f"{by}: {name!r} is not of the form group.name")
        if name in self._features:
            raise FeatureRegistrationError(
                f"{by} cannot register {name!r}: {self._registrants[name]} has registered it"
            )
        self._features[name] = feature
        self._registrants[name] = by
        return feature
