"""A regression line from shared noisy tables: public, at no cost, in place of a private line of its own.

It is what a criterion of prediction errors compares with; how far it is from the line of the original rows is not stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.criteria.functional_mechanism import LinearModel
from synthrelease.data.schema import Binning, Transformation

if TYPE_CHECKING:
    from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, NoisySum

_SMALLEST_EIGENVALUE = 1e-2
"""Eigenvalues of the noisy correlation matrix of the features below this are raised to it, so that the line always exists."""


def measured_line(
    columns: Sequence[str], binnings: Sequence[Binning], measured: NoisyMarginals, common: Transformation
) -> LinearModel:
    """The least-squares line of the last column on the others. Total: a line exists for every input.

    Means and products are taken from the measured table with the least noise that has the column or the pair, without bins of
    missing values. A pair with a measured sum has the correlation that the sum tells of (`_correlation`). A pair that neither
    has counts as uncorrelated.

    Parameters
    ----------
    binnings : of each column, with numbers; every bin of `common` lies inside one of them.

    Privacy
    -------
    Post-processing of the measurements.
    """
    maps = [common.binning(name).map_to(binning) for name, binning in zip(columns, binnings, strict=True)]
    numbers = [np.array(binning.numbers[: binning.present], dtype=float) for binning in binnings]
    places = [measured.layout.index(name) for name in columns]
    means, deviations = np.empty(len(columns)), np.empty(len(columns))
    for one in range(len(columns)):
        rows = np.maximum(_table(measured, [places[one]], [maps[one]], [numbers[one]]), 0.0)
        shares = (rows + 1e-9) / (rows + 1e-9).sum()
        means[one] = shares @ numbers[one]
        deviations[one] = max(np.sqrt(shares @ (numbers[one] - means[one]) ** 2), 1e-9)
    correlations = np.eye(len(columns))
    for one in range(len(columns)):
        for other in range(one):
            pair = [places[one], places[other]]
            if any(set(pair) <= set(table.columns) for table in measured.tables):
                rows = _table(measured, pair, [maps[one], maps[other]], [numbers[one], numbers[other]])
                standard = [(numbers[each] - means[each]) / deviations[each] for each in (one, other)]
                found = float(standard[0] @ rows @ standard[1]) / max(float(rows.sum()), 1.0)
                correlations[one, other] = correlations[other, one] = min(max(found, -1.0), 1.0)
            of_pair = [each for each in measured.sums if set(each.columns) == set(pair)]
            if of_pair:
                least = min(of_pair, key=lambda each: each.variance / each.sensitivity**2)
                of_bins = [_of_bins(numbers[each], means[each], deviations[each], maps[each]) for each in (one, other)]
                found = _correlation(measured, least, of_bins if pair == sorted(pair) else of_bins[::-1])
                correlations[one, other] = correlations[other, one] = min(max(found, -1.0), 1.0)
    values, vectors = np.linalg.eigh(correlations[:-1, :-1])
    inverse = vectors @ np.diag(1 / np.maximum(values, _SMALLEST_EIGENVALUE)) @ vectors.T
    slopes = inverse @ correlations[:-1, -1] * deviations[-1] / deviations[:-1]
    return LinearModel(intercept=float(means[-1] - slopes @ means[:-1]), coefficients=slopes)


def _of_bins(numbers: np.ndarray, mean: float, deviation: float, into: np.ndarray) -> np.ndarray:
    """(n_bins,) the standard number of every measured bin; 0, the mean, for one without a number."""
    standard = np.append((numbers - mean) / deviation, 0.0)
    return standard[np.minimum(into, len(numbers))]


def _correlation(measured: NoisyMarginals, one: NoisySum, numbers: Sequence[np.ndarray]) -> float:
    """The correlation of the numbers of two columns, in a table that the sum and both columns tell of.

    Of the tables p q (1 + l s), p and q the shares of the columns and s the scores without what either column explains, which
    have these shares for every l, the one with the measured sum. Where scores are products of the numbers, up to a shift of
    either, that is the measured product moment.

    Parameters
    ----------
    numbers : standard numbers of the bins of both columns, in the order of the layout.
    """
    rows = [
        np.maximum(_counts(measured, column, size), 0.0) + 1e-9
        for column, size in zip(one.columns, one.scores.shape, strict=True)
    ]
    shares = [each / each.sum() for each in rows]
    expected = float(shares[0] @ one.scores @ shares[1])
    scores = one.scores - shares[0] @ one.scores - (one.scores @ shares[1])[:, None] + expected
    weighted = np.outer(*shares) * scores
    spread = float((weighted * scores).sum())
    slope = (one.value / measured.n - expected) / max(spread, 1e-9)
    return slope * float(numbers[0] @ weighted @ numbers[1])


def _counts(measured: NoisyMarginals, column: int, size: int) -> np.ndarray:
    """Noisy counts of all bins of a column."""
    return _table(measured, [column], [np.arange(size)], [np.empty(size)])


def _table(
    measured: NoisyMarginals, places: Sequence[int], maps: Sequence[np.ndarray], numbers: Sequence[np.ndarray]
) -> np.ndarray:
    """Noisy counts of some columns in bins with numbers, an axis each, from the table whose noise adds up to least."""

    def noise(table: NoisyMarginal) -> float:
        return float(table.variance().sum())

    best = min((table for table in measured.tables if set(places) <= set(table.columns)), key=noise, default=None)
    if best is None:
        return np.ones([len(each) for each in numbers])
    others = tuple(axis for axis, column in enumerate(best.columns) if column not in places)
    values = best.values.sum(axis=others)
    left = [column for column in best.columns if column in places]
    values = values.transpose([left.index(place) for place in places]).astype(float)
    merged = np.zeros([int(into.max()) + 1 for into in maps])
    np.add.at(merged, np.ix_(*maps), values)
    return merged[tuple(slice(len(each)) for each in numbers)]
