"""Turning source into code: extension builds, torch.compile, triton. Shared by accelerators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from accelcaps import features as F
from accelcaps.accelerators.references import (
    TORCH,
    TORCH_INSTALLED,
    environment,
    install,
    package,
)
from accelcaps.facts.model import NotObserved
from accelcaps.rules import Finding, Question, Rule, all_of, fact, value_of, version
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["BUILD", "COMPILE_PYTHON", "INDUCTOR_CXX", "tool"]

_CPP_EXTENSION = "PyTorch 2.13, torch/utils/cpp_extension.py"


def tool(where: str, what: str, variable: str = "", **packages: str) -> Rule:
    """Hold where a tool was found and runs.

    Args:
        where: its place in the section ``toolchain``.
        what: what to call it.
        variable: the environment variable that names it, if there is one.
        packages: package manager (with underscores) → package that has it.
    """

    def judge(question: Question) -> Finding:
        found = question.facts.get("toolchain", where)
        if isinstance(found, NotObserved):
            return Finding(Status.UNKNOWN, question.facts.evidence, (found.reason(),))
        command = found.get("command") or where
        stated = NotObserved.read(found.get("runs"))
        if stated is not None:
            return Finding(Status.UNKNOWN, question.facts.evidence, (stated.reason(),))
        if found.get("path") is None:
            reason = Reason(Code.TOOLCHAIN_MISSING, f"no {what}: {command} is not on PATH")
        elif not found.get("runs"):
            text = f"the {what} {command} does not work: {found.get('error') or 'it fails'}"
            reason = Reason(Code.TOOLCHAIN_BROKEN, text)
        else:
            version = f" {found['version']}" if found.get("version") else ""
            reason = Reason(Code.MET, f"{what}: {found['path']}{version}")
            return Finding(Status.YES, question.facts.evidence, (reason,))
        return Finding(Status.NO, question.facts.evidence, (reason,))

    def unset(question: Question) -> str | None:
        named = environment(question, variable) if variable else None
        return f"unset {variable}, which is {named!r}" if named is not None else None

    def install_it(question: Question) -> str | None:
        return None if unset(question) else _install(question, packages)

    return value_of(judge).remedy(unset, install_it)


def _install(question: Question, packages: Mapping[str, str]) -> str | None:
    remedy = install(**packages)
    return remedy if isinstance(remedy, str) else remedy(question)


_GXX_PACKAGES = {
    "apt_get": "g++", "dnf": "gcc-c++", "yum": "gcc-c++", "zypper": "gcc-c++", "pacman": "gcc",
    "apk": "g++", "dpkg": "g++", "rpm": "gcc-c++",
}  # fmt: skip
_CXX = tool("cxx", "C++ compiler", "CXX", **_GXX_PACKAGES)
INDUCTOR_CXX = tool("gxx", "C++ compiler", "CXX", **_GXX_PACKAGES).source(
    "PyTorch 2.13, torch/_inductor/cpp_builder.py, cpp_compiler_search"
)


def _python_headers(question: Question) -> str | None:
    """Say where Python's headers come from: the distribution's package, or Python itself."""
    if question.facts.section("toolchain", "python_headers").get("of_distribution") is False:
        return "use a Python that was installed with its headers (this one is not the system's)"
    return _install(
        question,
        {
            "apt_get": "python3-dev", "dnf": "python3-devel", "yum": "python3-devel",
            "zypper": "python3-devel", "apk": "python3-dev",
        },
    )  # fmt: skip


def _language_standard() -> Rule:
    """The C++ standard that this torch compiles extensions with, and the compiler's age."""

    def judge(question: Question) -> Finding:
        torch = TORCH.value(question)
        found = question.facts.get("toolchain", "cxx")
        evidence = question.facts.evidence
        if isinstance(found, NotObserved) or isinstance(torch, NotObserved) or torch is None:
            return Finding(Status.YES, evidence)  # other rules speak of what is missing
        try:
            version = Version(found.get("version") or "")
        except InvalidVersion:
            return Finding(Status.YES, evidence)
        standard, oldest = ("C++20", "10") if torch >= Version("2.12") else ("C++17", "7")
        if found.get("kind") != "gcc" or version >= Version(oldest):
            return Finding(Status.YES, evidence)
        text = (
            f"PyTorch {torch} compiles extensions as {standard}, which needs GCC {oldest} or "
            f"newer, found {version}"
        )
        return Finding(Status.NO, evidence, (Reason(Code.TOOLCHAIN_MISMATCH, text),))

    return value_of(judge).source(
        f"{_CPP_EXTENSION} (-std=c++20 since 2.12, c++17 before); GCC, C++ Standards Support"
    )


BUILD: Mapping[Feature, Rule] = {
    F.BUILD_CC: tool(
        "cc", "C compiler", "CC",
        apt_get="gcc", dnf="gcc", yum="gcc", zypper="gcc", apk="gcc", pacman="gcc",
    ).source("triton, python/triton/runtime/build.py: CC, else gcc, else clang"),
    F.BUILD_CXX: all_of(
        TORCH_INSTALLED, _CXX, F.BUILD_PYTHON_HEADERS, _language_standard()
    ).source(_CPP_EXTENSION),
    F.BUILD_NINJA: tool("ninja", "ninja")
    .remedy(
        "pip install ninja, into an environment whose bin folder is on PATH",
        install(apt_get="ninja-build", dnf="ninja-build", yum="ninja-build", pacman="ninja"),
    )
    .source(f"{_CPP_EXTENSION}, verify_ninja_availability"),
    F.BUILD_PYTHON_HEADERS: fact("toolchain.python_headers.there", "Python.h")
    .coded(Code.LIBRARY_MISSING)
    .holds("Python.h is there", "no Python.h where the build looks for it")
    .remedy(_python_headers)
    .source(f"{_CPP_EXTENSION}: sysconfig.get_path('include')"),
    F.TRITON_INSTALLED: package("triton", "pytorch-triton", "triton-windows").source(
        "the installed distributions"
    ),
}  # fmt: skip

# Python's minor version → the first PyTorch whose torch.compile takes it.
_FIRST_TORCH = {8: "2.0", 9: "2.0", 10: "2.0", 11: "2.1", 12: "2.4", 13: "2.6", 14: "2.10"}


def _compile_on_this_python() -> Rule:
    def judge(question: Question) -> Finding:
        found = question.facts.get("host", "python", "version")
        python = found if isinstance(found, NotObserved) else version(str(found), "Python")
        torch = TORCH.value(question)
        evidence = question.facts.evidence
        if isinstance(python, NotObserved):
            return Finding(Status.UNKNOWN, evidence, (python.reason(),))
        if isinstance(torch, NotObserved):
            return Finding(Status.UNKNOWN, evidence, (torch.reason(),))
        first = _FIRST_TORCH.get(python.minor)
        if torch is None or (first is not None and Version(torch.base_version) >= Version(first)):
            return Finding(Status.YES, evidence)  # where torch is missing, another rule says so
        needs = f"needs PyTorch {first} or newer" if first else "is not taken by any PyTorch yet"
        text = f"torch.compile on Python {python.major}.{python.minor} {needs}, found {torch}"
        remedies = (f"install PyTorch {first} or newer",) if first else ()
        return Finding(Status.NO, evidence, (Reason(Code.SOFTWARE_VERSION, text),), remedies)

    return value_of(judge)


COMPILE_PYTHON = _compile_on_this_python().source(
    "PyTorch, torch/_dynamo/eval_frame.py: Python 3.11 since 2.1, 3.12 since 2.4, 3.13 since 2.6, "
    "3.14 since 2.10"
)
