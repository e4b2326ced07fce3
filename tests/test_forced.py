"""Verdicts that a user decides."""

from __future__ import annotations

import json

import pytest
from machines import cuda_host, gpu

import accelcaps
from accelcaps import Code, Facts, OverrideError, Status, UnknownFeatureError
from accelcaps import features as F
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.cli import main

A100 = cuda_host(gpu("A100", "8.0"))


def forced(force):
    return get_accelerator("cuda", Facts(A100, name="x"), force=force)


@pytest.mark.parametrize(
    "force", ["dtype.bf16=no", {"dtype.bf16": "no"}, {F.DTYPE_BF16: Status.NO}]
)
def test_a_forced_verdict_stands_in_place_of_the_rule(force):
    verdict = forced(force).explain(F.DTYPE_BF16)

    assert (verdict.status, [r.code for r in verdict.reasons]) == (Status.NO, [Code.FORCED])
    assert "forced to no by an argument" in str(verdict)
    assert get_accelerator("cuda", Facts(A100, name="x")).supports(F.DTYPE_BF16)


def test_what_rests_on_it_follows_and_tells():
    acc = forced("comm.all_reduce=no")

    for stage in ("zero.1", "zero.2"):
        assert Status.NO is acc.explain(stage).status
        assert "comm.all_reduce is forced to no by an argument" in str(acc.explain(stage))


def test_several_can_be_forced_and_the_rest_is_judged():
    acc = forced("dtype.bf16=degraded, op.async_io=yes;comm.reduce=unknown")

    statuses = [
        acc.explain(f).status for f in ("dtype.bf16", "op.async_io", "comm.reduce", "dtype.fp16")
    ]
    assert statuses == [Status.DEGRADED, Status.YES, Status.UNKNOWN, Status.YES]
    assert not acc.supports(F.DTYPE_BF16, degraded=False)


@pytest.mark.parametrize(
    ("force", "error", "words"),
    [
        ("dtype.bf16", OverrideError, "'dtype.bf16' is not of the form name=status"),
        ("=no", OverrideError, "'=no' is not of the form"),
        ("dtype.bf16=maybe", OverrideError, "must be one of yes, degraded, no, unknown"),
        ("dtype.bf17=no", UnknownFeatureError, "did you mean dtype.bf16"),
        ("limit.memory_bytes=yes", OverrideError, "is a value, and cannot be forced"),
    ],
)
def test_what_cannot_be_understood_is_an_error(force, error, words):
    with pytest.raises(error, match=words):
        forced(force)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr("accelcaps.accelerators.registry._facts_here", [Facts(A100, name="x")])
    monkeypatch.setattr("accelcaps.accelerators.registry._here", {})
    monkeypatch.setattr("accelcaps.accelerators.registry.this_machine", lambda _: Facts(A100))


def test_the_variable_forces_on_this_machine_alone(here, monkeypatch):
    monkeypatch.setenv("ACCELCAPS_FORCE", "dtype.bf16=no")

    verdict = accelcaps.get_accelerator("cuda").explain(F.DTYPE_BF16)
    assert "is forced to no by ACCELCAPS_FORCE" in str(verdict)
    assert get_accelerator("cuda", Facts(A100, name="x")).supports(F.DTYPE_BF16)


def test_the_argument_goes_before_the_variable(here, monkeypatch):
    monkeypatch.setenv("ACCELCAPS_FORCE", "dtype.bf16=no,dtype.fp16=no")

    acc = accelcaps.get_accelerator("cuda", force="dtype.bf16=yes")
    assert "forced to yes by an argument" in str(acc.explain(F.DTYPE_BF16))
    assert "is forced to no by ACCELCAPS_FORCE" in str(acc.explain(F.DTYPE_FP16))


def test_a_changed_variable_is_noticed(here, monkeypatch):
    assert accelcaps.get_accelerator("cuda").supports(F.DTYPE_BF16)
    monkeypatch.setenv("ACCELCAPS_FORCE", "dtype.bf16=no")
    assert not accelcaps.get_accelerator("cuda").supports(F.DTYPE_BF16)
    monkeypatch.delenv("ACCELCAPS_FORCE")
    assert accelcaps.get_accelerator("cuda").supports(F.DTYPE_BF16)


def test_forcing_the_device_steers_the_choice(here, monkeypatch):
    monkeypatch.setenv("ACCELCAPS_FORCE", "device.available=no")

    assert accelcaps.why().chosen != "cuda"


def test_the_report_marks_what_is_forced_and_by_what(capsys):
    on = ["report", "--on", "nvidia-t4", "--force", "dtype.bf16=yes"]

    assert main(on) == 0
    assert "forced by an argument: dtype.bf16=yes" in capsys.readouterr().out
    assert main([*on, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["forced"] == {"dtype.bf16": {"status": "yes", "by": "an argument"}}
    assert report["verdicts"]["dtype.bf16"]["reasons"][0]["code"] == "forced"


def test_a_report_with_forced_verdicts_is_read_again_without_them(capsys, tmp_path):
    main(["report", "--on", "nvidia-t4", "--force", "dtype.bf16=yes", "--json"])
    (tmp_path / "report.json").write_text(capsys.readouterr().out)

    assert main(["explain", "dtype.bf16", "--facts", str(tmp_path / "report.json")]) == 0
    assert "degraded" in capsys.readouterr().out
