"""Join what was claimed with what happened: a pure function from both to a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accelcaps.checks.exercise import Exercise, Outcome, Speed
from accelcaps.verdict import Code, Evidence, Reason, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["disagreements", "verified"]

_CODES = {
    Outcome.WRONG: Code.RESULT_WRONG,
    Outcome.RAISED: Code.RUNTIME_FAILED,
    Outcome.ABSENT: Code.RUNTIME_FAILED,
    Outcome.CRASHED: Code.PROBE_CRASHED,
}
_ABOUT_SPEED = {Code.EMULATED, Code.SLOW}


def verified(claim: Verdict, done: Exercise) -> Verdict:
    """Return the verdict that stands after the exercise.

    What happened decides between works and does not; timing decides between yes and degraded
    only where it is clear. What could not be tried leaves the claim as it is.
    """
    absent = done.outcome is Outcome.ABSENT  # which proves no more than a no that was claimed
    if done.outcome is Outcome.NOT_TRIED or (absent and claim.status is not Status.NO):
        return claim
    if done.outcome in (Outcome.TIMED_OUT, Outcome.UNSTABLE):
        timed_out = done.outcome is Outcome.TIMED_OUT
        code = Code.PROBE_TIMEOUT if timed_out else Code.RUNTIME_FAILED
        reason = Reason(code, f"claimed {claim.status}, {done.text or done.outcome}")
        return replace(claim, status=Status.UNKNOWN, reasons=(reason,), claimed=claim.status)
    if done.outcome.failed or absent:
        return _failed(claim, done)
    return _worked(claim, done)


def disagreements(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts whose claim was wrong."""
    return [verdict for verdict in verdicts if verdict.disagrees]


def _failed(claim: Verdict, done: Exercise) -> Verdict:
    as_claimed = claim.status is Status.NO
    lead = (
        "failed when run, as claimed" if as_claimed else f"claimed {claim.status}, failed when run"
    )
    reason = Reason(_CODES[done.outcome], f"{lead}: {done.text}")
    against = tuple(each for each in claim.reasons if each.code is not Code.MET)
    return replace(
        claim,
        status=Status.NO,
        evidence=Evidence.VERIFIED,
        reasons=(*against, reason) if as_claimed else (reason,),
        remedies=claim.remedies if as_claimed else (),
        claimed=claim.status,
        value=claim.value if as_claimed else None,
    )


def _worked(claim: Verdict, done: Exercise) -> Verdict:
    found = ", ".join(filter(None, (done.text, done.numbers)))
    told = f"worked when run on {done.device}" + (f": {found}" if found else "")
    against = tuple(each for each in claim.reasons if each.code not in (Code.MET, Code.NOTE))
    status, reasons = claim.status, claim.reasons
    remedies = claim.remedies
    if claim.status in (Status.NO, Status.UNKNOWN):
        status, remedies = Status.YES, ()
        reasons = ()
        if claim.status is Status.NO:
            because = "; ".join(each.text for each in against)
            told = f"claimed no ({because}), {told}"
    slow = done.speed is Speed.SLOW
    if slow and status is Status.YES:
        status = Status.DEGRADED
        told = f"claimed {claim.status}, slow when run: {found}"
        reasons = ()
    elif done.speed is Speed.HARDWARE and status is Status.DEGRADED and _for_speed(against):
        status, reasons, remedies = Status.YES, (), ()
        told = f"claimed degraded, and {told}"
    code = Code.SLOW if slow and status is Status.DEGRADED and not reasons else Code.NOTE
    return replace(
        claim,
        status=status,
        evidence=Evidence.VERIFIED,
        reasons=(*reasons, Reason(code, told)),
        remedies=remedies,
        claimed=claim.status,
    )


def _for_speed(against: tuple[Reason, ...]) -> bool:
    """Whether it is called degraded for its speed alone."""
    return bool(against) and all(each.code in _ABOUT_SPEED for each in against)
