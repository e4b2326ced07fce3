"""Ask torch which devices of a type it can use. Makes a device context: a child process only."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.probes.torch_runtime import failed_import

if TYPE_CHECKING:
    from collections.abc import Callable

    from accelcaps.facts.isolation import Report

__all__ = ["probe"]

# What a device's properties are called, by torch's device types: fact → names that it goes by.
_PROPERTIES = {
    "name": ("name",),
    "uuid": ("uuid",),
    "memory_bytes": ("total_memory", "total_global_mem"),
    "multiprocessors": (
        "multi_processor_count", "gpu_subslice_count", "max_compute_units", "cube_core_num",
        "cluster_count",
    ),
    "execution_units": ("gpu_eu_count",),
    "warp_size": ("warp_size",),
    "sub_group_sizes": ("sub_group_sizes",),
    "shared_memory_per_block": ("shared_memory_per_block_optin", "local_mem_size"),
    "arch": ("gcnArchName", "architecture"),
    "driver": ("driver_version",),
    "platform": ("platform_name",),
    "has_fp16": ("has_fp16",),
    "has_fp64": ("has_fp64",),
    "has_bf16": ("has_bfloat16_conversions",),
    "has_matrix_units": ("has_subgroup_matrix_multiply_accumulate",),
    "has_tf32_units": ("has_subgroup_matrix_multiply_accumulate_tensor_float32",),
    "integrated": ("is_integrated_gpu", "is_integrated", "integrated"),
}  # fmt: skip


def probe(report: Report, kind: str, module: str) -> None:
    """Report ``devices``: whether torch can use devices of type ``kind``, and which.

    Args:
        report: takes what is observed.
        kind: the device type, such as ``npu``.
        module: the module that adds it to torch; empty where torch itself has it.
    """
    try:
        import torch

        if module:
            importlib.import_module(module)
    except Exception as error:  # an OSError for a library, a RuntimeError of an autoloaded package
        text = f"{module or 'torch'} cannot be imported: {failed_import(error)}"
        report("devices", {"available": False, "count": 0, "error": text, "imports": False})
        return
    report("devices", {**_devices(torch, kind, module), "imports": True})


def _devices(torch: Any, kind: str, module: str) -> dict[str, Any]:
    found: dict[str, Any] = {"available": False, "count": 0, "error": None}
    handle = getattr(torch, kind, None)
    if handle is None or not hasattr(handle, "is_available"):
        return {**found, "error": f"this torch has no torch.{kind}"}
    provider = _provider(torch)
    if provider != "torch":
        if kind == "cuda" and not module:
            return {**found, "error": f"torch.cuda is provided by {provider}"}
        if provider == module.partition(".")[0]:
            found["imitates"] = "torch.cuda"
    elif kind == "cuda" and module:
        return {**found, "error": f"torch.cuda is torch's own, and not provided by {module}"}
    found["available"] = bool(handle.is_available())
    if kind == "mps":
        return {**found, "count": int(found["available"])}
    try:
        if hasattr(handle, "init"):
            handle.init()
        found["count"] = int(handle.device_count())
        found["list"] = [_device(handle, kind, index) for index in range(found["count"])]
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
        return found
    reach = getattr(handle, "can_device_access_peer", None)
    if reach is not None:
        with contextlib.suppress(Exception):  # a question that not every device type has
            places = range(found["count"])
            found["peer_access"] = all(reach(a, b) for a in places for b in places if a != b)
    return found


def _provider(torch: Any) -> str:
    """Return the package that stands behind ``torch.cuda``.

    torch_xmlir leaves torch's functions in place, and answers below them. DeepSpeed takes it for
    the provider wherever it is installed; here NVIDIA's driver on the same host speaks against it.
    """
    named = str(getattr(torch.cuda.is_available, "__module__", "")).partition(".")[0]
    behind = importlib.util.find_spec("torch_xmlir") is not None
    if named == "torch" and behind and not Path("/proc/driver/nvidia/version").exists():
        return "torch_xmlir"
    return named


def _device(handle: Any, kind: str, index: int) -> dict[str, Any]:
    properties = _try(lambda: handle.get_device_properties(index))
    device: dict[str, Any] = {
        fact: value
        for fact, names in _PROPERTIES.items()
        if (value := _first(properties, names)) is not None
    }
    device["index"] = index
    if "name" not in device:
        device["name"] = _try(lambda: str(handle.get_device_name(index)))
    if kind == "cuda" and hasattr(properties, "major"):
        device["compute_capability"] = f"{properties.major}.{properties.minor}"
    if kind == "cuda" and "uuid" in device and not device["uuid"].startswith("GPU-"):
        device["uuid"] = f"GPU-{device['uuid']}"
    return device


def _first(properties: Any, names: tuple[str, ...]) -> Any:
    """Return the first of these attributes that is there, as JSON-serialisable data."""
    for name in names:
        value = _try(lambda name=name: getattr(properties, name))  # type: ignore[misc]
        if value is not None:
            plain = isinstance(value, (bool, int, float, str, list))
            return value if plain else str(value)
    return None


def _try(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception:  # an older torch, or another vendor's, without this question
        return None
