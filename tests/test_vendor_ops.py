"""A vendor's own op builders become ``op.*``, as DeepSpeed's do, and what they build is right."""

from __future__ import annotations

import json

import pytest
from vendor_example import install, run

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(tmp_path_factory.mktemp("example"))


def ops(path, **environment):
    """Return op name → status and what is said of it, for the example's accelerator."""
    script = (
        "import accelcaps, json, sys; acc = accelcaps.get_accelerator('quoll'); json.dump({"
        "str(k): [str(v.status), [r.text for r in v.reasons], list(v.remedies)]"
        " for k, v in acc.features('op.*').items()}, sys.stdout)"
    )
    done = run("-c", script, path=path, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_they_are_listed_without_a_row_in_any_table(installed):
    found = ops(installed)

    assert found["op.quoll_axpy"][0] == "yes"
    assert found["op.fused_adam"][0] == "degraded"  # DeepSpeed's FusedAdam would take the CPU's
    assert "create_op_builder" in found["op.fused_adam"][1][0]
    assert found["op.cpu_adam"][0] == "no"
    assert "no such op for the quoll accelerator" in found["op.cpu_adam"][1][0]


def test_without_a_compiler_only_the_one_in_python_loads(installed):
    found = ops(installed, CXX="/no/such/compiler")

    assert found["op.quoll_axpy"][0] == "no"
    assert any("/no/such/compiler" in text for text in found["op.quoll_axpy"][1])
    assert any("unset CXX" in remedy for remedy in found["op.quoll_axpy"][2])
    assert found["op.fused_adam"][0] == "degraded"


def test_a_builder_whose_check_raises_harms_no_other(installed, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, importlib.abc\n"
        "class Breaks(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'torch_quoll.op_builder.no_impl':\n"
        "            from torch_quoll.op_builder.quoll_axpy import QuollAxpyBuilder\n"
        "            def broken(self, verbose=False):\n"
        "                raise RuntimeError('the card fell out')\n"
        "            QuollAxpyBuilder.is_compatible = broken\n"
        "sys.meta_path.insert(0, Breaks())\n"
    )
    found = ops(f"{tmp_path}:{installed}")

    assert found["op.quoll_axpy"][0] == "no"
    assert any("the card fell out" in text for text in found["op.quoll_axpy"][1])
    assert found["op.fused_adam"][0] == "degraded"
