"""What is read off a public column of numbers beside its bins: what stands for each, and how values count in criteria."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.schema import MAX_BINS, IntervalBin, value_grid
from synthrelease.errors import so_many

Range = tuple[float, float]

_TENTH = 10
"""Numbers are rounded to a power of ten that is at most the standard deviation in the bin over this."""
_NOTHING = 1000
"""Clipping, or the grid, may move rows by the standard deviation of the column over this, on average: a group of a tenth of the
rows by a hundredth of it at most."""
_TAILS = (0.001, 0.0003, 0.0001)
"""Shares of the rows on either side that the range of a mean may clip."""
_EXTREME, _FAR = 0.001, 0.01
"""Share of the rows on either side that count as the ends of the range of a line; and where these lie far out."""
_FINER = (1, 2, 5, 10, 20)
"""By how much the grid of a column may be finer than the one that it has by itself."""
_SELDOM, _MOVED = 1000, 0.05
"""Of so many rows at most one has a far value; by what part of the standard deviation it moves the mean, at least."""


@dataclass(frozen=True, kw_only=True)
class NumberFacts:
    """How criteria that compute with a column are to take it.

    Attributes
    ----------
    numbers : what stands for a bin, by its label, where it is another number than the bin has by itself.
    step : of the grid that own values are counted on; None for the one that the bounds imply.
    mean_range, line_range : what values are clipped to for a mean, and for a line.
    """

    numbers: Mapping[str, float]
    step: float | None
    mean_range: Range
    line_range: Range


def number_facts(
    values: np.ndarray, counts: np.ndarray, bins: Sequence[Sequence[IntervalBin]], bounds: Range, *, whole: bool, weight: bool
) -> NumberFacts:
    """From the public rows.

    Parameters
    ----------
    values, counts : (n_values,) different values, increasing, and how many public rows have each.
    bins : of every alternative, the coarsest first.
    weight : whether the numbers must be above 0.
    """
    found: dict[str, float] = {}
    for intervals in bins:
        found |= bin_numbers(values, counts, intervals, bounds, whole)
    return NumberFacts(
        numbers={label: number for label, number in found.items() if number > 0 or not weight},
        step=None if weight else _step(values, counts, bins[0], bounds, whole),
        mean_range=_mean_range(values, counts, bounds),
        line_range=_line_range(values, counts, bounds),
    )


def far_value(values: np.ndarray, counts: np.ndarray) -> str:
    """What is asked of a value that at most one row in 1,000 has and that moves the mean by much; empty where there is none.

    The mean of the last bin and the bounds are drafted from it, so that one wrong public row makes all means wrong.
    """
    for place in (0, -1):
        rest, rows = np.delete(values, place), np.delete(counts, place)
        if not rest.size or counts[place] * _SELDOM > rows.sum():
            continue
        without, spread = _moments(rest, rows)
        mean = _moments(values, counts)[0]
        if abs(mean - without) > _MOVED * spread > 0:
            have = f"{so_many(int(counts[place]), 'row')} of the public file {'has' if counts[place] == 1 else 'have'}"
            return (
                f"the mean is {mean:.4g} with {values[place]:.12g}, which {have}, and {without:.4g} without. If it is an "
                "error, mend it in the public file and draft again"
            )
    return ""


def bin_numbers(
    values: np.ndarray, counts: np.ndarray, bins: Iterable[IntervalBin], bounds: Range, whole: bool
) -> dict[str, float]:
    """The mean of the rows of each bin, rounded; the middle, for an open bin that of its edge and the bound, where the mean is
    as near to it as rounding may leave it, or no row is in the bin.
    """
    found = {}
    for one in bins:
        low, high = max(one.lower, bounds[0]), min(one.upper - (1 if whole else 0), bounds[1])
        inside = (values >= one.lower) & (values < one.upper)
        number = (low + high) / 2
        if inside.any():
            mean, spread = _moments(values[inside], counts[inside])
            if abs(mean - number) > spread / (2 * _TENTH):
                decimals = min(12, -math.floor(math.log10(spread / _TENTH))) if spread > 0 else 12
                number = min(max(float(round(mean, decimals)), low), high)
        if number != one.number:
            found[one.label] = number
    return found


def _moments(values: np.ndarray, counts: np.ndarray) -> Range:
    """Mean and standard deviation."""
    mean = float(np.average(values, weights=counts))
    return mean, math.sqrt(float(np.average((values - mean) ** 2, weights=counts)))


def _step(values: np.ndarray, counts: np.ndarray, bins: Iterable[IntervalBin], bounds: Range, whole: bool) -> float | None:
    """A finer grid where the one of the bounds would move the means in the bins: of money most is near 0, and halves of a step
    count upwards.
    """
    usual, spread = value_grid(bounds, whole=whole).step, _moments(values, counts)[1]
    place = np.searchsorted([one.lower for one in bins][1:], values, side="right")
    step = usual
    for part in _FINER:
        if (whole and usual % part) or (bounds[1] - bounds[0]) * part / usual > MAX_BINS:
            continue
        step = usual / part
        moved = np.bincount(place, weights=counts * (np.floor(values / step + 0.5) * step - values))
        if np.abs(moved).sum() <= counts.sum() * spread / _NOTHING:
            break
    return None if step == usual else step


def _mean_range(values: np.ndarray, counts: np.ndarray, bounds: Range) -> Range:
    """The bounds, or a narrower range where clipping to it moves next to nothing: noise goes with the width."""
    spread = _moments(values, counts)[1]
    for share in _TAILS:
        low, high = _quantiles(values, counts, bounds, share)
        if float(np.average(np.abs(values - np.clip(values, low, high)), weights=counts)) <= spread / _NOTHING:
            return low, high
    return bounds


def _line_range(values: np.ndarray, counts: np.ndarray, bounds: Range) -> Range:
    """All but the extremes, whose leverage the noise has to hide; of money and the like, where few rows lie far out, more."""
    wide, narrow = (_quantiles(values, counts, bounds, share) for share in (_EXTREME, _FAR))
    return narrow if wide[1] - wide[0] > 2 * (narrow[1] - narrow[0]) else wide


def _quantiles(values: np.ndarray, counts: np.ndarray, bounds: Range, share: float) -> Range:
    """What all but a share of the rows on either side have, rounded outward to a twentieth of the width or less."""
    cumulated = np.cumsum(counts)
    rows = int(cumulated[-1])
    first, last = (int(np.searchsorted(cumulated, at, side="right")) for at in (share * rows, (1 - share) * rows))
    low, high = float(values[first]), float(values[min(last, len(values) - 1)])
    if not low < high:
        return bounds
    step = 10.0 ** math.floor(math.log10((high - low) / 20))
    low, high = (float(f"{end * step:.12g}") for end in (math.floor(low / step), math.ceil(high / step)))
    return max(low, bounds[0]), min(high, bounds[1])
