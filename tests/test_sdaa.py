"""Tecorigin SDAAs: what is public, and that the rest stays open."""

from __future__ import annotations

import pytest
from machines import cpu_host, merged

from accelcaps import Code, Facts, Status
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator

YES, NO, DEGRADED, UNKNOWN = Status.YES, Status.NO, Status.DEGRADED, Status.UNKNOWN


@pytest.fixture(scope="module")
def sdaa():
    facts = merged(
        cpu_host(),
        {
            "torch": {
                "devices": {
                    "sdaa": {"installed": True, "available": True, "count": 4, "error": None}
                }
            },
            "packages": {"torch-sdaa": "3.2.0"},
            "devices": {
                "sdaa": {
                    "list": [{"name": "TECO_AI_01", "index": 0, "visible": True}],
                    "visible_to_system": [{"pci": "/dev/tcaicard0", "id": "node"}],
                    "driver": None,
                }
            },
        },
    )
    return get_accelerator("sdaa", Facts(facts, name="T100"))


@pytest.mark.parametrize(
    ("feature", "status"),
    [
        (F.DTYPE_FP16, YES),
        (F.DTYPE_FP32, YES),
        (F.DTYPE_BF16, DEGRADED),
        (F.DTYPE_TF32, NO),
        (F.DTYPE_INT8, NO),
        (F.DTYPE_FP8_E4M3, NO),
        (F.DTYPE_FP64, UNKNOWN),
        (F.COMM_ALL_REDUCE, YES),
        (F.COMM_ALL_TO_ALL, UNKNOWN),
        (F.TRITON_DEVICE, NO),
        (F.COMPILE_TORCH_COMPILE, DEGRADED),
        (F.ZERO_3, YES),
    ],
)
def test_what_is_public_is_answered_and_the_rest_is_open(sdaa, feature, status):
    assert sdaa.explain(feature).status is status


def test_bf16_is_computed_on_the_fp16_unit(sdaa):
    verdict = sdaa.explain(F.DTYPE_BF16)
    assert verdict.reasons[-1].code is Code.EMULATED
    assert verdict.remedies == ("use fp16",)


def test_the_backend_is_tccl(sdaa):
    assert sdaa.explain(F.COMM_BACKEND).value == "tccl"
