"""Compute marginals of a table, or of the difference between two tables: the number of rows for each combination of some
columns' bins.

A marginal is summed from the whole table, or from a cached marginal that contains its columns if this is less work.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, reduce
from itertools import accumulate, combinations, product
from operator import itemgetter
from typing import Any

import numpy as np

from synthrelease.data.counts import (
    DENSE_LIMIT,
    Addends,
    Counts,
    EqualRows,
    check_full_array,
    codes_of,
    few_rows,
    has_full_array,
    negative,
    rows_at,
    word_of,
    words_of,
)
from synthrelease.data.layout import MOST_AXES, CellLimit, Columns, Layout
from synthrelease.data.member_counts import cached_if_binned

# These functions sum full arrays (one axis per column) over columns or to coarser bins, and broadcast marginals back.


def added_up(table: np.ndarray, columns: Sequence[Hashable], names: Sequence[Hashable]) -> np.ndarray:
    """Sum a table over all columns except those in `names`.

    Parameters
    ----------
    columns : the columns of its axes.
    names : the columns of the result, in the order of its axes.
    """
    ordered = [name for name in columns if name in names]
    summed = tuple(axis for axis, name in enumerate(columns) if name not in names)
    return np.asarray(table.sum(axis=summed).transpose([ordered.index(name) for name in names]))


def with_merged_bins(table: np.ndarray, axis: int, into: Sequence[int] | np.ndarray, size: int) -> np.ndarray:
    """Merge bins along one axis of a table by summing them. `into` has the new bin of each bin. The type does not change."""
    merged = np.zeros((*table.shape[:axis], size, *table.shape[axis + 1 :]), dtype=table.dtype)
    np.add.at(np.moveaxis(merged, axis, 0), np.asarray(into), np.moveaxis(table, axis, 0))
    return merged


def spread_out(part: np.ndarray, names: Sequence[Hashable], columns: Sequence[Hashable], shape: Sequence[int]) -> np.ndarray:
    """Broadcast a table to additional columns, as a read-only view.

    Parameters
    ----------
    names : the columns of the last axes of `part`, all among `columns`. Earlier axes of `part` do not change.
    columns, shape : all columns of the result, and their numbers of bins.
    """
    leading = part.ndim - len(names)
    ordered = [name for name in columns if name in names]
    view = part.transpose([*range(leading), *(leading + names.index(name) for name in ordered)])
    view = np.expand_dims(view, tuple(leading + axis for axis, name in enumerate(columns) if name not in names))
    return np.broadcast_to(view, (*part.shape[:leading], *shape))


# The functions below determine the marginals of a table with many columns, and the order of summation, from its columns alone.

GROUP_CELLS = 2**18
"""Largest number of cells of the table of a group of columns, if this table is counted from the cells that occur."""
_FEWEST_CELLS = 2**12
# Largest number of cells of the table of two groups, for counting pairs: the table fits into the cache of a processor.
_PAIRED_CELLS = 2**16
_CELLS_TOGETHER = 2**18  # Number of cells that are summed in one step, which limits the memory of their codes
_FEW_COLUMNS = 12
Groups = set[int]
"""Groups of columns. Each group lists the indices of its columns."""
_Step = tuple[int, Columns]


def column_groups(layout: Layout, together: int, cells: CellLimit) -> tuple[Columns, ...]:
    """Divide the columns into groups of neighbours, so that the joint table of any `together` groups has about `cells`
    cells."""
    most = min(GROUP_CELLS, max(_FEWEST_CELLS, cells))
    return layout.words_within(max(2.0, most ** (1 / together)), most=max(1, MOST_AXES // together))


def are_first_with(chosen: Columns, touched: Groups) -> bool:
    """Return whether `chosen` is the first, in lexicographic order, of the choices of equally many groups that include
    `touched`.

    A marginal with columns in the groups `touched` could be computed from every such choice; it is yielded only for the first.
    """
    missing = len(chosen) - len(touched)
    first = [number for number in range(chosen[-1] + 1) if number not in touched][:missing]
    return set(chosen) == touched | set(first)


def bins_in_cells(shape: tuple[int, ...]) -> np.ndarray:
    """Return a 0/1 matrix of which cells (its columns) have which bin of each column (its rows)."""
    bins = np.indices(shape).reshape(len(shape), -1)
    return np.concatenate([of == np.arange(size)[:, None] for of, size in zip(bins, shape, strict=True)]).astype(float)


def steps_down(columns: int, largest: int) -> Iterable[_Step]:
    """List the marginals with at most `largest` of the columns, each once, depth-first, as pairs: the number of columns summed
    over, and the remaining columns. Each is computed from a larger one, also listed, by summing over one column."""
    return _few_steps(columns, largest) if columns <= _FEW_COLUMNS else _steps(tuple(range(columns)), largest)


def _steps(left: Columns, largest: int, fixed: int = 0, depth: int = 0) -> Iterator[_Step]:
    """List the marginal on the columns `left` and those computed from it. The first `fixed` columns are never summed out."""
    yield depth, left
    if len(left) > 1:
        for out in range(fixed, min(len(left) - 1, largest) + 1):
            yield from _steps(left[:out] + left[out + 1 :], largest, out, depth + 1)


@lru_cache(maxsize=64)
def _few_steps(columns: int, largest: int) -> tuple[_Step, ...]:
    return tuple(_steps(tuple(range(columns)), largest))


_CELLS_A_ROW = 16  # Ratio of cells to distinct rows above which pairs of columns are counted from the rows
KEPT_TABLES, KEPT_CELLS = 1024, 2 * DENSE_LIMIT
"""Largest number of marginals that are cached in addition to the whole table, and largest total number of values in them (64
MiB)."""


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse table of integers. Cells that are not stored have the value 0.

    Attributes
    ----------
    bins : for each column, the (n_cells,) bins of the stored cells, which are distinct.
    values : (n_cells,) integers, which may be 0 or negative.
    """

    bins: Sequence[np.ndarray]
    values: np.ndarray

    @cached_property
    def addends(self) -> Addends:
        return Addends(self.values)

    def some(self) -> Iterator[tuple[slice, Sequence[np.ndarray]]]:
        """Yield batches of cells, in order: their positions, and their bins in every column."""
        return ((cells, rows_at(self.bins, cells)) for cells in few_rows(len(self.values), _CELLS_TOGETHER))


