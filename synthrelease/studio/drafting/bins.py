"""Choose bins with round limits for a column of numbers, and choose the numbers that represent the bins in criteria.

The release uses coarse bins; fine bins divide them further. Limits are multiples of 1, 2 or 5 times a power of ten, and no
bin is nearly empty. If most rows are in a small part of the range, as with money, the limits are 1, 2, 5, 10, 20, 50, ... A
frequent 0 has a separate bin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise

import numpy as np

from synthrelease.data.schema import MAX_BINS, IntervalBin, value_grid
from synthrelease.errors import so_many

LEAST_SHARE = 0.01
"""A drafted bin holds at least this share of the rows, because a release is least accurate in rare bins."""

COARSE, FINE = 6, 14
"""Approximate number of coarse bins, and approximate number of fine bins."""

AGE_STEPS = (1.0, 5.0, 10.0)
"""The usual widths of bins of ages, in years."""

OWN_ZERO = 0.05
"""The value 0 has a separate bin if at least this share of the rows has this value."""

_SKEWED = 8.0  # Limits are logarithmic if the 97th percentile of the positive values is at least this multiple of their median
_STEPS = (1, 2, 5)


@dataclass(frozen=True, kw_only=True)
class NumberBins:
    """The bounds of a column of numbers and the limits between its bins.

    Attributes
    ----------
    low, high : the bounds: the smallest and the largest public value, rounded outward to a round number of about a tenth of
        the range. A bound is not rounded if the values seem to stop there by a rule, such as a least age of 18.
    coarse, fine : the inner limits of the coarse and of the fine bins, in increasing order. Every limit of `coarse` is in
        `fine`.
    groups : the limits between the groups that criteria compare: two limits of `coarse` that divide the rows into three
        groups, or the only limit.
    """

    low: float
    high: float
    coarse: tuple[float, ...]
    fine: tuple[float, ...]
    groups: tuple[float, ...]
    ages: bool = False

    def texts(self, *, whole: bool, weight: bool) -> dict[str, list[str]]:
        """Return the coarse bins under "coarse" and, if they differ, the fine bins under "fine", written as "2-19".

        The outer bins end at the bounds, because a mean over an open bin is not estimable. Only the first bin of a weight
        is open, because representative values must be above 0: "<1" has the value 1, and "0" would have the value 0.
        """
        limits = {"coarse": self.coarse} | ({"fine": self.fine} if self.fine != self.coarse else {})
        ends = None if weight else self.low, self.high
        return {name: bin_texts(limits_, whole=whole, ends=ends) for name, limits_ in limits.items()}


def number_bins(values: np.ndarray, counts: np.ndarray, *, whole: bool, ages: bool = False) -> NumberBins:
    """Return bins with round limits for a column of numbers.

    Parameters
    ----------
    values, counts : (n_values,) different values in increasing order, and the number of rows with each value.
    ages : whether the numbers are ages in years. The limits between coarse bins are then multiples of 1, 5 or 10 years.
    """
    fixed = _zero(values, counts, whole)
    candidates = None if ages else _logarithmic(values, counts, whole)
    candidates = candidates or _even(values, counts, whole, fixed, AGE_STEPS if ages else ())
    # percentages up to 100 have no bin from 100 to 110
    few, many = ([limit for limit in limits if whole or limit < values[-1]] for limits in candidates)
    coarse = _kept(values, counts, few, fixed)
    fine = _kept(values, counts, many, coarse)
    edge = round_step((values[-1] - values[0]) / 10, whole)
    low = _plain(math.floor(values[0] / edge) * edge)
    high = _plain(math.ceil((values[-1] + (1 if whole else 0)) / edge) * edge - (1 if whole else 0))
    if whole and coarse and _is_cut(values, counts, values < coarse[0], values[0] - low):
        low = float(values[0])
    if whole and coarse and _is_cut(values[::-1], counts[::-1], values[::-1] >= coarse[-1], high - values[-1]):
        high = float(values[-1])
    if not whole and high in (low, *coarse[-1:], *fine[-1:]):  # otherwise the last bin would be empty
        high = _plain(high + edge)
    groups = _groups(values, counts, coarse)
    return NumberBins(low=low, high=max(high, low + edge), coarse=coarse, fine=fine, groups=groups, ages=ages)


def _is_cut(values: np.ndarray, counts: np.ndarray, inside: np.ndarray, outside: float) -> bool:
    """Return whether a natural limit, such as a least age of 18, explains why numbers end inside their outer bin.

    The outermost number must have at least half of the bin's mean number of rows, and at least half of the bin must be
    beyond it.

    Parameters
    ----------
    values, counts : the numbers from the outermost one inward, and the number of rows with each.
    outside : the number of whole numbers that the bin would have beyond the outermost number.
    """
    width = float(np.ptp(values[inside])) + 1
    return bool(outside >= width and 2 * counts[0] >= counts[inside].mean())


def _zero(values: np.ndarray, counts: np.ndarray, whole: bool) -> tuple[float, ...]:
    """Return limits that give 0 a bin of its own; empty for less than 5% of the rows, or if 0 is the largest value."""
    at = int(np.searchsorted(values, 0))
    if at + 1 >= len(values) or values[at] != 0 or counts[at] < OWN_ZERO * counts.sum():
        return ()
    above = 1.0 if whole else _plain(10.0 ** math.floor(math.log10(values[at + 1])))
    return (above,) if at == 0 else (0.0, above)


def _even(
    values: np.ndarray, counts: np.ndarray, whole: bool, fixed: Sequence[float], steps: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return limits of bins of equal width: multiples of a round number for coarse bins, of a smaller one for fine bins.

    If 0 is frequent, the positive values alone determine the step.

    Parameters
    ----------
    steps : the steps that coarse bins may have; empty for any round step. With a step of 10 years, a first bin of more than
        10 years ends 5 years earlier if enough rows are left in it.
    """
    inside = values > 0 if fixed else np.ones(len(values), dtype=bool)
    cumulated = np.cumsum(counts[inside]) / counts[inside].sum()
    first, last = (float(values[inside][np.searchsorted(cumulated, share)]) for share in (0.03, 0.97))
    step = round_step((last - first) / COARSE, whole)
    step = next((width for width in steps if width >= step), steps[-1] if steps else step)
    finer = min(_divisors(step, whole), key=lambda width: abs(math.log(width * FINE / max(last - first, width))))
    limits = _multiples(values, counts, step)
    below = [limit for limit in limits if _shares(values, counts, [limit])[0] >= LEAST_SHARE]
    if steps and below and below[0] - values[0] > step > 5 and _shares(values, counts, [below[0] - 5])[0] >= LEAST_SHARE:
        limits.append(below[0] - 5)
    return limits, _multiples(values, counts, finer)


