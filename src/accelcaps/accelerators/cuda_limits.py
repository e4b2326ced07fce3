"""The limits of NVIDIA GPUs: values of the weakest device, by the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.version import Version

from accelcaps import features as F
from accelcaps.accelerators.host import value
from accelcaps.accelerators.limits import device_count, least
from accelcaps.rules import Finding, Question, Rule, value_of, version
from accelcaps.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["LIMITS"]

# CUDA Programming Guide, Compute Capabilities, Technical Specifications: the most shared memory
# that a block may use, in KiB.
_SHARED_KIB = {
    "6.0": 48, "6.1": 48, "6.2": 48, "7.0": 96, "7.2": 96, "7.5": 64, "8.0": 163, "8.6": 99,
    "8.7": 163, "8.9": 99, "9.0": 227, "10.0": 227, "10.3": 227, "11.0": 227, "12.0": 99,
    "12.1": 99,
}  # fmt: skip


def _capability(device: Mapping[str, Any]) -> Version | None:
    found = version(str(device.get("compute_capability")))
    return found if isinstance(found, Version) else None


def _shared(device: Mapping[str, Any]) -> int | None:
    stated = device.get("shared_memory_per_block")
    if stated is None:
        kib = _SHARED_KIB.get(str(device.get("compute_capability")))
        stated = kib * 1024 if kib else None
    return stated


def _cores(question: Question) -> Finding:
    """NVML does not tell the number of multiprocessors; torch does."""
    found = question.facts.get("torch", "devices", "cuda", "list")
    devices = found if isinstance(found, list) else []
    known = [each.get("multiprocessors") for each in devices if each.get("multiprocessors")]
    if known:
        return Finding(Status.YES, question.facts.evidence, value=min(known))
    return least("multiprocessors", "multiprocessors").judge(question)


def _named_arch(question: Question) -> Finding:
    finding = least("compute capability", _capability).judge(question)
    if finding.value is None:
        return finding
    major, _, minor = str(finding.value).partition(".")
    return Finding(Status.YES, finding.evidence, value=f"sm_{major}{minor or 0}")


LIMITS: Mapping[Feature, Rule] = {
    F.LIMIT_DEVICE_COUNT: device_count().source("NVML"),
    F.LIMIT_MEMORY_BYTES: least("memory", "memory_bytes").source("NVML"),
    F.LIMIT_COMPUTE_CAPABILITY: least("compute capability", _capability).source("NVML"),
    F.LIMIT_ARCH: value_of(_named_arch).source("NVML"),
    F.LIMIT_CORES: value_of(_cores).source("PyTorch, torch.cuda.get_device_properties"),
    F.LIMIT_SHARED_MEMORY_PER_BLOCK: least("shared memory", _shared).source(
        "CUDA Programming Guide, Compute Capabilities, Technical Specifications"
    ),
    F.LIMIT_WARP_SIZE: least("warp size", lambda _: 32).source(
        "CUDA Programming Guide, Compute Capabilities: 32 on every device"
    ),
    F.LIMIT_DRIVER_VERSION: value("devices.cuda.driver.version", "NVIDIA driver").source("NVML"),
    F.LIMIT_RUNTIME_VERSION: value("torch.cuda", "CUDA of this PyTorch").source(
        "PyTorch, torch/version.py"
    ),
    F.LIMIT_COMM_VERSION: value("torch.runtime.comm_version", "NCCL").source(
        "PyTorch, torch/cuda/nccl.py"
    ),
}
