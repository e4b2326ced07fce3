"""The section ``packages``: installed distributions and their versions, without importing any."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts

__all__ = ["PackagesCollector", "normalised"]

_METADATA = re.compile(
    r"(?P<name>.+?)-(?P<version>[^-]+)(?:-py[\d.]+[^.]*)?\.(?:dist-info|egg-info)"
)
_VERSION = re.compile(r"^Version: *(\S+)", re.MULTILINE)


class PackagesCollector:
    """Reads the names of the metadata folders on ``sys.path``; the first found wins."""

    section = ("packages",)
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section: normalised name → version."""
        found: dict[str, Any] = {}
        for entry in sys.path:
            try:
                names = sorted(child.name for child in Path(entry or ".").iterdir())
            except OSError:
                continue
            for name in names:
                match = _METADATA.fullmatch(name)
                if match:
                    found.setdefault(normalised(match["name"]), match["version"])
                elif name.endswith(".egg-info"):  # a source folder in development mode
                    version = _version_in(Path(entry or ".", name, "PKG-INFO"))
                    if version is not None:
                        found.setdefault(normalised(name.removesuffix(".egg-info")), version)
        return found


def _version_in(metadata: Path) -> str | None:
    try:
        told = _VERSION.search(metadata.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return told[1] if told else None


def normalised(name: str) -> str:
    """Return the name that all spellings of a distribution's name share (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
