"""Bins of a column of numbers, with round limits as a person would choose them, and what stands for them in computations.

Limits are whole multiples of 1, 2 or 5 times a power of ten, so that no bin is nearly empty. Where most rows stand in a small
part of the range, as with money, the limits go 1, 2, 5, 10, 20, 50, ... A zero that many rows have is a bin of its own.
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
"""Of the rows, in every drafted bin: rarer bins are what a release is worst at."""

COARSE, FINE = 6, 14
"""About how many bins are wanted."""

OWN_ZERO = 0.05
"""Share of the rows with the value 0 from which on it is a bin of its own."""

_SKEWED = 8.0
"""The 97th percentile of the positive values over their median, above which limits are logarithmic."""
_STEPS = (1, 2, 5)


@dataclass(frozen=True, kw_only=True)
class NumberBins:
    """Limits between bins of one column.

    Attributes
    ----------
    low, high : bounds: the public file's smallest and largest value, rounded outward to a tenth of the range.
    coarse, fine : inner limits, increasing; those of `coarse` are among those of `fine`.
    groups : limits of `coarse` that divide the rows into three groups, or two.
    """

    low: float
    high: float
    coarse: tuple[float, ...]
    fine: tuple[float, ...]
    groups: tuple[float, ...]

    def texts(self, *, whole: bool, weight: bool) -> dict[str, list[str]]:
        """Return the alternatives as a configuration writes them; the fine one only where it differs from the coarse one.

        The first and the last bin end at the bounds: a mean that rests on an open bin is not estimable.

        Parameters
        ----------
        weight : whether a 0 stands for nobody: "<1" has the number 1, and "0" would have none above 0.
        """
        limits = {"coarse": self.coarse} | ({"fine": self.fine} if self.fine != self.coarse else {})
        ends = None if weight else self.low, self.high
        return {name: bin_texts(limits_, whole=whole, ends=ends) for name, limits_ in limits.items()}


def number_bins(values: np.ndarray, counts: np.ndarray, *, whole: bool) -> NumberBins:
    """Round bins for a column.

    Parameters
    ----------
    values, counts : (n_values,) different values, increasing, and how often each occurs.
    whole : True for whole numbers.
    """
    fixed = _zero(values, counts, whole)
    candidates = _logarithmic(values, counts, whole) or _even(values, counts, whole, fixed)
    coarse = _kept(values, counts, candidates[0], fixed)
    fine = _kept(values, counts, candidates[1], coarse)
    edge = round_step((values[-1] - values[0]) / 10, whole)
    low = _plain(math.floor(values[0] / edge) * edge)
    high = _plain(math.ceil((values[-1] + (1 if whole else 0)) / edge) * edge - (1 if whole else 0))
    if not whole and high in (low, *coarse[-1:], *fine[-1:]):  # the last bin begins there
        high = _plain(high + edge)
    return NumberBins(low=low, high=max(high, low + edge), coarse=coarse, fine=fine, groups=_groups(values, counts, coarse))


def _zero(values: np.ndarray, counts: np.ndarray, whole: bool) -> tuple[float, ...]:
    """Return limits that leave a frequent 0 alone: of whole numbers 0 and 1, else 0 and a number below all positive ones."""
    at = int(np.searchsorted(values, 0))
    if at + 1 >= len(values) or values[at] != 0 or counts[at] < OWN_ZERO * counts.sum():
        return ()
    above = 1.0 if whole else _plain(10.0 ** math.floor(math.log10(values[at + 1])))
    return (above,) if at == 0 else (0.0, above)


def _even(values: np.ndarray, counts: np.ndarray, whole: bool, fixed: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return multiples of a step, for coarse and for fine bins; a frequent 0 has no say in the step."""
    inside = values > 0 if fixed else np.ones(len(values), dtype=bool)
    cumulated = np.cumsum(counts[inside]) / counts[inside].sum()
    first, last = (float(values[inside][np.searchsorted(cumulated, share)]) for share in (0.03, 0.97))
    step = round_step((last - first) / COARSE, whole)
    finer = min(_divisors(step, whole), key=lambda width: abs(math.log(width * FINE / max(last - first, width))))
    return _multiples(values, counts, step), _multiples(values, counts, finer)