Table = np.ndarray | Sparse
"""A full array with one axis per column or, if the full array would be too large (`has_full_array`), a sparse table."""


def table_of(layout: Layout, columns: Sequence[int], *parts: Sparse) -> Table:
    """Add sparse tables, and sum the result over all columns but the given ones, which have this layout."""
    if has_full_array(layout):
        every = (
            part.addends.sums(codes_of(layout, [bins[column] for column in columns]), layout.n_cells, cells)
            for part in parts
            for cells, bins in part.some()
        )
        return reduce(np.add, every, np.zeros(layout.n_cells, dtype=np.int64)).reshape(layout.sizes)
    bins = [np.concatenate([part.bins[column] for part in parts]) for column in columns]
    groups = EqualRows.of(words_of(layout, bins))
    return Sparse(tuple(column[groups.first] for column in bins), groups.sums(np.concatenate([part.values for part in parts])))


def summed_to(layout: Layout, columns: Columns, parent: Columns, table: Table) -> Table:
    """Sum a table with the columns `parent` to its marginal on `columns`, in the same order."""
    if not isinstance(table, Sparse):
        for axis, column in enumerate(parent, start=-len(parent)):  # outer axes first, in long loops
            table = table if column in columns else np.add.reduce(table, axis=axis)
        return table
    return table_of(layout.subset(columns), [parent.index(column) for column in columns], table)


def values_of(table: Table) -> np.ndarray:
    """Return the values of all (for a sparse table, of the stored) cells."""
    return table.values if isinstance(table, Sparse) else table.ravel()


