"""The sections ``devices.<accelerator>``: the hardware as the system sees it.

Each accelerator states how its devices are seen (:class:`DeviceSource`): on the PCI bus, as
device nodes, by the vendor's management library or command, and last by the framework, which
needs a device context and so is asked only for what is still open.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.isolation import Outcome, run_probe
from accelcaps.facts.model import NotObserved
from accelcaps.facts.visibility import visible
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts
    from accelcaps.facts.sources import DeviceSource, Sources

__all__ = ["DevicesCollector"]

_DEADLINE = 20.0


class DevicesCollector:
    """Looks for the devices of an accelerator the way that the accelerator states.

    Args:
        sources: accelerator name → how its devices are seen.
    """

    section = ("devices",)
    keyed_by = "accelerator"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self, facts: Facts, key: str) -> dict[str, Any] | NotObserved:
        """Observe the devices of the accelerator called ``key``."""
        if key == "cpu":
            device = {"uuid": "cpu", "name": facts.get("cpu", "model")}
            return {"list": [device], "visible_to_system": []}
        source = self._sources.get(key)
        if source is None:
            return NotObserved(Code.NOT_OBSERVED, f"how devices of {key} are seen is not known")
        if source.system and source.system != facts.get("host", "system"):
            return {"list": [], "visible_to_system": [], "driver": None}
        found: dict[str, Any] = {
            "visible_to_system": _on_bus(source) or _nodes(source),
            "driver": None,
            "list": [],
        }
        if source.probe and (found["visible_to_system"] or source.without_signs):
            outcome = run_probe(source.probe, deadline=_DEADLINE)
            _take(outcome, found, source, facts)
        if _left_open(found["list"]) and (found["list"] or found["visible_to_system"] or
                                          _framework_has_it(source, facts)):  # fmt: skip
            seen_by_torch = facts.section("torch", "devices", key).get("list")
            if seen_by_torch:
                found["list"] = [{**device, "visible": True} for device in seen_by_torch]
        if found["driver"] is None and isinstance(found["list"], list) and found["list"]:
            found["driver"] = _driver_of(found["list"])
        return found


def _take(outcome: Outcome, found: dict[str, Any], source: DeviceSource, facts: Facts) -> None:
    """Put into ``found`` what a management library or command told."""
    if "driver" in outcome.results:
        found["driver"] = outcome.results["driver"]
    if "devices" in outcome.results:
        variables = facts.section("limits", "visible_devices")
        devices = outcome.results["devices"]
        shown = visible(devices, variables, source.visibility)
        found["list"] = [
            {**device, "visible": seen} for device, seen in zip(devices, shown, strict=True)
        ]
    elif outcome.failure is not None and not _means_no_driver(outcome.failure):
        found["list"] = outcome.failure
        found["driver"] = found["driver"] or outcome.failure


def _driver_of(devices: list[dict[str, Any]]) -> dict[str, Any] | NotObserved:
    """Return the driver that the framework names: devices that are listed have one."""
    told = [device["driver"] for device in devices if device.get("driver")]
    if told:
        return {"version": told[0]}
    return NotObserved(Code.NOT_OBSERVED, "nothing here tells the version of the driver")


def _framework_has_it(source: DeviceSource, facts: Facts) -> bool:
    """Whether the installed framework may know devices that nothing else shows."""
    if source.module:
        return True  # the torch section finds out cheaply whether it is installed
    return bool(source.build) and isinstance(facts.get("torch", source.build), str)


def _left_open(devices: Any) -> bool:
    """Whether there is a question left that torch can answer: which devices, of which size.

    So it is with integrated GPUs, where NVML does not work, with a part of a card (MIG), and
    where it cannot be told which devices an environment variable leaves visible.
    """
    if not isinstance(devices, list) or not devices:
        return True
    return any(
        device["visible"] is None
        or device.get("mig")
        or any(NotObserved.read(value) is not None for value in device.values())
        for device in devices
    )


def _means_no_driver(failure: NotObserved) -> bool:
    """Whether the library said that there is no driver, rather than failing to tell."""
    return failure.code is Code.PROBE_CRASHED and any(
        words in failure.text for words in ("LibraryNotFound", "DriverNotLoaded", "NoDriver")
    )


def _on_bus(source: DeviceSource) -> list[dict[str, str]]:
    """Return the devices of the stated vendor and class on the PCI bus, by address."""
    if sys.platform != "linux":
        return []
    cards = []
    for place in sorted(Path("/sys/bus/pci/devices").glob("*")):
        try:
            vendor = (place / "vendor").read_text().strip()
            kind = (place / "class").read_text().strip()
            if any(vendor == known and kind.startswith(begin) for known, begin in source.pci):
                cards.append({"pci": place.name, "id": (place / "device").read_text().strip()})
        except OSError:
            continue
    windows = Path("/dev/dxg").exists() and Path("/usr/lib/wsl/lib/libcuda.so.1").exists()
    if not cards and windows and source.torch_type == "cuda" and source.build == "cuda":
        cards.append({"pci": "wsl", "id": "dxg"})
    return cards


def _nodes(source: DeviceSource) -> list[dict[str, str]]:
    """Return the device nodes that stand for a device, where the bus shows none."""
    found = [place for pattern in source.nodes for place in sorted(Path("/dev").glob(pattern))]
    return [{"pci": f"/dev/{place.relative_to('/dev')}", "id": "node"} for place in found]
