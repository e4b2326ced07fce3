"""The collective backends: what each performs, by version. Accelerators refer to these tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelcaps import features as F
from accelcaps.accelerators.references import (
    BACKENDS,
    NCCL,
    TORCH_INSTALLED,
    environment,
    torch,
)
from accelcaps.features import REGISTRY
from accelcaps.rules import Finding, Question, Rule, RuleLike, all_of, no, value_of
from accelcaps.verdict import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelcaps.feature import Feature

__all__ = ["backend", "every_collective", "gloo", "nccl"]

_GLOO = "PyTorch, torch/csrc/distributed/c10d/ProcessGroupGloo.cpp and .hpp, releases 2.1 to 2.13"
_NCCL = "PyTorch 2.13, torch/csrc/distributed/c10d/NCCLUtils.hpp and ProcessGroupNCCL.cpp"


def backend(name: str, *more: RuleLike) -> Rule:
    """Hold where this PyTorch has the backend; the verdict's value is its name."""

    def named(question: Question) -> Finding:
        return Finding(Status.YES, question.facts.evidence, value=name)

    return all_of(TORCH_INSTALLED, BACKENDS.has(name), *more, value_of(named))


def every_collective(rule: Rule) -> Mapping[Feature, Rule]:
    """Return one rule for every collective with every type, to start a table from."""
    ends = (F.COMM_BACKEND, F.COMM_SYMMETRIC_MEMORY, F.COMM_GPU_DIRECT_RDMA)
    return {feature: rule for feature in REGISTRY.in_group("comm") if feature not in ends}


def gloo(*, device_needs: RuleLike | None = None) -> Mapping[Feature, Rule]:
    """Return what gloo performs on host tensors.

    The versions were told from the symbols and headers of the released wheels 2.1 to 2.12, and
    by running two ranks of 2.13.
    """
    needs = () if device_needs is None else (device_needs,)
    rules: dict[Feature, Rule] = {
        F.COMM_BACKEND: all_of(*needs, backend("gloo").where_recorded()).source(_GLOO)
    }

    def add(feature: Feature, *rule: RuleLike) -> None:
        rules[feature] = all_of(F.COMM_BACKEND, *rule).source(_GLOO)

    for feature in (
        F.COMM_ALL_REDUCE, F.COMM_REDUCE, F.COMM_BROADCAST, F.COMM_ALL_GATHER, F.COMM_GATHER,
        F.COMM_SCATTER, F.COMM_BARRIER, F.COMM_MONITORED_BARRIER, F.COMM_SEND_RECV,
        F.COMM_ALL_TO_ALL_SINGLE, F.COMM_OBJECT_COLLECTIVES, F.COMM_NEW_GROUP,
    ):  # fmt: skip
        add(feature, torch("1.8"))
    add(F.COMM_ALL_GATHER_INTO_TENSOR, torch("2.2"))
    add(F.COMM_REDUCE_SCATTER_TENSOR, torch("2.2"))
    add(F.COMM_DEVICE_MESH, torch("2.2"))
    add(F.COMM_REDUCE_SCATTER, torch("2.8"))
    add(F.COMM_ALL_TO_ALL, torch("2.12"))
    add(F.COMM_ALL_REDUCE_AVG, torch("2.8"))
    # Until 2.8 the reduction asked for was ignored, and the sum returned: pytorch#162338.
    add(F.COMM_REDUCE_SCATTER_AVG, torch("2.9"))
    add(F.COMM_REDUCE_SCATTER_TENSOR_AVG, torch("2.9"))
    add(
        F.COMM_ALL_REDUCE_PREMUL_SUM,
        no(Code.NOT_IMPLEMENTED, "gloo has no PREMUL_SUM, in any version up to PyTorch 2.13"),
    )
    add(
        F.COMM_COALESCING,
        no(
            Code.NOT_IMPLEMENTED,
            "gloo does not implement startCoalescing; only a group of one kind of collective, "
            "made without naming a device, is issued as one",
        ),
    )
    for collective, aspects in _typed().items():
        plain = collective
        for aspect, feature in aspects.items():
            if aspect == "fp8" and plain is not F.COMM_SEND_RECV:
                text = "gloo takes no fp8 tensors (Invalid scalar type), up to PyTorch 2.13"
                rules[feature] = (
                    all_of(F.COMM_BACKEND, no(Code.NOT_IMPLEMENTED, text))
                    .remedy("exchange tensor.view(torch.uint8) where nothing is reduced")
                    .source(_GLOO)
                )
            elif aspect == "bf16":
                # "Invalid scalar type" before: pytorch#111131, added in 2.2 by PR #113557.
                rules[feature] = all_of(plain, torch("2.2")).source(_GLOO)
            else:
                rules[feature] = all_of(plain).source(_GLOO)
    rules[F.COMM_SYMMETRIC_MEMORY] = no(
        Code.NOT_IMPLEMENTED, "symmetric memory does not support host memory"
    ).source("PyTorch 2.13, torch/distributed/_symmetric_memory/__init__.py")
    return rules


