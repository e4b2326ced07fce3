"""``pkg.*``: an installed distribution that a child process can import."""

from __future__ import annotations

from dataclasses import dataclass

from accelcaps.facts.model import NotObserved
from accelcaps.facts.packages import normalised
from accelcaps.rules import Finding, Question, Rule
from accelcaps.verdict import Code, Evidence, Reason, Status

__all__ = ["PackageRule"]

_SOURCE = "the installed distribution's metadata, and an import in a child process"


@dataclass(frozen=True)
class PackageRule(Rule):
    """Installed is not enough: the import must succeed."""

    name: str

    def judge(self, question: Question) -> Finding:
        """Judge the distribution from ``packages`` and ``imports.<name>``."""
        evidence = question.facts.evidence
        name = normalised(self.name)
        version = question.facts.get("packages", name)
        if isinstance(version, NotObserved):
            return Finding(Status.UNKNOWN, Evidence.DETECTED, (version.reason(),))
        if version is None:
            reason = Reason(Code.SOFTWARE_MISSING, f"{self.name} is not installed")
            return Finding(
                Status.NO, evidence, (reason,), (f"pip install {self.name}",), (_SOURCE,)
            )
        imported = question.facts.get("imports", name)
        if isinstance(imported, NotObserved):
            reason = imported.reason()
            return Finding(Status.UNKNOWN, evidence, (reason,), (), (_SOURCE,), (), str(version))
        if not imported.get("imported"):
            text = f"{self.name} {version} is installed and cannot be imported: {imported['error']}"
            reason = Reason(Code.SOFTWARE_MISSING, text)
            return Finding(Status.NO, evidence, (reason,), (), (_SOURCE,), (), str(version))
        reason = Reason(Code.MET, f"{self.name} {version} imports")
        return Finding(Status.YES, evidence, (reason,), (), (_SOURCE,), (), str(version))
