"""scout.json, and what follows from it. All of it may be published: noisy counts, facts of the codebook, and their cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Annotated, Any, Literal

from pydantic import Field

from synthrelease.privacy.cap import Cap
from synthrelease.published.base import ExactText, Part
from synthrelease.scouting.bins import ScoutedBins, code_bins, number_bins
from synthrelease.scouting.columns import GAP, OTHER, UNREAD, ScoutedColumn

NAME = "scout.json"
LEVEL = 0.95
Count = int


class ScoutedPart(Part):
    """A column: its codebook entry, and its noisy counts.

    Attributes
    ----------
    first, second : of a number, the counts of both looks; then of texts that are no number, and of gaps.
    counts : of codes and texts, the counts; of gaps the text "".
    other : of a dictionary, the count of texts that it does not list.
    """

    name: str
    kind: Literal["listed", "texts", "number"]
    description: str
    codes: dict[str, str]
    missing: list[str]
    low: ExactBound
    high: ExactBound
    whole: bool
    first: list[Count] = []
    second: list[Count] = []
    counts: dict[str, Count] = {}
    other: Count | None = None

    @cached_property
    def column(self) -> ScoutedColumn:
        """Return the column as the scout measured it."""
        return self.value_of(ScoutedColumn)

    @property
    def gaps(self) -> int:
        """Return the noisy number of rows without a value; for a number, with the rows whose text is no number."""
        return sum(self.second[-2:]) if self.kind == "number" else self.counts[""]


ExactBound = Annotated[str, Field(pattern=r"^-?[0-9]+(/[1-9][0-9]*)?$")] | None
ScoutedPart.model_rebuild(raise_errors=False)


class DependencePart(Part):
    """The mean total variation distance of pairs of columns from independence, with noise, in steps of which `one` are 1."""

    steps: int
    one: Annotated[int, Field(ge=1)]
    rows: Annotated[int, Field(ge=1)]

    @property
    def value(self) -> float:
        """The distance, between 0 and 1."""
        return min(1.0, max(0.0, self.steps / self.one))


class ScoutDocument(Part):
    """scout.json.

    Attributes
    ----------
    rows : of the private file; with a key, the number of persons, whose first row was counted. Published exactly.
    unit, key, first_by : as [unit] has them for the release.
    epsilon_exact, delta_exact, rare_exact, tests_exact, rho_exact : the cap, fixed before the scout (`privacy.cap.Cap`).
    tables_exact : the part of the scout's cost for tables; the rest is that of the dependence.
    input : how the private file is written.
    """

    format: Literal[1]
    kind: Literal["scout"]
    title: str
    rows: Annotated[int, Field(ge=1)]
    unit: str
    key: str | None
    first_by: list[str] | Literal["random"]
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

    @property
    def unsaid(self) -> set[str]:
        """Return nothing: the head of the document is always written."""
        return set()

    @cached_property
    def cap(self) -> Cap:
        """The cap of scout and release. Raises Unexpected (a ValueError) for numbers that make none."""
        return self.value_of(Cap)

    @property
    def share(self) -> Fraction:
        """The cost of one table."""
        return Fraction(self.tables_exact) / sum(part.column.queries for part in self.columns)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a count."""
        return self.cap.deviation(self.share)

    @property
    def margin(self) -> int:
        """How far an exact count lies from its noisy one in 95% of scouts, at most."""
        return self.margin_of(1)

    def margin_of(self, noises: int) -> int:
        """Return the same for a sum of so many noisy counts."""
        return math.ceil(self.quantile * self.deviation * math.sqrt(noises) + 0.5)

    @property
    def quantile(self) -> float:
        """So many standard deviations is a sum of noises away in 95% of scouts; of Laplace noises one goes farthest."""
        return -math.log(1 - LEVEL) / math.sqrt(2) if self.cap.pure else NormalDist().inv_cdf((1 + LEVEL) / 2)

    @property
    def dependence_deviation(self) -> float:
        """The standard deviation of the noise of the dependence."""
        moved = 3 / self.dependence.rows
        return self.cap.deviation(self.cap.cost - Fraction(self.tables_exact), (moved, moved))

    def bins(self) -> list[ScoutedBins]:
        """Return the bins of a draft, column by column."""
        return [bins_of(part, self.rows, self.deviation) for part in self.columns]


def bins_of(part: ScoutedPart, rows: int, deviation: float) -> ScoutedBins:
    """Return the bins of a column in a draft: a function of its noisy counts."""
    column = part.column
    if column.kind == "number":
        edges = column.second_look(part.first, deviation, rows)
        return number_bins(column, part.first, edges, part.second[:-2], part.gaps, rows=rows, deviation=deviation)
    counts = {text: count for text, count in part.counts.items() if text}
    return code_bins(column, counts, part.gaps, rows=rows, deviation=deviation)


def lines_of(document: ScoutDocument) -> Iterator[tuple[str, str, int, int]]:
    """Yield all noisy counts of single columns: column, value, count, and the number of noises in the count.

    Of numbers those of the second look.
    """
    for part in document.columns:
        column = part.column
        if column.kind == "number":
            edges = column.second_look(part.first, document.deviation, document.rows)
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
