"""The own value of a row in one column, as sums of it are asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
