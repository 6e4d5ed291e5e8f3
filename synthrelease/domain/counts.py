"""Counts: a table as its distinct cells and how often each occurs. Every later step works on these, never on rows.

All counts are exact 64-bit integers, so no result depends on the order of the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from synthrelease.domain.schema import Layout

DENSE_LIMIT = 2**22
"""Tables of at most so many cells are held as full arrays (32 MiB), larger ones as the cells that occur."""


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
        return _bincount(self.codes, self.counts, self.layout.n_cells)

    def keep(self, mask: np.ndarray) -> Counts:
        """The rows of the cells where `mask` (n_cells,) is True."""
        return Counts(self.layout, self.codes[mask], self.counts[mask])

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
        dense = _bincount(codes, values, n_cells)
        unique = np.flatnonzero(dense)
        return unique, dense[unique]
    unique, sums = _sum_by_code(codes, values)
    occurs = sums != 0
    return unique[occurs], sums[occurs]


def _sum_by_code(codes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(codes):
        return codes, values
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.add.reduceat(values[order], starts)


def _bincount(codes: np.ndarray, values: np.ndarray, n_cells: int) -> np.ndarray:
    """Exact integer sums: bincount adds doubles, which is exact while the absolute sum stays below 2**53."""
    if len(values) and float(np.abs(values).sum(dtype=float)) >= 2.0**53:
        dense = np.zeros(n_cells, dtype=np.int64)
        np.add.at(dense, codes, values)
        return dense
    return np.bincount(codes, weights=values, minlength=n_cells).astype(np.int64)


class Lattice:
    """All sub-tables (marginals) of one table of integers, each summed from a small one that contains it.

    Values may be negative: the lattice of (private minus synthetic) gives every difference at once, and no cell can be
    dropped for being absent from one side.
    """

    def __init__(self, layout: Layout, codes: np.ndarray, values: np.ndarray):
        self.layout = layout
        full = tuple(range(len(layout.sizes)))
        self._tables: dict[tuple[int, ...], np.ndarray | tuple[np.ndarray, np.ndarray]] = {}
        if layout.n_cells <= DENSE_LIMIT:
            self._tables[full] = _bincount(codes, values, layout.n_cells).reshape(layout.sizes)
        else:
            self._tables[full] = _sum_by_code(codes, values)

    def get(self, columns: tuple[int, ...]) -> np.ndarray:
        """The full array of the sub-table of `columns` (increasing)."""
        table = self._table(columns)
        if isinstance(table, tuple):
            raise ValueError(f"a table of {self.layout.subset(columns).n_cells} cells is too large for a full array")
        return table

    def values(self, columns: tuple[int, ...]) -> np.ndarray:
        """Values of the cells of a sub-table; for tables above DENSE_LIMIT only those of cells that occur."""
        table = self._table(columns)
        return table[1] if isinstance(table, tuple) else table.ravel()

    def _table(self, columns: tuple[int, ...]) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        if columns not in self._tables:
            parent = min(
                (known for known in self._tables if set(columns) < set(known)),
                key=lambda known: (isinstance(self._tables[known], tuple), self.layout.subset(known).n_cells),
            )
            self._tables[columns] = self._sum_out(parent, columns)
        return self._tables[columns]

    def _sum_out(self, parent: tuple[int, ...], columns: tuple[int, ...]):
        table, source, target = self._tables[parent], self.layout.subset(parent), self.layout.subset(columns)
        if not isinstance(table, tuple):
            return table.sum(axis=tuple(i for i, column in enumerate(parent) if column not in columns))
        codes, values = table
        reduced = np.zeros(len(codes), dtype=np.int64)
        for column, stride in zip(columns, target.strides, strict=True):
            i = parent.index(column)
            reduced += (codes // source.strides[i]) % source.sizes[i] * stride
        if target.n_cells <= DENSE_LIMIT:
            return _bincount(reduced, values, target.n_cells).reshape(target.sizes)
        return _sum_by_code(reduced, values)


def lattice(table: Counts) -> Lattice:
    """The marginals of one table."""
    return Lattice(table.layout, table.codes, table.counts)


def difference_lattice(left: Counts, right: Counts) -> Lattice:
    """The marginals of left minus right, over every cell that occurs in either."""
    return Lattice(
        left.layout,
        np.concatenate([left.codes, right.codes]),
        np.concatenate([left.counts, -right.counts]),
    )


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


def column_subsets(n_columns: int, largest: int) -> Iterator[tuple[int, ...]]:
    """All non-empty column subsets of at most `largest` columns, larger ones first."""
    for size in range(min(n_columns, largest), 0, -1):
        yield from combinations(range(n_columns), size)