def _logarithmic(values: np.ndarray, counts: np.ndarray, whole: bool) -> tuple[list[float], list[float]] | None:
    """Return 1, 10, 100, ... or 1, 2, 5, 10, ... over the positive values, where these are skewed; None where they are not."""
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
    """Return the 3rd and the 97th percentile of the positive values, where most stand in a small part; None elsewhere."""
    positive = values > 0
    if counts[positive].sum() < counts.sum() / 20 or positive.sum() <= 20:
        return None
    cumulated = np.cumsum(counts[positive]) / counts[positive].sum()
    low, middle, high = (float(values[positive][np.searchsorted(cumulated, share)]) for share in (0.03, 0.5, 0.97))
    return (low, high) if high >= _SKEWED * middle else None


def _multiples(values: np.ndarray, counts: np.ndarray, step: float) -> list[float]:
    """Return multiples of a step up to the largest value, at most a thousand, above the first below which a bin would be too
    empty: a single value far below all others would have the thousand for itself.
    """
    lowest = values[np.searchsorted(np.cumsum(counts) / counts.sum(), LEAST_SHARE / 2)]
    first = math.floor(lowest / step) + 1
    last = min(math.floor(values[-1] / step), first + 1000)
    return [multiple * step for multiple in range(first, last + 1)]


def _divisors(step: float, whole: bool) -> list[float]:
    """Return round steps that a step is a multiple of."""
    parts = [step / part for part in (1, 2, 5, 10) if not whole or step % part == 0]
    return [part for part in parts if round_step(part, whole) == part] or [step]


def _kept(values: np.ndarray, counts: np.ndarray, limits: Sequence[float], fixed: Sequence[float]) -> tuple[float, ...]:
    """Return the fixed limits, and the other limits that leave no bin nearly empty."""
    chosen = list(fixed)
    for limit in sorted({_plain(limit) for limit in limits if values[0] < limit <= values[-1]} - set(fixed)):
        trial = sorted([*chosen, limit])
        at = trial.index(limit)  # only the two bins beside the new limit get smaller
        beside = _shares(values, counts, trial)[at : at + 2]
        if min(beside) >= LEAST_SHARE:
            chosen = trial
    return tuple(chosen)


def _groups(values: np.ndarray, counts: np.ndarray, limits: Sequence[float]) -> tuple[float, ...]:
    """Return the two limits whose smallest group is largest; the only limit where there is one."""
    pairs: list[tuple[float, ...]] = [*combinations(limits, 2)] or [tuple(limits)]
    return max(pairs, key=lambda pair: min(_shares(values, counts, pair)))


def _shares(values: np.ndarray, counts: np.ndarray, limits: Sequence[float]) -> list[float]:
    """Return the share of the rows in each bin between the limits."""
    rows = np.bincount(np.searchsorted(limits, values, side="right"), weights=counts, minlength=len(limits) + 1)
    return (rows / counts.sum()).tolist()


def round_step(width: float, whole: bool) -> float:
    """Return 1, 2, 5 or 10 times a power of ten, near a width; at least 1 for whole numbers."""
    if not width > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    step = min((power * factor for factor in (1, 2, 5, 10)), key=lambda value: abs(math.log(value / width)))
    return max(1.0, step) if whole else step


def _plain(value: float) -> float:
    """Return a limit without the rounding errors of its multiplication."""
    return float(f"{value:.12g}")


Ends = tuple[float | None, float | None]
"""The lowest and the highest number of a column, both included; None where that end stays open."""


