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
from accelcaps.rules import Finding, Question, Rule, all_of, any_of, fact, value_of, version_of
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
        return f"unset {variable}, which is {named}" if named else None

    def install_it(question: Question) -> str | None:
        found = question.facts.section("toolchain", where)
        return None if found.get("path") and unset(question) else _install(question, packages)

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
    .remedy(
        install(apt_get="python3-dev", dnf="python3-devel", yum="python3-devel",
                zypper="python3-devel", apk="python3-dev")
    )
    .source(f"{_CPP_EXTENSION}: sysconfig.get_path('include')"),
    F.TRITON_INSTALLED: package("triton", "pytorch-triton", "triton-windows").source(
        "the installed distributions"
    ),
}  # fmt: skip

_PYTHON = version_of("host.python.version", "Python")
COMPILE_PYTHON = any_of(
    all_of(_PYTHON < "3.11", TORCH >= "2.0"),
    all_of(_PYTHON < "3.12", TORCH >= "2.1"),
    all_of(_PYTHON < "3.13", TORCH >= "2.4"),
    all_of(_PYTHON < "3.14", TORCH >= "2.6"),
    all_of(_PYTHON < "3.15", TORCH >= "2.10"),
).source(
    "PyTorch, torch/_dynamo/eval_frame.py: Python 3.11 since 2.1, 3.12 since 2.4, 3.13 since 2.6, "
    "3.14 since 2.10"
)
