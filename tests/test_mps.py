"""Apple GPUs: what depends on the chip, macOS and the PyTorch release together."""

from __future__ import annotations

import pytest

from accelcaps import Status
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.profiles import profile, read_stack

TORCHES = ("2.2.1", "2.5.0", "2.6.0", "2.8.0")
SYSTEMS = ("13.6", "14.4.1")
CHIPS = ("m1", "m2", "m3", "m4")


def mac(chip, torch="2.8.0", macos="14.4.1"):
    stack = read_stack(f"torch={torch},macos={macos}")
    return get_accelerator("mps", profile(f"apple-{chip}").facts(stack))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("macos", SYSTEMS)
@pytest.mark.parametrize("torch", TORCHES)
class TestEveryMac:
    """huggingface/accelerate#2700 and #3064, transformers PR 40458, pytorch#122602."""

    def test_there_is_no_float64(self, chip, torch, macos):
        verdict = mac(chip, torch, macos).explain(F.DTYPE_FP64)

        assert verdict.status is Status.NO
        assert "MPS has no float64" in str(verdict)
        assert verdict.remedies == ("use fp32, or the CPU",)

    def test_bf16_autocast_needs_torch_2_6_and_macos_14(self, chip, torch, macos):
        verdict = mac(chip, torch, macos).explain(F.DTYPE_BF16_AUTOCAST)

        if torch < "2.6" or macos < "14":
            assert verdict.status is Status.NO
        elif chip in ("m1", "m2"):
            assert verdict.status is Status.DEGRADED
            assert "M1 and M2 emulate bf16" in str(verdict)
            assert verdict.remedies == ("use fp16",)
        else:
            assert verdict.status is Status.YES

    def test_the_gradient_scaler_needs_torch_2_8(self, chip, torch, macos):
        status = mac(chip, torch, macos).explain(F.DTYPE_FP16_GRAD_SCALER).status

        assert (status is Status.NO) is (torch < "2.8")


def test_what_is_missing_is_told_all_at_once():
    told = str(mac("m1", "2.2.1", "13.6").explain(F.DTYPE_BF16_AUTOCAST))

    assert "PyTorch is 2.2.1, needs at least 2.6" in told
    assert "macOS is 13.6, needs at least 14.0" in told


def test_a_newer_torch_needs_a_newer_macos():
    old = mac("m3", "2.9.0", "13.6").explain(F.BUILD_DRIVER)

    assert old.status is Status.NO
    assert mac("m3", "2.9.0", "14.4.1").supports(F.BUILD_DRIVER)
