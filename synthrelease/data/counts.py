"""Represent a table by its distinct cells (combinations of one bin of every column) and the exact number of rows in each.

A cell is encoded as one integer, its code, or in a wide table as several integers, its words (see `data.layout`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from mmap import ACCESS_COPY, mmap
from typing import Any

import numpy as np

from synthrelease.data.layout import CODED_CELLS, MOST_AXES, PACKED_CELLS, CountedIndicators, Layout

# Two rows are equal if their cells are equal. A cell is compared by its code, or by a few words in a wide table
# (`Layout.words`). This section also computes the bins of a column that lists the indicators of each row.

# Smallest number of rows of a wide table that are sorted in one step, and approximate largest number of steps. Sorting few rows
# takes little memory.
_SORTED_TOGETHER, _MOST_STEPS = 2**17, 32
_COLLECTED = 2**19  # Number of rows that are collected before they are counted
# Number of rows that are processed in one step: few enough that all their columns fit into the processor's cache.
_FEW_ROWS = 2**14
_NUMBERS_A_ROW = 2  # Up to this ratio of numbers to rows, rows are looked up in a table of all numbers


def codes_of(layout: Layout, digits: Sequence[np.ndarray]) -> np.ndarray:
    """Encode each row's bins as one integer, (n_rows,) int64. `digits` contains the (n_rows,) bins of every column, at least
    one.

    Raises
    ------
    ValueError : if the layout has no codes (`Layout.has_codes`).
    """
    if not layout.has_codes:
        raise ValueError(f"expected a layout of at most {CODED_CELLS:,} cells, found {layout.n_cells:,}: it has no codes")
    return word_of(layout, digits, range(len(layout.sizes)))


def word_of(layout: Layout, digits: Sequence[np.ndarray], columns: Iterable[int], kind: Any = np.int64) -> np.ndarray:
    """Return the (n_rows,) number of each row's combination of bins in some columns; the bin of the last column changes
    fastest. The columns may have at most `CODED_CELLS` combinations."""
    # as many columns as fit into codes of 32 bits, which are half as large and twice as fast
    parts = [(part, math.prod(layout.sizes[column] for column in part)) for part in layout.words_within(2**32 - 1, columns)]
    codes = (np.zeros if kind is np.int64 else room)(number_of_rows(digits), kind)  # 64 bits serve a moment, fewer stay
    for rows in few_rows(len(codes)):
        some = rows_at(digits, rows)
        for position, (part, cells) in enumerate(parts):
            of_part = _few_cells(layout, some, part, cells)
            codes[rows] = of_part if not position else codes[rows] * cells + of_part
    return codes


def _few_cells(layout: Layout, digits: Sequence[np.ndarray], columns: Sequence[int], cells: int) -> np.ndarray:
    """Return the (n_rows,) number of each row's combination of bins in these columns, in a small type that can represent
    `cells`."""
    kind = np.min_scalar_type(cells) if cells < 2**32 else np.dtype(np.int64)  # a sum with unsigned 64 bits would be rounded
    codes = np.zeros(1, dtype=kind)
    for first, last in digits.runs(columns) if isinstance(digits, PackedBins) else zip(columns, columns, strict=True):
        of_run = digits.run(first, last) if isinstance(digits, PackedBins) else digits[first]
        if first == columns[0]:
            codes = of_run.astype(kind)
        else:
            codes *= kind.type(math.prod(layout.sizes[first : last + 1]))
            codes += of_run.astype(kind, copy=False)
    return codes


def words_of(layout: Layout, digits: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Encode each row's bins as a few integers: an (n_rows,) array for each group of columns in `Layout.words`. Sorting by
    these arrays sorts rows by their cells."""
    if not isinstance(digits, PackedBins):
        return [word_of(layout, digits, word) for word in layout.words]
    words, parts = list[np.ndarray](), iter(digits.parts)
    for word in layout.words:
        words.append(np.zeros(number_of_rows(digits), dtype=np.int64))
        for columns in layout.words_within(PACKED_CELLS, word):
            words[-1] *= math.prod(layout.sizes[column] for column in columns)
            words[-1] += next(parts)
    return words


