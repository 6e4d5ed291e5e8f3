"""Sub-tables (marginals) of one table or of the difference of two, each summed from a small one that contains it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthrelease.domain.counts import DENSE_LIMIT, Counts, check_full_array
from synthrelease.domain.grouping import EqualRows, dense_sums
from synthrelease.domain.schema import Layout

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


Table = np.ndarray | Sparse
"""A full array, one axis a column, or the cells that occur where that would have more than DENSE_LIMIT cells."""


def table_of(layout: Layout, bins: Sequence[np.ndarray], values: np.ndarray) -> Table:
    """The table of these cells, which may repeat, with the sums of their values."""
    if layout.n_cells <= DENSE_LIMIT:
        return dense_sums(layout.codes(bins), values, layout.n_cells).reshape(layout.sizes)
    groups = EqualRows.of(layout.pack(bins))
    return Sparse(tuple(column[groups.first] for column in bins), groups.sums(values))


def values_of(table: Table) -> np.ndarray:
    """The values of its cells; of a sparse table those of the cells that occur."""
    return table.values if isinstance(table, Sparse) else table.ravel()


class Lattice:
    """Sub-tables of one table of integers.

    Values may be negative: no cell is dropped for being absent from one side of a difference. The sub-tables asked for last are
    kept, at most `KEPT_TABLES` of them with `KEPT_CELLS` numbers in all, so that memory does not grow with what was asked for.
    """

    def __init__(self, layout: Layout, whole: Table):
        self.layout = layout
        self.whole = _Kept(tuple(range(len(layout.sizes))), whole)
        self._kept: OrderedDict[tuple[int, ...], _Kept] = OrderedDict()
        self._wide: dict[
            int, dict[tuple[int, ...], _Kept]
        ] = {}  # the same by their number of columns: only wider ones are parents
        self._cells = 0
        self._prefix: tuple[tuple[int, ...], np.ndarray] | None = None

    def get(self, columns: tuple[int, ...]) -> np.ndarray:
        """The full array of the sub-table of `columns` (increasing)."""
        check_full_array(self.layout.subset(columns))
        table = self._table(columns)
        if isinstance(table, Sparse):
            raise ValueError("expected a table that is small enough for a full array, found a larger one")
        return table

    def values(self, columns: tuple[int, ...]) -> np.ndarray:
        """Values of the cells of a sub-table; for tables above DENSE_LIMIT only those of cells that occur."""
        return values_of(self._table(columns))

    def joint(self, first: tuple[int, ...], last: int) -> np.ndarray:
        """The full array of a sub-table with axes (first..., last), in this order, for asking about many columns in turn.

        Of a table above DENSE_LIMIT it is counted from the cells that occur; what belongs to `first` is done once for all
        columns that are asked for one after the other.
        """
        whole = self.whole.table
        if not isinstance(whole, Sparse):
            columns = tuple(sorted((*first, last)))
            return self.get(columns).transpose([columns.index(column) for column in (*first, last)])
        wanted = self.layout.subset((*first, last))
        check_full_array(wanted)
        if self._prefix is None or self._prefix[0] != first:
            self._prefix = first, self.layout.word(whole.bins, first)
        codes = self._prefix[1] * wanted.sizes[-1]
        codes += whole.bins[last]
        return self.sums(codes, wanted)

    def sums(self, codes: np.ndarray, layout: Layout) -> np.ndarray:
        """The full array of a small table, where the codes over it of all cells that occur in the whole one are known."""
        if self._weights is None:
            return dense_sums(codes, values_of(self.whole.table), layout.n_cells).reshape(layout.sizes)
        return np.bincount(codes, weights=self._weights, minlength=layout.n_cells).astype(np.int64).reshape(layout.sizes)

    @cached_property
    def _weights(self) -> np.ndarray | None:
        """The values of the cells that occur as doubles; None where their sums might not be exact (`dense_sums`)."""
        values = values_of(self.whole.table).astype(float)
        return values if np.abs(values).sum() < 2.0**53 else None

    def _table(self, columns: tuple[int, ...]) -> Table:
        if columns == self.whole.columns:
            return self.whole.table
        if columns in self._kept:
            self._kept.move_to_end(columns)
            return self._kept[columns].table
        mask = _mask(columns)
        wider = (kept for width, tables in self._wide.items() if width > len(columns) for kept in tables.values())
        parents = [kept for kept in wider if kept.mask & mask == mask]
        parent = min((self.whole, *parents), key=lambda kept: kept.work(len(columns)))
        found = _Kept(columns, self._sum_out(parent, columns))
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

    def _sum_out(self, parent: _Kept, columns: tuple[int, ...]) -> Table:
        if not isinstance(parent.table, Sparse):
            return parent.table.sum(axis=tuple(i for i, column in enumerate(parent.columns) if column not in columns))
        bins = [parent.table.bins[parent.columns.index(column)] for column in columns]
        return table_of(self.layout.subset(columns), bins, parent.table.values)


class _Kept:
    """A sub-table that others may be summed from.

    Attributes
    ----------
    mask : its columns as bits.
    cells : numbers that it holds.
    """

    __slots__ = ("columns", "table", "mask", "cells")

    def __init__(self, columns: tuple[int, ...], table: Table):
        self.columns, self.table, self.mask = columns, table, _mask(columns)
        self.cells = len(table.values) * (1 + len(columns)) if isinstance(table, Sparse) else table.size

    def work(self, n_columns: int) -> int:
        """How many numbers must be read to sum up a sub-table of so many columns."""
        return len(self.table.values) * (1 + n_columns) if isinstance(self.table, Sparse) else self.cells


def _mask(columns: tuple[int, ...]) -> int:
    return sum(1 << column for column in columns)


def lattice(table: Counts) -> Lattice:
    """The marginals of one table."""
    layout = table.layout
    small = layout.n_cells <= DENSE_LIMIT
    return Lattice(layout, table.dense().reshape(layout.sizes) if small else Sparse(table.bins, table.counts))


def difference(left: Counts, right: Counts) -> Lattice:
    """The marginals of left minus right. Every cell that occurs in either is there, also where both have as many."""
    layout = left.layout
    if layout.n_cells <= DENSE_LIMIT:
        return Lattice(layout, (left.dense() - right.dense()).reshape(layout.sizes))
    words = [np.concatenate(both) for both in zip(left.words, right.words, strict=True)]
    groups = EqualRows.of(words)
    values = groups.sums(np.concatenate([left.counts, -right.counts]))
    return Lattice(layout, Sparse(layout.unpack([word[groups.first] for word in words]), values))
