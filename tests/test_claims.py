"""What is claimed for the CPU, beside what the installed torch really does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from accelcaps import Facts
from accelcaps.accelerators.registry import get_accelerator, sources
from accelcaps.facts.collectors import collectors

pytestmark = pytest.mark.stack
RUN = Path(__file__).parent / "cpu_claims.py"


@pytest.fixture(scope="module")
def acc():
    return get_accelerator("cpu", Facts(collectors=collectors(sources())))


@pytest.fixture(scope="module")
def done():
    """Feature → whether using it worked, in one child with torch and in two ranks."""
    outcomes = {}
    for part in ("one", "two"):
        ran = subprocess.run(
            [sys.executable, RUN, part], capture_output=True, text=True, env=os.environ, timeout=280
        )
        line = next((x for x in ran.stdout.splitlines() if x.startswith("ANSWER ")), None)
        assert line, ran.stderr
        outcomes |= json.loads(line.removeprefix("ANSWER "))
    return outcomes


def test_every_claim_that_was_tried_is_true(acc, done):
    """A yes or degraded worked when it was used; a no did not."""
    wrong = {
        name: (acc.explain(name).status.value, how)
        for name, how in done.items()
        if acc.supports(name) is not (how == "worked")
    }

    assert not wrong


def test_most_of_the_vocabulary_that_a_cpu_can_try_was_tried(done):
    assert len(done) >= 80
