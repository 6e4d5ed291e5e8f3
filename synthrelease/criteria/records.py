"""Define the public inputs of the regression criteria: columns with the limits of their values, standard units, designs,
interval arithmetic, and Newton's method.

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
    """Intervals of numbers: an array of their lowest values, and an array of the same shape of their highest values."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def exactly(cls, values: np.ndarray) -> Interval:
        """Return intervals that contain exactly one number each."""
        return cls(values, values)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        ends = [mine * two for mine in (self.low, self.high) for two in (other.low, other.high)]
        return Interval(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def times(self, factor: float) -> Interval:
        """Return the intervals multiplied by a number."""
        ends = self.low * factor, self.high * factor
        return Interval(np.minimum(*ends), np.maximum(*ends))

    def clipped(self, lowest: float, highest: float) -> Interval:
        """Return the intervals, clipped to these limits."""
        return Interval(np.clip(self.low, lowest, highest), np.clip(self.high, lowest, highest))

    @property
    def size(self) -> Interval:
        """The intervals of the absolute values."""
        inside = (self.low <= 0) & (self.high >= 0)
        ends = np.abs(self.low), np.abs(self.high)
        return Interval(np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))

    @property
    def furthest(self) -> np.ndarray:
        """The largest absolute value in each interval."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def outer(self) -> Interval:
        """Return the same intervals as an array with an additional last axis of size 1."""
        return Interval(self.low[..., None], self.high[..., None])

    def along(self, axis: int, n_axes: int) -> Interval:
        """Return (n,) intervals as an array with `n_axes` axes. It has size n along the axis with the number `axis`, and
        size 1 along all other axes."""
        shape = [-1 if number == axis else 1 for number in range(n_axes)]
        return Interval(self.low.reshape(shape), self.high.reshape(shape))


def linear(start: float, parts: Sequence[Interval], slopes: Sequence[float]) -> Interval:
    """Return the intervals of the linear function start + slope_1 * part_1 + slope_2 * part_2 + ..., added in this order,
    for all combinations of the entries of the parts.

    Parameters
    ----------
    parts : (n_i,) intervals. For each part, the result has an axis of length n_i.
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
    """The result of a search for a maximum by Newton steps (see `maximum`): the parameters where it stopped, with the
    derivatives there.

    Attributes
    ----------
    at : the (k,) parameters at this point.
    gradient, information : the (k,) first derivatives and the (k, k) negative second derivatives at this point.
    reached : True if the next step was small enough; False if the search ended after `most_steps` steps.
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
    """Maximise a function by Newton steps from `start`, and return the result. Return None if the information matrix is
    singular. A step is halved until it does not lower the value.

    Parameters
    ----------
    value, derivatives : functions of the parameters. `value` returns the value; `derivatives` returns the gradient and the
        information. `derivatives` may raise numpy.linalg.LinAlgError for a singular information.
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
    """The rows of a table that have values in all columns of a regression, stored as distinct rows with their counts.

    Attributes
    ----------
    values : (n, d + 1) the values of the features and, in the last column, of the target.
    counts : (n,) the number of rows with these values.
    """

    values: np.ndarray
    counts: np.ndarray

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True)
class RegressionColumns:
    """The columns of a regression, and the numbers that stand for their values in the rows of the original table and of the
    released table.

    Attributes
    ----------
    transformation : the bins of both tables.
    names : the names of the features, then of the target.
    wanted : the public bins of the `representation`.
    ranges : the limits to which values are clipped, by column; other columns are not clipped.
    own : the columns in which original rows keep their exact values. In the other columns each value is replaced by the
        representative value of its bin.
    outcome : for a logistic regression, an (n_bins,) array of 0 or 1 for every bin of values of the target; otherwise None.
    """

    transformation: Transformation
    names: tuple[str, ...]
    wanted: tuple[Binning, ...]
    ranges: Ranges
    own: Collection[str]
    outcome: np.ndarray | None = None

    @cached_property
    def numbers(self) -> tuple[np.ndarray, ...]:
        """For each column, the (n_bins,) representative value of each bin."""
        pairs = zip(self.names, self.wanted, strict=True)
        numbers = [self._clipped(name, binning.known_numbers[: binning.present]) for name, binning in pairs]
        return tuple(numbers if self.outcome is None else [*numbers[:-1], self.outcome])

    @cached_property
    def limits(self) -> tuple[Interval, ...]:
        """For each column, the (n_bins,) lowest and highest value that an original row can have in the regression."""
        return tuple(self._limits(*column) for column in zip(self.names, self.wanted, self.numbers, strict=True))

    def _limits(self, name: str, binning: Binning, numbers: np.ndarray) -> Interval:
        if name not in self.own:
            return Interval.exactly(numbers)
        column, numbers_of_bins = self.transformation.schema[name], binning.numbers[: binning.present]
        ends = value_limits(column.kind, numbers_of_bins, binning.lower, binning.upper, column.bounds)
        return own_limits(name, ends, self.ranges)

    def of_atoms(self, name: str, binning: Binning, numbers: np.ndarray) -> np.ndarray:
        """Return the number that stands for an original row of each atomic bin (the finest bins) in the regression, or NaN
        for a missing value.
        """
        if name in self.own:
            return self._clipped(name, self.transformation.schema[name].atoms.known_numbers)
        return np.append(numbers, np.nan)[np.minimum(binning.of_atom, len(numbers))]

    def _clipped(self, name: str, numbers: np.ndarray) -> np.ndarray:
        return clipped(name, numbers, self.ranges)


