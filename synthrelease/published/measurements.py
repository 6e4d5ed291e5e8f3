"""Define measurements.json, the noisy tables from which the released table was made. Readers can compute answers with
intervals from them, or fit models.

    {"format": 1, "n_rows": n, "tables": [{"columns": [...], "labels": [[...], ...], "released": [[...], ...],
      "epsilon": "1/8", "noise": "discrete Laplace", "scale": 16.0, "variance": 511.8, "counts": [[...], ...]}],
      "sums": [{"sum": "age[0..9]:weight[-2 0 3]", "columns": [...], "labels": [[...], ...], "released": [[...], ...],
      "epsilon": "1/50", "noise": "discrete Laplace", "scale": 204800.0, "variance": ..., "steps": [[...], ...], "value": ...}]}

Tables. `counts` is nested, with one level per column in the order of `columns`. Each number is the exact count plus
independent noise z with Pr[z] proportional to exp(-|z| / scale), so it may be negative. If `noise` is "rounded Gaussian",
`rho` replaces `epsilon`, and z is a normal number with mean 0 and standard deviation `scale`, rounded to the nearest whole
number. `labels` are the measured bins, and `released` gives the index of the released bin that contains each of them.

Sums. A sum adds up a score over all rows, such as a score of the cell of age and weight. `steps` has the score of every
measured cell, rescaled to whole numbers from 0 (lowest) to 4096 (highest). `value` is the sum of `steps` over all rows,
plus noise with the scale of the sum. If the exact values of rows were added up, `own_values` replaces `steps`, and has the
smallest and the largest contribution of a row (least, most). The sum over rows is then n * least + value * (most - least) /
4096, apart from the noise and a rounding error of up to half a step per row. `sums` is absent if no sums were measured.

Shared noise. If `noise` is "one noise", `together` consecutive sums share one noise vector, drawn with Pr[z] proportional
to exp(-max|z_i| / scale). These noise terms are not independent, and `epsilon` is the cost of all these sums together.

The number of rows, n, is exact. The charge "generation" in release.json pays for the measurements, so using them costs
nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from synthrelease.data.marginals import with_merged_bins
from synthrelease.errors import Unexpected
from synthrelease.published.base import ExactText, Number, Part, check_format, json_bytes
from synthrelease.settings.reading import dotted

if TYPE_CHECKING:
    from synthrelease.generators.measured_noise import CountNoise

# The part of release.json on estimates from the published noisy tables.

NOT_ESTIMABLE = "not estimable"
NotSample = Literal["design weights", "calibration to totals", "several rows of a person", "clusters"]
"""A reason why the rows of a file are not a simple random sample of a population."""


class RatioPart(Part):
    """The estimated ratio of two shares. The estimate is null if the noise could explain a denominator of 0."""

    name: str
    estimate: Number | None
    low: Number | None
    high: Number | None

    def in_words(self) -> str:
        """Format the ratio with its interval, such as "risk ratio 1.2 (1.1 to 1.3)"."""
        if None in (self.estimate, self.low, self.high):
            return f"{self.name} {NOT_ESTIMABLE}"
        between = f"at most {self.high:.3g}" if self.low == 0 else f"{self.low:.3g} to {self.high:.3g}"
        return f"{self.name} {self.estimate:.3g} ({between})"


class IntendedEstimatePart(Part):
    """The estimate for a question that the release is meant to answer.

    Attributes
    ----------
    question : the question in the form of `synthrelease estimate`. A question about a number of rows is written as a
        question about a share; its estimate and interval are then multiplied by the number of rows that the rules keep.
    estimate : the estimate, or null if the statistic is not estimable or the number of rows that the rules keep is unknown.
    low, high : the interval for the exact values in the rows of the file that the rules keep, rounded to six digits. An
        open end is null.
    binned_low, binned_high : the interval for the mean of representative values, which `estimate` estimates. Absent if
        representative values equal the exact values.
    unit : "rows", the unit of the averaged column, or "" for a share.
    ratios : the risk ratio and the odds ratio of two groups, if the estimate is the difference between their shares;
        otherwise absent.
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
        share = self.unit == "" and self.question.startswith("share ")
        unit, scale = "%" if share else f" {self.unit}" if self.unit else "", 100 if share else 1
        binned = (self.binned_low, self.binned_high) if self.binned_low is not None else (self.low, self.high)
        ends = [float(value) for value in binned if value is not None]
        decimals = 0 if self.unit == "rows" or len(ends) < 2 else _decimals(scale * (ends[1] - ends[0]))

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
            return "; ".join([difference, *(ratio.in_words() for ratio in self.ratios)])
        if self.estimate is None:
            known_ends = self.unit == "rows" and None not in (self.low, self.high)
            return f"{100 * level:g}% interval {between(self.low, self.high)}" if known_ends else NOT_ESTIMABLE
        if self.binned_low is None:
            return f"{shown(self.estimate)}{unit} ({100 * level:g}% interval {between(self.low, self.high)})"
        of_bins = f"{shown(self.estimate)}{unit} for representative values ({100 * level:g}% interval {between(*binned)})"
        return f"{of_bins}; {between(self.low, self.high)} for exact values"


