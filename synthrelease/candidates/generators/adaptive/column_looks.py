"""How an adaptive generator shares out what it spends on single columns: before the rounds, and after them.

Before, nothing is known. After, the model knows which bins are rare, and the relative error of these is what a table of single
columns is worst at: so the last look goes where that error is largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from synthrelease.candidates.generators.adaptive.mechanism import PrivateTables

_WEIGHTS = 10**6
"""Shares of the columns are rounded to this part of the largest."""

_SLICES = 24
"""The last look is shared out in so many equal parts."""


def column_shares(sizes: Sequence[int]) -> list[Fraction]:
    """Shares of the budget for the columns, in proportion to the root of the size.

    At size^(2/3) the errors of all cells would add up to the least, with equal shares the rare bins of short columns would be
    best; between the two was best for all criteria of the births.
    """
    weights = [max(1, round(_WEIGHTS * (size / max(sizes)) ** (1 / 2))) for size in sizes]
    return [Fraction(weight, sum(weights)) for weight in weights]


def expected_bins(
    groups: Sequence[np.ndarray], maps: Sequence[np.ndarray], columns: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Per column, (n_bins,) counts: those of the model for bins that are a group of their own, noisy ones inside other groups.

    Parameters
    ----------
    groups : per column, the model's counts of its groups.
    maps : per column, (n_bins,) the group of every bin.
    columns : per column, (n_bins,) noisy counts.
    """
    return tuple(
        np.where(np.bincount(into)[into] == 1, counts[into], noisy)
        for counts, into, noisy in zip(groups, maps, columns, strict=True)
    )


def look_again(
    private: PrivateTables, columns: Sequence[np.ndarray], variances: Sequence[float], expected: Sequence[np.ndarray]
) -> list[tuple[np.ndarray, float]]:
    """Spend all that is left on the bins of columns; their counts with those known before, averaged, and the noise variance.

    Parameters
    ----------
    columns, variances : noisy counts that are known, with the noise variance of every bin.
    expected : counts to expect.
    """
    budget = private.left
    shares = last_shares(expected, variances, lambda share: private.variance(share * budget))
    found = []
    for column, (share, known, variance) in enumerate(zip(shares, columns, variances, strict=True)):
        if share:
            noisy, added = private.bins(column, share * budget), private.variance(share * budget)
            weight = variance / (variance + added)
            found.append((weight * noisy + (1 - weight) * known, weight * added))
        else:
            found.append((known, variance))
    return found


def last_shares(
    expected: Sequence[np.ndarray], variances: Sequence[float], variance_of: Callable[[Fraction], float]
) -> list[Fraction]:
    """Shares of the last look, some of them 0: the largest relative error of a bin becomes as small as it can.

    Part by part goes to the column whose rarest bin has the largest noise deviation relative to its count. Counts below two
    deviations of what the whole look could measure count as those: of a bin that is empty no relative error can be small.
    """
    least = 2 * math.sqrt(variance_of(Fraction(1)))
    rarest = [float(np.maximum(counts, least).min()) for counts in expected]
    given = [0] * len(expected)

    def error(column: int) -> float:
        added = 1 / variance_of(Fraction(given[column], _SLICES)) if given[column] else 0.0
        return 1 / ((1 / variances[column] + added) * rarest[column] ** 2)

    for _ in range(_SLICES):
        given[max(range(len(given)), key=error)] += 1
    return [Fraction(part, _SLICES) for part in given]
