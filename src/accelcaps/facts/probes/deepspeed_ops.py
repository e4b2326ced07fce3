"""Ask the installed DeepSpeed for its op builders, and rehearse the loading of each.

A rehearsal runs the builder's own ``load()`` with torch's real extension machinery, up to the
point where ninja would be started; so what an op needs is what its builder really asks for. It
happens in a child process, in a scratch build folder.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.model import NotObserved
from accelcaps.facts.probes.build_plan import (
    Plan,
    build_folder,
    cached_build,
    check_plan,
    languages,
)
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accelcaps.facts.isolation import Report

__all__ = ["probe"]

_MOST_LINES = 20
"""How many lines that a builder prints are kept."""


def probe(report: Report, skip: list[str], outside: str = "") -> None:
    """Report ``accelerator`` (DeepSpeed's own word on it), then every builder by its op's name.

    Args:
        report: takes what is observed.
        skip: op names not to look at (again).
        outside: ``module:Class`` of an accelerator that DeepSpeed does not have.
    """
    cpu_info = _ask_cpuinfo()
    if outside:
        _set_accelerator(outside)
    import deepspeed
    from deepspeed.accelerator import get_accelerator

    _answer_cpuinfo_once(cpu_info)
    accelerator = get_accelerator()
    report("accelerator", {"deepspeed": deepspeed.__version__, **_own_word(accelerator)})
    from deepspeed.ops.op_builder.all_ops import ALL_OPS

    report("names", sorted(name for name, each in ALL_OPS.items() if not _is_placeholder(each)))
    with tempfile.TemporaryDirectory(prefix="accelcaps-") as scratch:
        rehearsed: dict[str, tuple[dict[str, Any], Plan | None]] = {}
        for name, builder in ALL_OPS.items():
            if name not in skip:
                report(name)
                rehearsed[name] = _observe(builder, Path(scratch))
        report("the checks of the builds")
        # The checks only wait for compilers, so several may wait at a time.
        with ThreadPoolExecutor(4) as pool:
            checks = {
                name: pool.submit(check_plan, plan)
                for name, (_, plan) in rehearsed.items()
                if plan is not None
            }
        for name, (found, _) in rehearsed.items():
            report(name, found | ({"build": checks[name].result()} if name in checks else {}))


def _set_accelerator(named: str) -> None:
    """Make an accelerator of a vendor's package the one that DeepSpeed uses."""
    from deepspeed.accelerator import set_accelerator

    module, _, name = named.partition(":")
    set_accelerator(getattr(importlib.import_module(module), name)())


def _observe(builder: Any, scratch: Path) -> tuple[dict[str, Any], Plan | None]:
    """Return what a builder says and needs, and the plan of its build where it made one."""
    found: dict[str, Any] = {
        "class": type(builder).__name__,
        "placeholder": _is_placeholder(builder),
        "prebuilt": _is_prebuilt(builder),
    }
    if found["placeholder"]:
        return found, None
    found["bound"] = _is_bound(builder)
    found |= _compatibility(builder)
    found |= _languages(builder)
    rehearsal, plan = _rehearse(builder, scratch)
    return found | rehearsal, plan


def _is_placeholder(builder: Any) -> bool:
    """Whether a builder only stands where this accelerator has none."""
    return any("NotImplemented" in each.__name__ for each in type(builder).__mro__)


def _is_bound(builder: Any) -> bool:
    """Whether DeepSpeed's own modules mean this builder by its name.

    They take the builders of the accelerator that is there when DeepSpeed is imported, which one
    of a vendor's package cannot be: it is set later.
    """
    import deepspeed.ops.op_builder

    named = getattr(deepspeed.ops.op_builder, type(builder).__name__, None)
    return named is None or named.__module__ == type(builder).__module__


def _is_prebuilt(builder: Any) -> bool:
    from deepspeed.git_version_info import accelerator_name, installed_ops

    from deepspeed.accelerator import get_accelerator  # isort: skip

    return bool(installed_ops.get(builder.name)) and accelerator_name == get_accelerator()._name


def _own_word(accelerator: Any) -> dict[str, Any]:
    """Return what DeepSpeed's accelerator says of itself, method by method."""
    import torch

    if torch.cuda.is_available():  # builders look at the device only where a context exists
        torch.cuda.init()

    def say(method: str) -> Any:
        try:
            return getattr(accelerator, method)()
        except Exception as error:
            text = f"DeepSpeed's {method}() raised {type(error).__name__}: {error}"
            return NotObserved(Code.PROBE_CRASHED, text).to_json()

    def say_names(method: str) -> Any:
        said = say(method)
        if not isinstance(said, (list, tuple)):
            return said
        return [str(each).removeprefix("torch.") for each in said]

    return {
        "name": accelerator._name,
        "is_fp16_supported": say("is_fp16_supported"),
        "is_bf16_supported": say("is_bf16_supported"),
        "supported_dtypes": say_names("supported_dtypes"),
        "communication_backend_name": say("communication_backend_name"),
    }


def _compatibility(builder: Any) -> dict[str, Any]:
    """Ask ``is_compatible``; keep all it prints, and which library functions it looked for."""
    looked_for: list[dict[str, Any]] = []
    original = builder.has_function

    def has_function(funcname: str, libraries: Any, *rest: Any, **named: Any) -> bool:
        there = bool(original(funcname, libraries, *rest, **named))
        looked_for.append({"name": funcname, "libraries": list(libraries), "found": there})
        return there

    builder.has_function = has_function
    found: dict[str, Any] = {"compatible": None, "compatible_error": None}
    with _captured() as said:
        try:
            found["compatible"] = bool(builder.is_compatible(verbose=True))
        except Exception as error:
            found["compatible_error"] = f"{type(error).__name__}: {error}"
        finally:
            del builder.has_function
    return {**found, "said": said, "functions": looked_for}


def _languages(builder: Any) -> dict[str, Any]:
    try:
        return {"languages": languages(builder.sources())}
    except Exception:  # the rehearsal meets it too, and reports it
        return {"languages": []}


def _rehearse(builder: Any, scratch: Path) -> tuple[dict[str, Any], Plan | None]:
    """Run ``builder.load()`` up to the compiler; return what happened, and the plan it made."""
    found: dict[str, Any] = {
        "loads_first": [], "refusal": None, "compiles": False, "build": None, "cached": None,
        "folder": None,
    }  # fmt: skip
    with _captured(), _no_compiler(builder, scratch, found):
        try:
            builder.load(verbose=False)
        except Exception as error:
            found["refusal"] = _refusal(error)
    script = scratch / builder.name / "build.ninja"
    plan = Plan.read(script) if script.is_file() else None
    if plan is not None:
        found["refusal"] = None  # what came after belongs to the stand-in for the built module
    folder = _build_folder(builder.name)
    if folder is not None:
        found["folder"] = build_folder(folder)
        found["cached"] = cached_build(folder, builder.name, plan)
    if found["cached"] and found["cached"]["fresh"]:
        found["cached"] |= _try_loading(builder.name, found["cached"], found["loads_first"])
    return found, plan


@contextlib.contextmanager
def _no_compiler(builder: Any, scratch: Path, found: dict[str, Any]) -> Iterator[None]:
    """Stop torch short of starting ninja, and other builders short of anything.

    What the builder does is put into ``found``: whether it compiles, and what it loads first.
    """
    from deepspeed.ops.op_builder.builder import OpBuilder
    from torch.utils import cpp_extension

    jit_load = OpBuilder.jit_load

    def rehearsed(self: Any, verbose: bool = True) -> Any:
        if self.name != builder.name:
            found["loads_first"].append(self.name)
            return types.ModuleType(self.name)
        found["compiles"] = True
        return jit_load(self, verbose)

    def stand_in(name: str, *_: Any, **__: Any) -> types.ModuleType:
        return types.ModuleType(name)

    known, loaded = set(vars(sys)), dict(OpBuilder._loaded_ops)
    with contextlib.ExitStack() as stack:
        patch = _patcher(stack)
        patch(OpBuilder, "jit_load", rehearsed)
        patch(builder, "is_compatible", lambda verbose=False: True)  # noqa: ARG005
        patch(cpp_extension, "verify_ninja_availability", lambda: None)
        patch(cpp_extension, "get_compiler_abi_compatibility_and_version", lambda _: (True, None))
        patch(cpp_extension, "_run_ninja_build", lambda *_, **__: None)
        patch(cpp_extension, "_import_module_from_library", stand_in)
        variable = os.environ.get("TORCH_EXTENSIONS_DIR")
        os.environ["TORCH_EXTENSIONS_DIR"] = str(scratch)
        try:
            yield
        finally:
            if variable is None:
                del os.environ["TORCH_EXTENSIONS_DIR"]
            else:
                os.environ["TORCH_EXTENSIONS_DIR"] = variable
            OpBuilder._loaded_ops.clear()
            OpBuilder._loaded_ops.update(loaded)
            for name in set(vars(sys)) - known:  # a builder may keep its module there
                delattr(sys, name)


def _patcher(stack: contextlib.ExitStack) -> Callable[[Any, str, Any], None]:
    def patch(owner: Any, name: str, value: Any) -> None:
        if not hasattr(owner, name):
            raise RuntimeError(f"{owner!r} has no {name}: this version cannot be rehearsed")
        own = name in vars(owner)
        original = getattr(owner, name)
        setattr(owner, name, value)
        stack.callback(lambda: setattr(owner, name, original) if own else delattr(owner, name))

    return patch


def _refusal(error: Exception) -> dict[str, Any]:
    """Return what a builder raised, and in which of its methods."""
    where, trace = None, error.__traceback__
    while trace is not None:
        if "op_builder" in trace.tb_frame.f_code.co_filename:
            where = trace.tb_frame.f_code.co_name
        trace = trace.tb_next
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return {
        "type": type(error).__name__, "text": str(error), "where": where, "module": name
    }  # fmt: skip


def _build_folder(name: str) -> Path | None:
    """Return the folder that torch would build in, without making it."""
    from torch.utils import cpp_extension

    make = os.makedirs
    os.makedirs = lambda *_, **__: None
    try:
        return Path(cpp_extension._get_build_directory(name, verbose=False))
    except Exception:
        return None
    finally:
        os.makedirs = make


def _try_loading(name: str, cached: dict[str, Any], first: list[str]) -> dict[str, Any]:
    """Load an earlier build, after the libraries of the ops that its builder loads first."""
    import ctypes
    import importlib.util

    try:
        for other in first:
            folder = _build_folder(other)
            library = folder / f"{other}.so" if folder else None
            if library is not None and library.is_file():
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        spec = importlib.util.spec_from_file_location(name, cached["path"])
        if spec is None or spec.loader is None:
            return {"loads": False, "error": f"{cached['path']} is no module"}
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except Exception as error:
        return {"loads": False, "error": f"{type(error).__name__}: {error}"}
    return {"loads": True, "error": None}


def _ask_cpuinfo() -> subprocess.Popen[str] | None:
    """Start py-cpuinfo beside the import of DeepSpeed: it takes a second for each question."""
    with contextlib.suppress(OSError):
        return subprocess.Popen(
            [sys.executable, "-m", "cpuinfo", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
    return None


def _answer_cpuinfo_once(asked: subprocess.Popen[str] | None) -> None:
    """Let every builder's question to py-cpuinfo have the one answer."""
    with contextlib.suppress(ImportError):
        import cpuinfo

        real = cpuinfo.get_cpu_info
        answer: list[Any] = []

        def get_cpu_info() -> Any:
            if not answer:
                try:
                    text = asked.communicate(timeout=20)[0] if asked else ""
                    answer.append(json.loads(text))
                except (ValueError, subprocess.TimeoutExpired):
                    answer.append(real())
            return answer[0]

        cpuinfo.get_cpu_info = get_cpu_info


@contextlib.contextmanager
def _captured() -> Iterator[list[str]]:
    """Capture what is printed to stdout and stderr, by Python or by what it starts.

    Yields:
        The lines, filled in at the end, without colours and labels.
    """
    lines: list[str] = []
    with tempfile.TemporaryFile() as printed:
        _flush()
        kept = [(number, os.dup(number)) for number in (1, 2)]
        for number in (1, 2):
            os.dup2(printed.fileno(), number)
        try:
            yield lines
        finally:
            _flush()
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
            printed.seek(0)
            text = re.sub(r"\x1b\[[0-9;]*m", "", printed.read().decode(errors="replace"))
            plain = (re.sub(r"^\s*\[WARNING\]\s*", "", each).strip() for each in text.splitlines())
            lines += [line for line in plain if line][:_MOST_LINES]


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
