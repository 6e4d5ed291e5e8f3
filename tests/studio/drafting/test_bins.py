"""Bins of numbers: round, none nearly empty, on logarithmic steps where numbers are skewed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.schema import parse_bins
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.studio.drafting.bins import LEAST_SHARE, OWN_ZERO, bin_texts, number_bins
from synthrelease.studio.drafting.coarser import ADULT, _joined
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft
from synthrelease.studio.drafting.columns import numbers


def shares(values: np.ndarray, counts: np.ndarray, limits: tuple[float, ...]) -> list[float]:
    """Share of the rows in each bin, one bin after the other."""
    ends = [-math.inf, *limits, math.inf]
    inside = [(values >= low) & (values < high) for low, high in zip(ends, ends[1:], strict=False)]
    return [float(counts[one].sum() / counts.sum()) for one in inside]


def are_round(limits: tuple[float, ...], width: float) -> bool:
    """Whether limits are multiples of 1, 2 or 5 times a power of ten that is no small part of the width; or such numbers."""
    if all(limit / 10 ** math.floor(math.log10(limit)) in (1, 2, 5) for limit in limits if limit > 0):
        return True
    steps = [Fraction(factor) * Fraction(10) ** power for power in range(-6, 7) for factor in (1, 2, 5)]
    return any(step >= width / 200 and all(Fraction(f"{limit:.12g}") % step == 0 for limit in limits) for step in steps)


def test_bins_of_ages_are_those_that_a_person_would_choose() -> None:
    ages = np.arange(12, 51)
    bell = np.round(1e4 * np.exp(-(((ages - 29) / 6) ** 2) / 2)).astype(int) + 1
    found = number_bins(ages, bell, whole=True)
    assert bin_texts(found.coarse, whole=True) == ["<20", "20-24", "25-29", "30-34", "35-39", ">=40"]
    assert (found.low, found.high) == (10, 54)


@pytest.mark.parametrize("far", [-36_500.0, 36_500.0])
def test_one_far_value_takes_no_bins_from_the_others(far: float) -> None:
    """A date of another century is 36,500 days off: the thousand multiples that are tried lay beside it, and none was left."""
    days, rows = np.arange(30.0), np.full(30, 100)
    at = 0 if far < 0 else 30
    found = number_bins(np.insert(days, at, far), np.insert(rows, at, 1), whole=True)
    assert found.coarse == number_bins(days, rows, whole=True).coarse


def test_money_gets_logarithmic_bins_and_an_own_one_for_nothing() -> None:
    random = np.random.default_rng(1)
    money = np.round(random.lognormal(8, 1.6, 20_000))
    money[:9000] = 0
    values, counts = np.unique(money, return_counts=True)
    found = number_bins(values, counts, whole=True)
    assert found.coarse[0] == 1  # nobody with a euro stands beside those with none
    for limit in (*found.coarse[1:], *found.fine[1:]):
        assert limit / 10 ** math.floor(math.log10(limit)) in (1, 2, 5)
    assert len(found.coarse) >= 4


def test_debts_lie_below_a_limit_at_zero() -> None:
    values = np.arange(-3000, 200_000, 7)
    counts = np.maximum(1, (1e7 / (np.abs(values) + 50) ** 1.5)).astype(int)
    found = number_bins(values, counts, whole=True)
    assert 0 in found.fine


def test_percentages_end_at_100_also_where_many_rows_have_exactly_100() -> None:
    values = np.arange(0, 1001, 25) / 10
    found = number_bins(values, np.where(values == 100, 900, 100), whole=False)
    assert (found.low, found.high) == (0, 100)
    assert max(found.fine) < 100


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-400, 4000), min_size=2, max_size=60, unique=True), st.integers(0, 2**32 - 1), st.booleans())
def test_limits_are_round_and_no_bin_is_nearly_empty(numbers: list[int], seed: int, whole: bool) -> None:
    values = np.sort(np.array(numbers, dtype=float)) / (1 if whole else 8)
    counts = np.random.default_rng(seed).integers(1, 1000, len(values))
    found = number_bins(values, counts, whole=whole)
    assert set(found.coarse) <= set(found.fine)
    assert found.low <= values[0]
    assert found.high >= values[-1]
    assert found.high > max(found.fine, default=-math.inf) or whole  # the last bin of numbers with fractions has room
    zero = counts[values == 0].sum() >= OWN_ZERO * counts.sum()
    for limits in (found.coarse, found.fine):
        assert list(limits) == sorted(set(limits))
        if limits and not zero:
            low, high = np.quantile(np.repeat(values, counts), [0.03, 0.97], method="inverted_cdf")  # where most rows are
            assert are_round(limits, high - low)
            assert min(shares(values, counts, limits)) >= LEAST_SHARE
    if found.coarse:
        least = min(shares(values, counts, found.groups))
        assert all(min(shares(values, counts, pair)) <= least for pair in combinations(found.coarse, 2))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-50, 300), min_size=1, max_size=30, unique=True), st.booleans())
def test_bins_as_they_are_written_mean_the_limits_they_were_made_of(numbers: list[int], whole: bool) -> None:
    limits = sorted(float(number) if whole else number / 4 for number in numbers)
    read = parse_bins(bin_texts(limits, whole=whole), whole_numbers=whole)
    assert [part.lower for part in read[1:]] == limits
    assert [part.upper for part in read[:-1]] == limits


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-50, 300), min_size=1, max_size=30, unique=True), st.booleans())
def test_closed_ends_are_the_bounds(numbers: list[int], whole: bool) -> None:
    """A mean that rests on an open bin is not estimable: every bin of a draft ends."""
    limits = sorted(float(number) if whole else number / 4 for number in numbers)
    low, high = limits[0] - 7, limits[-1] + 30
    read = parse_bins(bin_texts(limits, whole=whole, ends=(low, high)), whole_numbers=whole)
    assert [part.lower for part in read] == [low, *limits]
    assert [part.upper for part in read] == [*limits, high + 1 if whole else high]


def test_bins_without_a_limit_are_no_bins() -> None:
    with pytest.raises(ValueError, match="at least one limit"):
        bin_texts((), whole=True)


def test_a_first_bin_of_zero_alone_counts_as_zero_in_means() -> None:
    assert bin_texts([1, 2, 3, 8], whole=True, ends=(0, None)) == ["0..2", "3-7", ">=8"]
    assert parse_bins(["0..2", "3-7", ">=8"], whole_numbers=True)[0].number == 0
    assert bin_texts([1, 2], whole=True, ends=(-3, 9)) == ["-3-0", "1", "2-9"]
    assert bin_texts([1, 2], whole=False, ends=(0, 9.5)) == ["0 to 1", "1 to 2", "2 to 9.5"]


@pytest.mark.parametrize(
    ("numbers", "bounds", "ends"),
    [
        (range(18, 90), (18, 89), ("18-19", "80-89")),  # adults: no bin 10-19
        (range(15, 65), (15, 64), ("15-19", "60-64")),  # of working age
        (range(0, 100), (0, 99), ("0-19", "80-99")),
        ([*range(40, 90)] * 9 + [18, 93], (10, 99), ("10-49", "80-99")),  # few rows below: the tail of a quantity, not a limit
    ],
)
def test_an_outermost_bin_ends_where_a_limit_cuts_the_numbers_off(
    numbers: list[int], bounds: tuple[int, int], ends: tuple[str, str]
) -> None:
    values, counts = np.unique(np.repeat(numbers, 20), return_counts=True)
    bins = number_bins(values.astype(float), counts, whole=True)
    texts = bins.texts(whole=True, weight=False)["coarse"]
    assert (bins.low, bins.high) == bounds
    assert (texts[0], texts[-1]) == ends


@pytest.mark.parametrize(
    ("ages", "bins"),
    [
        (
            np.repeat(np.arange(95), 20),
            ["0-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80-89", "90-94"],
        ),
        (np.repeat(np.arange(5, 19), 20), ["5-9", "10-14", "15-18"]),
        (np.repeat(np.arange(15, 30), 20), ["15-19", "20-24", "25-29"]),
        (np.r_[[12, 15, 17], np.repeat(np.arange(20, 85), 20)], ["10-24", *(f"{low}-{low + 9}" for low in range(30, 80, 10))]),
    ],
)
def test_ages_have_the_usual_groups_of_five_or_ten_years(ages: np.ndarray, bins: list[str]) -> None:
    """Never of 2 or 20 years; few young persons have five older years beside them, not ten."""
    values, counts = np.unique(ages, return_counts=True)
    found = number_bins(values, counts, whole=True, ages=True)
    texts = bin_texts(found.coarse, whole=True, ends=(found.low, found.high))
    assert [text for text in bins if text not in texts] == []
    assert found.ages


def test_the_young_are_not_joined_with_older_persons() -> None:
    """As mothers under 20, a twentieth of all, at bins of a tenth; without an age the sweep from below joins them."""
    limits, shares = (20.0, 25.0, 30.0, 35.0, 40.0), np.array([0.047, 0.189, 0.29, 0.287, 0.152, 0.035])
    assert _joined(limits, shares, 0.1) == (25.0, 30.0, 35.0)
    assert _joined(limits, shares, 0.1, ADULT) == (20.0, 25.0, 30.0, 35.0)
    assert _joined(limits, np.array([0.02, 0.216, *shares[2:]]), 0.1, ADULT) == (25.0, 30.0, 35.0)  # too few for a bin
    tens = (10.0, 18.0, 30.0, 40.0)
    assert _joined(tens, np.array([0.03, 0.04, 0.3, 0.3, 0.33]), 0.1, ADULT) == (18.0, 30.0, 40.0)


@pytest.mark.parametrize(
    ("name", "largest", "ages"),
    [
        ("age", 90, True),
        ("Alter", 90, True),
        ("mother_age", 45, True),
        ("age_months", 60, False),
        ("age", 400, False),
        ("wage", 90, False),
    ],
)
def test_an_age_is_known_by_its_name_and_range(name: str, largest: int, ages: bool) -> None:
    answers = Answers.of(name, {str(value): 20 for value in range(largest)}, 0, CodebookEntry())
    drafted = numbers(answers, name, ())
    assert isinstance(drafted, ColumnDraft)
    assert drafted.bins is not None
    assert drafted.bins.ages is ages