def _logarithmic(values: np.ndarray, counts: np.ndarray, whole: bool) -> tuple[list[float], list[float]] | None:
    """Return coarse limits such as 1, 10, 100 and fine limits such as 1, 2, 5, 10, or None if values are not skewed."""
    if (ends := skewed(values, counts)) is None:
        return None
    low, high = ends
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [_plain(10.0**power * factor) for power in powers for factor in _STEPS]
    fine = [limit for limit in fine if low <= limit <= high and (limit >= 1 or not whole)]
    every = next(step for step in (1, 2, 3, 6, 12) if len(fine) / step <= COARSE or step == 12)
    negative = [0.0] if values[0] < 0 else []
    return negative + fine[::every], negative + fine


def skewed(values: np.ndarray, counts: np.ndarray) -> tuple[float, float] | None:
    """Return the 3rd and the 97th percentile of the positive values if the latter is at least 8 times their median, else
    None.

    The result is also None if there are at most 20 different positive values, or if less than a twentieth of the rows has
    one.
    """
    positive = values > 0
    if counts[positive].sum() < counts.sum() / 20 or positive.sum() <= 20:
        return None
    cumulated = np.cumsum(counts[positive]) / counts[positive].sum()
    low, middle, high = (float(values[positive][np.searchsorted(cumulated, share)]) for share in (0.03, 0.5, 0.97))
    return (low, high) if high >= _SKEWED * middle else None


