"""Define the contents of scout.json, the result of a scout. Everything in the document may be published."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from synthrelease.privacy.cap import Cap
from synthrelease.published.base import ExactText, Part
from synthrelease.scouting.bins import ScoutedBins, code_bins, number_bins
from synthrelease.scouting.columns import GAP, OTHER, UNREAD, ScoutedColumn

NAME = "scout.json"
LEVEL = 0.95
Count = int
ExactLimit = Annotated[str, Field(pattern=r"^-?[0-9]+(/[1-9][0-9]*)?$")]


class ScoutedPart(Part):
    """A column of a scout, with its codebook entry and its noisy counts.

    Attributes
    ----------
    name, kind, description, codes, missing, low, high, whole, limits, dates : the column as in `ScoutedColumn`.
    first, second : for a numeric column, the counts of the first and the second table. The last two are the counts of
        strings that are not numbers and of missing values.
    edges : for a numeric column, the lower limits of the cells of the second table, which another version of the program
        may choose differently.
    counts : for codes and strings, the count of each value. The empty string "" means a missing value.
    other : for a column with a list of codes, the count of the strings that are not in the list.
    """

    name: str
    kind: Literal["listed", "texts", "number"]
    description: str
    codes: dict[str, str]
    missing: list[str]
    low: ExactLimit | None
    high: ExactLimit | None
    whole: bool
    limits: list[ExactLimit] = []
    dates: list[str] = []
    first: list[Count] = []
    second: list[Count] = []
    edges: list[ExactLimit] = []
    counts: dict[str, Count] = {}
    other: Count | None = None

    @model_validator(mode="after")
    def _periods_of_its_dates(self) -> ScoutedPart:
        if self.dates and [*self.codes] != [*dict.fromkeys(self.column.days.values())]:
            raise ValueError("the codes are not the periods of the dates")
        return self

    @cached_property
    def column(self) -> ScoutedColumn:
        return self.value_of(ScoutedColumn, limits=tuple(map(Fraction, self.limits)))

    @property
    def lower_limits(self) -> tuple[Fraction, ...]:
        return tuple(map(Fraction, self.edges))

    @property
    def gaps(self) -> int:
        """The noisy number of rows without a value or, for a numeric column, with a string that is not a number."""
        return sum(self.second[-2:]) if self.kind == "number" else self.counts[""]


class DependencePart(Part):
    """A noisy measure of dependence: the total variation distance of pairs of columns from independence, averaged over all
    pairs.

    Attributes
    ----------
    steps : the noisy mean, as a number of steps.
    one : the number of steps that equal a distance of 1.
    rows : the number of rows from which the dependence was computed.
    """

    steps: int
    one: Annotated[int, Field(ge=1)]
    rows: Annotated[int, Field(ge=1)]

    @property
    def value(self) -> float:
        """The noisy mean distance of pairs of columns from independence, limited to the range from 0 to 1."""
        return min(1.0, max(0.0, self.steps / self.one))


class ScoutDocument(Part):
    """The contents of scout.json, the published results of a scout: noisy tables of single columns and a measure of
    dependence.

    Attributes
    ----------
    rows : the exact number of rows of the private file or, with a key, of persons; one row of each person was counted.
    unit, key, first_by, missing_keys : the unit of protection, as in [unit] of the release's configuration.
    epsilon_exact, delta_exact, rare_exact, tests_exact, rho_exact : the cap, which was fixed before the scout
        (`privacy.cap.Cap`).
    tables_exact : the cost of all tables; the measure of dependence costs the rest.
    """

    format: Literal[1]
    kind: Literal["scout"]
    title: str
    rows: Annotated[int, Field(ge=1)]
    unit: str
    key: str | None
    first_by: list[str] | Literal["random"]
    missing_keys: list[str] = []
    epsilon_exact: ExactText
    delta_exact: ExactText
    rho_exact: ExactText
    rare_exact: ExactText
    tests_exact: ExactText
    tables_exact: ExactText
    input: dict[str, Any]
    columns: Annotated[list[ScoutedPart], Field(min_length=2)]
    dependence: DependencePart
    written_by: str

    @cached_property
    def cap(self) -> Cap:
        """The largest privacy cost of the scout and the release after it together. Raises Unexpected (a ValueError) if it
        is invalid.
        """
        return self.value_of(Cap)

    @property
    def cost_per_table(self) -> Fraction:
        """The privacy cost of each noisy table, as a rho, or as an epsilon if delta is 0."""
        return Fraction(self.tables_exact) / sum(part.column.queries for part in self.columns)

    @property
    def noise_sd(self) -> float:
        """The standard deviation of the noise of a count, in rows."""
        return self.cap.deviation(self.cost_per_table)

    @property
    def margin(self) -> int:
        """The margin of error of a count in rows, which the noise exceeds in at most 5% of scouts."""
        return self.margin_of(1)

    def margin_of(self, noises: int) -> int:
        """Return the 95% margin of error, in rows, of a sum of `noises` noisy counts."""
        return math.ceil(self.quantile * self.noise_sd * math.sqrt(noises) + 0.5)

    @property
    def quantile(self) -> float:
        """The limit that the absolute noise of a sum of counts exceeds with a probability of at most 5%, in standard
        deviations.

        For Laplace noise, it is the quantile of one count, because the quantile of a sum is smaller.
        """
        return -math.log(1 - LEVEL) / math.sqrt(2) if self.cap.pure else NormalDist().inv_cdf((1 + LEVEL) / 2)

    @property
    def dependence_deviation(self) -> float:
        moved = 3 / self.dependence.rows
        return self.cap.deviation(self.cap.cost - Fraction(self.tables_exact), (moved, moved))

    def bins(self) -> list[ScoutedBins]:
        return [bins_of(part, self.rows, self.noise_sd) for part in self.columns]


def bins_of(part: ScoutedPart, rows: int, deviation: float) -> ScoutedBins:
    column = part.column
    if column.kind == "number":
        return number_bins(column, part.first, part.lower_limits, part.second[:-2], part.gaps, rows=rows, deviation=deviation)
    counts = {text: count for text, count in part.counts.items() if text}
    return code_bins(column, counts, part.gaps, rows=rows, deviation=deviation)


def lines_of(document: ScoutDocument) -> Iterator[tuple[str, str, int, int]]:
    """Yield the column, the counted value, the count and its number of noise terms, for each noisy count of a single column.

    For numbers, these are the counts of the second table.
    """
    for part in document.columns:
        column = part.column
        if column.kind == "number":
            edges = part.lower_limits
            ends = [*edges[1:], column.cells[-1].high]
            texts = [f"{_plain(low)} to below {_plain(high)}" for low, high in zip(edges, ends, strict=True)]
            yield from ((part.name, text, count, 1) for text, count in zip((*texts, UNREAD, GAP), part.second, strict=True))
            continue
        yield from ((part.name, text or GAP, count, 1) for text, count in part.counts.items())
        if part.other is None:
            yield part.name, OTHER, document.rows - sum(part.counts.values()), len(part.counts)
        else:
            yield part.name, OTHER, part.other, 1


def _plain(number: Fraction) -> str:
    return f"{float(number):.15g}"
