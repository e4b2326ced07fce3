"""The limits of devices: values of the weakest device, by the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.version import Version

from accelcaps import features as F
from accelcaps.accelerators.host import value
from accelcaps.facts.model import NotObserved
from accelcaps.rules import Finding, Question, Rule, no, value_of, version
from accelcaps.verdict import Code, Evidence, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.feature import Feature

__all__ = ["device_count", "device_limits", "least"]


def least(what: str, read: str | Callable[[Mapping[str, Any]], Any]) -> Rule:
    """Make the rule of a limit that is the least of what the visible devices have.

    Args:
        what: the limit, in words.
        read: the fact of a device, or a function that reads it from the device.
    """

    def judge(question: Question) -> Finding:
        devices = question.facts.get("devices", question.accelerator, "list")
        if isinstance(devices, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (devices.reason(),))
        visible = [device for device in devices if device.get("visible") is not False]
        values = [device.get(read) if isinstance(read, str) else read(device) for device in visible]
        known = [
            found
            for found in values
            if isinstance(found, (int, float, str, Version)) and not isinstance(found, bool)
        ]
        if not visible or len(known) < len(visible):
            text = f"no device tells its {what}" if visible else "there is no device on this host"
            reason = Reason(Code.NOT_OBSERVED, text)
            return Finding(Status.UNKNOWN, question.facts.evidence, (reason,))
        smallest = min(known, key=_order)
        found = str(smallest) if isinstance(smallest, Version) else smallest
        return Finding(Status.YES, question.facts.evidence, value=found)

    return value_of(judge)


def _order(found: Any) -> Any:
    """Numbers by size; names by the number in them, so that gfx90a comes before gfx1100."""
    if not isinstance(found, str):
        return found
    parsed = version(found)
    if isinstance(parsed, Version):
        return parsed
    digits = "".join(letter for letter in found if letter.isdigit())
    return Version(digits or "0")


def device_count() -> Rule:
    """Make the rule of ``limit.device_count``: how many devices this process may see."""

    def judge(question: Question) -> Finding:
        devices = question.facts.get("devices", question.accelerator, "list")
        if isinstance(devices, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (devices.reason(),))
        visible = [device for device in devices if device.get("visible") is not False]
        return Finding(Status.YES, question.facts.evidence, value=len(visible))

    return value_of(judge)


def device_limits(name: str, source: str, *, runtime: Rule, comm: Rule) -> Mapping[Feature, Rule]:
    """Return the limits that every accelerator with devices of its own has.

    Args:
        name: the accelerator's name.
        source: who tells the devices' figures.
        runtime: the rule of ``limit.runtime_version``.
        comm: the rule of ``limit.comm_version``.
    """
    return {
        F.LIMIT_DEVICE_COUNT: device_count().source(source),
        F.LIMIT_MEMORY_BYTES: least("memory", "memory_bytes").source(source),
        F.LIMIT_ARCH: least("architecture", "arch").source(source),
        F.LIMIT_CORES: least("multiprocessors", "multiprocessors").source(source),
        F.LIMIT_SHARED_MEMORY_PER_BLOCK: least("shared memory", "shared_memory_per_block").source(
            source
        ),
        F.LIMIT_WARP_SIZE: least("warp size", "warp_size").source(source),
        F.LIMIT_COMPUTE_CAPABILITY: no(
            Code.NOT_IMPLEMENTED, "compute capability is NVIDIA's figure"
        ).source("NVIDIA CUDA Programming Guide, Compute Capabilities"),
        F.LIMIT_DRIVER_VERSION: value(f"devices.{name}.driver.version", "driver").source(source),
        F.LIMIT_RUNTIME_VERSION: runtime,
        F.LIMIT_COMM_VERSION: comm,
    }
