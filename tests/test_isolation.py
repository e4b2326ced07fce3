"""Nothing that a probe does can take the caller down; each mishap becomes a fact."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from accelcaps import Code, Facts, NotObserved, Status
from accelcaps.facts.isolation import run_probe
from accelcaps.rules import Question, fact

SELF = "simulated.probes"


def run(name, *arguments, deadline=20.0):
    return run_probe(f"{SELF}:{name}", *arguments, deadline=deadline)


def test_what_a_probe_reports_arrives():
    outcome = run("good", 21)

    assert outcome.results == {"answer": 42, "list": [1, None, "ü"]}
    assert outcome.failure is None


def test_what_a_probe_prints_is_no_answer(capfd):
    """Not even when it looks like one, and not on the caller's own stdout."""
    outcome = run("noisy")

    assert outcome.results == {"answer": 1}
    assert "noise on stdout" in outcome.printed
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("probe", "code", "words"),
    [
        ("raises", Code.PROBE_CRASHED, "OSError: libfoo.so: cannot open shared object file"),
        ("exits", Code.PROBE_CRASHED, "exited with status 3 before it answered"),
        ("exits_quietly", Code.PROBE_CRASHED, "exited with status 0 before it answered"),
        ("hard_exits", Code.PROBE_CRASHED, "exited with status 7 before it answered"),
        ("segfaults", Code.PROBE_CRASHED, "SIGSEGV"),
        ("aborts", Code.PROBE_CRASHED, "SIGABRT: last words"),
        ("hangs", Code.PROBE_TIMEOUT, "did not answer within 1 s at something slow"),
        ("spoils_the_answer", Code.PROBE_CRASHED, "something that is not an answer"),
        ("answers_what_is_not_json", Code.PROBE_CRASHED, "TypeError"),
        ("missing", Code.PROBE_CRASHED, "AttributeError"),
    ],
)
def test_every_mishap_becomes_a_fact(probe, code, words):
    outcome = run(probe, deadline=1.0 if probe == "hangs" else 20.0)

    assert outcome.failure is not None
    assert code is outcome.failure.code
    assert words in outcome.failure.text


def test_what_was_reported_before_a_crash_is_kept():
    outcome = run("half")

    assert outcome.results == {"first": 1}
    assert outcome.doing == "second"


def test_a_child_that_outlives_the_probe_is_ended(tmp_path):
    """A probe that hangs with a child of its own leaves neither behind."""
    place = tmp_path / "pid"

    outcome = run("hangs_with_a_child", str(place), deadline=3.0)

    assert Code.PROBE_TIMEOUT is outcome.failure.code
    assert not _alive(int(place.read_text()))


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0] != "Z"  # a zombie waits for its new parent


def test_a_module_that_does_not_exist_is_a_fact():
    outcome = run_probe("simulated.nowhere:probe", deadline=20)

    assert "ModuleNotFoundError" in outcome.failure.text


def test_a_crash_is_unknown_and_never_a_no():
    failure = run("segfaults").failure
    facts = Facts({"thing": {"value": failure.to_json()}}, name="test")

    finding = fact("thing.value", "thing").exists().judge(Question(facts, None, "cpu"))

    assert Status.UNKNOWN is finding.status
    assert Code.PROBE_CRASHED is finding.reasons[0].code


class Careless:
    section = ("careless",)
    keyed_by = ""
    calls = 0

    def collect(self, facts, key):
        type(self).calls += 1
        raise ZeroDivisionError("oops")


def test_a_collector_that_raises_is_a_fact_and_is_not_asked_again():
    facts = Facts(collectors=[Careless()])

    found = facts.get("careless", "value")

    assert NotObserved(Code.PROBE_CRASHED, "careless: ZeroDivisionError: oops") == found
    assert facts.get("careless") == found
    assert Careless.calls == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_signals_are_named():
    assert signal.Signals.SIGSEGV.name in run("segfaults").failure.text
