"""Ascend NPUs: the series of the chip, and torch_npu; with the real package where it is there."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest

from accelcaps import Facts, Status
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.facts.probes import ascend
from accelcaps.profiles import profile, read_stack

YES, NO, DEGRADED, UNKNOWN = Status.YES, Status.NO, Status.DEGRADED, Status.UNKNOWN
CHIPS = ("Ascend910ProB", "Ascend310P3", "Ascend910B4", "Ascend910_9392", "Ascend950")


def npu(chip="Ascend910B3", torch="2.13.0+cpu", plugin="2.13.0"):
    stack = read_stack(f"torch={torch}" + (f",torch-npu={plugin}" if plugin else ""))
    facts = profile("huawei-ascend-910b").facts(stack).to_json()
    facts["devices"]["npu"]["list"][0].update(name=chip, arch=chip)
    if not plugin:
        facts["packages"]["torch-npu"] = None
    return get_accelerator("npu", Facts(facts, name=chip))


@pytest.mark.parametrize(
    ("feature", "statuses"),
    [
        (F.DTYPE_BF16, (NO, NO, YES, YES, YES)),
        (F.DTYPE_FP32, (DEGRADED, DEGRADED, YES, YES, YES)),
        (F.DTYPE_FP64, (NO, NO, NO, NO, NO)),
        (F.DTYPE_FP8_E4M3, (NO, NO, NO, NO, YES)),
        (F.DTYPE_TF32, (NO, NO, NO, NO, NO)),
        (F.COMM_ALL_REDUCE_BF16, (NO, NO, YES, YES, YES)),
        (F.COMM_ALL_REDUCE_FP8, (NO, NO, NO, NO, NO)),
        (F.TRITON_DEVICE, (UNKNOWN, UNKNOWN, YES, YES, UNKNOWN)),
    ],
)
def test_each_series_has_its_own_answer(feature, statuses):
    assert tuple(npu(chip).explain(feature).status for chip in CHIPS) == statuses


def test_the_backend_is_hccl_which_averages_by_dividing():
    assert npu().explain(F.COMM_BACKEND).value == "hccl"
    assert npu().explain(F.COMM_ALL_REDUCE_AVG).status is YES
    assert npu().explain(F.COMM_ALL_REDUCE_PREMUL_SUM).status is NO


def test_a_torch_npu_for_another_torch_is_a_no_that_names_both():
    verdict = npu(plugin="2.9.0.post2").explain(F.DEVICE_AVAILABLE)
    assert verdict.status is NO
    assert "torch_npu 2.9.0.post2 is built for PyTorch 2.9.0" in verdict.reasons[-1].text


def test_a_chip_without_torch_npu_cannot_be_used():
    verdict = npu(plugin="").explain(F.DEVICE_AVAILABLE)
    assert verdict.status is NO
    assert any("torch-npu" in remedy for remedy in verdict.remedies)


def test_the_drivers_own_file_tells_its_version(tmp_path, monkeypatch):
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "version.info").write_text("Version=24.1.rc3\nascendhal_version=7.35\n")
    told = tmp_path / "ascend_install.info"
    told.write_text(f"UserName=HwHiAiUser\nDriver_Install_Path_Param={tmp_path}\n")
    monkeypatch.setattr(ascend, "_INSTALLED", told)
    reported = {}
    ascend.probe(lambda name, value: reported.update({name: value}))
    assert reported == {"driver": {"version": "24.1.rc3"}}


def _installed(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


@pytest.mark.skipif(_installed("torch_npu") is None, reason="torch_npu is not installed")
class TestTheRealPackageWithoutADevice:
    """torch_npu without CANN cannot be imported, and takes ``import torch`` with it."""

    def available(self, **variables):
        done = subprocess.run(
            [sys.executable, "-m", "accelcaps", "why", "--json"],
            env={**os.environ, **variables}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return {each["name"]: each["available"] for each in json.loads(done.stdout)["candidates"]}

    def test_it_is_a_reasoned_no(self):
        found = self.available()["npu"]
        assert found["status"] == "no"
        texts = [reason["text"] for reason in found["reasons"]]
        assert any("there is no Ascend NPU" in text for text in texts)
        assert any("torch_npu cannot be imported" in text for text in texts)

    def test_the_cpu_works_where_torch_does_not_load_it(self):
        assert self.available(TORCH_DEVICE_BACKEND_AUTOLOAD="0")["cpu"]["status"] == "yes"

    def test_where_torch_loads_it_the_way_out_is_told(self):
        found = self.available(TORCH_DEVICE_BACKEND_AUTOLOAD="1")["cpu"]
        assert found["status"] == "no"
        assert "export TORCH_DEVICE_BACKEND_AUTOLOAD=0" in found["remedies"]
