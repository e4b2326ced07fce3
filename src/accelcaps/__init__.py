"""What an accelerator can really do, why not where it cannot, and what would change that.

>>> import accelcaps
>>> from accelcaps import features as F
>>> acc = accelcaps.get_accelerator("cpu")
>>> acc.supports(F.DEVICE_SYNCHRONOUS)
True

Importing this module imports no framework, starts no process and touches no device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelcaps._version import __version__

if TYPE_CHECKING:
    from accelcaps import features
    from accelcaps.accelerators.base import Accelerator
    from accelcaps.accelerators.registry import Candidate, Choice, get_accelerator, why
    from accelcaps.errors import (
        AccelcapsError,
        CircularRuleError,
        FactsFileError,
        FeatureRegistrationError,
        LimitNotKnownError,
        OverrideError,
        ProfileError,
        UnknownAcceleratorError,
        UnknownFeatureError,
        UnsupportedFeatureError,
        VerificationError,
    )
    from accelcaps.facts import DeviceSource, Facts, NotObserved
    from accelcaps.feature import Feature
    from accelcaps.reports.document import read_facts
    from accelcaps.verdict import Code, Evidence, Reason, Status, Verdict

__all__ = [
    "AccelcapsError",
    "Accelerator",
    "Candidate",
    "Choice",
    "CircularRuleError",
    "Code",
    "DeviceSource",
    "Evidence",
    "Facts",
    "FactsFileError",
    "Feature",
    "FeatureRegistrationError",
    "LimitNotKnownError",
    "NotObserved",
    "OverrideError",
    "ProfileError",
    "Reason",
    "Status",
    "UnknownAcceleratorError",
    "UnknownFeatureError",
    "UnsupportedFeatureError",
    "Verdict",
    "VerificationError",
    "__version__",
    "features",
    "get_accelerator",
    "read_facts",
    "why",
]

# Where each public name lives; imported when it is first used, so that importing costs nothing.
_HOME = {
    "Accelerator": "accelcaps.accelerators.base",
    "Candidate": "accelcaps.accelerators.registry",
    "Choice": "accelcaps.accelerators.registry",
    "get_accelerator": "accelcaps.accelerators.registry",
    "why": "accelcaps.accelerators.registry",
    "DeviceSource": "accelcaps.facts",
    "Facts": "accelcaps.facts",
    "NotObserved": "accelcaps.facts",
    "Feature": "accelcaps.feature",
    "read_facts": "accelcaps.reports.document",
    "Code": "accelcaps.verdict",
    "Evidence": "accelcaps.verdict",
    "Reason": "accelcaps.verdict",
    "Status": "accelcaps.verdict",
    "Verdict": "accelcaps.verdict",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if name == "features":
        return importlib.import_module("accelcaps.features")
    value = getattr(importlib.import_module(_HOME.get(name, "accelcaps.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
