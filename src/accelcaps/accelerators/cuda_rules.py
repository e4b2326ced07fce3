"""The rules of the CUDA table that are more than a comparison: driver, kernel images, toolkit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from accelcaps.accelerators.references import (
    COMPUTE_CAPABILITY,
    TORCH_CUDA,
    environment,
    without_autoload,
)
from accelcaps.facts.model import NotObserved
from accelcaps.rules import Finding, Question, Rule, value_of, version
from accelcaps.verdict import Code, Evidence, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "compiles_for_device",
    "device_seen",
    "driver_new_enough",
    "kernel_image",
    "nvcc",
    "toolkit_matches",
    "torch_runs",
]

# CUDA Toolkit Release Notes, tables 2 and 3 (Linux; the driver a toolkit's programs need).
# From 11 on, a driver for one minor version runs programs of every minor version.
_OLDEST_DRIVER: Mapping[int, str] = {13: "580.65", 12: "525.60.13", 11: "450.80.02", 10: "410.48"}
_OLDEST_DRIVER_OF_10 = {"10.1": "418.39", "10.2": "440.33"}
# Integrated GPUs that do not run images of the discrete GPUs of their generation
# (PyTorch 2.13, torch/cuda/__init__.py, _CompatInterval).
_INTEGRATED = {(5, 3), (6, 2), (7, 2), (8, 7)}
# GCC that a toolkit's nvcc takes, exclusive (PyTorch 2.13, cpp_extension.py, CUDA_GCC_VERSIONS).
_GCC_BELOW: Mapping[str, int] = {
    "11.0": 10, "11.1": 11, "11.2": 11, "11.3": 11, "11.4": 12, "11.5": 12, "11.6": 12, "11.7": 12,
    "11.8": 12, "12.0": 13, "12.1": 13, "12.2": 13, "12.3": 14, "12.4": 14, "12.5": 14, "12.6": 14,
    "12.8": 15, "12.9": 15, "13.0": 16,
}  # fmt: skip


def device_seen() -> Rule:
    """Hold where this process sees a device; tell a card without a driver from a hidden one."""

    def judge(question: Question) -> Finding:
        found = question.facts.section("devices", question.accelerator)
        devices = found.get("list", [])
        stated = NotObserved.read(devices)
        if stated is not None:
            mismatch = "LibRmVersionMismatch" in stated.text
            remedies = ("reboot, or reload the NVIDIA kernel modules",) if mismatch else ()
            return _finding(question, Status.UNKNOWN, stated.code, stated.text, *remedies)
        if any(device.get("visible") is not False for device in devices):
            names = ", ".join(str(device.get("name")) for device in devices)
            return _finding(question, Status.YES, Code.MET, f"there is {names}")
        if devices:
            hidden = question.facts.section("limits", "visible_devices").get("CUDA_VISIBLE_DEVICES")
            text = f"CUDA_VISIBLE_DEVICES={hidden!r} hides every device of this host"
            return _finding(question, Status.NO, Code.POLICY, text, "unset CUDA_VISIBLE_DEVICES")
        places = ", ".join(card["pci"] for card in found.get("visible_to_system", ()))
        modules = question.facts.get("host", "kernel_modules")
        if isinstance(modules, list) and "nvidia" in modules:
            text = f"an NVIDIA card (PCI {places}) and its driver are there, and its library is not"
            remedy = "start the container with --gpus all, or install the driver's libcuda and NVML"
        else:
            text = f"an NVIDIA card is there (PCI {places}), and no NVIDIA driver is loaded"
            remedy = "install the NVIDIA driver"
        return _finding(question, Status.NO, Code.DRIVER_MISSING, text, remedy)

    return value_of(judge).source("NVML; the PCI bus (vendor 10de, class 03)")


def driver_new_enough() -> Rule:
    """Hold where the driver can run programs of this torch's CUDA."""

    def judge(question: Question) -> Finding:
        cuda = TORCH_CUDA.value(question)
        if cuda is None or isinstance(cuda, NotObserved):
            return TORCH_CUDA.exists().judge(question)
        found = question.facts.get("devices", question.accelerator, "driver", "version")
        if (found is None or isinstance(found, NotObserved)) and _torch_runs(question):
            text = "torch runs, although NVML tells no driver version"
            return _finding(question, Status.YES, Code.NOTE, text)
        if found is None:
            return _finding(question, Status.NO, Code.DRIVER_MISSING, "no NVIDIA driver is loaded")
        driver = found if isinstance(found, NotObserved) else version(str(found), "NVIDIA driver")
        if isinstance(driver, NotObserved):
            return _finding(question, Status.UNKNOWN, driver.code, driver.text)
        if question.facts.get("host", "system") == "Windows" and not _torch_runs(question):
            text = "which driver on Windows is new enough was not looked up"
            return _finding(question, Status.UNKNOWN, Code.NOT_OBSERVED, text)
        minor = f"{cuda.major}.{cuda.minor}"
        oldest = _OLDEST_DRIVER_OF_10.get(minor) or _OLDEST_DRIVER.get(cuda.major)
        if oldest is None:
            text = f"no source tells which driver CUDA {minor} needs"
            return _finding(question, Status.UNKNOWN, Code.NOT_OBSERVED, text)
        text = f"NVIDIA driver is {found}, CUDA {minor} of this PyTorch needs at least {oldest}"
        if driver >= Version(oldest):
            return _finding(question, Status.YES, Code.MET, text)
        if _torch_runs(question):
            text = f"{text}; torch runs all the same (forward compatibility package)"
            return _finding(question, Status.YES, Code.NOTE, text)
        supported = question.facts.get("devices", question.accelerator, "driver", "cuda")
        below = "" if isinstance(supported, NotObserved) or not supported else (
            f", or a PyTorch built for CUDA {supported} or older"
        )  # fmt: skip
        remedy = f"install driver {oldest} or newer{below}"
        return _finding(question, Status.NO, Code.DRIVER_TOO_OLD, text, remedy)

    return value_of(judge).source("CUDA Toolkit Release Notes, tables 2 and 3")


