"""Tables of any width against dictionaries of rows: where cells have codes, and where they have none."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.criteria import faithfulness_mechanism as matching_module
from synthrelease.criteria.faithfulness_mechanism import Step, maximum_matching
from synthrelease.criteria.marginals_mechanism import largest_difference
from synthrelease.data import counts as counts_module
from synthrelease.data import layout as layout_module
from synthrelease.data import marginals as lattice_module
from synthrelease.data import marginals as sub_tables_module
from synthrelease.data.counts import Counts, EqualRows, Tally, codes_of, joined, packed, row_positions
from synthrelease.data.layout import Layout
from synthrelease.data.marginals import difference, lattice
from synthrelease.data.synthetic_table import rare_first
from tests.helpers.small import layout_of

pytestmark = pytest.mark.slow

Row = tuple[int, ...]
SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=5)
CODED = st.sampled_from([1, 5, 12, 2**62])
"""Cells up to which a layout has codes: tiny limits make tiny tables wide ones."""
EIGHTY = layout_of(*[2, 30, 3, 12, 5, 2, 7, 9] * 10)


@pytest.fixture(autouse=True)
def restored_limits():
    kept = layout_module.CODED_CELLS, counts_module.DENSE_LIMIT, counts_module._SORTED_TOGETHER
    yield
    limits(*kept)


def limits(coded: int, dense: int, together: int = 4) -> None:
    """Other limits from here on. A layout without codes has no full array, so the second is at most the first. So few rows are
    sorted or summed at a time, so that tiny tables are treated in pieces.
    """
    counts_module._SORTED_TOGETHER = counts_module._COLLECTED = lattice_module._CELLS_TOGETHER = (
        matching_module._HASHED_TOGETHER
    ) = together
    layout_module.CODED_CELLS = matching_module.CODED_CELLS = coded
    for module in (counts_module, lattice_module, sub_tables_module):
        module.DENSE_LIMIT = min(coded, dense)


def drawn(layout: Layout, seed: int, n: int) -> list[Row]:
    """Rows of which many are the same."""
    generator = np.random.default_rng(seed)
    some = generator.integers(0, layout.sizes, (max(1, n // 2), len(layout.sizes)))
    return [tuple(map(int, some[place])) for place in generator.integers(0, len(some), n)]


def counted(layout: Layout, rows: list[Row]) -> Counts:
    return Counts.of(layout, list(np.array(rows, dtype=np.int64).reshape(-1, len(layout.sizes)).T))


def cells(table: Counts) -> dict[Row, int]:
    """The table as a dictionary; its cells must be different, in order, and occur."""
    found = list(zip(*(bins.tolist() for bins in table.bins), strict=True))
    assert found == sorted(set(found))
    assert (table.counts > 0).all()
    return dict(zip(found, table.counts.tolist(), strict=True))


@settings(max_examples=150, deadline=None)
@given(SHAPES, st.integers(0, 10**6), CODED, st.integers(0, 30))
def test_a_table_is_its_rows_counted(sizes: list[int], seed: int, coded: int, n: int) -> None:
    limits(coded, 2**22)
    layout = layout_of(*sizes)
    rows, others = drawn(layout, seed, n), drawn(layout, seed + 1, 7)
    table, other = counted(layout, rows), counted(layout, others)
    assert cells(table) == Counter(rows)
    assert cells(table + other) == Counter(rows) + Counter(others)
    assert table.total == n
    assert len(table) == len(set(rows))
    assert [tuple(row) for row in table.expand().tolist()] == sorted(rows)
    assert list(zip(*(table.rows(c).tolist() for c in range(len(sizes))), strict=True)) == sorted(rows)
    assert table.same_as(counted(layout, rows[::-1]))
    assert table.same_as(table + other) == (not others)
    mask = np.arange(len(table)) % 2 == 0
    assert cells(table.keep(mask)) == {cell: k for i, (cell, k) in enumerate(cells(table).items()) if i % 2 == 0}
    halved = table.with_counts(table.counts // 2)
    assert cells(halved) == {cell: k // 2 for cell, k in cells(table).items() if k > 1}
    assert table.find(other.bins).tolist() == [list(cells(table)).index(c) if c in cells(table) else -1 for c in cells(other)]
    pieces = Tally(layout)
    for start in range(0, n, 3):
        some = np.array(rows[start : start + 3])
        pieces.add(packed(layout, list(some.T)))
    assert pieces.total().same_as(table)
    assert pieces.total().same_as(table)
    assert joined([np.broadcast_to(2, 3), np.broadcast_to(2, 1)]).tolist() == [2, 2, 2, 2]
    counts_module.DENSE_LIMIT = 2**22
    of_bins = [[sum(row[column] == bin_ for row in rows) for bin_ in range(size)] for column, size in enumerate(sizes)]
    assert [margin.tolist() for margin in table.margins()] == of_bins


@pytest.mark.parametrize("sizes", [(2**40, 2**40), (3, 2**40, 2**30), (2**16, 2**16 - 1, 2**33, 2), (2**15, 2, 2**32, 2**31)])
def test_columns_of_any_number_of_bins_are_packed(sizes: tuple[int, ...]) -> None:
    limits(2**62, 2**22)
    layout = layout_of(*sizes)
    rows = [tuple(size - 1 for size in sizes), *drawn(layout, 1, 20), tuple(0 for _ in sizes)]
    assert cells(counted(layout, rows)) == Counter(rows)


@settings(max_examples=100, deadline=None)
@given(SHAPES, st.integers(0, 10**6), CODED)
def test_merged_cells_are_those_of_the_merged_rows(sizes: list[int], seed: int, coded: int) -> None:
    limits(coded, 2**22)
    layout, generator = layout_of(*sizes), np.random.default_rng(seed)
    maps = [np.sort(generator.integers(0, size, size)) for size in sizes]
    rows = drawn(layout, seed, 20)
    coarse = layout_of(*sizes)
    assert cells(counted(layout, rows).merge(coarse, maps)) == Counter(
        tuple(int(into[b]) for into, b in zip(maps, row, strict=True)) for row in rows
    )


@settings(max_examples=100, deadline=None)
@given(SHAPES, st.integers(0, 10**6), CODED, st.sampled_from([1, 6, 2**22]))
def test_sub_tables_are_those_of_the_rows(sizes: list[int], seed: int, coded: int, dense: int) -> None:
    """By `project` in any order, from a lattice, and of the difference of two tables: no cell of either is left out."""
    limits(coded, dense)
    layout = layout_of(*sizes)
    rows, others = drawn(layout, seed, 12), drawn(layout, seed + 1, 9)
    table, other = counted(layout, rows), counted(layout, others)
    marginals, both = lattice(table), difference(table, other)
    for size in range(1, len(sizes) + 1):
        for columns in combinations(range(len(sizes)), size):
            wanted = Counter(tuple(row[c] for c in columns) for row in rows)
            turned = columns[::-1]
            assert cells(table.project(turned)) == Counter(tuple(row[c] for c in turned) for row in rows)
            assert sorted(v for v in marginals.values(columns).tolist() if v) == sorted(wanted.values())
            if layout.subset(columns).n_cells <= counts_module.DENSE_LIMIT:
                full = [wanted[cell] for cell in product(*(range(sizes[c]) for c in columns))]
                assert table.marginal(columns).ravel().tolist() == full
                assert marginals.get(columns).ravel().tolist() == full
            else:
                with pytest.raises(ValueError, match="full array"):
                    table.marginal(columns)
                with pytest.raises(ValueError, match="full array"):
                    marginals.get(columns)
            wanted.subtract(Counter(tuple(row[c] for c in columns) for row in others))
            assert sorted(v for v in both.values(columns).tolist() if v) == sorted(v for v in wanted.values() if v)
    worst = max(abs(v) for v in wanted.values())  # of the last table, which has all columns
    assert largest_difference(table, other, len(sizes)) >= worst


@settings(max_examples=150, deadline=None)
@given(SHAPES, st.integers(0, 10**6), CODED)
def test_a_matching_is_the_same_with_and_without_codes(sizes: list[int], seed: int, coded: int) -> None:
    layout, generator = layout_of(*sizes), np.random.default_rng(seed)
    left, right = counted(layout, drawn(layout, seed, 25)), counted(layout, drawn(layout, seed + 1, 25))
    steps = tuple(
        Step(column=column, allowed=(np.arange(size) < size - 1) & (generator.random(size) < 0.8))
        for column, size in enumerate(sizes)
        if generator.random() < 0.7
    )
    expected = slow_matching(left, right, steps)
    assert maximum_matching(left, right, steps) == expected
    limits(coded, 2**22)
    layout = layout_of(*sizes)
    again = [Counts.of(layout, table.bins, table.counts) for table in (left, right)]
    assert maximum_matching(*again, steps) == expected
    with pytest.MonkeyPatch.context() as patched:  # as for millions of rows
        patched.setattr(matching_module, "_MANY_HASHES", 0)
        assert maximum_matching(*again, steps) == expected


def slow_matching(left: Counts, right: Counts, steps: tuple[Step, ...]) -> int:
    """Rows one by one, along augmenting paths (Kuhn's algorithm)."""
    ours, theirs = ([tuple(row) for row in table.expand().tolist()] for table in (left, right))
    allowed = {step.column: step.allowed for step in steps}

    def similar(a: Row, b: Row) -> bool:
        apart = [c for c in range(len(a)) if a[c] != b[c]]
        return not apart or (
            len(apart) == 1
            and apart[0] in allowed
            and abs(a[apart[0]] - b[apart[0]]) == 1
            and bool(allowed[apart[0]][min(a[apart[0]], b[apart[0]])])
        )

    of_theirs: dict[int, int] = {}

    def placed(i: int, tried: set[int]) -> bool:
        for j, row in enumerate(theirs):
            if j not in tried and similar(ours[i], row):
                tried.add(j)
                if j not in of_theirs or placed(of_theirs[j], tried):
                    of_theirs[j] = i
                    return True
        return False

    return sum(placed(i, set()) for i in range(len(ours)))


def test_cells_without_a_similar_one_are_left_out_of_a_wide_matching_and_no_others() -> None:
    """Of 1,000 cells of eighty columns on either side, forty are the same or a step apart, and few others are looked at."""
    left, right = drawn(EIGHTY, 5, 1000), drawn(EIGHTY, 6, 1000)
    right[:20] = left[100:120]
    right[20:40] = [(*row[:71], (row[71] + 1) % 9, *row[72:]) for row in left[200:220]]
    tables = counted(EIGHTY, left), counted(EIGHTY, right)
    near = matching_module.near_cells(*tables, {1, 71})
    assert set(left[100:120] + left[200:220]) <= set(cells(near[0]))
    assert set(right[:40]) <= set(cells(near[1]))
    assert max(map(len, near)) <= 45
    assert matching_module.near_cells(*tables, set())[0].total >= 20


def test_eighty_columns_beyond_any_code() -> None:
    assert EIGHTY.n_cells > 2**200
    assert not EIGHTY.has_codes
    rows = drawn(EIGHTY, 3, 300)
    table, other = counted(EIGHTY, rows), counted(EIGHTY, rows[:100] + drawn(EIGHTY, 4, 200))
    assert cells(table) == Counter(rows)
    columns = tuple(range(0, 80, 3))
    assert cells(table.project(columns)) == Counter(tuple(row[c] for c in columns) for row in rows)
    one_step = np.array(rows)
    one_step[:, 71] = (one_step[:, 71] + 1) % 9  # the last bin becomes the first, which is no step
    stepped = counted(EIGHTY, [tuple(map(int, row)) for row in one_step])
    steps = (Step(column=71, allowed=np.arange(9) < 8), Step(column=1, allowed=np.arange(30) < 29))
    assert maximum_matching(table, stepped, ()) == 0
    assert maximum_matching(table, stepped, steps) == sum(row[71] < 8 for row in rows)
    wanted = Counter(row[:3] for row in rows)
    wanted.subtract(Counter(tuple(row[:3]) for row in other.expand().tolist()))
    assert largest_difference(table.project((0, 1, 2)), other.project((0, 1, 2)), 3) >= max(abs(v) for v in wanted.values())


def test_digests_of_tables_with_codes_are_what_they_always_were() -> None:
    """sha256 of the layout, then codes and counts as 64-bit integers: ledgers, shortlists and priors hold such digests."""
    assert (
        counted(layout_of(3, 2, 4), [(0, 0, 0), (2, 1, 3), (0, 0, 0)]).digest()
        == "ad2fdda8345318e80404aa3fe030a8b3d76a5ec0be8f5f6f099cea99cc772961"
    )


def test_digests_of_wide_tables_tell_cells_counts_and_columns_apart() -> None:
    rows = drawn(EIGHTY, 1, 9)
    table = counted(EIGHTY, rows)
    others = [
        counted(EIGHTY, rows[1:]),
        counted(EIGHTY, [*rows, rows[0]]),
        counted(EIGHTY, [(*rows[0][:-1], (rows[0][-1] + 1) % 9), *rows[1:]]),
        counted(Layout(columns=(*EIGHTY.columns[:-1], "other"), sizes=EIGHTY.sizes), rows),
    ]
    assert len({table.digest(), *(other.digest() for other in others)}) == 5
    assert table.digest() == counted(EIGHTY, rows[::-1]).digest()


def test_a_wide_table_says_that_it_has_no_codes() -> None:
    table = counted(EIGHTY, drawn(EIGHTY, 1, 3))
    for action in (lambda: table.codes, lambda: codes_of(EIGHTY, table.bins), lambda: Counts(EIGHTY, np.array([1]))):
        with pytest.raises(ValueError, match="codes"):
            action()
    with pytest.raises(ValueError, match="full array"):
        table.dense()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12), st.integers(0, 100))
