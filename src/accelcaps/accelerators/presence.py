"""Whether a device is there and usable: the rules that accelerators other than the CPU share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelcaps.accelerators.references import TORCH_INSTALLED, without_autoload
from accelcaps.facts.model import NotObserved
from accelcaps.rules import Finding, Question, Rule, RuleLike, all_of, value_of
from accelcaps.verdict import Code, Evidence, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["device_seen", "hardware_there", "torch_runs", "usable_device"]


def usable_device(what: str, seen_by: str, *needs: RuleLike, hides: str, remedy: str) -> Rule:
    """Make the rule of ``device.available``.

    Args:
        what: a device of the family, such as ``Ascend NPU``.
        seen_by: how it is looked for, for the source: the bus, a library, a command.
        needs: what the framework must bring: a build, a package, a driver.
        hides: the environment variable that hides devices.
        remedy: what to do where a device is there and its driver is not.
    """
    return (
        hardware_there(what)
        .then(all_of(device_seen(what, hides, remedy), TORCH_INSTALLED, *needs, torch_runs()))
        .source(seen_by)
    )


def hardware_there(what: str) -> Rule:
    """Hold where the system, or the framework, sees a device, with or without a driver."""

    def judge(question: Question) -> Finding:
        found = question.facts.get("devices", question.accelerator)
        if isinstance(found, NotObserved):
            return _finding(question, Status.UNKNOWN, found.code, found.text)
        stated = NotObserved.read(found.get("list"))
        if stated is not None and not found.get("visible_to_system"):
            return _finding(question, Status.UNKNOWN, stated.code, stated.text)
        if found.get("list") or found.get("visible_to_system"):
            return Finding(Status.YES, question.facts.evidence)
        reasons = [Reason(Code.HARDWARE_MISSING, f"there is no {what} on this host")]
        package = _package_trouble(question)
        if package:
            reasons.append(package)
        return Finding(Status.NO, question.facts.evidence, tuple(reasons))

    return value_of(judge)


def _package_trouble(question: Question) -> Reason | None:
    """Say what is wrong with the package that is installed for hardware that is not seen.

    An installed package is no device: one that fails to load its driver's libraries is told.
    """
    known = question.facts.section("torch")
    if question.accelerator not in known.get("devices", {}):
        return None  # nothing on this host made anybody ask torch
    found = question.facts.section("torch", "devices", question.accelerator)
    if found.get("installed") and found.get("error"):
        code = Code.DRIVER_MISSING if found.get("imports") is False else Code.RUNTIME_FAILED
        return Reason(code, str(found["error"]))
    return None


def device_seen(what: str, hides: str, remedy: str) -> Rule:
    """Hold where this process sees a device; tell a card without a driver from a hidden one."""

    def judge(question: Question) -> Finding:
        found = question.facts.section("devices", question.accelerator)
        devices = found.get("list", [])
        stated = NotObserved.read(devices)
        if stated is not None:
            return _finding(question, Status.UNKNOWN, stated.code, stated.text)
        if any(device.get("visible") is not False for device in devices):
            names = ", ".join(str(device.get("name") or what) for device in devices)
            return _finding(question, Status.YES, Code.MET, f"there is {names}")
        if devices:
            hiding = _hiding(question, hides)
            text = f"{hiding} hides every device of this host"
            return _finding(question, Status.NO, Code.POLICY, text, f"unset {hiding.split('=')[0]}")
        places = ", ".join(card["pci"] for card in found.get("visible_to_system", ()))
        if question.facts.section("torch", "devices", question.accelerator).get("available"):
            return _finding(question, Status.YES, Code.MET, f"torch sees the {what} at {places}")
        text = f"the system shows {what} ({places}), and nothing that drives it answers"
        return _finding(question, Status.NO, Code.DRIVER_MISSING, text, remedy)

    return value_of(judge)


def torch_runs() -> Rule:
    """Hold where torch, tried in a child process, could use the devices."""

    def judge(question: Question) -> Finding:
        found = question.facts.get("torch", "devices", question.accelerator)
        if isinstance(found, NotObserved):
            return _finding(question, Status.UNKNOWN, found.code, found.text)
        if found.get("available") and not found.get("error"):
            text = "torch can use it"
            if found.get("imitates"):
                text += f"; {found['imitates']} is provided by its package"
            return _finding(question, Status.YES, Code.MET, text)
        missing = found.get("installed") is False
        code = Code.SOFTWARE_MISSING if missing else Code.RUNTIME_FAILED
        text = f"torch cannot use it: {found.get('error') or 'is_available() is false'}"
        return _finding(question, Status.NO, code, text, *without_autoload(text))

    return value_of(judge).where_recorded().source("torch, asked in a child process")


def _hiding(question: Question, hides: str) -> str:
    variables: Mapping[str, Any] = question.facts.section("limits", "visible_devices")
    for name in hides.split(", "):
        if name in variables:
            return f"{name}={variables[name]!r}"
    return hides


def _finding(question: Question, status: Status, code: Code, text: str, *remedies: str) -> Finding:
    evidence = Evidence.DETECTED if status is Status.UNKNOWN else question.facts.evidence
    return Finding(status, evidence, (Reason(code, text),), remedies)
