"""A column is called a function of another one where no row that the rules leave says otherwise, value by value."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.data.functions import functions_of
from synthrelease.data.rules import HOLDS
from synthrelease.data.schema import PublishedColumn
from synthrelease.published.columns import RulePart
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column

BINS = {"coarse": ["1-2", "3", "4-6"], "halves": ["1-3", "4-6"]}
TOWN = {"kind": "category", "categories": ["x", "y", "z"], "alternatives": {"two": {"low": ["x", "y"], "high": ["z"]}}}
Rows = tuple[Literal["raw", "synthetic"], ...]
EVERY: Rows = ("raw", "synthetic")


def column(name: str, table: Mapping[str, object], binning: str) -> PublishedColumn:
    built = build_column(name, ColumnTable.model_validate(table), InputTable(), [], None)
    return PublishedColumn.of(built, built.alternatives[binning])


def columns(of_year: str, of_town: str) -> list[list[PublishedColumn]]:
    years = {"kind": "integer", "bounds": [1, 6], "alternatives": BINS}
    return [[column("year", years, of_year)], [column("town", TOWN, of_town)]]


comparisons = st.tuples(st.sampled_from(list(HOLDS)), st.integers(2, 5))
towns = st.tuples(st.sampled_from(["==", "!="]), st.sampled_from("xyz"))


@given(st.lists(st.tuples(comparisons, towns), max_size=8), st.sampled_from(list(BINS)))
def test_no_row_that_the_rules_leave_contradicts_a_function(
    rules: list[tuple[tuple[str, int], tuple[str, str]]], bins: str
) -> None:
    stated = [
        RulePart(never=f"year {sign} {year} and town {other} '{town}'", applies_to=EVERY, why="")
        for (sign, year), (other, town) in rules
    ]
    release = columns(bins, "two")
    left = [
        (_bin(release[0][0], year), "low" if town in "xy" else "high")
        for year, town in product(range(1, 7), "xyz")
        if not any(HOLDS[sign](year, limit) and (town == one) == (other == "==") for (sign, limit), (other, one) in rules)
    ]
    for upper, (lower,) in functions_of(stated, release):
        homes = {pair[lower]: pair[upper] for pair in left}
        assert all(homes[pair[lower]] == pair[upper] for pair in left)


def _bin(column: PublishedColumn, year: int) -> int:
    return max(place for place, low in enumerate(column.lower) if low <= year)


@pytest.mark.parametrize(
    ("never", "applies_to", "found"),
    [
        (["year < 4 and town == 'z'", "year >= 4 and not town == 'z'"], EVERY, [(0, (1,)), (1, (0,))]),
        (["year < 4 and town == 'z'", "year >= 4 and not town == 'z'"], ("synthetic",), []),
        (["year < 3 and town == 'z'", "year >= 3 and not town == 'z'"], EVERY, [(1, (0,))]),
        (["year == 5 and town == 'z'", "year < 4 and not town == 'z'"], EVERY, []),
    ],
)
def test_functions_by_hand(never: list[str], applies_to: Rows, found: list[tuple[int, tuple[int]]]) -> None:
    stated = [RulePart(never=text, applies_to=applies_to, why="") for text in never]
    bins = "halves" if "year < 4" in never[0] else "coarse"
    assert sorted(functions_of(stated, columns(bins, "two"))) == found
