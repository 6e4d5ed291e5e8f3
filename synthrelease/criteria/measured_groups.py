"""Sums that noisy tables of two columns give of groups of rows, and what their limits say about means, shares and quantiles.

Every function comes in two: the sums, which no table has a part in, and what their limits say about one table (theory 13.6,
criteria that measurements answer).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.groupings import public_groupings
from synthrelease.criteria.measured_sums import Limits, Sums


def sums_of_numbers(by: Iterable[str], overall: bool, column: str, numbers: np.ndarray, facts: PublicFacts) -> list[Sums]:
    """Of every group its rows, and the sum of their numbers in steps.

    Parameters
    ----------
    numbers : (n_bins,) in steps of a grid (`in_steps`), 0 for bins without one.
    """
    return [
        Sums(columns=columns, weights=np.stack([inside, inside * numbers]).astype(np.int64))
        for columns, inside in public_groupings(by, overall, column, facts)
    ]


def furthest_mean(limits: Limits, step: float, size: int, target: float, most: float) -> float:
    """The largest |resized mean - target| for numbers of rows and sums within limits.

    Parameters
    ----------
    limits : of the rows of the group, and of the sum of their numbers in steps.
    most : a resized mean is between this and its negative.
    size : groups with fewer rows are filled up to this with 0.

    Notes
    -----
    sum / max(rows, size) rises in the sum, and in the rows rises or falls throughout, as the sum is below or above 0: the
    extremes are at the corners. Where there are no rows the sum is 0, and so is the resized mean.
    """
    corners = [
        float(total) * step / max(int(rows), size)
        for rows in (limits.low[0], limits.high[0])
        for total in (limits.low[1], limits.high[1])
    ]
    return max(abs(min(max(corner, -most), most) - target) for corner in corners)


def shares_of_groups(by: Iterable[str], overall: bool, column: str, meets: np.ndarray, facts: PublicFacts) -> list[Sums]:
    """Of every group the rows that meet a condition, and those with a value that do not.

    Parameters
    ----------
    meets : (n_bins,) True for the bins that meet it.
    """
    return [
        Sums(columns=columns, weights=np.stack([inside * meets, inside * ~meets]).astype(np.int64))
        for columns, inside in public_groupings(by, overall, column, facts)
    ]


def furthest_share(limits: Limits, hits: int, rows: int) -> float:
    """The largest |a - p (a + b)| / rows, p = hits / rows, for a and b within limits: it is |a (1 - p) - b p|, linear."""
    share = hits / rows
    highest = float(limits.high[0]) * (1 - share) - float(limits.low[1]) * share
    lowest = float(limits.low[0]) * (1 - share) - float(limits.high[1]) * share
    return max(highest, -lowest) / rows


def sums_beyond(by: Iterable[str], overall: bool, column: str, quantiles: Sequence[Fraction], facts: PublicFacts) -> list[Sums]:
    """Of every group and quantile q, for every bin t: the rows below t less q of all, then those above t less 1 - q of all;
    both times the denominator of q."""
    bins = np.arange(len(facts.by_name[column].labels))
    edges = np.arange(-1, len(bins) + 1)[:, None]
    found = []
    for columns, inside in public_groupings(by, overall, column, facts):
        weights = []
        for q in quantiles:
            below, above = (bins < edges) * q.denominator - q.numerator, (bins > edges) * q.denominator
            above = above - (q.denominator - q.numerator)
            weights += [inside * each.reshape(-1, *[1] * (inside.ndim - 1), len(bins)) for each in (below, above)]
        found.append(Sums(columns=columns, weights=np.concatenate(weights).astype(np.int64)))
    return found


def most_beyond(limits: Limits, rows: np.ndarray, quantiles: Sequence[Fraction], within: int) -> Iterator[float]:
    """Of every quantile the most rows too many beyond its window in a table with these rows in the bins; NaN without any.

    Parameters
    ----------
    limits : of the sums that `sums_beyond` has for the group.
    rows : (n_bins,) of the group in the table.
    within : how many bins the window reaches to either side.
    """
    high = limits.high.reshape(len(quantiles), 2, -1)
    reached, last = np.cumsum(rows.astype(np.int64)), high.shape[-1] - 1
    for q, (below, above) in zip(quantiles, high, strict=True):
        if not reached[-1]:
            yield math.nan
            continue
        middle = int(np.searchsorted(reached, math.ceil(q * int(reached[-1]))))
        first, end = max(middle - within + 1, 0), min(middle + within + 1, last)
        yield max(int(below[first]), int(above[end])) / q.denominator
