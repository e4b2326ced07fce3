"""Read AMD GPUs from the kernel driver's topology (KFD); needs neither ROCm nor a context."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.isolation import Report

__all__ = ["probe"]

_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
_PCI = Path("/sys/bus/pci/devices")
_MODULE_VERSION = Path("/sys/module/amdgpu/version")
# Linux, include/uapi/linux/kfd_sysfs.h: heaps of a GPU's own memory, public and private.
_DEVICE_HEAPS = {"1", "2"}


def probe(report: Report) -> None:
    """Report ``driver`` where it tells a version, then ``devices``, in the order HIP has them."""
    if not _NODES.is_dir():
        return  # no amdgpu driver, or one without compute
    if _MODULE_VERSION.is_file():  # the driver of the kernel itself has no version of its own
        report("driver", {"version": _MODULE_VERSION.read_text().strip()})
    nodes = sorted(_NODES.iterdir(), key=lambda node: int(node.name))
    found = [(node, _properties(node / "properties")) for node in nodes]
    gpus = [(node, told) for node, told in found if int(told.get("simd_count", "0")) > 0]
    report("devices", [_device(node, told, index) for index, (node, told) in enumerate(gpus)])


def _device(node: Path, told: dict[str, str], index: int) -> dict[str, Any]:
    pci = _address(told)
    arch = _architecture(int(told.get("gfx_target_version", "0")))
    unique = int(told.get("unique_id", "0"))
    memory = _memory(node)
    return {
        "uuid": f"GPU-{unique:016x}" if unique else None,
        "pci": pci,
        "index": index,
        "name": _name(pci) or arch,
        "arch": arch,
        "memory_bytes": memory or NotObserved(
            Code.NOT_OBSERVED, "the driver does not tell it for this device"
        ).to_json(),
        "multiprocessors": int(told["simd_count"]) // max(int(told.get("simd_per_cu", "4")), 1),
        "warp_size": int(told.get("wave_front_size", "0")) or None,
        "shared_memory_per_block": int(told.get("lds_size_in_kb", "0")) * 1024 or None,
        "integrated": int(told.get("cpu_cores_count", "0")) > 0,
    }  # fmt: skip


def _architecture(version: int) -> str | None:
    """Return ``gfx90a`` for 90010: major, minor and stepping, two decimal digits each."""
    if not version:
        return None
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{step:x}"


def _address(told: dict[str, str]) -> str | None:
    if "location_id" not in told:
        return None
    place, domain = int(told["location_id"]), int(told.get("domain", "0"))
    return f"{domain:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"


def _name(pci: str | None) -> str | None:
    """Return the card's product name, which server cards tell."""
    place = _PCI / (pci or "") / "product_name"
    try:
        return place.read_text().strip() or None
    except OSError:
        return None


def _memory(node: Path) -> int:
    banks = (_properties(bank) for bank in node.glob("mem_banks/*/properties"))
    return sum(int(b["size_in_bytes"]) for b in banks if b.get("heap_type") in _DEVICE_HEAPS)


def _properties(place: Path) -> dict[str, str]:
    """Read lines of a name and a number; a node whose file may not be read is none."""
    try:
        lines = place.read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(maxsplit=1) for line in lines if len(line.split(maxsplit=1)) == 2)
