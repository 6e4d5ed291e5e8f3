"""The private half of the criteria of tables: how far the table's small tables are from a candidate's, cell by cell.

Private: the counts of the table, and of its sub-tables. Out: exact figures, for `criteria.base_mechanism` alone, which adds the
noise; the same functions look at public tables.

Neighbours replace one record: each cell of each table moves by 1 at most, two cells of a table in all. So a largest difference
of counts moves by 1, the sum |r - s| of a table by 2, a mean or a quantile of such sums by 2, and a weighted count by the
largest weight; the largest ratio by what `ratio_sensitivity` enumerates (theory 3, acceptance criteria).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from synthrelease.data.counts import Addends, Counts
from synthrelease.data.marginals import differences

Tables = Sequence[tuple[int, ...]]
"""Tables that are named, by the indices of their columns."""


def largest_share(counts: Counts, candidate: Counts, largest: int, named: Tables, rows: int) -> float:
    """Return the largest difference between a cell's counts in both tables, as a share of `rows`."""
    return largest_difference(counts, candidate, largest, named) / rows


def largest_difference(left: Counts, right: Counts, largest: int, named: Sequence[tuple[int, ...]] = ()) -> int:
    """Return the largest difference of two tables' counts over all cells of the sub-tables of `data.marginals.differences`."""
    worst = 0
    for _, values in differences(left, right, largest, named):
        worst = max(worst, int(values.max(initial=0)), -int(values.min(initial=0)))
    return worst


def moved(left: Counts, right: Counts, largest: int, named: Tables) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the columns of every compared table, and sum |r - s| over its cells: twice the rows that would have to move."""
    for columns, values in differences(left, right, largest, named):
        yield columns, int(np.abs(values).sum())


def mean_distance(counts: Counts, candidate: Counts, largest: int, named: Tables, tables: int, rows: int) -> float:
    """Return the mean total variation distance of so many tables of so many rows."""
    return sum(distance for _, distance in moved(counts, candidate, largest, named)) / (2 * rows * tables)


def quantile_distance(counts: Counts, candidate: Counts, largest: int, named: Tables, rank: int, rows: int) -> float:
    """Return the total variation distance at this place of the increasing ones."""
    return sorted(distance for _, distance in moved(counts, candidate, largest, named))[rank] / (2 * rows)


def weighted(table: Counts, column: int, weights: np.ndarray) -> Counts:
    """Return a table with every count times the whole weight of its rows, by their bin in a column: integers, exact."""
    return table.with_counts(table.counts * weights[table.digits(column)])


def largest_weighted_share(
    counts: Counts, candidate: Counts, column: int, weights: np.ndarray, largest: int, named: Tables, total: int
) -> float:
    """Return the largest difference of a weighted cell from the candidate's, which is weighted, as a share of a total."""
    return largest_difference(weighted(counts, column, weights), candidate, largest, named) / total


def clipped_ratio(counts: Counts, synthetic: np.ndarray, clip: float) -> float:
    """Return the largest ratio of the bins of single columns, clipped."""
    return largest_ratio(one_way(counts), synthetic, clip)


def records_to_spare(counts: Counts, synthetic: np.ndarray, threshold: float) -> float:
    """Return the smallest number of records by which a bin of a single column lies inside the limits of the threshold; below 0
    where a bin is outside.
    """
    return records_inside(one_way(counts), synthetic, threshold)


def one_way(table: Counts) -> np.ndarray:
    """Return the counts of all bins of all columns, one after the other, empty bins included."""
    counts = Addends(table.counts)
    return np.concatenate([counts.sums(bins, size) for bins, size in zip(table.bins, table.layout.sizes, strict=True)])


def largest_ratio(original: np.ndarray, synthetic: np.ndarray, clip: float) -> float:
    """Return max over bins of max{r/s, s/r} with r = original + 1, s = synthetic + 1, clipped to [1, clip]."""
    r, s = original + 1.0, synthetic + 1.0
    return float(np.clip(np.maximum(r / s, s / r), 1.0, clip).max())


def records_inside(original: np.ndarray, synthetic: np.ndarray, threshold: float) -> float:
    """Return the least number of records by which r lies inside [s / threshold, threshold s]; r, s as in `largest_ratio`."""
    return float(bins_inside(original, synthetic, threshold).min())


def bins_inside(original: np.ndarray, synthetic: np.ndarray, threshold: float) -> np.ndarray:
    """Return (k,) the number of records by which each r lies inside."""
    r, s = original + 1.0, synthetic + 1.0
    return np.asarray(np.minimum(threshold * s - r, r - s / threshold))
