"""Ask an imported torch what it was built with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from accelcaps.facts.isolation import Report

__all__ = ["describe", "failed_import", "probe"]


_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def probe(report: Report) -> None:
    """Import torch and report :func:`describe`, then ``autoload_error``.

    torch imports the backends that packages such as torch_npu add, and fails where one of them
    does. It is imported without them first, so that what torch itself can do is told all the same.
    """
    autoloads = os.environ.get(_AUTOLOAD, "1") == "1"
    os.environ[_AUTOLOAD] = "0"
    import torch

    report("runtime", describe(torch))
    load = getattr(torch, "_import_device_backends", None)  # since torch 2.5
    if not autoloads or load is None:
        return
    report("autoload_error")
    try:
        load()
    except Exception as error:
        report("autoload_error", failed_import(error))
    else:
        report("autoload_error", None)


def failed_import(error: BaseException) -> str:
    """Return in one line why an import failed, with the error that torch's own one hides."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    cause = error.__cause__
    while cause is not None and cause.__cause__ is not None:
        cause = cause.__cause__
    if cause is None:
        return text
    hidden = f"{type(cause).__name__}: {cause}".splitlines()[0]
    return f"{text} The cause is {hidden}"


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
