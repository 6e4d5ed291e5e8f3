"""release.json as validated models: what the documents of a bundle are written from, and what `verify` reads back.

Every epsilon stands there twice: as a number, rounded up, and as an exact fraction in a text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from synthrelease.accounting.charges import decimal_text
from synthrelease.candidates.projections import published_projection
from synthrelease.criteria import Criterion, published_criterion
from synthrelease.toml.card import CardTable

FORMAT: Literal[3] = 3
Kind = Literal["integer", "real", "category"]
DatePart = Literal["year", "month", "day"] | None
MissingPolicy = Literal["drop", "error"]
OutsidePolicy = Literal["drop", "clip", "error"]
How = Literal["noise and selection", "noise", "redrawn noise", "exact"]


def _exact(text: str) -> str:
    """A fraction of at least 0 in lowest terms, written in the one way that `str(Fraction)` writes it."""
    if not re.fullmatch(r"[0-9]+(/[1-9][0-9]*)?", text) or str(Fraction(text)) != text:
        raise ValueError("expected a fraction of at least 0 in lowest terms, such as '191/20'")
    return text


ExactText = Annotated[str, Field(max_length=200), AfterValidator(_exact)]
Number = Annotated[float | int, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """Base of all parts of release.json: nothing may be missing, and nothing may be there that is not described."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class PersonPart(Part):
    """What a person is promised who stands in several records: `records` of them at most, each a `unit`.

    `epsilon` and `delta` are null where nothing is promised.
    """

    unit: str
    records: int
    why: str
    epsilon_exact: ExactText | None
    delta_exact: ExactText | None


class GuaranteePart(Part):
    """The guarantee by its building blocks (theory 10, statement of the guarantee)."""

    epsilon: Number
    epsilon_exact: ExactText
    delta: Number
    delta_exact: ExactText
    neighbours: str
    unit: str
    invariants: list[str]
    person: PersonPart


class DomainPart(Part):
    """Which files the guarantee is about: what the public rules did with their rows (theory 1.7, resizing).

    With the columns' `bounds`, `missing` and `outside`, and the rules for raw rows, the domain can be written down from here.

    Attributes
    ----------
    rows : where the number of rows comes from that the release works with: "whole", "counted", "stated" or "exact".
    file_rows : the rows of the private file; null where the number of kept rows is published instead ("exact").
    margin, shortfall : of a counted number: what was taken off the noisy count, and the probability with which it may
        nevertheless lie above the number of kept rows; public rows then filled up.
    missing_values : the texts that count as missing.
    """

    rows: Literal["whole", "counted", "stated", "exact"]
    file_rows: int | None
    margin: int | None
    shortfall: ExactText | None
    missing_values: list[str]


class CurvePart(Part):
    """A Renyi divergence of order a of at most rho a + constant + log_mean / (a - 1), for every a > 1."""

    rho: ExactText
    constant: ExactText
    log_mean: ExactText


