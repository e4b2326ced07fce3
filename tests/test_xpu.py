"""Intel GPUs: the generation, what the device tells, and PyTorch's release."""

from __future__ import annotations

import pytest

from accelcaps import Code, Facts, Status
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.profiles import profile, read_stack

YES, NO, DEGRADED, UNKNOWN = Status.YES, Status.NO, Status.DEGRADED, Status.UNKNOWN
CARDS = ("max-1550", "arc-a770", "arc-b580")


def card(name, torch="2.11.0+xpu", **packages):
    facts = profile(f"intel-{name}").facts(read_stack(f"torch={torch}")).to_json()
    facts["packages"].update(packages)
    return get_accelerator("xpu", Facts(facts, name=name))


@pytest.mark.parametrize(
    ("feature", "statuses"),
    [
        (F.DTYPE_FP64, (YES, NO, UNKNOWN)),
        (F.DTYPE_COMPLEX128, (YES, NO, UNKNOWN)),
        (F.DTYPE_TF32, (YES, NO, YES)),
        (F.DTYPE_FP16, (YES, YES, YES)),
        (F.DTYPE_BF16, (YES, YES, YES)),
        (F.DTYPE_FP8_E4M3, (DEGRADED, DEGRADED, DEGRADED)),
        (F.DTYPE_FP16_GRAD_SCALER, (YES, NO, YES)),
        (F.ATTENTION_FLASH_ATTENTION, (DEGRADED, NO, YES)),
        (F.TRITON_DEVICE, (YES, DEGRADED, YES)),
        (F.OP_GROUPED_MM, (NO, NO, NO)),
        (F.COMPILE_DEEPCOMPILE, (NO, NO, NO)),
    ],
)
def test_each_generation_has_its_own_answer(feature, statuses):
    assert tuple(card(name).explain(feature).status for name in CARDS) == statuses


def test_an_arc_a_card_says_why_its_gradients_cannot_be_scaled():
    verdict = card("arc-a770").explain(F.DTYPE_FP16_GRAD_SCALER)
    assert any("float64" in reason.text for reason in verdict.reasons)
    assert verdict.reasons[-1].code is Code.HARDWARE_UNSUPPORTED


def test_a_gpu_without_bf16_in_hardware_emulates_what_torch_calls_supported():
    facts = profile("intel-arc-a770").facts(read_stack("torch=2.11.0+xpu")).to_json()
    facts["devices"]["xpu"]["list"][0].update(has_bf16=False, name="Intel(R) UHD Graphics 770")
    accelerator = get_accelerator("xpu", Facts(facts, name="uhd"))
    assert accelerator.explain(F.DTYPE_BF16).status is DEGRADED
    assert accelerator.explain(F.DTYPE_TF32).status is UNKNOWN


class TestCollectives:
    def test_xccl_is_torchs_own_since_2_8(self):
        verdict = card("max-1550", "2.8.0+xpu").explain(F.COMM_BACKEND)
        assert (verdict.status, verdict.value) == (YES, "xccl")

    def test_before_intels_package_brings_ccl(self):
        assert card("max-1550", "2.7.1+xpu").explain(F.COMM_BACKEND).status is NO
        verdict = card("max-1550", "2.7.1+xpu", **{"oneccl-bind-pt": "2.7.0"}).explain(
            F.COMM_BACKEND
        )
        assert (verdict.status, verdict.value) == (YES, "ccl")

    def test_8_bit_floats_are_moved_and_not_summed(self):
        accelerator = card("max-1550")
        assert accelerator.explain(F.COMM_ALL_GATHER_FP8).status is YES
        assert accelerator.explain(F.COMM_ALL_REDUCE_FP8).status is NO


@pytest.mark.parametrize(("torch", "status"), [("2.10.0+xpu", NO), ("2.11.0+xpu", DEGRADED)])
def test_graphs_are_captured_since_torch_2_11(torch, status):
    assert card("arc-b580", torch).explain(F.RUNTIME_GRAPH_CAPTURE).status is status


def test_a_torch_for_the_cpu_does_not_make_the_card_usable():
    facts = profile("intel-arc-b580").facts(read_stack("torch=2.11.0+cpu"))
    verdict = get_accelerator("xpu", facts).explain(F.DEVICE_AVAILABLE)
    assert verdict.status is NO
    assert any("+xpu" in remedy for remedy in verdict.remedies)
