"""Intel Gaudi: the generation, and the mode that its PyTorch bridge runs in."""

from __future__ import annotations

import pytest

from accelcaps import Facts, Status
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.profiles import profile, read_stack

YES, NO, DEGRADED, UNKNOWN = Status.YES, Status.NO, Status.DEGRADED, Status.UNKNOWN
CHIPS = ("GAUDI", "GAUDI2", "GAUDI3")


def gaudi(name="GAUDI3", **variables):
    facts = profile("intel-gaudi-3").facts(read_stack("torch=2.7.1+cpu")).to_json()
    facts["devices"]["hpu"]["list"][0]["name"] = name
    facts["host"] = {"system": "Linux", "environment": variables}
    return get_accelerator("hpu", Facts(facts, name=name))


@pytest.mark.parametrize(
    ("feature", "statuses"),
    [
        (F.DTYPE_BF16, (YES, YES, YES)),
        (F.DTYPE_FP16, (NO, YES, YES)),
        (F.DEEPSPEED_FP16, (NO, YES, YES)),
        (F.DTYPE_FP8_E4M3, (NO, DEGRADED, DEGRADED)),
        (F.DTYPE_FP64, (NO, NO, NO)),
        (F.COMPILE_INDUCTOR, (NO, NO, NO)),
        (F.TRITON_DEVICE, (NO, NO, NO)),
        (F.COMM_ALL_REDUCE, (YES, YES, YES)),
        (F.COMM_ALL_REDUCE_AVG, (NO, NO, NO)),
        (F.COMM_ALL_REDUCE_FP16, (UNKNOWN, UNKNOWN, UNKNOWN)),
    ],
)
def test_each_generation_has_its_own_answer(feature, statuses):
    assert tuple(gaudi(name).explain(feature).status for name in CHIPS) == statuses


@pytest.mark.parametrize(
    ("variables", "graphs", "compiled"),
    [
        ({}, DEGRADED, DEGRADED),
        ({"PT_HPU_LAZY_MODE": "1"}, YES, NO),
        ({"PT_HPU_LAZY_MODE": "0"}, NO, YES),
    ],
)
def test_graphs_need_the_lazy_mode_and_compiling_the_other(variables, graphs, compiled):
    accelerator = gaudi(**variables)
    assert accelerator.explain(F.RUNTIME_GRAPH_CAPTURE).status is graphs
    assert accelerator.explain(F.COMPILE_TORCH_COMPILE).status is compiled


def test_a_gaudi_whose_name_tells_nothing_is_unknown():
    verdict = gaudi("HL-900").explain(F.DTYPE_FP16)
    assert verdict.status is UNKNOWN
    assert "HL-900" in verdict.reasons[-1].text


def test_the_backend_is_hccl():
    assert gaudi().explain(F.COMM_BACKEND).value == "hccl"
