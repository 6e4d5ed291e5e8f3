"""Counts: a table as its distinct cells and how often each occurs. Every later step works on these, never on rows.

All counts are exact 64-bit integers, so no result depends on the order of the rows.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from synthrelease.domain.schema import Layout

DENSE_LIMIT = 2**22
"""Tables of at most so many cells are held as full arrays (32 MiB), larger ones as the cells that occur."""

KEPT_TABLES, KEPT_CELLS = 1024, 2 * DENSE_LIMIT
"""Sub-tables that a lattice keeps to sum others from, and their cells in all (64 MiB), beside the whole table."""


class Counts:
    """A multiset of rows over a public layout: unique cell codes, increasing, with their positive counts.

    Parameters
    ----------
    layout : the public shape.
    codes : (n_cells,) int64 mixed-radix codes (`layout.strides`); repeated codes are added up.
    counts : (n_cells,) non-negative integers; ones when omitted.
    """

    __slots__ = ("layout", "codes", "counts")

    def __init__(self, layout: Layout, codes: np.ndarray, counts: np.ndarray | None = None):
        codes = np.asarray(codes, dtype=np.int64)
        counts = np.ones(len(codes), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
        self.layout = layout
        self.codes, self.counts = _collect(codes, counts, layout.n_cells)

    def __repr__(self) -> str:
        return f"Counts(columns={self.layout.columns})"

    @property
    def total(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def digits(self, column: int) -> np.ndarray:
        """(n_cells,) bin index of one column for every cell."""
        return (self.codes // self.layout.strides[column]) % self.layout.sizes[column]

    def all_digits(self) -> list[np.ndarray]:
        return [self.digits(column) for column in range(len(self.layout.sizes))]

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> Counts:
        """The same rows on coarser cells: column c's bin b becomes `maps[c][b]`."""
        codes = np.zeros(len(self.codes), dtype=np.int64)
        for column, (stride, into) in enumerate(zip(layout.strides, maps, strict=True)):
            codes += (into * stride)[self.digits(column)]
        return Counts(layout, codes, self.counts)

    def marginal(self, columns: Sequence[int]) -> np.ndarray:
        """Counts of every cell of the sub-table of `columns` (increasing), as an array of their sizes."""
        return lattice(self).get(tuple(columns))

    def dense(self) -> np.ndarray:
        """(layout.n_cells,) the count of every cell of the domain, in the order of the codes."""
        return dense_sums(self.codes, self.counts, self.layout.n_cells)

    def keep(self, mask: np.ndarray) -> Counts:
        """The rows of the cells where `mask` (n_cells,) is True."""
        return Counts(self.layout, self.codes[mask], self.counts[mask])

    def times(self, column: int, factors: np.ndarray) -> Counts:
        """Every count times the whole number, 0 or above, of the cell's bin of a column: weighted counts, exact below 2^63."""
        return Counts(self.layout, self.codes, self.counts * factors[self.digits(column)])

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.layout, np.concatenate([self.codes, other.codes]), np.concatenate([self.counts, other.counts]))

    def digest(self) -> str:
        """sha256 of layout, cells and counts: the same for the same rows in any order and file format."""
        found = hashlib.sha256(repr((self.layout.columns, self.layout.sizes)).encode())
        for array in (self.codes, self.counts):
            found.update(array.astype("<i8").tobytes())
        return found.hexdigest()

    def expand(self) -> np.ndarray:
        """(n_rows, n_columns) bin indices, one line per row, sorted."""
        return np.repeat(np.stack(self.all_digits(), axis=1), self.counts, axis=0)