def _multiples(values: np.ndarray, counts: np.ndarray, step: float) -> list[float]:
    """Return about a thousand multiples of a step at most, up to the largest value.

    They begin above the lowest half percent of the rows, so that a single far value cannot use up the thousand.
    """
    lowest = values[np.searchsorted(np.cumsum(counts) / counts.sum(), LEAST_SHARE / 2)]
    first = math.floor(lowest / step) + 1
    last = min(math.floor(values[-1] / step), first + 1000)
    return [multiple * step for multiple in range(first, last + 1)]


def _divisors(step: float, whole: bool) -> list[float]:
    parts = [step / part for part in (1, 2, 5, 10) if not whole or step % part == 0]
    return [part for part in parts if round_step(part, whole) == part] or [step]


def _kept(values: np.ndarray, counts: np.ndarray, limits: Sequence[float], fixed: Sequence[float]) -> tuple[float, ...]:
    """Return the limits in `fixed`, and those in `limits` that leave at least 1% of the rows in both bins next to them."""
    chosen = list(fixed)
    for limit in sorted({_plain(limit) for limit in limits if values[0] < limit <= values[-1]} - set(fixed)):
        trial = sorted([*chosen, limit])
        at = trial.index(limit)  # only the two bins at the new limit become smaller
        beside = _shares(values, counts, trial)[at : at + 2]
        if min(beside) >= LEAST_SHARE:
            chosen = trial
    return tuple(chosen)


def _groups(values: np.ndarray, counts: np.ndarray, limits: Sequence[float]) -> tuple[float, ...]:
    """Return the two limits that divide the rows most equally into three groups, or all if there are fewer than two."""
    pairs: list[tuple[float, ...]] = [*combinations(limits, 2)] or [tuple(limits)]
    return max(pairs, key=lambda pair: min(_shares(values, counts, pair)))


def _shares(values: np.ndarray, counts: np.ndarray, limits: Sequence[float]) -> list[float]:
    rows = np.bincount(np.searchsorted(limits, values, side="right"), weights=counts, minlength=len(limits) + 1)
    return (rows / counts.sum()).tolist()


def round_step(width: float, whole: bool) -> float:
    """Return the number among 1, 2 and 5 times the powers of ten that is nearest to a width on a logarithmic scale.

    The result is at least 1 for whole numbers, and 1 if the width is not positive.
    """
    if not width > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    step = min((power * factor for factor in (1, 2, 5, 10)), key=lambda value: abs(math.log(value / width)))
    return max(1.0, step) if whole else step


def _plain(value: float) -> float:
    """Return a number rounded to 12 significant digits, without the rounding errors of a multiplication."""
    return float(f"{value:.12g}")


Ends = tuple[float | None, float | None]
"""The lowest and the highest allowed number of a column; None if there is no bound at this end."""


def bin_texts(limits: Sequence[float], *, whole: bool, ends: Ends = (None, None)) -> list[str]:
    """Return the bins between limits as a configuration writes them. Runs of single whole numbers are written as "18..44".

    Raises
    ------
    ValueError : when there is no limit.

    Examples
    --------
    >>> bin_texts([1, 2, 20], whole=True, ends=(0, 99))
    ['0..1', '2-19', '20-99']
    >>> bin_texts([2.5], whole=False)
    ['<2.5', '>=2.5']
    """
    if not limits:
        raise ValueError("bins need at least one limit")
    low, high = ends
    first = [f"<{_shown(limits[0])}"] if low is None else []
    last = [f">={_shown(limits[-1])}"] if high is None else []
    edges = [*([] if low is None else [low]), *limits, *([] if high is None else [high + 1 if whole else high])]
    if not whole:
        return [*first, *(f"{_shown(a)} to {_shown(b)}" for a, b in pairwise(edges)), *last]
    texts = list[str]()
    for single, bins in groupby([(int(a), int(b) - 1) for a, b in pairwise(edges)], key=lambda ends: ends[0] == ends[1]):
        run = list(bins)
        texts += (
            [f"{run[0][0]}..{run[-1][0]}"] if single and len(run) > 1 else [str(a) if single else f"{a}-{b}" for a, b in run]
        )
    return [*first, *texts, *last]


