"""CUDA devices: whether they can be used, and several of them together."""

from __future__ import annotations

import copy

import pytest
from machines import ask, cpu_host, cuda_host, gpu

from accelcaps import (
    Code,
    Status,
)
from accelcaps import features as F

H100 = gpu("NVIDIA H100 80GB HBM3", "9.0", memory_bytes=80 * 2**30)
MACHINES = {"h100": cuda_host(H100, torch="2.13.0+cu126", cuda="12.6", driver="570.124.06")}


class TestCudaDevice:
    def test_a_working_host_is_available(self):
        assert Status.YES is ask(MACHINES["h100"]).explain(F.DEVICE_AVAILABLE).status

    @pytest.mark.parametrize(
        ("torch_cuda", "driver", "status"),
        [
            ("11.8", "450.80.02", "yes"), ("11.8", "450.36.06", "no"), ("12.1", "525.60.13", "yes"),
            ("12.6", "525.147.05", "yes"), ("12.1", "520.61.05", "no"), ("13.0", "575.57.08", "no"),
            ("13.0", "580.65.06", "yes"), ("10.2", "440.33", "yes"), ("10.2", "418.39", "no"),
            ("12.1", "nonsense", "unknown"), ("15.0", "900.1", "unknown"),
        ],
    )  # fmt: skip
    def test_the_driver_must_be_new_enough_for_this_torch(self, torch_cuda, driver, status):
        facts = cuda_host(H100, cuda=torch_cuda, driver=driver)

        assert status == ask(facts).explain(F.BUILD_DRIVER).status

    def test_a_driver_that_is_too_old_comes_with_both_ways_out(self):
        verdict = ask(cuda_host(H100, cuda="13.0", driver="550.54.14")).explain(F.DEVICE_AVAILABLE)

        assert Code.DRIVER_TOO_OLD in [reason.code for reason in verdict.reasons]
        assert "CUDA 13.0 of this PyTorch needs at least 580.65" in str(verdict)
        assert any("580.65" in r and "CUDA 12.4 or older" in r for r in verdict.remedies)

    def test_torch_that_runs_all_the_same_is_believed(self):
        facts = cuda_host(H100, cuda="13.0", driver="550.54.14")
        facts["torch"]["devices"] = {"cuda": {"available": True, "count": 1}}

        assert Status.YES is ask(facts).explain(F.BUILD_DRIVER).status

    @pytest.mark.parametrize(
        ("capability", "archs", "status"),
        [
            ("8.6", ["sm_80"], "yes"),
            ("8.0", ["sm_86"], "no"),
            ("8.9", ["sm_80", "sm_90"], "yes"),
            ("8.7", ["sm_80", "sm_86"], "no"),
            ("8.7", ["sm_87"], "yes"),
            ("12.0", ["sm_90"], "no"),
            ("12.0", ["sm_90", "compute_90"], "yes"),
            ("12.1", ["sm_120"], "yes"),
            ("9.0", ["sm_90a"], "yes"),
            ("10.3", ["sm_100a"], "no"),
            ("10.3", ["sm_100f"], "yes"),
            ("7.0", ["sm_75", "sm_80"], "no"),
            ("6.1", ["sm_60"], "yes"),
        ],
    )
    def test_the_build_must_have_code_for_the_device(self, capability, archs, status):
        verdict = ask(cuda_host(gpu("GPU", capability), archs=archs)).explain(F.BUILD_KERNEL_IMAGE)

        assert status == verdict.status
        if status == "no":
            assert Code.BUILD_ARCH_MISSING is verdict.reasons[0].code
            assert verdict.remedies

    def test_a_new_card_with_an_old_torch_is_sent_to_a_newer_one(self):
        facts = cuda_host(gpu("RTX 5090", "12.0"), torch="2.6.0+cu126", cuda="12.6")

        acc = ask(facts)
        assert Status.NO is acc.explain(F.DEVICE_AVAILABLE).status
        assert Status.NO is acc.explain(F.DTYPE_BF16).status
        assert any("2.7 or newer" in r and "12.8" in r for r in acc.explain(F.DTYPE_BF16).remedies)

    def test_a_cpu_build_of_torch_beside_a_gpu_is_told(self):
        verdict = ask(cuda_host(H100, torch="2.13.0+cpu", cuda=None)).explain(F.DEVICE_AVAILABLE)

        assert Status.NO is verdict.status
        assert Code.SOFTWARE_BUILD is verdict.reasons[0].code
        assert "install a PyTorch built with CUDA" in verdict.remedies

    def test_no_card_is_no_device_and_unknown_types(self):
        """A login node cannot tell what the workers' cards can do."""
        acc = ask(cpu_host("avx2"))

        assert Status.NO is acc.explain(F.DEVICE_AVAILABLE).status
        assert acc.explain(F.DEVICE_AVAILABLE).remedies == ()
        verdict = acc.explain(F.DTYPE_BF16)
        assert Status.UNKNOWN is verdict.status
        assert "ask on a host that has one" in str(verdict)
        assert Status.UNKNOWN is acc.explain(F.LIMIT_MEMORY_BYTES).status

    def test_nvml_that_crashed_is_unknown(self):
        facts = cuda_host()
        crashed = {"not_observed": {"code": "probe.crashed", "text": "NVML: SIGSEGV"}}
        facts["devices"]["cuda"] |= {"list": crashed, "driver": crashed}

        acc = ask(facts)
        assert Status.UNKNOWN is acc.explain(F.DEVICE_AVAILABLE).status
        assert Status.UNKNOWN is acc.explain(F.DTYPE_BF16).status
        assert "SIGSEGV" in str(acc.explain(F.DTYPE_BF16))


class TestSeveralDevices:
    MIXED = cuda_host(gpu("A100", "8.0"), gpu("Tesla T4", "7.5", number=1))

    def test_the_weakest_decides_and_is_named(self):
        verdict = ask(self.MIXED).explain(F.DTYPE_BF16)

        assert Status.DEGRADED is verdict.status
        assert "Tesla T4 (GPU-00000001" in verdict.reasons[0].text
        assert "A100" not in str(verdict)

    def test_devices_that_agree_are_not_named(self):
        verdict = ask(self.MIXED).explain(F.DTYPE_FP16)

        assert Status.YES is verdict.status
        assert "GPU-" not in str(verdict)

    def test_a_hidden_device_does_not_count(self):
        facts = copy.deepcopy(self.MIXED)
        facts["devices"]["cuda"]["list"][1]["visible"] = False

        assert Status.YES is ask(facts).explain(F.DTYPE_BF16).status
        assert ask(facts).limits["limit.device_count"] == 1

    def test_limits_are_those_of_the_weakest(self):
        limits = ask(self.MIXED).limits

        assert limits[F.LIMIT_COMPUTE_CAPABILITY] == "7.5"
        assert limits["limit.arch"] == "sm_75"
        assert limits["limit.device_count"] == 2

    def test_all_hidden_is_told_by_variable(self):
        facts = copy.deepcopy(self.MIXED)
        facts["limits"]["visible_devices"] = {"CUDA_VISIBLE_DEVICES": ""}
        for device in facts["devices"]["cuda"]["list"]:
            device["visible"] = False

        verdict = ask(facts).explain(F.DEVICE_AVAILABLE)
        assert Status.NO is verdict.status
        assert Code.POLICY in [reason.code for reason in verdict.reasons]
        assert "unset CUDA_VISIBLE_DEVICES" in verdict.remedies
