"""The pages that are generated from the rules say what the rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

import docs

PAGES = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    ("name", "page"), [("features.md", docs.features_page), ("matrix.md", docs.matrix_page)]
)
def test_a_page_is_up_to_date(name, page):
    assert page() == (PAGES / name).read_text(encoding="utf-8"), "run: python tools/docs.py"
