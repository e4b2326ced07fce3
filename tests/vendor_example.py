"""The example vendor package, installed as a user's pip does, and run in fresh interpreters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "vendor_plugin"


def run(*arguments, path, **environment):
    """Run a fresh interpreter that finds what is in ``path``."""
    inherited = {k: v for k, v in os.environ.items() if k != "ACCELCAPS_PLUGINS"}
    return subprocess.run(
        [sys.executable, *arguments],
        env={
            **inherited,
            "PYTHONPATH": os.pathsep.join([str(path), *filter(None, sys.path)]),
            **environment,
        },
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def install(folder):
    """Build and install the example; return the folder that has its packages."""
    shutil.copytree(
        EXAMPLE,
        folder / "source",
        ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"),
    )
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
         "--target", str(folder / "site"), str(folder / "source")],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "site"
