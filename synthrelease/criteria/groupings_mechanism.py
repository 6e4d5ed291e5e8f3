"""The private half of the criteria about groups: compare means, quantiles and shares of every group of the private table
with the candidate's values.

Private: the counts of the table by group and bin, and the exact values of its rows. Out: exact criterion values, only for
`criteria.base_mechanism`, which adds the noise. The same functions read candidates, which are public.

Neighbours replace one record, so one group loses a row and one group gets a row. Let a group have m released rows. A share
or cumulative share of this group has an error with sensitivity 1/m, and the excess beyond a window has sensitivity 1. A
resized mean moves by at most the width of the range divided by the size of the group (theory 3.3, conditional means, 3.11,
3.12 and 3.14). Counts are whole numbers, and a mean comes from a correctly rounded sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from synthrelease.criteria.groupings import Grouping
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.member_counts import atoms_of, cached_if_binned
from synthrelease.data.schema import Transformation

_PRODUCTS = 2**30  # Largest count at which a 64-bit integer can contain the difference of two products of counts


def furthest_mean_of_groups(
    counts: Counts, rows: RowsOfGroups, groups: Sequence[Grouping], sizes: Sequence[np.ndarray], targets: Sequence[np.ndarray]
) -> float:
    """Return the largest difference, over all groups, between the resized private mean and the released mean."""
    worst = 0.0
    for group, size, target in zip(groups, sizes, targets, strict=True):
        means = resized_means(*rows.of_original(counts, group), size)
        worst = max(worst, float(np.abs(means - target).max()))
    return worst


def largest_excess(counts: Counts, windows: Sequence[Windows], n: int) -> float:
    return max(int(window.excess(counts).max()) / (window.q.denominator * n) for window in windows)


def largest_error(counts: Counts, shares: Sequence[SharesOfGroups]) -> float:
    return max(float(grouped.errors(counts).max()) for grouped in shares)


def groups_of_cells(table: Counts, grouping: Grouping) -> np.ndarray:
    return grouping.into[table.digits(grouping.column)]


def sizes(table: Counts, groups: np.ndarray, inside: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the (n_groups,) exact numbers of rows of the groups, among the (n_cells,) cells that are `inside`. `groups` is
    -1 for cells in no group.
    """
    counted = inside & (groups >= 0)
    return np.bincount(groups[counted], weights=table.counts[counted], minlength=n_groups).astype(np.int64)


def excess_of_shares(hits: np.ndarray, rows: np.ndarray, our_hits: np.ndarray, ours: np.ndarray) -> np.ndarray:
    """Return, for each group, hits * m - h * rows: the excess of the original hits over the candidate's share h/m of the
    original rows, times m.

    The results are exact whole numbers: Python integers if the products could exceed 64 bits.

    Parameters
    ----------
    hits, rows : the original rows that the share counts, and all original rows of the group.
    our_hits, ours : h and m, the same numbers for a candidate.
    """
    if max(int(rows.max(initial=0)), int(ours.max(initial=0))) > _PRODUCTS:
        hits, rows, ours = hits.astype(object), rows.astype(object), ours.astype(object)
    return np.asarray(hits * ours - our_hits * rows)


def rows_of_bins(table: Counts, column: int, grouping: Grouping, n_bins: int) -> Counts:
    places, rows = (grouping.into * n_bins)[table.bins[grouping.column]] + table.bins[column], table.counts
    if (grouping.into < 0).any():  # a row in no group has a place below 0
        places, rows = places[places >= 0], rows[places >= 0]
    return Counts(Layout(columns=("group", "bin"), sizes=(len(grouping), n_bins)), places, rows)


@dataclass(frozen=True, kw_only=True)
class RowsOfGroups:
    """Count the rows with a value of a column in every group, and sum (value - centre) over them. The centre is public.

    Attributes
    ----------
    range : the limits to which values are clipped.
    centre : the middle of the range.
    own : whether original rows count with exact values, or with representative values.
    """

    column: str
    transformation: Transformation
    range: tuple[float, float]
    centre: float
    own: bool

    def of_released(self, table: Counts, grouping: Grouping) -> tuple[np.ndarray, np.ndarray]:
        """Return each group's number of rows and sum of values, (n_groups,) each, on the released bins."""
        cells = rows_of_bins(table, self._place, grouping, len(self.transformation.binning(self.column)))
        return sums_of_rows(cells, self._clipped(self.transformation.numbers(self.column)))

    def of_original(self, table: Counts, grouping: Grouping) -> tuple[np.ndarray, np.ndarray]:
        """Return each group's number of rows and sum of values, (n_groups,) each, in the original table. Cached for all
        candidates."""
        if not self.own:
            return self.of_released(table, grouping)
        atoms = self.transformation.schema[self.column].atoms

        def summed() -> tuple[np.ndarray, np.ndarray]:
            rows, on_atoms = atoms_of(table, self.transformation), grouping.on_atoms(self.transformation)
            cells = rows_of_bins(rows, self._place, on_atoms, len(atoms))
            return sums_of_rows(cells, self._clipped(atoms.known_numbers))

        return cached_if_binned(table, ("values by group", self.column, grouping.name, self.range), summed)

    @property
    def _place(self) -> int:
        return self.transformation.layout.index(self.column)

    def _clipped(self, numbers: np.ndarray) -> np.ndarray:
        return np.clip(numbers, *self.range) - self.centre


