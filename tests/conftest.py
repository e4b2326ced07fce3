"""What tests share."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

STACK = importlib.util.find_spec("torch") and importlib.util.find_spec("deepspeed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the real stack where it is not installed, and slow or GPU tests."""
    wanted = config.getoption("-m") or ""
    for item in items:
        if item.get_closest_marker("stack") and not STACK:
            item.add_marker(pytest.mark.skip(reason="torch and deepspeed are not installed"))
        for name in ("slow", "gpu"):
            if item.get_closest_marker(name) and name not in wanted:
                item.add_marker(pytest.mark.skip(reason=f"run with -m {name}"))


@pytest.fixture(autouse=True)
def _no_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the variables by which a user's shell would steer the answers."""
    for variable in (
        "ACCELCAPS_ACCELERATOR", "ACCELCAPS_FORCE", "DS_ACCELERATOR", "CCL_ROOT", "CC", "CXX",
    ):  # fmt: skip
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ACCELCAPS_PLUGINS", "none")


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Run Python code in a fresh interpreter."""

    def run(
        code: str, *arguments: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run  # type: ignore[return-value]