def _shown(value: float) -> str:
    text = f"{value:.12f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


# Settings for criteria with the numbers of a column: representative values, the grid of own values, and ranges for means and
# lines.

Range = tuple[float, float]

# Representative values are rounded to a power of ten that is at most a tenth of the standard deviation within the bin.
_TENTH = 10
# Clipping, or the grid, may change values by at most this fraction of the column's standard deviation, on average.
_NOTHING = 1000
_TAILS = (0.001, 0.0003, 0.0001)  # The shares of the rows, at each end, that the range of a mean may clip
# The shares of the rows, at each end, that the range of a regression line clips: usually, and if extremes lie far out.
_EXTREME, _FAR_NUMBERS = 0.001, 0.01
_FINER = (1, 2, 5, 10, 20)  # Factors by which the grid of a column may be finer than the default grid
# A far value occurs in at most one of 1,000 rows, and changes the mean by more than 5% of a standard deviation.
_SELDOM, _MOVED = 1000, 0.05


@dataclass(frozen=True, kw_only=True)
class NumberFacts:
    """Facts about a numeric column for the acceptance criteria.

    Attributes
    ----------
    numbers : the value that represents each bin in means and regressions, by the label of the bin, if it is not the default.
    step : the step of the grid on which exact values are counted, or None for the default grid, which follows from the
        bounds.
    mean_range, line_range : ranges to which values are clipped for a mean, and for a regression line.
    spread : the standard deviation of the values after clipping to `mean_range`.
    """

    numbers: Mapping[str, float]
    step: float | None
    mean_range: Range
    line_range: Range
    spread: float = 1.0


def number_facts(
    values: np.ndarray, counts: np.ndarray, bins: Sequence[Sequence[IntervalBin]], bounds: Range, *, whole: bool, weight: bool
) -> NumberFacts:
    """Compute facts about a numeric column for the acceptance criteria from its public rows.

    Parameters
    ----------
    values, counts : (n_values,) different values in increasing order, and the number of public rows with each value.
    bins : bins of each alternative, the coarsest alternative first.
    weight : whether the column is a design weight, whose representative values must be above 0.
    """
    numbers: dict[str, float] = {}
    for intervals in bins:
        numbers |= bin_numbers(values, counts, intervals, bounds, whole)
    mean_range = _mean_range(values, counts, bounds)
    return NumberFacts(
        numbers={label: value for label, value in numbers.items() if value > 0 or not weight},
        step=None if weight else _step(values, counts, bins[0], bounds, whole),
        mean_range=mean_range,
        line_range=_line_range(values, counts, bounds),
        spread=_moments(np.clip(values, *mean_range), counts)[1],
    )


def far_value(values: np.ndarray, counts: np.ndarray) -> str:
    """Return a question about a rare smallest or largest value that changes the mean strongly and may be an error, or ""."""
    for end in (0, -1):
        rest, rows = np.delete(values, end), np.delete(counts, end)
        if not rest.size or counts[end] * min(_SELDOM, rows.sum()) > rows.sum():
            continue
        without, spread = _moments(rest, rows)
        mean = _moments(values, counts)[0]
        if abs(mean - without) > _MOVED * spread > 0:
            rows_there = so_many(int(counts[end]), "row")
            return (
                f"is {values[end]:.12g} an error ({rows_there} of the public file)? The mean is {mean:.4g} with this value and "
                f"{without:.4g} without it. If it is an error, correct the public file and draft again"
            )
    return ""