class Lattice:
    """Computes the marginals of a table of integers, which may be negative, on request.

    The difference of two tables also contains the cells that occur in only one of them. The most recently used marginals are
    cached: at most `KEPT_TABLES`, with at most `KEPT_CELLS` numbers in total.

    Attributes
    ----------
    whole : the table as a full array; None if it would be too large (`has_full_array`).
    parts : sparse tables whose sum is the table, if `whole` is None.
    pairs : the marginals of all pairs of columns, if `with_pairs` computed them.
    """

    def __init__(self, layout: Layout, whole: np.ndarray | None, *parts: Sparse):
        self.layout, self.whole, self.parts = layout, whole, parts
        self._all = tuple(range(len(layout.sizes)))
        self._kept: OrderedDict[Columns, _Kept] = OrderedDict()
        self._wide: dict[int, dict[Columns, _Kept]] = {}  # by number of columns: only wider ones are parents
        self._cells = 0
        self._prefix: tuple[Columns, list[np.ndarray]] | None = None
        self.pairs: dict[Columns, np.ndarray] = {}

    def get(self, columns: Columns) -> np.ndarray:
        """Return the marginal on `columns`, in increasing order, as a full array. Raises ValueError if it is too large."""
        if columns in self.pairs:
            return self.pairs[columns]
        check_full_array(self.layout.subset(columns))
        table = self._table(columns)
        if isinstance(table, Sparse):
            raise ValueError("expected a table that is small enough for a full array, found a larger one")
        return table

    def values(self, columns: Columns) -> np.ndarray:
        """Return the values of all (if sparse, of the stored) cells of the marginal on `columns`."""
        return values_of(self._table(columns))

    def joint(self, first: Columns, last: int) -> np.ndarray:
        """Return the marginal on the columns `first` and then `last`, as a full array; fast if `first` stays the same."""
        if self.whole is not None:
            columns = tuple(sorted((*first, last)))
            return self.get(columns).transpose([columns.index(column) for column in (*first, last)])
        layout = self.layout.subset((*first, last))
        check_full_array(layout)
        if self._prefix is None or self._prefix[0] != first:
            self._prefix = first, [word_of(self.layout, part.bins, first) for part in self.parts]
        codes = (prefix * layout.sizes[-1] + part.bins[last] for prefix, part in zip(self._prefix[1], self.parts, strict=True))
        return self.sums(codes, layout)

    def sums(self, codes: Iterable[np.ndarray], layout: Layout) -> np.ndarray:
        """Sum all parts of the table into a small full array. `codes` contains, for each part, the cell of each value."""
        every = (part.addends.sums(of_part, layout.n_cells) for of_part, part in zip(codes, self.parts, strict=True))
        return reduce(np.add, every).reshape(layout.sizes)

    def _table(self, columns: Columns) -> Table:
        if self.whole is not None and columns == self._all:
            return self.whole
        if columns == self._all and len(self.parts) == 1:
            return self.parts[0]
        if columns in self._kept:
            self._kept.move_to_end(columns)
            return self._kept[columns].table
        mask = _mask(columns)
        wider = (candidate for width, tables in self._wide.items() if width > len(columns) for candidate in tables.values())
        parents = [candidate for candidate in wider if candidate.mask & mask == mask]
        parent = min(parents, key=lambda candidate: candidate.work(len(columns)), default=None)
        if parent is None or self._work(len(columns)) <= parent.work(len(columns)):
            table_kept = _Kept(columns, self._of_whole(columns))
        else:
            table_kept = _Kept(columns, summed_to(self.layout, columns, parent.columns, parent.table))
        self._keep(table_kept)
        return table_kept.table

    def _keep(self, table: _Kept) -> None:
        self._kept[table.columns] = self._wide.setdefault(len(table.columns), {})[table.columns] = table
        self._cells += table.cells
        while len(self._kept) > KEPT_TABLES or (self._cells > KEPT_CELLS and len(self._kept) > 1):
            columns, gone = self._kept.popitem(last=False)
            del self._wide[len(columns)][columns]
            self._cells -= gone.cells

    def _work(self, n_columns: int) -> int:
        """Return how many numbers are read to sum the whole table to `n_columns` columns."""
        return sum(len(part.values) for part in self.parts) * (1 + n_columns) if self.whole is None else self.whole.size

    def _of_whole(self, columns: Columns) -> Table:
        if self.whole is not None:
            return summed_to(self.layout, columns, self._all, self.whole)
        return table_of(self.layout.subset(columns), columns, *self.parts)