def packed(layout: Layout, digits: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Encode rows in little memory: an (n_rows,) array of integers for each group of columns in `layout.packs`."""
    return [word_of(layout, digits, columns, _kind(layout, columns)) for columns in layout.packs]


def packed_from(layout: Layout, maps: Sequence[np.ndarray], digits: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Recode rows to other bins and encode them as in `packed`: bin b of column c becomes bin `maps[c][b]`."""
    parts = [room(number_of_rows(digits), _kind(layout, columns)) for columns in layout.packs]
    for part, columns in zip(parts, layout.packs, strict=True):
        stride = 1
        for column in reversed(columns):
            part += (maps[column] * stride).astype(part.dtype)[digits[column]]
            stride *= layout.sizes[column]
    return parts


def _kind(layout: Layout, columns: Iterable[int]) -> Any:
    """Return int64 if the layout has codes, otherwise the smallest integer type for the codes of these columns."""
    cells = math.prod(layout.sizes[column] for column in columns)
    return np.int64 if layout.has_codes or cells >= 2**32 else np.min_scalar_type(cells)


def bins_of(layout: Layout, codes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Decode codes of rows (`codes_of`) to the (n_rows,) bins of every column, in the smallest unsigned type."""
    bins = tuple(np.empty(len(codes), dtype=np.min_scalar_type(max(size - 1, 0))) for size in layout.sizes)
    for rows in few_rows(len(codes)):
        left = codes[rows]
        for column in reversed(range(len(layout.sizes))):
            above = left // layout.sizes[column]
            bins[column][rows] = left - above * layout.sizes[column]
            left = above
    return bins


class PackedBins(Sequence[np.ndarray]):
    """The bins of many columns in little memory: one integer for each row encodes a group of columns (`layout.packs`).

    Item c is the (n_rows,) array of the bins of column c, computed again at each access. `parts` are the (n_rows,) codes of the
    groups.
    """

    def __init__(self, layout: Layout, parts: Sequence[np.ndarray]):
        self.layout, self.parts = layout, tuple(parts)

    def __len__(self) -> int:
        return len(self.layout.sizes)

    def __getitem__(self, column: Any) -> Any:
        column = range(len(self))[column]
        return self.run(column, column).astype(np.min_scalar_type(max(self.layout.sizes[column] - 1, 0)))

    def run(self, first: int, last: int) -> np.ndarray:
        """Return the (n_rows,) codes of the columns `first` to `last`, which must be stored in the same integer."""
        place = self.layout.pack_of[first]
        part, pack, sizes = self.parts[place], self.layout.packs[place], self.layout.sizes
        if last < pack[-1]:
            part = part // part.dtype.type(math.prod(sizes[last + 1 : pack[-1] + 1]))
        size = part.dtype.type(math.prod(sizes[first : last + 1]))
        return part if first == pack[0] else part - part // size * size

    def runs(self, columns: Sequence[int]) -> list[tuple[int, int]]:
        """Divide the columns into runs of neighbours whose bins one integer stores, each given by its first and last column."""
        starts = [
            place
            for place, column in enumerate(columns)
            if not place or column != columns[place - 1] + 1 or self.layout.pack_of[column] != self.layout.pack_of[column - 1]
        ]
        return [(columns[start], columns[end - 1]) for start, end in pairwise([*starts, len(columns)])]

    def at(self, rows: slice | np.ndarray) -> PackedBins:
        """Return the bins of the selected rows: a view for a slice, a copy for an array of indices."""
        return PackedBins(self.layout, [part[rows] if isinstance(rows, slice) else picked(part, [rows]) for part in self.parts])


def rows_at(digits: Sequence[np.ndarray], rows: slice | np.ndarray) -> Sequence[np.ndarray]:
    return digits.at(rows) if isinstance(digits, PackedBins) else tuple(column[rows] for column in digits)


_OWN_MEMORY = 2**16  # An array of a table with at least this number of bytes gets a separate block of memory


def room(n: int, kind: Any) -> np.ndarray:
    """Return an array of n zeros whose memory returns to the operating system as soon as the array is deleted.

    For an ordinary array below 32 MB, the C library may keep the memory.
    """
    size = n * np.dtype(kind).itemsize
    if size >= _OWN_MEMORY:
        with suppress(OSError):  # if the system cannot give this memory
            return np.frombuffer(mmap(-1, size, access=ACCESS_COPY), dtype=kind)
    return np.zeros(n, dtype=kind)


def in_a_row(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays of one type in the memory of `room`."""
    return np.concatenate(arrays, out=room(sum(map(len, arrays)), arrays[0].dtype), casting="equiv")


def picked(part: np.ndarray, choices: Sequence[np.ndarray]) -> np.ndarray:
    """Return the elements that masks or arrays of indices select, in the memory of `room`."""
    taken, done = room(sum(int(rows.sum()) if rows.dtype == bool else len(rows) for rows in choices), part.dtype), 0
    for rows in choices:
        for few in few_rows(len(rows), _SORTED_TOGETHER):  # without a copy of all of them
            some = part[few][rows[few]] if rows.dtype == bool else part[rows[few]]
            taken[done : (done := done + len(some))] = some
    return taken


def number_of_rows(digits: Sequence[np.ndarray]) -> int:
    return len(digits.parts[0] if isinstance(digits, PackedBins) else digits[0])


def few_rows(n_rows: int, most: int = _FEW_ROWS) -> Iterator[slice]:
    """Yield slices of at most `most` consecutive rows that together cover all rows, in order."""
    return (slice(start, start + most) for start in range(0, n_rows, most))


def number_of_indicators(counted: CountedIndicators, digits: Mapping[int, np.ndarray] | Sequence[np.ndarray]) -> np.ndarray:
    """Return the (n_rows,) bins of a column that lists the true indicators of a row, such as `smoker + diabetic`, from the bins
    of the indicators' columns."""
    marks = [has[digits[column]] for column, has in counted.marks.items()]
    return counted.bins[np.sum(marks, axis=0)]


# Equal rows are found by sorting their words; each word encodes the bins of several columns (`Layout.words`).


@dataclass(frozen=True)
class EqualRows:
    """An order of rows in which equal rows are adjacent.

    Attributes
    ----------
    order : (n_rows,) indices of the rows in sorted order.
    starts : (n_groups,) positions in `order` at which the groups start.
    """

    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, words: Sequence[np.ndarray]) -> EqualRows:
        """Sort rows given by `words`: (n_rows,) arrays of integers, at least one. Ties in the first array are ordered by the
        next."""
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
        """Return the (n_rows,) group of each row, numbered from 0 in sorted order."""
        ranks = np.empty(len(self.order), dtype=np.int64)
        ranks[self.order] = np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.order)))
        return ranks

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the (n_groups,) exact sums of integer values within each group."""
        return np.add.reduceat(values[self.order], self.starts) if len(values) else values


def row_positions(haystack: Sequence[np.ndarray], needles: Sequence[np.ndarray]) -> np.ndarray:
    """Return the (n_needles,) positions of rows in a sorted table of distinct rows, or -1. Both are given as words
    (`EqualRows.of`)."""
    length = len(haystack[0])
    if len(haystack) > 1:
        ranks = EqualRows.of([np.concatenate(words) for words in zip(haystack, needles, strict=True)]).ranks
        haystack, needles = [ranks[:length]], [ranks[length:]]
    if not length:
        return np.full(len(needles[0]), -1)
    least, most = int(haystack[0][0]), int(haystack[0][-1])
    if most - least < _NUMBERS_A_ROW * (length + len(needles[0])):
        # a table of all numbers, which is faster than a search
        table = np.full(most - least + 2, -1)
        table[haystack[0] - least] = np.arange(length)
        return table[np.clip(needles[0], least - 1, most + 1) - least]  # below and above: the last entry, which is -1
    nearest = np.minimum(np.searchsorted(haystack[0], needles[0]), length - 1)
    return np.where(haystack[0][nearest] == needles[0], nearest, -1)


def ones(n: int) -> np.ndarray:
    """Return a read-only array of n ones in the memory of a single number."""
    return np.broadcast_to(np.int64(1), n)


def as_ones(values: np.ndarray) -> np.ndarray:
    """Return the values, in the memory of a single number if all are 1."""
    return ones(len(values)) if len(values) and values.min() == values.max() == 1 else values


def negative(values: np.ndarray) -> np.ndarray:
    """Return the values with the opposite sign, in the memory of a single number if `values` are."""
    return np.broadcast_to(-values[:1], values.shape) if values.strides == (0,) else -values


def joined(values: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays of integers. If all are `ones`, so is the result."""
    if all(part.strides == (0,) and part[0] == 1 for part in values if len(part)):
        return ones(sum(map(len, values)))
    return np.concatenate(values)


