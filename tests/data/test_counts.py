"""Counts and marginals against a dictionary that is filled row by row."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from synthrelease.data import counts as table_module
from synthrelease.data import marginals as lattice_module
from synthrelease.data.counts import Counts, row_positions
from synthrelease.data.marginals import lattice
from synthrelease.data.synthetic_table import RARE, rare_first
from tests.helpers.small import layout_of

LAYOUT = layout_of(3, 2, 4)


def rows(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, LAYOUT.sizes, size=(n, 3))


def counted(data: np.ndarray) -> Counts:
    return Counts(LAYOUT, np.ravel_multi_index(tuple(data.T), LAYOUT.sizes))


def slow_marginal(data: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    found = Counter(tuple(row[list(columns)]) for row in data)
    shape = [LAYOUT.sizes[c] for c in columns]
    return np.array([found[cell] for cell in product(*map(range, shape))]).reshape(shape)


@pytest.fixture(params=["dense", "sparse"])
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both representations of large and small tables."""
    if request.param == "sparse":
        for module in (table_module, lattice_module):
            monkeypatch.setattr(module, "DENSE_LIMIT", 12)


@pytest.mark.usefixtures("limit")
def test_row_order_does_not_matter_and_rows_are_counted() -> None:
    data = rows(0, 50)
    table, shuffled = counted(data), counted(data[::-1])
    assert np.array_equal(table.codes, shuffled.codes)
    assert np.array_equal(table.counts, shuffled.counts)
    assert table.total == 50
    assert np.array_equal(np.sort(table.expand().view(), axis=0), np.sort(data, axis=0))
    assert Counter(map(tuple, table.expand())) == Counter(map(tuple, data))


@pytest.mark.usefixtures("limit")
def test_every_marginal_equals_the_slow_one() -> None:
    data = rows(1, 60)
    marginals = lattice(counted(data))
    for size in (1, 2):
        for columns in combinations(range(3), size):
            assert np.array_equal(marginals.get(columns), slow_marginal(data, columns))


@pytest.mark.usefixtures("limit")
def test_every_joint_table_has_its_axes_in_the_order_asked_for() -> None:
    data = rows(1, 60)
    marginals = lattice(counted(data))
    for first in [(), (0,), (2,), (1, 0), (0, 1), (2, 1), (1,)]:
        for last in set(range(3)) - set(first):
            if np.prod([LAYOUT.sizes[column] for column in (*first, last)]) <= table_module.DENSE_LIMIT:
                columns = tuple(sorted((*first, last)))
                expected = slow_marginal(data, columns).transpose([columns.index(column) for column in (*first, last)])
                assert np.array_equal(marginals.joint(first, last), expected)


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize(("tables", "cells"), [(1, 10**6), (100, 1), (2, 12)])
def test_a_lattice_keeps_few_tables_and_forgets_none_of_the_answers(
    tables: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lattice_module, "KEPT_TABLES", tables)
    monkeypatch.setattr(lattice_module, "KEPT_CELLS", cells)
    data = rows(1, 60)
    marginals = lattice(counted(data))
    for columns in [(0, 1), (1, 2), (0,), (0, 1), (2,), (1,), (0, 2), (0,), (1, 2)]:
        assert np.array_equal(marginals.get(columns), slow_marginal(data, columns))
        assert len(marginals._kept) <= tables
        assert sum(kept.cells for kept in marginals._kept.values()) <= cells or len(marginals._kept) == 1


@pytest.mark.usefixtures("limit")
def test_merge_moves_every_row_to_its_coarser_cell() -> None:
    data = rows(4, 40)
    coarse = layout_of(2, 1, 2)
    maps = [np.array([0, 0, 1]), np.array([0, 0]), np.array([0, 1, 1, 0])]
    merged = counted(data).merge(coarse, maps)
    expected = Counter(tuple(int(maps[c][row[c]]) for c in range(3)) for row in data)
    assert Counter(tuple(map(int, row)) for row in merged.expand()) == expected


def test_counts_above_two_to_the_53_stay_exact() -> None:
    table = Counts(LAYOUT, np.array([5, 5, 6]), np.array([2**60, 1, 2**60]))
    assert list(table.counts) == [2**60 + 1, 2**60]


