"""Situations of real users, written down as facts, with the answers that are right.

Each class is one kind of situation; the named machines are from public reports, and the
parametrised ones around them are the kind.
"""

from __future__ import annotations

import pytest
from machines import ask, cpu_host, cuda_host, gpu

from accelcaps import Code, Status, UnsupportedFeatureError
from accelcaps import features as F


def codes(verdict):
    return [reason.code for reason in verdict.reasons]


def text(verdict):
    return "; ".join(reason.text for reason in verdict.reasons)


class TestEmulatedBf16:
    """bf16 below compute capability 8.0 (pytorch PR 148322, pytorch#124996)."""

    @pytest.mark.parametrize(
        ("name", "capability", "torch"),
        [("Tesla T4", "7.5", "2.4.0+cu121"), ("Tesla V100-SXM2-32GB", "7.0", "2.2.2+cu121")],
    )
    def test_it_is_degraded_although_torch_says_supported(self, name, capability, torch):
        verdict = ask(cuda_host(gpu(name, capability), torch=torch)).explain(F.DTYPE_BF16)

        assert Status.DEGRADED is verdict.status
        assert codes(verdict) == [Code.HARDWARE_TOO_OLD, Code.EMULATED]
        assert f"compute capability is {capability}, needs at least 8.0" in text(verdict)
        assert "emulated through fp32" in text(verdict)
        assert verdict.remedies == ("use fp16",)

    def test_fp16_is_native_there(self):
        assert Status.YES is ask(cuda_host(gpu("Tesla T4", "7.5"))).explain(F.DTYPE_FP16).status

    def test_the_best_of_both_is_fp16_on_a_t4_and_bf16_on_an_a100(self):
        wanted = (F.DTYPE_FP8_E4M3, F.DTYPE_BF16, F.DTYPE_FP16)

        assert ask(cuda_host(gpu("Tesla T4", "7.5"))).best_of(*wanted) == F.DTYPE_FP16
        assert ask(cuda_host(gpu("A100", "8.0"))).best_of(*wanted) == F.DTYPE_BF16
        assert ask(cuda_host(gpu("H100", "9.0"))).best_of(*wanted) == F.DTYPE_FP8_E4M3

    @pytest.mark.parametrize(
        ("capability", "status"),
        [("6.1", "no"), ("7.0", "degraded"), ("7.5", "degraded"), ("8.0", "yes"), ("8.6", "yes"),
         ("8.9", "yes"), ("9.0", "yes")],
    )  # fmt: skip
    def test_the_threshold_is_where_the_hardware_changes(self, capability, status):
        verdict = ask(cuda_host(gpu("GPU", capability))).explain(F.DTYPE_BF16)

        assert status == verdict.status


class TestPascal:
    """bf16 and fp16 are both refused, and both are told (DeepSpeed#6723, #4977)."""

    @pytest.mark.parametrize("name", ["TITAN X", "GeForce GTX 1080 Ti"])
    def test_both_types_and_both_refusals_at_6_1(self, name):
        acc = ask(cuda_host(gpu(name, "6.1")))

        bf16, fp16 = acc.explain(F.DTYPE_BF16), acc.explain(F.DTYPE_FP16)
        assert Status.NO is bf16.status
        assert "CUBLAS_STATUS_NOT_SUPPORTED" in text(bf16)
        assert "use fp32" in bf16.remedies
        assert Status.DEGRADED is fp16.status
        assert "1/64" in text(fp16)
        assert "use fp32" in fp16.remedies

    def test_fp16_is_fast_at_6_0(self):
        acc = ask(cuda_host(gpu("Tesla P100-PCIE-16GB", "6.0")))

        assert Status.YES is acc.explain(F.DTYPE_FP16).status
        assert Status.NO is acc.explain(F.DTYPE_BF16).status

    @pytest.mark.parametrize("capability", ["6.0", "6.1"])
    def test_deepspeed_refuses_fp16_by_policy(self, capability):
        verdict = ask(cuda_host(gpu("GPU", capability))).explain(F.DEEPSPEED_FP16)

        assert Status.NO is verdict.status
        assert Code.POLICY is verdict.reasons[0].code
        assert "policy, not hardware" in text(verdict)
        assert any("DS_ALLOW_DEPRECATED_FP16=1" in remedy for remedy in verdict.remedies)

    def test_the_variable_lifts_the_policy(self):
        facts = cuda_host(
            gpu("P100", "6.0"), host={"environment": {"DS_ALLOW_DEPRECATED_FP16": "1"}}
        )

        assert Status.YES is ask(facts).explain(F.DEEPSPEED_FP16).status

    def test_a_program_that_requires_both_is_told_both(self):
        with pytest.raises(UnsupportedFeatureError) as error:
            ask(cuda_host(gpu("TITAN X", "6.1"))).require(F.DTYPE_BF16, F.DEEPSPEED_FP16)

        assert [v.feature for v in error.value.missing] == ["dtype.bf16", "deepspeed.fp16"]
        assert "dtype.bf16: no" in str(error.value)
        assert "deepspeed.fp16: no" in str(error.value)


XEON_4114 = ("avx2", "avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl")
SAPPHIRE_RAPIDS = (*XEON_4114, "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_tile", "amx_int8")


