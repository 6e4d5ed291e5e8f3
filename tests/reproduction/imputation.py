"""Answer a mean after filling missing values from the nearest records, with noise by smooth sensitivity, as in Merrill (2021).

The module is only used for the tables of the source (`make sources`). A release fills missing values in its released
rows, at no cost. This module fills missing values in the file and adds noise to the mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tests.reproduction.cauchy_noise import CauchyNoise

# Nearest-neighbour imputation in a fixed order, and the largest effect of one record (theory 11.6, changed donees).
#
# An incomplete record gets its value from the first k complete records (donors) in an order over all possible records. The
# order is fixed beforehand: first a public order of cells; within a cell by label, starting from the label of the incomplete
# record and continuing cyclically. A label, such as a public record number, never changes. A row number is no label, because it
# changes when another row is removed. If there are fewer than k complete records, all of them are donors. If no complete record
# exists, a public default is the value. The bounds hold only if such tables are treated in this way.


@dataclass(frozen=True, kw_only=True, eq=False)
class GappedTable:
    """Public records, some of which have a missing value.

    Attributes
    ----------
    cells : (n,) the cell of each record in the columns that define distances, from 0 up.
    labels : (n,) different numbers, which order the donors in one cell.
    values : (n,) finite values, or NaN for a missing value.
    """

    cells: np.ndarray
    labels: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        if not len(self.cells) == len(self.labels) == len(self.values):
            raise ValueError("each record needs a cell, a label and a value")
        if len(np.unique(self.labels)) < len(self.labels):
            raise ValueError("two records have the same label")
        if np.isinf(self.values).any():
            raise ValueError("a value is infinite. Use NaN for a missing value")

    @property
    def gaps(self) -> np.ndarray:
        """Return an (n,) mask: True where the value is missing."""
        return np.isnan(self.values)


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestNeighbours:
    """A public scheme of nearest-neighbour imputation.

    Attributes
    ----------
    order : (n_cells, n_cells) array; row c has all cells, the nearest to cell c first (`order_by_distance`).
    k : largest number of donors of each incomplete record.
    default : the imputed value if there is no complete record.
    """

    order: np.ndarray
    k: int
    default: float

    def __post_init__(self) -> None:
        cells = np.arange(len(self.order))
        if self.order.shape != (len(cells), len(cells)) or not np.array_equal(
            np.sort(self.order, axis=1), np.tile(cells, (len(cells), 1))
        ):
            raise ValueError("each row of the order must contain every cell once")
        if self.k < 1 or not np.isfinite(self.default):
            raise ValueError("the scheme needs at least one donor and a finite default")

    def donors(self, table: GappedTable) -> np.ndarray:
        """Return the (n_incomplete, k) donors of the incomplete records, as indices of records. If a record has fewer than k
        donors, the other entries are -1.
        """
        gaps = np.flatnonzero(table.gaps)
        donors = np.full((len(gaps), self.k), -1)
        of_cell = _complete_by_cell(table, len(self.order))
        cells = table.cells[gaps]
        for cell in np.unique(cells):
            members = np.flatnonzero(cells == cell)
            filled = 0
            for neighbour in self.order[cell]:
                if filled == self.k:
                    break
                complete = of_cell[neighbour]
                taken = min(self.k - filled, len(complete))
                if taken:
                    start = np.searchsorted(table.labels[complete], table.labels[gaps[members]])
                    rows = (start[:, None] + np.arange(taken)) % len(complete)
                    donors[members, filled : filled + taken] = complete[rows]
                    filled += taken
        return donors

    def imputed(self, table: GappedTable) -> np.ndarray:
        """Return the (n,) values, with the mean of the donors in place of each missing value."""
        donors = self.donors(table)
        has_donor = donors >= 0
        sums = np.where(has_donor, table.values[donors], 0).sum(axis=1)
        donor_counts = has_donor.sum(axis=1)
        values = table.values.copy()
        values[table.gaps] = np.where(donor_counts > 0, sums / np.maximum(donor_counts, 1), self.default)
        return values

    def largest_change(self, table: GappedTable) -> int:
        """Return L_1: the largest number of incomplete records that change donors, appear or disappear when one record is added
        or removed.

        L_1 is at least 1, because the added or removed record may itself be incomplete. Removing a complete record changes all
        records that it gave its value to, even if it is their last donor. A complete record that is added to a cell changes all
        records that prefer this cell to the cell of their k-th donor. This number is exact for every cell, empty or not. Adding
        a record to a cell with complete records changes at most as many records as removing the next record in the cyclic order
        of labels. **Private**: L_1 depends on single records. So does any noise whose scale uses L_1.
        """
        donors = self.donors(table)
        largest = int(np.bincount(donors[donors >= 0]).max(initial=1))
        return max(largest, int(self._gains(table, donors).max(initial=0)))

    def _gains(self, table: GappedTable, donors: np.ndarray) -> np.ndarray:
        """Return the (n_cells,) numbers of incomplete records that prefer each cell to the cell of their k-th donor, or have no
        k-th donor.
        """
        n_cells, gaps = len(self.order), np.flatnonzero(table.gaps)
        rank = np.empty_like(self.order)
        np.put_along_axis(rank, self.order, np.arange(n_cells)[None, :], axis=1)
        last = donors[:, -1]
        # n_cells: every record may give its value
        at = np.where(last >= 0, rank[table.cells[gaps], table.cells[last]], n_cells)
        members, counts = np.unique(np.stack([table.cells[gaps], at]), axis=1, return_counts=True)
        gains = np.zeros(n_cells, dtype=np.int64)
        for (cell, limit), count in zip(members.T, counts, strict=True):
            gains[self.order[cell, :limit]] += count
        return gains


def order_by_distance(points: np.ndarray) -> np.ndarray:
    """Return an (n_cells, n_cells) array. Each row has all cells in the order of their squared distance from one cell; ties are
    in the order of cell numbers.

    Parameters
    ----------
    points : (n_cells, n_coordinates) whole numbers, so that equal distances are equal.
    """
    points = np.asarray(points)
    if not np.issubdtype(points.dtype, np.integer):
        raise ValueError("the coordinates must be whole numbers")
    squared = ((points[:, None, :] - points[None, :, :]).astype(np.int64) ** 2).sum(axis=2)
    return np.argsort(squared, axis=1, kind="stable")


def _complete_by_cell(table: GappedTable, n_cells: int) -> list[np.ndarray]:
    """Return, for each cell, the indices of its complete records in the order of their labels."""
    complete = np.flatnonzero(~table.gaps)
    complete = complete[np.lexsort([table.labels[complete], table.cells[complete]])]
    ends = np.searchsorted(table.cells[complete], np.arange(n_cells + 1))
    return [complete[low:high] for low, high in itertools.pairwise(ends)]


# One count or mean of an imputed table with smooth sensitivity (Merrill 2021, chapter 6; Clifton et al. 2022).
#
# Each answer is epsilon-DP. Neighbours differ in one added or removed record, or in one replaced record. A release refuses this
# method: each answer costs an epsilon above ln 2 (for replaced records ln 3), and counts in an imputed table have no bounded
# sensitivity. A release has a bin for missing values instead, and fills gaps in the accepted table.
#
# An answer contains neither L_1 nor the scale of its noise, because both may depend on a single record.

Neighbours = Literal["add or remove", "replace one"]
Chosen = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Function (cells, imputed values) -> (n,) booleans that selects records. Each result depends on its own record alone."""