def test_groups_are_in_the_order_of_the_rows(rows: list[tuple[int, int]], seed: int) -> None:
    words = [np.array([row[c] for row in rows], dtype=np.int64) for c in range(2)]
    groups, values = EqualRows.of(words), np.random.default_rng(seed).integers(-5, 5, len(rows))
    different = sorted(set(rows))
    assert [rows[i] for i in groups.first] == different
    assert groups.ranks.tolist() == [different.index(row) for row in rows]
    assert groups.sums(values).tolist() == [
        sum(int(v) for row, v in zip(rows, values, strict=True) if row == one) for one in different
    ]
    hay = [np.array([row[c] for row in different[::2]], dtype=np.int64) for c in range(2)]
    assert row_positions(hay, words).tolist() == [different[::2].index(row) if row in different[::2] else -1 for row in rows]


def test_rows_that_the_first_word_tells_apart_are_sorted_by_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that is counted: by all words only those are sorted that the first leaves together."""
    sorted_by_all: list[int] = []

    def lexsort(words: list[np.ndarray]) -> np.ndarray:
        sorted_by_all.append(len(words[0]))
        return np.array(sorted(range(len(words[0])), key=lambda row: tuple(word[row] for word in reversed(words))))

    monkeypatch.setattr(np, "lexsort", lexsort)
    first, second = np.array([5, 9, 5, 1, 8, 5, 7]), np.array([2, 0, 1, 0, 0, 2, 0])
    groups = EqualRows.of([first, second])
    assert sorted_by_all == [3]
    assert (first[groups.first].tolist(), second[groups.first].tolist()) == ([1, 5, 5, 7, 8, 9], [0, 1, 2, 0, 0, 0])
    assert groups.sums(np.ones(7, dtype=np.int64)).tolist() == [1, 1, 2, 1, 1, 1]


def test_the_order_of_rare_bins_does_not_depend_on_words() -> None:
    table = counted(EIGHTY, drawn(EIGHTY, 5, 200))
    totals = [np.bincount(bins, weights=table.counts) for bins in table.bins]
    keys = []
    for place, cell in enumerate(cells(table)):
        found = [totals[c][b] for c, b in enumerate(cell)]
        column = found.index(min(found))
        keys.append((min(found), column, cell[column], cell, place))
    assert rare_first(table.bins, table.counts, table.total).tolist() == [key[-1] for key in sorted(keys)]


def test_cells_without_a_rare_bin_are_in_order_if_no_row_has_the_last_bins() -> None:
    """The packed codes allow for every bin of a column, also for bins that no row has."""
    table = counted(EIGHTY, [tuple(min(place, 1) for place in row) for row in drawn(EIGHTY, 5, 200)])
    no_rare_bin = 10**9
    in_order = sorted(range(len(table.counts)), key=lambda place: tuple(int(bins[place]) for bins in table.bins))
    assert rare_first(table.bins, table.counts, no_rare_bin).tolist() == in_order
