"""Cambricon MLUs: the series of the card, and torch_mlu."""

from __future__ import annotations

import pytest
from machines import cpu_host, merged

from accelcaps import Facts, Status
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator

YES, NO, DEGRADED, UNKNOWN = Status.YES, Status.NO, Status.DEGRADED, Status.UNKNOWN


def card(name, plugin="1.22.0+torch2.4.0", torch="2.4.1+cpu"):
    facts = merged(
        cpu_host(),
        {
            "torch": {
                "version": torch,
                "runtime": {"backends": ["gloo"]},
                "devices": {
                    "mlu": {"installed": True, "available": True, "count": 1, "error": None}
                },
            },
            "packages": {"torch": torch, "torch-mlu": plugin},
            "devices": {
                "mlu": {
                    "list": [
                        {"name": name, "index": 0, "visible": True, "memory_bytes": 48 * 2**30}
                    ],
                    "visible_to_system": [{"pci": "0000:0f:00.0", "id": "0x0590"}],
                    "driver": None,
                }
            },
        },
    )
    return get_accelerator("mlu", Facts(facts, name=name))


@pytest.mark.parametrize(
    ("feature", "statuses"),
    [
        (F.DTYPE_FP16, (YES, YES)),
        (F.DTYPE_BF16, (NO, YES)),
        (F.DEEPSPEED_BF16, (NO, YES)),
        (F.ATTENTION_FLASH_ATTENTION, (NO, YES)),
        (F.DTYPE_FP64, (NO, NO)),
        (F.DTYPE_FP64_STORAGE, (DEGRADED, DEGRADED)),
        (F.DTYPE_COMPLEX64, (NO, NO)),
        (F.TRITON_DEVICE, (UNKNOWN, UNKNOWN)),
        (F.COMM_ALL_REDUCE, (YES, YES)),
        (F.COMM_ALL_REDUCE_BF16, (NO, YES)),
        (F.COMM_ALL_REDUCE_AVG, (NO, NO)),
    ],
)
def test_each_series_has_its_own_answer(feature, statuses):
    cards = ("MLU370-X8", "MLU590-M9")
    assert tuple(card(name).explain(feature).status for name in cards) == statuses


def test_float64_says_that_it_is_held_in_32_bits():
    verdict = card("MLU590").explain(F.DTYPE_FP64)
    assert "float32 on the device" in verdict.reasons[0].text


def test_a_torch_mlu_for_another_torch_is_a_no_that_names_both():
    verdict = card("MLU590", torch="2.6.0+cpu").explain(F.DEVICE_AVAILABLE)
    assert verdict.status is NO
    assert "built for PyTorch 2.4, found 2.6.0" in verdict.reasons[-1].text


def test_the_backend_is_cncl():
    assert card("MLU590").explain(F.COMM_BACKEND).value == "cncl"
