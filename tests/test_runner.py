"""Exercises in real child processes: every way to fail is told apart, and nothing is lost."""

from __future__ import annotations

import importlib
import threading

import pytest
from trial import FEATURES, trial

from accelcaps import Code, Evidence, Facts, Status, VerificationError
from accelcaps.checks.attempt import Attempt
from accelcaps.checks.catalog import CHECKS, Check, exercisable
from accelcaps.checks.exercise import Outcome
from accelcaps.checks.runner import Runner
from accelcaps.features import DEVICE_AVAILABLE

pytestmark = pytest.mark.stack


def of(accelerator, name, **options):
    return Runner(accelerator, **options).run([FEATURES[name]])[FEATURES[name]]


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("right", Outcome.WORKED, "ok"),
        ("wrong", Outcome.WRONG, "a product is off by 0.0005"),
        ("unwritten", Outcome.WRONG, "a product is off by 1 of the largest value"),
        ("infinite", Outcome.WRONG, "not finite"),
        ("misshapen", Outcome.WRONG, "has the shape [3], not [4]"),
        ("raises", Outcome.RAISED, "NotImplementedError: no such kernel"),
        ("leaves", Outcome.RAISED, "SystemExit: 3"),
        ("segfaults", Outcome.CRASHED, "SIGSEGV: last words"),
        ("cannot", Outcome.NOT_TRIED, "a second device is needed"),
        ("too_large", Outcome.NOT_TRIED, "not enough memory to try it: 7 TB"),
    ],
)
def test_every_end_is_told_apart(name, outcome, words):
    found = of(trial("unknown"), name)

    assert found.outcome is outcome
    assert words in found.text


def test_a_hang_is_ended_at_the_deadline_and_is_unknown():
    accelerator = trial()
    verdict = accelerator.verify(FEATURES["hangs"], deadline=3.0)

    assert verdict.status is Status.UNKNOWN
    assert verdict.reasons[0].code is Code.PROBE_TIMEOUT
    assert "did not answer within 3 s at x.trial.hangs" in str(verdict)
    assert not accelerator.supports(FEATURES["hangs"])


def test_a_result_of_an_earlier_run_does_not_pass():
    accelerator = trial("unknown")

    of(accelerator, "stale")
    assert of(accelerator, "stale").outcome is Outcome.WRONG


def test_a_crash_is_a_finding_with_signal_and_last_lines():
    verdict = trial().verify(FEATURES["segfaults"])

    assert verdict.status is Status.NO
    assert verdict.evidence is Evidence.VERIFIED
    assert verdict.reasons[0].code is Code.PROBE_CRASHED
    assert "SIGSEGV: last words" in verdict.reasons[0].text


def test_what_worked_once_and_failed_once_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELCAPS_TEST_MARK", str(tmp_path / "mark"))
    verdict = trial().verify(FEATURES["flaky"])

    assert verdict.status is Status.UNKNOWN
    assert "not this time" in str(verdict)
    assert "tried again, it worked" in str(verdict)


def test_verified_replaces_what_was_claimed_and_what_rests_on_it_follows():
    accelerator = trial(raises="yes", right="no")
    assert accelerator.supports(FEATURES["raises"])

    accelerator.verify(FEATURES["raises"])
    accelerator.verify(FEATURES["right"])

    assert not accelerator.supports(FEATURES["raises"])
    assert accelerator.supports(FEATURES["right"])
    assert accelerator.explain(FEATURES["raises"]).claimed is Status.YES
    assert accelerator.claim(FEATURES["raises"]).status is Status.YES


def test_what_is_forced_stays_as_it_was_forced():
    accelerator = type(trial())(trial().facts, {})
    forced = type(accelerator)(accelerator.facts, _forced("x.trial.right", "no"))

    assert forced.verify(FEATURES["right"]).status is Status.NO


def _forced(name, status):
    from accelcaps.accelerators.forced import read_force

    return read_force({name: status}, "a test")


def attempt(source, features, ranks=1, patience=5.0):
    told = []
    check = Check("trial", source, tuple(features), ranks, patience)
    run = Attempt(
        trial(), check, 0, None, threading.Event(), begun=lambda f: None, done=told.append
    )
    return run.run(list(features)), told