def bin_numbers(
    values: np.ndarray, counts: np.ndarray, bins: Iterable[IntervalBin], bounds: Range, whole: bool
) -> dict[str, float]:
    """Return the value that represents each bin in means and regressions, by label, if it is not the default.

    It is the rounded mean of the rows in the bin, limited to the bounds, or the middle of the bin if the bin has no rows or
    the mean is less than a twentieth of a standard deviation away.
    """
    numbers = {}
    for interval in bins:
        low, high = max(interval.lower, bounds[0]), min(interval.upper - (1 if whole else 0), bounds[1])
        inside = (values >= interval.lower) & (values < interval.upper)
        value = (low + high) / 2
        if inside.any():
            mean, spread = _moments(values[inside], counts[inside])
            if abs(mean - value) > spread / (2 * _TENTH):
                decimals = min(12, -math.floor(math.log10(spread / _TENTH))) if spread > 0 else 12
                value = min(max(float(round(mean, decimals)), low), high)
        if value != interval.number:
            numbers[interval.label] = value
    return numbers


def _moments(values: np.ndarray, counts: np.ndarray) -> Range:
    mean = float(np.average(values, weights=counts))
    return mean, math.sqrt(float(np.average((values - mean) ** 2, weights=counts)))


def _step(values: np.ndarray, counts: np.ndarray, bins: Iterable[IntervalBin], bounds: Range, whole: bool) -> float | None:
    """Return the step to which values should be rounded, or None if the default step does not change the means of the bins.

    Rounding can change means, because halves are rounded up, or because most values are near 0, as with amounts of money.
    """
    usual, spread = value_grid(bounds, whole=whole).step, _moments(values, counts)[1]
    bins_ = np.searchsorted([interval.lower for interval in bins][1:], values, side="right")
    step = usual
    for part in _FINER:
        if (whole and usual % part) or (bounds[1] - bounds[0]) * part / usual > MAX_BINS:
            continue
        step = usual / part
        moved = np.bincount(bins_, weights=counts * (np.floor(values / step + 0.5) * step - values))
        if np.abs(moved).sum() <= counts.sum() * spread / _NOTHING:
            break
    return None if step == usual else step


def _mean_range(values: np.ndarray, counts: np.ndarray, bounds: Range) -> Range:
    """Return the range to which values are clipped before their noisy mean is computed; a narrower range needs less noise.

    It is narrower than the bounds if clipping then changes a value by at most a thousandth of the standard deviation on
    average.
    """
    spread = _moments(values, counts)[1]
    for share in _TAILS:
        low, high = _quantiles(values, counts, bounds, share)
        if float(np.average(np.abs(values - np.clip(values, low, high)), weights=counts)) <= spread / _NOTHING:
            return low, high
    return bounds


def _line_range(values: np.ndarray, counts: np.ndarray, bounds: Range) -> Range:
    """Return the range to which values are clipped before a regression is fitted, which bounds the noise.

    It leaves out 0.1% of the rows at each end, or 1% if a few rows are far away from the others, as with money.
    """
    wide, narrow = (_quantiles(values, counts, bounds, share) for share in (_EXTREME, _FAR_NUMBERS))
    return narrow if wide[1] - wide[0] > 2 * (narrow[1] - narrow[0]) else wide


def _quantiles(values: np.ndarray, counts: np.ndarray, bounds: Range, share: float) -> Range:
    """Return the range of all rows except a share at each end, rounded outward by at most a twentieth of the width."""
    cumulated = np.cumsum(counts)
    rows = int(cumulated[-1])
    first, last = (int(np.searchsorted(cumulated, at, side="right")) for at in (share * rows, (1 - share) * rows))
    low, high = float(values[first]), float(values[min(last, len(values) - 1)])
    if not low < high:
        return bounds
    step = 10.0 ** math.floor(math.log10((high - low) / 20))
    low, high = (float(f"{end * step:.12g}") for end in (math.floor(low / step), math.ceil(high / step)))
    return max(low, bounds[0]), min(high, bounds[1])
