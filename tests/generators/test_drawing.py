"""Limits of what a drawing without replacement moves shares by, against sums over every file and every subset."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from synthrelease.generators.drawing import Drawing, closed_limit, log_factorials, one_sided_limit


def law(n: int, rows: int, ones: int) -> dict[Fraction, Fraction]:
    """How likely each X/n - G/K is, by counting subsets."""
    found = dict[Fraction, Fraction]()
    for x in range(max(0, n - (rows - ones)), min(n, ones) + 1):
        weight = Fraction(math.comb(ones, x) * math.comb(rows - ones, n - x), math.comb(rows, n))
        found[Fraction(x, n) - Fraction(ones, rows)] = weight
    return found


def beyond(n: int, rows: int, limit: float) -> float:
    """The largest Pr[|X/n - G/K| > limit] over all G."""
    least = Fraction(limit) + Fraction(1, 10**9)
    return max(float(sum(w for off, w in law(n, rows, ones).items() if abs(off) > least)) for ones in range(rows + 1))


def least_limit(n: int, rows: int, risk: float, only: Sequence[int] | None = None, *, sides: int = 1) -> Fraction:
    """The least t with Pr[X/n - G/K > t] <= risk for every G, or for those named; of |X/n - G/K| with two sides."""
    worst = Fraction(0)
    for ones in only or range(rows + 1):
        tail, every = Fraction(0), sorted(((off if sides == 1 else abs(off)), w) for off, w in law(n, rows, ones).items())
        for off, weight in reversed(every):
            tail += weight
            if tail > risk:
                worst = max(worst, off)
                break
    return worst


def test_logarithms_of_factorials_are_those_of_whole_numbers() -> None:
    """Small ones stand in a table, so both sides of its end are looked at."""
    exact = [math.log(math.factorial(number)) for number in range(400)]
    np.testing.assert_allclose(log_factorials(np.arange(400.0)), exact, rtol=1e-15, atol=1e-14)


@pytest.mark.parametrize("risk", [0.31, 0.047, 0.0011, 1e-7])
@pytest.mark.parametrize("rows", [2, 3, 7, 10, 16, 21])
def test_the_limit_of_one_side_is_the_least_that_holds_for_every_file(rows: int, risk: float) -> None:
    for n in range(1, rows):
        assert one_sided_limit(n, rows, risk) == pytest.approx(float(least_limit(n, rows, risk)), abs=1e-12)


def test_a_share_of_a_half_is_not_the_worst_one() -> None:
    """The trap: the law with G = K/2 alone gives a limit that other files are beyond more often than stated."""
    half = least_limit(37, 38, 0.01, only=[19], sides=2)
    assert beyond(37, 38, float(half)) > 0.01
    assert Drawing(n=37, most=38, risk=0.01).of_shares(1) > 1.9 * half


@pytest.mark.parametrize(("n", "most", "risk"), [(4, 12, 0.05), (9, 14, 0.01), (11, 13, 0.2), (3, 20, 0.1), (1, 9, 0.3)])
def test_a_limit_holds_for_every_number_of_rows_up_to_the_largest(n: int, most: int, risk: float) -> None:
    for shares in (1, 5):
        limit = Drawing(n=n, most=most, risk=risk).of_shares(shares)
        assert limit <= closed_limit(n, most, shares, risk)
        for rows in range(n, most + 1):
            assert beyond(n, rows, limit) <= risk / shares


def test_the_least_limit_does_not_grow_with_the_rows_so_it_needs_its_allowance() -> None:
    """The other trap: a smaller file may be further off than a larger one, by less than a row."""
    assert least_limit(10, 24, 0.01, sides=2) > least_limit(10, 25, 0.01, sides=2)
    assert beyond(10, 24, float(least_limit(10, 25, 0.01, sides=2))) > 0.01


def test_the_closed_form_holds() -> None:
    for n, rows in ((5, 9), (10, 12), (3, 18)):
        for risk in (0.2, 0.01):
            assert beyond(n, rows, closed_limit(n, rows, 1, risk)) <= risk


@pytest.mark.parametrize(
    ("rows", "n", "closed", "exact"), [(1000, 876, 0.0222, 0.0188), (4000, 3876, 0.00528, 0.00438), (4000, 400, 0.0882, 0.0737)]
)
def test_limits_of_usual_files_are_between_the_exact_one_for_the_largest_file_and_the_closed_form(
    rows: int, n: int, closed: float, exact: float
) -> None:
    """With `exact` computed apart: the least t with Pr[|X/n - G/K| > t] <= 0.01/5 for every G, five shares at 99%."""
    assert closed_limit(n, rows, 5, 0.01) == pytest.approx(closed, rel=0.005)
    assert exact <= Drawing(n=n, most=rows, risk=0.01).of_shares(5) < 0.96 * closed


def test_nothing_is_added_where_all_rows_were_drawn() -> None:
    assert Drawing(n=7, most=7, risk=0.01).of_shares(3) == 0


def test_a_sample_of_a_million_rows_is_limited_at_once() -> None:
    assert 0.0015 < Drawing(n=1_000_000, most=20_000_000, risk=0.02).of_shares(200) < 0.004


# --- How many shares


def cells_of(bins: Mapping[str, int], largest: int) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    return [
        (names, cell)
        for number in range(1, largest + 1)
        for names in combinations(bins, number)
        for cell in product(*(range(bins[name]) for name in names))
    ]


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_a_risk_does_for_all_cells_of_all_tables(largest: int) -> None:
    """Where the bins are fixed: one part for each cell, and of a yes or no for one of the two."""
    bins = {"a": 2, "b": 3, "c": 4}
    drawing = Drawing(n=50, most=60, risk=0.02)
    assert drawing.of_cells(bins, largest) == drawing.of_shares(len(cells_of(bins, largest)) - 1)
    assert drawing.of_cells(bins, 0, [("a", "c")]) >= drawing.of_shares(2 * 4)


def test_a_risk_does_for_the_bins_that_could_have_been_released_as_well() -> None:
    """All parts of the risk, over every transformation, add up to it at most: a cell of a table has the same part in each of
    those that give the table these bins."""
    coarse_or_fine = {"a": (2, 5), "b": (3,)}
    ways, risk = {"a": 2, "b": 1}, 0.02
    parts = 0.0
    for largest in (1, 2):
        parts, seen = 0.0, set[tuple[tuple[str, int], ...]]()
        for sizes in product(*coarse_or_fine.values()):
            bins = dict(zip(coarse_or_fine, sizes, strict=True))
            limit = Drawing(n=50, most=60, risk=risk, ways=ways).of_cells(bins, largest)
            for names in {names for names, _ in cells_of(bins, largest)}:
                table = tuple((name, bins[name]) for name in names)
                if table not in seen:
                    seen.add(table)
                    parts += math.prod(bins[name] for name in names) * beyond(50, 60, limit)
        assert 0 < parts <= risk


def test_more_ways_to_be_released_have_smaller_parts_of_the_risk() -> None:
    """Two columns of three bins, one released on one of 5 sets of bins: a cell of it has a fifth of a half of the risk."""
    drawing = Drawing(n=50, most=60, risk=0.02, ways={"a": 5})
    assert drawing.of_cells({"a": 3, "b": 3}, 1) == Drawing(n=50, most=60, risk=0.02).of_shares(2 * 5 * 3)


def test_a_distance_of_tables_is_a_share_of_the_worst_set_of_cells() -> None:
    """Half the sum of absolute differences is the largest difference over all sets of cells: 2^(cells - 1) shares."""
    random = np.random.default_rng(3)
    bins = {"a": 2, "b": 3}
    drawing = Drawing(n=30, most=40, risk=0.05)
    assert drawing.of_distances([("a", "b")], bins) == drawing.of_shares(2**5)
    left, right = random.dirichlet(np.ones(6)), random.dirichlet(np.ones(6))
    sets = [abs(sum(left[list(cells)]) - sum(right[list(cells)])) for k in range(7) for cells in combinations(range(6), k)]
    assert max(sets) == pytest.approx(np.abs(left - right).sum() / 2)
    assert drawing.of_distances([("a", "b")], {"a": 2, "b": 10**9}) == 1.0
