"""What records of a cell of wide bins can be, as intervals: every operation is rounded as it is for single records.

A sum, a product or a maximum of floats that are rounded one by one is monotone in each of its terms, so that an interval which
is computed by the very same steps holds what every single record leads to, its rounding included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Interval:
    """Lowest and highest values, arrays of one shape."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def exactly(cls, values: np.ndarray) -> Interval:
        """Of numbers that are known."""
        return cls(values, values)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        ends = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
        return Interval(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def times(self, factor: float) -> Interval:
        """Every value times a number."""
        ends = self.low * factor, self.high * factor
        return Interval(np.minimum(*ends), np.maximum(*ends))

    def clipped(self, lowest: float, highest: float) -> Interval:
        """Every value, those beyond the limits as these."""
        return Interval(np.clip(self.low, lowest, highest), np.clip(self.high, lowest, highest))

    @property
    def size(self) -> Interval:
        """Of the absolute values."""
        inside = (self.low <= 0) & (self.high >= 0)
        ends = np.abs(self.low), np.abs(self.high)
        return Interval(np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))

    @property
    def furthest(self) -> np.ndarray:
        """The largest absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def outer(self) -> Interval:
        """With one more axis at the end, of size 1."""
        return Interval(self.low[..., None], self.high[..., None])

    def along(self, axis: int, n_axes: int) -> Interval:
        """(n,) values as an array of so many axes, of which this one has them."""
        shape = [-1 if one == axis else 1 for one in range(n_axes)]
        return Interval(self.low.reshape(shape), self.high.reshape(shape))


def linear(start: float, parts: Sequence[Interval], slopes: Sequence[float]) -> Interval:
    """start + slope * part + slope * part + ..., added one after the other, over the product of the parts' axes.

    Parameters
    ----------
    parts : (n_i,) each; the result has an axis of n_i for each of them.
    """
    found = Interval.exactly(np.array(start))
    for axis, (part, slope) in enumerate(zip(parts, slopes, strict=True)):
        found = found + part.times(slope).along(axis, len(parts))
    return found