def nccl(*, fp8_needs: Rule) -> Mapping[Feature, Rule]:
    """Return what NCCL performs.

    Args:
        fp8_needs: what the device needs for fp8 reductions.
    """
    rules: dict[Feature, Rule] = {}

    def add(feature: Feature, *rule: RuleLike, source: str = _NCCL) -> None:
        rules[feature] = all_of(F.COMM_BACKEND, *rule).source(source)

    for feature in (
        F.COMM_ALL_REDUCE, F.COMM_REDUCE, F.COMM_BROADCAST, F.COMM_ALL_GATHER,
        F.COMM_ALL_GATHER_INTO_TENSOR, F.COMM_REDUCE_SCATTER, F.COMM_REDUCE_SCATTER_TENSOR,
        F.COMM_BARRIER, F.COMM_NEW_GROUP, F.COMM_OBJECT_COLLECTIVES, F.COMM_COALESCING,
    ):  # fmt: skip
        add(feature)
    for feature in (
        F.COMM_SEND_RECV, F.COMM_ALL_TO_ALL, F.COMM_ALL_TO_ALL_SINGLE, F.COMM_GATHER,
        F.COMM_SCATTER,
    ):  # fmt: skip
        add(feature, _nccl_at_least("2.7"), source=f"{_NCCL}; NCCL 2.7.3, src/nccl.h.in")
    add(F.COMM_DEVICE_MESH, torch("2.2"))
    add(
        F.COMM_MONITORED_BARRIER,
        no(Code.NOT_IMPLEMENTED, "only gloo has a monitored barrier"),
        source="PyTorch 2.13, torch/csrc/distributed/c10d/Backend.hpp",
    )
    add(F.COMM_ALL_REDUCE_AVG, _nccl_at_least("2.10"), _scaled_on_one_rank())
    add(F.COMM_REDUCE_SCATTER_AVG, _nccl_at_least("2.10"), _scaled_on_one_rank())
    add(F.COMM_REDUCE_SCATTER_TENSOR_AVG, _nccl_at_least("2.10"), _scaled_on_one_rank())
    add(F.COMM_ALL_REDUCE_PREMUL_SUM, _nccl_at_least("2.11.1"), _scaled_on_one_rank())
    for plain, aspects in _typed().items():
        rules[aspects["fp16"]] = all_of(plain).source(_NCCL)
        rules[aspects["bf16"]] = all_of(plain, _nccl_at_least("2.10")).source(
            "NCCL 2.10.3, src/nccl.h.in and release notes (bfloat16 added); pytorch#53439"
        )
        rules[aspects["fp8"]] = all_of(
            plain, _nccl_at_least("2.24"), torch("2.8"), fp8_needs
        ).source("NCCL 2.24.3, src/nccl.h.in and src/enqueue.cc; PyTorch 2.8, NCCLUtils.hpp")
    return rules


def _nccl_at_least(version: str) -> Rule:
    """Hold for this NCCL or a newer one; torch since 2.13 needs 2.23 to be built at all."""
    return (version <= NCCL).where_recorded()


def _scaled_on_one_rank() -> Rule:
    """Reductions that scale drop trailing elements when there is one rank (NCCL before 2.29.7)."""

    def judge(question: Question) -> Finding:
        ranks = environment(question, "WORLD_SIZE")
        text = (
            "before NCCL 2.29.7 a scaled reduction on one rank leaves trailing elements "
            "unwritten (NVIDIA/nccl#1950)"
        )
        if ranks is None:
            status, reason = Status.DEGRADED, Reason(Code.LIMITED, text)
        elif ranks == "1":
            status, reason = (
                Status.NO,
                Reason(Code.SOFTWARE_VERSION, f"there is one rank, and {text}"),
            )
        else:
            status, reason = Status.YES, Reason(Code.NOTE, f"there are {ranks} ranks; {text}")
        return Finding(status, question.facts.evidence, (reason,))

    known = (NCCL >= "2.29.7").otherwise(value_of(judge)).where_recorded()
    return known.remedy("use SUM and divide, or NCCL 2.29.7 or newer")


def _typed() -> dict[Feature, dict[str, Feature]]:
    """Return, for each collective that has them, its data-type aspects: bf16, fp16, fp8."""
    found: dict[Feature, dict[str, Feature]] = {}
    for feature in REGISTRY.in_group("comm"):
        plain, _, aspect = feature.rpartition(".")
        if aspect in ("bf16", "fp16", "fp8"):
            found.setdefault(REGISTRY.get(plain), {})[aspect] = feature
    return found
