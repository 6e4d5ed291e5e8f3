"""Compute bounds on sums of original counts, and regression lines, from the shared noisy tables, without a further charge.

Criteria with `answered_by` use these bounds (theory 13.6, criteria that measurements answer). The sums are fixed before any
table is measured, and each gets an equal part of the risk. Several measured tables with the columns of a sum are combined
with public weights if this lowers the noise. A measured sum of scores is used if it gives a narrower interval
(`limits_of_sum`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.functional import LinearModel
from synthrelease.data.marginals import added_up, spread_out

if TYPE_CHECKING:
    from synthrelease.data.schema import Binning, Transformation
    from synthrelease.generators.measured_noise import CountNoise
    from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, NoisySum, Parts

# Limits from a measured sum of scores, if the sum of original counts is an affine function of the measured sum. For example, if
# the rarest bin is measured as a sum, its noise scale is half as large as in a table of equal epsilon (theory 12.12, scored
# sums; 13.6, criteria that measurements answer).

Limit = tuple[int, int, int]
"""A limit (v, t, m): m times the sum lies between v - t and v + t."""


def limits_of_cells(columns: Sequence[str], measured: NoisyMarginals, risk: float) -> Mapping[int, list[Limit]]:
    """Return limits on single counts, by cell number, from measured sums in which all cells but one have the same score.

    Such a sum determines the count of this cell, because the total is known.
    """
    limits: dict[int, list[Limit]] = {}
    for noisy, steps in _with(columns, measured):
        cells, numbers = np.unique(steps, return_counts=True)
        for step in cells[numbers == 1] if len(cells) == 2 else ():
            cell = int(np.flatnonzero(steps.ravel() == step)[0])
            counted = np.zeros(steps.size, dtype=np.int64)
            counted[cell] = 1
            limit = limit_of(noisy, steps, counted.reshape(steps.shape), measured.n, risk)
            limits.setdefault(cell, []).extend([limit] if limit else [])
    return limits


def limits_of_sum(columns: Sequence[str], weights: np.ndarray, measured: NoisyMarginals, risk: float) -> list[Limit]:
    limits = (limit_of(noisy, steps, weights, measured.n, risk) for noisy, steps in _with(columns, measured))
    return [limit for limit in limits if limit]


def limit_of(noisy: NoisySum, steps: np.ndarray, weights: np.ndarray, n: int, risk: float) -> Limit | None:
    """Return the limit on a weighted sum of original counts that follows from one noisy sum, or None.

    A limit follows if under * weights = over * steps + constant in every cell. Then under times the weighted sum equals
    over times the measured sum plus n times the constant.
    """
    first, last = int(steps.argmin()), int(steps.argmax())
    of_steps, of_weights = steps.ravel(), weights.ravel()
    lowest, highest = int(of_steps[first]), int(of_steps[last])
    at_lowest, at_highest = int(of_weights[first]), int(of_weights[last])
    ratio = Fraction(at_highest - at_lowest, highest - lowest)
    over, under = ratio.numerator, ratio.denominator
    constant = under * at_lowest - over * lowest
    if not over or not np.array_equal(under * of_weights, over * of_steps + constant):
        return None
    return over * noisy.value + constant * n, abs(over) * noisy.limit(risk), under


def _with(columns: Sequence[str], measured: NoisyMarginals) -> list[tuple[NoisySum, np.ndarray]]:
    """Return the noisy sums of exactly these columns, each with the scores of the cells in whole steps, with one axis per
    column.

    Sums with inexact or equal scores are left out.
    """
    sums = []
    for noisy in measured.sums:
        names = [measured.layout.columns[column] for column in noisy.columns]
        if noisy.exact and set(names) == set(columns):
            steps = np.rint(noisy.scores).astype(np.int64).transpose([names.index(name) for name in columns])
            if np.ptp(steps):
                sums.append((noisy, steps))
    return sums


_FINEST_WEIGHT = 8  # Largest weight of a table in a combination; weights are whole numbers

_EXACT = 2**53  # Largest weighted sum that is exact as a float. Weights with larger sums raise ValueError.

Name = TypeVar("Name")
Possible = Callable[[tuple[str, ...]], np.ndarray]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sums:
    """Weighted sums of original counts over the cells of one table.

    Attributes
    ----------
    weights : an (n_sums, *sizes of the columns) array of whole numbers, or None for the counts of all cells in order.
    """

    columns: tuple[str, ...]
    weights: np.ndarray | None = None

    def number(self, sizes: Mapping[str, int]) -> int:
        cells = int(np.prod([sizes[name] for name in self.columns], dtype=np.int64))
        return cells if self.weights is None else len(self.weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class Limits:
    """The lower and upper limits of some sums, as (n_sums,) whole numbers."""

    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class _Estimate:
    """An estimate of a weighted sum of original counts from one noisy table. `noises` are pairs of an absolute weight and
    the number of noise terms with this weight.
    """

    value: int
    noise: CountNoise
    noises: tuple[tuple[int, int], ...]

    @property
    def variance(self) -> float:
        return sum(weight**2 * count for weight, count in self.noises) * self.noise.variance_above

    def parts(self, times: int) -> Iterator[tuple[CountNoise, int, int]]:
        return ((self.noise, weight * times, count) for weight, count in self.noises)


def all_limits(
    sums_by_name: Mapping[Name, Sequence[Sums]], measured: NoisyMarginals, possible: Possible, risk: float
) -> dict[Name, list[Limits]]:
    """Return limits on all weighted sums of original counts that criteria need. All limits hold at the same time with
    probability at least 1 - risk over the noise.

    Parameters
    ----------
    sums_by_name : the sums of each criterion, whose columns a measured table must contain.
    possible : a function of column names that returns an (n_cells,) mask, False if the public rules exclude every original
        row of the cell.
    """
    sizes = dict(zip(measured.layout.columns, measured.layout.sizes, strict=True))
    number = sum(wanted_sums.number(sizes) for sums in sums_by_name.values() for wanted_sums in sums)
    tables = [_Table(measured, table, possible) for table in measured.tables]
    share = risk / max(number, 1)
    return {name: [_limits(wanted, tables, measured, share) for wanted in sums] for name, sums in sums_by_name.items()}


def half_widths(sums: Sums, measured: NoisyMarginals, possible: Possible, risk: float) -> np.ndarray:
    """Return half the width of the interval of each sum, as an (n_sums,) array. It is public: it depends on the scale of
    the noise only.
    """
    tables = [_Table(measured, table, possible) for table in measured.tables]
    widths = []
    of_sums = _of_scored_sums(sums, measured, risk)
    for index, estimates in enumerate(_estimates(sums, [table for table in tables if table.holds(sums.columns)])):
        _, width, times = _least([_narrowest(estimates, risk), *of_sums(index)])
        widths.append(width / times)
    return np.array(widths)


def covered(columns: Sequence[str], measured: Sequence[Sequence[str]]) -> bool:
    return any(set(columns) <= set(table) for table in measured)


class _Table:
    """A noisy table, with exact zeros in the cells that the public rules exclude."""

    def __init__(self, measured: NoisyMarginals, table: NoisyMarginal, possible: Possible):
        self.columns = tuple(measured.layout.columns[column] for column in table.columns)
        allowed = possible(self.columns).reshape(table.values.shape)
        self.values, self.cells = np.where(allowed, table.values, 0), np.where(allowed, table.cells, 0)
        self.noise = table.noise

    def holds(self, columns: Sequence[str]) -> bool:
        return set(columns) <= set(self.columns)

    def every_cell(self, columns: tuple[str, ...]) -> Iterator[_Estimate]:
        values, cells = (added_up(array, self.columns, columns).ravel() for array in (self.values, self.cells))
        for value, count in zip(values.tolist(), cells.tolist(), strict=True):
            yield _Estimate(value=value, noise=self.noise, noises=((1, count),) if count else ())

    def weighted(self, columns: tuple[str, ...], weights: np.ndarray) -> _Estimate:
        own = spread_out(weights, columns, self.columns, self.values.shape)
        sizes: Counter[int] = Counter()
        for weight, count in zip(np.abs(own).ravel().tolist(), self.cells.ravel().tolist(), strict=True):
            if weight and count:
                sizes[weight] += count
        return _Estimate(value=int((own * self.values).sum()), noise=self.noise, noises=tuple(sorted(sizes.items())))


def _limits(sums: Sums, tables: Sequence[_Table], measured: NoisyMarginals, risk: float) -> Limits:
    holding = [table for table in tables if table.holds(sums.columns)]
    if not holding:
        raise LookupError(f"No measured table has the columns {sums.columns}")
    low, high, n = [], [], measured.n
    of_sums = _of_scored_sums(sums, measured, risk)
    for index, estimates in enumerate(_estimates(sums, holding)):
        value, width, times = _least([_narrowest(estimates, risk), *of_sums(index)])
        least, most = (0, n) if sums.weights is None else _possible_range(sums.weights[index], n)
        lowest, highest = max(least, -((width - value) // times)), min(most, (value + width) // times)
        if lowest > highest:  # the noise exceeded its limits, so the sum has no limits
            lowest, highest = least, most
        low.append(lowest)
        high.append(highest)
    return Limits(low=np.array(low, dtype=np.int64), high=np.array(high, dtype=np.int64))


def _of_scored_sums(sums: Sums, measured: NoisyMarginals, risk: float) -> Callable[[int], Sequence[Limit]]:
    """Return a function that takes the index of a sum, and returns the limits on it that follow from measured sums of
    scores.
    """
    if sums.weights is None:
        cells = limits_of_cells(sums.columns, measured, risk)
        return lambda index: cells.get(index, [])
    weights = sums.weights
    return lambda index: limits_of_sum(sums.columns, weights[index], measured, risk)


def _least(limits: Sequence[Limit]) -> Limit:
    """Return the narrowest of several limits on a sum. The choice depends only on the public scales of the noise."""
    return min(limits, key=lambda limit: limit[1] / limit[2])


def _possible_range(weights: np.ndarray, n: int) -> tuple[int, int]:
    if max(abs(int(weights.min())), abs(int(weights.max()))) * n >= _EXACT:
        raise ValueError("The weights are too large. Their sum over all rows could not be computed exactly")
    return int(weights.min()) * n, int(weights.max()) * n


def _estimates(sums: Sums, tables: Sequence[_Table]) -> Iterator[list[_Estimate]]:
    if sums.weights is None:
        yield from map(list, zip(*(table.every_cell(sums.columns) for table in tables), strict=True))
    else:
        for weights in sums.weights:
            yield [table.weighted(sums.columns, weights) for table in tables]


def _narrowest(estimates: Sequence[_Estimate], risk: float) -> tuple[int, int, int]:
    """Return the narrowest interval for a sum from one estimate or a weighted combination of estimates, as whole numbers
    (v, t, m): m times the sum lies between v - t and v + t, except with probability at most `risk`.

    The choice does not depend on the noisy values.
    """
    from synthrelease.generators.measurements import noise_limit  # here, because only criteria with `answered_by` need it

    least = min(estimates, key=lambda estimate: estimate.variance)
    if not least.noises:
        return least.value, 0, 1
    alone = noise_limit(_joined([(least, 1)]), risk)
    combined = [(estimate, round(_FINEST_WEIGHT * least.variance / estimate.variance)) for estimate in estimates]
    combined = [(estimate, times) for estimate, times in combined if times]
    if len(combined) == 1:
        return least.value, alone, 1
    width, total = noise_limit(_joined(combined), risk), sum(times for _, times in combined)
    if width >= alone * total:
        return least.value, alone, 1
    return sum(times * estimate.value for estimate, times in combined), width, total


def _joined(estimates: Sequence[tuple[_Estimate, int]]) -> Parts:
    counts: Counter[tuple[CountNoise, int]] = Counter()
    for estimate, times in estimates:
        for noise, weight, count in estimate.parts(times):
            counts[noise, weight] += count
    return tuple((noise, weight, count) for (noise, weight), count in sorted(counts.items()))


# An upper bound of the distance between the slopes of two regression lines, from limits of the moments of the original rows.
# Noisy tables of all pairs of columns give these limits (theory 13.7, slopes within limits).

_FINEST = 2**11  # Products of two numbers in [-1, 1] are rounded to multiples of 1 / `_FINEST`

_ROOM = 1e-9  # Margin for the rounding of floats: absolute for a moment (which is at most 1), and relative for a bound


def moment_sums(columns: Sequence[str], facts: PublicFacts) -> list[Sums]:
    """Return the sums that regressions need, in whole steps: of each column, of each product of two columns, and of the
    square of each feature.

    Parameters
    ----------
    columns : the names of the features, then of the target.
    """
    sums = []
    for first, second in _pairs(len(columns)):
        names = _names(columns, first, second)
        weights = np.rint(_exact(names, first == second, facts) * _FINEST)[None].astype(np.int64)
        sums.append(Sums(columns=names, weights=weights))
    return sums


def furthest_slopes(columns: Sequence[str], limits: Sequence[Limits], facts: PublicFacts) -> float:
    """Return an upper bound on the sum over the features of |slope(R) - slope(S)| times the standard deviation of the
    feature in S, in the unit of the target. R is the original and S the released table.

    The bound is infinite if the limits do not determine the slopes of R, and NaN if some feature does not vary in S.
    """
    d, n = len(columns) - 1, facts.n
    middles, widths, synthetic = (np.zeros((d + 2, d + 2)) for _ in range(3))  # 0 is the intercept, then come the columns
    middles[0, 0] = synthetic[0, 0] = 1.0
    for (first_column, second), limit in zip(_pairs(d + 1), limits, strict=True):
        names = _names(columns, first_column, second)
        exact = _exact(names, first_column == second, facts)
        moved = float(np.abs(exact - np.rint(exact * _FINEST) / _FINEST).max()) + _ROOM
        entry = (0, first_column + 1) if second is None else (first_column + 1, second + 1)
        of_table = float((facts.cells(names).reshape(exact.shape) * exact).sum()) / n
        low, high = (float(end[0]) / (_FINEST * n) for end in (limit.low, limit.high))
        for i, j in (entry, entry[::-1]):
            middles[i, j], widths[i, j], synthetic[i, j] = (low + high) / 2, (high - low) / 2 + moved, of_table
    spreads = np.sqrt(np.maximum(np.diag(synthetic)[1:-1] - synthetic[0, 1:-1] ** 2, 0.0))
    if not (spreads > 0).all():
        return math.nan
    line = np.linalg.lstsq(synthetic[:-1, :-1], synthetic[:-1, -1], rcond=None)[0]
    scale = np.concatenate([[1.0], spreads])
    inverse = scale[:, None] * np.linalg.pinv(middles[:-1, :-1], hermitian=True)
    first = np.abs(inverse @ (middles[:-1, -1] - middles[:-1, :-1] @ line))
    first += np.abs(inverse) @ (widths[:-1, -1] + widths[:-1, :-1] @ np.abs(line))
    again = np.abs(np.diag(scale) - inverse @ middles[:-1, :-1]) + np.abs(inverse) @ widths[:-1, :-1]
    again = again / scale
    if not np.abs(np.linalg.eigvals(again)).max() < 1 - _ROOM:
        return math.inf
    apart = np.linalg.solve(np.eye(d + 1) - again, first)
    return float(apart[1:].sum()) * _half_range(columns[-1], facts) * (1 + _ROOM)


def _pairs(width: int) -> list[tuple[int, int | None]]:
    """Return the column indices of the sums of a regression: (i, None) for each column, (i, j) for each pair, and (i, i)
    for each feature; the target is last.
    """
    singles: list[tuple[int, int | None]] = [(first, None) for first in range(width)]
    return [*singles, *((first, second) for first in range(width) for second in range(first, width) if first < width - 1)]


def _names(columns: Sequence[str], first: int, second: int | None) -> tuple[str, ...]:
    return (columns[first],) if second is None or second == first else (columns[first], columns[second])


def _exact(names: tuple[str, ...], squared: bool, facts: PublicFacts) -> np.ndarray:
    """Return what one row in each bin adds to the sum of a column, of its squares, or of the products of two columns."""
    first = _standard(names[0], facts)
    if len(names) == 2:
        return np.outer(first, _standard(names[1], facts))
    return first**2 if squared else first


def _standard(name: str, facts: PublicFacts) -> np.ndarray:
    numbers = np.array(facts.by_name[name].numbers, dtype=float)
    return (numbers - (numbers.max() + numbers.min()) / 2) / _half_range(name, facts)


def _half_range(name: str, facts: PublicFacts) -> float:
    numbers = np.array(facts.by_name[name].numbers, dtype=float)
    return max(float(numbers.max() - numbers.min()) / 2, 1e-9)


# A regression line from the shared noisy tables, which replaces a private fit. A criterion of prediction errors compares with
# this line. The program states no bound on the distance between this line and the line of the original rows.

# Lower limit of eigenvalues of the features' noisy correlation matrix. Smaller eigenvalues are raised to this limit, so that
# the line always exists.
_SMALLEST_EIGENVALUE = 1e-2


def measured_line(
    names: Sequence[str], binnings: Sequence[Binning], measured: NoisyMarginals, common: Transformation
) -> LinearModel:
    """Return the least-squares line of the last column on the others from noisy tables. It is a line whatever the noise is.

    Means and products come from the least noisy table that contains the column or the pair, without bins of missing values.
    A measured sum of the pair gives its correlation instead (`_correlation`). A pair without table or sum counts as
    uncorrelated.

    Parameters
    ----------
    binnings : the binning of each column. Every bin of `common` must lie inside one of its bins.

    Privacy
    -------
    The line is post-processing of the measurements.
    """
    maps = [common.binning(name).map_to(binning) for name, binning in zip(names, binnings, strict=True)]
    numbers = [np.array(binning.numbers[: binning.present], dtype=float) for binning in binnings]
    columns = [measured.layout.index(name) for name in names]
    width = len(names)
    means, deviations = np.empty(width), np.empty(width)
    for i in range(width):
        rows = np.maximum(_table(measured, [columns[i]], [maps[i]], [numbers[i]]), 0.0)
        shares = (rows + 1e-9) / (rows + 1e-9).sum()
        means[i] = shares @ numbers[i]
        deviations[i] = max(np.sqrt(shares @ (numbers[i] - means[i]) ** 2), 1e-9)
    standard = [(numbers[i] - means[i]) / deviations[i] for i in range(width)]
    correlations = np.eye(width)
    for j, i in combinations(range(width), 2):
        pair = [columns[i], columns[j]]
        if any(set(pair) <= set(table.columns) for table in measured.tables):
            rows = _table(measured, pair, [maps[i], maps[j]], [numbers[i], numbers[j]])
            correlation = float(standard[i] @ rows @ standard[j]) / max(float(rows.sum()), 1.0)
            correlations[i, j] = correlations[j, i] = min(max(correlation, -1.0), 1.0)
        if sums := [noisy for noisy in measured.sums if set(noisy.columns) == set(pair)]:
            least = min(sums, key=lambda noisy: noisy.variance / noisy.sensitivity**2)
            of_bins = [
                np.append(standard[k], 0.0)[np.minimum(maps[k], len(numbers[k]))] for k in (i, j)
            ]  # missing values get the mean, 0
            correlation = _correlation(measured, least, of_bins if pair == sorted(pair) else of_bins[::-1])
            correlations[i, j] = correlations[j, i] = min(max(correlation, -1.0), 1.0)
    values, vectors = np.linalg.eigh(correlations[:-1, :-1])
    inverse = vectors @ np.diag(1 / np.maximum(values, _SMALLEST_EIGENVALUE)) @ vectors.T
    slopes = inverse @ correlations[:-1, -1] * deviations[-1] / deviations[:-1]
    return LinearModel(intercept=float(means[-1] - slopes @ means[:-1]), coefficients=slopes)


def _correlation(measured: NoisyMarginals, noisy: NoisySum, numbers: Sequence[np.ndarray]) -> float:
    """Return the correlation of two columns from their measured sum and the shares of their bins.

    It is the correlation in a table p q (1 + l s), where p and q are the shares, the scores s have no main effects, and l
    is chosen so that the table has the measured sum.
    """
    rows = [
        np.maximum(_table(measured, [column], [np.arange(size)], [np.empty(size)]), 0.0) + 1e-9
        for column, size in zip(noisy.columns, noisy.scores.shape, strict=True)
    ]
    shares = [counts / counts.sum() for counts in rows]
    expected = float(shares[0] @ noisy.scores @ shares[1])
    scores = noisy.scores - shares[0] @ noisy.scores - (noisy.scores @ shares[1])[:, None] + expected
    weighted = np.outer(*shares) * scores
    spread = float((weighted * scores).sum())
    slope = (noisy.value / measured.n - expected) / max(spread, 1e-9)
    return slope * float(numbers[0] @ weighted @ numbers[1])


def _table(
    measured: NoisyMarginals, columns: Sequence[int], maps: Sequence[np.ndarray], numbers: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the noisy counts of some columns from the measured table with the smallest total variance, one axis per column
    and without bins of missing values; all 1 if there is none.
    """

    def noise(table: NoisyMarginal) -> float:
        return float(table.variance().sum())

    best = min((table for table in measured.tables if set(columns) <= set(table.columns)), key=noise, default=None)
    if best is None:
        return np.ones([len(axis) for axis in numbers])
    summed = tuple(axis for axis, column in enumerate(best.columns) if column not in columns)
    remaining = [column for column in best.columns if column in columns]
    values = best.values.sum(axis=summed).transpose([remaining.index(column) for column in columns]).astype(float)
    merged = np.zeros([int(into.max()) + 1 for into in maps])
    np.add.at(merged, np.ix_(*maps), values)
    return merged[tuple(slice(len(axis)) for axis in numbers)]
