"""Every error accelcaps raises, in one small tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accelcaps.verdict import Reason, Verdict

__all__ = [
    "AccelcapsError",
    "CircularRuleError",
    "FactsFileError",
    "FeatureRegistrationError",
    "LimitNotKnownError",
    "OverrideError",
    "ProfileError",
    "UnknownAcceleratorError",
    "UnknownFeatureError",
    "UnsupportedFeatureError",
    "VerificationError",
]


class AccelcapsError(Exception):
    """Anything accelcaps raises on purpose."""


class UnknownFeatureError(AccelcapsError, KeyError):
    """A feature name that does not exist; carries the nearest names that do."""

    def __init__(self, name: str, nearest: Sequence[str] = ()) -> None:
        self.name = name
        self.nearest = tuple(nearest)
        hint = f"; did you mean {', '.join(nearest)}?" if nearest else ""
        super().__init__(f"no feature is called {name!r}{hint}")

    def __str__(self) -> str:
        return str(self.args[0])


class FeatureRegistrationError(AccelcapsError, ValueError):
    """A feature name that cannot be registered: malformed, or taken (the message says by whom)."""


class UnknownAcceleratorError(AccelcapsError, ValueError):
    """An accelerator name that does not exist; the message lists the right ones."""

    def __init__(
        self, name: str, known: Iterable[str], asked_by: str = "", trouble: str = ""
    ) -> None:
        self.name = name
        self.known = tuple(known)
        origin = f"{asked_by}: " if asked_by else ""
        failed = f"; its package could not be loaded: {trouble}" if trouble else ""
        super().__init__(
            f"{origin}no accelerator is called {name!r}; known are {', '.join(self.known)}{failed}"
        )


class UnsupportedFeatureError(AccelcapsError, RuntimeError):
    """Raised by ``require``; ``missing`` holds the verdict of every feature that is not there."""

    def __init__(self, accelerator: str, missing: Sequence[Verdict]) -> None:
        self.accelerator = accelerator
        self.missing = tuple(missing)
        lines = "\n".join(f"  {verdict}" for verdict in missing)
        count = "1 required feature is" if len(missing) == 1 else f"{len(missing)} features are"
        super().__init__(f"{count} not available on {accelerator}:\n{lines}")


class LimitNotKnownError(AccelcapsError, KeyError):
    """A limit whose value could not be observed; ``reasons`` say why."""

    def __init__(self, name: str, reasons: Sequence[Reason]) -> None:
        self.name = name
        self.reasons = tuple(reasons)
        why = "; ".join(reason.text for reason in reasons) or "no value was observed"
        super().__init__(f"{name} is not known: {why}")

    def __str__(self) -> str:
        return str(self.args[0])


class FactsFileError(AccelcapsError, ValueError):
    """A facts or report file that cannot be used; one line: which file, where in it, and why."""


class OverrideError(AccelcapsError, ValueError):
    """A forced verdict that cannot be understood; the message says which and why."""


class ProfileError(AccelcapsError, ValueError):
    """A profile or a software stack that does not exist or cannot be used."""


class CircularRuleError(AccelcapsError, RuntimeError):
    """Rules that rest on each other in a circle; a fault in a capability table."""

    def __init__(self, chain: Sequence[str]) -> None:
        self.chain = tuple(chain)
        super().__init__(f"rules rest on each other in a circle: {' → '.join(chain)}")


class VerificationError(AccelcapsError, RuntimeError):
    """Features cannot be exercised: of another machine, or of one that is only described."""
