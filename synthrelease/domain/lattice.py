"""Sub-tables (marginals) of one table or of the difference of two, each summed from a small one that contains it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from synthrelease.domain.cell_codes import codes_of, word_of, words_of
from synthrelease.domain.counts import DENSE_LIMIT, Counts, check_full_array, has_full_array
from synthrelease.domain.grouping import Addends, EqualRows
from synthrelease.domain.layout import Columns, Layout

KEPT_TABLES, KEPT_CELLS = 1024, 2 * DENSE_LIMIT
"""Sub-tables that a lattice keeps to sum others from, and the numbers in them (64 MiB), beside the whole table."""


@dataclass(frozen=True, eq=False)
class Sparse:
    """A table as the cells that occur.

    Attributes
    ----------
    bins : for every column, (n_cells,) the bin of every cell; different cells.
    values : (n_cells,) integers, which may be 0 or negative.
    """

    bins: tuple[np.ndarray, ...]
    values: np.ndarray

    @cached_property
    def addends(self) -> Addends:
        """The values, to be added up many times."""
        return Addends(self.values)


Table = np.ndarray | Sparse
"""A full array, one axis a column, or the cells that occur where that array would be too large (`has_full_array`)."""


def table_of(layout: Layout, columns: Sequence[int], *parts: Sparse) -> Table:
    """The table of these columns of all parts together: the layout is that of the columns."""
    if has_full_array(layout):
        every = [part.addends.sums(codes_of(layout, [part.bins[c] for c in columns]), layout.n_cells) for part in parts]
        return reduce(np.add, every).reshape(layout.sizes)
    bins = [np.concatenate([part.bins[column] for part in parts]) for column in columns]
    groups = EqualRows.of(words_of(layout, bins))
    return Sparse(tuple(column[groups.first] for column in bins), groups.sums(np.concatenate([part.values for part in parts])))


def summed_to(layout: Layout, columns: Columns, parent: Columns, table: Table) -> Table:
    """The sub-table of `columns` of a table with the columns `parent` of a layout, in the same order."""
    if not isinstance(table, Sparse):
        return np.add.reduce(table, axis=tuple(place for place, column in enumerate(parent) if column not in columns))
    return table_of(layout.subset(columns), [parent.index(column) for column in columns], table)


def values_of(table: Table) -> np.ndarray:
    """The values of its cells; of a sparse table those of the cells that occur."""
    return table.values if isinstance(table, Sparse) else table.ravel()


class Lattice:
    """Sub-tables of one table of integers.

    Values may be negative: no cell is dropped for being absent from one side of a difference. The sub-tables asked for last are
    kept, at most `KEPT_TABLES` of them with `KEPT_CELLS` numbers in all, so that memory does not grow with what was asked for.

    Attributes
    ----------
    whole : the table as a full array; None where that would be too large (`has_full_array`).
    parts : otherwise tables of which it is the sum, one or more. Most cells of two wide tables are in one alone, so that adding
        them up would cost much and spare little.
    pairs : all tables of two columns, where they were counted at once (`sub_tables.with_pairs`); else empty.
    """

    def __init__(self, layout: Layout, whole: np.ndarray | None, *parts: Sparse):
        self.layout, self.whole, self.parts = layout, whole, parts
        self._all = tuple(range(len(layout.sizes)))
        self._kept: OrderedDict[Columns, _Kept] = OrderedDict()
        self._wide: dict[int, dict[Columns, _Kept]] = {}  # the same by their number of columns: only wider ones are parents
        self._cells = 0
        self._prefix: tuple[Columns, list[np.ndarray]] | None = None
        self.pairs: dict[Columns, np.ndarray] = {}

    def get(self, columns: Columns) -> np.ndarray:
        """The full array of the sub-table of `columns` (increasing)."""
        if columns in self.pairs:
            return self.pairs[columns]
        check_full_array(self.layout.subset(columns))
        table = self._table(columns)
        if isinstance(table, Sparse):
            raise ValueError("expected a table that is small enough for a full array, found a larger one")
        return table

    def values(self, columns: Columns) -> np.ndarray:
        """Values of the cells of a sub-table; without a full array only those of cells that occur."""
        return values_of(self._table(columns))

    def joint(self, first: Columns, last: int) -> np.ndarray:
        """The full array of a sub-table with axes (first..., last), in this order, for asking about many columns in turn.

        Of a table above DENSE_LIMIT it is counted from the cells that occur; what belongs to `first` is done once for all
        columns that are asked for one after the other.
        """
        if self.whole is not None:
            columns = tuple(sorted((*first, last)))
            return self.get(columns).transpose([columns.index(column) for column in (*first, last)])
        wanted = self.layout.subset((*first, last))
        check_full_array(wanted)
        if self._prefix is None or self._prefix[0] != first:
            self._prefix = first, [word_of(self.layout, part.bins, first) for part in self.parts]
        codes = (prefix * wanted.sizes[-1] + part.bins[last] for prefix, part in zip(self._prefix[1], self.parts, strict=True))
        return self.sums(codes, wanted)

    def sums(self, codes: Iterable[np.ndarray], layout: Layout) -> np.ndarray:
        """The full array of a small table, where the codes over it of the cells of every part are known."""
        every = (part.addends.sums(known, layout.n_cells) for known, part in zip(codes, self.parts, strict=True))
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
        wider = (kept for width, tables in self._wide.items() if width > len(columns) for kept in tables.values())
        parents = [kept for kept in wider if kept.mask & mask == mask]
        parent = min(parents, key=lambda kept: kept.work(len(columns)), default=None)
        if parent is None or self._work(len(columns)) <= parent.work(len(columns)):
            found = _Kept(columns, self._of_whole(columns))
        else:
            found = _Kept(columns, summed_to(self.layout, columns, parent.columns, parent.table))
        self._keep(found)
        return found.table

    def _keep(self, found: _Kept) -> None:
        """Keep a table, in place of those that were not asked for longest."""
        self._kept[found.columns] = self._wide.setdefault(len(found.columns), {})[found.columns] = found
        self._cells += found.cells
        while len(self._kept) > KEPT_TABLES or (self._cells > KEPT_CELLS and len(self._kept) > 1):
            columns, gone = self._kept.popitem(last=False)
            del self._wide[len(columns)][columns]
            self._cells -= gone.cells

    def _work(self, n_columns: int) -> int:
        """How many numbers must be read to sum up a sub-table of so many columns from the whole table."""
        return sum(len(part.values) for part in self.parts) * (1 + n_columns) if self.whole is None else self.whole.size

    def _of_whole(self, columns: Columns) -> Table:
        if self.whole is not None:
            return summed_to(self.layout, columns, self._all, self.whole)
        return table_of(self.layout.subset(columns), columns, *self.parts)


class _Kept:
    """A sub-table that others may be summed from.

    Attributes
    ----------
    mask : its columns as bits.
    cells : numbers that it holds.
    """

    __slots__ = ("columns", "table", "mask", "cells")

    def __init__(self, columns: Columns, table: Table):
        self.columns, self.table, self.mask = columns, table, _mask(columns)
        self.cells = len(table.values) * (1 + len(columns)) if isinstance(table, Sparse) else table.size

    def work(self, n_columns: int) -> int:
        """How many numbers must be read to sum up a sub-table of so many columns."""
        return len(self.table.values) * (1 + n_columns) if isinstance(self.table, Sparse) else self.cells


def _mask(columns: Columns) -> int:
    return sum(1 << column for column in columns)


def lattice(table: Counts) -> Lattice:
    """The marginals of one table."""
    if has_full_array(table.layout):
        return Lattice(table.layout, table.dense().reshape(table.layout.sizes))
    return Lattice(table.layout, None, Sparse(table.bins, table.counts))


def difference(left: Counts, right: Counts) -> Lattice:
    """The marginals of left minus right. Every cell that occurs in either is there, also where both have as many."""
    if has_full_array(left.layout):
        return Lattice(left.layout, (left.dense() - right.dense()).reshape(left.layout.sizes))
    return Lattice(left.layout, None, Sparse(left.bins, left.counts), Sparse(right.bins, -right.counts))
