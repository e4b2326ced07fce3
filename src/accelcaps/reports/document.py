"""The report document: what was observed on a machine and what follows, as JSON.

A report is the answer for one accelerator together with the facts it rests on, so that any later
version can answer again from the facts. :func:`read_facts` takes a whole report, or a document
with ``schema_version`` and ``facts`` alone.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelcaps.errors import FactsFileError
from accelcaps.facts import Facts
from accelcaps.verdict import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accelcaps.accelerators.base import Accelerator
    from accelcaps.accelerators.registry import Choice

__all__ = ["SCHEMA_VERSION", "read_facts", "report_document", "schema"]

SCHEMA_VERSION = 1


def report_document(accelerator: Accelerator, choice: Choice) -> dict[str, Any]:
    """Return the report of an accelerator: every verdict, and the facts they rest on.

    Returns:
        ``schema_version``, ``accelcaps`` (the version that wrote it), ``accelerator``,
        ``choice``, ``devices``, ``forced`` (name → the status that somebody decided, and who),
        ``verdicts`` (name → verdict) and ``facts``.
    """
    from accelcaps._version import __version__
    from accelcaps.facts.model import NotObserved

    accelerator.facts.collect_all(accelerator.name)
    verdicts = {str(name): verdict.to_json() for name, verdict in accelerator.features().items()}
    devices = accelerator.devices()
    return {
        "schema_version": SCHEMA_VERSION,
        "accelcaps": __version__,
        "accelerator": accelerator.name,
        "choice": choice.to_json(),
        "devices": devices.to_json() if isinstance(devices, NotObserved) else list(devices),
        "forced": {
            str(name): {"status": said.status.value, "by": said.by}
            for name, said in accelerator.forced.items()
        },
        "verdicts": verdicts,
        "facts": accelerator.facts.to_json(),
    }


def read_facts(path: str | Path) -> Facts:
    """Read the facts of a report or facts file.

    Raises:
        FactsFileError: one line that says which file, where in it, and what is wrong.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except OSError as error:
        raise FactsFileError(f"{place}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FactsFileError(f"{place}: is not UTF-8 text: {error.reason}") from error
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise FactsFileError(
            f"{place}:{error.lineno}:{error.colno}: is not JSON: {error.msg}"
        ) from error
    except ValueError as error:  # a number of thousands of digits
        raise FactsFileError(f"{place}: is not usable JSON: {error}") from error
    except RecursionError as error:
        raise FactsFileError(f"{place}: is nested too deeply to be a facts file") from error
    return facts_of(document, str(place))


def facts_of(document: Any, name: str) -> Facts:
    """Return the facts of a document read from ``name``; see :func:`read_facts`."""
    if not isinstance(document, dict):
        raise FactsFileError(f"{name}: is not a facts document: it is not a JSON object")
    written = document.get("schema_version")
    if not isinstance(written, int) or isinstance(written, bool):
        raise FactsFileError(f"{name}: schema_version: a whole number is needed, found {written!r}")
    if written > SCHEMA_VERSION:
        raise FactsFileError(
            f"{name}: schema_version is {written}, and this accelcaps reads up to "
            f"{SCHEMA_VERSION}: install a newer accelcaps"
        )
    _validate(document, name)
    return Facts(document["facts"], name=Path(name).name)


def schema() -> dict[str, Any]:
    """Return the JSON schema of report and facts documents."""
    text = resources.files("accelcaps.reports").joinpath("report.schema.json").read_text()
    found: dict[str, Any] = json.loads(text)
    found["definitions"]["code"]["enum"] = [code.value for code in Code]
    return found


def _validate(document: Mapping[str, Any], name: str) -> None:
    import fastjsonschema

    try:
        _validator()(document)
    except fastjsonschema.JsonSchemaValueException as error:
        where = error.name.removeprefix("data.")
        what = error.message.removeprefix(error.name).removeprefix("data").strip()
        raise FactsFileError(f"{name}: {where}: {what}, found {_shown(error.value)}") from error


@lru_cache(maxsize=1)
def _validator() -> Callable[[Any], Any]:
    import fastjsonschema

    validate: Callable[[Any], Any] = fastjsonschema.compile(schema(), use_default=False)
    return validate


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
