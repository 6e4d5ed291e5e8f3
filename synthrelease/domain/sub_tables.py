"""All sub-tables of at most so many columns of one table of integers, one after the other, with one branch in memory.

A table is summed over one column at a time, depth first: what is alive is a chain of ever smaller tables, not all of them.
Where the table is too large for a full array and few columns are wanted, its columns are put into groups, every few groups are
counted at once from the cells that occur, and the sub-tables are summed from these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from synthrelease.domain.cell_codes import word_of
from synthrelease.domain.counts import DENSE_LIMIT, Counts
from synthrelease.domain.lattice import Lattice, Sparse, Table, difference, table_of, values_of
from synthrelease.domain.layout import Layout

GROUP_CELLS = 2**18
"""Cells of the tables that are counted from the cells that occur, where columns are few enough to share such a table."""
_FEWEST_CELLS = 2**12
_FEW_COLUMNS = 12
_Step = tuple[int, int, tuple[int, ...]]


def differences(
    left: Counts, right: Counts, largest: int, named: Sequence[tuple[int, ...]] = ()
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Columns and values of left minus right, for every table of 1 to `largest` columns, and for those named, each once.

    Every cell that occurs in either is there, with 0 or a negative number where the left one has less; of tables with at most
    DENSE_LIMIT cells every cell. Tables come in no particular order. Where half of all tables of a width are named, they are
    met on the way through all of them; otherwise each is summed up by itself.
    """
    whole = difference(left, right)
    wanted, width = set(named), len(left.layout.sizes)
    sizes = Counter(len(columns) for columns in wanted)
    swept = {size for size, number in sizes.items() if 2 * number >= math.comb(width, size) and size < width}
    for columns, values in sub_tables(whole, max((largest, *swept))) if largest or swept else ():
        if len(columns) <= largest or (len(columns) in swept and columns in wanted):
            yield columns, values
    for columns in named:
        if largest < len(columns) not in swept:
            yield columns, whole.values(columns)


def sub_tables(whole: Lattice, largest: int) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Columns (increasing) and values of every sub-table of 1 to `largest` columns, each once."""
    sizes = whole.layout.sizes
    largest = min(largest, len(sizes))
    if whole.layout.n_cells <= DENSE_LIMIT or largest == len(sizes):
        groups: tuple[tuple[int, ...], ...] = (tuple(range(len(sizes))),)
    else:
        groups = column_groups(whole.layout, largest, sum(len(part.values) for part in whole.parts))
    together = min(largest, len(groups))
    cells = [math.prod(sizes[column] for column in group) for group in groups]
    words = _words(whole, groups, cells)
    for chosen in combinations(range(len(groups)), together):
        columns = tuple(sorted(column for number in chosen for column in groups[number]))
        # large columns first: the branch that sums out the first of them is the one with the most tables below
        order = tuple(sorted(columns, key=lambda column: (-sizes[column], column)))
        group_of = {column: number for number in chosen for column in groups[number]}
        for found, table in _below(whole.layout, _ordered(whole, chosen, groups, cells, words, order), order, largest):
            if together == 1 or _belongs(chosen, {group_of[column] for column in found}):
                yield tuple(sorted(found)), values_of(table)


def column_groups(layout: Layout, together: int, cells_that_occur: int) -> tuple[tuple[int, ...], ...]:
    """Neighbouring columns put together so that `together` groups have about `GROUP_CELLS` cells; at least one column each.

    Where few cells occur, fewer: each table is summed up further, which should take no longer than to count it.
    """
    most = min(GROUP_CELLS, max(_FEWEST_CELLS, cells_that_occur // 4))
    return layout.words_within(max(2.0, most ** (1 / together)))


def _belongs(chosen: tuple[int, ...], touched: set[int]) -> bool:
    """Whether these groups are the first that hold a table with columns of the `touched` ones: it is met with others too."""
    missing = len(chosen) - len(touched)
    first = [number for number in range(chosen[-1] + 1) if number not in touched][:missing]
    return set(chosen) == touched | set(first)


def _below(layout: Layout, table: Table, columns: tuple[int, ...], largest: int) -> Iterator[tuple[tuple[int, ...], Table]]:
    """All tables of at most `largest` columns that the table is summed up to, each once, along `_steps`."""
    steps = _few_steps(len(columns), largest) if len(columns) <= _FEW_COLUMNS else _steps(tuple(range(len(columns))), largest)
    branch = [(columns, table)]
    for depth, place, left in steps:
        found = tuple(columns[number] for number in left)
        if depth:
            before, wider = branch[depth - 1]
            del branch[depth:]
            branch.append((found, _without(layout, wider, before, place)))
        if len(left) <= largest:
            yield found, branch[depth][1]


def _steps(left: tuple[int, ...], largest: int, kept: int = 0, depth: int = 0, place: int = -1) -> Iterator[_Step]:
    """Every way down to at most `largest` of these columns, depth first: how many columns were summed out, the place of the
    last of them in what was there before, and what is left. The first `kept` columns stay."""
    yield depth, place, left
    if len(left) > 1:
        for out in range(kept, min(len(left) - 1, largest) + 1):
            yield from _steps(left[:out] + left[out + 1 :], largest, out, depth + 1, out)


@lru_cache(maxsize=64)
def _few_steps(columns: int, largest: int) -> tuple[_Step, ...]:
    """The same, made once for all tables of few columns: what they are called has no bearing."""
    return tuple(_steps(tuple(range(columns)), largest))


def _without(layout: Layout, table: Table, columns: tuple[int, ...], place: int) -> Table:
    """The table summed over the column at this place."""
    if not isinstance(table, Sparse):
        return np.add.reduce(table, axis=place)
    others = [other for other in range(len(columns)) if other != place]
    return table_of(layout.subset(columns[:place] + columns[place + 1 :]), others, table)


def _words(whole: Lattice, groups: Sequence[tuple[int, ...]], cells: Sequence[int]) -> list[list[np.ndarray]]:
    """For every group, the codes over its columns of the cells of every part; none of a full array or of a large group."""
    if whole.whole is not None or max(cells) > DENSE_LIMIT:
        return []
    return [
        [word_of(whole.layout, part.bins, group).astype(np.min_scalar_type(size - 1)) for part in whole.parts]
        for group, size in zip(groups, cells, strict=True)
    ]


def _ordered(
    whole: Lattice,
    chosen: Sequence[int],
    groups: Sequence[tuple[int, ...]],
    cells: Sequence[int],
    words: Sequence[Sequence[np.ndarray]],
    order: tuple[int, ...],
) -> Table:
    """The sub-table of the chosen groups of columns, which follow each other, with its axes in another order."""
    columns = tuple(column for number in chosen for column in groups[number])
    layout = whole.layout.subset(columns)
    if whole.whole is None and (not words or layout.n_cells > DENSE_LIMIT):
        return table_of(whole.layout.subset(order), order, *whole.parts)
    if whole.whole is None:
        full = whole.sums(_codes([words[number] for number in chosen], [cells[number] for number in chosen]), layout)
    else:
        full = whole.get(columns)
    return np.ascontiguousarray(full.transpose([columns.index(column) for column in order]))


def _codes(words: Sequence[Sequence[np.ndarray]], cells: Sequence[int]) -> Iterator[np.ndarray]:
    """For every part, the codes over all these groups of its cells, from those over each, in the smallest type."""
    kind = np.min_scalar_type(math.prod(cells))
    for of_part in zip(*words, strict=True):
        codes = of_part[0].astype(kind)
        for word, size in zip(of_part[1:], cells[1:], strict=True):
            codes *= size
            codes += word
        yield codes
