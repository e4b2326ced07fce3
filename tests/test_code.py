"""The code keeps its own rules."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=lambda command: " ".join(command),
)
def test_linters_are_content(command):
    if importlib.util.find_spec(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_file_is_long_without_a_reason(path):
    assert len(path.read_text().splitlines()) <= 400


def test_frameworks_are_imported_by_what_children_run_alone():
    """Everything else works without them."""
    places = ("probes", "running", "conformance")
    heavy = re.compile(r"^\s*(?:import|from) (torch|deepspeed|pynvml)\b", re.MULTILINE)

    importing = [p for p in SOURCES if heavy.search(p.read_text()) and p.parent.name not in places]

    assert importing == []


def test_rules_do_no_input_or_output():
    """Rules are pure: no process, no file, no environment."""
    impure = re.compile(r"\b(?:subprocess|open\(|os\.environ|run_probe|Path\()")
    pure = [*(ROOT / "src/accelcaps/rules").glob("*.py"), ROOT / "src/accelcaps/ops/rules.py",
            *(ROOT / "src/accelcaps/training").glob("*.py"),
            *(p for p in (ROOT / "src/accelcaps/accelerators").glob("*.py")
              if p.name not in ("registry.py", "plugins.py"))]  # fmt: skip

    assert [path.name for path in pure if impure.search(path.read_text())] == []
