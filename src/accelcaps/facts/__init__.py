"""Facts, and how they are collected on this machine."""

from accelcaps.facts.model import Collector, Facts, NotObserved

__all__ = ["Collector", "Facts", "NotObserved", "this_machine"]


def this_machine() -> Facts:
    """Return the facts of this machine; nothing is observed until it is asked for."""
    from accelcaps.facts.collectors import COLLECTORS

    return Facts(collectors=COLLECTORS)