def test_one_that_takes_its_process_down_costs_no_other():
    """A crash, a hang, and a failure that leaves the process unusable, in one run."""
    names = ["right", "segfaults", "wrong", "hangs", "poisons", "raises", "last"]
    found, told = attempt("simulated.exercises", [FEATURES[name] for name in names])

    assert [found[FEATURES[name]].outcome.value for name in names] == [
        "worked", "crashed", "wrong", "timed out", "raised", "raised", "worked",
    ]  # fmt: skip
    assert "no such kernel" in found[FEATURES["raises"]].text  # in a process that can compute
    assert [exercise.feature for exercise in told] == [FEATURES[name] for name in names]


def test_of_two_ranks_the_one_that_failed_is_named():
    names = ["wrong", "right"]
    found, _ = attempt("simulated.rank_exercises", [FEATURES[n] for n in names], ranks=2)

    assert found[FEATURES["wrong"]].outcome is Outcome.RAISED
    assert "rank 1: RuntimeError: only here" in found[FEATURES["wrong"]].text
    assert found[FEATURES["right"]].outcome is Outcome.WORKED


def test_a_rank_that_dies_does_not_leave_the_other_waiting():
    found, _ = attempt(
        "simulated.rank_exercises", [FEATURES["segfaults"], FEATURES["right"]], 2, patience=60.0
    )

    assert found[FEATURES["segfaults"]].outcome is Outcome.CRASHED
    assert "SIGKILL" in found[FEATURES["segfaults"]].text
    assert found[FEATURES["right"]].outcome is Outcome.WORKED


def test_a_check_that_cannot_start_says_nothing_of_its_features():
    found, _ = attempt("simulated.nowhere", [FEATURES["right"], FEATURES["wrong"]])

    assert {each.outcome for each in found.values()} == {Outcome.NOT_TRIED}
    assert "No module named 'simulated.nowhere'" in found[FEATURES["right"]].text


def test_without_a_usable_device_nothing_of_it_is_tried():
    """A login node cannot tell for the workers: the claims stay."""

    class Away(type(trial())):
        seen_by = type(trial().seen_by)(torch_type="cuda")

    accelerator = Away(trial().facts)
    found = Runner(accelerator).run([FEATURES["right"]])

    assert found[DEVICE_AVAILABLE].outcome is Outcome.RAISED
    assert found[FEATURES["right"]].outcome is Outcome.NOT_TRIED
    assert "no device here that can be used" in found[FEATURES["right"]].text


def test_facts_of_another_machine_cannot_be_exercised():
    with pytest.raises(VerificationError, match=r"box\.json is a record"):
        type(trial())(Facts({}, name="box.json")).verify(FEATURES["right"])


def test_what_was_exercised_is_read_back_with_the_facts():
    accelerator = trial()
    accelerator.verify(FEATURES["wrong"])

    again = type(accelerator)(Facts(accelerator.facts.to_json(), name="box.json"))
    assert again.explain(FEATURES["wrong"]) == accelerator.explain(FEATURES["wrong"])
    assert again.explain(FEATURES["wrong"]).evidence is Evidence.VERIFIED


@pytest.mark.parametrize("source", sorted({check.source for check in CHECKS}))
def test_every_listed_feature_has_an_exercise(source):
    module = importlib.import_module(source)
    listed = {f for check in CHECKS if check.source == source for f in check.features}

    assert set(module.EXERCISES) <= listed
    assert set(module.EXERCISES) == listed or hasattr(module, "exercise_other")


@pytest.mark.parametrize(
    ("kind", "module", "error"),
    [("cuda", "", "NotImplementedError"), ("cuda", "torch_xmlir", "AbsentError"),
     ("npu", "torch_npu", "AbsentError")],
)  # fmt: skip
def test_what_torch_lacks_for_a_vendors_device_proves_nothing(kind, module, error):
    """Also where the vendor's package answers under torch's own name."""
    import torch

    from accelcaps.checks.running.device import Device

    spec = {"module": module}
    device = Device("x", kind, f"{kind}:0", torch.Generator(), 0, 1, spec)
    with pytest.raises(Exception, match="no such operator") as caught, device.by_torch():
        raise NotImplementedError("no such operator")
    assert caught.type.__name__ == error


def test_no_feature_has_two_checks():
    listed = [feature for check in CHECKS for feature in check.features]

    assert len(listed) == len(set(listed))


def test_an_accelerators_own_check_goes_before_the_shared_one():
    class Own(type(trial())):
        checks = {"dtype.bf16": "simulated.exercises:right"}

    checks = exercisable(Own(trial().facts))
    assert checks["dtype.bf16"].source == "simulated.exercises:right"
    assert checks["dtype.fp32"].source == "accelcaps.checks.running.dtypes"
