"""Define the public inputs of the regression criteria: limits of values, standard units, designs, intervals, and Newton's
method.

The contribution of a record to a criterion value does not depend on other records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from synthrelease.data.schema import Binning, PublishedColumn, Transformation, value_limits
from synthrelease.errors import listing

upper_triangle = cache(np.triu_indices)
"""Return the row and the column of each entry in the upper triangle of a square matrix of a given size."""

# Intervals of the values that records of a cell can have. Every operation on intervals is rounded as it is for single records.
#
# Rounded sums, products and maxima of floats are monotone in each term. So an interval that is computed by the same steps
# contains the result for every single record, with its rounding.


@dataclass(frozen=True)
class Interval:
    """Intervals of numbers: arrays of their lowest and highest values."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def exactly(cls, values: np.ndarray) -> Interval:
        return cls(values, values)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        ends = [mine * two for mine in (self.low, self.high) for two in (other.low, other.high)]
        return Interval(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def times(self, factor: float) -> Interval:
        ends = self.low * factor, self.high * factor
        return Interval(np.minimum(*ends), np.maximum(*ends))

    def clipped(self, lowest: float, highest: float) -> Interval:
        return Interval(np.clip(self.low, lowest, highest), np.clip(self.high, lowest, highest))

    @property
    def size(self) -> Interval:
        inside = (self.low <= 0) & (self.high >= 0)
        ends = np.abs(self.low), np.abs(self.high)
        return Interval(np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))

    @property
    def furthest(self) -> np.ndarray:
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def outer(self) -> Interval:
        return Interval(self.low[..., None], self.high[..., None])

    def along(self, axis: int, n_axes: int) -> Interval:
        """Return (n,) intervals with `n_axes` axes: size n along `axis`, size 1 along all others."""
        shape = [-1 if number == axis else 1 for number in range(n_axes)]
        return Interval(self.low.reshape(shape), self.high.reshape(shape))


def linear(start: float, parts: Sequence[Interval], slopes: Sequence[float]) -> Interval:
    """Return the intervals of start + slope_1 * part_1 + slope_2 * part_2 + ..., added in this order, for all combinations
    of entries of the parts.

    Part i, of n_i intervals, gives the result an axis of length n_i.
    """
    total = Interval.exactly(np.array(start))
    for axis, (part, slope) in enumerate(zip(parts, slopes, strict=True)):
        total = total + part.times(slope).along(axis, len(parts))
    return total


# Maximum of a concave function of a few parameters, by Newton's method with halved steps.

_MOST_HALVINGS = 20
# A step may lower the value by this fraction of the value (or of 1). Near the maximum, so small a change is a rounding error.
_ROUNDING = 1e-15


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonResult:
    """The result of `maximum`: the (k,) parameters where the search stopped, with the (k,) gradient and the (k, k)
    information (negative second derivatives) there.

    `reached` is False if the search ended after `most_steps` steps.
    """

    at: np.ndarray
    gradient: np.ndarray
    information: np.ndarray
    reached: bool


def maximum(
    value: Callable[[np.ndarray], float],
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    *,
    small: Callable[[np.ndarray, NewtonResult], bool],
    most_steps: int,
) -> NewtonResult | None:
    """Maximise a function by Newton steps from `start`. Return None if the information matrix is singular. A step is halved
    until it does not lower the value.

    Parameters
    ----------
    value, derivatives : functions of the parameters: the value; the gradient and the information. `derivatives` may raise
        numpy.linalg.LinAlgError for a singular information.
    small : a function that takes the next (k,) step and the result so far, and returns whether to stop.

    Examples
    --------
    >>> import numpy as np
    >>> found = maximum(
    ...     lambda x: float(2 * x[0] - np.exp(x[0])),
    ...     lambda x: (2 - np.exp(x), np.exp(x)[:, None]),
    ...     np.zeros(1),
    ...     small=lambda step, found: bool(np.abs(step).max() < 1e-12),
    ...     most_steps=50,
    ... )
    >>> found.reached, round(float(np.exp(found.at[0])), 9)
    (True, 2.0)
    """
    at, height = start, value(start)
    for _ in range(most_steps):
        try:
            gradient, information = derivatives(at)
            step = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            return None
        if small(step, result := NewtonResult(at=at, gradient=gradient, information=information, reached=True)):
            return result
        least = height - _ROUNDING * max(1.0, abs(height))
        for _ in range(_MOST_HALVINGS):
            if value(at + step) >= least:
                break
            step = step / 2
        at = at + step
        height = value(at)
    try:
        gradient, information = derivatives(at)
    except np.linalg.LinAlgError:
        return None
    return NewtonResult(at=at, gradient=gradient, information=information, reached=False)


