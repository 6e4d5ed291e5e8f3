"""The public shape of a table of counts, and the groups of columns that share one code (`counts.codes_of`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

CODED_CELLS = 2**62
"""Tables of at most so many cells have a code for each that fits into 64 bits, with a bit to spare for sums of two."""

MOST_AXES = 32 if np.__version__.startswith("1.") else 64
"""Axes that an array may have in numpy. A layout may have more columns, and few cells where most columns have one bin."""

Columns = tuple[int, ...]
"""Some columns of a layout, by position. Which columns they are is public."""
Room = float
"""Cells for which there is room. How many cells of a table occur may decide it: it rules time and memory, and never what comes
out."""


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
        """Return the number of cells of the whole domain (a Python integer: it may be large)."""
        return math.prod(self.sizes)

    @property
    def has_codes(self) -> bool:
        """Whether every cell has a code, which fits into 64 bits."""
        return self.n_cells <= CODED_CELLS

    @cached_property
    def words(self) -> tuple[Columns, ...]:
        """Neighbouring columns, as many in each as have a code together: one word where the layout has codes."""
        return self.words_within(CODED_CELLS)

    def words_within(self, room: Room, columns: Iterable[int] | None = None, most: int | None = None) -> tuple[Columns, ...]:
        """Return columns that follow each other, of these or of all, as many together as have at most `room` combinations of
        bins; at least one, and no more than `most`."""
        groups, cells = list[list[int]](), math.inf
        for column in range(len(self.sizes)) if columns is None else columns:
            if cells * self.sizes[column] > room or len(groups[-1]) == most:
                groups.append([])
                cells = 1
            groups[-1].append(column)
            cells *= self.sizes[column]
        return tuple(tuple(word) for word in groups)

    def largest(self, columns: Iterable[int] | None = None, most: int = 3) -> str:
        """Return the columns with the most bins, of these or of all, in words: the columns to coarsen where a table is too
        large.
        """
        among = range(len(self.sizes)) if columns is None else columns
        largest = sorted(among, key=lambda column: -self.sizes[column])[:most]
        return ", ".join(f"{self.columns[column]!r} ({self.sizes[column]} bins)" for column in largest)

    def index(self, column: str) -> int:
        return self.columns.index(column)

    def subset(self, columns: Columns) -> Layout:
        numbers = tuple(self.numbers[i] for i in columns) if self.numbers else ()
        return Layout(
            columns=tuple(self.columns[i] for i in columns), sizes=tuple(self.sizes[i] for i in columns), numbers=numbers
        )


@dataclass(frozen=True, kw_only=True)
class MarksCounted:
    """The rule by which the atomic bin of a column of counts follows from the bins of the columns it counts.

    Attributes
    ----------
    column : its place in the layout.
    marks : by the place of each column that it counts, (n_atoms,) whether a row with that atomic bin has the mark. A missing
        value is none.
    bins : (n_marks + 1,) the atomic bin for each number of marks.
    """

    column: int
    marks: Mapping[int, np.ndarray]
    bins: np.ndarray
