"""A column that no file has: how many of some columns have a certain bin in a row. It is a function of that row alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


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
