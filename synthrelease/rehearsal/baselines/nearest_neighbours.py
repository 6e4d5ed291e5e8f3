"""Nearest-neighbour imputation in a fixed order, and what one record can change in it (theory 11.6, changed donees).

An incomplete record takes its value from the first k complete records in an order that is fixed beforehand, over all records
that could ever be there: by the place of their cells in a public order of cells, and in a cell cyclically by the label, from
the record's own label up. A label belongs to the record and stays with it, such as a public record number; a row number does
not, as it changes when another row is left out. Where there are fewer than k complete records, those that there are give the
value, and where there is none a public default does: a table without complete records is a table like others. Without that the
bounds are false.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class GappedTable:
    """Public records, some of which lack a value.

    Attributes
    ----------
    cells : (n,) the cell of each record in the columns that decide who is near, from 0 up.
    labels : (n,) different numbers.
    values : (n,) finite, or NaN where the value is missing.
    """

    cells: np.ndarray
    labels: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        if not len(self.cells) == len(self.labels) == len(self.values):
            raise ValueError("expected a cell, a label and a value for each record")
        if len(np.unique(self.labels)) < len(self.labels):
            raise ValueError("expected a different label for each record")
        if np.isinf(self.values).any():
            raise ValueError("expected finite values, or NaN where one is missing")

    @property
    def gaps(self) -> np.ndarray:
        """(n,) whether the value is missing."""
        return np.isnan(self.values)


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestNeighbours:
    """The public scheme.

    Attributes
    ----------
    order : (n_cells, n_cells) for each cell all cells, the nearest first (`order_by_distance`).
    k : donors of each incomplete record, at most.
    default : what is imputed where there is no complete record.
    """

    order: np.ndarray
    k: int
    default: float

    def __post_init__(self) -> None:
        cells = np.arange(len(self.order))
        if self.order.shape != (len(cells), len(cells)) or not np.array_equal(
            np.sort(self.order, axis=1), np.tile(cells, (len(cells), 1))
        ):
            raise ValueError("expected every cell once in each line of the order")
        if self.k < 1 or not np.isfinite(self.default):
            raise ValueError("expected at least one donor, and a finite default")

    def donors(self, table: GappedTable) -> np.ndarray:
        """(n_incomplete, k) the donors of each incomplete record, as places in the table; -1 where there are fewer than k."""
        gaps = np.flatnonzero(table.gaps)
        found = np.full((len(gaps), self.k), -1)
        of_cell = _complete_by_cell(table, len(self.order))
        cells = table.cells[gaps]
        for cell in np.unique(cells):
            members = np.flatnonzero(cells == cell)
            filled = 0
            for other in self.order[cell]:
                if filled == self.k:
                    break
                complete = of_cell[other]
                taken = min(self.k - filled, len(complete))
                if taken:
                    start = np.searchsorted(table.labels[complete], table.labels[gaps[members]])
                    places = (start[:, None] + np.arange(taken)) % len(complete)
                    found[members, filled : filled + taken] = complete[places]
                    filled += taken
        return found

    def imputed(self, table: GappedTable) -> np.ndarray:
        """(n,) the values, where one is missing the mean of its donors'."""
        donors = self.donors(table)
        there = donors >= 0
        numbers = np.where(there, table.values[donors], 0).sum(axis=1)
        many = there.sum(axis=1)
        values = table.values.copy()
        values[table.gaps] = np.where(many > 0, numbers / np.maximum(many, 1), self.default)
        return values

    def largest_change(self, table: GappedTable) -> int:
        """L_1: the most incomplete records that change donors, come or go when one record is added or removed.

        At least 1, an incomplete record itself. Removing a complete record changes its donees, also when it is the last donor.
        A complete record that is added at a cell changes all who prefer that cell to the one of their k-th donor: exact for
        every cell of the order, occupied or not. One that is added at a cell with complete records changes no more than the
        next one there in the circle of labels would, were it to go.

        **Private**: it depends on single records, and so does any noise that is made of it.
        """
        donors = self.donors(table)
        most = int(np.bincount(donors[donors >= 0]).max(initial=1))
        return max(most, int(self._gains(table, donors).max(initial=0)))

    def _gains(self, table: GappedTable, donors: np.ndarray) -> np.ndarray:
        """(n_cells,) how many incomplete records prefer each cell to the cell of their k-th donor, or have none."""
        n_cells, gaps = len(self.order), np.flatnonzero(table.gaps)
        rank = np.empty_like(self.order)
        np.put_along_axis(rank, self.order, np.arange(n_cells)[None, :], axis=1)
        last = donors[:, -1]
        at = np.where(last >= 0, rank[table.cells[gaps], table.cells[last]], n_cells)  # beyond all: everybody is welcome
        members, many = np.unique(np.stack([table.cells[gaps], at]), axis=1, return_counts=True)
        gains = np.zeros(n_cells, dtype=np.int64)
        for (cell, limit), count in zip(members.T, many, strict=True):
            gains[self.order[cell, :limit]] += count
        return gains


def order_by_distance(points: np.ndarray) -> np.ndarray:
    """(n_cells, n_cells) for each cell all cells by their squared distance, ties by the number of the cell.

    Parameters
    ----------
    points : (n_cells, n_coordinates) whole numbers, so that equal distances are equal.
    """
    points = np.asarray(points)
    if not np.issubdtype(points.dtype, np.integer):
        raise ValueError("expected coordinates that are whole numbers")
    squared = ((points[:, None, :] - points[None, :, :]).astype(np.int64) ** 2).sum(axis=2)
    return np.argsort(squared, axis=1, kind="stable")


def _complete_by_cell(table: GappedTable, n_cells: int) -> list[np.ndarray]:
    """For each cell the places of its complete records, by label."""
    complete = np.flatnonzero(~table.gaps)
    complete = complete[np.lexsort([table.labels[complete], table.cells[complete]])]
    ends = np.searchsorted(table.cells[complete], np.arange(n_cells + 1))
    return [complete[low:high] for low, high in zip(ends[:-1], ends[1:], strict=True)]
