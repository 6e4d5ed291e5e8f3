"""Represent a table as its distinct cells with their counts. All steps after the reading work on these counts, never on rows.

All counts are exact 64-bit integers, so no result depends on the order of the rows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.layout import CODED_CELLS, MOST_AXES, CountedIndicators, Layout

# Two rows are equal when their cells are. A cell is compared by its code, or by a few words in a wide table (`Layout.words`).
# This section also computes the bins of a column that counts the indicators of each row.

_FEW_ROWS = 2**14
"""Number of rows that are processed at a time: few enough to stay in the processor's cache while all their columns are encoded.
"""


def codes_of(layout: Layout, digits: Sequence[np.ndarray]) -> np.ndarray:
    """Return (n_rows,) int64 codes of the cells of rows, from the (n_rows,) bins of every column; there is at least one column.

    Raises
    ------
    ValueError : where the layout has no codes.
    """
    if not layout.has_codes:
        raise ValueError(f"expected a layout of at most {CODED_CELLS} cells, found {layout.n_cells}: it has no codes")
    return word_of(layout, digits, range(len(layout.sizes)))


def word_of(layout: Layout, digits: Sequence[np.ndarray], columns: Iterable[int]) -> np.ndarray:
    """Return (n_rows,) int64 codes of the given columns of some rows; the last column varies fastest.

    The product of the sizes of these columns must not exceed `CODED_CELLS`.
    """
    # as many columns together as have codes of 32 bits: of half the size and twice as fast
    parts = [(part, math.prod(layout.sizes[column] for column in part)) for part in layout.words_within(2**32 - 1, columns)]
    codes = np.zeros(len(digits[0]), dtype=np.int64)
    for rows in _few_rows(len(codes)):
        for position, (part, cells) in enumerate(parts):
            of_part = _few_cells(layout, digits, part, cells, rows)
            codes[rows] = of_part if not position else codes[rows] * cells + of_part
    return codes


def _few_cells(layout: Layout, digits: Sequence[np.ndarray], columns: Sequence[int], cells: int, rows: slice) -> np.ndarray:
    """Return the codes of some rows over columns with `cells` cells together, in the smallest unsigned type."""
    kind = np.min_scalar_type(cells)
    codes = digits[columns[0]][rows].astype(kind)
    for column in columns[1:]:
        codes *= layout.sizes[column]
        codes += digits[column][rows].astype(kind, copy=False)
    return codes


def words_of(layout: Layout, digits: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the (n_rows,) codes of every word of some rows. Sorting rows by their words sorts them by their cells."""
    return [word_of(layout, digits, word) for word in layout.words]


def words_of_mapped(layout: Layout, maps: Sequence[np.ndarray], digits: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the codes of rows as `words_of` does, one (n_rows,) int64 array for each group of columns in `layout.words`. The
    bin of a row in column c is `maps[c][digits[c]]`.
    """
    words = [np.zeros(len(digits[0]), dtype=np.int64) for _ in layout.words]
    for word, columns in zip(words, layout.words, strict=True):
        stride = 1
        for column in reversed(columns):
            word += (maps[column] * stride)[digits[column]]
            stride *= layout.sizes[column]
    return words


def bins_of(layout: Layout, words: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return for every column the (n_rows,) bins of the rows with these words, in the smallest unsigned type that holds all
    bins.
    """
    n_rows = len(words[0])
    bins = tuple(np.empty(n_rows, dtype=np.min_scalar_type(max(size - 1, 0))) for size in layout.sizes)
    for rows in _few_rows(n_rows):
        for word, columns in zip(words, layout.words, strict=True):
            left = word[rows]
            for column in reversed(columns):
                above = left // layout.sizes[column]
                bins[column][rows] = left - above * layout.sizes[column]
                left = above
    return bins


def _few_rows(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + _FEW_ROWS) for start in range(0, n_rows, _FEW_ROWS))


def number_of_indicators(counted: CountedIndicators, digits: Mapping[int, np.ndarray] | Sequence[np.ndarray]) -> np.ndarray:
    """Return the (n_rows,) bin of a column that counts indicators in each row, from the (n_rows,) bins of the counted
    columns.
    """
    marks = [has[digits[column]] for column, has in counted.marks.items()]
    return counted.bins[np.sum(marks, axis=0)]


# Equal rows are found by sorting their words; each word encodes the bins of several columns (`Layout.words`).


