"""Ask NVIDIA's management library (NVML) for the devices; needs neither torch nor a context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Callable

    from accelcaps.facts.isolation import Report

__all__ = ["probe"]


def probe(report: Report) -> None:
    """Report ``driver``, then ``devices``."""
    import pynvml

    pynvml.nvmlInit()
    try:
        report(
            "driver",
            {
                "version": pynvml.nvmlSystemGetDriverVersion(),
                "cuda": _cuda(pynvml.nvmlSystemGetCudaDriverVersion_v2()),
            },
        )
        count = pynvml.nvmlDeviceGetCount()
        report("devices", [_device(pynvml, index) for index in range(count)])
    finally:
        pynvml.nvmlShutdown()


def _device(pynvml: Any, index: int) -> dict[str, Any]:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)

    def read(function: str, *arguments: Any) -> Any:
        """Return one property, or ``None`` where this device or driver does not tell it."""
        return _try(lambda: getattr(pynvml, function)(handle, *arguments))

    capability = read("nvmlDeviceGetCudaComputeCapability")
    memory = read("nvmlDeviceGetMemoryInfo")
    pci = read("nvmlDeviceGetPciInfo")
    mig = read("nvmlDeviceGetMigMode")
    return {
        "uuid": read("nvmlDeviceGetUUID"),
        "pci": pci.busId if pci is not None else None,
        "index": index,
        "name": read("nvmlDeviceGetName"),
        "compute_capability": f"{capability[0]}.{capability[1]}" if capability else _UNTOLD,
        "memory_bytes": memory.total if memory is not None else _UNTOLD,
        "mig": bool(mig[0]) if mig else False,
    }


_UNTOLD = NotObserved(Code.NOT_OBSERVED, "NVML does not tell it for this device").to_json()


def _cuda(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _try(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception:
        return None
