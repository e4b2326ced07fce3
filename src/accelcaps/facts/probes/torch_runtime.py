"""Ask an imported torch what it was built with, and (in a child process only) what it can use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from accelcaps.facts.isolation import Report

__all__ = ["describe", "devices", "probe"]


def probe(report: Report) -> None:
    """Import torch and report :func:`describe`."""
    import torch

    report("runtime", describe(torch))


def describe(torch: Any) -> dict[str, Any]:
    """Return what ``torch`` was built with. Reads only; initialises nothing."""
    return {
        "arch_list": _arch_list(torch),
        "backends": _backends(torch),
        "comm_version": _nccl_version(torch),
        "cpu_capability": _try(lambda: torch.backends.cpu.get_cpu_capability()),
        "mkldnn": _try(lambda: bool(torch.backends.mkldnn.is_available())),
        "mkldnn_bf16": _try(lambda: bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())),
        "mkldnn_fp16": _try(lambda: bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())),
        "itt": _try(lambda: bool(torch.profiler.itt.is_available())),
        "cudnn_built": _try(lambda: bool(torch._C._has_cudnn)),
    }


def devices(report: Report, kind: str) -> None:
    """Report the devices of type ``kind`` that torch can use; makes a device context."""
    import torch

    report("devices", _DEVICES.get(kind, _accelerator_devices)(torch, kind))


def _cuda_devices(torch: Any, _: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "available": bool(torch.cuda.is_available()),
        "count": 0,
        "error": None,
    }
    try:
        torch.cuda.init()
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
        return found
    found["count"] = torch.cuda.device_count()
    found["list"] = [_cuda_device(torch, index) for index in range(found["count"])]
    found["peer_access"] = all(
        torch.cuda.can_device_access_peer(a, b)
        for a in range(found["count"])
        for b in range(found["count"])
        if a != b
    )
    return found


def _cuda_device(torch: Any, index: int) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(index)
    return {
        "name": properties.name,
        "uuid": f"GPU-{properties.uuid}" if hasattr(properties, "uuid") else None,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "memory_bytes": properties.total_memory,
        "multiprocessors": properties.multi_processor_count,
        "warp_size": getattr(properties, "warp_size", None),
        "shared_memory_per_block": getattr(properties, "shared_memory_per_block_optin", None),
    }


def _accelerator_devices(torch: Any, kind: str) -> dict[str, Any]:
    module = getattr(torch, kind, None)
    if module is None or not hasattr(module, "is_available"):
        return {"available": False, "count": 0, "error": f"this torch has no torch.{kind}"}
    available = bool(module.is_available())
    return {
        "available": available,
        "count": module.device_count() if available and hasattr(module, "device_count") else 0,
        "error": None,
    }


_DEVICES: dict[str, Callable[[Any, str], dict[str, Any]]] = {"cuda": _cuda_devices}


def _arch_list(torch: Any) -> list[str] | None:
    """Return the architectures torch was built for, without asking whether a device is there."""
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    listed = _try(flags) if flags is not None else None
    return listed.split() if isinstance(listed, str) else None


def _backends(torch: Any) -> list[str]:
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available():
        return []
    return [
        name
        for name in ("gloo", "nccl", "mpi", "ucc", "xccl")
        if _try(getattr(distributed, f"is_{name}_available", lambda: False))
    ]


def _nccl_version(torch: Any) -> str | None:
    read = getattr(torch._C, "_nccl_version", None)
    number = _try(read) if read is not None else None
    if isinstance(number, tuple):
        return ".".join(str(part) for part in number[:3])
    if not isinstance(number, int):
        return None
    # torch packs it as major << 32 | minor << 16 | patch (torch 2.13, cuda/nccl.py)
    return f"{number >> 32}.{number >> 16 & 0xFFFF}.{number & 0xFFFF}"


def _try(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception:  # an older torch without this question
        return None
