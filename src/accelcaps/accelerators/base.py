"""The abstract accelerator: a name, how its devices are seen, and a capability table.

A new question costs a row in a table, never a method here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from accelcaps.accelerators.packed import PACKED
from accelcaps.checks.evidence import verified
from accelcaps.checks.exercise import SECTION, Exercise
from accelcaps.errors import (
    AccelcapsError,
    CircularRuleError,
    LimitNotKnownError,
    UnknownFeatureError,
    UnsupportedFeatureError,
)
from accelcaps.facts.model import NotObserved
from accelcaps.feature import Feature
from accelcaps.features import REGISTRY
from accelcaps.ops.rules import OpRule, reflected_ops
from accelcaps.packages import PackageRule
from accelcaps.rules import Finding, Question, Rule, unknown, worst
from accelcaps.training import DERIVED
from accelcaps.verdict import Code, Evidence, Reason, Status, Value, Verdict

if TYPE_CHECKING:
    from accelcaps.accelerators.forced import Forced
    from accelcaps.facts import DeviceSource, Facts

__all__ = ["INTERFACE", "Accelerator", "Limits"]

INTERFACE = 1
"""What a vendor's accelerator states as ``interface``; raised when such a class must change."""
_SHARED: Mapping[Feature, Rule] = {**DERIVED, **PACKED}
"""What follows in the same way everywhere; an accelerator's own row goes before it."""