STEPS: dict[Neighbours, int] = {"add or remove": 1, "replace one": 2}
"""Difference between neighbouring files: a record is added or removed, or one record is replaced."""


def smoothness(neighbours: Neighbours) -> float:
    """Return beta, the smoothness of the bound on the change of an answer, from which the noise follows.

    If neighbours add or remove a record, beta is ln 2, because L_1 at most doubles. If neighbours replace a record, beta is ln
    3, because L_1 at most triples. ln 3 is less than ln 4, the value for two steps (theory 11.6, changed donees).
    """
    return math.log(1 + STEPS[neighbours])


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer that may be published: the noisy value, and the public parameters of its guarantee."""

    value: float
    epsilon: float
    neighbours: Neighbours


@dataclass(frozen=True, kw_only=True, eq=False)
class ImputedAnswers:
    """Noisy answers about one table with imputed values, each with its own epsilon.

    Attributes
    ----------
    scheme : how missing values are filled.
    neighbours : how neighbouring files of the guarantee differ: a record is added or removed, or one record is replaced.
    low, high : 0 <= low <= high, public bounds of the values. The default of the scheme lies between them.
    """

    scheme: NearestNeighbours
    neighbours: Neighbours
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (0 <= self.low <= self.scheme.default <= self.high < math.inf):
            raise ValueError("the bounds must meet 0 <= low <= default <= high")

    def noise(self, epsilon: float) -> CauchyNoise:
        """Return the public distribution of the noise for S = 1. Raises ValueError for an epsilon that is too small for this
        noise."""
        return CauchyNoise.printed(epsilon, smoothness(self.neighbours))

    def mean(
        self,
        table: GappedTable,
        chosen: Chosen,
        size: float,
        epsilon: float,
        generator: np.random.Generator,
        *,
        chosen_by_value: bool = False,
    ) -> Answer:
        """Return the noisy sum of the chosen values divided by a public size, clipped to the bounds.

        Privacy: epsilon-DP with S = (high + L_1 (high - low)) / size. If neighbours replace a record, 2 L_1 takes the place of
        L_1. If the choice depends on the imputed value, high takes the place of high - low, because records can enter or leave
        the choice with their donors.

        Parameters
        ----------
        size : above 0, a constant or a noisy count that was charged separately.
        """
        if not size > 0:
            raise ValueError("the size must be above 0")
        values = self._imputed(table)
        moved = self.high if chosen_by_value else self.high - self.low
        exact = float(values[chosen(table.cells, values)].sum()) / size
        answer = self._answer(exact, self.bound(table, self.high, moved) / size, epsilon, generator)
        return replace(answer, value=min(max(answer.value, self.low), self.high))

    def bound(self, table: GappedTable, own: float, moved: float) -> float:
        """Return a private, smooth bound on the change of a sum to any neighbour.

        Parameters
        ----------
        own : the largest contribution of a record itself to the sum.
        moved : the largest change of the contribution of another record if its donors change.
        """
        return own + STEPS[self.neighbours] * self.scheme.largest_change(table) * moved

    def _imputed(self, table: GappedTable) -> np.ndarray:
        values = table.values[~table.gaps]
        if not np.all((values >= self.low) & (values <= self.high)):
            raise ValueError("some values are outside the bounds")
        return self.scheme.imputed(table)

    def _answer(self, exact: float, smooth_bound: float, epsilon: float, generator: np.random.Generator) -> Answer:
        value = exact + self.noise(epsilon).draw(smooth_bound, generator)
        return Answer(value=value, epsilon=epsilon, neighbours=self.neighbours)
