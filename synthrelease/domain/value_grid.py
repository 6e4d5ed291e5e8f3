"""The public grid on which the own values of a numeric column are counted: each value counts as the nearest multiple of a step.

A thousandth of the range is near enough for every mean that a release can state, and keeps the cells of a large register few.
The numbers that stand for bins are put on a finer grid (`in_steps`), where limits of whole sums of them are asked for.
Where noisy sums of own values are asked for, a row adds an `OwnValue`, or a product of several, in steps of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

VALUES = 1000
"""Steps between the bounds of a column, at most, where the specification states none."""

STEPS = 2**12
"""The scores of all cells lie on so many equal steps between the lowest and the highest."""


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """Multiples of a step between two bounds.

    Attributes
    ----------
    step : the distance of two neighbours; a value is at most half of it from the one it counts as.
    edges : increasing, inside the bounds: what lies between two of them counts as the same multiple.
    """

    step: float
    edges: tuple[float, ...]

    def nearest(self, value: float) -> float:
        """The multiple that a value counts as."""
        return round(value / self.step) * self.step


def value_grid(bounds: tuple[float, float], *, whole: bool, step: float | None = None) -> ValueGrid:
    """The grid of a column.

    Parameters
    ----------
    step : as the specification states it; None for the least of 1, 2 and 5 times a power of ten that is a thousandth of the
        range or more, of whole numbers at least 1.

    Examples
    --------
    >>> value_grid((100, 9999), whole=True).step
    10.0
    >>> value_grid((1, 5), whole=True).edges
    (2.0, 3.0, 4.0, 5.0)
    """
    low, high = bounds
    if step is None:
        step = max(_round_step((high - low) / VALUES), 1.0 if whole else 0.0)
    first, last = math.floor(low / step), math.ceil(high / step)
    between = ((each + 0.5) * step for each in range(first, last + 1))
    found = {float(math.ceil(edge)) if whole else edge for edge in between}
    return ValueGrid(step=float(step), edges=tuple(sorted(edge for edge in found if low < edge <= high)))


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least * (1 - 1e-12))


def value_limits(
    kind: str,
    numbers: Sequence[float | None],
    lower: Sequence[float],
    upper: Sequence[float],
    bounds: tuple[float, float] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """(n_bins,) the lowest and the highest value of the rows of each bin that holds values; NaN where there is no number.

    Parameters
    ----------
    lower, upper : edges of the bins of a numeric column, [lower, upper), infinite where a bin is open; its last value is then
        the bound.
    """
    if kind == "category":
        same = np.array([math.nan if number is None else number for number in numbers], dtype=float)
        return same, same
    low, high = bounds or (-math.inf, math.inf)
    last = np.array(upper, dtype=float) - (1 if kind == "integer" else 0)
    return np.maximum(np.array(lower, dtype=float), low), np.minimum(last, high)


FINEST = 2**12
"""Steps of the grid that numbers of bins are put on, over the width of their range: what it moves them by is allowed for."""


def in_steps(numbers: Sequence[float | None], lowest: float, highest: float, middle: float) -> tuple[np.ndarray, float]:
    """(n_bins,) clipped numbers less the middle in whole steps, 0 where there is none; and how far that moves them at most."""
    step = (highest - lowest) / FINEST
    exact = np.array([0.0 if number is None else min(max(number, lowest), highest) - middle for number in numbers])
    steps = np.rint(exact / step)
    return steps, float(np.abs(exact - steps * step).max()) + 2.0**-40 * (highest - lowest)


@dataclass(frozen=True, kw_only=True)
class OwnValue:
    """The own value of a row in one column, clipped to limits, less a centre. A row without a value counts as the centre, or as
    the limit next to it.

    In a released table the number that stands for a row's bin takes its place.
    """

    column: str
    low: float
    high: float
    centre: float

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """(n,) what values, or the numbers of bins, add; NaN stands for no value."""
        return np.clip(np.where(np.isfinite(numbers), numbers, self.centre), self.low, self.high) - self.centre

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that it can be."""
        return self.low - self.centre, self.high - self.centre

    @property
    def text(self) -> str:
        less = f" - {self.centre:g}" if self.centre else ""
        return f"{self.column}({self.low:g}..{self.high:g}{less})"