class StrengthsPart(Part):
    """The strengths of associations and the shares of bins, from the noisy tables and corrected for the noise
    (`generators.associations.Strengths`).

    Attributes
    ----------
    shares : for each column, the share of the rows in each bin, without the bin of missing values.
    pairs : Cramer's V for each pair of columns that was measured together, by the name "a:b".
    """

    shares: dict[str, list[Number]]
    pairs: dict[str, Number]


class EstimatesPart(Part):
    """Answers that were computed from the noisy tables in measurements.json, with intervals for the file (`synthrelease
    estimate`).

    Attributes
    ----------
    level : the confidence of each interval separately.
    together : the columns of each noisy table. Questions have an estimate if one table contains all their columns.
    intended : an estimate for each question that the release is meant to answer, or null if no noisy table answers the
        question.
    errors : half of the width, in rows, of the widest interval of the counts in estimates.csv, by column or pair of columns
        ("a:b"). One interval in twenty may miss its true value, so a true error may be larger. Absent without
        estimates.csv.
    not_a_sample : the reasons why there is no interval for a population: design weights, calibration, several rows of a
        person, or clusters without a design effect. Absent in releases of version 1.0.0, which always stated such
        intervals, and also stated numbers that are not estimable.
    strengths : the strength of associations; absent in releases written before 1.1.0.
    """

    level: Number
    together: Annotated[list[list[str]], Field(min_length=1)]
    intended: list[IntendedEstimatePart | None]
    errors: dict[str, int] = {}
    not_a_sample: list[NotSample] | None = None
    strengths: StrengthsPart | None = None