def sums_of_rows(cells: Counts, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (n_groups,) exact counts and (n_groups,) correctly rounded sums of the numbers, without rows in bins whose
    number is NaN.

    Parameters
    ----------
    cells : the counts by group and bin.
    numbers : (n_bins,) the number of each bin.
    """
    n_groups, n_bins = cells.layout.sizes
    members, bins = np.divmod(cells.codes, n_bins)
    counted = np.isfinite(numbers)[bins]
    members, bins, rows = members[counted], bins[counted], cells.counts[counted]
    counts = np.bincount(members, weights=rows, minlength=n_groups).astype(np.int64)
    products, ends = rows * numbers[bins], np.searchsorted(members, np.arange(n_groups + 1)).tolist()
    return counts, np.array([math.fsum(products[start:stop].tolist()) for start, stop in pairwise(ends)])


def resized_means(counts: np.ndarray, sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the mean of every group, as a difference from the middle of the range, after padding small groups with 0 (the
    middle) up to `sizes` (theory 3.3, conditional means).
    """
    return sums / np.maximum(counts, sizes)


@dataclass(frozen=True, kw_only=True)
class Windows:
    """For every group, the window of bins around the candidate's q-quantile in which the private q-quantile should lie.

    `middle` (n_groups,) is the bin of the candidate's quantile, or -1 for a group without rows. `present` is the number of
    bins with values, `within` the number of bins of the window on either side.
    """

    grouping: Grouping
    column: int
    present: int
    within: int
    q: Fraction
    middle: np.ndarray

    @property
    def void(self) -> bool:
        return bool((self.middle < 0).any())

    def rows(self, counts: Counts) -> Counts:
        key, size = ("bins by group", self.column, self.grouping.name), counts.layout.sizes[self.column]
        return cached_if_binned(counts, key, lambda: rows_of_bins(counts, self.column, self.grouping, size))

    def excess(self, counts: Counts) -> np.ndarray:
        """Return the (n_groups,) excesses max(B - q n_g, A - (1 - q) n_g), times the denominator of q. Of the n_g rows of
        the group with a value, B lie below its window of bins and A above."""
        counts = self.rows(counts)
        n_groups, n_bins = counts.layout.sizes
        groups, bins = np.divmod(counts.codes, n_bins)
        values, middle = bins < self.present, self.middle[np.maximum(groups, 0)]
        rows = sizes(counts, groups, values, n_groups)
        below = sizes(counts, groups, values & (bins < middle - self.within), n_groups)
        above = sizes(counts, groups, values & (bins > middle + self.within), n_groups)
        over, under = self.q.numerator, self.q.denominator
        return np.maximum(under * below - over * rows, under * above - (under - over) * rows)


@dataclass(frozen=True, kw_only=True)
class SharesOfGroups:
    """Shares of a candidate's rows in every group: of rows that meet a condition, or that lie at or below a bin. Rows
    without a value of the column are left out.

    Attributes
    ----------
    present : the number of bins with values.
    meets : (n_bins,) whether each bin meets the condition, or None for the cumulative shares at every bin.
    """

    table: Counts
    grouping: Grouping
    column: int
    present: int
    meets: np.ndarray | None = None

    @cached_property
    def released(self) -> tuple[np.ndarray, np.ndarray]:
        return self.of(self.table)

    def of(self, table: Counts) -> tuple[np.ndarray, np.ndarray]:
        """Return the exact numbers of rows with a value in each group, (n_groups, 1), and in each share, (n_groups,
        n_shares).
        """
        bins = table.layout.sizes[self.column]
        rows = rows_of_bins(table, self.column, self.grouping, bins).dense().reshape(-1, bins)
        rows = rows[:, : self.present]
        cumulated = np.cumsum(rows, axis=1)
        hits = cumulated if self.meets is None else rows[:, self.meets[: self.present]].sum(axis=1, keepdims=True)
        return cumulated[:, -1:], hits

    def errors(self, table: Counts) -> np.ndarray:
        """Return the (n_groups, n_shares) errors |a - p n| / m. Of the n original rows of a group, a share counts a. Of its
        m released rows, it counts the part p. The errors are quotients of whole numbers below 2^81 (relative error at most
        2^-51)."""
        (ours, our_hits), (rows, hits) = self.released, self.of(table)
        excess = excess_of_shares(hits, rows, our_hits, ours)
        return np.abs(excess).astype(float) / np.maximum(ours, 1).astype(float) ** 2
