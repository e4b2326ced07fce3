"""What stands after an exercise: claim and outcome in, verdict out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelcaps import Code, Evidence, Reason, Status, Verdict
from accelcaps.checks.evidence import disagreements, verified
from accelcaps.checks.exercise import Exercise, Outcome, Speed

EMULATED = Reason(Code.EMULATED, "through fp32")
LIMITED = Reason(Code.LIMITED, "weights only")
MET = Reason(Code.MET, "the flags are there")
REFUSED = Reason(Code.HARDWARE_UNSUPPORTED, "no such units")


def claim(status, *reasons, **rest):
    return Verdict("dtype.bf16", Status(status), Evidence.DETECTED, reasons, **rest)


def done(outcome, speed=Speed.NOT_TOLD, text="", **measured):
    return Exercise("dtype.bf16", Outcome(outcome), text, measured, speed, 1.0, 7, "cuda:0")


def test_a_yes_that_worked_is_verified():
    verdict = verified(claim("yes", MET), done("worked", error=0.001, ratio=0.4))

    assert (verdict.status, verdict.evidence) == (Status.YES, Evidence.VERIFIED)
    assert not verdict.disagrees
    assert "0.4 × the time of fp32" in str(verdict)
    assert "cuda:0" in str(verdict)
    assert MET in verdict.reasons


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("wrong", Code.RESULT_WRONG),
        ("raised", Code.RUNTIME_FAILED),
        ("crashed", Code.PROBE_CRASHED),
    ],
)
def test_a_yes_that_failed_is_a_no_that_says_so(outcome, code):
    verdict = verified(claim("yes", MET), done(outcome, text="SIGSEGV: last words"))

    assert (verdict.status, verdict.evidence) == (Status.NO, Evidence.VERIFIED)
    assert verdict.disagrees
    assert [reason.code for reason in verdict.reasons] == [code]
    assert "claimed yes, failed when run: SIGSEGV: last words" in str(verdict)


def test_a_no_that_failed_keeps_its_reasons_and_remedies():
    verdict = verified(
        claim("no", REFUSED, remedies=("use fp32",)), done("raised", text="no kernel")
    )

    assert not verdict.disagrees
    assert verdict.reasons[0] == REFUSED
    assert verdict.remedies == ("use fp32",)
    assert "failed when run, as claimed: no kernel" in str(verdict)


def test_a_no_that_worked_is_a_wrong_claim():
    verdict = verified(claim("no", REFUSED, remedies=("use fp32",)), done("worked"))

    assert verdict.status is Status.YES
    assert verdict.disagrees
    assert "claimed no (no such units), worked when run" in str(verdict)
    assert verdict.remedies == ()


@pytest.mark.parametrize("outcome", ["timed out", "unstable"])
@pytest.mark.parametrize("status", ["yes", "degraded", "no", "unknown"])
def test_what_did_not_end_or_did_both_is_unknown(outcome, status):
    verdict = verified(claim(status, MET), done(outcome))

    assert verdict.status is Status.UNKNOWN
    assert verdict.evidence is not Evidence.VERIFIED
    assert verdict.claimed is Status(status)
    assert not verdict.disagrees


def test_an_unknown_is_decided_by_what_happened():
    assert verified(claim("unknown"), done("worked")).status is Status.YES
    assert verified(claim("unknown"), done("raised", text="no")).status is Status.NO
    assert not verified(claim("unknown"), done("raised", text="no")).disagrees


def test_a_vendors_other_way_is_no_proof_against_a_yes():
    yes = claim("yes", MET)

    assert verified(yes, done("absent")) == yes
    assert verified(claim("unknown"), done("absent")).status is Status.UNKNOWN
    assert verified(claim("no", REFUSED), done("absent")).evidence is Evidence.VERIFIED


class TestSpeed:
    def test_slow_contradicts_a_yes(self):
        verdict = verified(claim("yes", MET), done("worked", Speed.SLOW, ratio=134.0))

        assert verdict.status is Status.DEGRADED
        assert verdict.disagrees
        assert verdict.reasons[0].code is Code.SLOW
        assert "134 × the time of fp32" in str(verdict)

    def test_fast_contradicts_emulated(self):
        verdict = verified(claim("degraded", EMULATED), done("worked", Speed.HARDWARE, ratio=0.2))

        assert verdict.status is Status.YES
        assert verdict.disagrees

    def test_fast_does_not_contradict_limited(self):
        verdict = verified(claim("degraded", LIMITED), done("worked", Speed.HARDWARE, ratio=0.2))

        assert verdict.status is Status.DEGRADED
        assert not verdict.disagrees
        assert LIMITED in verdict.reasons

    @pytest.mark.parametrize("status", ["yes", "degraded"])
    def test_in_between_decides_nothing(self, status):
        verdict = verified(claim(status, EMULATED), done("worked", ratio=1.1))

        assert verdict.status is Status(status)
        assert not verdict.disagrees


statuses = st.sampled_from(Status)
outcomes = st.sampled_from(Outcome)
speeds = st.sampled_from(Speed)


@given(statuses, outcomes, speeds, st.sampled_from([(), (MET,), (EMULATED,), (LIMITED, MET)]))
def test_of_every_claim_and_outcome(status, outcome, speed, reasons):
    before = claim(status.value, *reasons)
    after = verified(before, done(outcome.value, speed, "it said so"))

    if outcome is Outcome.NOT_TRIED:
        assert after == before
    if outcome.failed:
        assert after.status is Status.NO
    if outcome is Outcome.WORKED:
        assert after.supported()
    if after.evidence is Evidence.VERIFIED:
        assert after.claimed is status
        assert after.disagrees is (status is not Status.UNKNOWN and status is not after.status)
    else:
        assert not after.disagrees
    if after.status is not Status.YES and after != before:
        assert after.reasons
    assert Verdict.from_json(after.to_json()) == after
    assert disagreements([after]) == ([after] if after.disagrees else [])


@given(outcomes, speeds, st.text(max_size=20), st.floats(0, 100))
def test_an_exercise_can_be_read_back(outcome, speed, text, ratio):
    exercise = Exercise("dtype.bf16", outcome, text, {"ratio": ratio}, speed, 1.5, 3, "cpu")

    assert Exercise.from_json("dtype.bf16", exercise.to_json()) == exercise