def weighted_cells(seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Distinct cells of three columns in random order, with whole weights (so that bins tie now and then)."""
    generator = np.random.default_rng(seed)
    codes = generator.permutation(LAYOUT.n_cells)[: generator.integers(1, LAYOUT.n_cells + 1)]
    digits = list(np.unravel_index(codes, LAYOUT.sizes))
    return digits, generator.integers(1, 6, len(codes)).astype(float)


@pytest.mark.parametrize("seed", range(20))
def test_rare_bins_come_first_by_the_rarest_bin_of_each_cell(seed: int) -> None:
    """Cell by cell: the total of its rarest bin, the first column that has it, then the bins themselves."""
    digits, weights = weighted_cells(seed)
    cells = list(zip(*(column.tolist() for column in digits), strict=True))
    keys = []
    for cell in cells:
        totals = [sum(w for other, w in zip(cells, weights, strict=True) if other[c] == cell[c]) for c in range(3)]
        column = totals.index(min(totals))
        keys.append((min(totals), column, cell[column], cell))
    order = rare_first(digits, weights, 0)
    assert [cells[i] for i in order] == [key[-1] for key in sorted(keys)]
    assert sorted(order.tolist()) == list(range(len(cells)))


@pytest.mark.parametrize("seed", range(5))
def test_bins_that_are_not_rare_order_nothing(seed: int) -> None:
    """With so many rows that half of the bins are frequent: their cells stand at the end, by their bins."""
    digits, weights = weighted_cells(seed)
    cells = list(zip(*(column.tolist() for column in digits), strict=True))
    totals = {(c, b): weights[digits[c] == b].sum() for c in range(3) for b in np.unique(digits[c]).tolist()}
    middle = float(np.median(list(totals.values())))
    rows = RARE * float(weights.sum()) / middle
    rare = {key: total for key, total in totals.items() if total * rows < RARE * weights.sum()}
    assert 0 < len(rare) < len(totals)
    keys = []
    for cell in cells:
        found = [(rare[c, b], c, b) for c, b in enumerate(cell) if (c, b) in rare]
        keys.append((*min(found, default=(math.inf, 0, 0)), cell))
    assert [cells[i] for i in rare_first(digits, weights, rows)] == [key[-1] for key in sorted(keys)]


@pytest.mark.parametrize("seed", range(20))
def test_the_rarest_bin_is_one_run_of_the_order_and_the_order_of_the_cells_does_not_matter(seed: int) -> None:
    digits, weights = weighted_cells(seed)
    totals = {(c, int(b)): weights[digits[c] == b].sum() for c in range(3) for b in np.unique(digits[c])}
    column, rarest = min(totals, key=lambda key: (totals[key], key))
    order = rare_first(digits, weights, 0)
    places = np.flatnonzero(digits[column][order] == rarest)
    assert places[-1] - places[0] + 1 == len(places)
    shuffle = np.random.default_rng(seed).permutation(len(weights))
    again = rare_first([column[shuffle] for column in digits], weights[shuffle], 0)
    assert [tuple(column[i] for column in digits) for i in order] == [
        tuple(column[shuffle][i] for column in digits) for i in again
    ]


def test_two_rare_bins_of_one_size_do_not_alternate() -> None:
    """Sampling at every second place would take all of one and none of the other."""
    digits = [np.zeros(100, dtype=int), np.repeat(np.arange(50), 2), np.tile([0, 1], 50)]
    order = rare_first([digits[0], digits[1] // 25, digits[2]], np.ones(100), 100)
    runs = np.flatnonzero(np.diff(digits[2][order])) + 1
    assert len(runs) <= 3


def test_no_cells_have_an_order_too() -> None:
    assert rare_first([np.zeros(0, dtype=int)] * 2, np.zeros(0), 0).tolist() == []


def test_the_representation_shows_no_counts() -> None:
    assert "7" not in repr(Counts(layout_of(2), np.zeros(7, dtype=int)))


@pytest.mark.parametrize("spread", [1, 3, 1000])
def test_rows_are_found_where_they_are(spread: int) -> None:
    """In a table of all numbers, and by search where the numbers are far apart; also below and above all rows."""
    random = np.random.default_rng(spread)
    rows = np.unique(random.integers(-50, 50, 40)) * spread
    wanted = np.concatenate([rows, random.integers(-60 * spread, 60 * spread, 200), [-(2**60), 2**60]])
    place_of = {row: place for place, row in enumerate(rows.tolist())}
    assert row_positions([rows], [wanted]).tolist() == [place_of.get(row, -1) for row in wanted.tolist()]
