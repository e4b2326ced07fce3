"""Compare the verdict on every op with what loading it really does, under conditions.

``python tools/truth_ops.py`` prints a table; ``tools/truth.py`` writes it into docs/truth.md.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Environment: TypeAlias = dict[str, str]

_ASK = """
import json, sys
import accelcaps
acc = accelcaps.get_accelerator("cpu")
print("ANSWER", json.dumps({str(k): v.to_json() for k, v in acc.features("op.*").items()}))
"""

_LOAD = """
import json, sys, time
from deepspeed.ops.op_builder.all_ops import ALL_OPS
from deepspeed.ops.op_builder.builder import probe_is_compatible
wanted = json.loads(sys.argv[1])
done = {}
for name, builder in ALL_OPS.items():
    if wanted and name not in wanted:
        continue
    says = bool(probe_is_compatible(builder))
    begun = time.time()
    try:
        builder.load(verbose=False)
        found = {"loaded": True, "error": ""}
    except BaseException as error:
        lines = [l for l in str(error).splitlines() if "error" in l.lower() or "not found" in l]
        text = (lines or str(error).splitlines() or [""])[0]
        found = {"loaded": False, "error": f"{type(error).__name__}: {text}"}
    done[name] = {**found, "says": says, "seconds": time.time() - begun}
print()
print("ANSWER", json.dumps(done))
"""


@dataclass(frozen=True)
class Row:
    """What one op answered and did under one condition."""

    condition: str
    op: str
    verdict: str
    reason: str
    deepspeed_says: bool
    loaded: bool
    error: str
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the verdict told what loading did; for a placeholder: whether it is no op."""
        if self.verdict == "no op":
            return not self.loaded
        return (self.verdict in ("yes", "degraded")) == self.loaded and self.verdict != "unknown"


def compare(
    condition: str, environment: Mapping[str, str], cache: Path, ops: tuple[str, ...] = ()
) -> list[Row]:
    """Ask for the verdicts, then load every op (or these), in the same environment.

    Args:
        condition: what to call the environment.
        environment: variables to add.
        cache: the folder for builds; what an earlier call built there is there again.
        ops: the ops to load; all, where empty.
    """
    full = {
        **os.environ,
        "DS_ACCELERATOR": "cpu",
        "TORCH_EXTENSIONS_DIR": str(cache),
        **environment,
    }
    verdicts = _run(_ASK, full)
    loads = _run(_LOAD, full, json.dumps(ops))
    rows = []
    for name, load in sorted(loads.items()):
        verdict = verdicts.get(f"op.{name}")
        reasons = [r["text"] for r in verdict["reasons"] if r["code"] != "met"] if verdict else []
        rows.append(
            Row(
                condition, name, verdict["status"] if verdict else "no op",
                reasons[0] if reasons else "", load["says"], load["loaded"], load["error"],
                load["seconds"],
            )
        )  # fmt: skip
    return rows


def without(*programs: str, into: Path) -> Environment:
    """Return a PATH with all programs of this one but these, as links in the folder ``into``."""
    into.mkdir(parents=True, exist_ok=True)
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*") if Path(folder).is_dir() else ():
            hidden = any(
                program.name == name or program.name.endswith(f"-{name}") for name in programs
            )
            link = into / program.name
            if not hidden and not link.is_symlink() and program.is_file():
                link.symlink_to(program)
    return {"PATH": str(into)}


def libaio(folder: Path) -> Environment | None:
    """Unpack Debian's libaio-dev into ``folder``; ``None`` where it cannot be had."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    got = subprocess.run(
        ["apt-get", "download", "libaio-dev", "libaio1"], cwd=folder, capture_output=True
    )
    packages = list(folder.glob("*.deb"))
    if got.returncode or not packages:
        return None
    for package in packages:
        subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)
    library = next((folder / "root").rglob("libaio.so"))
    return {"include": str(folder / "root/usr/include"), "lib": str(library.parent)}


def conditions(
    scratch: Path,
) -> list[tuple[str, Callable[[], Environment | None], str, tuple[str, ...]]]:
    """Return name, environment, cache and ops (none: all) of each condition, in order."""
    aio = libaio(scratch / "libaio")

    def found() -> Environment | None:
        return aio and {
            "CPATH": aio["include"], "LIBRARY_PATH": aio["lib"], "LD_LIBRARY_PATH": aio["lib"]
        }  # fmt: skip

    def linked_only() -> Environment | None:
        return aio and {"CFLAGS": f"-I{aio['include']}", "LDFLAGS": f"-L{aio['lib']}"}

    def no_cxx() -> Environment:
        return without("c++", "g++", "clang++", into=scratch / "no_cxx")

    return [
        ("no ninja on PATH", lambda: without("ninja", into=scratch / "no_ninja"), "a", ()),
        ("no C++ compiler on PATH", no_cxx, "b", ()),
        ("CXX is a program that fails", lambda: {"CXX": "/bin/false"}, "c", ()),
        ("CC is a program that fails", lambda: {"CC": "/bin/false"}, "d", ()),
        ("as it is", dict, "d", ()),
        ("libaio-dev unpacked, in CPATH and LIBRARY_PATH", found, "d", ()),
        (
            "libaio-dev unpacked, in CFLAGS and LDFLAGS alone",
            linked_only,
            "e",
            ("async_io", "pin_memory"),
        ),
        ("everything built, then no C++ compiler on PATH", no_cxx, "d", ()),
    ]


def main() -> list[Row]:
    """Run every condition and return all rows."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="truth-") as scratch:
        for name, environment, cache, ops in conditions(Path(scratch)):
            changes = environment()
            if changes is None:
                print(f"left out: {name}", file=sys.stderr)
                continue
            for row in compare(name, changes, Path(scratch, "cache", cache), ops):
                rows.append(row)
                print("ok   " if row.right else "WRONG", row, flush=True)
    return rows


def _run(code: str, environment: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
    )
    for line in done.stdout.splitlines():
        if line.startswith("ANSWER "):
            found: dict[str, Any] = json.loads(line.removeprefix("ANSWER "))
            return found
    raise RuntimeError(f"no answer:\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(not all(row.right for row in main()))
