"""The answer for one feature: status, evidence, reasons, remedies, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Code", "Evidence", "Reason", "Status", "Value", "Verdict"]

Value: TypeAlias = "str | int | float | None"


class Status(str, Enum):
    """How well a feature works here."""

    YES = "yes"
    """Works at hardware speed."""
    DEGRADED = "degraded"
    """Works, but emulated, slow or limited; the reason says which."""
    NO = "no"
    """Does not work here."""
    UNKNOWN = "unknown"
    """Cannot be decided here; the reason says why. Never reported as no."""

    def __str__(self) -> str:
        return self.value


class Evidence(str, Enum):
    """What a verdict rests on, weakest first."""

    DECLARED = "declared"
    """Documentation, or the vendor's word."""
    DETECTED = "detected"
    """Read from the system."""
    VERIFIED = "verified"
    """Exercised on the device, and the result compared with a reference."""

    def __str__(self) -> str:
        return self.value

    @property
    def strength(self) -> int:
        """0 for the weakest kind of evidence, 2 for the strongest."""
        return list(Evidence).index(self)


class Code(str, Enum):
    """Why a verdict is what it is: a closed set, stable across versions."""

    MET = "met"
    """A requirement that is met; what a yes rests on."""
    NOTE = "note"
    """Worth knowing, and no obstacle."""
    HARDWARE_MISSING = "hardware.missing"
    HARDWARE_TOO_OLD = "hardware.too_old"
    HARDWARE_UNSUPPORTED = "hardware.unsupported"
    DRIVER_MISSING = "driver.missing"
    DRIVER_TOO_OLD = "driver.too_old"
    SOFTWARE_MISSING = "software.missing"
    SOFTWARE_VERSION = "software.version"
    SOFTWARE_BUILD = "software.build"
    """Installed, but built without what is needed."""
    TOOLCHAIN_MISSING = "toolchain.missing"
    TOOLCHAIN_BROKEN = "toolchain.broken"
    TOOLCHAIN_MISMATCH = "toolchain.mismatch"
    BUILD_ARCH_MISSING = "build.arch_missing"
    BUILD_STALE = "build.stale"
    """A cached binary that belongs to another framework or another processor."""
    BUILDER_REFUSED = "builder.refused"
    """An op's own builder says no."""
    LIBRARY_MISSING = "library.missing"
    LIBRARY_VERSION = "library.version"
    RUNTIME_FAILED = "runtime.failed"
    """All is there, and it fails when it is used."""
    RESULT_WRONG = "result.wrong"
    """It runs, and gives something else than the reference."""
    RESOURCE_LIMIT = "resource.limit"
    POLICY = "policy"
    """Software refuses what the hardware could do, or a setting hides it."""
    NOT_IMPLEMENTED = "not_implemented"
    EMULATED = "emulated"
    SLOW = "slow"
    LIMITED = "limited"
    FORCED = "forced"
    """A user decided it."""
    NOT_DOCUMENTED = "not_documented"
    """The vendor's documents and source do not tell."""
    NOT_OBSERVED = "not_observed"
    NOT_RECORDED = "not_recorded"
    """The facts file does not have it."""
    PROBE_CRASHED = "probe.crashed"
    PROBE_TIMEOUT = "probe.timeout"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: a stable ``code`` and a sentence naming what was found and what is needed."""

    code: Code
    text: str

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, str]:
        """Return ``{"code": …, "text": …}``."""
        return {"code": self.code.value, "text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, str]) -> Reason:
        """Read what :meth:`to_json` wrote."""
        return cls(Code(data["code"]), data["text"])


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about one feature on one accelerator.

    Attributes:
        feature: the feature's name.
        status: yes, degraded, no or unknown.
        evidence: the weakest evidence among what decided it.
        reasons: every reason, those that decided first. A yes lists the requirements it meets.
        remedies: what a person can do about it, here.
        source: where the rule comes from (a document, a source file and version).
        because: the verdicts of other features that it rests on.
        value: the value of a limit or of a named thing such as ``comm.backend``; else ``None``.
        claimed: what the rules said before the feature was exercised; ``None`` where it was not.
    """

    feature: str
    status: Status
    evidence: Evidence
    reasons: tuple[Reason, ...] = ()
    remedies: tuple[str, ...] = ()
    source: str | None = None
    because: tuple[Verdict, ...] = ()
    value: Value = None
    claimed: Status | None = None

    def __str__(self) -> str:
        shown = f" = {self.value}" if self.value is not None else ""
        line = f"{self.feature}: {self.status}{shown} ({self.evidence})"
        if self.reasons:
            line += f": {'; '.join(reason.text for reason in self.reasons)}"
        if self.remedies:
            line += f" → {' · '.join(self.remedies)}"
        return " ".join(line.split())

    def supported(self, *, degraded: bool = True) -> bool:
        """Return whether it works: yes, or (unless ``degraded=False``) degraded."""
        return self.status is Status.YES or (degraded and self.status is Status.DEGRADED)

    @property
    def disagrees(self) -> bool:
        """Whether exercising the feature showed that its claim was wrong."""
        if self.evidence is not Evidence.VERIFIED or self.claimed in (None, Status.UNKNOWN):
            return False
        return self.claimed is not self.status

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON-serialisable data; ``value``, ``claimed`` where there are."""
        data: dict[str, Any] = {
            "feature": str(self.feature),
            "status": self.status.value,
            "evidence": self.evidence.value,
            "reasons": [reason.to_json() for reason in self.reasons],
            "remedies": list(self.remedies),
            "source": self.source,
            "because": [verdict.to_json() for verdict in self.because],
        }
        if self.value is not None:
            data["value"] = self.value
        if self.claimed is not None:
            data["claimed"] = self.claimed.value
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Read what :meth:`to_json` wrote.

        Raises:
            KeyError, ValueError: when a key is missing or a word is not one of the vocabulary's.
        """
        return cls(
            feature=data["feature"],
            status=Status(data["status"]),
            evidence=Evidence(data["evidence"]),
            reasons=tuple(Reason.from_json(reason) for reason in data["reasons"]),
            remedies=tuple(data["remedies"]),
            source=data["source"],
            because=tuple(cls.from_json(verdict) for verdict in data["because"]),
            value=data.get("value"),
            claimed=Status(data["claimed"]) if data.get("claimed") is not None else None,
        )
