"""Load what a package offers under the entry-point group, and look at it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accelcaps.facts.isolation import Report

__all__ = ["probe"]


def probe(report: Report, value: str, name: str) -> None:
    """Report ``fault``: what is wrong with the accelerator (``None``: nothing).

    Args:
        report: takes what is observed.
        value: ``module:object`` of the entry point.
        name: the entry point's name.
    """
    report("fault")
    module, _, attribute = value.partition(":")
    found: Any = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    from accelcaps.accelerators.plugins import fault_of

    report("fault", fault_of(found, name))
