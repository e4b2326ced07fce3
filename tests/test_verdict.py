"""Verdicts are plain values that print and serialise."""

from __future__ import annotations

import dataclasses
import json

import pytest

from accelcaps import Code, Evidence, Reason, Status, Verdict

PART = Verdict("build.ninja", Status.YES, Evidence.DETECTED, (Reason(Code.MET, "ninja 1.11"),))
VERDICT = Verdict(
    "op.async_io",
    Status.NO,
    Evidence.DETECTED,
    (Reason(Code.LIBRARY_MISSING, "no libaio.h"), Reason(Code.TOOLCHAIN_MISSING, "no\nc++")),
    ("apt install libaio-dev", "offload to cpu"),
    "DeepSpeed 0.19.8",
    (PART,),
)


def test_a_verdict_is_one_readable_line():
    assert str(VERDICT) == (
        "op.async_io: no (detected): no libaio.h; no c++ → apt install libaio-dev · offload to cpu"
    )


def test_json_goes_both_ways():
    text = json.dumps(VERDICT.to_json())

    assert Verdict.from_json(json.loads(text)) == VERDICT


def test_json_has_the_promised_keys():
    data = VERDICT.to_json()

    assert list(data) == [
        "feature", "status", "evidence", "reasons", "remedies", "source", "because"
    ]  # fmt: skip
    assert data["reasons"][0] == {"code": "library.missing", "text": "no libaio.h"}


def test_a_limit_carries_its_value():
    verdict = Verdict("limit.cores", Status.YES, Evidence.DETECTED, value=64)

    assert verdict.to_json()["value"] == 64
    assert str(verdict) == "limit.cores: yes = 64 (detected)"


def test_a_verdict_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        VERDICT.status = Status.YES  # type: ignore[misc]
    assert not hasattr(VERDICT, "__dict__")


@pytest.mark.parametrize(
    ("status", "any_way", "fully"),
    [
        (Status.YES, True, True),
        (Status.DEGRADED, True, False),
        (Status.NO, False, False),
        (Status.UNKNOWN, False, False),
    ],
)
def test_unknown_is_never_support(status, any_way, fully):
    verdict = Verdict("dtype.bf16", status, Evidence.DECLARED)

    assert any_way is verdict.supported()
    assert fully is verdict.supported(degraded=False)


def test_evidence_is_ordered():
    strengths = [e.strength for e in (Evidence.DECLARED, Evidence.DETECTED, Evidence.VERIFIED)]

    assert strengths == [0, 1, 2]
