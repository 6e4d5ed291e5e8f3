"""The public shape of a table of counts, and how its rows are told apart: the code of a cell, the words of a wide row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

CODED_CELLS = 2**62
"""Tables of at most so many cells have a code for each that fits into 64 bits, with a bit to spare for sums of two."""

_FEW_ROWS = 2**14
"""Rows at a time, which stay close to the processor while all columns are put into their words, or taken from them."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Column names and the number of bins of each: the public shape of a table of counts, of any width.

    Cells are ordered by the bin of the first column, then by that of the second, and so on. Where the layout `has_codes`, a
    cell's code is its place in this order. Wider rows are compared as a few `words`, each the code of neighbouring columns.

    Attributes
    ----------
    numbers : what stands for the bins of each column, or None; empty where it is not known. It tells no layouts apart.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    numbers: tuple[tuple[float | None, ...], ...] = field(default=(), compare=False)

    @cached_property
    def n_cells(self) -> int:
        """Number of cells of the whole domain (a Python integer: it may be large)."""
        product = 1
        for size in self.sizes:
            product *= size
        return product

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Mixed-radix weight of each column in a cell's code; the last column varies fastest."""
        strides, product = [], 1
        for size in reversed(self.sizes):
            strides.append(product)
            product *= size
        return tuple(reversed(strides))

    @property
    def has_codes(self) -> bool:
        """Whether every cell has a code, which fits into 64 bits."""
        return self.n_cells <= CODED_CELLS

    @cached_property
    def words(self) -> tuple[tuple[int, ...], ...]:
        """Neighbouring columns, as many in each as have a code together: one word where the layout has codes."""
        return self.words_within(CODED_CELLS)

    def words_within(self, room: int) -> tuple[tuple[int, ...], ...]:
        """Neighbouring columns, as many in each as have at most `room` combinations of bins; at least one."""
        found, cells = list[list[int]](), math.inf
        for column, size in enumerate(self.sizes):
            if cells * size > room:
                found.append([])
                cells = 1
            found[-1].append(column)
            cells *= size
        return tuple(tuple(word) for word in found)

    def codes(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """(n_rows,) int64 codes of the cells of rows that are given by the (n_rows,) bins of every column, at least one.

        Raises
        ------
        ValueError : where the layout has no codes.
        """
        if not self.has_codes:
            raise ValueError(f"expected a layout of at most {CODED_CELLS} cells, found {self.n_cells}: it has no codes")
        return self.word(digits, range(len(self.sizes)))

    def word(self, digits: Sequence[np.ndarray], columns: Iterable[int]) -> np.ndarray:
        """(n_rows,) int64 codes of some columns of these rows, the last varying fastest; they must have codes together."""
        parts = [(part, math.prod(self.sizes[column] for column in part)) for part in self._few_columns(columns)]
        if len(parts) == 1:
            codes = np.empty(len(digits[0]), dtype=np.int64)
            for rows in _few_rows(len(codes)):
                codes[rows] = self._few_cells(digits, *parts[0], rows)
            return codes
        codes = np.zeros(len(digits[0]), dtype=np.int64)
        for rows in _few_rows(len(codes)):
            some = codes[rows]
            for part, cells in parts:
                some *= cells
                some += self._few_cells(digits, part, cells, rows)
        return codes

    def _few_columns(self, columns: Iterable[int]) -> list[list[int]]:
        """Columns that follow each other, as many together as have codes of 32 bits: of half the size and twice as fast."""
        found, cells = list[list[int]](), math.inf
        for column in columns:
            if cells * self.sizes[column] >= 2**32:
                found.append([])
                cells = 1
            found[-1].append(column)
            cells *= self.sizes[column]
        return found

    def _few_cells(self, digits: Sequence[np.ndarray], columns: Sequence[int], cells: int, rows: slice) -> np.ndarray:
        """The codes of some rows over columns with so many cells, in the smallest type."""
        kind = np.min_scalar_type(cells)
        codes = digits[columns[0]][rows].astype(kind)
        for column in columns[1:]:
            codes *= self.sizes[column]
            codes += digits[column][rows].astype(kind, copy=False)
        return codes

    def pack(self, digits: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The (n_rows,) codes of every word of these rows: rows are in the order of the cells just when their words are."""
        return [self.word(digits, word) for word in self.words]

    def pack_mapped(self, maps: Sequence[np.ndarray], digits: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The words of rows whose bin of column c is `maps[c][digits[c]]`, (n_rows,) int64 each."""
        words = [np.zeros(len(digits[0]), dtype=np.int64) for _ in self.words]
        for word, columns in zip(words, self.words, strict=True):
            stride = 1
            for column in reversed(columns):
                word += (maps[column] * stride)[digits[column]]
                stride *= self.sizes[column]
        return words

    def unpack(self, words: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """For every column, (n_rows,) the bins of the rows with these words, in the smallest unsigned type that holds them."""
        n_rows = len(words[0])
        bins = tuple(np.empty(n_rows, dtype=np.min_scalar_type(max(size - 1, 0))) for size in self.sizes)
        for rows in _few_rows(n_rows):
            for word, columns in zip(words, self.words, strict=True):
                left = word[rows]
                for column in reversed(columns):
                    above = left // self.sizes[column]
                    bins[column][rows] = left - above * self.sizes[column]
                    left = above
        return bins

    def largest(self, columns: Iterable[int] | None = None, most: int = 3) -> str:
        """The columns with the most bins, of these or of all, in words: what to make coarser where a table is too large."""
        among = range(len(self.sizes)) if columns is None else columns
        found = sorted(among, key=lambda column: -self.sizes[column])[:most]
        return ", ".join(f"{self.columns[column]!r} ({self.sizes[column]} bins)" for column in found)

    def index(self, column: str) -> int:
        return self.columns.index(column)

    def subset(self, columns: tuple[int, ...]) -> Layout:
        numbers = tuple(self.numbers[i] for i in columns) if self.numbers else ()
        return Layout(
            columns=tuple(self.columns[i] for i in columns), sizes=tuple(self.sizes[i] for i in columns), numbers=numbers
        )


@dataclass(frozen=True, kw_only=True)
class MarksCounted:
    """How the atomic bin of such a column follows from those of the columns that it counts.

    Attributes
    ----------
    column : its place in the layout.
    marks : by the place of each column that it counts, (n_atoms,) whether a row with that atomic bin has the mark. A missing
        value is none.
    bins : (n_marks + 1,) the atomic bin for each number of marks.

    Examples
    --------
    >>> counted = MarksCounted(
    ...     column=2, marks={0: np.array([False, True]), 1: np.array([True, False])}, bins=np.array([0, 1, 1])
    ... )
    >>> counted.of([np.array([0, 1, 1]), np.array([1, 1, 0])]).tolist()
    [0, 1, 1]
    """

    column: int
    marks: Mapping[int, np.ndarray]
    bins: np.ndarray

    def of(self, digits: Mapping[int, np.ndarray] | Sequence[np.ndarray]) -> np.ndarray:
        """(n_rows,) its bin in each row, from the (n_rows,) bins of the columns that it counts, by their places."""
        found = [has[digits[place]] for place, has in self.marks.items()]
        return self.bins[np.sum(found, axis=0)]


def _few_rows(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + _FEW_ROWS) for start in range(0, n_rows, _FEW_ROWS))
