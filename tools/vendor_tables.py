"""Compare the profiles' verdicts with what vendors publish, row by row, and write the page.

``python tools/vendor_tables.py`` writes docs/vendor-tables.md, and fails where a verdict and a
published figure disagree and tools/vendor_tables.json does not explain it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["ACCELCAPS_PLUGINS"] = "none"

from accelcaps import Feature, Status, Verdict
from accelcaps.accelerators.registry import get_accelerator
from accelcaps.features import REGISTRY
from accelcaps.profiles import profile

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "vendor-tables.md"
_NARROW = ("int8", "int4", "fp8", "mxfp", "nvfp")


@dataclass(frozen=True, slots=True)
class Row:
    """One feature of one profile.

    Attributes:
        feature: the feature.
        published: what the vendor says, in words; empty where nothing is told.
        expected: the statuses that agree with it.
        verdict: ours.
        explanation: why both may stand, where they disagree.
    """

    feature: Feature
    published: str
    expected: tuple[Status, ...]
    verdict: Verdict
    explanation: str

    @property
    def outcome(self) -> str:
        """``not told``, ``agrees``, ``explained`` or ``DIFFERS``."""
        if not self.published:
            return "not told"
        if self.verdict.status in self.expected:
            return "agrees"
        return "explained" if self.explanation else "DIFFERS"


def compare() -> dict[str, list[Row]]:
    """Return the rows of every profile that has a table."""
    data = json.loads((HERE / "vendor_tables.json").read_text(encoding="utf-8"))
    features = [*REGISTRY.in_group("dtype"), *REGISTRY.in_group("compile")]
    return {name: [_row(data, name, each) for each in features] for name in data["tables"]}


def _row(data: Mapping[str, Any], name: str, feature: Feature) -> Row:
    found = profile(name)
    verdict = get_accelerator(found.accelerator, found.facts()).explain(feature)
    published, expected = _published(data, name, feature)
    explanation = next(
        (
            each["why"]
            for each in data["explained"]
            if feature in each["features"] and name in each["profiles"]
        ),
        "",
    )
    return Row(feature, published, expected, verdict, explanation)


def _published(data: Mapping[str, Any], name: str, feature: str) -> tuple[str, tuple[Status, ...]]:
    table, compiling = data["tables"][name], data["compiling"].get(feature, {})
    rate = table["rates"].get(feature)
    if rate is not None:
        return f"{rate:g}", (_expected(table["rates"], feature, rate),)
    if feature in table["none"]:
        return "none", (Status.NO, Status.DEGRADED)
    if name in compiling.get("yes", ()):
        return "supported", (Status.YES, Status.DEGRADED)
    if name in compiling.get("no", ()):
        return "not supported", (Status.NO,)
    return "", ()


def _expected(rates: Mapping[str, float], feature: str, rate: float) -> Status:
    """A type is at hardware speed where its rate is a quarter of a wider type's, or more."""
    wider = ["dtype.fp32"]
    if feature.removeprefix("dtype.").startswith(_NARROW):
        wider += ["dtype.fp16", "dtype.bf16"]
    slowest = max((rates[each] / 4 for each in wider if each in rates), default=0)
    return Status.YES if rate >= slowest else Status.DEGRADED


def page(rows: Mapping[str, list[Row]]) -> str:
    """Return docs/vendor-tables.md."""
    return "\n".join(_page(rows)) + "\n"


def _page(rows: Mapping[str, list[Row]]) -> Iterator[str]:
    data = json.loads((HERE / "vendor_tables.json").read_text(encoding="utf-8"))
    yield "# Verdicts beside the vendors' tables"
    yield ""
    yield "<!-- Written by tools/vendor_tables.py. Change the rules or the tables, and run it. -->"
    yield ""
    yield (
        "Rates are dense peaks in TFLOPS or TOPS, or a CPU core's operations per cycle. A figure "
        "agrees with `yes` where it is a quarter of fp32's or more (narrow types: of fp16's, too), "
        "and with `degraded` below; `none`, a type that the vendor's list does not have, agrees "
        "with `no` and `degraded`. Verdicts are of the hardware alone."
    )
    yield ""
    yield "| profile | agrees | explained | differs | not told |"
    yield "|---|---|---|---|---|"
    for name, found in rows.items():
        count = Counter(row.outcome for row in found)
        shown = (count[each] for each in ("agrees", "explained", "DIFFERS", "not told"))
        yield f"| `{name}` | {' | '.join(map(str, shown))} |"
    for name, found in rows.items():
        yield ""
        yield f"## {name}"
        yield ""
        yield f"{data['tables'][name]['document']}. {data['compiling']['document']}."
        yield ""
        yield "| feature | published | verdict | reason | |"
        yield "|---|---|---|---|---|"
        for row in found:
            if row.published:
                yield _line(row)
        untold = ", ".join(f"`{r.feature}` {r.verdict.status}" for r in found if not r.published)
        yield ""
        yield f"Not told by the vendor: {untold}."


def _line(row: Row) -> str:
    reason = next((r.text for r in reversed(row.verdict.reasons)), "").replace("|", "\\|")
    note = f"explained: {row.explanation}" if row.outcome == "explained" else row.outcome
    return f"| `{row.feature}` | {row.published} | {row.verdict.status} | {reason} | {note} |"


def main() -> int:
    """Write the page; return 1 where a difference is not explained."""
    rows = compare()
    PAGE.write_text(page(rows), encoding="utf-8")
    total = Counter(row.outcome for found in rows.values() for row in found)
    print(", ".join(f"{count} {outcome}" for outcome, count in total.most_common()))
    for name, found in rows.items():
        for row in found:
            if row.outcome == "DIFFERS":
                print(f"{name}: {_line(row)}")
    return int("DIFFERS" in total)


if __name__ == "__main__":
    sys.exit(main())
