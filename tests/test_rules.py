"""The combinators, against a reference written as tables, and by property."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelcaps import Code, Evidence, Facts, Reason, Status
from accelcaps.rules import (
    Finding,
    Question,
    all_of,
    any_of,
    best,
    degraded,
    fact,
    no,
    unknown,
    version_of,
    worst,
    yes,
)

STATUSES = list(Status)
AND = [Status.NO, Status.UNKNOWN, Status.DEGRADED, Status.YES]
OR = [Status.YES, Status.DEGRADED, Status.UNKNOWN, Status.NO]

reasons = st.lists(
    st.builds(Reason, st.sampled_from(list(Code)), st.text(min_size=1, max_size=8)), max_size=3
).map(tuple)
findings = st.builds(
    Finding, st.sampled_from(STATUSES), st.sampled_from(list(Evidence)), reasons,
    st.lists(st.text(min_size=1, max_size=8), max_size=2).map(tuple),
)  # fmt: skip
many = st.lists(findings, min_size=1, max_size=5)


def question(**facts):
    return Question(Facts(facts, name="test"), None, "cpu")


def judge(rule, **facts):
    return rule.judge(question(**facts))


@pytest.mark.parametrize(("a", "b"), list(itertools.product(STATUSES, STATUSES)), ids=str)
def test_all_of_is_the_worst_and_any_of_the_best(a, b):
    """A no decides an *and*, a yes an *or*; degraded lies between; unknown is never yes or no."""
    pair = [Finding(a, Evidence.DECLARED), Finding(b, Evidence.DECLARED)]

    assert min((a, b), key=AND.index) is worst(pair).status
    assert min((a, b), key=OR.index) is best(pair).status


@given(many)
def test_order_does_not_change_the_status(parts):
    assert worst(parts).status is worst(parts[::-1]).status
    assert best(parts).status is best(parts[::-1]).status


@given(many, many)
def test_combining_in_two_steps_is_combining_at_once(first, second):
    assert worst([worst(first), worst(second)]).status is worst(first + second).status
    assert best([best(first), best(second)]).status is best(first + second).status


@given(many)
def test_more_requirements_never_make_it_better(parts):
    assert AND.index(worst(parts).status) <= min(AND.index(p.status) for p in parts)


@given(many)
def test_every_reason_against_is_kept_and_deciding_ones_come_first(parts):
    """All of what stands in the way is told at once."""
    found = worst(parts)

    against = [r for p in parts if p.status is not Status.YES for r in p.reasons]
    kept = [r for r in against if r.code is not Code.MET]
    if kept:
        assert set(kept) == set(found.reasons)
        deciding = [r for p in parts if p.status is found.status for r in p.reasons]
        first = next((r for r in deciding if r.code is not Code.MET), None)
        if first is not None and found.status is not Status.YES:
            assert found.reasons[0] in deciding


@given(many)
def test_evidence_is_the_weakest_of_what_decided(parts):
    found = worst(parts)

    deciding = [p.evidence for p in parts if p.status is found.status]
    assert min(deciding, key=lambda e: e.strength) is found.evidence


@given(many)
def test_no_remedy_of_what_works_is_offered(parts):
    working = {r for p in parts if p.status is Status.YES for r in p.remedies}
    failing = {r for p in parts if p.status is not Status.YES for r in p.remedies}

    assert set(worst(parts).remedies) == failing
    assert not set(worst(parts).remedies) & (working - failing)


@given(st.text(min_size=1), st.sampled_from(["2.0", "10.3", "1.9.1"]))
def test_any_text_where_a_version_should_be_is_unknown_or_compared(found, wanted):
    """Garbage in the facts never raises, and is never taken for old or new."""
    finding = judge(version_of("torch.version", "PyTorch") >= wanted, torch={"version": found})

    assert finding.status in (Status.YES, Status.NO, Status.UNKNOWN)
    assert finding.reasons


@pytest.mark.parametrize(
    ("found", "status"),
    [("2.9", "no"), ("2.10", "yes"), ("2.10.0+cu126", "yes"), ("2.10.0a0+gitabc", "yes"), ("2.9.0.dev20250101", "no"),
     ("3", "yes"), ("535.154.05", "yes"), ("nightly", "unknown")],
)  # fmt: skip
def test_versions_compare_as_versions(found, status):
    finding = judge(version_of("torch.version", "PyTorch") >= "2.10", torch={"version": found})

    assert status == finding.status


def test_a_comparison_explains_itself():
    rule = version_of("torch.version", "PyTorch") >= "2.6"

    finding = judge(rule, torch={"version": "2.4.1"})

    assert (
        Reason(Code.SOFTWARE_VERSION, "PyTorch is 2.4.1, needs at least 2.6"),
    ) == finding.reasons


def test_a_fact_observed_to_be_absent_is_a_no():
    rule = version_of("torch.version", "PyTorch", absent="PyTorch is not installed") >= "2.6"

    finding = judge(rule, torch={"version": None})

    assert Status.NO is finding.status
    assert (Reason(Code.SOFTWARE_MISSING, "PyTorch is not installed"),) == finding.reasons


def test_a_missing_fact_is_unknown_and_never_false():
    finding = judge(version_of("torch.version", "PyTorch") >= "2.6")

    assert Status.UNKNOWN is finding.status
    assert Code.NOT_RECORDED is finding.reasons[0].code


def test_a_fact_that_was_not_observed_says_why():
    stated = {"not_observed": {"code": "probe.timeout", "text": "torch hung"}}

    finding = judge(fact("torch.version", "PyTorch").exists(), torch={"version": stated})

    assert (Status.UNKNOWN, (Reason(Code.PROBE_TIMEOUT, "torch hung"),)) == (
        finding.status, finding.reasons
    )  # fmt: skip


@pytest.mark.parametrize("found", [7, "avx2", {"a": 1}, True])
def test_a_list_that_is_none_is_unknown_not_an_exception(found):
    finding = judge(fact("cpu.flags", "flags").has("avx2"), cpu={"flags": found})

    assert finding.status in (Status.UNKNOWN, Status.NO)


def test_otherwise_keeps_the_reason_that_led_there():
    rule = fact("cpu.flags", "flags").has("amx").otherwise(degraded(Code.EMULATED, "emulated"))

    finding = judge(rule, cpu={"flags": []})

    assert Status.DEGRADED is finding.status
    assert [r.text for r in finding.reasons] == ["flags: no amx", "emulated"]
    assert Evidence.DETECTED is finding.evidence


def test_otherwise_does_not_turn_unknown_into_an_answer():
    rule = fact("cpu.flags", "flags").has("amx").otherwise(yes("fine"))

    assert Status.UNKNOWN is judge(rule).status


def test_then_looks_further_only_where_the_first_holds():
    rule = fact("cpu.flags", "flags").has("amx").then(no(Code.POLICY, "refused"))

    assert judge(rule, cpu={"flags": ["amx"]}).reasons[0].text == "refused"
    assert [r.text for r in judge(rule, cpu={"flags": []}).reasons] == ["flags: no amx"]


def test_then_keeps_a_degraded_answer_and_still_looks_further():
    slow = fact("cpu.flags", "flags").has("amx").otherwise(degraded(Code.SLOW, "slow"))
    facts = {"cpu": {"flags": []}}

    assert judge(slow.then(yes("fine")), **facts).status is Status.DEGRADED
    assert judge(slow.then(no(Code.POLICY, "refused")), **facts).status is Status.NO


def test_then_offers_no_remedy_for_what_would_not_help():
    rule = no(Code.HARDWARE_TOO_OLD, "too old").then(no(Code.POLICY, "off").remedy("switch it on"))

    assert judge(rule).remedies == ()


def test_a_condition_that_does_not_hold_takes_the_rule_away():
    rule = no(Code.POLICY, "refused").when(fact("host.wsl", "WSL").holds("wsl", "no wsl"))

    assert Status.YES is judge(rule, host={"wsl": False}).status
    assert Status.NO is judge(rule, host={"wsl": True}).status
    assert Status.UNKNOWN is judge(rule).status


def test_what_nobody_recorded_can_be_left_out_but_a_crash_cannot():
    rule = (version_of("torch.version", "PyTorch") >= "2.6").where_recorded()
    crashed = {"not_observed": {"code": "probe.crashed", "text": "SIGSEGV"}}

    assert Status.YES is judge(rule).status
    assert Status.UNKNOWN is judge(rule, torch={"version": crashed}).status
    assert Status.NO is judge(rule, torch={"version": "2.0"}).status


def test_an_alternative_that_was_not_needed_is_no_reason():
    rule = any_of(no(Code.POLICY, "refused"), yes("works"))

    assert [r.text for r in judge(rule).reasons] == ["works"]


def test_when_every_alternative_fails_all_are_told():
    rule = any_of(no(Code.POLICY, "first"), unknown(Code.NOT_OBSERVED, "second"))

    finding = judge(rule)

    assert Status.UNKNOWN is finding.status
    assert [r.text for r in finding.reasons] == ["second", "first"]


def test_remedies_are_offered_only_for_what_does_not_work():
    rule = all_of(yes("a").remedy("never"), no(Code.POLICY, "b").remedy("do this", lambda _: None))

    assert judge(rule).remedies == ("do this",)
