"""The section ``toolchain``: compilers, ninja and Python headers, as an extension build finds them.

``torch.utils.cpp_extension`` takes the C++ compiler from ``CXX`` (else ``c++``), ``ninja`` from
PATH, ``Python.h`` from sysconfig, and the CUDA toolkit from ``CUDA_HOME``, ``CUDA_PATH``, the
``nvcc`` on PATH or ``/usr/local/cuda``, in that order; ``hipcc`` from ``ROCM_HOME``, ``ROCM_PATH``,
the package rocm-sdk-core, PATH or ``/opt/rocm``; ``icpx`` from PATH (torch 2.13, cpp_extension.py).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.commands import ask
from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts

__all__ = ["ToolchainCollector", "c_compilers", "cuda_home"]

_TRIAL = "#include <cstdlib>\nint accelcaps_trial(int x) { return std::abs(x); }\n"


class ToolchainCollector:
    """Finds each tool and runs it: a file that is there and does not run is no tool."""

    section = ("toolchain",)
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section."""
        with ThreadPoolExecutor(4) as pool:
            parts = {
                "cxx": pool.submit(_cxx),
                "cc": pool.submit(_cc),
                "gxx": pool.submit(_gxx),
                "ninja": pool.submit(_ninja),
                "nvcc": pool.submit(_nvcc),
                "nvcc_host": pool.submit(_nvcc_host),
                "hipcc": pool.submit(_hipcc),
                "icpx": pool.submit(_program, "icpx"),
            }
            found: dict[str, Any] = {name: part.result() for name, part in parts.items()}
        home, origin = cuda_home()
        found["cuda_home"] = home
        found["cuda_home_from"] = origin
        found["cuda_archs"] = _archs(found["nvcc"])
        found["python_headers"] = _python_headers()
        return found


def cuda_home() -> tuple[str | None, str | None]:
    """Return the CUDA toolkit's folder as torch finds it, and what pointed to it."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            return os.environ[name], name
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        return str(Path(nvcc).parent.parent), "nvcc on PATH"
    if Path("/usr/local/cuda").exists():
        return "/usr/local/cuda", "the default place"
    return None, None


def c_compilers() -> list[str]:
    """Return the commands that are tried for C, the first that is there being taken."""
    return [os.environ["CC"]] if os.environ.get("CC") else ["gcc", "clang"]


def _cxx() -> dict[str, Any]:
    command = os.environ.get("CXX", "cl" if sys.platform == "win32" else "c++")
    found = _program(command, split=True)
    if sys.platform == "win32":
        found["runs"] = NotObserved(Code.NOT_OBSERVED, "compilers on Windows are not tried")
    elif found["path"] and found["runs"]:
        trial = ask(
            [*_words(command), "-shared", "-fPIC", "-x", "c++", "-", "-o", "trial.so"],
            given=_TRIAL, limit=30,
        )  # fmt: skip
        if not trial.ok:
            found.update(runs=False, error=f"cannot build a shared library: {trial.complaint()}")
    return found


def _cc() -> dict[str, Any]:
    """Return the C compiler as triton takes it: ``CC``, else gcc, else clang."""
    return next((f for f in map(_program, c_compilers()) if f["path"]), _program(c_compilers()[0]))


def _gxx() -> dict[str, Any]:
    """Return the C++ compiler as inductor takes it: ``CXX``, else g++ (clang++ on macOS)."""
    return _program(os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++"))


def _program(command: str, *, split: bool = False) -> dict[str, Any]:
    """Return command, path, version, whether it runs, and what it said where it does not.

    Args:
        command: as an environment variable gives it.
        split: whether who uses it takes what follows the first word as arguments.
    """
    words = _words(command) if split else [command]
    path = shutil.which(words[0])
    found: dict[str, Any] = {
        "command": command, "path": path, "runs": False, "version": None, "error": None
    }  # fmt: skip
    if path is None:
        return found
    answer = ask([*words, "--version"])
    found["runs"] = answer.ok
    if answer.ok:
        found["version"] = _version(answer.stdout)
        found["kind"] = "clang" if "clang" in answer.stdout.lower() else "gcc"
    else:
        found["error"] = answer.complaint()
    return found


def _nvcc_host() -> dict[str, Any]:
    """Return the compiler that nvcc hands host code to: ``CC``, else the gcc on PATH."""
    return _program(os.environ.get("CC", "gcc"))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command) or [command]
    except ValueError:  # an unbalanced quote: the shell would refuse it too
        return [command]


def _ninja() -> dict[str, Any]:
    return _program("ninja")


def _nvcc() -> dict[str, Any]:
    """Return the nvcc of the CUDA toolkit that an extension build would use."""
    home, _ = cuda_home()
    path = Path(home, "bin", "nvcc") if home else None
    there = path is not None and path.is_file()
    found: dict[str, Any] = {
        "path": str(path) if there else None, "runs": False, "version": None, "error": None
    }  # fmt: skip
    if there:
        answer = ask([str(path), "--version"])
        release = re.search(r"release (\d+\.\d+)", answer.stdout)
        found["runs"] = answer.ok and release is not None
        found["version"] = release[1] if release else None
        found["error"] = None if found["runs"] else answer.complaint()
    return found


def _hipcc() -> dict[str, Any]:
    """Return the hipcc of the ROCm that an extension build would use."""
    home = os.environ.get("ROCM_HOME") or os.environ.get("ROCM_PATH")
    if home is None:
        packaged = importlib.util.find_spec("_rocm_sdk_core")
        home = str(Path(packaged.origin).parent) if packaged and packaged.origin else None
    if home is None and shutil.which("hipcc") is None:
        home = "/opt/rocm"
    return _program(str(Path(home, "bin", "hipcc")) if home else "hipcc")


def _archs(nvcc: dict[str, Any]) -> list[str] | None:
    """Return the architectures that nvcc compiles for, such as ``sm_90``."""
    if not nvcc["runs"]:
        return None
    listed = ask([nvcc["path"], "--list-gpu-arch"])
    return re.sub(r"\bcompute_", "sm_", listed.stdout).split() if listed.ok else None


def _python_headers() -> dict[str, Any]:
    scheme = "nt" if sys.platform == "win32" else "posix_prefix"
    folder = Path(sysconfig.get_path("include", scheme=scheme))
    return {
        "folder": str(folder),
        "there": (folder / "Python.h").is_file(),
        "of_distribution": sys.base_prefix == "/usr",
    }


def _version(text: str) -> str | None:
    found = re.search(r"\d+(?:\.\d+)+", text)
    return found[0] if found else None
