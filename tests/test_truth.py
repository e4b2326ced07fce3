"""The verdict on an op equals what the builder's load() does, tried with the real ones.

The conditions in which every op fails fast are tried with every op; of those in which ops build,
two ops that build in half a minute. ``-m slow`` tries every op in every condition.
"""

from __future__ import annotations

import shutil

import pytest
import truth_ops

pytestmark = pytest.mark.stack
can_build = pytest.mark.skipif(
    not (shutil.which("c++") and shutil.which("ninja")), reason="no C++ compiler, or no ninja"
)


def wrong(rows):
    return [row for row in rows if not row.right]


def test_without_ninja_nothing_loads_and_we_say_so(tmp_path):
    environment = truth_ops.without("ninja", into=tmp_path / "bin")

    rows = truth_ops.compare("no ninja", environment, tmp_path / "cache")

    assert len(rows) >= 8
    assert not wrong(rows)
    assert not any(row.loaded for row in rows)


def test_without_a_compiler_nothing_loads_and_we_say_so(tmp_path):
    environment = truth_ops.without("c++", "g++", "clang++", into=tmp_path / "bin")

    rows = truth_ops.compare("no compiler", environment, tmp_path / "cache")

    assert len(rows) >= 8
    assert not wrong(rows)


def test_with_a_compiler_that_fails_nothing_loads_and_we_say_so(tmp_path):
    rows = truth_ops.compare("CXX fails", {"CXX": "/bin/false"}, tmp_path / "cache")

    assert len(rows) >= 8
    assert not wrong(rows)


@can_build
def test_what_we_say_can_be_built_is_built_and_stays_usable_without_a_compiler(tmp_path):
    """Also with CC set to a program that fails: these two do not use it."""
    cache, some = tmp_path / "cache", ("pin_memory", "deepspeed_shm_comm")

    rows = truth_ops.compare("CC fails", {"CC": "/bin/false"}, cache, some)
    assert not wrong(rows)
    assert all(row.loaded for row in rows)

    hidden = truth_ops.without("c++", "g++", "clang++", into=tmp_path / "bin")
    rows = truth_ops.compare("built, then no compiler", hidden, cache, some)
    assert not wrong(rows)
    assert all(row.loaded for row in rows)


@pytest.mark.slow
def test_every_op_in_every_condition():
    assert not wrong(truth_ops.main())