class Accelerator:
    """A family of devices with one software stack, asked about on the machine of some facts.

    A subclass gives ``name``, ``title``, ``seen_by`` and ``capabilities``; its devices are the
    facts ``devices.<name>.list``. A vendor's also states the ``interface`` it is built for.

    Attributes:
        name: the family's name, as in ``get_accelerator("cuda")``.
        title: the name for people.
        seen_by: how its devices are seen.
        capabilities: feature → rule.
        facts: what was observed on the machine in question.
        forced: feature name → the verdict that a user decided.
        limits: limit name → value.
        checks: feature → ``module:function`` that exercises it, for features of a vendor's own
            and where the shared check does not fit; see :mod:`accelcaps.checks.running.device`.
        simulated: whether other hardware computes for it, so that its speed tells nothing.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    capabilities: ClassVar[Mapping[Feature, Rule]] = {}
    checks: ClassVar[Mapping[str, str]] = {}
    simulated: ClassVar[bool] = False
    seen_by: ClassVar[DeviceSource]

    def __init__(self, facts: Facts, forced: Mapping[str, Forced] | None = None) -> None:
        self.facts = facts
        self.limits = Limits(self)
        self._verdicts: dict[str, Verdict] = {}
        self._supported: dict[str, bool] = {}
        self._asking: list[str] = []
        self._judging = threading.RLock()  # one thread at a time judges; rules ask each other
        self.forced = {self.feature(name): said for name, said in (forced or {}).items()}

    def __repr__(self) -> str:
        return f"<accelerator {self.name} of {self.facts.name}>"

    def supports(self, feature: str, degraded: bool = True) -> bool:
        """Return whether a feature works here; unknown counts as not.

        Args:
            feature: a constant of :mod:`accelcaps.features`, or its name.
            degraded: whether emulated, slow or limited is good enough.

        Raises:
            UnknownFeatureError: when no feature has that name.
        """
        if degraded:
            try:
                return self._supported[feature]
            except KeyError:
                pass
        return self.explain(feature).supported(degraded=degraded)

    def explain(self, feature: str) -> Verdict:
        """Return the verdict on a feature, with all reasons and remedies.

        Raises:
            UnknownFeatureError: when no feature has that name.
        """
        known = self._verdicts.get(feature)
        if known is not None:
            return known
        named = self.feature(feature)
        with self._judging:
            verdict = self._verdicts.get(named) or self._judge(named)
        # The constant itself is the key, so that asking with it finds it by identity.
        for name in dict.fromkeys((named, feature)):
            self._verdicts[name] = verdict
            self._supported[name] = verdict.supported()
        return verdict

    def require(self, *features: str) -> None:
        """Do nothing where every feature works here, degraded or not.

        Raises:
            UnsupportedFeatureError: with the verdict of each that does not.
            UnknownFeatureError: when no feature has that name.
        """
        verdicts = [self.explain(feature) for feature in features]
        missing = [verdict for verdict in verdicts if not verdict.supported()]
        if missing:
            raise UnsupportedFeatureError(self.name, missing)

    def best_of(self, *features: str) -> Feature:
        """Return the first feature that is not degraded, else the first that works.

        Raises:
            UnsupportedFeatureError: when none works.
            UnknownFeatureError: when no feature has that name.
        """
        verdicts = [self.explain(feature) for feature in features]
        for degraded in (False, True):
            for verdict in verdicts:
                if verdict.supported(degraded=degraded):
                    return self.feature(verdict.feature)
        raise UnsupportedFeatureError(self.name, verdicts)

    def features(self, pattern: str = "*") -> dict[Feature, Verdict]:
        """Return the verdicts of a group, such as ``op.*``.

        ``op.*`` contains, besides the vocabulary's names, every op that the installed DeepSpeed
        offers here.

        Raises:
            UnknownFeatureError: when no feature matches.
        """
        found = REGISTRY.in_group(pattern)
        if any(feature.group == "op" for feature in found):
            present = set(found)
            reflected = (self.feature(name) for name in reflected_ops(self.facts, self.name))
            prefix = pattern.removesuffix("*")
            found += [op for op in reflected if op not in present and op.startswith(prefix)]
        return {feature: self.explain(feature) for feature in found}

    def matching(self, patterns: Iterable[str]) -> list[Feature]:
        """Return the features of names and of groups (``dtype``, ``op.*``, ``*``), each once.

        Raises:
            UnknownFeatureError: when nothing has that name.
        """
        found: dict[Feature, None] = {}
        for pattern in patterns:
            if pattern == "*" or pattern.endswith(".*") or pattern in REGISTRY.groups():
                found.update(dict.fromkeys(self.features(pattern)))
            else:
                found[self.feature(pattern)] = None
        return list(found)

    def verify(self, feature: str, *, deadline: float | None = None) -> Verdict:
        """Exercise a feature on the device, now, and return the verdict that stands after it.

        From then on :meth:`explain` and what rests on the feature answer with it. A feature that
        has no check, or cannot be tried here, keeps its verdict.

        Args:
            feature: a constant of :mod:`accelcaps.features`, or its name.
            deadline: seconds that it may take; each check has its own where not given.

        Raises:
            UnknownFeatureError: when no feature has that name.
            VerificationError: when these are the facts of another machine.
        """
        from accelcaps.checks.runner import exercise

        named = self.feature(feature)
        self.record(exercise(self, [named], deadline=deadline).values())
        return self.explain(named)

    def record(self, exercises: Iterable[Exercise]) -> None:
        """Take what happened when features were exercised; verdicts are judged again with it."""
        with self._judging:
            for done in exercises:
                self.facts.record((SECTION, self.name, done.feature), done.to_json())
            self._verdicts.clear()
            self._supported.clear()

    def exercised(self, feature: str) -> Exercise | None:
        """Return what happened when a feature was exercised; ``None`` where it was not."""
        known = self.facts.get(SECTION, self.name, feature)
        return Exercise.from_json(feature, known) if isinstance(known, Mapping) else None

    def claim(self, feature: str) -> Verdict:
        """Return the verdict that the rules give, whether the feature was exercised or not."""
        with self._judging:
            return self._claim(self.feature(feature))

    def devices(self) -> list[Mapping[str, Any]] | NotObserved:
        """Return the facts of the devices that this process may see."""
        listed = self.facts.get("devices", self.name, "list")
        if isinstance(listed, NotObserved):
            return listed
        return [device for device in listed or [] if device.get("visible") is not False]

    def feature(self, name: str) -> Feature:
        """Return the feature called ``name``, an op of the installed DeepSpeed included.

        Raises:
            UnknownFeatureError: when no feature has that name.
        """
        if not isinstance(name, str):
            raise UnknownFeatureError(repr(name))
        if not name.startswith("op.") or name in REGISTRY:
            return REGISTRY.get(name)
        builders = self.facts.get("ops", self.name, "builders")
        if isinstance(builders, NotObserved) and not REGISTRY.nearest(name):
            return Feature(name, name, "an op that may be offered here")  # cannot be told
        return REGISTRY.get(name, also=reflected_ops(self.facts, self.name))

    def _rule(self, feature: Feature) -> Rule:
        rule = self.capabilities.get(feature) or _SHARED.get(feature)
        if rule is not None:
            return rule
        if feature.group == "op":
            return OpRule(feature.removeprefix("op."))
        if feature.group == "pkg":
            return PackageRule(feature.removeprefix("pkg."))
        text = f"the table of {self.name} says nothing of {feature}"
        return unknown(Code.NOT_DOCUMENTED, text).source(f"the table of {self.name}")

    def _judge(self, feature: Feature) -> Verdict:
        if feature in self._asking:
            raise CircularRuleError([*self._asking, feature])
        if feature in self.forced:
            return self.forced[feature].finding(feature).verdict(feature)
        claim, done = self._claim(feature), self.exercised(feature)
        return verified(claim, done) if done is not None else claim

    def _claim(self, feature: Feature) -> Verdict:
        self._asking.append(feature)
        try:
            rule = self._rule(feature)
            finding = self._per_device(rule) if rule.looks_at_device else self._find(rule, None)
        except AccelcapsError:
            raise
        except Exception as error:  # somebody's rule must not take the caller down
            text = f"the rule raised {type(error).__name__}: {error}"
            finding = Finding(
                Status.UNKNOWN, self.facts.evidence, (Reason(Code.PROBE_CRASHED, text),)
            )
        finally:
            self._asking.pop()
        if self.facts.evidence is Evidence.DECLARED:  # nobody looked, so nothing was detected
            finding = replace(finding, evidence=Evidence.DECLARED)
        return finding.verdict(feature)

    def _find(self, rule: Rule, device: Mapping[str, Any] | None) -> Finding:
        return rule.judge(Question(self.facts, self, self.name, device))

    def _per_device(self, rule: Rule) -> Finding:
        """Judge the rule for each device; the weakest decides, and is named where they differ."""
        devices = self.devices()
        if isinstance(devices, NotObserved) or not devices:
            return self._find(rule, None)
        findings = [self._find(rule, device) for device in devices]
        if len({(finding.status, finding.reasons) for finding in findings}) == 1:
            return findings[0]
        shared = set.intersection(*(set(finding.reasons) for finding in findings))
        named = [
            finding if finding.status is Status.YES else _of_device(finding, device, shared)
            for finding, device in zip(findings, devices, strict=True)
        ]
        found = worst(named)
        able = [
            str(device.get("uuid"))
            for finding, device in zip(findings, devices, strict=True)
            if finding.status is Status.YES and device.get("uuid")
        ]
        if able and found.status in (Status.NO, Status.DEGRADED) and self.seen_by.by_uuid:
            remedy = f"set {self.seen_by.by_uuid}={','.join(able)} to use those devices alone"
            found = replace(found, remedies=(*found.remedies, remedy))
        return found


class Limits(Mapping[str, Value]):
    """The limits of an accelerator that are known, by name: ``limits["limit.memory_bytes"]``."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator

    def __getitem__(self, name: str) -> Value:
        verdict = self._accelerator.explain(name)
        if verdict.value is None:
            raise LimitNotKnownError(name, verdict.reasons)
        return verdict.value

    def __iter__(self) -> Iterator[str]:
        return (name for name in REGISTRY.in_group("limit") if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._accelerator.explain(name).value is not None


def _of_device(finding: Finding, device: Mapping[str, Any], shared: set[Reason]) -> Finding:
    """Say of which device the reasons are that are not those of every device."""
    own = finding.with_prefix(_device_name(device)).reasons
    reasons = (
        reason if reason in shared else named
        for reason, named in zip(finding.reasons, own, strict=True)
    )
    return replace(finding, reasons=tuple(reasons))


def _device_name(device: Mapping[str, Any]) -> str:
    key = device.get("uuid") or device.get("pci") or "unnamed"
    return f"{device.get('name') or 'device'} ({key})"