def bin_texts(limits: Sequence[float], *, whole: bool, ends: Ends = (None, None)) -> list[str]:
    """Return the bins between limits as they are written in a configuration, runs of single whole numbers as "18..44".

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
    """Return a number without an exponent."""
    text = f"{value:.12f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


# How criteria are to take a column: what stands for each bin, the grid of own values, ranges of means and lines.

Range = tuple[float, float]

_TENTH = 10
"""Numbers are rounded to a power of ten that is at most the standard deviation in the bin over this."""
_NOTHING = 1000
"""Clipping, or the grid, may move rows by the standard deviation of the column over this, on average: a group of a tenth of the
rows by a hundredth of it at most."""
_TAILS = (0.001, 0.0003, 0.0001)
"""Shares of the rows on either side that the range of a mean may clip."""
_EXTREME, _FAR_NUMBERS = 0.001, 0.01
"""Share of the rows on either side that count as the ends of the range of a line; and where these lie far out."""
_FINER = (1, 2, 5, 10, 20)
"""By how much the grid of a column may be finer than the one that it has by itself."""
_SELDOM, _MOVED = 1000, 0.05
"""Of so many rows at most one has a far value; by what part of the standard deviation it moves the mean, at least."""


@dataclass(frozen=True, kw_only=True)
class NumberFacts:
    """How criteria that use a column's numbers should treat it.

    Attributes
    ----------
    numbers : what stands for a bin, by its label, where it is another number than the bin has by itself.
    step : of the grid that own values are counted on; None for the one that the bounds imply.
    mean_range, line_range : what values are clipped to for a mean, and for a line.
    spread : the standard deviation of the values within `mean_range`.
    """

    numbers: Mapping[str, float]
    step: float | None
    mean_range: Range
    line_range: Range
    spread: float = 1.0


def number_facts(
    values: np.ndarray, counts: np.ndarray, bins: Sequence[Sequence[IntervalBin]], bounds: Range, *, whole: bool, weight: bool
) -> NumberFacts:
    """Compute the facts from the public rows.

    Parameters
    ----------
    values, counts : (n_values,) different values, increasing, and how many public rows have each.
    bins : of every alternative, the coarsest first.
    weight : whether the numbers must be above 0.
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
    """Return the question about a value that at most one row in 1,000 has and that moves the mean by much; empty without one.

    The mean of the last bin and the bounds are drafted from it, so that one wrong public row makes all means wrong.
    """
    for end in (0, -1):
        rest, rows = np.delete(values, end), np.delete(counts, end)
        if not rest.size or counts[end] * _SELDOM > rows.sum():
            continue
        without, spread = _moments(rest, rows)
        mean = _moments(values, counts)[0]
        if abs(mean - without) > _MOVED * spread > 0:
            rows_there = so_many(int(counts[end]), "row")
            return (
                f"is {values[end]:.12g} an error ({rows_there} of the public file)? With it the mean is {mean:.4g}, without "
                f"it {without:.4g}. If so, correct the public file and draft again"
            )
    return ""


def bin_numbers(
    values: np.ndarray, counts: np.ndarray, bins: Iterable[IntervalBin], bounds: Range, whole: bool
) -> dict[str, float]:
    """Return the mean of the rows of each bin, rounded. Where the mean is as near to the middle as rounding may leave it,
    or no row is in the bin, return the middle; for an open bin, the middle between its edge and the bound.
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
    """Return mean and standard deviation."""
    mean = float(np.average(values, weights=counts))
    return mean, math.sqrt(float(np.average((values - mean) ** 2, weights=counts)))


def _step(values: np.ndarray, counts: np.ndarray, bins: Iterable[IntervalBin], bounds: Range, whole: bool) -> float | None:
    """Return a finer grid where the grid of the bounds would move the means in the bins: most amounts of money are near 0,
    and halves of a step round up.
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
    """Return the bounds, or a narrower range where clipping to it changes almost nothing: noise grows with the width."""
    spread = _moments(values, counts)[1]
    for share in _TAILS:
        low, high = _quantiles(values, counts, bounds, share)
        if float(np.average(np.abs(values - np.clip(values, low, high)), weights=counts)) <= spread / _NOTHING:
            return low, high
    return bounds


def _line_range(values: np.ndarray, counts: np.ndarray, bounds: Range) -> Range:
    """Return the range of all but the extremes, whose leverage the noise has to hide; of money and the like, where few rows lie
    far out, more.
    """
    wide, narrow = (_quantiles(values, counts, bounds, share) for share in (_EXTREME, _FAR_NUMBERS))
    return narrow if wide[1] - wide[0] > 2 * (narrow[1] - narrow[0]) else wide


def _quantiles(values: np.ndarray, counts: np.ndarray, bounds: Range, share: float) -> Range:
    """Return the range that all but a share of the rows on either side are in, rounded outward to a twentieth of the width
    or less.
    """
    cumulated = np.cumsum(counts)
    rows = int(cumulated[-1])
    first, last = (int(np.searchsorted(cumulated, at, side="right")) for at in (share * rows, (1 - share) * rows))
    low, high = float(values[first]), float(values[min(last, len(values) - 1)])
    if not low < high:
        return bounds
    step = 10.0 ** math.floor(math.log10((high - low) / 20))
    low, high = (float(f"{end * step:.12g}") for end in (math.floor(low / step), math.ceil(high / step)))
    return max(low, bounds[0]), min(high, bounds[1])
