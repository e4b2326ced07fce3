"""The facts that capability tables speak of, each with its words, in one place."""

from __future__ import annotations

from packaging.version import Version

from accelcaps.facts.model import NotObserved
from accelcaps.features import DEVICE_AVAILABLE
from accelcaps.ops.libraries import install_command
from accelcaps.rules import (
    Finding,
    Question,
    Remedy,
    Rule,
    RuleLike,
    all_of,
    as_rule,
    device_fact,
    fact,
    unknown,
    value_of,
    version_of,
)
from accelcaps.verdict import Code, Evidence, Reason, Status

__all__ = [
    "AVAILABLE",
    "BACKENDS",
    "COMPUTE_CAPABILITY",
    "CPU_FLAGS",
    "DEEPSPEED",
    "EXACT_CAPABILITY",
    "NCCL",
    "ON_A_DEVICE",
    "TORCH",
    "TORCH_CUDA",
    "TORCH_INSTALLED",
    "built_with",
    "deepspeed",
    "environment",
    "if_recorded",
    "install",
    "only_on",
    "package",
    "removed_from_deepspeed",
    "since",
    "torch",
    "torch_imports",
    "undocumented",
    "use_instead",
    "without_autoload",
]

TORCH = version_of("torch.version", "PyTorch", absent="PyTorch is not installed")
TORCH_CUDA = version_of(
    "torch.cuda",
    "CUDA of this PyTorch",
    absent="this PyTorch is built without CUDA",
    absent_code=Code.SOFTWARE_BUILD,
)
DEEPSPEED = version_of("packages.deepspeed", "DeepSpeed", absent="DeepSpeed is not installed")
TORCH_INSTALLED: Rule = TORCH.exists().remedy("pip install torch")
BACKENDS = fact(
    "torch.runtime.backends", "collective backends of this PyTorch", code=Code.SOFTWARE_BUILD
)
NCCL = version_of(
    "torch.runtime.comm_version",
    "NCCL",
    absent="this PyTorch is built without NCCL",
    absent_code=Code.SOFTWARE_BUILD,
)
COMPUTE_CAPABILITY = device_fact(
    "compute_capability", "compute capability", code=Code.HARDWARE_TOO_OLD, is_version=True
)
EXACT_CAPABILITY = COMPUTE_CAPABILITY.coded(Code.HARDWARE_UNSUPPORTED)
"""The same, for rules that newer hardware does not meet either."""
CPU_FLAGS = fact("cpu.flags", "CPU flags", code=Code.HARDWARE_UNSUPPORTED)


def torch_imports() -> Rule:
    """Hold where a child process could import torch, with the backends that packages add to it."""

    def judge(question: Question) -> Finding:
        found = question.facts.get("torch", "runtime")
        evidence = question.facts.evidence
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, evidence, (found.reason(),))
        failed = found.get("autoload_error")
        if failed is None:
            return Finding(Status.YES, evidence, (Reason(Code.MET, "torch can be imported"),))
        reason = Reason(Code.RUNTIME_FAILED, f"torch cannot be imported: {failed}")
        return Finding(Status.NO, evidence, (reason,), without_autoload(reason.text))

    return value_of(judge)


def without_autoload(error: str) -> tuple[str, ...]:
    """Return what to do where torch fails because a backend that it loads by itself fails."""
    if "backend extension" not in error:
        return ()
    return (
        "export TORCH_DEVICE_BACKEND_AUTOLOAD=0",
        "uninstall the package that brings the backend, or install what it needs",
    )


def torch(version: str) -> Rule:
    """Hold for this PyTorch or a newer one; hardware without software is not asked."""
    return (version <= TORCH).remedy(f"install PyTorch {version} or newer").where_recorded()


def since(version: str) -> Rule:
    """Hold for this PyTorch or a newer one; which older ones have it too was not looked up."""
    older = unknown(
        Code.NOT_OBSERVED, f"whether a PyTorch older than {version} has it was not looked up"
    )
    return (version <= TORCH).otherwise(older).where_recorded()


def deepspeed(version: str = "0") -> Rule:
    """Hold for this DeepSpeed or a newer one; hardware without software is not asked."""
    if version == "0":
        return DEEPSPEED.exists().remedy("pip install deepspeed").where_recorded()
    return (version <= DEEPSPEED).remedy(f"install DeepSpeed {version} or newer").where_recorded()


