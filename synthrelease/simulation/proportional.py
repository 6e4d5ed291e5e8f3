"""Iterative proportional fitting: the table closest to a start that has given margins (Deming & Stephan 1940)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MAX_CYCLES = 1000


@dataclass(frozen=True, kw_only=True)
class GroupSums:
    """Sums over groups of cells that a table should have.

    Attributes
    ----------
    groups : (n_cells,) the group of each cell.
    target : (n_groups,) the sum of each group, or NaN for a group that may have any.
    """

    groups: np.ndarray
    target: np.ndarray

    def of(self, table: np.ndarray) -> np.ndarray:
        """(n_groups,) the sums that a table of shape (n_cells,) has."""
        return np.bincount(self.groups, table, minlength=len(self.target))


def fit(start: np.ndarray, margins: Sequence[GroupSums], *, precision: float = 1e-12) -> np.ndarray:
    """Scale a table to each margin in turn until a cycle changes nothing.

    Margins that agree are all met, and of all tables with them the result has the least relative entropy to the start
    (Csiszar 1975). Margins that disagree make the table go round a circle; the result is then the mean of the last cycle,
    so that no margin is preferred for its place in the file.

    Parameters
    ----------
    start : (n_cells,) at least 0; cells of 0 stay 0.
    precision : the largest change of a cycle, as a sum over cells, at which the fitting ends.

    Returns
    -------
    (n_cells,) the fitted table.
    """
    table = start
    for _ in range(MAX_CYCLES):
        before, total = table, np.zeros(len(start))
        for margin in margins:
            sums = margin.of(table)
            factors = np.divide(margin.target, sums, out=np.zeros(len(sums)), where=sums > 0)
            factors[np.isnan(margin.target)] = 1.0
            table = table * factors[margin.groups]
            total += table
        if np.abs(table - before).sum() <= precision:
            break
    return total / len(margins)
