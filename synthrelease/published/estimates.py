"""The part of release.json about what can be estimated from the published noisy tables, and how."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from synthrelease.published.parts import Number, Part

NOT_ESTIMABLE = "not estimable"
NotSample = Literal["design weights", "calibration to totals", "several rows of a person"]
"""Why the rows of a file are no simple random sample of a population."""


class RatioPart(Part):
    """A ratio of two shares; null where the noise does not tell its denominator from 0."""

    name: str
    estimate: Number | None
    low: Number | None
    high: Number | None

    def in_words(self) -> str:
        if None in (self.estimate, self.low, self.high):
            return f"{self.name} {NOT_ESTIMABLE}"
        between = f"at most {self.high:.3g}" if self.low == 0 else f"{self.low:.3g} to {self.high:.3g}"
        return f"{self.name} {self.estimate:.3g} ({between})"


class IntendedEstimatePart(Part):
    """An intended query, estimated.

    Attributes
    ----------
    question : as `synthrelease estimate` takes it. Of a number of rows it is a share, times the rows that the rules keep.
    estimate : null where it is not estimable, or the number of kept rows is not known.
    low, high : the interval for the kept rows of the file, with their own values, in six digits; null where it has no end.
    binned_low, binned_high : of a mean of bins whose numbers are not the values of their rows: that of these numbers, as
        `estimate` is. Absent otherwise.
    unit : "rows", that of the averaged column, or "" for a share.
    ratios : of two groups' shares, whose difference is the estimate: the risk ratio and the odds ratio. Absent otherwise.
    """

    question: str
    estimate: Number | None
    low: Number | None
    high: Number | None
    unit: str
    binned_low: Number | None = None
    binned_high: Number | None = None
    ratios: list[RatioPart] = []

    @model_serializer(mode="wrap")
    def _what_there_is(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        absent = {"binned_low", "binned_high"} if self.binned_low is None else set()
        absent |= set() if self.ratios else {"ratios"}
        return {name: value for name, value in dump(self).items() if name not in absent}

    def in_words(self, level: float) -> str:
        """The estimate with its interval."""
        share = self.unit == "" and self.question.startswith("share ")
        unit, scale = "%" if share else f" {self.unit}" if self.unit else "", 100 if share else 1
        binned = (self.binned_low, self.binned_high) if self.binned_low is not None else (self.low, self.high)
        known = [float(value) for value in binned if value is not None]
        decimals = 0 if self.unit == "rows" or len(known) < 2 else _decimals(scale * (known[1] - known[0]))

        def shown(value: Number | None) -> str:
            return f"{scale * float(value or 0):,.{decimals}f}"

        def between(low: Number | None, high: Number | None) -> str:
            if low is None and high is None:
                return NOT_ESTIMABLE
            if high is None or (share and not self.ratios and high == 1):
                return f"at least {shown(low)}{unit}"
            least = low is None or (low == 0 and not self.ratios and (share or self.unit == "rows"))
            return f"at most {shown(high)}{unit}" if least else f"{shown(low)} to {shown(high)}{unit}"

        if self.ratios and self.estimate is not None:
            unit = " percentage points"
            difference = f"difference {shown(self.estimate)}{unit} ({100 * level:g}% interval {between(self.low, self.high)})"
            return "; ".join([difference, *(one.in_words() for one in self.ratios)])
        if self.estimate is None:
            known_ends = self.unit == "rows" and None not in (self.low, self.high)
            return f"{100 * level:g}% interval {between(self.low, self.high)}" if known_ends else NOT_ESTIMABLE
        if self.binned_low is None:
            return f"{shown(self.estimate)}{unit} ({100 * level:g}% interval {between(self.low, self.high)})"
        of_numbers = f"{shown(self.estimate)}{unit} of bin numbers ({100 * level:g}% interval {between(*binned)})"
        return f"{of_numbers}; the file's own values {between(self.low, self.high)}"


class EstimatesPart(Part):
    """What the noisy tables in measurements.json answer, with intervals for the file (`synthrelease estimate`).

    Attributes
    ----------
    level : of each interval by itself.
    together : the columns of each noisy table: questions about columns of one of them have an estimate.
    intended : one for each question that the release is meant to answer, in their order; null where no noisy table answers it.
    errors : by how many rows a count in estimates.csv may be off: of the bins of a column, or of the cells of a pair ("a:b").
        Absent without that file. It is half of the widest interval, no limit: one interval in twenty may miss its number.
    not_a_sample : why the rows are no simple random sample of a population, so that no interval of one is given: the
        specification declares design weights, calibration or several rows of a person. Empty where it declares none. Absent
        in releases of 1.0.0, which gave such intervals always, and numbers that are not estimable.
    """

    level: Number
    together: Annotated[list[list[str]], Field(min_length=1)]
    intended: list[IntendedEstimatePart | None]
    errors: dict[str, int] = {}
    not_a_sample: list[NotSample] | None = None


def _decimals(width: float) -> int:
    """So many that two digits of a width are shown, six at most."""
    return min(6, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 6