def torch_runs() -> Rule:
    """Hold where torch, tried in a child process, could use the devices."""

    def judge(question: Question) -> Finding:
        if TORCH_CUDA.value(question) is None:
            return Finding(Status.YES, question.facts.evidence)  # another rule says so
        found = question.facts.get("torch", "devices", "cuda")
        if isinstance(found, NotObserved):
            return _finding(question, Status.UNKNOWN, found.code, found.text)
        if found.get("available") and not found.get("error"):
            return _finding(question, Status.YES, Code.MET, "torch.cuda.is_available() is true")
        text = f"torch cannot use it: {found.get('error') or 'torch.cuda.is_available() is false'}"
        return _finding(question, Status.NO, Code.RUNTIME_FAILED, text, *without_autoload(text))

    return value_of(judge).where_recorded().source("torch.cuda, asked in a child process")


def kernel_image() -> Rule:
    """Hold where this torch carries code that the device runs: its own, or PTX to compile."""

    def judge(question: Question) -> Finding:
        architectures = question.facts.get("torch", "runtime", "arch_list")
        if isinstance(architectures, NotObserved):
            return _finding(question, Status.UNKNOWN, architectures.code, architectures.text)
        if architectures is None:
            text = "this PyTorch has no CUDA kernels at all"
            return _finding(question, Status.NO, Code.SOFTWARE_BUILD, text)
        capability = COMPUTE_CAPABILITY.value(question)
        if isinstance(capability, NotObserved) or capability is None:
            return COMPUTE_CAPABILITY.exists().judge(question)
        device = (capability.major, capability.minor)
        listed = ", ".join(architectures)
        if any(_runs(name, device) for name in architectures):
            text = f"compute capability {capability} runs code for {listed}"
            return _finding(question, Status.YES, Code.MET, text)
        if any(_compiles(name, device) for name in architectures):
            text = f"the driver compiles PTX for compute capability {capability} at first use"
            return _finding(question, Status.YES, Code.NOTE, text)
        text = f"this PyTorch has code for {listed}, and none for compute capability {capability}"
        return _finding(question, Status.NO, Code.BUILD_ARCH_MISSING, text, _other_build(device))

    return value_of(judge, per_device=True).source(
        "PyTorch 2.13, torch/cuda/__init__.py, _check_capability; CUDA Programming Guide, "
        "binary compatibility"
    )


