"""Which devices the environment variables leave visible to a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["visible"]


def visible(
    devices: Sequence[Mapping[str, Any]],
    variables: Mapping[str, str],
    names: Sequence[str],
) -> list[bool | None]:
    """Return for each device whether it is left visible; ``None``: it cannot be told.

    Args:
        devices: as a management library lists them, with ``index`` and ``uuid``.
        variables: the environment variables that are set.
        names: those that hide devices; each numbers what the one before it left.
    """
    if "CUDA_VISIBLE_DEVICES" in names and "HIP_VISIBLE_DEVICES" not in names:
        return [_visible_to_cuda(device, devices, variables) for device in devices]
    if "HIP_VISIBLE_DEVICES" in names and variables.get("HIP_VISIBLE_DEVICES"):
        # HIP takes CUDA's variable for its own only where its own is not set.
        names = [name for name in names if name != "CUDA_VISIBLE_DEVICES"]
    shown: list[bool | None] = [True] * len(devices)
    for name in names:
        listed = variables.get(name)
        if listed is None:
            continue
        left = [place for place, seen in enumerate(shown) if seen]
        chosen: list[int] = []
        for entry in (part.strip() for part in listed.split(",")):
            if entry.isdigit() and int(entry) < len(left):
                chosen.append(left[int(entry)])
            elif entry and not entry.lstrip("-").isdigit():
                named = [place for place in left if entry == devices[place].get("uuid")]
                if not named:  # another way to write it: a tile (0.1), a range, a selector
                    return [None] * len(devices)
                chosen += named
        shown = [place in chosen for place in range(len(devices))]
    return shown


def _visible_to_cuda(
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
