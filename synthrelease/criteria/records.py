"""Take the rows of a table as a regression does: the numbers of its columns, their public limits, and a maximum of likelihood.

A record's numbers are its own: what it adds to a figure is computed from it alone, whatever records stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from synthrelease.data.schema import Binning, PublishedColumn, Transformation, value_limits
from synthrelease.errors import listing

# What records of a cell of wide bins can be, as intervals: every operation is rounded as it is for single records.
#
# A sum, a product or a maximum of floats that are rounded one by one is monotone in each of its terms, so that an interval
# which is computed by the very same steps holds what every single record leads to, its rounding included.


@dataclass(frozen=True)
class Interval:
    """Lowest and highest values, arrays of one shape."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def exactly(cls, values: np.ndarray) -> Interval:
        """Return the interval of numbers that are known."""
        return cls(values, values)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        ends = [mine * two for mine in (self.low, self.high) for two in (other.low, other.high)]
        return Interval(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def times(self, factor: float) -> Interval:
        """Return every value times a number."""
        ends = self.low * factor, self.high * factor
        return Interval(np.minimum(*ends), np.maximum(*ends))

    def clipped(self, lowest: float, highest: float) -> Interval:
        """Return every value, clipped to the limits."""
        return Interval(np.clip(self.low, lowest, highest), np.clip(self.high, lowest, highest))

    @property
    def size(self) -> Interval:
        """The interval of the absolute values."""
        inside = (self.low <= 0) & (self.high >= 0)
        ends = np.abs(self.low), np.abs(self.high)
        return Interval(np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))

    @property
    def furthest(self) -> np.ndarray:
        """The largest absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def outer(self) -> Interval:
        """Return the same with one more axis at the end, of size 1."""
        return Interval(self.low[..., None], self.high[..., None])

    def along(self, axis: int, n_axes: int) -> Interval:
        """Return (n,) values as an array of so many axes, with the values along this one."""
        shape = [-1 if number == axis else 1 for number in range(n_axes)]
        return Interval(self.low.reshape(shape), self.high.reshape(shape))


def linear(start: float, parts: Sequence[Interval], slopes: Sequence[float]) -> Interval:
    """Return start + slope * part + slope * part + ..., added one after the other, over the product of the parts' axes.

    Parameters
    ----------
    parts : (n_i,) each; the result has an axis of n_i for each of them.
    """
    total = Interval.exactly(np.array(start))
    for axis, (part, slope) in enumerate(zip(parts, slopes, strict=True)):
        total = total + part.times(slope).along(axis, len(parts))
    return total


# The maximum of a concave function of a few parameters, by Newton's method with halved steps.

_MOST_HALVINGS = 20
_ROUNDING = 1e-15
"""A step that lowers the value by no more than this part of it is taken: near the maximum that is rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonResult:
    """Where the search ended.

    Attributes
    ----------
    at : (k,) parameters.
    gradient, information : (k,) first derivatives there, and (k, k) second derivatives with the other sign.
    reached : whether it ended because a step was small enough, and not because it had taken all its steps.
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
    """Take Newton steps from `start`, each halved until it does not lower the value; None where the information was singular.

    Parameters
    ----------
    value, derivatives : of the parameters: the function, its gradient and its information. `derivatives` may itself raise
        numpy.linalg.LinAlgError, where it takes the information to be singular.
    small : whether the step that would be next, (k,), is small enough to end where the search is.

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
"""Limits to which values and representative values are clipped, by column."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """Rows that have all columns of a regression.

    Attributes
    ----------
    values : (n, d + 1) of the features, and last of the target.
    counts : (n,) how many rows have them.
    """

    values: np.ndarray
    counts: np.ndarray

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True)
class RegressionColumns:
    """The columns of a regression, and the values that stand for the rows of either table in them.

    Attributes
    ----------
    transformation : the bins on which either table comes.
    names : features, then the target.
    wanted : their public bins of the representation.
    ranges : what values and numbers are clipped to, by column; those that are not named are not clipped.
    own : the columns in which rows of the original count by their own values; in the others, and in the outcome, by what stands
        for their bins of the representation.
    outcome : (n_bins,) 0 or 1 for every bin of the target that holds values, where that is what is explained.
    """

    transformation: Transformation
    names: tuple[str, ...]
    wanted: tuple[Binning, ...]
    ranges: Ranges
    own: Collection[str]
    outcome: np.ndarray | None = None

    @cached_property
    def numbers(self) -> tuple[np.ndarray, ...]:
        """Return, for each column, (n_bins,) the value that stands for each bin in the released table."""
        pairs = zip(self.names, self.wanted, strict=True)
        numbers = [self._clipped(name, binning.known_numbers[: binning.present]) for name, binning in pairs]
        return tuple(numbers if self.outcome is None else [*numbers[:-1], self.outcome])

    @cached_property
    def limits(self) -> tuple[Interval, ...]:
        """Per column, (n_bins,) the lowest and the highest that a row of the original counts as."""
        return tuple(self._limits(*column) for column in zip(self.names, self.wanted, self.numbers, strict=True))

    def _limits(self, name: str, binning: Binning, numbers: np.ndarray) -> Interval:
        if name not in self.own:
            return Interval.exactly(numbers)
        column, numbers_of_bins = self.transformation.schema[name], binning.numbers[: binning.present]
        ends = value_limits(column.kind, numbers_of_bins, binning.lower, binning.upper, column.bounds)
        return own_limits(name, ends, self.ranges)

    def of_atoms(self, name: str, binning: Binning, numbers: np.ndarray) -> np.ndarray:
        """Return (n_atoms,) the value a row of the original counts as; NaN for a missing value."""
        if name in self.own:
            return self._clipped(name, self.transformation.schema[name].atoms.known_numbers)
        return np.append(numbers, np.nan)[np.minimum(binning.of_atom, len(numbers))]

    def _clipped(self, name: str, numbers: np.ndarray) -> np.ndarray:
        return clipped(name, numbers, self.ranges)


def public_axes(
    columns: Sequence[PublishedColumn], ranges: Ranges, own: Collection[str]
) -> tuple[list[np.ndarray], list[Interval]]:
    """Return the same as `RegressionColumns.numbers` and `limits`, for bins that were released."""
    numbers = [clipped(column.name, np.array(column.numbers[: column.present], dtype=float), ranges) for column in columns]
    limits = [
        own_limits(column.name, column.value_limits, ranges) if column.name in own else Interval.exactly(bin_numbers)
        for column, bin_numbers in zip(columns, numbers, strict=True)
    ]
    return numbers, limits


def own_limits(name: str, ends: tuple[np.ndarray, np.ndarray], ranges: Ranges) -> Interval:
    """Return the values that rows of each bin can count as by their own values, which are between these ends."""
    return Interval(*(clipped(name, end, ranges) for end in ends))


def clipped(name: str, numbers: np.ndarray, ranges: Ranges) -> np.ndarray:
    """Return the numbers of a column, clipped to its range."""
    return np.clip(numbers, *ranges[name]) if name in ranges else numbers


def check_ranges(ranges: Ranges, columns: Sequence[str]) -> None:
    """Raise ValueError for a range of another column, or one without a lowest and a highest value."""
    for name, (lowest, highest) in ranges.items():
        if name not in columns:
            raise ValueError(f"ranges are for {listing(columns)}; {name!r} is another column")
        if not lowest < highest:
            raise ValueError(f"the range of {name!r} must be [lowest, highest] with lowest < highest")


@dataclass(frozen=True, kw_only=True)
class StandardUnits:
    """Features in units of a table: (d,) its means, and its standard deviations, 1 where there is no spread."""

    centres: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, centres: np.ndarray, spreads: np.ndarray) -> StandardUnits:
        """Scale by means and standard deviations, some of which may be 0."""
        return cls(centres=centres, deviations=np.where(spreads > 0, spreads, 1.0))

    def of_limits(self, features: Sequence[Interval]) -> list[Interval]:
        """Return the limits of each feature in these units, by the same steps."""
        pairs = zip(features, self.centres.tolist(), self.deviations.tolist(), strict=True)
        return [Interval((part.low - centre) / spread, (part.high - centre) / spread) for part, centre, spread in pairs]


@dataclass(frozen=True, kw_only=True)
class LinearModel:
    """A public line: target = intercept + features @ coefficients, in raw units."""

    intercept: float
    coefficients: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Prior(LinearModel):
    """A public guess of the line, and typical values of the features. See `PriorGuess`."""

    centres: np.ndarray
    spreads: np.ndarray
    uncertainty: float


@dataclass(frozen=True, kw_only=True)
class MomentGrid:
    """The public design of the integer moments of a record; `functional.Design` proves the sensitivity.

    Attributes
    ----------
    prior : around which moments are taken.
    scales : (k,) a record adds round(scale * real moment) to each moment sum.
    sensitivity : l1 sensitivity of the moment sums under replacing one record, an exact integer.
    counted : whether the number of records is a moment, too: where some may lack a column, it is not public.
    """

    prior: Prior
    scales: np.ndarray
    sensitivity: int
    counted: bool = False


@dataclass(frozen=True, kw_only=True)
class NewtonStep:
    """The public design of a Newton step from a candidate's line; the class of the criterion proves the sensitivity.

    Attributes
    ----------
    units : of the features in the candidate S.
    inverse : of the information of S, in standard units.
    rows : m, the synthetic records that have all the columns.
    void : whether S determines no line.
    """

    units: StandardUnits
    inverse: np.ndarray
    rows: int
    void: bool


@dataclass(frozen=True, kw_only=True)
class LinearStep(NewtonStep):
    """A step of least squares from the line of S, whose predictions are clipped to `allowed`."""

    line: LinearModel
    allowed: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class LogisticStep(NewtonStep):
    """A step of log odds from the (d + 1,) coefficients of S, the intercept first, per standard deviation."""

    coefficients: np.ndarray
