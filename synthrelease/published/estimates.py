"""The part of release.json about what can be estimated from the published noisy tables, and how."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from synthrelease.published.parts import Number, Part


class IntendedEstimatePart(Part):
    """An intended query, estimated.

    Attributes
    ----------
    question : as `synthrelease estimate` takes it. Where the query asks for a number of rows, it is a share, times all rows.
    estimate : null where the noise leaves none.
    low, high : the interval for the original table; null where it has no end. Six digits, as the estimate.
    unit : "rows", that of the averaged column, or "" for a share.
    """

    question: str
    estimate: Number | None
    low: Number | None
    high: Number | None
    unit: str

    def in_words(self, level: float) -> str:
        """The estimate with its interval."""
        if self.estimate is None or self.low is None or self.high is None:
            return "none: the noise hides it"
        share = self.unit == "" and self.question.startswith("share ")
        scale = 100 if share else 1
        decimals = 0 if self.unit == "rows" else _decimals(scale * (self.high - self.low))
        number, low, high = (f"{scale * value:,.{decimals}f}" for value in (self.estimate, self.low, self.high))
        unit = "%" if share else f" {self.unit}" if self.unit else ""
        return f"{number}{unit} ({100 * level:g}% interval {low} to {high}{unit})"


class EstimatesPart(Part):
    """What the noisy tables in measurements.json answer, with intervals for the original table (`synthrelease estimate`).

    Attributes
    ----------
    level : of each interval by itself.
    together : the columns of each noisy table: questions about columns of one of them have an estimate.
    intended : one for each intended query, in their order; null where no noisy table answers it.
    """

    level: Number
    together: Annotated[list[list[str]], Field(min_length=1)]
    intended: list[IntendedEstimatePart | None]


def _decimals(width: float) -> int:
    """So many that two digits of a width are shown, six at most."""
    return min(6, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 6
