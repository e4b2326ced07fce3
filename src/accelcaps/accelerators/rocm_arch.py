"""AMD GPUs by architecture: ``gfx942`` and so on, as the kernel driver and HIP name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps.accelerators.kinds import by_kind
from accelcaps.accelerators.references import environment
from accelcaps.facts.model import NotObserved
from accelcaps.rules import (
    Finding,
    Question,
    Rule,
    device_fact,
    value_of,
    version_of,
)
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CDNA", "HIP", "RDNA", "architecture", "by_arch", "hip", "kernel_image"]

# LLVM, User Guide for AMDGPU Backend, Processors.
GCN = "gfx900 gfx906"
CDNA = "gfx908 gfx90a gfx942 gfx950"
RDNA2 = "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036"
RDNA3 = "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153"
RDNA4 = "gfx1200 gfx1201"
RDNA = f"{RDNA2} {RDNA3} {RDNA4}"

_ARCH = device_fact("arch", "architecture", code=Code.HARDWARE_UNSUPPORTED)
HIP = version_of(
    "torch.hip",
    "ROCm of this PyTorch",
    absent="this PyTorch is built without ROCm",
    absent_code=Code.SOFTWARE_BUILD,
)


def architecture(question: Question) -> str | NotObserved:
    """Return the device's architecture without its features (``gfx90a:sramecc+:xnack-``)."""
    found = _ARCH.value(question)
    if isinstance(found, NotObserved):
        return found
    return str(found).partition(":")[0]


def by_arch(table: Mapping[str, Rule], *, what: str) -> Rule:
    """Let the rule of the device's architecture decide.

    Args:
        table: architectures, with spaces between them → their rule.
        what: what is not known of an architecture that the table does not name.
    """
    return by_kind(architecture, table, what=what)


def hip(version: str) -> Rule:
    """Hold where PyTorch is built with this ROCm or a newer one."""
    return (
        (version <= HIP)
        .remedy(f"install a PyTorch built with ROCm {version} or newer")
        .where_recorded()
    )


def kernel_image() -> Rule:
    """Hold where this torch carries code for the device's architecture; HIP compiles none later."""

    def judge(question: Question) -> Finding:
        evidence = question.facts.evidence
        listed = question.facts.get("torch", "runtime", "arch_list")
        if isinstance(listed, NotObserved):
            return Finding(Status.UNKNOWN, evidence, (listed.reason(),))
        found = architecture(question)
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, evidence, (found.reason(),))
        if not listed:
            reason = Reason(Code.SOFTWARE_BUILD, "this PyTorch has no GPU kernels at all")
            return Finding(Status.NO, evidence, (reason,))
        names = {name.partition(":")[0] for name in listed}
        shown = ", ".join(listed)
        if found in names:
            return Finding(Status.YES, evidence, (Reason(Code.MET, f"{found} is in {shown}"),))
        told = environment(question, "HSA_OVERRIDE_GFX_VERSION")
        instead = _overridden(told)
        if instead in names:
            text = (
                f"HSA_OVERRIDE_GFX_VERSION={told} passes {found} off as {instead}, which AMD does "
                "not support: kernels may fail"
            )
            return Finding(Status.DEGRADED, evidence, (Reason(Code.LIMITED, text),))
        text = f"this PyTorch has code for {shown}, and none for {found}"
        remedies = (f"install a PyTorch whose ROCm build has code for {found}",)
        return Finding(Status.NO, evidence, (Reason(Code.BUILD_ARCH_MISSING, text),), remedies)

    return value_of(judge, per_device=True)


def _overridden(told: str | None) -> str | None:
    """Return the architecture that ``10.3.0`` or ``9.0.10`` stands for."""
    parts = (told or "").split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        return None
    major, minor, step = (int(part) for part in parts)
    return f"gfx{major}{minor:x}{step:x}"
