"""Import a distribution's top-level modules."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelcaps.facts.isolation import Report

__all__ = ["probe"]


def probe(report: Report, distribution: str) -> None:
    """Report ``imported``: the modules; an exception is the answer that it cannot be imported."""
    metadata = importlib.metadata.distribution(distribution)
    listed = (metadata.read_text("top_level.txt") or "").split()
    if not listed:
        files = [file for file in metadata.files or () if file.suffix == ".py"]
        listed = sorted({f.parts[0].removesuffix(".py") for f in files if ".." not in f.parts})
    modules = [name for name in listed if name.isidentifier() and not name.startswith("_")]
    for name in modules:
        importlib.import_module(name)
    report("imported", modules)