def public_axes(
    columns: Sequence[PublishedColumn], ranges: Ranges, own: Collection[str]
) -> tuple[list[np.ndarray], list[Interval]]:
    """For published columns, return two things about each released bin: the number that stands for it in a regression, and
    the limits of the values that original rows of this bin can have there.
    """
    numbers = [clipped(column.name, np.array(column.numbers[: column.present], dtype=float), ranges) for column in columns]
    limits = [
        own_limits(column.name, column.value_limits, ranges) if column.name in own else Interval.exactly(bin_numbers)
        for column, bin_numbers in zip(columns, numbers, strict=True)
    ]
    return numbers, limits


def own_limits(name: str, ends: tuple[np.ndarray, np.ndarray], ranges: Ranges) -> Interval:
    """Return, for each bin, the interval of the exact values that its rows can have after clipping to the range of the
    column, given the limits `ends` of the bins.
    """
    return Interval(*(clipped(name, end, ranges) for end in ends))


def clipped(name: str, numbers: np.ndarray, ranges: Ranges) -> np.ndarray:
    """Return the numbers of a column, clipped to the range of the column if it has a range."""
    return np.clip(numbers, *ranges[name]) if name in ranges else numbers


def check_ranges(ranges: Ranges, columns: Sequence[str]) -> None:
    """Raise ValueError if a range is for a column that is not in `columns`, or if a range is not increasing."""
    for name, (lowest, highest) in ranges.items():
        if name not in columns:
            raise ValueError(f"ranges may name only {listing(columns)}, but it also names {name!r}")
        if not lowest < highest:
            raise ValueError(f"The range of {name!r} must be [lowest, highest], with lowest < highest")


@dataclass(frozen=True, kw_only=True)
class StandardUnits:
    """The (d,) means and (d,) standard deviations that standardise the features. A standard deviation of 0 is replaced by 1."""

    centres: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, centres: np.ndarray, spreads: np.ndarray) -> StandardUnits:
        """Return standard units of features with these means and standard deviations. A standard deviation of 0 is replaced
        by 1.
        """
        return cls(centres=centres, deviations=np.where(spreads > 0, spreads, 1.0))

    def of_limits(self, features: Sequence[Interval]) -> list[Interval]:
        """Convert the limits of each feature to standard units, by the same operations as the values of single records."""
        pairs = zip(features, self.centres.tolist(), self.deviations.tolist(), strict=True)
        return [Interval((part.low - centre) / spread, (part.high - centre) / spread) for part, centre, spread in pairs]


@dataclass(frozen=True, kw_only=True)
class LinearModel:
    """A public regression line, target = intercept + features @ coefficients, in the units of the columns."""

    intercept: float
    coefficients: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Prior(LinearModel):
    """A public guess of the regression line, with typical centres and spreads of the features (see `PriorGuess`)."""

    centres: np.ndarray
    spreads: np.ndarray
    uncertainty: float


@dataclass(frozen=True, kw_only=True)
class MomentGrid:
    """Describe how a record is turned into whole numbers (scaled moments, such as products of features). The sums of these
    numbers determine a regression line. The description is public. `functional.Design` computes scales and sensitivity.

    Attributes
    ----------
    prior : the guess around which moments are computed.
    scales : (k,) the factors: a record adds round(scale * real moment) to each sum of moments.
    sensitivity : the l1 sensitivity of the moment sums when one record is replaced, an exact integer.
    counted : whether the number of records is also measured, as a moment. This number is not public if records may lack a value
        in a column.
    """

    prior: Prior
    scales: np.ndarray
    sensitivity: int
    counted: bool = False


@dataclass(frozen=True, kw_only=True)
class NewtonStep:
    """The public design of a Newton step, which updates regression coefficients once, starting from those of a candidate S.
    The class of the criterion proves its sensitivity.

    Attributes
    ----------
    units : the standard units of the features in S.
    inverse : the inverse of the information of S, in standard units.
    rows : m, the number of synthetic records that have all the columns. It is at least 1.
    void : whether S does not determine the coefficients.
    """

    units: StandardUnits
    inverse: np.ndarray
    rows: int
    void: bool


@dataclass(frozen=True, kw_only=True)
class LinearStep(NewtonStep):
    """A Newton step of a least-squares regression that starts from the line of a candidate S. Predictions are clipped to
    `allowed`.
    """

    line: LinearModel
    allowed: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class LogisticStep(NewtonStep):
    """A Newton step of a logistic regression that starts from the coefficients of a candidate S. `coefficients` contains d
    + 1 numbers: the intercept, and then the slope of each feature, per standard deviation of the feature.
    """

    coefficients: np.ndarray
