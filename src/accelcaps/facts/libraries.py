"""The section ``libraries``: the system libraries that ops need, as the linker would find them."""

from __future__ import annotations

import ctypes.util
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.commands import ask
from accelcaps.ops.libraries import LIBRARIES, Library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accelcaps.facts.model import Facts

__all__ = ["LibrariesCollector"]


class LibrariesCollector:
    """Asks the C++ compiler for each library's file and header, and the package manager."""

    section = ("libraries",)
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section: library name → ``file``, ``header``, ``runtime``, ``version``."""
        compiler = facts.get("toolchain", "cxx", "command")
        runs = facts.get("toolchain", "cxx", "runs") is True
        command = shlex.split(compiler) if runs else []
        managers = facts.get("host", "package_managers")
        managers = managers if isinstance(managers, list) else []
        with ThreadPoolExecutor(4) as pool:
            found = pool.map(lambda library: _look(library, command, managers), LIBRARIES.values())
            return dict(zip(LIBRARIES, found, strict=True))


def _look(library: Library, compiler: list[str], managers: Sequence[str]) -> dict[str, Any]:
    runtime = ctypes.util.find_library(library.name)
    return {
        "file": _file(library, compiler),
        "header": _header(library, compiler),
        "runtime": runtime,
        "version": _version(library, managers) if runtime else None,
    }


def _file(library: Library, compiler: list[str]) -> str | None:
    """Return the file that the linker takes for ``-l<name>``; ``None``: none."""
    for suffix in (".so", ".a", ".dylib"):
        if compiler:
            answer = ask([*compiler, f"-print-file-name=lib{library.name}{suffix}"])
            path = Path(answer.stdout.strip())
            if answer.ok and path.is_absolute() and path.exists():
                return str(path.resolve())
    return None


def _header(library: Library, compiler: list[str]) -> str | None:
    """Return the file that the compiler takes for the library's header; ``None``: none."""
    if not compiler or not library.header:
        return None
    answer = ask([*compiler, "-E", "-H", "-x", "c++", "-"], given=f"#include <{library.header}>\n")
    first = re.search(r"^\. (.+)$", answer.stderr, re.MULTILINE)
    return first[1] if answer.ok and first else None


def _version(library: Library, managers: Sequence[str]) -> str | None:
    """Return the installed version as the package manager knows it."""
    for manager, command in (
        ("dpkg", ["dpkg-query", "-W", "-f", "${Version}"]),
        ("rpm", ["rpm", "-q", "--qf", "%{VERSION}"]),
    ):
        if manager in managers:
            for package in library.runtime_packages.get(manager, ()):
                answer = ask([*command, package])
                version = re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", answer.stdout)
                if answer.ok and version:
                    return version[1]
    return None
