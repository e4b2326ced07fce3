"""The sections ``devices.*``: the hardware as the system sees it, without the framework."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.isolation import run_probe
from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accelcaps.facts.model import Facts

__all__ = ["CpuDeviceCollector", "CudaDevicesCollector", "visible_to_cuda"]

_DEADLINE = 20.0
_NVIDIA = "0x10de"


class CpuDeviceCollector:
    """The CPU is one device, and always there."""

    section = ("devices", "cpu")
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section."""
        return {
            "list": [{"uuid": "cpu", "name": facts.get("cpu", "model")}],
            "visible_to_system": [],
        }


class CudaDevicesCollector:
    """Asks NVML in a child process, and the PCI bus, which also shows a card without a driver."""

    section = ("devices", "cuda")
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section."""
        on_bus = _nvidia_cards_on_pci()
        outcome = run_probe("accelcaps.facts.probes.nvml:probe", deadline=_DEADLINE)
        found: dict[str, Any] = {"visible_to_system": on_bus, "driver": None, "list": []}
        if "driver" in outcome.results:
            found["driver"] = outcome.results["driver"]
        if "devices" in outcome.results:
            variables = facts.section("limits", "visible_devices")
            found["list"] = [
                {
                    **device,
                    "visible": visible_to_cuda(device, outcome.results["devices"], variables),
                }
                for device in outcome.results["devices"]
            ]
        elif outcome.failure is not None and not _means_no_driver(outcome.failure):
            found["list"] = outcome.failure
            found["driver"] = found["driver"] or outcome.failure
        if _left_open(found["list"]):
            seen_by_torch = facts.section("torch", "devices", "cuda").get("list")
            if seen_by_torch:
                found["list"] = [{**device, "visible": True} for device in seen_by_torch]
        return found


def visible_to_cuda(
    device: Mapping[str, Any], devices: Sequence[Mapping[str, Any]], variables: Mapping[str, str]
) -> bool | None:
    """Return whether ``CUDA_VISIBLE_DEVICES`` leaves a device visible; ``None``: cannot be told.

    CUDA numbers devices fastest first unless ``CUDA_DEVICE_ORDER=PCI_BUS_ID``, and NVML by PCI
    address; so a number tells which device is meant only where the orders agree. CUDA stops at
    the first entry that it does not understand (CUDA Programming Guide, environment variables).
    """
    listed = variables.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return True
    entries = [entry.strip() for entry in listed.split(",") if entry.strip()]
    same_order = variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or (
        len({each.get("name") for each in devices}) <= 1
    )
    for entry in entries:
        if entry.isdigit() and int(entry) < len(devices):
            if not same_order:
                return None
            if int(entry) == device.get("index"):
                return True
        elif entry.startswith(("GPU-", "MIG-")):
            if str(device.get("uuid", "")).startswith(entry):
                return True
            if entry.startswith("MIG-"):
                return None
        else:
            break
    return False


def _left_open(devices: Any) -> bool:
    """Whether NVML leaves a question that torch can answer: which devices, of which size.

    So it is with integrated GPUs, where NVML does not work, with a part of a card (MIG), and
    where it cannot be told which devices ``CUDA_VISIBLE_DEVICES`` leaves visible.
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
    """Whether NVML said that there is no driver, rather than failing to tell."""
    return failure.code is Code.PROBE_CRASHED and any(
        words in failure.text for words in ("LibraryNotFound", "DriverNotLoaded")
    )


def _nvidia_cards_on_pci() -> list[dict[str, str]]:
    """Return the NVIDIA display and 3D controllers on the PCI bus (class 0x03), by address."""
    if sys.platform != "linux":
        return []
    cards = []
    for place in sorted(Path("/sys/bus/pci/devices").glob("*")):
        try:
            vendor = (place / "vendor").read_text().strip()
            kind = (place / "class").read_text().strip()
            if vendor == _NVIDIA and kind.startswith("0x03"):
                cards.append({"pci": place.name, "id": (place / "device").read_text().strip()})
        except OSError:
            continue
    if not cards and Path("/dev/dxg").exists() and Path("/usr/lib/wsl/lib/libcuda.so.1").exists():
        cards.append({"pci": "wsl", "id": "dxg"})
    return cards
