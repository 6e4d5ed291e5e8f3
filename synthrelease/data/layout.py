"""Describe the public shape of a table of counts: its columns, their numbers of bins, and which columns share one integer
code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

CODED_CELLS = 2**62
"""Up to this number of cells, every cell gets a code in 64 bits. One bit remains free, so that two codes can be added."""

PACKED_CELLS = 2**16 - 1
"""Largest number of cells of a group of columns that are stored in one integer. The integer then has 16 bits."""

MOST_AXES = 32 if np.__version__.startswith("1.") else 64
"""Largest number of axes of a numpy array. A layout may have more columns and still have few cells, if most columns have a
single bin.
"""

Columns = tuple[int, ...]
"""Positions of some columns of a layout. The choice of columns is public."""
CellLimit = float
"""Largest number of cells of a table. This number may depend on private counts. It affects time and memory, but never the
result."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The public shape of a table of counts: any number of columns, and the number of bins of each.

    Cells are ordered by the bin of the first column, then of the second, and so on. With at most 2^62 cells (`has_codes`), the
    position of a cell is its code. Otherwise a cell has a few `words`, the codes of groups of neighbouring columns.

    Attributes
    ----------
    numbers : per column, the representative value of each bin, or None for a bin without one; empty if unknown. Ignored when
        layouts are compared.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    numbers: tuple[tuple[float | None, ...], ...] = field(default=(), compare=False)

    @cached_property
    def n_cells(self) -> int:
        return math.prod(self.sizes)

    @property
    def has_codes(self) -> bool:
        return self.n_cells <= CODED_CELLS

    @cached_property
    def words(self) -> tuple[Columns, ...]:
        """Divide the columns into words: groups of as many neighbouring columns as possible with at most 2^62 combinations of
        bins."""
        return self.words_within(CODED_CELLS)

    @cached_property
    def packs(self) -> tuple[Columns, ...]:
        """Divide each word into groups of columns whose bins are stored in one integer: at most `PACKED_CELLS` combinations.
        With codes, there is a single group."""
        room = CODED_CELLS if self.has_codes else PACKED_CELLS
        return tuple(pack for word in self.words for pack in self.words_within(room, word))

    @cached_property
    def pack_of(self) -> tuple[int, ...]:
        """Return the index in `packs` of each column's group."""
        return tuple(place for place, pack in enumerate(self.packs) for _ in pack)

    def words_within(
        self, room: CellLimit, columns: Iterable[int] | None = None, most: int | None = None
    ) -> tuple[Columns, ...]:
        """Divide columns (by default all) into groups of neighbours with at most `room` combinations of bins and at most `most`
        columns.

        A group has at least one column, even if this column alone has more bins than `room`.
        """
        groups, cells = list[list[int]](), math.inf
        for column in range(len(self.sizes)) if columns is None else columns:
            if cells * self.sizes[column] > room or len(groups[-1]) == most:
                groups.append([])
                cells = 1
            groups[-1].append(column)
            cells *= self.sizes[column]
        return tuple(tuple(word) for word in groups)

    def largest(self, columns: Iterable[int] | None = None, most: int = 3) -> str:
        """Return a phrase that names the `most` columns with the most bins, such as "'age' (100 bins), 'region' (20 bins)"."""
        among = range(len(self.sizes)) if columns is None else columns
        largest = sorted(among, key=lambda column: -self.sizes[column])[:most]
        return ", ".join(f"{self.columns[column]!r} ({self.sizes[column]:,} bins)" for column in largest)

    def index(self, column: str) -> int:
        return self.columns.index(column)

    def subset(self, columns: Columns) -> Layout:
        numbers = tuple(self.numbers[i] for i in columns) if self.numbers else ()
        return Layout(
            columns=tuple(self.columns[i] for i in columns), sizes=tuple(self.sizes[i] for i in columns), numbers=numbers
        )


@dataclass(frozen=True, kw_only=True)
class CountedIndicators:
    """How to compute a column that lists which indicators are true in a row, such as `smoker + diabetic`.

    Attributes
    ----------
    column : the position of this column in the layout.
    marks : for each indicator's column, by position, the (n_atoms,) number that each of its atomic bins adds to a sum: a power
        of 2 of its own, or 0 if the indicator is false.
    bins : the atomic bin of this column for each possible sum.
    """

    column: int
    marks: Mapping[int, np.ndarray]
    bins: np.ndarray