@dataclass(frozen=True)
class EqualRows:
    """The order of rows by their words, with the start of each group of equal rows.

    Attributes
    ----------
    order : (n_rows,) indices of the rows, equal ones side by side.
    starts : (n_groups,) where the groups start in `order`.
    """

    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, words: Sequence[np.ndarray]) -> EqualRows:
        """Sort rows that are given by the (n_rows,) integers of every word; the first word is the most significant one.

        A word encodes many columns, so the first word alone orders nearly all rows. Only rows that share the first word are
        sorted by the other words. At least one word is needed.
        """
        order = np.argsort(words[0], kind="stable")  # a stable sort takes linear time on sorted tables that are concatenated
        ordered = words[0][order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = ordered[1:] != ordered[:-1]
        if len(words) > 1:
            tied = ~new
            tied[:-1] |= ~new[1:]
            tied_rows = np.flatnonzero(tied)
            rows = order[tied_rows]
            rows = order[tied_rows] = rows[np.lexsort([word[rows] for word in reversed(words)])]
            for word in words[1:]:
                ordered = word[rows]
                new[tied_rows[1:]] |= ordered[1:] != ordered[:-1]
        return cls(order, np.flatnonzero(new))

    @property
    def first(self) -> np.ndarray:
        """Return the (n_groups,) index of one row of each group."""
        return self.order[self.starts]

    @property
    def ranks(self) -> np.ndarray:
        """Return the (n_rows,) index of each row's group, from 0, in sorted order."""
        new = np.zeros(len(self.order), dtype=np.int64)
        new[self.starts[1:]] = 1
        ranks = np.empty(len(self.order), dtype=np.int64)
        ranks[self.order] = np.cumsum(new)
        return ranks

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the (n_groups,) exact sums of integer values, one value per row, within each group."""
        return np.add.reduceat(values[self.order], self.starts) if len(values) else values


def places_in(haystack: Sequence[np.ndarray], needles: Sequence[np.ndarray]) -> np.ndarray:
    """Return the (n_needles,) position of each searched row in the haystack; -1 where the haystack lacks the row.

    Parameters
    ----------
    haystack : words of distinct, sorted rows, as for `EqualRows.of`.
    needles : words of the searched rows.
    """
    length = len(haystack[0])
    if len(haystack) > 1:
        ranks = EqualRows.of([np.concatenate(words) for words in zip(haystack, needles, strict=True)]).ranks
        haystack, needles = [ranks[:length]], [ranks[length:]]
    if not length:
        return np.full(len(needles[0]), -1)
    nearest = np.minimum(np.searchsorted(haystack[0], needles[0]), length - 1)
    return np.where(haystack[0][nearest] == needles[0], nearest, -1)


def dense_sums(codes: np.ndarray, values: np.ndarray, n_cells: int) -> np.ndarray:
    """Return the (n_cells,) exact sums of integer values, one value per row, by the code of each row's cell."""
    return Addends(values).sums(codes, n_cells)


class Addends:
    """Integer values, one per row, that can be summed by cell repeatedly, for several ways to assign rows to cells."""

    def __init__(self, values: np.ndarray):
        self._values, self._only, self._doubles = values, 0, None
        if len(values) and values[0] in (1, -1) and values.min() == values.max():  # most rows of a wide table occur once
            self._only = int(values[0])
            return
        doubles = values.astype(float)
        # bincount adds doubles, which is exact while the absolute sum stays below 2**53
        self._doubles = doubles if np.abs(doubles).sum() < 2.0**53 else None

    def sums(self, codes: np.ndarray, n_cells: int) -> np.ndarray:
        """Return the (n_cells,) exact sums of the values by the code of each row's cell."""
        if self._only:
            return np.bincount(codes, minlength=n_cells) * self._only
        if self._doubles is not None:
            return np.bincount(codes, weights=self._doubles, minlength=n_cells).astype(np.int64)
        dense = np.zeros(n_cells, dtype=np.int64)
        np.add.at(dense, codes, self._values)
        return dense


DENSE_LIMIT = 2**22
"""Largest number of cells of a table that is stored as a full array (32 MiB). A larger table stores only the cells that occur.
"""


class Counts:
    """The cells that occur in a table, in the order of the layout, with their positive counts.

    Parameters
    ----------
    layout : the public shape, which must have codes (`Layout.has_codes`); `Counts.of` accepts any layout.
    codes : (n_cells,) int64 codes of cells (`codes_of`); the counts of a repeated code are added up.
    counts : (n_cells,) non-negative integers; 1 for each code when omitted.
    """

    __slots__ = ("_bins", "_words", "counts", "layout")

    def __init__(self, layout: Layout, codes: np.ndarray, counts: np.ndarray | None = None):
        codes = np.asarray(codes, dtype=np.int64)
        if not layout.has_codes:
            raise ValueError("expected a layout that has codes, found a wider one")
        self.layout = layout
        self._words: tuple[np.ndarray, ...] | None
        self._bins: tuple[np.ndarray, ...] | None = None
        self._words, self.counts = _collect(layout, [codes], counts)

    @classmethod
    def of(cls, layout: Layout, digits: Sequence[np.ndarray], counts: np.ndarray | None = None) -> Counts:
        """Return the counts of the rows with these bins.

        Parameters
        ----------
        digits : for every column, (n_rows,) bins from 0 to the column's size minus 1; there is at least one column.
        counts : (n_rows,) how often each row occurs, at least 0; 1 when omitted. The counts of equal rows are added up.
        """
        return cls.of_words(layout, words_of(layout, digits), counts)

    @classmethod
    def of_words(cls, layout: Layout, words: Sequence[np.ndarray], counts: np.ndarray | None = None) -> Counts:
        """Return the counts of the rows with these words, (n_rows,) int64 each (`words_of`); `counts` as in `Counts.of`."""
        distinct, sums = _collect(layout, words, counts)
        return cls.known(layout, sums, words=distinct)

    @classmethod
    def of_sorted(cls, layout: Layout, codes: np.ndarray) -> Counts:
        """Return the counts of rows from their (n_rows,) codes, which are sorted."""
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        return cls.known(layout, np.diff(starts, append=len(codes)), words=(codes[starts],))

    @classmethod
    def empty(cls, layout: Layout) -> Counts:
        """Return the counts of a table without rows."""
        return cls.of(layout, [np.zeros(0, dtype=np.int64)] * len(layout.sizes))

    @classmethod
    def known(
        cls,
        layout: Layout,
        counts: np.ndarray,
        *,
        words: tuple[np.ndarray, ...] | None = None,
        bins: tuple[np.ndarray, ...] | None = None,
    ) -> Counts:
        """Return counts from distinct, sorted cells with positive counts, without checks. Pass the cells as `words` or as
        `bins`.
        """
        table = cls.__new__(cls)
        table.layout, table.counts, table._words, table._bins = layout, counts, words, bins
        return table

    def __repr__(self) -> str:
        return f"Counts(columns={self.layout.columns})"

    def __len__(self) -> int:
        """Return the number of cells that occur."""
        return len(self.counts)

    @property
    def total(self) -> int:
        """Return the number of rows."""
        return int(self.counts.sum())

    @property
    def codes(self) -> np.ndarray:
        """Return the (n_cells,) int64 codes of the cells, increasing. Raises ValueError where the layout has no codes."""
        if not self.layout.has_codes:
            raise ValueError("expected a table whose layout has codes, found a wider one")
        return self.words[0]

    @property
    def words(self) -> tuple[np.ndarray, ...]:
        """Return (n_cells,) int64 values for every word of the layout, in order. A layout with codes has one word, the
        codes.
        """
        return tuple(words_of(self.layout, self.bins)) if self._words is None else self._words

    @property
    def bins(self) -> tuple[np.ndarray, ...]:
        """Return for every column the (n_cells,) bin of every cell, in the smallest unsigned type: safe as an index, not in
        arithmetic.

        A wide table is stored in one form to save memory: after this call its words are computed on demand.
        """
        if self._bins is None:
            self._bins = bins_of(self.layout, self.words)
            if len(self.words) > 1:
                self._words = None
        return self._bins

    def digits(self, column: int) -> np.ndarray:
        """Return the (n_cells,) bin of one column for every cell, as int64, which is safe in arithmetic."""
        return self.bins[column].astype(np.int64)

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> Counts:
        """Return the counts of the same rows on coarser cells: bin b of column c becomes `maps[c][b]`."""
        if layout.sizes == self.layout.sizes and all(np.array_equal(into, np.arange(len(into))) for into in maps):
            return self._over(layout)
        return Counts.of_words(layout, words_of_mapped(layout, maps, self.bins), self.counts)

    def project(self, columns: Sequence[int]) -> Counts:
        """Return the counts over some of the columns, in the given order."""
        if tuple(columns) == tuple(range(len(self.layout.sizes))):
            return self._over(self.layout)
        return Counts.of(self.layout.subset(tuple(columns)), [self.bins[column] for column in columns], self.counts)

    def marginal(self, columns: Sequence[int]) -> np.ndarray:
        """Return the marginal of `columns` as a full array, one axis per column. Raises ValueError above DENSE_LIMIT cells."""
        sub_table = self.layout.subset(tuple(columns))
        check_full_array(sub_table)
        codes = word_of(self.layout, self.bins, columns)
        return dense_sums(codes, self.counts, sub_table.n_cells).reshape(sub_table.sizes)

    def dense(self) -> np.ndarray:
        """Return the (layout.n_cells,) count of every cell of the domain. Raises ValueError above DENSE_LIMIT cells."""
        check_full_array(self.layout)
        return dense_sums(self.codes, self.counts, self.layout.n_cells)

    def keep(self, mask: np.ndarray) -> Counts:
        """Return the counts of the cells where `mask` (n_cells,) is True."""
        words, bins = (None if arrays is None else tuple(part[mask] for part in arrays) for arrays in (self._words, self._bins))
        return Counts.known(self.layout, self.counts[mask], words=words, bins=bins)

    def with_counts(self, counts: np.ndarray) -> Counts:
        """Return the same cells with new counts, (n_cells,) integers of at least 0; cells with count 0 are dropped."""
        other = Counts.known(self.layout, np.asarray(counts, dtype=np.int64), words=self._words, bins=self._bins)
        return other if other.counts.all() else other.keep(other.counts != 0)

    def _over(self, layout: Layout) -> Counts:
        """Return the same cells over a layout of the same shape. The arrays are shared, not copied."""
        bins = self.bins
        return Counts.known(layout, self.counts, words=self._words, bins=bins)

    def find(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """Return the (n_rows,) position of each row's cell among the cells of this table; -1 where the cell does not occur.

        `digits` has one array of bins per column.
        """
        return places_in(self.words, words_of(self.layout, digits))

    def __add__(self, other: Counts) -> Counts:
        words = [np.concatenate(both) for both in zip(self.words, other.words, strict=True)]
        return Counts.of_words(self.layout, words, np.concatenate([self.counts, other.counts]))

    def same_as(self, other: Counts) -> bool:
        """Return whether the two tables have the same rows, and layouts with the same columns and sizes."""
        return self.digest() == other.digest()

    def digest(self) -> str:
        """Return the SHA-256 digest of layout, cells and counts. It does not depend on the order of the rows or the file
        format.

        The digest covers the codes of the cells; where the layout has no codes, it covers the bins, column after column.
        """
        digest = hashlib.sha256(repr((self.layout.columns, self.layout.sizes)).encode())
        for array in (*(self.words if self.layout.has_codes else self.bins), self.counts):
            digest.update(array.astype("<i8").tobytes())
        return digest.hexdigest()

    def rows(self, column: int) -> np.ndarray:
        """Return the (n_rows,) bin of one column in every row, in the smallest unsigned type. Rows are in the order of the
        cells.
        """
        return np.repeat(self.bins[column], self.counts)

    def expand(self) -> np.ndarray:
        """Return the (n_rows, n_columns) int64 bins of all rows, sorted."""
        return np.repeat(np.stack(self.bins, axis=1).astype(np.int64), self.counts, axis=0)


class Tally:
    """A running sum of tables over one layout. It adds tables of similar size first, so that each row is sorted only a few
    times.
    """

    def __init__(self, layout: Layout):
        self._layout, self._sums = layout, list[Counts]()

    def add(self, table: Counts) -> None:
        self._sums.append(table)
        while len(self._sums) > 1 and len(self._sums[-2]) <= 2 * len(self._sums[-1]):
            last = self._sums.pop()
            self._sums[-1] = self._sums[-1] + last

    def total(self) -> Counts:
        """Return the sum of all added tables."""
        total = Counts.empty(self._layout)
        for table in reversed(self._sums):
            total = total + table if len(total) else table
        return total


def has_full_array(layout: Layout) -> bool:
    """Return whether a table can be stored as a full array: at most `DENSE_LIMIT` cells and at most `MOST_AXES` columns."""
    return layout.n_cells <= DENSE_LIMIT and len(layout.sizes) <= MOST_AXES


def check_full_array(layout: Layout) -> None:
    """Raise ValueError where a full array of the table would have more than `DENSE_LIMIT` cells."""
    if layout.n_cells > DENSE_LIMIT:
        raise ValueError(f"expected a table of at most {DENSE_LIMIT} cells for a full array, found {layout.n_cells}")


def _collect(
    layout: Layout, words: Sequence[np.ndarray], counts: np.ndarray | None
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the words of the distinct rows, sorted, with the sums of their counts (1 each where omitted). Rows with sum 0 are
    dropped.
    """
    values = np.ones(len(words[0]), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
    if layout.n_cells <= DENSE_LIMIT:
        dense = dense_sums(words[0], values, layout.n_cells)
        codes = np.flatnonzero(dense)
        return (codes,), dense[codes]
    groups = EqualRows.of(words)
    sums, first = groups.sums(values), groups.first
    occurs = sums != 0
    if not occurs.all():
        first, sums = first[occurs], sums[occurs]
    return tuple(word[first] for word in words), sums
