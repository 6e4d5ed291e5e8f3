"""What the rules demand to be missing is no gap: against every way to fill in a row, on tiny tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.donors import Gaps, completed, gaps_of_cells
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.rules import Domain, parse_rule
from synthrelease.data.schema import Schema
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column

VALUES = ("x", "y")
NAMES = ("a", "b", "c")
COMPARISONS = [f"{name} {rest}" for name in NAMES for rest in ("== 'x'", "== 'y'", "is missing", "is not missing")]
RULES = st.lists(st.lists(st.sampled_from(COMPARISONS), min_size=1, max_size=3).map(" and ".join), min_size=1, max_size=5)


def world(rules: Sequence[str], *, apart: bool) -> tuple[Counts, Plausibility]:
    """All rows of three columns of two values and a gap that the rules allow."""
    parsed = [
        parse_rule(text, {name: Domain(kind="category", categories=VALUES, missing=True) for name in NAMES}) for text in rules
    ]
    table = ColumnTable(kind="category", categories=list(VALUES), missing="bin")
    schema = Schema(columns=tuple(build_column(name, table, InputTable(), parsed, None) for name in NAMES))
    plausibility = Plausibility.from_rules(parsed, schema.columns, schema.layout, apart=apart)
    rows = np.array(list(product(range(3), repeat=3)))
    return plausibility.filter(Counts.of(schema.layout, list(rows.T))), plausibility


def fillable(table: Counts) -> np.ndarray:
    """(n_cells, 3) whether some allowed row has the observed values of this one and a value in this gap."""
    rows = np.column_stack(table.bins)
    found = np.zeros(rows.shape, dtype=bool)
    for cell, row in enumerate(rows):
        alike = rows[((rows == row) | (row == 2)).all(axis=1)]
        found[cell] = (row == 2) & (alike != 2).any(axis=0)
    return found


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(RULES, st.booleans())
def test_what_could_be_filled_in_is_a_gap(rules: list[str], apart: bool) -> None:
    table, plausibility = world(rules, apart=apart)
    if len(table):
        gaps = gaps_of_cells(table, (2, 2, 2), plausibility)
        assert (gaps | ~fillable(table)).all()
        assert not (gaps & (np.column_stack(table.bins) != 2)).any()


SKIPS = ("a == 'x' and b is not missing", "b is missing and c is not missing", "a is missing")


@pytest.mark.parametrize("apart", [False, True])
def test_what_follows_from_a_question_that_was_not_asked_is_no_gap(apart: bool) -> None:
    """Of a = x no b, and without b no c; of a = y both may be gaps."""
    table, plausibility = world(SKIPS, apart=apart)
    gaps = gaps_of_cells(table, (2, 2, 2), plausibility)
    by_row = {tuple(row): tuple(gap) for row, gap in zip(np.column_stack(table.bins).tolist(), gaps.tolist(), strict=True)}
    assert by_row == {
        (0, 2, 2): (False, False, False),
        (1, 2, 2): (False, True, True),
        **{(1, b, c): (False, False, c == 2) for b in (0, 1) for c in (0, 1, 2)},
    }


def test_copies_fill_gaps_and_leave_what_was_not_asked() -> None:
    table, plausibility = world(SKIPS, apart=True)
    table = table.with_counts(np.full(len(table), 4))
    asked = Gaps(missing=(2, 2, 2), match=(0, 1), donors=1, copies=3)
    for copy in completed(table, asked, plausibility, np.random.default_rng(1)):
        idle = copy.bins[0] == 0
        assert idle.sum() == 4
        assert (copy.bins[1][idle] == 2).all()
        assert (copy.bins[2][idle] == 2).all()
        assert (copy.bins[1][~idle] < 2).all()
        assert (copy.bins[2][~idle] < 2).all()