def nvcc() -> Rule:
    """Hold where the CUDA toolkit that an extension build would use has an nvcc that runs."""

    def judge(question: Question) -> Finding:
        found = question.facts.get("toolchain", "nvcc")
        home = question.facts.get("toolchain", "cuda_home")
        if isinstance(found, NotObserved):
            return _finding(question, Status.UNKNOWN, found.code, found.text)
        if found.get("runs"):
            text = f"nvcc {found.get('version')}: {found.get('path')}"
            return _finding(question, Status.YES, Code.MET, text)
        if found.get("path"):
            text = f"{found['path']} does not run: {found.get('error') or 'it fails'}"
            return _finding(question, Status.NO, Code.TOOLCHAIN_BROKEN, text)
        if home and not isinstance(home, NotObserved):
            text = f"there is no nvcc in {home}/bin (a runtime-only install)"
        else:
            text = "there is no CUDA toolkit: no nvcc on PATH, no CUDA_HOME, no /usr/local/cuda"
        return _finding(question, Status.NO, Code.TOOLCHAIN_MISSING, text)

    def container(question: Question) -> str | None:
        named = question.facts.get("host", "container")
        return "use a devel image (one that has nvcc)" if isinstance(named, str) else None

    def toolkit(question: Question) -> str:
        cuda = TORCH_CUDA.value(question)
        wanted = f" {cuda.major}.{cuda.minor}" if isinstance(cuda, Version) else ""
        return f"install the cuda-nvcc package of CUDA{wanted} and set CUDA_HOME to it"

    return (
        value_of(judge)
        .remedy(container, toolkit)
        .source("PyTorch 2.13, torch/utils/cpp_extension.py, _find_cuda_home")
    )


def toolkit_matches() -> Rule:
    """Hold where toolkit, torch, host compiler and device fit together for a build."""

    def judge(question: Question) -> Finding:
        cuda = TORCH_CUDA.value(question)
        found = question.facts.get("toolchain", "nvcc", "version")
        if found is None or isinstance(found, NotObserved) or not isinstance(cuda, Version):
            return Finding(Status.YES, question.facts.evidence)  # other rules say what is missing
        toolkit = version(str(found), "nvcc")
        if isinstance(toolkit, NotObserved):
            return _finding(question, Status.UNKNOWN, toolkit.code, toolkit.text)
        compiler = _host_compiler(question, f"{toolkit.major}.{toolkit.minor}")
        if compiler is not None:
            return compiler
        text = f"nvcc is of CUDA {found}, this PyTorch is built with CUDA {cuda}"
        if toolkit.major != cuda.major:
            if environment(question, "DS_SKIP_CUDA_CHECK") == "1":
                return _finding(
                    question, Status.DEGRADED, Code.LIMITED,
                    f"{text}; accepted because DS_SKIP_CUDA_CHECK is 1",
                )  # fmt: skip
            remedies = (
                f"install CUDA toolkit {cuda.major}.{cuda.minor}, or a PyTorch built with CUDA "
                f"{toolkit.major}",
                "set DS_SKIP_CUDA_CHECK=1 (DeepSpeed; at your own risk)",
            )
            return _finding(
                question, Status.NO, Code.TOOLCHAIN_MISMATCH, f"{text}: major versions differ",
                *remedies,
            )  # fmt: skip
        if toolkit.minor != cuda.minor:
            return _finding(question, Status.YES, Code.NOTE, f"{text}: minor versions may differ")
        return _finding(question, Status.YES, Code.MET, text)

    return value_of(judge).source(
        "PyTorch 2.13, torch/utils/cpp_extension.py, _check_cuda_version and CUDA_GCC_VERSIONS"
    )


