"""The system libraries that ops link with: header, packages by package manager, known versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LIBRARIES", "Library", "install_command"]


@dataclass(frozen=True, slots=True)
class Library:
    """What is known about a library.

    Attributes:
        name: as in ``-l<name>``.
        header: the header that sources include.
        packages: package manager → the development package's name.
        runtime_packages: ``dpkg`` or ``rpm`` → packages whose version is the library's.
        symbols: function → the first version that has it.
        hint: what else can be done, where no package manager helps.
        variable: the environment variable that points to it.
        source: where this is documented.
    """

    name: str
    header: str
    packages: Mapping[str, str] = field(default_factory=dict)
    runtime_packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)
    hint: str | None = None
    variable: str | None = None
    source: str = ""


_TOOLKIT = "install the CUDA toolkit with its development libraries (a devel image has them)"

LIBRARIES: Mapping[str, Library] = {
    library.name: library
    for library in (
        Library(
            "aio",
            "libaio.h",
            packages={
                "apt-get": "libaio-dev",
                "dnf": "libaio-devel",
                "yum": "libaio-devel",
                "zypper": "libaio-devel",
                "pacman": "libaio",
                "apk": "libaio-dev",
                "dpkg": "libaio-dev",
                "rpm": "libaio-devel",
            },
            runtime_packages={"dpkg": ("libaio1t64", "libaio1"), "rpm": ("libaio",)},
            symbols={"io_submit": "0.3.0", "io_pgetevents": "0.3.112"},
            source="libaio, ChangeLog: 0.3.112 adds io_pgetevents",
        ),
        Library("cufile", "cufile.h", hint="install GPUDirect Storage (libcufile-dev of CUDA)"),
        Library("curand", "curand.h", hint=_TOOLKIT),
        Library("cublas", "cublas_v2.h", hint=_TOOLKIT),
        Library("cudart", "cuda_runtime_api.h", hint=_TOOLKIT),
        Library(
            "cuda", "cuda.h", hint="install the NVIDIA driver, or link with the toolkit's stub"
        ),
        Library(
            "ccl",
            "oneapi/ccl.hpp",
            hint="install oneCCL, and source its setvars.sh, which sets CCL_ROOT",
            variable="CCL_ROOT",
        ),
        Library(
            "numa",
            "numa.h",
            packages={"apt-get": "libnuma-dev", "dnf": "numactl-devel", "yum": "numactl-devel"},
        ),
    )
}

_INSTALL = {
    "apt-get": "apt install {}",
    "dnf": "dnf install {}",
    "yum": "yum install {}",
    "zypper": "zypper install {}",
    "pacman": "pacman -S {}",
    "apk": "apk add {}",
    "brew": "brew install {}",
    # Told from the package database alone, where no tool that installs was found.
    "dpkg": "apt install {}",
    "rpm": "yum install {}",
}


def install_command(packages: Mapping[str, str], managers: object) -> str | None:
    """Return the command that installs a package here: the first manager that knows it.

    Args:
        packages: package manager → package name.
        managers: the package managers that are here, as a list.
    """
    for manager, command in _INSTALL.items():
        if isinstance(managers, (list, tuple)) and manager in managers and manager in packages:
            return command.format(packages[manager])
    return None