class _Kept:
    """A cached marginal, from which smaller marginals can be computed.

    Attributes
    ----------
    mask : an integer in which bit c is 1 if the marginal has column c.
    cells : the number of stored values.
    """

    __slots__ = ("cells", "columns", "mask", "table")

    def __init__(self, columns: Columns, table: Table):
        self.columns, self.table, self.mask = columns, table, _mask(columns)
        self.cells = len(table.values) * (1 + len(columns)) if isinstance(table, Sparse) else table.size

    def work(self, n_columns: int) -> int:
        return len(self.table.values) * (1 + n_columns) if isinstance(self.table, Sparse) else self.cells


def _mask(columns: Columns) -> int:
    return sum(1 << column for column in columns)


def lattice(table: Counts) -> Lattice:
    if has_full_array(table.layout):
        return Lattice(table.layout, table.dense().reshape(table.layout.sizes))
    return Lattice(table.layout, None, Sparse(table.bins, table.counts))


def difference(left: Counts, right: Counts) -> Lattice:
    """Return an object that computes the marginals of left - right. They include every cell that occurs in either table, even
    if the difference is 0."""
    if has_full_array(left.layout):
        return Lattice(left.layout, (left.dense() - right.dense()).reshape(left.layout.sizes))
    return Lattice(left.layout, None, Sparse(left.bins, left.counts), Sparse(right.bins, negative(right.counts)))


# All marginals of at most a given number of columns are computed one after the other, with one branch in memory.
#
# A table is summed over one column at a time, depth first, so only a chain of ever smaller tables is in memory. If the table is
# too large for a full array and marginals of few columns are wanted, the columns are divided into groups. Combinations of a few
# groups are counted from the cells that occur, and the marginals are summed from these tables.


def differences(
    left: Counts, right: Counts, largest: int, named: Sequence[Columns] = (), fold: np.ufunc | None = None
) -> Iterator[tuple[Columns, Any]]:
    """Yield the columns and values of the marginals of left - right, each once and in no particular order: all with 1 to
    `largest` columns, and those in `named`. With `fold`, such as np.add, fold the absolute values to one integer.

    The values include every cell that occurs in either table, even if the difference is 0; for marginals with at most
    DENSE_LIMIT cells, every cell.
    """
    whole = difference(left, right)
    names_wanted, width = set(named), len(left.layout.sizes)
    sizes = Counter(map(len, names_wanted))
    swept = {size for size, number in sizes.items() if 2 * number >= math.comb(width, size) and size < width}
    most = max((largest, *swept))
    folded = (lambda values: int(fold.reduce(np.abs(values), initial=0))) if fold else lambda values: values
    tables = ((columns, folded(values)) for columns, values in sub_tables(whole, most))
    together = (_differences_of_pairs(left, right, fold) if most == 2 else None) or tables
    for columns, values in together if most else ():
        if len(columns) <= largest or (len(columns) in swept and columns in names_wanted):
            yield columns, values
    for columns in named:
        if largest < len(columns) not in swept:
            yield columns, folded(whole.values(columns))


def _differences_of_pairs(left: Counts, right: Counts, fold: np.ufunc | None) -> Iterator[tuple[Columns, Any]] | None:
    """Return the cached marginals of left - right on all single columns and pairs, or None if full arrays can be used or memory
    is short."""
    sizes = left.layout.sizes
    if has_full_array(left.layout) or _cells_of_pairs(sizes) > KEPT_CELLS or math.prod(sorted(sizes)[-2:]) > DENSE_LIMIT:
        return None
    (columns, starts, ours), (*_, others) = (
        cached_if_binned(table, "pairs", partial(_pairs_of, table)) for table in (left, right)
    )
    values = ours - others
    return zip(columns, fold.reduceat(np.abs(values), starts).tolist() if fold else np.split(values, starts[1:]), strict=True)


