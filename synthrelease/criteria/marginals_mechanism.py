"""The private half of the criteria about marginal tables: compare the counts of the private table with a candidate, cell by
cell.

Private: the counts of the table, and of its sub-tables. Out: exact criterion values, only for `criteria.base_mechanism`, which
adds the noise; the same functions also compare public tables.

Neighbours replace one record, which moves the counts of at most two cells of each table by 1 each. So the sensitivity of the
largest difference of counts is 1, of the sum |r - s| of a table 2, of a mean or a quantile of such sums 2, and of a weighted
count the largest weight. The largest ratio moves by at most `ratio_sensitivity` (theory 3, acceptance criteria).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import differences

Tables = Sequence[tuple[int, ...]]
"""Named tables, as tuples of column indices."""


def largest_share(counts: Counts, candidate: Counts, largest: int, named: Tables, rows: int) -> float:
    return largest_difference(counts, candidate, largest, named) / rows


def largest_difference(left: Counts, right: Counts, largest: int, named: Sequence[tuple[int, ...]] = ()) -> int:
    """Return the largest difference between the counts of a cell in two tables, over all sub-tables of at most `largest`
    columns and those in `named`.
    """
    return max((worst for _, worst in differences(left, right, largest, named, np.maximum)), default=0)


def moved(left: Counts, right: Counts, largest: int, named: Tables) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the columns of every compared table, and the sum of its absolute differences: twice the number of rows that
    would have to move."""
    return differences(left, right, largest, named, np.add)


def mean_distance(counts: Counts, candidate: Counts, largest: int, named: Tables, tables: int, rows: int) -> float:
    return sum(distance for _, distance in moved(counts, candidate, largest, named)) / (2 * rows * tables)


def quantile_distance(counts: Counts, candidate: Counts, largest: int, named: Tables, rank: int, rows: int) -> float:
    """Return the total variation distance of the compared table with this rank; 0 is the smallest."""
    return sorted(distance for _, distance in moved(counts, candidate, largest, named))[rank] / (2 * rows)


def weighted(table: Counts, column: int, weights: np.ndarray) -> Counts:
    return table.with_counts(table.counts * weights[table.digits(column)])


def largest_weighted_share(
    counts: Counts, candidate: Counts, column: int, weights: np.ndarray, largest: int, named: Tables, total: int
) -> float:
    """Return the largest difference between the weighted counts of a cell, divided by `total`. The candidate's counts are
    already weighted."""
    return largest_difference(weighted(counts, column, weights), candidate, largest, named) / total


def clipped_ratio(counts: Counts, synthetic: np.ndarray, clip: float) -> float:
    return largest_ratio(one_way(counts), synthetic, clip)


def records_to_spare(counts: Counts, synthetic: np.ndarray, threshold: float) -> float:
    """Return how many records the private counts are away from failing: the smallest distance of a count from the ends of
    its allowed interval, negative outside."""
    return records_inside(one_way(counts), synthetic, threshold)


def one_way(table: Counts) -> np.ndarray:
    return np.concatenate(table.margins())


def largest_ratio(original: np.ndarray, synthetic: np.ndarray, clip: float) -> float:
    """Return the largest ratio max{r/s, s/r} of a bin, where r = original + 1 and s = synthetic + 1, clipped to [1, clip]."""
    r, s = original + 1.0, synthetic + 1.0
    return float(np.clip(np.maximum(r / s, s / r), 1.0, clip).max())


def records_inside(original: np.ndarray, synthetic: np.ndarray, threshold: float) -> float:
    return float(bins_inside(original, synthetic, threshold).min())


def bins_inside(original: np.ndarray, synthetic: np.ndarray, threshold: float) -> np.ndarray:
    """For each bin, return the distance, in records, of r = original + 1 from the nearer end of [s / threshold, threshold s],
    in which the ratio of r to s = synthetic + 1 meets the threshold. It is negative if r is outside this interval."""
    r, s = original + 1.0, synthetic + 1.0
    return np.asarray(np.minimum(threshold * s - r, r - s / threshold))
