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


EXERCISE = """
import json, os, sys
import torch, torch_quoll
from deepspeed.accelerator import get_accelerator, set_accelerator
from torch_quoll.deepspeed import QuollAccelerator
set_accelerator(QuollAccelerator())
build = get_accelerator().create_op_builder

torch.manual_seed(int(sys.argv[1]))
x, y = torch.randn(1000), torch.randn(1000)
there = [t.to("quoll") for t in (x, y)]
axpy = build('QuollAxpyBuilder').load(verbose=False).axpy
axpy(2.5, *(torch_quoll.address(t) for t in there), 1000)
wrong = (there[1].cpu().double() - (y.double() + 2.5 * x.double())).abs().max().item()

weight = torch.randn(50)
mirror = weight.double().requires_grad_()
optimizer = torch.optim.AdamW([mirror], lr=1e-2, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
state = [weight.to("quoll"), torch.zeros(50, device="quoll"), torch.zeros(50, device="quoll")]
step = build('FusedAdamBuilder').load(verbose=False).multi_tensor_adam
for number in range(1, 6):
    grad = torch.randn(50)
    mirror.grad = grad.double()
    optimizer.step()
    step(2048, None, [[grad.to("quoll")], *([t] for t in state)],
         1e-2, 0.9, 0.99, 1e-8, number, 1, 1, 0.1)
adam = (state[0].cpu().double() - mirror.detach()).abs().max().item()
print(json.dumps([wrong, adam]))
sys.stdout.flush()
os._exit(0)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return str(tmp_path_factory.mktemp("extensions"))


@pytest.mark.parametrize("seed", [1, 2])
def test_what_they_build_computes_what_torch_does_in_float64(installed, built, seed):
    done = run("-c", EXERCISE, str(seed), path=installed, TORCH_EXTENSIONS_DIR=built)

    assert done.returncode == 0, done.stderr
    axpy, adam = json.loads(done.stdout.splitlines()[-1])
    assert 0 < axpy < 1e-5  # float32 beside float64: neither far off nor a copy
    assert 0 < adam < 1e-5
