"""Facts files that are malformed, or written by a later version."""

from __future__ import annotations

import pytest

from accelcaps import Code, Facts, FactsFileError, NotObserved
from accelcaps.cli import main
from accelcaps.reports.document import facts_of


class TestHostileFiles:
    def test_a_code_of_a_later_version_is_read(self):
        later = {"not_observed": {"code": "brand.new", "text": "reason"}}
        facts = Facts({"ops": {"cpu": later}}, name="x")

        assert facts.get("ops", "cpu") == NotObserved(Code.NOT_OBSERVED, "reason")

    @pytest.mark.parametrize("stated", [3, "x", {}, {"text": 3}, None])
    def test_a_malformed_statement_does_not_raise(self, stated):
        assert NotObserved.read({"not_observed": stated}) is not None

    def test_a_number_of_thousands_of_digits_is_one_line(self, tmp_path, capsys):
        place = tmp_path / "f.json"
        place.write_text('{"schema_version": 1, "facts": {"x": ' + "9" * 5000 + "}}")

        assert main(["why", "--facts", str(place)]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1

    @pytest.mark.parametrize(
        "facts",
        [
            {"torch": {"devices": {"cuda": {"list": [1]}}}},
            {"ops": {"cpu": {"builders": {"x": {"said": 5}}}}},
            {"ops": {"cpu": {"builders": {"x": {"languages": ["cobol"]}}}}},
            {"ops": {"cpu": {"builders": {"x": {"cached": {"fresh": True}}}}}},
            {"devices": {"cuda": {"visible_to_system": [{}]}}},
            {"exercised": {"cpu": {"dtype.bf16": {"outcome": "splendid"}}}},
            {"exercised": {"cpu": {"dtype.bf16": {}}}},
            {"exercised": {"cpu": {"dtype.bf16": {"outcome": "worked", "seconds": "long"}}}},
            {
                "exercised": {
                    "cpu": {"dtype.bf16": {"outcome": "worked", "measured": {"error": "x"}}}
                }
            },
            {"exercised": {"cpu": "all of it"}},
        ],
    )
    def test_wrong_types_anywhere_that_rules_look_are_found_on_reading(self, facts):
        with pytest.raises(FactsFileError, match="facts"):
            facts_of({"schema_version": 1, "facts": facts}, "x.json")
