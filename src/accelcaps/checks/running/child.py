"""The child process of a check: exercise feature after feature, and report each."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

from accelcaps.checks.attempt import SETUP
from accelcaps.checks.exercise import Outcome, Speed
from accelcaps.checks.running.device import AbsentError, Device, NotTriedError, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.facts.isolation import Report

__all__ = ["exercise"]

_LONGEST = 200


def exercise(report: Report, spec: Mapping[str, Any]) -> None:
    """Report what happens for each feature of ``spec``, until one leaves the device sick.

    A device that no longer computes after a failure would fail the next feature for no fault of
    its own: the rest is left to a new process.
    """
    report(SETUP)
    device = Device.open(spec)
    module_name, _, function = spec["source"].partition(":")
    module = importlib.import_module(module_name)
    report(SETUP, device.name)
    for feature in spec["features"]:
        report(feature)
        use = getattr(module, function) if function else _exercise_of(module, feature)
        found = _try(use, device)
        report(feature, found)
        if Outcome(found["outcome"]).failed:
            report("health")
            if not device.healthy():
                return


def _exercise_of(module: Any, feature: str) -> Callable[[Device], Any]:
    listed: Mapping[str, Callable[[Device], Any]] = module.EXERCISES
    if feature in listed:
        return listed[feature]
    return lambda device: module.exercise_other(feature, device)


def _try(use: Callable[[Device], Any], device: Device) -> dict[str, Any]:
    begun = time.monotonic()
    measured: dict[str, Any] = {}
    text = ""
    try:
        measured = dict(use(device) or {})
        outcome = Outcome.WORKED
        text = str(measured.pop("text", ""))
    except WrongResultError as error:
        outcome, text = Outcome.WRONG, str(error)
    except AbsentError as error:
        outcome, text = Outcome.ABSENT, str(error)
    except NotTriedError as error:
        outcome, text = Outcome.NOT_TRIED, str(error)
    except MemoryError as error:
        outcome, text = Outcome.NOT_TRIED, f"not enough memory to try it: {error}"
    except (Exception, SystemExit) as error:
        out_of_memory = type(error).__name__ == "OutOfMemoryError"
        outcome = Outcome.NOT_TRIED if out_of_memory else Outcome.RAISED
        text = _told(error)
    speed = measured.pop("speed", Speed.NOT_TOLD)
    return {
        "outcome": outcome.value,
        "text": text,
        "measured": measured,
        "speed": Speed(speed).value,
        "seconds": time.monotonic() - begun,
        "device": device.name,
    }


def _told(error: BaseException) -> str:
    """Return the error in one line: the first that says something, and the cause's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = next((line for line in lines if "error:" in line.lower()), lines[0] if lines else "")
    told = f"{type(error).__name__}: {said}".rstrip(": ")
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…"