def compiles_for_device() -> Rule:
    """Hold where the toolkit still, or already, compiles for the device."""

    def judge(question: Question) -> Finding:
        targets = question.facts.get("toolchain", "cuda_archs")
        capability = COMPUTE_CAPABILITY.value(question)
        if not isinstance(targets, (list, tuple)) or not isinstance(capability, Version):
            return Finding(Status.YES, question.facts.evidence)
        device = (capability.major, capability.minor)
        if any(_runs(name, device) for name in targets):
            return Finding(Status.YES, question.facts.evidence)
        found = question.facts.get("toolchain", "nvcc", "version")
        text = f"nvcc {found} does not compile for compute capability {capability}"
        remedy = "use CUDA 12.9 or older" if device < (7, 5) else "use a newer CUDA toolkit"
        return _finding(question, Status.NO, Code.TOOLCHAIN_MISMATCH, text, remedy)

    return value_of(judge, per_device=True).source("nvcc --list-gpu-arch")


def _torch_runs(question: Question) -> bool:
    found = question.facts.section("torch", "devices", "cuda")
    return bool(found.get("available")) and not found.get("error")


def _host_compiler(question: Question, toolkit: str) -> Finding | None:
    """Return what is wrong with the host compiler for this nvcc; ``None``: nothing known."""
    compiler = question.facts.section("toolchain", "nvcc_host")
    below = _GCC_BELOW.get(toolkit)
    found = version(str(compiler.get("version")))
    if below is None or compiler.get("kind") != "gcc" or isinstance(found, NotObserved):
        return None
    if found.major < below:
        return None
    text = f"nvcc of CUDA {toolkit} takes GCC older than {below}, found {found}"
    remedy = f"install g++-{below - 1}, and set CC=gcc-{below - 1} and CXX=g++-{below - 1}"
    return _finding(question, Status.NO, Code.TOOLCHAIN_MISMATCH, text, remedy)


def _runs(name: str, device: tuple[int, int]) -> bool:
    """Whether code for ``name`` (``sm_90``, ``sm_100a``, ``sm_120f``) runs on the device."""
    found = re.fullmatch(r"sm_(\d+)(\d)([af]?)", name)
    if found is None:
        return False
    built = (int(found[1]), int(found[2]))
    if found[3] == "a":
        return built == device
    if built[0] != device[0] or device[1] < built[1]:
        return False
    return built == device or (device not in _INTEGRATED and built not in _INTEGRATED)


def _compiles(name: str, device: tuple[int, int]) -> bool:
    found = re.fullmatch(r"compute_(\d+)(\d)", name)
    return found is not None and (int(found[1]), int(found[2])) <= device


def _other_build(device: tuple[int, int]) -> str:
    """Name the builds that have code for a device (PyTorch 2.13, PYTORCH_RELEASES_CODE_CC)."""
    if device < (5, 0):
        return "use PyTorch 2.3 or older, or build PyTorch from source for this device"
    if device < (7, 5):
        return "install a PyTorch built with CUDA 12.6 (up to PyTorch 2.14)"
    if device >= (10, 0):
        return "install PyTorch 2.7 or newer, built with CUDA 12.8 or newer"
    return "install a current PyTorch built with CUDA"


def _finding(question: Question, status: Status, code: Code, text: str, *remedies: Any) -> Finding:
    evidence = Evidence.DETECTED if status is Status.UNKNOWN else question.facts.evidence
    return Finding(status, evidence, (Reason(code, text),), remedies)
