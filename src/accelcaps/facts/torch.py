"""The sections ``torch`` (what its files tell) and ``torch.runtime`` (what importing it tells).

A process that has imported torch is read in place, where reading has no side effect; any other
asks in a child process. What initialises a device is always asked in a child.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.facts.isolation import run_probe
from accelcaps.facts.model import NotObserved
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from accelcaps.facts.model import Facts
    from accelcaps.facts.sources import DeviceSource, Sources

__all__ = ["TorchCollector", "TorchDevicesCollector", "TorchRuntimeCollector"]

_DEADLINE = 60.0


class TorchCollector:
    """Reads ``torch/version.py`` as text; imports nothing."""

    section = ("torch",)
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any]:
        """Observe the section; ``version`` is ``None`` where torch is not installed."""
        try:
            spec = importlib.util.find_spec("torch")
        except (ImportError, ValueError):
            spec = None
        if spec is None or not spec.origin:
            return {"version": None}
        named = _assigned(Path(spec.origin).with_name("version.py"))
        if "__version__" not in named:
            return {"version": facts.get("packages", "torch")}
        cuda, hip, xpu = (named.get(name) for name in ("cuda", "hip", "xpu"))
        build = "rocm" if hip else "cuda" if cuda else "xpu" if xpu else "cpu"
        return {
            "version": named["__version__"],
            "cuda": cuda,
            "hip": hip,
            "xpu": xpu,
            "build": build,
            "mkldnn": _built_with_onednn(Path(spec.origin).parent),
            "debug": bool(named.get("debug", False)),
        }


class TorchRuntimeCollector:
    """Asks torch what it was built with: architectures, collective backends, CPU capability."""

    section = ("torch", "runtime")
    keyed_by = ""

    def collect(self, facts: Facts, key: str) -> dict[str, Any] | NotObserved:
        """Observe the section, in place where torch is imported already."""
        missing = _not_installed(facts)
        if missing:
            return missing
        loaded = sys.modules.get("torch")
        if loaded is not None and hasattr(loaded, "version"):
            from accelcaps.facts.probes.torch_runtime import describe

            return {**describe(loaded), "autoload_error": None}  # it was imported
        outcome = run_probe("accelcaps.facts.probes.torch_runtime:probe", deadline=_DEADLINE)
        if "runtime" in outcome.results:
            failed = outcome.results.get("autoload_error")
            if failed is None and outcome.failure is not None:
                failed = outcome.failure.text
            return {**outcome.results["runtime"], "autoload_error": failed}
        return outcome.failure or NotObserved(Code.PROBE_CRASHED, "torch said nothing")


class TorchDevicesCollector:
    """Asks torch, in a child process, which devices of an accelerator it can use.

    Args:
        sources: accelerator name → how its devices are seen.
    """

    section = ("torch", "devices")
    keyed_by = "accelerator"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self, facts: Facts, key: str) -> dict[str, Any] | NotObserved:
        """Observe the part for one accelerator (``key``).

        ``installed`` tells whether this torch, or a package beside it, has the accelerator at
        all; torch is asked only where it has.
        """
        missing = _not_installed(facts)
        if missing:
            return missing
        if key == "cpu":
            return {"installed": True, "available": True, "count": 1, "error": None}
        source = self._sources.get(key)
        if source is None:
            return NotObserved(Code.NOT_OBSERVED, f"what torch calls {key} is not known")
        lacks = _lacks(source, facts)
        if lacks:
            return {"installed": False, "available": False, "count": 0, "error": lacks}
        outcome = run_probe(
            "accelcaps.facts.probes.torch_devices:probe",
            source.torch_type,
            source.module,
            deadline=_DEADLINE,
        )
        if "devices" in outcome.results:
            return {"installed": True, **outcome.results["devices"]}
        return outcome.failure or NotObserved(Code.PROBE_CRASHED, "torch said nothing")


def _lacks(source: DeviceSource, facts: Facts) -> str | None:
    """Return what this torch lacks to have the accelerator; ``None`` where it lacks nothing."""
    if source.system and facts.get("host", "system") != source.system:
        return f"{source.torch_type} exists on {source.system} only"
    if source.build and facts.get("torch", source.build) is None:
        built = facts.get("torch", "build")
        return f"this PyTorch is built without {source.build.upper()} (for {built})"
    if source.module and not _is_installed(source.module):
        return f"the Python package {source.module} is not installed"
    return None


def _is_installed(module: str) -> bool:
    """Whether a module can be found, without importing anything of it."""
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def _not_installed(facts: Facts) -> NotObserved | None:
    version = facts.get("torch", "version")
    if isinstance(version, NotObserved):
        return version
    if version is None:
        return NotObserved(Code.SOFTWARE_MISSING, "PyTorch is not installed")
    return None


def _built_with_onednn(folder: Path) -> bool | NotObserved:
    """Read from torch's own headers whether it was built with oneDNN (MKL-DNN)."""
    try:
        text = (folder / "include" / "ATen" / "Config.h").read_text(errors="replace")
    except OSError as error:
        return NotObserved(Code.NOT_OBSERVED, f"torch's build configuration: {error.strerror}")
    return "#define AT_MKLDNN_ENABLED() 1" in text


def _assigned(path: Path) -> dict[str, Any]:
    """Return the constants assigned at the top level of a Python file."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    named: dict[str, Any] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant):
            named.update({t.id: value.value for t in targets if isinstance(t, ast.Name)})
    return named