class ChargePart(Part):
    """A node of the charge tree; `rule` says how it follows from its parts.

    `reason` is what the steward says about it. `renyi` is there where the node is a curve: epsilon and delta are then 0, and
    the root states both for the sum.
    """

    name: str
    rule: str
    epsilon: Number
    epsilon_exact: ExactText
    delta: Number
    delta_exact: ExactText
    because: str
    reason: str = ""
    renyi: CurvePart | None = None
    parts: list[ChargePart] = Field(default_factory=list)

    @model_serializer(mode="wrap")
    def _without_empty_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if name not in ("reason", "renyi", "parts") or value}

    def leaves(self) -> Iterator[ChargePart]:
        """The single mechanisms below this node (the node itself when it has no parts)."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


class IntervalPart(Part):
    """An interval for the exact figure; `high` is null when nothing bounds it."""

    level: Number
    low: Number
    high: Number | None
    how: How


class CriterionPart(Part):
    """A criterion, its threshold and its released figure.

    Attributes
    ----------
    value : null where the figure is no number.
    best, worst : what an exact figure can be; worst is null where nothing bounds it.
    decides : whether this very figure was compared with the threshold.
    parameters : everything else that stands in the acceptance file.
    """

    name: str
    kind: str
    threshold: Number
    value: Number
    epsilon: Number
    epsilon_exact: ExactText
    mechanism: str
    sensitivity: Number | None
    noise_sd: Number | None
    noise_bound: Number | None
    passed: bool
    decides: bool
    best: Number
    worst: Number | None
    interval: IntervalPart | None
    parameters: dict[str, Any]

    def criterion(self) -> Criterion | None:
        """The criterion itself; None for a kind that is not known here. Raises ValueError for parameters of another kind."""
        return published_criterion(
            self.kind,
            name=self.name,
            threshold=self.threshold,
            epsilon=self.epsilon_exact,
            parameters=self.parameters,
        )


class BinPart(Part):
    """A bin: [from, below) for numbers, null where it is open; the categories that it holds otherwise."""

    label: str
    lower: Number | None = Field(default=None, validation_alias=AliasChoices("from", "lower"), serialization_alias="from")
    below: Number | None = None
    categories: list[str] | None = None
    number: Number | None = None

    @model_serializer(mode="wrap")
    def _what_there_is(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        absent = {"categories"} if self.categories is None else {"from", "below"}
        absent |= {"number"} if self.number is None else set()
        return {name: value for name, value in dump(self).items() if name not in absent}


class ColumnPart(Part):
    """A column of data.csv.

    Attributes
    ----------
    source, part : the column of the private file, and the part of a date that was read.
    bounds : public bounds of the values behind the bins.
    missing, outside : what was done with a row whose value was missing or outside: "drop", "clip", or "error" (the file was
        refused).
    texts : for categories, the texts in the file that each stands for.
    """

    name: str
    kind: Kind
    description: str
    unit: str
    binning: str
    alternatives: list[str]
    ordered: bool
    source: str
    part: DatePart
    missing: MissingPolicy
    outside: OutsidePolicy
    texts: dict[str, list[str]] | None
    bounds: Annotated[list[Number], Field(min_length=2, max_length=2)] | None
    bins: list[BinPart]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(one.label for one in self.bins)


class RulePart(Part):
    """What must never occur, in private rows ("raw") or in released ones ("synthetic")."""

    never: str
    applies_to: list[Literal["raw", "synthetic"]]
    why: str


class JointTestPart(Part):
    """The one noisy test that decided a round: its least slack had to reach the margin, in sensitivities.

    `false_acceptance` bounds the probability that a round passes although some criterion is above its threshold.
    """

    epsilon_exact: ExactText
    false_acceptance: ExactText
    margin: Number


class SelectionPart(Part):
    """How configurations were drawn, what decided a round, and when the search would have ended with nothing.

    `joint_test` is null where every criterion was decided by its own figure. `shape` is that of a truncated negative binomial
    number of rounds; null with a known threshold.
    """

    configurations: int
    stop_probability: ExactText
    shape: ExactText | None
    shared_measurements: bool
    joint_test: JointTestPart | None


class ReleaseDocument(Part):
    """The whole of release.json.

    Attributes
    ----------
    specification : the digest of the two files behind the release, without [card].
    files : the SHA-256 checksums of the data files.
    versions : of what the release was computed with; `written_by` is the version of synthrelease that wrote the documents.
    """

    format: Literal[3]
    title: str
    description: str
    synthetic: Literal[True]
    n_rows: int
    guarantee: GuaranteePart
    domain: DomainPart
    charges: ChargePart
    criteria: list[CriterionPart]
    configuration: dict[str, dict[str, Any]]
    selection: SelectionPart
    columns: list[ColumnPart] = Field(validation_alias=AliasChoices("schema", "columns"), serialization_alias="schema")
    groups: dict[str, list[BinPart]]
    rules: list[RulePart]
    specification: str
    files: dict[str, str]
    versions: dict[str, str]
    written_by: str
    card: Annotated[CardTable, Field(strict=False)]

    @property
    def raw_rules(self) -> list[str]:
        """What must not occur in a kept row of the private file."""
        return [rule.never for rule in self.rules if "raw" in rule.applies_to]

    @property
    def minimum_count(self) -> int:
        """The least number of times that a row may occur: the projection's and the criteria's word."""
        promising = [
            published_projection(self.configuration.get("projection", {})),
            *(one.criterion() for one in self.criteria),
        ]
        return max((one.promised_count for one in promising if one is not None), default=1)

    def dumped(self) -> bytes:
        """The bytes of release.json."""
        tables = self.model_dump(mode="json", by_alias=True)
        return (json.dumps(tables, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def number(value: float) -> float | int:
    """A JSON number; whole ones without a point."""
    return int(value) if math.isfinite(value) and float(value).is_integer() else float(value)


def upwards(value: Fraction) -> float:
    """An exact epsilon as the number that is shown, never understated."""
    return float(decimal_text(value))
