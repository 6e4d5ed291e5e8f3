"""How the rows of a table are told apart: the code of a cell, the words of a wide row (`Layout.words`).

Here are also the bins of a row that follow from others of it: how many marks it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from synthrelease.domain.layout import CODED_CELLS, Layout, MarksCounted

_FEW_ROWS = 2**14
"""Rows at a time, which stay close to the processor while all columns are put into their words, or taken from them."""


def codes_of(layout: Layout, digits: Sequence[np.ndarray]) -> np.ndarray:
    """(n_rows,) int64 codes of the cells of rows that are given by the (n_rows,) bins of every column, at least one.

    Raises
    ------
    ValueError : where the layout has no codes.
    """
    if not layout.has_codes:
        raise ValueError(f"expected a layout of at most {CODED_CELLS} cells, found {layout.n_cells}: it has no codes")
    return word_of(layout, digits, range(len(layout.sizes)))


def word_of(layout: Layout, digits: Sequence[np.ndarray], columns: Iterable[int]) -> np.ndarray:
    """(n_rows,) int64 codes of some columns of these rows, the last varying fastest; they must have codes together."""
    # as many columns together as have codes of 32 bits: of half the size and twice as fast
    parts = [(part, math.prod(layout.sizes[column] for column in part)) for part in layout.words_within(2**32 - 1, columns)]
    codes = np.zeros(len(digits[0]), dtype=np.int64)
    for rows in _few_rows(len(codes)):
        for place, (part, cells) in enumerate(parts):
            found = _few_cells(layout, digits, part, cells, rows)
            codes[rows] = found if not place else codes[rows] * cells + found
    return codes


def _few_cells(layout: Layout, digits: Sequence[np.ndarray], columns: Sequence[int], cells: int, rows: slice) -> np.ndarray:
    """The codes of some rows over columns with so many cells, in the smallest type."""
    kind = np.min_scalar_type(cells)
    codes = digits[columns[0]][rows].astype(kind)
    for column in columns[1:]:
        codes *= layout.sizes[column]
        codes += digits[column][rows].astype(kind, copy=False)
    return codes


def words_of(layout: Layout, digits: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The (n_rows,) codes of every word of these rows: rows are in the order of the cells just when their words are."""
    return [word_of(layout, digits, word) for word in layout.words]


def words_of_mapped(layout: Layout, maps: Sequence[np.ndarray], digits: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The words of rows whose bin of column c is `maps[c][digits[c]]`, (n_rows,) int64 each."""
    words = [np.zeros(len(digits[0]), dtype=np.int64) for _ in layout.words]
    for word, columns in zip(words, layout.words, strict=True):
        stride = 1
        for column in reversed(columns):
            word += (maps[column] * stride)[digits[column]]
            stride *= layout.sizes[column]
    return words


def bins_of(layout: Layout, words: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """For every column, (n_rows,) the bins of the rows with these words, in the smallest unsigned type that holds them."""
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


def number_of_marks(counted: MarksCounted, digits: Mapping[int, np.ndarray] | Sequence[np.ndarray]) -> np.ndarray:
    """(n_rows,) the bin of a column that counts marks in each row, from the (n_rows,) bins of those that it counts."""
    found = [has[digits[place]] for place, has in counted.marks.items()]
    return counted.bins[np.sum(found, axis=0)]