class TestCpuFlags:
    """The instruction set decides (ipex#178, DeepSpeed PR 8398, DeepSpeed#5718)."""

    def test_both_half_types_are_degraded_without_units(self):
        acc = ask(cpu_host(*XEON_4114), "cpu")

        bf16, fp16 = acc.explain(F.DTYPE_BF16), acc.explain(F.DTYPE_FP16)
        assert Status.DEGRADED is bf16.status
        assert "no avx512_bf16" in text(bf16)
        assert "no amx_bf16" in text(bf16)
        assert Status.DEGRADED is fp16.status
        assert "no avx512_fp16" in text(fp16)
        assert "in software" in text(fp16)

    def test_deepspeed_refuses_fp16_there(self):
        verdict = ask(cpu_host(*XEON_4114), "cpu").explain(F.DEEPSPEED_FP16)

        assert Status.NO is verdict.status
        assert Code.POLICY in codes(verdict)
        assert any("bf16" in remedy for remedy in verdict.remedies)

    def test_deepspeeds_own_word_counts_where_it_was_asked(self):
        said = {"cpu": {"builders": {}, "accelerator": {"is_fp16_supported": None}}}

        verdict = ask(cpu_host(*SAPPHIRE_RAPIDS, ops=said), "cpu").explain(F.DEEPSPEED_FP16)

        assert Status.NO is verdict.status

    @pytest.mark.parametrize("feature", [F.DTYPE_BF16, F.DTYPE_FP16, F.DTYPE_INT8])
    def test_sapphire_rapids_has_all(self, feature):
        assert Status.YES is ask(cpu_host(*SAPPHIRE_RAPIDS), "cpu").explain(feature).status

    @pytest.mark.parametrize(
        ("flags", "bf16", "fp16"),
        [
            (("avx2",), "degraded", "degraded"),
            (("avx512f", "avx512_bf16"), "yes", "degraded"),
            (("avx512f", "avx512_fp16"), "degraded", "yes"),
            (("avx_ne_convert",), "degraded", "degraded"),
            (("asimd", "asimdhp", "fphp"), "degraded", "yes"),
            (("asimd", "asimdhp", "fphp", "bf16"), "yes", "yes"),
            ((), "degraded", "degraded"),
        ],
    )
    def test_each_type_follows_its_own_flags(self, flags, bf16, fp16):
        acc = ask(cpu_host(*flags), "cpu")

        assert (bf16, fp16) == (acc.explain(F.DTYPE_BF16).status, acc.explain(F.DTYPE_FP16).status)

    def test_flags_that_nobody_recorded_are_unknown(self):
        facts = cpu_host()
        del facts["cpu"]

        assert Status.UNKNOWN is ask(facts, "cpu").explain(F.DTYPE_BF16).status

    def test_torch_that_is_too_old_for_fp16_is_told(self):
        verdict = ask(cpu_host(*SAPPHIRE_RAPIDS, torch="2.1.2"), "cpu").explain(F.DTYPE_FP16)

        assert Status.NO is verdict.status
        assert "PyTorch is 2.1.2, needs at least 2.2" in text(verdict)


class TestHostLimits:
    """What the host allows (DeepSpeed#2977, PR 4015, torchtitan#853, nccl-tests#206)."""

    def test_wsl_limits_pinned_memory(self):
        facts = cuda_host(
            gpu("RTX 4090", "8.9"), driver="572.83",
            host={"wsl": True, "kernel": "5.15.167.4-microsoft-standard-WSL2"},
        )  # fmt: skip

        verdict = ask(facts).explain(F.MEMORY_PINNED_HOST)

        assert Status.DEGRADED is verdict.status
        assert "WSL limits pinned memory" in text(verdict)
        assert verdict.remedies == ("set pin_memory: false",)

    def test_pinned_memory_is_fine_elsewhere(self):
        assert Status.YES is ask(cuda_host(gpu("A100", "8.0"))).explain(F.MEMORY_PINNED_HOST).status

    @pytest.mark.parametrize("accelerator", ["cuda", "cpu"])
    def test_dockers_default_shared_memory_is_too_small(self, accelerator):
        facts = cuda_host(
            gpu("A100", "8.0"), host={"container": "docker"}, limits={"shm_bytes": 67108864}
        )

        verdict = ask(facts, accelerator).explain(F.HOST_SHM)

        assert Status.NO is verdict.status
        assert codes(verdict) == [Code.RESOURCE_LIMIT]
        assert "/dev/shm has 64 MiB" in text(verdict)
        assert verdict.remedies == ("start the container with --shm-size=1g or --ipc=host",)

    @pytest.mark.parametrize(
        ("size", "status"),
        [(0, "no"), (2**29 - 1, "no"), (2**29, "yes"), (2**34, "yes"), (None, "no")],
    )
    def test_shared_memory_is_enough_from_512_mib(self, size, status):
        facts = cuda_host(gpu("A100", "8.0"), limits={"shm_bytes": size})

        assert status == ask(facts).explain(F.HOST_SHM).status

    def test_rdma_needs_memory_that_may_be_locked(self):
        facts = cuda_host(
            gpu("H100", "9.0"), limits={"memlock_bytes": 8192 * 1024, "infiniband": ["mlx5_0"]}
        )

        verdict = ask(facts).explain(F.COMM_GPU_DIRECT_RDMA)

        assert Status.NO is verdict.status
        assert Code.RESOURCE_LIMIT is verdict.reasons[0].code
        assert "a process may lock 8 MiB" in text(verdict)
        assert any("ulimit -l unlimited" in r and "memlock=-1" in r for r in verdict.remedies)

    def test_a_privileged_process_is_not_bound_by_the_limit(self):
        facts = cuda_host(
            gpu("H100", "9.0"), limits={"memlock_bytes": 8192 * 1024, "may_lock_any": True}
        )

        assert Status.YES is ask(facts).explain(F.HOST_MEMLOCK).status

    def test_rdma_without_an_adapter_is_a_no(self):
        verdict = ask(cuda_host(gpu("H100", "9.0"))).explain(F.COMM_GPU_DIRECT_RDMA)

        assert Status.NO is verdict.status
        assert Code.HARDWARE_MISSING is verdict.reasons[0].code