def _pairs_of(table: Counts) -> tuple[Sequence[Columns], np.ndarray, np.ndarray]:
    """Return the columns of the marginals on single columns and pairs, and their starts in one array with all values."""
    columns, values = zip(*sorted(sub_tables(lattice(table), 2), key=itemgetter(0)), strict=True)
    return columns, np.cumsum([0, *map(len, values)])[:-1], np.concatenate(values)


def _cells_of_pairs(sizes: Sequence[int]) -> int:
    return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2


def sub_tables(whole: Lattice, largest: int) -> Iterator[tuple[Columns, np.ndarray]]:
    """Yield every marginal of 1 to `largest` columns once: its columns, in increasing order, and its values as a flat array
    (see `values_of`)."""
    sizes = whole.layout.sizes
    largest = min(largest, len(sizes))
    if whole.whole is not None or largest == len(sizes):
        groups: tuple[Columns, ...] = (tuple(range(len(sizes))),)
    else:
        occur = sum(len(part.values) for part in whole.parts)
        # so that summing takes no longer than counting
        cells_wanted = min(occur, _PAIRED_CELLS) if largest == 2 else occur // 4
        groups = column_groups(whole.layout, largest, cells_wanted)
    together = min(largest, len(groups))
    cells = [math.prod(sizes[column] for column in group) for group in groups]
    if largest == together == 2 and max(cells) ** 2 <= DENSE_LIMIT and all(part.addends.exact for part in whole.parts):
        yield from _pairs(whole, groups, cells)
        return
    words = _words_of_groups(whole, groups, cells)
    for chosen in combinations(range(len(groups)), together):
        columns = tuple(sorted(column for number in chosen for column in groups[number]))
        # large columns first: summing out the first column leads to most of the tables
        order = tuple(sorted(columns, key=lambda column: (-sizes[column], column)))
        group_of = {column: number for number in chosen for column in groups[number]}
        for below, table in _below(whole.layout, _ordered(whole, chosen, groups, cells, words, order), order, largest):
            if together == 1 or are_first_with(chosen, {group_of[one] for one in below}):
                in_order = table if isinstance(table, Sparse) else table.transpose(np.argsort(below))
                yield tuple(sorted(below)), values_of(in_order)


def with_pairs(table: Counts) -> Lattice:
    """Return an object that computes the marginals of a table, those of all pairs of columns in advance (six times as fast for
    200 columns with 2 bins).

    If the table is a full array, or if the pairs have more than `KEPT_CELLS` cells, they are computed on request. A table with
    few distinct rows is not stored as a full array.
    """
    sizes, is_sparse = table.layout.sizes, table.layout.n_cells > _CELLS_A_ROW * len(table)
    whole = Lattice(table.layout, None, Sparse(table.bins, table.counts)) if is_sparse else lattice(table)
    if whole.whole is None and _cells_of_pairs(sizes) <= KEPT_CELLS:
        for columns, values in sub_tables(whole, 2):
            if len(columns) == 2 and (shape := (sizes[columns[0]], sizes[columns[1]])) and math.prod(shape) <= DENSE_LIMIT:
                whole.pairs[columns] = values.reshape(shape)
    return whole


