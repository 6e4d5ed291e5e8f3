"""All sub-tables, depth first, against dictionaries that are filled row by row."""

from __future__ import annotations

import weakref
from collections import Counter
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.criteria.marginals_mechanism import largest_difference
from synthrelease.data import counts as counts_module
from synthrelease.data import marginals as lattice_module
from synthrelease.data import marginals as module
from synthrelease.data import marginals as summing_up
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.marginals import column_groups, differences, lattice, with_pairs
from tests.helpers.small import layout_of

LIMITS = st.sampled_from([1, 6, 20, 10**6])
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=6)


def two_tables(sizes: list[int], seed: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Rows of two tables that share few cells."""
    generator = np.random.default_rng(seed)
    return [[tuple(map(int, row)) for row in generator.integers(0, sizes, (n, len(sizes)))] for n in (12, 9)]  # type: ignore[return-value]


def counted(sizes: list[int], rows: list[tuple[int, ...]]) -> Counts:
    return Counts.of(layout_of(*sizes), list(np.array([row[: len(sizes)] for row in rows]).T))


def slow_differences(left: list[tuple[int, ...]], right: list[tuple[int, ...]], columns: tuple[int, ...]) -> Counter:
    found = Counter(tuple(row[c] for c in columns) for row in left)
    found.subtract(Counter(tuple(row[c] for c in columns) for row in right))
    return found


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(SHAPES, st.integers(0, 10**6), st.integers(1, 7), LIMITS, st.sampled_from([2, 16, 200]))
def test_every_difference_of_every_table_is_there_once(
    sizes: list[int], seed: int, largest: int, limit: int, group: int
) -> None:
    """As full arrays, as cells that occur, and by groups of columns; the largest is the same integer."""
    left, right = two_tables(sizes, seed)
    wanted = [c for k in range(1, min(largest, len(sizes)) + 1) for c in combinations(range(len(sizes)), k)]
    with pytest.MonkeyPatch.context() as patched:
        for one in (counts_module, lattice_module, module):
            patched.setattr(one, "DENSE_LIMIT", limit)
        patched.setattr(summing_up, "GROUP_CELLS", group)
        found = list(differences(counted(sizes, left), counted(sizes, right), largest))
        worst = largest_difference(counted(sizes, left), counted(sizes, right), largest)
    assert sorted(columns for columns, _ in found) == sorted(wanted)
    for columns, values in found:
        expected = slow_differences(left, right, columns)
        assert sorted(v for v in values.tolist() if v) == sorted(v for v in expected.values() if v)
    assert worst == max(abs(v) for columns in wanted for v in slow_differences(left, right, columns).values())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=4, max_size=7).filter(lambda sizes: np.prod(sizes) > 70), st.integers(0, 10**6))
def test_tables_of_two_columns_of_a_wide_table_are_products_of_matrices(sizes: list[int], seed: int) -> None:
    """Groups of up to eight cells, so that columns meet within a group and across two; weights of up to 2^50, and beyond 2^53,
    where doubles would not be exact."""
    left, right = two_tables(sizes, seed)
    wanted = [columns for k in (1, 2) for columns in combinations(range(len(sizes)), k)]
    for weight in (1, 2**50 // 21 * 2 + 1, 2**58 + 1):
        tables = [counted(sizes, rows) for rows in (left, right)]
        with pytest.MonkeyPatch.context() as patched:
            for one in (counts_module, lattice_module, module):
                patched.setattr(one, "DENSE_LIMIT", 70)
            patched.setattr(summing_up, "GROUP_CELLS", 64)
            found = list(differences(*(table.with_counts(table.counts * weight) for table in tables), 2))
        assert sorted(columns for columns, _ in found) == sorted(wanted)
        for columns, values in found:
            expected = {cell: weight * value for cell, value in slow_differences(left, right, columns).items()}
            cells = product(*(range(sizes[column]) for column in columns))
            assert values.dtype.kind == "i"
            assert sorted(values.tolist()) == sorted(expected.get(cell, 0) for cell in cells)


@settings(max_examples=100, deadline=None)
@given(SHAPES, st.integers(0, 10**6), st.integers(0, 2), st.data())
def test_tables_by_name_are_there_once_beside_those_of_so_many_columns(
    sizes: list[int], seed: int, largest: int, data: st.DataObject
) -> None:
    """Some of a width, most of a width, the table of all columns: however they are met, with their own values."""
    left, right = two_tables(sizes, seed)
    beyond = [c for k in range(largest + 1, len(sizes) + 1) for c in combinations(range(len(sizes)), k)]
    named = tuple(data.draw(st.lists(st.sampled_from(beyond), unique=True, max_size=12))) if beyond else ()
    found = list(differences(counted(sizes, left), counted(sizes, right), largest, named))
    small = [c for k in range(1, min(largest, len(sizes)) + 1) for c in combinations(range(len(sizes)), k)]
    assert sorted(columns for columns, _ in found) == sorted([*small, *named])
    for columns, values in found:
        expected = slow_differences(left, right, columns)
        assert sorted(v for v in values.tolist() if v) == sorted(v for v in expected.values() if v)


def test_values_stand_in_the_cells_of_their_columns() -> None:
    """One row on the left, one on the right: where they are in a table of one column tells the axes apart."""
    left, right = counted([2, 3, 4], [(1, 2, 3)]), counted([2, 3, 4], [(0, 1, 0)])
    tables = dict(differences(left, right, 1))
    assert [tables[(c,)].tolist() for c in range(3)] == [[-1, 1], [0, -1, 1], [-1, 0, 0, 1]]


def test_few_tables_are_alive_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six columns of four bins: no more arrays at a time than there are columns."""
    known: list[weakref.ref[np.ndarray]] = []
    most = 0
    kept = module.summed_to

    def without(*arguments: Any) -> Any:
        nonlocal most
        table = kept(*arguments)
        known.append(weakref.ref(table))
        most = max(most, sum(reference() is not None for reference in known))
        return table

    monkeypatch.setattr(module, "summed_to", without)
    n_tables = sum(1 for _ in differences(counted([4] * 6, [(1,) * 6]), counted([4] * 6, [(0,) * 6]), 6))
    assert n_tables == 63
    assert 5 <= most <= 6  # the consumer still holds one


def test_groups_cover_every_column_once_and_are_small_together() -> None:
    sizes = [2, 3, 2, 4, 12, 2, 5, 3, 6, 2] * 3
    groups = column_groups(Layout(columns=("",) * 30, sizes=tuple(sizes)), 3, 10**7)
    assert [column for group in groups for column in group] == list(range(30))
    cells = sorted((int(np.prod([sizes[c] for c in group])) for group in groups), reverse=True)
    assert np.prod(cells[:3]) <= summing_up.GROUP_CELLS
    assert len(groups) < 15


@pytest.mark.slow
def test_sixty_columns_are_looked_at_in_threes() -> None:
    """Far more than can be summed out from each other; one table of one cell differs from nothing by its rows."""
    layout = layout_of(*[2] * 60)
    generator = np.random.default_rng(0)
    left, right = (Counts(layout, generator.integers(0, 2**60, 200)) for _ in range(2))
    bits = [np.stack([table.digits(c) for c in range(60)], axis=1) for table in (left, right)]
    worst = 0
    for trio in [(0, 1, 2), (5, 40, 59), (17, 18, 33)]:
        for cell in product((0, 1), repeat=3):
            counts = [int((rows[:, trio] == cell).all(axis=1).sum()) for rows in bits]
            worst = max(worst, abs(counts[0] - counts[1]))
    of_threes = largest_difference(left, right, 3)
    assert largest_difference(left, right, 2) <= of_threes
    assert worst <= of_threes <= 200


@pytest.mark.slow
@pytest.mark.parametrize("columns", [65, 200])
@pytest.mark.parametrize("varied", [0, 3, 30])
def test_columns_of_one_bin_may_be_more_than_an_array_has_axes(columns: int, varied: int) -> None:
    """Few or many cells: tables of one and of two columns, of all columns, and one by name, against dictionaries."""
    sizes = [3 if place % 2 and place < 2 * varied else 1 for place in range(columns)]
    left, right = two_tables(sizes, columns)
    named = (tuple(range(columns)), tuple(range(0, columns, 2)), (1, 3, columns - 1))
    found = list(differences(counted(sizes, left), counted(sizes, right), 1, named))
    assert sorted(those for those, _ in found) == sorted([*((c,) for c in range(columns)), *named])
    assert [margin.tolist() for margin in counted(sizes, left).margins()] == [
        [sum(row[c] == bin_ for row in left) for bin_ in range(size)] for c, size in enumerate(sizes)
    ]
    whole = lattice(counted(sizes, left))
    for those, values in [*found, *differences(counted(sizes[:66], left), counted(sizes[:66], right), 2)]:
        expected = slow_differences(left, right, those)
        assert sorted(v for v in values.tolist() if v) == sorted(v for v in expected.values() if v)
    for pair in ((1, 3), (0, 2), (0, columns - 1)):
        exact = Counter(tuple(row[c] for c in pair) for row in left)
        assert [exact.get(cell, 0) for cell in np.ndindex(whole.get(pair).shape)] == whole.get(pair).ravel().tolist()
        assert np.array_equal(whole.joint(pair[:1], pair[1]), whole.get(pair))


@pytest.mark.parametrize("room", [10**6, 10])
def test_pairs_of_thirty_columns_counted_at_once_are_those_of_the_rows(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thirty columns, some of one bin; where they take more room than is kept, each is counted when it is asked for."""
    monkeypatch.setattr(module, "KEPT_CELLS", room)
    sizes = [1, 2, 3, 5, 2] * 6
    rows = two_tables(sizes, 3)[0]
    whole = with_pairs(counted(sizes, rows))
    assert len(whole.pairs) == (435 if room > 10 else 0)
    for pair in combinations(range(30), 2):
        exact = Counter(tuple(row[c] for c in pair) for row in rows)
        assert whole.get(pair).shape == (sizes[pair[0]], sizes[pair[1]])
        assert [exact.get(cell, 0) for cell in np.ndindex(whole.get(pair).shape)] == whole.get(pair).ravel().tolist()


@pytest.mark.parametrize("sizes", [(50, 100), (2, 3, 5), (2, 3000, 5, 7), (3000, 2, 5, 7)])
@pytest.mark.parametrize("rows", [1, 40])
def test_pairs_counted_at_once_have_their_axes_in_the_order_of_the_columns(sizes: tuple[int, ...], rows: int) -> None:
    """Also where columns differ in size, and one has thousands of bins. How they are counted depends on the number of rows: in
    any order but that of the columns, replacing a record could change a count by more than 1.
    """
    drawn = np.random.default_rng(7).integers(sizes, size=(rows, len(sizes)))
    whole = with_pairs(counted(sizes, drawn.tolist()))
    for first, second in combinations(range(len(sizes)), 2):
        expected = np.zeros((sizes[first], sizes[second]), dtype=int)
        np.add.at(expected, (drawn[:, first], drawn[:, second]), 1)
        assert np.array_equal(whole.get((first, second)), expected)
