"""Collectives by backend and version."""

from __future__ import annotations

import pytest
from machines import ask, cpu_host, cuda_host, gpu

from accelcaps import Status
from accelcaps import features as F

H100 = gpu("NVIDIA H100", "9.0")


class TestCollectives:
    @pytest.mark.parametrize(
        ("torch", "feature", "status"),
        [
            ("2.1.2", F.COMM_ALL_REDUCE_BF16, "no"), ("2.2.0", F.COMM_ALL_REDUCE_BF16, "yes"),
            ("2.1.2", F.COMM_REDUCE_SCATTER, "no"), ("2.8.0", F.COMM_REDUCE_SCATTER, "yes"),
            ("2.13.0", F.COMM_ALL_REDUCE_FP8, "no"), ("2.8.0", F.COMM_REDUCE_SCATTER_AVG, "no"),
            ("2.9.0", F.COMM_REDUCE_SCATTER_AVG, "yes"), ("2.13.0", F.COMM_COALESCING, "no"),
            ("2.1.2", F.ZERO_1, "yes"), ("2.1.2", F.ZERO_3, "no"), ("2.13.0", F.ZERO_3, "yes"),
        ],
    )  # fmt: skip
    def test_gloo_by_version(self, torch, feature, status):
        assert status == ask(cpu_host("avx2", torch=torch), "cpu").explain(feature).status

    @pytest.mark.parametrize(
        ("nccl", "feature", "status"),
        [
            ("2.9.9", F.COMM_ALL_REDUCE_BF16, "no"), ("2.10.3", F.COMM_ALL_REDUCE_BF16, "yes"),
            ("2.6.4", F.COMM_SEND_RECV, "no"), ("2.7.8", F.COMM_ALL_TO_ALL_SINGLE, "yes"),
            ("2.21.5", F.COMM_ALL_REDUCE_FP8, "no"), ("2.29.7", F.COMM_REDUCE_SCATTER_AVG, "yes"),
            ("2.27.5", F.COMM_REDUCE_SCATTER_AVG, "degraded"), ("2.27.5", F.COMM_ALL_REDUCE, "yes"),
        ],
    )  # fmt: skip
    def test_nccl_by_version(self, nccl, feature, status):
        facts = cuda_host(H100, torch="2.13.0+cu126", cuda="12.6")
        facts["torch"]["runtime"]["comm_version"] = nccl

        assert status == ask(facts).explain(feature).status

    @pytest.mark.parametrize(("ranks", "status"), [("1", "no"), ("8", "yes")])
    def test_a_wrong_mean_on_one_rank_depends_on_the_ranks(self, ranks, status):
        facts = cuda_host(H100, host={"environment": {"WORLD_SIZE": ranks}})

        assert status == ask(facts).explain(F.COMM_REDUCE_SCATTER_AVG).status

    def test_a_build_without_nccl_has_no_collectives(self):
        facts = cuda_host(H100)
        facts["torch"]["runtime"] |= {"backends": ["gloo"], "comm_version": None}

        acc = ask(facts)
        assert Status.NO is acc.explain(F.COMM_ALL_REDUCE).status
        assert Status.NO is acc.explain(F.ZERO_1).status

    def test_the_backends_name_is_the_value(self):
        assert ask(cuda_host(H100)).explain(F.COMM_BACKEND).value == "nccl"
        assert ask(cpu_host("avx2"), "cpu").explain(F.COMM_BACKEND).value == "gloo"