def _pairs(whole: Lattice, groups: Sequence[Columns], cells: Sequence[int]) -> Iterator[tuple[Columns, np.ndarray]]:
    """Yield the marginals of all single columns and all pairs. All pairs between two groups of columns are computed together.

    The matrix S_g has a row for every bin of every column of a group g, with 1 for the cells that have this bin. Let T be the
    table of the groups g and h, as a matrix. Then S_g T S_h' contains the marginals of each column of g with each column of h.
    Double precision is exact here: each number is a sum of integers of one part, whose `Addends.exact` is true. The product is
    linear in T, so it can be computed for batches of cells and summed.
    """
    sizes = whole.layout.sizes
    shapes = [tuple(sizes[column] for column in group) for group in groups]
    lines = [bins_in_cells(shape) for shape in shapes]
    lines_of = [[slice(end - size, end) for end, size in zip(accumulate(shape), shape, strict=True)] for shape in shapes]
    of_groups = [np.zeros(size, dtype=np.int64) for size in cells]
    blocks = {(g, h): np.zeros((len(lines[g]), len(lines[h])), dtype=np.int64) for g, h in combinations(range(len(groups)), 2)}
    for part in whole.parts:
        for rows, bins in part.some():
            codes = [
                word_of(whole.layout, bins, group, np.min_scalar_type(size)) for group, size in zip(groups, cells, strict=True)
            ]
            for values, of_group in zip(of_groups, codes, strict=True):
                values += part.addends.sums(of_group, len(values), rows)
            for g, h in blocks:
                (of_both,) = _codes([[codes[g]], [codes[h]]], [cells[g], cells[h]])
                joint = part.addends.sums(of_both, cells[g] * cells[h], rows).reshape(cells[g], cells[h])
                blocks[g, h] += (lines[g] @ joint.astype(float) @ lines[h].T).astype(np.int64)
    for group, shape, values in zip(groups, shapes, of_groups, strict=True):
        for columns, table in _below(whole.layout, values.reshape(shape), group, 2):
            yield columns, values_of(table)
    for (g, h), block in blocks.items():
        for (first, of_first), (second, of_second) in product(
            zip(groups[g], lines_of[g], strict=True), zip(groups[h], lines_of[h], strict=True)
        ):
            yield (first, second), block[of_first, of_second].ravel()


def _below(layout: Layout, table: Table, columns: Columns, largest: int) -> Iterator[tuple[Columns, Table]]:
    """Yield all marginals of a table with at most `largest` columns, each once."""
    branch = [(columns, table)]
    for depth, left in steps_down(len(columns), largest):
        chosen = tuple(columns[number] for number in left)
        if depth:
            wider_columns, wider = branch[depth - 1]
            del branch[depth:]
            branch.append((chosen, summed_to(layout, chosen, wider_columns, wider)))
        if len(left) <= largest:
            yield chosen, branch[depth][1]


def _words_of_groups(whole: Lattice, groups: Sequence[Columns], cells: Sequence[int]) -> list[list[np.ndarray]]:
    """Encode the cells of each part of a table as integers, for each group of columns. Empty for a full array, or if a group
    has more than DENSE_LIMIT cells."""
    if whole.whole is not None or max(cells) > DENSE_LIMIT:
        return []
    return [
        [word_of(whole.layout, part.bins, group, np.min_scalar_type(size)) for part in whole.parts]
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
    """Return the marginal on all columns of the chosen groups, with its axes in the order `order`."""
    columns = tuple(column for number in chosen for column in groups[number])
    layout = whole.layout.subset(columns)
    if whole.whole is None and (not words or not has_full_array(layout)):
        return table_of(whole.layout.subset(order), order, *whole.parts)
    if whole.whole is None:
        full = whole.sums(_codes([words[number] for number in chosen], [cells[number] for number in chosen]), layout)
    else:
        full = whole.get(columns)
    ordered = full.transpose([columns.index(column) for column in order])
    # sums along or beside a short last axis are slow
    return np.asfortranarray(ordered) if ordered.shape[0] >= 4 * ordered.shape[-1] else np.ascontiguousarray(ordered)


def _codes(words: Sequence[Sequence[np.ndarray]], cells: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield, for every part of a table, the codes of its cells in several groups together, from the `words` and numbers of
    `cells` of the groups."""
    kind = np.min_scalar_type(math.prod(cells))
    for of_part in zip(*words, strict=True):
        codes = of_part[0].astype(kind)
        for word, size in zip(of_part[1:], cells[1:], strict=True):
            codes *= size
            codes += word
        yield codes