def dense_sums(codes: np.ndarray, values: np.ndarray, n_cells: int) -> np.ndarray:
    return Addends(values).sums(codes, n_cells)


class Addends:
    """Integer values, one per row, prepared for several exact sums within cells.

    Attributes
    ----------
    exact : whether double precision can sum these values without rounding, in any order.
    """

    def __init__(self, values: np.ndarray):
        self._values, self._only, self._doubles, self.exact = values, 0, None, True
        if len(values) and values[0] in (1, -1) and values.min() == values.max():  # most rows of a wide table occur once
            self._only = int(values[0])
            return
        doubles = values.astype(float)
        # bincount adds doubles, which is exact while the absolute sum stays below 2**53
        self.exact = bool(np.abs(doubles).sum() < 2.0**53)
        self._doubles = doubles if self.exact else None

    def sums(self, codes: np.ndarray, n_cells: int, rows: slice = slice(None)) -> np.ndarray:
        """Return the (n_cells,) exact sums of the selected rows' values within the cells `codes`."""
        if self._only:
            return np.bincount(codes, minlength=n_cells) * self._only
        if self._doubles is not None:
            return np.bincount(codes, weights=self._doubles[rows], minlength=n_cells).astype(np.int64)
        dense = np.zeros(n_cells, dtype=np.int64)
        np.add.at(dense, codes, self._values[rows])
        return dense


