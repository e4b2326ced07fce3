"""Check, with the real compiler, whether a planned extension build would go through.

A plan is the ``build.ninja`` that ``torch.utils.cpp_extension`` wrote for an op: the very
commands that would be run. Nothing of the op is compiled here; the compiler is asked whether it
takes the flags, finds the headers and finds the libraries.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.commands import Answer, ask

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Plan", "build_folder", "cached_build", "check_plan", "languages"]

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".hip": "hip", ".sycl": "sycl"}
_SIMD = {"-D__AVX512__": "avx512f", "-D__AVX256__": "avx2", "-D__SVE__": "sve"}
_MARK = "ACCELCAPS_HEADER"
_CORE_HEADERS = {
    "ATen/ATen.h", "torch/all.h", "torch/extension.h", "torch/library.h", "torch/torch.h",
    "torch/types.h", "torch/version.h",
}  # fmt: skip
"""What every build of torch offers to extensions; these need only Python's headers."""
_FRAMEWORK_LIBRARIES = {
    "c10", "c10_cuda", "c10_hip", "c10_xpu", "torch", "torch_cpu", "torch_cuda", "torch_hip",
    "torch_python", "torch_xpu",
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The commands of one extension build, read from its ``build.ninja``."""

    text: str
    variables: dict[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read a ``build.ninja``."""
        text = path.read_text()
        variables, sources = {}, []
        for line in text.splitlines():
            if line.startswith("build "):
                rule, _, inputs = line.partition(": ")[2].partition(" ")
                if rule in ("compile", "cuda_compile", "sycl_compile"):
                    sources.append(_unescape(inputs.strip()))
            elif " = " in line and not line.startswith(" "):
                name, _, value = line.partition(" = ")
                variables[name] = value
        return cls(text, variables, tuple(sources))

    def words(self, variable: str) -> list[str]:
        """Return a variable's value split into arguments."""
        return [_unescape(word) for word in shlex.split(self.variables.get(variable, ""))]


def languages(sources: Iterable[str]) -> list[str]:
    """Return the languages that the sources are written in, by file name."""
    return sorted({_LANGUAGES.get(Path(source).suffix, "c++") for source in sources})


def check_plan(plan: Plan) -> dict[str, Any]:
    """Return what the compiler does not find or take: headers, libraries, flags, sources."""
    gone = [source for source in plan.sources if not Path(source).is_file()]
    host = [s for s in plan.sources if languages([s]) != ["cuda"] and s not in gone]
    device = [s for s in plan.sources if languages([s]) == ["cuda"] and s not in gone]
    compiler = plan.words("cxx")
    found: dict[str, Any] = {
        "sources_missing": gone,
        "headers_missing": [],
        "libraries": [],
        "libraries_missing": [],
        "flags_error": None,
    }
    _check_compile(found, _Compiler.of(plan, "cxx", "cflags"), host)
    if device and plan.words("nvcc"):
        _check_compile(found, _Compiler.of(plan, "nvcc", "cuda_cflags"), device)
    _check_link(found, compiler, plan.words("ldflags"))
    return found


def cached_build(folder: Path, name: str, plan: Plan | None) -> dict[str, Any] | None:
    """Return what is known of an earlier build in ``folder``; ``None`` where there is none.

    ``fresh`` tells whether ninja would leave it as it is: same commands, and nothing newer than
    what was built. ninja is asked in a dry run, which changes nothing.
    """
    library, script = folder / f"{name}.so", folder / "build.ninja"
    if not library.is_file():
        return None
    built: dict[str, Any] = {"path": str(library), "fresh": False, "isa": []}
    if script.is_file():
        earlier = Plan.read(script)
        flags = earlier.words("cflags")
        built["isa"] = [flag for word, flag in _SIMD.items() if word in flags]
        if plan is not None and earlier.text == plan.text:
            dry = ask(["ninja", "-n", "-C", str(folder)])
            built["fresh"] = dry.ok and "no work to do" in dry.stdout
    return built


@dataclass(frozen=True)
class _Compiler:
    """A compiler with the flags of a plan; ``host`` is the C++ compiler of the same plan."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    host: tuple[str, ...]

    @classmethod
    def of(cls, plan: Plan, compiler: str, flags: str) -> _Compiler:
        # The extension's name differs between ops and decides nothing.
        kept = [f for f in plan.words(flags) if not f.startswith("-DTORCH_EXTENSION_NAME=")]
        return cls(tuple(plan.words(compiler)), tuple(kept), tuple(plan.words("cxx")))

    @property
    def suffix(self) -> str:
        return "cpp" if self.command == self.host else "cu"

    @property
    def own_folders(self) -> tuple[Path, ...]:
        return tuple(Path(flag[2:]) for flag in self.flags if flag.startswith("-I"))

    @property
    def framework_folders(self) -> tuple[Path, ...]:
        pairs = zip(self.flags, self.flags[1:], strict=False)
        return tuple(Path(folder) for flag, folder in pairs if flag == "-isystem")

    @property
    def own_flags(self) -> tuple[str, ...]:
        """The flags that steer the preprocessor, without the framework's folders."""
        return tuple(f for f in self.flags if f.startswith(("-I", "-D", "-U", "-std")))

    @property
    def framework_flags(self) -> tuple[str, ...]:
        """The framework's folders, as flags."""
        return tuple(w for place in self.framework_folders for w in ("-isystem", str(place)))

    def preprocessor(self, flags: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the command that preprocesses a source; ``None`` where it cannot be told."""
        if self.suffix == "cpp":
            return (*self.command, *flags, "-x", "c++", "-E")
        return _preprocessor_of_nvcc(self.command, flags)


def build_folder(folder: Path) -> dict[str, Any]:
    """Return whether torch could build in ``folder``: make it, write to it, and is it free."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return {
        "path": str(folder),
        "locked": (folder / "lock").exists(),
        "error": _error_of_writing(there),
    }


@cache
def _error_of_writing(folder: Path) -> str | None:
    try:
        Path(tempfile.mkdtemp(prefix="accelcaps-", dir=folder)).rmdir()
    except OSError as error:
        return f"{error.strerror or error}: {folder}"
    return None


def _check_compile(found: dict[str, Any], compiler: _Compiler, sources: list[str]) -> None:
    """Add what the compiler refuses or does not find for these sources."""
    if not sources:
        return
    outside, framework = _headers(tuple(sources), compiler.own_folders, compiler.framework_folders)
    there, error = _ask_for_headers(compiler, outside)
    if error is not None:
        found["flags_error"] = found["flags_error"] or error
        return
    absent = [header for header in outside if header not in there]
    if absent:
        absent = _reached(compiler, sources, absent, (*outside, *framework))
    beyond_core = tuple(header for header in framework if header not in _CORE_HEADERS)
    if beyond_core:
        absent += _missing_under(compiler, beyond_core)
    found["headers_missing"] = sorted({*found["headers_missing"], *absent})


@cache
def _headers(
    sources: tuple[str, ...], own: tuple[Path, ...], framework: tuple[Path, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the headers named by the sources, directly or through their own headers.

    Returns:
        Those from outside, and those of the framework, which are there and are not followed.
    """
    outside: dict[str, None] = {}
    of_framework: dict[str, None] = {}
    seen: set[Path] = set()
    waiting = [Path(source) for source in sources]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for quote, name in _INCLUDE.findall(current.read_text(errors="replace")):
            places = ([current.parent] if quote == '"' else []) + list(own)
            mine = next((place / name for place in places if (place / name).is_file()), None)
            if mine is not None:
                waiting.append(mine.resolve())
            elif any((place / name).is_file() for place in framework):
                of_framework[name] = None
            else:
                outside[name] = None
    return tuple(outside), tuple(of_framework)


@cache
def _preprocessor_of_nvcc(
    command: tuple[str, ...], flags: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return the command by which nvcc preprocesses, as it tells it in a dry run."""
    told = ask([*command, *flags, "--dryrun", "-E", "-x", "cu", "accelcaps.cu"]).stderr
    lines = [line for line in told.splitlines() if line.startswith("#$ ") and " -E " in line]
    return tuple(shlex.split(lines[-1][3:])[:-1]) if lines else None


@cache
def _ask_for_headers(
    compiler: _Compiler, headers: tuple[str, ...]
) -> tuple[frozenset[str], str | None]:
    """Ask the compiler, given the flags, which headers it finds; the error where it refuses."""
    text = "".join(
        f"#if __has_include(<{header}>)\n{_MARK} {number}\n#endif\n"
        for number, header in enumerate(headers)
    )
    answer = _preprocess(compiler.command, compiler.flags, text, compiler.suffix)
    if not answer.ok:
        return frozenset(), answer.complaint()
    numbers = re.findall(rf"^{_MARK} (\d+)", answer.stdout, re.MULTILINE)
    return frozenset(headers[int(number)] for number in numbers), None


def _reached(
    compiler: _Compiler, sources: list[str], absent: list[str], wanted: Iterable[str]
) -> list[str]:
    """Return the absent headers that the sources really include, with these flags.

    A source may name a header under a condition that does not hold here. So the preprocessor is
    run over the sources, with empty files in place of every other header that is not their own.
    """
    with tempfile.TemporaryDirectory(prefix="accelcaps-") as folder:
        for header in set(wanted).difference(absent):
            stub = Path(folder, header)
            stub.parent.mkdir(parents=True, exist_ok=True)
            stub.touch()
        command = compiler.preprocessor((f"-I{folder}", *compiler.own_flags))
        reached: set[str] = set()
        for source in sources:
            needs = _dependencies(command, Path(source))
            if needs is None:  # the preprocessor cannot tell: keep what the text says
                return absent
            reached.update(needs)
        return [header for header in absent if header in reached]


@cache
def _missing_under(compiler: _Compiler, headers: tuple[str, ...]) -> list[str]:
    """Return what the framework's own headers include, with these flags, and nobody finds."""
    with tempfile.TemporaryDirectory(prefix="accelcaps-") as folder:
        source = Path(folder, f"headers.{compiler.suffix}")
        source.write_text("".join(f"#include <{header}>\n" for header in headers))
        flags = (*compiler.own_flags, *compiler.framework_flags)
        needs = _dependencies(compiler.preprocessor(flags), source)
        return [name for name in needs or () if not Path(name).is_absolute()]


def _dependencies(command: tuple[str, ...] | None, source: Path) -> list[str] | None:
    """Return all files that a source includes; one that is not there by the name it is asked by.

    ``None`` where the preprocessor fails for another reason.
    """
    answer = ask([*command, "-M", "-MG", str(source)], limit=30) if command else Answer(None)
    if not answer.ok:
        return None
    _, _, listed = answer.stdout.replace("\\\n", " ").partition(":")
    return [_unescape(word) for word in listed.split()]


def _preprocess(command: tuple[str, ...], flags: tuple[str, ...], text: str, suffix: str) -> Answer:
    with tempfile.TemporaryDirectory(prefix="accelcaps-") as folder:
        source = Path(folder, f"headers.{suffix}")
        source.write_text(text)
        return ask([*command, *flags, "-E", str(source)], limit=30)


def _check_link(found: dict[str, Any], compiler: list[str], flags: list[str]) -> None:
    """Look for the framework's libraries among its files; ask the linker for the others."""
    folders = [Path(flag[2:]) for flag in flags if flag.startswith("-L")]
    names = [flag[2:] for flag in flags if flag.startswith("-l")]
    found["libraries"] = sorted({name for name in names if name not in _FRAMEWORK_LIBRARIES})
    found["libraries_missing"] = [
        name
        for name in names
        if name in _FRAMEWORK_LIBRARIES
        and not any((folder / f"lib{name}.so").exists() for folder in folders)
    ]
    others = tuple(flag for flag in flags if flag[2:] not in _FRAMEWORK_LIBRARIES)
    error = _ask_to_link(tuple(compiler), others)
    for name in found["libraries"]:
        if error is not None and re.search(rf"-l{re.escape(name)}\b", error):
            found["libraries_missing"].append(name)
    if error is not None and not found["libraries_missing"]:
        found["flags_error"] = found["flags_error"] or error


@cache
def _ask_to_link(compiler: tuple[str, ...], flags: tuple[str, ...]) -> str | None:
    """Link an empty shared library with ``flags``; return what the linker says against it."""
    shared = [] if "-shared" in flags else ["-shared"]
    answer = ask(
        [*compiler, "-fPIC", *shared, "-x", "c++", "-", "-x", "none", "-o", "trial.so", *flags],
        limit=30,
    )
    return None if answer.ok else answer.stderr or answer.complaint()


def _unescape(text: str) -> str:
    return re.sub(r"\$([ :$])", r"\1", text)