def _collect(codes: np.ndarray, values: np.ndarray, n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Unique codes, increasing, with the sum of their values; zero sums are left out."""
    if n_cells <= DENSE_LIMIT:
        dense = dense_sums(codes, values, n_cells)
        unique = np.flatnonzero(dense)
        return unique, dense[unique]
    unique, sums = sum_by_code(codes, values)
    occurs = sums != 0
    return unique[occurs], sums[occurs]


def sum_by_code(codes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The codes that occur, increasing, with the sums of their values, which may be 0."""
    if not len(codes):
        return codes, values
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.add.reduceat(values[order], starts)


def dense_sums(codes: np.ndarray, values: np.ndarray, n_cells: int) -> np.ndarray:
    """Exact integer sums: bincount adds doubles, which is exact while the absolute sum stays below 2**53."""
    if len(values) and float(np.abs(values).sum(dtype=float)) >= 2.0**53:
        dense = np.zeros(n_cells, dtype=np.int64)
        np.add.at(dense, codes, values)
        return dense
    return np.bincount(codes, weights=values, minlength=n_cells).astype(np.int64)


class Lattice:
    """Sub-tables (marginals) of one table of integers, each summed from a small one that contains it.

    Values may be negative: no cell is dropped for being absent from one side of a difference. The sub-tables asked for last are
    kept, at most `KEPT_TABLES` of them with `KEPT_CELLS` cells in all, so that memory does not grow with what was asked for.
    """

    def __init__(self, layout: Layout, codes: np.ndarray, values: np.ndarray):
        self.layout = layout
        self._full = tuple(range(len(layout.sizes)))
        self._kept: OrderedDict[tuple[int, ...], _Kept] = OrderedDict()
        self._digits: dict[int, np.ndarray] = {}
        self._prefix: tuple[tuple[int, ...], np.ndarray] | None = None
        if layout.n_cells <= DENSE_LIMIT:
            self._whole = _Kept(self._full, dense_sums(codes, values, layout.n_cells).reshape(layout.sizes))
        else:
            self._whole = _Kept(self._full, sum_by_code(codes, values))

    def get(self, columns: tuple[int, ...]) -> np.ndarray:
        """The full array of the sub-table of `columns` (increasing)."""
        table = self._table(columns)
        if isinstance(table, tuple):
            raise _too_large(self.layout, columns)
        return table

    def values(self, columns: tuple[int, ...]) -> np.ndarray:
        """Values of the cells of a sub-table; for tables above DENSE_LIMIT only those of cells that occur."""
        table = self._table(columns)
        return table[1] if isinstance(table, tuple) else table.ravel()

    def joint(self, first: tuple[int, ...], last: int) -> np.ndarray:
        """The full array of a sub-table with axes (first..., last), in this order, for asking about many columns in turn.

        Of a table above DENSE_LIMIT it is counted from the cells that occur; what belongs to `first` is done once for all
        columns that are asked for one after the other.
        """
        if not isinstance(self._whole.table, tuple):
            columns = tuple(sorted((*first, last)))
            return self.get(columns).transpose([columns.index(column) for column in (*first, last)])
        shape = tuple(self.layout.sizes[column] for column in (*first, last))
        if math.prod(shape) > DENSE_LIMIT:
            raise _too_large(self.layout, (*first, last))
        if self._prefix is None or self._prefix[0] != first:
            self._prefix = first, self._codes_of(first)
        codes = self._prefix[1] * shape[-1]
        codes += self._digits_of(last)
        if self._weights is None:
            return dense_sums(codes, self._whole.table[1], math.prod(shape)).reshape(shape)
        return np.bincount(codes, weights=self._weights, minlength=math.prod(shape)).astype(np.int64).reshape(shape)

    @cached_property
    def _weights(self) -> np.ndarray | None:
        """The values of the cells that occur as doubles; None where their sums might not be exact (`dense_sums`)."""
        values = self._whole.table[1].astype(float)
        return values if np.abs(values).sum() < 2.0**53 else None

    def coded(self, columns: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Of a table above DENSE_LIMIT: codes over `columns` (the last fastest), which may repeat, with their values."""
        return self._codes_of(columns), self._whole.table[1]

    def _table(self, columns: tuple[int, ...]) -> Table:
        if columns == self._full:
            return self._whole.table
        if columns in self._kept:
            self._kept.move_to_end(columns)
            return self._kept[columns].table
        mask = _mask(columns)
        parents = [kept for kept in self._kept.values() if kept.mask & mask == mask]
        found = _Kept(columns, self._sum_out(min((self._whole, *parents), key=lambda kept: kept.work), columns))
        self._kept[columns] = found
        cells = sum(kept.cells for kept in self._kept.values())
        while len(self._kept) > KEPT_TABLES or (cells > KEPT_CELLS and len(self._kept) > 1):
            cells -= self._kept.popitem(last=False)[1].cells
        return found.table

    def _sum_out(self, parent: _Kept, columns: tuple[int, ...]) -> Table:
        if not isinstance(parent.table, tuple):
            return parent.table.sum(axis=tuple(i for i, column in enumerate(parent.columns) if column not in columns))
        target = self.layout.subset(columns)
        if parent is self._whole:
            reduced = self._codes_of(columns)
        else:
            source, reduced = self.layout.subset(parent.columns), np.zeros(len(parent.table[0]), dtype=np.int64)
            for column, stride in zip(columns, target.strides, strict=True):
                i = parent.columns.index(column)
                reduced += (parent.table[0] // source.strides[i]) % source.sizes[i] * stride
        if target.n_cells <= DENSE_LIMIT:
            return dense_sums(reduced, parent.table[1], target.n_cells).reshape(target.sizes)
        return sum_by_code(reduced, parent.table[1])

    def _codes_of(self, columns: tuple[int, ...]) -> np.ndarray:
        """(n_cells,) int64 codes over `columns`, the last varying fastest, of the cells that occur in the whole table."""
        codes = np.zeros(len(self._whole.table[0]), dtype=np.int64)
        for column in columns:
            codes *= self.layout.sizes[column]
            codes += self._digits_of(column)
        return codes

    def _digits_of(self, column: int) -> np.ndarray:
        """(n_cells,) the bins of one column, in the smallest type that holds them: looked up again and again."""
        if column not in self._digits:
            size = self.layout.sizes[column]
            bins = (self._whole.table[0] // self.layout.strides[column]) % size
            self._digits[column] = bins.astype(np.min_scalar_type(size - 1))
        return self._digits[column]


Table = np.ndarray | tuple[np.ndarray, np.ndarray]
"""A sub-table as a full array, or as the codes of the cells that occur with their values."""


class _Kept:
    """A sub-table that others may be summed from.

    Attributes
    ----------
    mask : its columns as bits.
    cells : numbers that it holds.
    work : how many numbers must be read to sum something out.
    """

    __slots__ = ("columns", "table", "mask", "cells", "work")

    def __init__(self, columns: tuple[int, ...], table: Table):
        self.columns, self.table, self.mask = columns, table, _mask(columns)
        self.cells = 2 * len(table[0]) if isinstance(table, tuple) else table.size
        self.work = self.cells * len(columns) if isinstance(table, tuple) else table.size


def _mask(columns: tuple[int, ...]) -> int:
    return sum(1 << column for column in columns)


def _too_large(layout: Layout, columns: tuple[int, ...]) -> ValueError:
    return ValueError(f"a table of {layout.subset(columns).n_cells} cells is too large for a full array")


def lattice(table: Counts) -> Lattice:
    """The marginals of one table."""
    return Lattice(table.layout, table.codes, table.counts)


def rare_first(digits: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """An order of cells in which those of a rare bin stand together: by the rarest bin that each is in, then by their bins.

    Sampling at equal distances along it (systematic sampling) keeps the totals of rare bins nearly exact.

    Parameters
    ----------
    digits : per column, (n_cells,) the bin of every cell.
    weights : (n_cells,) how much of each cell there is.
    """
    rarest, column_of = np.full(len(weights), np.inf), np.zeros(len(weights), dtype=np.int64)
    for column, bins in enumerate(digits):
        totals = np.bincount(bins, weights=weights)[bins] if len(bins) else rarest
        rarer = totals < rarest
        rarest, column_of = np.where(rarer, totals, rarest), np.where(rarer, column, column_of)
    return np.lexsort([*reversed(digits), column_of, rarest])
