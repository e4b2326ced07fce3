"""On a machine with a CUDA device: what is claimed beside what torch does. Run with -m gpu."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import accelcaps
from accelcaps import Status
from accelcaps import features as F

pytestmark = [pytest.mark.gpu, pytest.mark.stack]


@pytest.fixture(scope="module")
def acc():
    return accelcaps.get_accelerator("cuda")


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.returncode, done.stdout.strip() or done.stderr.strip()[-400:]


def test_the_device_is_available_and_chosen(acc):
    assert acc.explain(F.DEVICE_AVAILABLE).status is Status.YES
    assert accelcaps.why().chosen == "cuda"


def test_nvml_and_torch_see_the_same_devices(acc):
    seen = {d["name"]: d["compute_capability"] for d in acc.devices()}
    torch = {
        d["name"]: d["compute_capability"]
        for d in acc.facts.get("torch", "devices", "cuda")["list"]
    }

    assert seen == torch


@pytest.mark.parametrize(
    ("feature", "dtype"),
    [(F.DTYPE_FP64, "float64"), (F.DTYPE_FP32, "float32"), (F.DTYPE_FP16, "float16"),
     (F.DTYPE_BF16, "bfloat16"), (F.DTYPE_COMPLEX64, "complex64")],
)  # fmt: skip
def test_a_product_in_each_type_is_right_where_claimed(acc, feature, dtype):
    status, said = run(
        f"import torch; a = torch.randn(64, 64, device='cuda', dtype=torch.{dtype});"
        "wide = torch.complex128 if a.is_complex() else torch.float64;"
        "r = (a @ a).to(wide); w = a.to(wide) @ a.to(wide);"
        "assert ((r - w).abs().max() / w.abs().max()) < 0.05"
    )

    assert acc.supports(feature) is (status == 0), said


def test_scaled_products_in_fp8_follow_the_claim(acc):
    status, said = run(
        "import torch; a = torch.randn(64, 64, device='cuda').to(torch.float8_e4m3fn);"
        "one = torch.tensor(1.0, device='cuda');"
        "torch._scaled_mm(a, a.t(), one, one, out_dtype=torch.bfloat16); torch.cuda.synchronize()"
    )

    assert acc.supports(F.DTYPE_FP8_E4M3) is (status == 0), said


def test_a_graph_can_be_captured_where_claimed(acc):
    status, said = run(
        "import torch; x = torch.zeros(4, device='cuda'); g = torch.cuda.CUDAGraph();\n"
        "with torch.cuda.graph(g): x += 1\n"
        "g.replay(); g.replay(); assert x[0].item() == 2"
    )

    assert acc.supports(F.RUNTIME_GRAPH_CAPTURE) is (status == 0), said


def test_asking_leaves_the_parent_able_to_fork():
    status, said = run(
        "import os, accelcaps; accelcaps.get_accelerator('cuda').features()\n"
        "import torch\n"
        "pid = os.fork()\n"
        "if pid == 0: torch.zeros(1, device='cuda'); os._exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0"
    )

    assert status == 0, said


def test_the_report_is_whole():
    done = subprocess.run(
        [sys.executable, "-m", "accelcaps", "--json"],
        capture_output=True,
        text=True,
        env=os.environ,
    )

    assert json.loads(done.stdout)["accelerator"] == "cuda"


def test_every_claim_holds_when_it_is_tried():
    done = subprocess.run(
        [sys.executable, "-m", "accelcaps", "verify", "--accelerator", "cuda", "--json", "--quiet"],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    found = json.loads(done.stdout)

    wrong = {name: found["verdicts"][name]["reasons"] for name in found["disagreements"]}
    assert wrong == {}