def removed_from_deepspeed(version: str, instead: str) -> Rule:
    """Say no where the installed DeepSpeed is of a version that no longer has it."""

    def judge(question: Question) -> Finding:
        found = DEEPSPEED.value(question)
        evidence = question.facts.evidence
        if isinstance(found, NotObserved):
            text = f"DeepSpeed {version} removed it, and which one is used is not recorded"
            return Finding(Status.UNKNOWN, evidence, (Reason(Code.NOT_RECORDED, text),))
        if found is None or Version(found.base_version) < Version(version):
            return deepspeed().judge(question)
        reason = Reason(Code.SOFTWARE_VERSION, f"removed in DeepSpeed {version}, found {found}")
        remedies = (instead, f"install DeepSpeed older than {version}")
        return Finding(Status.NO, evidence, (reason,), remedies)

    return value_of(judge).source(
        "DeepSpeed 0.19.8, runtime/config.py, _reject_removed_config_keys; the optimizers and "
        "runtime/comm of 0.19.7 are not in it"
    )


def only_on(*accelerators: str, because: str) -> Rule:
    """Hold on these accelerators; elsewhere software refuses, for the reason given."""

    def judge(question: Question) -> Finding:
        if question.accelerator in accelerators:
            return Finding(Status.YES, question.facts.evidence)
        return Finding(Status.NO, Evidence.DECLARED, (Reason(Code.POLICY, because),))

    return value_of(judge)


def undocumented(text: str) -> Rule:
    """Say unknown, because the vendor's documents and source do not tell."""
    return unknown(Code.NOT_DOCUMENTED, text)


def built_with(cuda: str) -> Rule:
    """Hold where PyTorch is built with this CUDA or a newer one."""
    return (
        (cuda <= TORCH_CUDA)
        .remedy(f"install a PyTorch built with CUDA {cuda} or newer")
        .where_recorded()
    )


def package(name: str, *other_names: str) -> Rule:
    """Hold where a distribution is installed, under its name or another one it goes by."""

    def judge(question: Question) -> Finding:
        found = [question.facts.get("packages", each) for each in (name, *other_names)]
        evidence = question.facts.evidence
        if isinstance(found[0], NotObserved):
            return Finding(Status.UNKNOWN, evidence, (found[0].reason(),))
        version = next((each for each in found if each is not None), None)
        if version is None:
            reason = Reason(Code.SOFTWARE_MISSING, f"the Python package {name} is not installed")
            return Finding(Status.NO, evidence, (reason,), (f"pip install {name}",))
        return Finding(Status.YES, evidence, (Reason(Code.MET, f"{name} {version}"),))

    return value_of(judge)


def use_instead(*features: str) -> Remedy:
    """Make the remedy to use the first of these features that works here at hardware speed."""

    def remedy(question: Question) -> str | None:
        for feature in features:
            if question.resolver.explain(feature).status is Status.YES:
                return f"use {feature.partition('.')[2]}"
        return None

    return remedy


def environment(question: Question, variable: str) -> str | None:
    """Return an environment variable as the facts have it; ``None`` where it is not set."""
    return question.facts.section("host", "environment").get(variable)


def install(**packages: str) -> Remedy:
    """Make the remedy that installs a system package with the package manager that is here."""
    named = {name.replace("_", "-"): package for name, package in packages.items()}
    return lambda question: install_command(named, question.facts.get("host", "package_managers"))


def _on_a_device() -> Rule:
    """Rest on a usable device; where there is none at all, nothing is known about it."""
    available = all_of(DEVICE_AVAILABLE).where_recorded()

    def judge(question: Question) -> Finding:
        found = question.facts.get("devices", question.accelerator)
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, question.facts.evidence, (found.reason(),))
        if not found.get("list") and not found.get("visible_to_system"):
            text = f"no {question.accelerator} device is on this host: ask on a host that has one"
            reason = Reason(Code.NOT_OBSERVED, text)
            return Finding(Status.UNKNOWN, question.facts.evidence, (reason,))
        return available.judge(question)

    return value_of(judge)


ON_A_DEVICE: Rule = _on_a_device()
AVAILABLE: Rule = all_of(DEVICE_AVAILABLE).where_recorded()
"""Rest on a usable device; hardware without software is taken to be usable."""


def if_recorded(*rules: RuleLike) -> Rule:
    """Need all of these; each is left out where a facts file does not have what it looks at."""
    return all_of(*(as_rule(rule).where_recorded() for rule in rules))
