"""The limits of NVIDIA GPUs: values of the weakest device, by the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.version import Version

from accelcaps import features as F
from accelcaps.accelerators.host import value
from accelcaps.facts.model import NotObserved
from accelcaps.rules import Finding, Question, Rule, value_of, version
from accelcaps.verdict import Code, Evidence, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.feature import Feature

__all__ = ["LIMITS"]

# CUDA Programming Guide, Compute Capabilities, Technical Specifications: the most shared memory
# that a block may use, in KiB.
_SHARED_KIB = {
    "6.0": 48, "6.1": 48, "6.2": 48, "7.0": 96, "7.2": 96, "7.5": 64, "8.0": 163, "8.6": 99,
    "8.7": 163, "8.9": 99, "9.0": 227, "10.0": 227, "10.3": 227, "11.0": 227, "12.0": 99,
    "12.1": 99,
}  # fmt: skip


def _weakest(read: Callable[[Mapping[str, Any]], Any], what: str) -> Rule:
    """Make the rule of a limit that is the least of what the devices have."""

    def judge(question: Question) -> Finding:
        devices = question.facts.get("devices", question.accelerator, "list")
        if isinstance(devices, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (devices.reason(),))
        visible = [device for device in devices if device.get("visible") is not False]
        values = [read(device) for device in visible]
        known = [found for found in values if isinstance(found, (int, float, str, Version))]
        if not visible or len(known) < len(visible):
            text = f"no device tells its {what}" if visible else "there is no device on this host"
            reason = Reason(Code.NOT_OBSERVED, text)
            return Finding(Status.UNKNOWN, question.facts.evidence, (reason,))
        least = min(known)
        found = str(least) if isinstance(least, Version) else least
        return Finding(Status.YES, question.facts.evidence, value=found)

    return value_of(judge)


def _capability(device: Mapping[str, Any]) -> Version | None:
    found = version(str(device.get("compute_capability")))
    return found if isinstance(found, Version) else None


def _shared(device: Mapping[str, Any]) -> int | None:
    stated = device.get("shared_memory_per_block")
    if stated is None:
        kib = _SHARED_KIB.get(str(device.get("compute_capability")))
        stated = kib * 1024 if kib else None
    return stated


def _count(question: Question) -> Finding:
    devices = question.facts.get("devices", question.accelerator, "list")
    if isinstance(devices, NotObserved):
        return Finding(Status.UNKNOWN, Evidence.DETECTED, (devices.reason(),))
    visible = [device for device in devices if device.get("visible") is not False]
    return Finding(Status.YES, question.facts.evidence, value=len(visible))


def _cores(question: Question) -> Finding:
    """NVML does not tell the number of multiprocessors; torch does."""
    found = question.facts.get("torch", "devices", "cuda", "list")
    devices = found if isinstance(found, list) else []
    known = [each.get("multiprocessors") for each in devices if each.get("multiprocessors")]
    if known:
        return Finding(Status.YES, question.facts.evidence, value=min(known))
    return _weakest(lambda device: device.get("multiprocessors"), "multiprocessors").judge(question)


def _named_arch(question: Question) -> Finding:
    finding = _weakest(_capability, "compute capability").judge(question)
    if finding.value is None:
        return finding
    major, _, minor = str(finding.value).partition(".")
    return Finding(Status.YES, finding.evidence, value=f"sm_{major}{minor or 0}")


LIMITS: Mapping[Feature, Rule] = {
    F.LIMIT_DEVICE_COUNT: value_of(_count).source("NVML"),
    F.LIMIT_MEMORY_BYTES: _weakest(lambda d: d.get("memory_bytes"), "memory").source("NVML"),
    F.LIMIT_COMPUTE_CAPABILITY: _weakest(_capability, "compute capability").source("NVML"),
    F.LIMIT_ARCH: value_of(_named_arch).source("NVML"),
    F.LIMIT_CORES: value_of(_cores).source("PyTorch, torch.cuda.get_device_properties"),
    F.LIMIT_SHARED_MEMORY_PER_BLOCK: _weakest(_shared, "shared memory").source(
        "CUDA Programming Guide, Compute Capabilities, Technical Specifications"
    ),
    F.LIMIT_WARP_SIZE: _weakest(lambda _: 32, "warp size").source(
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
