"""A software stack to put beside a profile: ``torch=2.6.0+cu126,driver=570.26``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from accelcaps.errors import ProfileError
from accelcaps.facts.packages import normalised

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Stack", "read_stack"]

_SYSTEMS = {"mps": "Darwin"}


@dataclass(frozen=True, slots=True)
class Stack:
    """Software and its versions.

    Attributes:
        versions: ``torch``, ``driver``, ``python``, ``macos``, or a distribution's name → version.
    """

    versions: Mapping[str, str]

    def __str__(self) -> str:
        return ",".join(f"{name}={version}" for name, version in self.versions.items())

    def facts(self, accelerator: str) -> dict[str, dict[str, Any]]:
        """Return the sections of facts that this software makes, on an accelerator's machine.

        Raises:
            ProfileError: when the torch named is not built for anything that can be told.
        """
        versions = dict(self.versions)
        host: dict[str, Any] = {"system": _SYSTEMS.get(accelerator, "Linux")}
        devices: dict[str, Any] = {}
        if "python" in versions:
            host["python"] = {"version": versions.pop("python")}
        if "macos" in versions:
            host["macos"] = versions.pop("macos")
        if "driver" in versions:
            devices["driver"] = {"version": versions.pop("driver")}
        torch = versions.pop("torch", None)
        sections: dict[str, dict[str, Any]] = {"host": host, "devices": devices}
        packages = {normalised(name): version for name, version in versions.items()}
        if torch is not None:
            sections["torch"], brought = _torch(torch, accelerator)
            packages = {"torch": sections["torch"]["version"], **brought, **packages}
        sections["packages"] = packages
        sections["imports"] = {name: {"imported": True} for name in packages}  # taken to work
        return sections


def read_stack(text: str) -> Stack:
    """Read ``name=version,name=version``.

    Raises:
        ProfileError: when a part is not of that form, or a version is none.
    """
    versions: dict[str, str] = {}
    for part in filter(None, re.split(r"[,\s]+", text)):
        name, equals, version = part.partition("=")
        version = version.removeprefix("=")  # pip writes two
        if not equals or not name:
            raise ProfileError(f"{part!r} is not of the form name=version, such as torch=2.6.0")
        try:
            Version(version)
        except InvalidVersion as error:
            raise ProfileError(f"{part}: {version!r} is not a version") from error
        versions[name] = version
    if not versions:
        raise ProfileError("the software stack is empty; write it as torch=2.6.0+cu126")
    return Stack(versions)


def _torch(stated: str, accelerator: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the section ``torch`` of a released wheel, and the packages it brings."""
    version = Version(stated)
    release = f"{version.major}.{version.minor}"
    usual = _wheels()["default"].get(release, {})
    build = version.local or {"mps": "cpu", "rocm": "", "xpu": "xpu"}.get(accelerator)
    if build is None:
        build = usual.get("build", "") if accelerator == "cuda" else "cpu"
    if not build:
        raise ProfileError(
            f"torch={stated} does not say what it is built for: write it with its build, as in "
            f"torch={stated}{'+rocm6.4' if accelerator == 'rocm' else '+cu126'}"
        )
    found = re.fullmatch(r"(cu|rocm|xpu|cpu)(\d*)\.?([\d.]*)", build)
    if found is None:
        raise ProfileError(
            f"torch={stated}: no build is called {build!r} (cpu, cu126, rocm6.4, xpu)"
        )
    kind = found[1]
    section: dict[str, Any] = {
        # macOS wheels do not name a build
        "version": stated if version.local or accelerator == "mps" else f"{stated}+{build}",
        "cuda": f"{found[2][:-1]}.{found[2][-1]}" if kind == "cu" else None,
        "hip": build.removeprefix("rocm") if kind == "rocm" else None,
        "xpu": release if kind == "xpu" else None,
        "build": {"cu": "cuda"}.get(kind, kind),
        "runtime": {"backends": _backends(kind, version)},
    }
    brought: dict[str, str] = {}
    listed = _architectures(release, build)
    if kind in ("cpu", "xpu"):
        section["runtime"]["arch_list"] = None
    elif listed is not None:
        section["runtime"]["arch_list"] = listed
    if kind == "cu" and build == usual.get("build"):
        section["runtime"]["comm_version"] = usual["nccl"]
    if kind == "cu" and usual:
        brought["triton"] = usual["triton"]
    return section, brought


def _backends(kind: str, version: Version) -> list[str]:
    if kind in ("cu", "rocm"):
        return ["gloo", "nccl"]
    return ["gloo", "xccl"] if kind == "xpu" and version >= Version("2.8") else ["gloo"]


def _architectures(release: str, build: str) -> list[str] | None:
    for row in _wheels()["architectures"]:
        if release in row["torch"] and build in row["builds"]:
            return str(row["list"]).split()
    return None


@lru_cache(maxsize=1)
def _wheels() -> dict[str, Any]:
    text = resources.files("accelcaps.profiles").joinpath("wheels.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found
