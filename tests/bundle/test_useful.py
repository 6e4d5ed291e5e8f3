"""What the noise hides is hollow or hatched in the card's pictures, and the rule in words says from how many rows on."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from synthrelease.bundle.card.sections import Useful
from synthrelease.bundle.pictures import distribution, heat_map
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.published.document import read_strictly
from synthrelease.published.table import ReleasedTable
from tests.helpers.tiny import write_measured_release


def _table() -> ReleasedTable:
    """1,000 rows with a = 0, 30 with a = 1; b is even in the first group."""
    cells = np.repeat([0, 1, 2, 3], [500, 500, 25, 5])
    layout = Layout(columns=("a", "b"), sizes=(2, 2))
    return ReleasedTable(labels=(("x", "y"), ("p", "q")), ordered=(False, False), counts=Counts(layout, cells))


def _blue(text: str) -> int:
    return len(re.findall(r'<rect [^>]*fill="#2f5f9a"', text))


def test_a_bar_that_may_be_off_by_half_of_itself_is_hollow() -> None:
    assert _blue(distribution(_table(), 0, None)) == 2
    assert _blue(distribution(_table(), 0, None, Useful(errors={"a": 14}))) == 2
    hollow = distribution(_table(), 0, None, Useful(errors={"a": 16}))
    assert _blue(hollow) == 1
    assert 'stroke="#2f5f9a"' in hollow


def test_a_group_of_too_few_rows_is_hatched_and_has_no_colour() -> None:
    plain = heat_map(_table(), 0, 1)
    told = heat_map(_table(), 0, 1, Useful(errors={"a:b": 1}, together=[["a", "b"]]))
    hatched = heat_map(_table(), 0, 1, Useful(errors={"a:b": 2}, together=[["a", "b"]]))
    assert told == plain
    assert hatched.count("<rect") == plain.count("<rect") - 2
    assert hatched.count("<line") > plain.count("<line")


def test_columns_that_were_not_measured_together_have_no_colour_unless_a_criterion_speaks_of_all_pairs() -> None:
    apart = Useful(errors={"a": 1, "b": 1}, together=[["a"], ["b"]])
    assert heat_map(_table(), 0, 1, apart).count("<rect") == heat_map(_table(), 0, 1).count("<rect") - 4
    assert Useful(errors={"a": 1}, together=[["a"], ["b"]], of_any_pair=3).least_group("a", "b") == pytest.approx(60)
    assert Useful(errors={"a": 1}, together=[["a", "b"]]).least_group("a", "b") is None


def test_the_rule_names_the_rows_of_the_usual_and_of_the_noisiest_pair() -> None:
    rule = Useful(errors={"a": 5, "a:b": 10, "a:c": 11, "b:c": 101}).rule
    assert rule.startswith(
        "In groups of fewer than 220 rows, use estimates, not the rows (fewer than 2,100 for the pair of columns with"
    )


def test_the_card_and_the_sheet_have_the_rule_and_say_where_the_program_is(tmp_path: Path) -> None:
    folder = write_measured_release(tmp_path, tmp_path / "bundle")
    document = read_strictly((folder / "release.json").read_bytes())
    assert document.estimates is not None
    assert set(document.estimates.errors) == {"face", "year", "face:year"}
    useful = Useful.of(document)
    assert useful is not None
    for name in ("README.html", "README.md", "QUESTIONS.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert useful.rule in text, name
        assert f"synthrelease {document.written_by}" in text, name
        assert "ultiply standard errors" not in text
