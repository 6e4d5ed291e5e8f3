"""Bins of a draft from noisy counts: they hold the rows that they must, have round limits, and end at the bounds."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from synthrelease.scouting.bins import ScoutedBins, _cuts, code_bins, number_bins
from synthrelease.scouting.columns import ScoutedColumn
from synthrelease.studio.drafting.scouted import _column

AGE = ScoutedColumn(name="age", kind="number", whole=True, low=Fraction(0), high=Fraction(120))
INCOME = ScoutedColumn(name="income", kind="number", low=Fraction(0))


def drawn(column: ScoutedColumn, values: np.ndarray, deviation: float) -> tuple[list[int], tuple[Fraction, ...], list[int]]:
    """Counts of the first look, edges of the second one and its counts, with noise."""
    rng = np.random.default_rng(5)

    def counted(edges: tuple[Fraction, ...]) -> list[int]:
        places = np.searchsorted(np.array(edges, dtype=float), values, side="right") - 1
        exact = np.bincount(places, minlength=len(edges))
        return [int(count) for count in np.rint(exact + rng.normal(0, deviation, len(exact)))]

    first = counted(column.first_look)
    edges = column.second_look(first, deviation)
    return first, edges, counted(edges)


@pytest.mark.parametrize("seed", range(3))
def test_bins_of_ages_hold_their_rows_and_are_round(seed: int) -> None:
    values = np.clip(np.random.default_rng(seed).gamma(6, 7, 20_000).astype(int), 0, 119)
    first, edges, counts = drawn(AGE, values, 70.0)
    bins = number_bins(AGE, first, edges, counts, 12, rows=20_000, deviation=70.0)
    assert (bins.edges[0], bins.edges[-1], bins.gaps) == (0, 121, 12)
    held = [int(np.count_nonzero((values >= low) & (values < high))) for low, high in pairwise(bins.edges)]
    assert min(held) >= 200
    assert 6 <= bins.n_bins <= 12
    assert sum(edge % 5 == 0 for edge in bins.edges[1:-1]) >= bins.n_bins - 3
    for (low, high), middle in zip(pairwise(bins.edges), bins.numbers, strict=True):
        exact = values[(values >= low) & (values < high)].mean()
        assert low <= middle < high
        assert abs(middle - exact) < max(2.0, float(high - low) / 6)  # far out in a tail cells are hidden by the noise


def test_a_frequent_zero_stands_alone() -> None:
    rng = np.random.default_rng(2)
    values = np.where(rng.random(20_000) < 0.4, 0.0, rng.lognormal(8, 1, 20_000))
    first, edges, counts = drawn(INCOME, values, 70.0)
    bins = number_bins(INCOME, first, edges, counts, 0, rows=20_000, deviation=70.0)
    assert bins.edges[:2] == (0, 1)
    assert 0 <= bins.numbers[0] < 0.001
    assert bins.n_bins >= 5
    few = number_bins(INCOME, first, edges, [0] * len(edges), 0, rows=20_000, deviation=70.0)
    assert few.n_bins == 1


def test_the_bin_of_zero_ends_where_the_next_rows_are() -> None:
    values = np.where(np.arange(20_000) < 9_000, 0.0, 0.05)
    first, edges, counts = drawn(INCOME, values, 70.0)
    bins = number_bins(INCOME, first, edges, counts, 0, rows=20_000, deviation=70.0)
    assert bins.edges[0] == 0
    assert Fraction(1, 100) <= bins.edges[1] <= Fraction(5, 100)


def test_no_limit_is_within_a_gap() -> None:
    """50 is rounder than 10 and 20, and as many rows are below each of them; but nobody is near 50."""
    limits, rows = (0, 10, 20, 30, 50, 60, 100), (600, 0, 0, 0, 0, 900)
    cells = [(Fraction(low), Fraction(high), held) for (low, high), held in zip(pairwise(limits), rows, strict=True)]
    assert list(_cuts(cells, 1000.0, 100.0)) == [20]


def test_a_limit_is_where_many_rows_begin() -> None:
    """Hours of work are heaped at 20, 25, ...: what lies between is within the noise."""
    rows = {20: 1000, 25: 1000, 30: 1000, 35: 1000, 40: 4000}
    cells = [(Fraction(hour), Fraction(hour + 1), rows.get(hour, 0)) for hour in range(50)]
    assert [*_cuts(cells, 1000.0, 100.0)] == [25, 30, 35, 40]


def test_few_numbers_and_codes_among_them_have_bins() -> None:
    """Wages of two in five, a fifth of whom did not say: they were three bins, and 99997 a wage."""
    rng = np.random.default_rng(4)
    pay = np.where(rng.random(32_000) < 0.2, rng.choice([99997, 99998], 32_000), rng.lognormal(7.6, 0.5, 32_000))
    first, edges, counts = drawn(INCOME, pay, 90.0)
    bins = number_bins(INCOME, first, edges, counts, 48_000, rows=80_000, deviation=90.0)
    assert bins.fillers
    assert bins.edges[-2:] == (99_000, 100_000)
    held = [int(np.count_nonzero((pay >= low) & (pay < high))) for low, high in pairwise(bins.edges)]
    assert bins.n_bins >= 6
    assert min(held[:-1]) >= 300
    first, edges, counts = drawn(INCOME, np.minimum(pay, 20_000), 90.0)
    assert not number_bins(INCOME, first, edges, counts, 48_000, rows=80_000, deviation=90.0).fillers


@pytest.mark.parametrize(("low", "high", "code"), [(200, 8000, 9999), (200, 9500, 9999), (0, 89, 99), (450, 8500, 8700)])
def test_limits_rise_where_a_code_lies_above_the_codebook(low: int, high: int, code: int) -> None:
    """Limits as 9900 before 8001 made a draft that could not be loaded, after the scout was paid for."""
    column = ScoutedColumn(name="weight", kind="number", whole=True, low=Fraction(low), high=Fraction(high))
    values = np.clip(np.random.default_rng(1).normal((low + high) / 2, (high - low) / 8, 14_000).astype(int), low, high)
    values[:600] = code  # clipped into the last cell, as a scout clips it
    first, edges, counts = drawn(column, values, 20.0)
    found = number_bins(column, first, edges, counts, 0, rows=14_000, deviation=20.0)
    assert found.edges[-1] == high + 1
    assert all(lower < upper for lower, upper in pairwise(found.edges))


def test_a_draft_asks_about_codes_among_the_numbers() -> None:
    edges = tuple(map(Fraction, (0, 500, 990, 1000)))
    drafted = ScoutedBins(column=INCOME, edges=edges, numbers=(90.0, 600.0, 995.0), fillers=True)
    asked = "Does 990 to 1000 hold codes such as 98 or 9999?"
    assert asked in _column(drafted, "income", "")
    assert "hold codes" not in _column(replace(drafted, fillers=False), "income", "")


def test_limits_of_the_codebook_are_kept() -> None:
    """Births before week 37 are preterm, however few weeks a bin may have by its rows."""
    limits = (Fraction(28), Fraction(37))
    column = replace(AGE, low=Fraction(20), high=Fraction(46), limits=limits)
    first, edges, counts = drawn(column, np.rint(np.random.default_rng(1).normal(39, 2, 20_000)), 70.0)
    bins = number_bins(column, first, edges, counts, 0, rows=20_000, deviation=70.0)
    assert {*limits} < {*bins.edges}
    column = replace(AGE, limits=(Fraction(18), Fraction(25)))
    first, edges, counts = drawn(column, np.clip(np.random.default_rng(1).normal(40, 15, 60_000), 0, 110) // 1, 70.0)
    bins = number_bins(column, first, edges, counts, 0, rows=60_000, deviation=70.0)
    at = bins.edges.index(Fraction(18))
    assert bins.edges[at + 1 : at + 3] == (25, 30)  # small bins are at the ends of the column, not at a limit within it
    assert bins.edges[-2] == 70


def test_groups_cover_every_atom() -> None:
    values = np.random.default_rng(1).integers(0, 100, 20_000)
    first, edges, counts = drawn(AGE, values, 70.0)
    bins = number_bins(AGE, first, edges, counts, 0, rows=20_000, deviation=70.0)
    groups = bins.groups()
    assert len(groups) == len(AGE.atoms) + 2
    assert {*groups.tolist()} == set(range(bins.n_bins + 1))
    assert groups[-1] == groups[-2] == bins.n_bins
    for atom, group in zip(AGE.atoms, groups.tolist(), strict=False):
        assert bins.edges[group] <= max(atom, 0)
        assert atom < bins.edges[group + 1] or group == bins.n_bins - 1


def test_a_long_dictionary_keeps_the_frequent_codes() -> None:
    codes = {str(code): "" for code in range(30)}
    column = ScoutedColumn(name="x", kind="listed", codes=codes)
    counts = {code: 1000 if int(code) < 4 else 40 for code in codes}
    bins = code_bins(column, counts, 7, rows=10_000, deviation=50.0)
    assert bins.codes == ("0", "1", "2", "3")
    assert bins.groups().tolist() == [0, 1, 2, 3, *[4] * 27, 5]
    short = ScoutedColumn(name="x", kind="listed", codes={"a": "", "b": ""})
    assert code_bins(short, {"a": -90, "b": 3}, 0, rows=10_000, deviation=50.0).codes == ("a", "b")


@pytest.mark.parametrize("deviations", [5.4, 20, 9.4])
def test_a_code_of_one_percent_has_a_bin_in_99_of_100_scouts(deviations: float) -> None:
    """With a list where 1% of the rows are 5.4 deviations. Without one at 9.4, where the text must also reach 1 + 7 deviations.

    A threshold of 1% itself lost half of these codes. Codes of half of 1% have no bin where the noise is small.
    """
    codes = {str(code): "" for code in range(13)}
    column, drawn_scouts = ScoutedColumn(name="x", kind="listed", codes=codes), 4_000
    one, deviation, rng = 1_000, 1_000 / deviations, np.random.default_rng(7)
    found = rare = 0
    for _ in range(drawn_scouts):
        counts = {code: one + round(noise) for code, noise in zip(codes, rng.normal(0, deviation, 13), strict=True)}
        counts["12"] -= one // 2
        kept = {*code_bins(column, counts, 0, rows=100 * one, deviation=deviation).codes}
        found += "0" in kept and (deviations != 9.4 or counts["0"] >= 1 + 7 * deviation)
        rare += "12" in kept
    assert found >= 0.985 * drawn_scouts  # 99% less three standard deviations of the share
    assert rare < 0.01 * drawn_scouts or deviations < 20


@pytest.mark.parametrize(
    ("days", "rows", "first", "last", "bins"),
    [
        (12, 40_000, "2019-12-20", "2019-12-31", 12),
        (28, 40_000, "2019-W51", "2020-W03", 5),
        (366, 60_000, "2019-12", "2020-12", 13),
        (366, 25_000, "2019-Q4", "2020-Q4", 5),
        (3_000, 60_000, "2019", "2028", 10),
        (4_000, 60_000, None, None, 0),
    ],
    ids=["days", "weeks", "months", "quarters, for the noise", "years", "too far apart"],
)
def test_days_are_joined_into_the_shortest_periods_with_rows(days: int, rows: int, first: str, last: str, bins: int) -> None:
    """Each day is in the period of its own date, also a day that was not found; a frequent word has its own bin."""
    dates = [date(2019, 12, 20) + timedelta(place) for place in range(days)]
    noise = np.random.default_rng(3).normal(0, 80, days)
    counts = {day.isoformat(): round(rows / days + each) for day, each in zip(dates, noise, strict=True)}
    words = {"never": 400, dates[5].isoformat(): counts.pop(dates[5].isoformat())}
    found = code_bins(ScoutedColumn(name="day", kind="texts"), counts | {"never": 400}, 0, rows=rows, deviation=80.0)
    periods = [code for code in found.codes if code != "never"]
    assert (len(periods) + (bins == 12), [*periods, None][0], [None, *periods][-1]) == (bins, first, last)
    if not found.days:
        return
    assert [*found.days] == [day.isoformat() for day in dates]
    groups = found.groups([*found.days, *words])
    formats = {4: "%Y", 7: "%Y-%m", 8: "%G-W%V"}
    for day, group in zip(dates, groups.tolist(), strict=False):
        quarter = f"{day.year}-Q{1 + (day.month > 3) + (day.month > 6) + (day.month > 9)}"
        assert found.codes[group] == (quarter if "Q" in first else day.strftime(formats[len(first)]))
    assert groups[days] == (found.codes.index("never") if "never" in found.codes else len(found.codes))


def test_a_draft_lists_the_days_of_each_period() -> None:
    days = {f"2020-0{1 + place // 28}-{1 + place % 28:02d}": 90 for place in range(140)}
    column = ScoutedColumn(name="day", kind="texts", missing=("9999-99-99",))
    drafted = code_bins(column, {**days, "open": 900}, 70, rows=14_000, deviation=20.0)
    text = _column(drafted, "day", "")
    table = tomllib.loads(text)["columns"]["day"]
    assert [*table["categories"]] == ["2020-01", "2020-02", "2020-03", "2020-04", "2020-05", "open"]
    assert table["categories"]["open"] == ["open"]
    assert table["categories"]["2020-02"] == [f"2020-02-{day:02d}" for day in range(1, 30)]
    assert (table["missing_values"], table["outside"]) == (["9999-99-99"], "bin")
    assert "joined" in text


def test_a_text_that_is_a_year_shares_the_bin_of_the_days_of_this_year() -> None:
    days = {(date(2014, 1, 1) + timedelta(5 * place)).isoformat(): 30 for place in range(500)}
    column = ScoutedColumn(name="day", kind="texts")
    drafted = code_bins(column, {**days, "2015": 5000}, 0, rows=21_000, deviation=20.0)
    categories = tomllib.loads(_column(drafted, "day", ""))["columns"]["day"]["categories"]
    assert [*categories] == [*drafted.codes] == [str(year) for year in range(2014, 2021)]
    assert categories["2015"] == [*((date(2015, 1, 1) + timedelta(place)).isoformat() for place in range(365)), "2015"]


def test_noise_far_from_all_rows_is_no_end_of_the_bins() -> None:
    """Of a hundred empty cells one is above 2.5 standard deviations in every other scout; a draft began at -5e12 then."""
    column, values = ScoutedColumn(name="pay", kind="number"), np.random.default_rng(2).lognormal(7, 0.5, 20_000)
    first, edges, counts = drawn(column, values, 0.0)
    first[1] = first[-2] = 154
    counts[1], counts[-2], counts[2] = 154, 154, 250  # even above 5 standard deviations, where the first look saw nothing
    bins = number_bins(column, first, edges, counts, 0, rows=20_000, deviation=44.0)
    assert values.min() / 3 < bins.edges[0] < bins.edges[-1] < 3 * values.max()