def _decimals(width: float) -> int:
    """Return how many decimals, at most six, show a number of this size with two significant digits, such as 3 for 0.012."""
    return min(6, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 6


NAME = "measurements.json"

FORMAT: Literal[1] = 1


class MeasuredTablePart(Part):
    """One noisy table of counts in measurements.json, with its noise and its cost."""

    columns: Annotated[list[str], Field(min_length=1)]
    labels: list[list[str]]
    released: list[list[int]]
    epsilon: ExactText | None = None
    rho: ExactText | None = None
    noise: Literal["discrete Laplace", "rounded Gaussian"]
    scale: Annotated[Number, Field(gt=0)]
    variance: Annotated[Number, Field(gt=0)]
    counts: list[Any]

    @property
    def kind(self) -> type[CountNoise]:
        from synthrelease.generators.measured_noise import LAWS  # imported here, because readers of rows do not need it

        return LAWS[self.noise]

    @property
    def cost(self) -> Fraction:
        """The epsilon of a table with discrete Laplace noise, or the rho (zero-concentrated differential privacy) with
        Gaussian noise.

        Raises
        ------
        Unexpected : if the table does not state exactly one cost above 0, of the right kind.
        """
        cost = self.epsilon if self.kind.cost == "epsilon" else self.rho
        if cost is None or None not in (self.epsilon, self.rho) or not Fraction(cost) > 0:
            cost_of = f"A table with {self.noise} noise must state {self.kind.cost} above 0, and no other cost"
            raise Unexpected(cost_of, place=":".join(self.columns))
        return Fraction(cost)


class MeasuredSumPart(Part):
    """One noisy sum over all rows. A row adds a score of its bins (`steps`), or its exact value in a column (at least and
    at most `own_values`).
    """

    sum: str
    columns: Annotated[list[str], Field(min_length=1)]
    labels: list[list[str]]
    released: list[list[int]]
    epsilon: ExactText
    noise: Literal["discrete Laplace", "one noise"]
    together: Annotated[int, Field(ge=2)] | None = None
    scale: Annotated[Number, Field(gt=0)]
    variance: Annotated[Number, Field(gt=0)]
    steps: list[Any] | None = None
    own_values: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    value: int


class MeasurementsPart(Part):
    """The content of measurements.json. `sums` is absent if no sums were measured."""

    format: Literal[1]
    n_rows: Annotated[int, Field(ge=1)]
    tables: list[MeasuredTablePart]
    sums: list[MeasuredSumPart] | None = None

    def dumped(self) -> bytes:
        return json_bytes(self.model_dump(mode="json"), indent=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedMeasurement:
    """One published noisy table of counts on the released bins. A released bin may combine several measured bins.

    Attributes
    ----------
    columns : names of the columns of the table, in the order of the release.
    values : noisy counts with one axis per column. The counts of the measured bins that form a released bin are added up.
    cells : for each entry of `values`, the number of noisy counts whose sum it is.
    cost : the epsilon of the table, or its rho if the noise is Gaussian.
    law : the name of the noise distribution.
    """

    columns: tuple[str, ...]
    values: np.ndarray
    cells: np.ndarray
    cost: Fraction
    law: Literal["discrete Laplace", "rounded Gaussian"] = "discrete Laplace"

    @cached_property
    def noise(self) -> CountNoise:
        from synthrelease.generators.measured_noise import LAWS  # imported here, because readers of rows do not need it

        return LAWS[self.law].of_table(self.cost)


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedSum:
    """One published noisy sum over all rows, on the bins of the released columns.

    Attributes
    ----------
    name : the formula of the scores in the configuration.
    columns : names of the columns of the table, in the order of the release.
    steps : whole numbers with one axis per column: the contribution of a row in each released cell to the sum.
    value : the noisy sum. The noise is discrete Laplace of scale `sensitivity` / epsilon, or one component of a shared
        noise.
    sensitivity : the difference between the largest and the smallest step of all measured cells.
    together : number of sums that share one noise vector, including this sum.
    """

    name: str
    columns: tuple[str, ...]
    steps: np.ndarray
    value: int
    sensitivity: int
    epsilon: Fraction
    together: int


def read_measurements(content: bytes | str, *, unknown: Literal["forbid", "ignore"]) -> MeasurementsPart:
    """Parse measurements.json.

    Raises
    ------
    Unexpected : if the file contains something that `synthrelease release` would not write. The error names the first such
        place.
    """
    try:
        check_format(content, (FORMAT,))
        return MeasurementsPart.model_validate_json(content, extra=unknown)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path, message = dotted(first["loc"]), first["msg"].lower()
    raise Unexpected(f"The measurements are not as `synthrelease release` writes them ({message})", place=path)


def sum_on_released_bins(part: MeasuredSumPart, bins: Sequence[Sequence[str]]) -> PublishedSum | None:
    """Convert a noisy sum of scores to the released bins, which may combine several measured bins.

    Return None if a released bin combines bins with different scores, or if the sum adds up exact values instead of scores.

    Parameters
    ----------
    bins : for each column of the sum, the labels of the released bins.

    Raises
    ------
    Unexpected : if the sizes, the labels and the bins of the sum do not fit together.
    """
    shape = tuple(len(labels) for labels in part.labels)
    if part.steps is None:
        if part.own_values is None or not _fit(part.released, shape, bins):
            raise Unexpected(
                "`released` must name a released bin for every measured bin, and `own_values` is required", place=part.sum
            )
        return None
    steps = np.array(part.steps, dtype=object)
    whole = steps.shape == shape and all(type(step) is int and abs(step) < 2**31 for step in steps.ravel())
    if not whole or len(set(steps.ravel().tolist())) < 2:
        raise Unexpected("The steps must be whole numbers, not all equal, and one for each cell", place=part.sum)
    if not _fit(part.released, shape, bins):
        raise Unexpected("`released` must name a released bin for every measured bin", place=part.sum)
    steps = steps.astype(np.int64)
    cells = np.ix_(*(np.array(into) for into in part.released))
    released = np.zeros([len(labels) for labels in bins], dtype=np.int64)
    released[cells] = steps
    if not np.array_equal(released[cells], steps):
        return None
    return PublishedSum(
        name=part.sum,
        columns=tuple(part.columns),
        steps=released,
        value=part.value,
        sensitivity=int(np.ptp(steps)),
        epsilon=Fraction(part.epsilon),
        together=part.together or 1,
    )


def _fit(into: Sequence[Sequence[int]], shape: Sequence[int], bins: Sequence[Sequence[str]]) -> bool:
    """Return whether the columns have these numbers of measured bins, each assigned to an existing released bin."""
    return len(into) == len(bins) == len(shape) and all(
        len(indices) == size and all(0 <= index < len(labels) for index in indices)
        for indices, size, labels in zip(into, shape, bins, strict=True)
    )


def on_released_bins(table: MeasuredTablePart, bins: Sequence[Sequence[str]]) -> PublishedMeasurement:
    """Convert a noisy table to the released bins. The counts of measured bins that form one released bin are added up.

    Parameters
    ----------
    bins : for each column of the table, the labels of the released bins.

    Raises
    ------
    Unexpected : if the sizes, the labels and the bins of the table do not fit together, or if its cost is impossible.
    """
    into = table.released
    shape = tuple(len(labels) for labels in table.labels)
    values = np.array(table.counts, dtype=object)
    if values.shape != shape or not all(type(value) is int for value in values.ravel()):
        raise Unexpected("The counts must be whole numbers, one for each cell", place=":".join(table.columns))
    if not _fit(into, shape, bins):
        raise Unexpected("`released` must name a released bin for every measured bin", place=":".join(table.columns))
    counts, cells = values.astype(np.int64), np.ones(shape, dtype=np.int64)
    for axis, (indices, labels) in enumerate(zip(into, bins, strict=True)):
        counts, cells = (with_merged_bins(array, axis, indices, len(labels)) for array in (counts, cells))
    return PublishedMeasurement(columns=tuple(table.columns), values=counts, cells=cells, cost=table.cost, law=table.noise)