DENSE_LIMIT = 2**22
"""Largest number of cells of a table that is stored as a full array (32 MiB). For a larger table, only the cells that contain
rows are stored.
"""


class Counts:
    """The cells of a table that contain rows, in the order of the layout, with the number of rows in each.

    Parameters
    ----------
    layout : the public shape of the table, with codes (`Layout.has_codes`); `Counts.of` accepts any layout.
    codes : (n_cells,) int64 codes of cells (see `codes_of`). Counts of repeated codes are added up.
    counts : (n_cells,) non-negative integers; by default 1 each.
    """

    __slots__ = ("_bins", "_words", "counts", "layout")

    def __init__(self, layout: Layout, codes: np.ndarray, counts: np.ndarray | None = None):
        codes = np.asarray(codes, dtype=np.int64)
        if not layout.has_codes:
            raise ValueError("expected a layout whose cells have codes, found a larger layout")
        self.layout = layout
        self._words: tuple[np.ndarray, ...] | None
        self._bins: Sequence[np.ndarray] | None = None
        self._words, self.counts = _collect(layout, [codes], counts)

    @classmethod
    def of(cls, layout: Layout, digits: Sequence[np.ndarray], counts: np.ndarray | None = None) -> Counts:
        """Count rows, given by their bins, in each cell.

        Parameters
        ----------
        digits : for every column (at least one), (n_rows,) bins from 0 to the column's size minus 1.
        counts : (n_rows,) number of times that each row occurs, at least 0; by default 1.
        """
        return cls.of_parts(layout, packed(layout, digits), counts)

    @classmethod
    def of_parts(cls, layout: Layout, parts: list[np.ndarray], counts: np.ndarray | None = None) -> Counts:
        """Count the rows in each cell, given as integers that encode their bins (see `packed`). The list `parts` is emptied to
        save memory."""
        distinct, sums = _collect(layout, parts, counts)
        if layout.has_codes:
            return cls.known(layout, sums, words=distinct)
        return cls.known(layout, sums, bins=PackedBins(layout, distinct))

    @classmethod
    def empty(cls, layout: Layout) -> Counts:
        return cls.of(layout, [np.zeros(0, dtype=np.int64)] * len(layout.sizes))

    @classmethod
    def known(
        cls,
        layout: Layout,
        counts: np.ndarray,
        *,
        words: tuple[np.ndarray, ...] | None = None,
        bins: Sequence[np.ndarray] | None = None,
    ) -> Counts:
        """Make a table from cells without checking them: they must be distinct and sorted, with positive counts, as `words` or
        as `bins`."""
        table = cls.__new__(cls)
        table.layout, table.counts, table._words, table._bins = layout, as_ones(counts), words, bins
        return table

    def __repr__(self) -> str:
        return f"Counts(columns={self.layout.columns})"

    def __len__(self) -> int:
        """Return the number of cells that contain rows."""
        return len(self.counts)

    @property
    def total(self) -> int:
        """Return the number of rows."""
        return int(self.counts.sum())

    @property
    def codes(self) -> np.ndarray:
        """Return the (n_cells,) int64 codes of the cells in increasing order. Raises ValueError if the layout has no codes."""
        if not self.layout.has_codes:
            raise ValueError("expected a table whose cells have codes, found a larger table")
        return self.words[0]

    @property
    def words(self) -> tuple[np.ndarray, ...]:
        """Return the cells as an (n_cells,) int64 array for each group in `Layout.words`: with codes, one array of the
        codes."""
        return tuple(words_of(self.layout, self.bins)) if self._words is None else self._words

    @property
    def bins(self) -> Sequence[np.ndarray]:
        """Return the (n_cells,) bins of every column, in the smallest unsigned type, which can overflow in arithmetic. Without
        codes, a column is computed again at each access."""
        if self._bins is None:
            self._bins = bins_of(self.layout, self.codes)
        return self._bins

    def digits(self, column: int) -> np.ndarray:
        """Return the (n_cells,) bins of one column as int64."""
        return self.bins[column].astype(np.int64)

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> Counts:
        """Count the same rows on coarser cells: bin b of column c becomes bin `maps[c][b]`."""
        if layout.sizes == self.layout.sizes and all(np.array_equal(into, np.arange(len(into))) for into in maps):
            return self._over(layout)
        return Counts.of_parts(layout, packed_from(layout, maps, self.bins), self.counts)

    def project(self, columns: Sequence[int]) -> Counts:
        if tuple(columns) == tuple(range(len(self.layout.sizes))):
            return self._over(self.layout)
        return Counts.of(self.layout.subset(tuple(columns)), [self.bins[column] for column in columns], self.counts)

    def marginal(self, columns: Sequence[int]) -> np.ndarray:
        """Return the marginal table of some columns as a full array with one axis per column. Raises ValueError above
        DENSE_LIMIT cells."""
        sub_table = self.layout.subset(tuple(columns))
        check_full_array(sub_table)
        values, sums = Addends(self.counts), np.zeros(sub_table.n_cells, dtype=np.int64)
        for rows in few_rows(len(self), _SORTED_TOGETHER):
            codes = word_of(self.layout, rows_at(self.bins, rows), columns)
            sums += values.sums(codes, sub_table.n_cells, rows)
        return sums.reshape(sub_table.sizes)

    def margins(self) -> list[np.ndarray]:
        """Return, for every column, the (n_bins,) number of rows in each bin."""
        layout = self.layout
        groups = [group for word in layout.words for group in layout.words_within(PACKED_CELLS, word, MOST_AXES)]
        tables = [self.marginal(group) for group in groups]
        axes = [(table, set(range(table.ndim)) - {axis}) for table in tables for axis in range(table.ndim)]
        return [table.sum(axis=tuple(others)) for table, others in axes]

    def dense(self) -> np.ndarray:
        """Return the (layout.n_cells,) counts of all cells, including empty ones. Raises ValueError above DENSE_LIMIT cells."""
        check_full_array(self.layout)
        return dense_sums(self.codes, self.counts, self.layout.n_cells)

    def keep(self, mask: np.ndarray) -> Counts:
        return self._at(mask, as_ones(self.counts[mask]))

    def _at(self, mask: np.ndarray, counts: np.ndarray) -> Counts:
        words = None if self._words is None else (self.codes[mask],)
        bins = None if self._bins is None else rows_at(self._bins, mask)
        return Counts.known(self.layout, counts, words=words, bins=bins)

    def with_counts(self, counts: np.ndarray) -> Counts:
        """Return the same cells with new counts, (n_cells,) integers of at least 0, without cells with a count of 0."""
        counts = np.asarray(counts, dtype=np.int64)
        mask = counts != 0
        if mask.all():
            return Counts.known(self.layout, counts, words=self._words, bins=self._bins)
        counts = as_ones(counts[mask])  # in little memory before the bins take memory
        return self._at(mask, counts)

    def _over(self, layout: Layout) -> Counts:
        """Return the same table with another layout of the same shape."""
        bins = PackedBins(layout, self.bins.parts) if isinstance(self.bins, PackedBins) else self.bins
        return Counts.known(layout, self.counts, words=self._words, bins=bins)

    def find(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """Return the (n_rows,) positions of rows' cells in this table, or -1 where this table has no such cell."""
        return row_positions(self.words, words_of(self.layout, digits))

    def __add__(self, other: Counts) -> Counts:
        parts = [in_a_row(both) for both in zip(self.parts, other.parts, strict=True)]
        return Counts.of_parts(self.layout, parts, joined([self.counts, other.counts]))

    @property
    def parts(self) -> Sequence[np.ndarray]:
        """Return the cells as an (n_cells,) array of integers for each group in `Layout.packs`."""
        return self._bins.parts if isinstance(self._bins, PackedBins) else self.words

    def same_as(self, other: Counts) -> bool:
        """Return whether two tables contain the same rows, with the same columns and numbers of bins."""
        return self.digest() == other.digest()

    def digest(self) -> str:
        """Return the SHA-256 digest of the layout, the cells and their counts, whatever the order of the rows or the format of
        the file.

        Without codes, the digest covers the bins of the cells, column after column.
        """
        digest = hashlib.sha256(repr((self.layout.columns, self.layout.sizes)).encode())
        for array in (*(self.words if self.layout.has_codes else self.bins), self.counts):
            for rows in few_rows(len(array)):
                digest.update(array[rows].astype("<i8").tobytes())
        return digest.hexdigest()

    def rows(self, column: int) -> np.ndarray:
        """Return the (n_rows,) bins of one column, in the order of the cells, in the smallest unsigned type."""
        return np.repeat(self.bins[column], self.counts)

    def expand(self) -> np.ndarray:
        """Return the bins of all rows as a sorted (n_rows, n_columns) int64 array."""
        return np.repeat(np.stack(self.bins, axis=1).astype(np.int64), self.counts, axis=0)


class Tally:
    """Counts rows that arrive in batches.

    Rows are counted when they are many, and more than the distinct rows so far, so each row is sorted only a few times.
    """

    def __init__(self, layout: Layout):
        self._layout, self._counted, self._rows = layout, Counts.empty(layout), list[Sequence[np.ndarray]]()

    def add(self, parts: Sequence[np.ndarray]) -> None:
        self._rows.append(parts)
        if sum(len(each[0]) for each in self._rows) > max(_COLLECTED, len(self._counted)):
            self.total()

    def total(self) -> Counts:
        if self._rows:
            counts = joined([self._counted.counts, *(ones(len(each[0])) for each in self._rows)])
            columns = [list(parts) for parts in (self._counted.parts, *self._rows)]
            self._counted = Counts.empty(self._layout)
            self._rows.clear()
            together = [in_a_row([parts.pop(0) for parts in columns]) for _ in self._layout.packs]
            self._counted = Counts.of_parts(self._layout, together, counts)
        return self._counted


def has_full_array(layout: Layout) -> bool:
    """Return whether a full array can hold a table: at most `DENSE_LIMIT` cells and at most `MOST_AXES` columns."""
    return layout.n_cells <= DENSE_LIMIT and len(layout.sizes) <= MOST_AXES


def check_full_array(layout: Layout) -> None:
    if layout.n_cells > DENSE_LIMIT:
        raise ValueError(f"expected a table of at most {DENSE_LIMIT:,} cells for a full array, found {layout.n_cells:,}")


def _collect(layout: Layout, parts: list[np.ndarray], counts: np.ndarray | None) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the distinct rows in the order of the cells, as integers that encode their bins (`packed`), and their positive
    counts.

    `counts` says how often each given row counts, by default once. The list `parts` is emptied.
    """
    values = ones(len(parts[0])) if counts is None else np.asarray(counts, dtype=np.int64)
    if layout.n_cells <= DENSE_LIMIT:
        dense = dense_sums(parts[0], values, layout.n_cells)
        codes = np.flatnonzero(dense)
        return (codes,), dense[codes]
    firsts, sums = list[np.ndarray](), list[np.ndarray]()
    for rows in _in_order(layout, parts[0]):
        some = [part[rows] for part in parts]
        groups = EqualRows.of(some if layout.has_codes else words_of(layout, PackedBins(layout, some)))
        of_groups = groups.sums(values[rows])
        occurs = of_groups != 0
        firsts.append(in_a_row([rows[groups.first[occurs]].astype(np.min_scalar_type(len(values)))]))
        sums.append(as_ones(of_groups[occurs]))
    distinct = list[np.ndarray]()
    while parts:
        distinct.append(picked(parts.pop(0), firsts))
    return tuple(distinct), joined(sums)


def _in_order(layout: Layout, part: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the indices of rows in batches: all cells of a batch come before all cells of later batches. `part` encodes the
    first columns.

    A batch has at most `_SORTED_TOGETHER` rows (more in a large table), unless all its rows have the same code. Few rows, or a
    layout with codes or with too many bins in its first column, form a single batch.
    """
    most = max(_SORTED_TOGETHER, len(part) // _MOST_STEPS)
    if layout.has_codes or layout.sizes[0] > PACKED_CELLS or len(part) <= _SORTED_TOGETHER:
        yield np.arange(len(part))
        return
    sizes = (np.bincount(part[few], minlength=PACKED_CELLS) for few in few_rows(len(part), _COLLECTED))
    ends, start = np.cumsum(sum(sizes)), 0
    while start < len(ends):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + most, side="right")))
        yield np.concatenate(
            [few.start + np.flatnonzero((part[few] >= start) & (part[few] < stop)) for few in few_rows(len(part), _COLLECTED)]
        )
        start = stop
