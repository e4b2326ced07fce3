"""What rules are written with: references to facts, and combinators."""

from accelcaps.rules.base import (
    Question,
    Remedy,
    Rule,
    RuleLike,
    all_of,
    any_of,
    as_rule,
    degraded,
    no,
    unknown,
    value_of,
    yes,
)
from accelcaps.rules.finding import Finding, best, worst
from accelcaps.rules.references import Reference, device_fact, fact, version, version_of

__all__ = [
    "Finding",
    "Question",
    "Reference",
    "Remedy",
    "Rule",
    "RuleLike",
    "all_of",
    "any_of",
    "as_rule",
    "best",
    "degraded",
    "device_fact",
    "fact",
    "no",
    "unknown",
    "value_of",
    "version",
    "version_of",
    "worst",
    "yes",
]