Finite = Annotated[float, Field(allow_inf_nan=False)]
Ranges = Mapping[str, tuple[float, float]]
"""For each column, the limits to which exact values and representative values are clipped."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """The distinct rows of a table that have values in all columns of a regression, features first, with their counts."""

    values: np.ndarray
    counts: np.ndarray

    @property
    def rows(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True)
class RegressionColumns:
    """The columns of a regression, and the numbers that stand for their original and released values.

    Attributes
    ----------
    wanted : the public bins of the `representation`.
    ranges : the limits to which values are clipped, by column.
    own : the columns in which original rows keep their exact values. In others, representative values replace them.
    outcome : for a logistic regression, 0 or 1 for every bin of values of the target (n_bins,); otherwise None.
    """

    transformation: Transformation
    names: tuple[str, ...]
    wanted: tuple[Binning, ...]
    ranges: Ranges
    own: Collection[str]
    outcome: np.ndarray | None = None

    def __hash__(self) -> int:
        return hash((self.names, self.wanted))

    @cached_property
    def numbers(self) -> tuple[np.ndarray, ...]:
        pairs = zip(self.names, self.wanted, strict=True)
        numbers = [self._clipped(name, binning.known_numbers[: binning.present]) for name, binning in pairs]
        return tuple(numbers if self.outcome is None else [*numbers[:-1], self.outcome])

    @cached_property
    def limits(self) -> tuple[Interval, ...]:
        return tuple(self._limits(*column) for column in zip(self.names, self.wanted, self.numbers, strict=True))

    def _limits(self, name: str, binning: Binning, numbers: np.ndarray) -> Interval:
        if name not in self.own:
            return Interval.exactly(numbers)
        column, numbers_of_bins = self.transformation.schema[name], binning.numbers[: binning.present]
        ends = value_limits(column.kind, numbers_of_bins, binning.lower, binning.upper, column.bounds)
        return own_limits(name, ends, self.ranges)

    def of_atoms(self, name: str, binning: Binning, numbers: np.ndarray) -> np.ndarray:
        """Return the number that stands for an original row of each atomic bin, NaN for a missing value."""
        if name in self.own:
            return self._clipped(name, self.transformation.schema[name].atoms.known_numbers)
        return np.append(numbers, np.nan)[np.minimum(binning.of_atom, len(numbers))]

    def _clipped(self, name: str, numbers: np.ndarray) -> np.ndarray:
        return clipped(name, numbers, self.ranges)


def public_axes(
    columns: Sequence[PublishedColumn], ranges: Ranges, own: Collection[str]
) -> tuple[list[np.ndarray], list[Interval]]:
    """Return, for published columns, the number that stands for each released bin in a regression, and the limits of its
    original values there.
    """
    numbers = [clipped(column.name, np.array(column.numbers[: column.present], dtype=float), ranges) for column in columns]
    limits = [
        own_limits(column.name, column.value_limits, ranges) if column.name in own else Interval.exactly(bin_numbers)
        for column, bin_numbers in zip(columns, numbers, strict=True)
    ]
    return numbers, limits


def own_limits(name: str, ends: tuple[np.ndarray, np.ndarray], ranges: Ranges) -> Interval:
    return Interval(*(clipped(name, end, ranges) for end in ends))


def clipped(name: str, numbers: np.ndarray, ranges: Ranges) -> np.ndarray:
    return np.clip(numbers, *ranges[name]) if name in ranges else numbers


def check_ranges(ranges: Ranges, columns: Sequence[str]) -> None:
    """Raise ValueError if a range is not increasing, or its column is not in `columns`."""
    for name, (lowest, highest) in ranges.items():
        if name not in columns:
            raise ValueError(f"ranges may name only {listing(columns)}, but it also names {name!r}")
        if not lowest < highest:
            raise ValueError(f"The range of {name!r} must be [lowest, highest], with lowest < highest")


@dataclass(frozen=True, kw_only=True)
class StandardUnits:
    """The (d,) means and standard deviations that standardise the features, with 1 for a standard deviation of 0."""

    centres: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, centres: np.ndarray, spreads: np.ndarray) -> StandardUnits:
        return cls(centres=centres, deviations=np.where(spreads > 0, spreads, 1.0))

    def of_limits(self, features: Sequence[Interval]) -> list[Interval]:
        pairs = zip(features, self.centres.tolist(), self.deviations.tolist(), strict=True)
        return [Interval((part.low - centre) / spread, (part.high - centre) / spread) for part, centre, spread in pairs]


@dataclass(frozen=True, kw_only=True)
class LinearModel:
    """A public regression line, target = intercept + features @ coefficients, in the units of the columns."""

    intercept: float
    coefficients: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Prior(LinearModel):
    """A public guess of the regression line, with typical centres and spreads of the features (`PriorGuess`)."""

    centres: np.ndarray
    spreads: np.ndarray
    uncertainty: float


@dataclass(frozen=True, kw_only=True)
class MomentGrid:
    """How a record is turned into whole numbers (scaled moments), whose sums determine a regression line. The description
    is public; `functional.Design` computes it.

    Attributes
    ----------
    scales : (k,) factors: a record adds round(scale * real moment) to each sum.
    sensitivity : the l1 sensitivity of the moment sums when one record is replaced, an exact integer.
    counted : whether the number of records is also measured, as a moment. It is not public if records may lack a value.
    """

    prior: Prior
    scales: np.ndarray
    sensitivity: int
    counted: bool = False


@dataclass(frozen=True, kw_only=True)
class NewtonStep:
    """The public design of one Newton step from the regression coefficients of a candidate S. The class of the criterion
    proves its sensitivity.

    Attributes
    ----------
    rows : m, the number of synthetic records that have all the columns, at least 1.
    void : whether the candidate does not determine the coefficients.
    """

    units: StandardUnits
    inverse: np.ndarray
    rows: int
    void: bool


@dataclass(frozen=True, kw_only=True)
class LinearStep(NewtonStep):
    """A Newton step of a least-squares regression from the line of a candidate. Predictions are clipped to `allowed`."""

    line: LinearModel
    allowed: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class LogisticStep(NewtonStep):
    """A Newton step of a logistic regression from the (d + 1,) `coefficients` of a candidate: the intercept, then the
    slopes per standard deviation.
    """

    coefficients: np.ndarray
