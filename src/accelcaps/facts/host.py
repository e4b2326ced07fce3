"""The section ``host``: operating system, distribution, kernel, container, package managers."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts

__all__ = ["ENVIRONMENT", "HostCollector"]

ENVIRONMENT = (
    "CC", "CXX", "CCL_ROOT", "CUDA_HOME", "CUDA_PATH", "CUTLASS_PATH", "DS_ACCELERATOR",
    "DS_ALLOW_DEPRECATED_FP16", "DS_IGNORE_CUDA_DETECTION", "DS_SKIP_CUDA_CHECK",
    "HIPBLASLT_ALLOW_TF32", "HSA_OVERRIDE_GFX_VERSION", "LOCAL_SIZE", "NVIDIA_TF32_OVERRIDE",
    "PT_HPU_LAZY_MODE", "PYTORCH_CUDA_ALLOC_CONF", "ROCM_HOME", "ROCM_PATH", "TORCH_CUDA_ARCH_LIST",
    "TORCH_EXTENSIONS_DIR", "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "WORLD_SIZE",
    "XPU_EVENT_KL3_ENABLE",
)  # fmt: skip
"""The environment variables that change what works; no other variable enters a report."""

_KERNEL_MODULES = (
    "amdgpu", "gdrdrv", "habanalabs", "i915", "nvidia", "nvidia_fs", "nvidia_peermem", "xe"
)  # fmt: skip
_PACKAGE_MANAGERS = (
    "apt-get", "dnf", "yum", "zypper", "pacman", "apk", "brew", "dpkg", "rpm"
)  # fmt: skip


class HostCollector:
    """Reads what the standard library and ``/etc/os-release`` tell."""

    section = ("host",)
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section."""
        kernel = platform.release()
        return {
            "system": platform.system(),
            "machine": platform.machine(),
            "kernel": kernel,
            "distribution": _distribution(),
            "container": _container(),
            "wsl": "microsoft" in kernel.lower(),
            "kernel_modules": _kernel_modules(),
            "package_managers": [name for name in _PACKAGE_MANAGERS if shutil.which(name)],
            "python": {
                "version": platform.python_version(),
                "implementation": platform.python_implementation(),
            },
            "environment": {name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
            "macos": platform.mac_ver()[0] or None,
        }


def _distribution() -> dict[str, Any] | None:
    if sys.platform != "linux":
        return None
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return None
    return {
        "id": release.get("ID", "linux"),
        "version": release.get("VERSION_ID"),
        "name": release.get("PRETTY_NAME", release.get("NAME", "Linux")),
        "like": release.get("ID_LIKE", "").split(),
    }


def _kernel_modules() -> list[str] | NotObserved:
    """Return those loaded kernel modules that drive accelerators or their direct I/O."""
    try:
        lines = Path("/proc/modules").read_text().splitlines()
    except OSError:
        return NotObserved(Code.NOT_OBSERVED, "the kernel lists no modules here")
    return sorted({line.split()[0] for line in lines if line}.intersection(_KERNEL_MODULES))


def _container() -> str | None:
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    if Path("/singularity").exists() or os.environ.get("SINGULARITY_CONTAINER"):
        return "singularity"
    return os.environ.get("container") or None  # noqa: SIM112  systemd-nspawn, podman
