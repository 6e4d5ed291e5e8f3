"""All sub-tables of at most so many columns of one table of integers, one after the other, with one branch in memory.

A table is summed over one column at a time, depth first: what is alive is a chain of ever smaller tables, not all of them.
Where the table is too large for a full array and few columns are wanted, its columns are put into groups, every few groups are
counted at once from the cells that occur, and the sub-tables are summed from these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, combinations, product

import numpy as np

from synthrelease.domain.cell_codes import word_of
from synthrelease.domain.counts import DENSE_LIMIT, Counts, has_full_array
from synthrelease.domain.lattice import KEPT_CELLS, Lattice, Table, difference, lattice, summed_to, table_of, values_of
from synthrelease.domain.layout import Columns, Layout
from synthrelease.domain.summing_up import are_first_with, bins_in_cells, column_groups, steps_down


def differences(
    left: Counts, right: Counts, largest: int, named: Sequence[Columns] = ()
) -> Iterator[tuple[Columns, np.ndarray]]:
    """Columns and values of left minus right, for every table of 1 to `largest` columns, and for those named, each once.

    Every cell that occurs in either is there, with 0 or a negative number where the left one has less; of tables with at most
    DENSE_LIMIT cells every cell. Tables come in no particular order. Where half of all tables of a width are named, they are
    met on the way through all of them; otherwise each is summed up by itself.
    """
    whole = difference(left, right)
    wanted, width = set(named), len(left.layout.sizes)
    sizes = Counter(map(len, wanted))
    swept = {size for size, number in sizes.items() if 2 * number >= math.comb(width, size) and size < width}
    for columns, values in sub_tables(whole, max((largest, *swept))) if largest or swept else ():
        if len(columns) <= largest or (len(columns) in swept and columns in wanted):
            yield columns, values
    for columns in named:
        if largest < len(columns) not in swept:
            yield columns, whole.values(columns)


def sub_tables(whole: Lattice, largest: int) -> Iterator[tuple[Columns, np.ndarray]]:
    """Columns (increasing) and values of every sub-table of 1 to `largest` columns, each once."""
    sizes = whole.layout.sizes
    largest = min(largest, len(sizes))
    if whole.whole is not None or largest == len(sizes):
        groups: tuple[Columns, ...] = (tuple(range(len(sizes))),)
    else:
        occur = sum(len(part.values) for part in whole.parts)
        wanted = occur if largest == 2 else occur // 4  # summing up takes no longer than counting
        groups = column_groups(whole.layout, largest, wanted)
    together = min(largest, len(groups))
    cells = [math.prod(sizes[column] for column in group) for group in groups]
    words = _words(whole, groups, cells)
    if largest == together == 2 and words and max(cells) ** 2 <= DENSE_LIMIT and _are_doubles(whole):
        yield from _pairs(whole, groups, cells, words)
        return
    for chosen in combinations(range(len(groups)), together):
        columns = tuple(sorted(column for number in chosen for column in groups[number]))
        # large columns first: the branch that sums out the first of them is the one with the most tables below
        order = tuple(sorted(columns, key=lambda column: (-sizes[column], column)))
        group_of = {column: number for number in chosen for column in groups[number]}
        for found, table in _below(whole.layout, _ordered(whole, chosen, groups, cells, words, order), order, largest):
            if together == 1 or are_first_with(chosen, {group_of[one] for one in found}):
                yield tuple(sorted(found)), values_of(table)


def with_pairs(table: Counts) -> Lattice:
    """The marginals of a table of which nearly all pairs of columns will be asked for: these are counted at once.

    One by one, the pairs of 200 columns with 2 bins take six times as long. Pairs that need more room than is kept, and those
    of a full array, are counted when they are asked for.
    """
    whole, sizes = lattice(table), table.layout.sizes
    cells = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    if whole.whole is None and cells <= KEPT_CELLS:
        for columns, values in sub_tables(whole, 2):
            if len(columns) == 2:
                whole.pairs[columns] = values.reshape([sizes[column] for column in columns])
    return whole


def _are_doubles(whole: Lattice) -> bool:
    """Whether no sum of some of its values is too large for a double."""
    return sum(np.abs(part.values).sum(dtype=float) for part in whole.parts) < 2.0**53


def _pairs(
    whole: Lattice, groups: Sequence[Columns], cells: Sequence[int], words: Sequence[Sequence[np.ndarray]]
) -> Iterator[tuple[Columns, np.ndarray]]:
    """The tables of one and two columns, those of columns in different groups all at once.

    S_g has a line for every bin of every column of a group g, with 1 for the cells that have it. With T the table of the groups
    g and h, as a matrix, S_g T S_h' holds the tables of each column of g with each of h. Doubles are exact here: whole numbers
    are added up, and `_are_doubles`.
    """
    sizes = whole.layout.sizes
    shapes = [tuple(sizes[column] for column in group) for group in groups]
    lines = [bins_in_cells(shape) for shape in shapes]
    places = [[slice(end - size, end) for end, size in zip(accumulate(shape), shape, strict=True)] for shape in shapes]
    for g, h in combinations(range(len(groups)), 2):
        layout = whole.layout.subset(groups[g] + groups[h])
        both = whole.sums(_codes([words[g], words[h]], [cells[g], cells[h]]), layout).reshape(cells[g], cells[h])
        for one in [g] * (h == g + 1) + [h] * (g == len(groups) - 2):
            values = both.sum(axis=1 if one == g else 0)
            for found, table in _below(whole.layout, values.reshape(shapes[one]), groups[one], 2):
                yield found, values_of(table)
        block = (lines[g] @ both.astype(float) @ lines[h].T).astype(np.int64)
        for (first, rows), (second, others) in product(
            zip(groups[g], places[g], strict=True), zip(groups[h], places[h], strict=True)
        ):
            yield (first, second), block[rows, others].ravel()


def _below(layout: Layout, table: Table, columns: Columns, largest: int) -> Iterator[tuple[Columns, Table]]:
    """All tables of at most `largest` columns that the table is summed up to, each once, along `steps_down`."""
    branch = [(columns, table)]
    for depth, left in steps_down(len(columns), largest):
        found = tuple(columns[number] for number in left)
        if depth:
            before, wider = branch[depth - 1]
            del branch[depth:]
            branch.append((found, summed_to(layout, found, before, wider)))
        if len(left) <= largest:
            yield found, branch[depth][1]


def _words(whole: Lattice, groups: Sequence[Columns], cells: Sequence[int]) -> list[list[np.ndarray]]:
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
    groups: Sequence[Columns],
    cells: Sequence[int],
    words: Sequence[Sequence[np.ndarray]],
    order: Columns,
) -> Table:
    """The sub-table of the chosen groups of columns, which follow each other, with its axes in another order."""
    columns = tuple(column for number in chosen for column in groups[number])
    layout = whole.layout.subset(columns)
    if whole.whole is None and (not words or not has_full_array(layout)):
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
