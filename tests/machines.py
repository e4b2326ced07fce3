"""Machines written down as facts: what a report file of each would hold.

Each function returns the ``facts`` of a document; tests change what they are about.
"""

from __future__ import annotations

import copy
from typing import Any

from accelcaps import Facts
from accelcaps.accelerators.registry import get_accelerator

GPU_ARCHS = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]


def gpu(name: str, capability: str, **more: Any) -> dict[str, Any]:
    """One NVIDIA GPU as NVML describes it."""
    number = more.pop("number", 0)
    return {
        "uuid": f"GPU-{number:08d}-0000-0000-0000-000000000000",
        "pci": f"00000000:{number + 1:02X}:00.0",
        "index": number,
        "name": name,
        "compute_capability": capability,
        "memory_bytes": 16 * 2**30,
        "visible": True,
        **more,
    }


def tool(path: str | None, version: str | None = None, **more: Any) -> dict[str, Any]:
    """One tool of the toolchain."""
    command = path.rpartition("/")[2] if path else "tool"
    runs = path is not None
    return {
        "command": command, "path": path, "runs": runs, "version": version, "error": None, **more
    }  # fmt: skip


def cuda_host(
    *gpus: dict[str, Any],
    torch: str = "2.4.1+cu121",
    cuda: str | None = "12.1",
    archs: list[str] | None = None,
    driver: str | None = "550.54.14",
    **sections: Any,
) -> dict[str, Any]:
    """A Linux host with NVIDIA GPUs, PyTorch, a C++ compiler, ninja and a matching toolkit."""
    facts: dict[str, Any] = {
        "host": {
            "system": "Linux",
            "machine": "x86_64",
            "kernel": "6.8.0-45-generic",
            "distribution": {"id": "ubuntu", "version": "22.04", "name": "Ubuntu 22.04", "like": ["debian"]},
            "container": None,
            "wsl": False,
            "kernel_modules": ["nvidia"],
            "package_managers": ["apt-get", "dpkg"],
            "python": {"version": "3.11.9", "implementation": "CPython"},
            "environment": {},
        },
        "cpu": {"architecture": "x86_64", "flags": ["avx2", "avx512f"], "usable": 16},
        "limits": {
            "memory_bytes": 256 * 2**30,
            "memlock_bytes": "unlimited",
            "may_lock_any": False,
            "shm_bytes": 128 * 2**30,
            "infiniband": [],
        },
        "packages": {"torch": torch, "triton": "3.0.0"},
        "toolchain": {
            "cxx": tool("/usr/bin/c++", "11.4.0", kind="gcc"),
            "cc": tool("/usr/bin/gcc", "11.4.0", kind="gcc"),
            "gxx": tool("/usr/bin/g++", "11.4.0", kind="gcc"),
            "nvcc_host": tool("/usr/bin/gcc", "11.4.0", kind="gcc"),
            "ninja": tool("/usr/bin/ninja", "1.11.1"),
            "nvcc": tool("/usr/local/cuda/bin/nvcc", cuda),
            "cuda_home": "/usr/local/cuda",
            "cuda_archs": None,
            "python_headers": {"folder": "/usr/include/python3.11", "there": True},
        },
        "libraries": {},
        "torch": {
            "version": torch,
            "cuda": cuda,
            "hip": None,
            "build": "cuda" if cuda else "cpu",
            "runtime": {
                "arch_list": (archs or GPU_ARCHS) if cuda else None,
                "backends": ["gloo", "nccl"] if cuda else ["gloo"],
                "comm_version": "2.21.5" if cuda else None,
            },
        },
        "devices": {
            "cuda": {
                "driver": {"version": driver, "cuda": "12.4"} if driver else None,
                "list": [copy.deepcopy(each) for each in gpus],
                "visible_to_system": [
                    {"pci": each["pci"], "id": "0x1eb8"} for each in gpus
                ],
            },
            "cpu": {"list": [{"uuid": "cpu", "name": "Xeon"}], "visible_to_system": []},
        },
    }  # fmt: skip
    for name, value in sections.items():
        facts[name] = merged(facts.get(name, {}), value)
    return facts


def cpu_host(*flags: str, torch: str = "2.13.0+cpu", **sections: Any) -> dict[str, Any]:
    """A host without an accelerator."""
    facts = cuda_host(torch=torch, cuda=None, driver=None, **sections)
    facts["cpu"]["flags"] = sorted(flags)
    return facts


def builder(*languages: str, **more: Any) -> dict[str, Any]:
    """An op builder of DeepSpeed as the ops probe describes it: willing, and needing nothing."""
    return {
        "class": "SomeBuilder",
        "placeholder": False,
        "prebuilt": False,
        "compatible": True,
        "compatible_error": None,
        "said": [],
        "functions": [],
        "languages": list(languages) or ["c++"],
        "loads_first": [],
        "refusal": None,
        "build": {
            "sources_missing": [],
            "headers_missing": [],
            "libraries": [],
            "libraries_missing": [],
            "flags_error": None,
        },
        "cached": None,
        **more,
    }


def ops(accelerator: str, version: str = "0.19.8", **builders: Any) -> dict[str, Any]:
    """The section ``ops`` with the builders of one accelerator."""
    return {accelerator: {"builders": builders, "accelerator": {"deepspeed": version}}}


def merged(base: Any, changes: Any) -> Any:
    """Return ``base`` with nested ``changes``."""
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    return {**base, **{key: merged(base.get(key), value) for key, value in changes.items()}}


def ask(facts: dict[str, Any], accelerator: str = "cuda") -> Any:
    """Return the accelerator of a machine written down."""
    return get_accelerator(accelerator, Facts(facts, name="a written machine"))
