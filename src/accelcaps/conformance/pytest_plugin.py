"""Each criterion of the conformance kit as a test.

In a vendor's own test run::

    pytest -p accelcaps.conformance.pytest_plugin --accelcaps-conformance quoll
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from accelcaps.accelerators.registry import get_accelerator, plugins
from accelcaps.conformance.kit import Conformance, Kit, wanted
from accelcaps.conformance.result import CRITERIA, Mark

if TYPE_CHECKING:
    from accelcaps.conformance.result import Result

__all__ = ["pytest_addoption", "pytest_collection_modifyitems"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("accelcaps")
    group.addoption(
        "--accelcaps-conformance", metavar="NAME", help="test that this accelerator conforms"
    )
    group.addoption(
        "--accelcaps-claims", default="", metavar="A,B,C",
        help="try the claims of these features or groups only",
    )  # fmt: skip
    group.addoption(
        "--accelcaps-builds", action="store_true", help="build and run its ops too; takes minutes"
    )
    group.addoption(
        "--accelcaps-deadline", type=float, metavar="SECONDS", help="for one feature, at most"
    )


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each criterion, and one for each claim that can be tried."""
    name = config.getoption("--accelcaps-conformance")
    if not name:
        return
    builds = config.getoption("--accelcaps-builds")
    only = [each.strip() for each in config.getoption("--accelcaps-claims").split(",")]
    only = [each for each in only if each]
    deadline = config.getoption("--accelcaps-deadline")
    run = _Run(Kit(name, only, deadline=deadline, builds=builds))
    troubled = any(plugin.name == name and plugin.trouble for plugin in plugins())
    features = [] if troubled else wanted(get_accelerator(name), only, builds=builds)
    for criterion in CRITERIA:
        subjects = [str(f) for f in features] if criterion == "claim" else [""]
        for subject in subjects:
            called = f"{name}[{criterion}{f': {subject}' if subject else ''}]"
            item: Any = Criterion.from_parent(session, name=called)
            item.watch(run, criterion, subject)
            items.append(item)


class _Run:
    """The kit's findings, made when the first test asks for them."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._found: Conformance | None = None

    def about(self, criterion: str, subject: str) -> list[Result]:
        """Return what was found of a criterion; of a subject, where one is named."""
        if self._found is None:
            self._found = self._kit.run()
        if self._found.interrupted:
            raise KeyboardInterrupt
        return [
            each
            for each in self._found.results
            if each.criterion == criterion and subject in ("", each.subject)
        ]


class ConformanceError(Exception):
    """A criterion that is not met."""


class Criterion(pytest.Item):
    """One criterion, or one claim, as a test."""

    def watch(self, run: _Run, criterion: str, subject: str) -> None:
        """Say what it is about."""
        self._run, self._criterion, self._subject = run, criterion, subject

    def runtest(self) -> None:
        """Fail where the kit found a failure; skip where it could not be tried."""
        found = self._run.about(self._criterion, self._subject)
        failed = [each for each in found if each.mark is Mark.FAILED]
        if failed:
            raise ConformanceError("\n".join(map(str, failed)))
        left = [each for each in found if each.mark is Mark.LEFT]
        if left or not found:
            pytest.skip(left[0].text if left else "it could not be tried")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show the finding alone: the traceback would be of this plugin."""
        if isinstance(excinfo.value, ConformanceError):
            return f"{CRITERIA[self._criterion]}:\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """Return where the test is: nowhere but in the kit."""
        return "accelcaps conformance", None, self.name
