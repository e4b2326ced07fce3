"""The verdicts stand beside the vendors' published tables, and what differs is explained."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import vendor_tables

from accelcaps import Status
from accelcaps import features as F
from accelcaps.features import REGISTRY

ROWS = vendor_tables.compare()


@pytest.mark.parametrize("name", ROWS)
def test_no_verdict_differs_from_the_vendors_table_without_an_explanation(name):
    assert [str(row.feature) for row in ROWS[name] if row.outcome == "DIFFERS"] == []


def test_every_explanation_is_needed():
    data = json.loads((vendor_tables.HERE / "vendor_tables.json").read_text())
    explained = {
        (name, str(row.feature))
        for name, found in ROWS.items()
        for row in found
        if row.outcome == "explained"
    }
    stated = {
        (name, feature)
        for each in data["explained"]
        for name in each["profiles"]
        for feature in each["features"]
    }
    assert stated == explained


def test_every_name_in_the_tables_is_a_feature():
    data = json.loads((vendor_tables.HERE / "vendor_tables.json").read_text())
    for table in data["tables"].values():
        assert all(name in REGISTRY for name in [*table["rates"], *table["none"]])


def test_a_verdict_that_disagrees_is_seen():
    row = next(row for row in ROWS["nvidia-p100"] if row.feature == F.DTYPE_TF32)
    wrong = replace(row, verdict=replace(row.verdict, status=Status.YES))
    assert (row.outcome, wrong.outcome) == ("agrees", "DIFFERS")


def test_a_narrow_type_slower_than_a_quarter_of_fp16_is_no_hardware_speed():
    gb300 = next(row for row in ROWS["nvidia-gb300"] if row.feature == F.DTYPE_INT8)
    assert gb300.expected == (Status.DEGRADED,)
    assert gb300.verdict.status is Status.DEGRADED


def test_the_page_is_up_to_date():
    text = vendor_tables.PAGE.read_text(encoding="utf-8")
    assert vendor_tables.page(ROWS) == text, "run: python tools/vendor_tables.py"
