"""The tables of options: what most releases do not ask for, in the order of the settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from synthrelease.data.linked import Linked, slot_name
from synthrelease.errors import Unexpected
from synthrelease.privacy.plan import MOST_YEARS, Horizon
from synthrelease.settings.base import Line, Reason, SpecTable, checked
from synthrelease.settings.columns import ColumnTable, RuleTable
from synthrelease.settings.questions import QuestionTable

MOST_MEMBERS = 50
Cells = dict[str, float | dict[str, float]]
PositiveFraction = Annotated[Fraction, Field(gt=0)]
SIMPLE = "simple random, without replacement"
"""The one design for which the second sentence is proved."""
YES = ("1", "yes", "y", "true", "t")
"""Categories that are a mark, in capitals, too, where the configuration does not say which ones are."""


class PartitionTable(SpecTable):
    """[partition]: the rows are divided at random, once, and the generator is fitted to one piece while the criteria ask the
    other. A record then costs what its piece spends, not the sum. The released table has as many rows as the piece that the
    criteria ask, and its figures are about that piece: thresholds must bear how it differs from the whole by chance.

    Attributes
    ----------
    fit : the share of the rows for the generator. Example: `fit = 0.5`, `score = 0.5`.
    score : the share of the rows for the criteria; `fit` and `score` add up to 1. Example: `score = 0.5`, `fit = 0.5`.
    """

    fit: Fraction = Field(gt=0, lt=1)
    score: Fraction = Field(gt=0, lt=1)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.fit + self.score != 1:
            yield f"fit and score must add up to 1, found {float(self.fit + self.score):g}"


class SplitTable(SpecTable):
    """[split]: the register is split into pieces by a secret key, once and for ever (`synthrelease ledger split`), and this
    release reads one of them. Releases that read other pieces spend on other records; the released figures are about the piece.

    Attributes
    ----------
    by : the column of the private file with the record number: public, in every row, none twice, and no column of the release.
        Example: `by = "certificate"`, `piece = 1`, `of = 2`.
    piece : the piece that this release reads, from 1 to `of`. Example: `piece = 1`, `by = "certificate"`, `of = 2`.
    of : the number of pieces of the register, as in the ledger. Example: `of = 2`, `by = "certificate"`, `piece = 1`.
    """

    by: Line = Field(min_length=1, max_length=200)
    piece: int = Field(ge=1)
    of: int = Field(ge=2, le=1000)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.piece > self.of:
            yield f"piece must be 1 to {self.of}, found {self.piece}"


class MembersTable(SpecTable):
    """[members]: the members of each row of the private file (persons of a household, visits of a patient), which stand in a
    second file, or in the one file that carries the columns of their root. What is protected is a root with all its members.
    `release --members FILE` names the second file.

    Attributes
    ----------
    key : the column of both files that names the root of a member. It is not released; the released files have new numbers
        under its name. Example: `key = "household"`.
    most : the largest number of released members of a root. Each further member makes the record wider. Example: `most = 6`.
    least : a root with fewer members is left out. Example: `least = 1`.
    more : the rule for a root with more members: "first" releases the first ones in the order below, "drop" leaves out the root
        with all members. Example: `more = "drop"`.
    order : columns of the members' file that order the members of a root: numbers by size, dates by time, other texts by their
        first letters, rows without a value last. Members that agree in them are ordered by their released values; the order of
        the file has no effect. A released column is allowed; its statistics are then about the first members of each root.
        Example: `order = ["number"]`.
    reference : a column of the members' file, with the text of the members who come before all others, such as a household's
        reference person. Example: `reference = { relation = "reference person" }`.
    size : the name of the released column with the number of members. Example: `size = "persons"`.
    columns : the columns of a member, as [columns.NAME]; each has one list of bins. In criteria and queries the column NAME of
        the first member is NAME_1, of the second member NAME_2, and so on. Example: `columns.age = { kind = "integer", bounds =
        [0, 99] }`.
    rules : plausibility rules for members, as [[rules]]: a root with a member that breaks one is left out. A rule may name
        columns of the root, columns of the first member as first.NAME (it is then about all others) and columns of another
        member as other.NAME (about every two members). It may compare whole numbers (`age > first.age - 12`) and count members
        (`count(relation == 'spouse') > 1`, `count(age < 18) > children`). Example: `rules = [{ never = "relation == 'spouse'
        and other.relation == 'spouse'" }]`.
    """

    key: str = Field(min_length=1)
    most: int = Field(ge=1, le=MOST_MEMBERS)
    least: int = Field(default=0, ge=0, le=MOST_MEMBERS)
    more: Literal["first", "drop"] = "first"
    order: list[str] = Field(default=[], max_length=20)
    reference: dict[str, str] = Field(default_factory=dict, max_length=1)
    size: Annotated[str, checked(str.isidentifier, "a column name made of letters, digits and underscores")] = "members"
    columns: dict[str, ColumnTable] = Field(min_length=1, max_length=100)
    rules: list[RuleTable] = Field(default=[], max_length=50)

    def members_with(self, missing: str) -> Linked:
        """Return how members stand in the record of their root; `missing` is what missing values do where a column does not say
        it.
        """
        return Linked(
            key=self.key,
            size=self.size,
            names=tuple(self.columns),
            slots=tuple(tuple(slot_name(name, slot) for name in self.columns) for slot in range(1, self.most + 1)),
            whole=frozenset(name for name, column in self.columns.items() if (column.missing or missing) != "bin"),
            least=self.least,
            more=self.more,
            order=tuple(self.order),
            reference=next(iter(self.reference.items()), None),
        )


def _totals(value: Any) -> Any:
    """Give one message instead of one for each type that totals could have had; which groups there are is checked later."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or not value:
        raise Unexpected("the name of a CSV file, or a table of groups with their totals")
    for label, inner in value.items():
        for text, number in inner.items() if isinstance(inner, Mapping) else [(label, inner)]:
            if not is_total(number):
                raise Unexpected("a finite number of at least 0 for each group", f"{text!r} with something else")
    return value


def is_total(value: Any) -> bool:
    """Return whether a value can be a total."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value < math.inf


class MarginTable(SpecTable):
    """[[calibration.margins]]: published totals of all combinations of groups of one or more columns.

    Attributes
    ----------
    columns : the columns. Example: `columns = ["sex", "age"]`.
    totals : the total of each group of one column, or of each pair of groups of two, by their labels: whole categories, bins
        or alternatives of the column, or coarser bins, into which each bin of every alternative fits. Or the name of a CSV
        file, relative to this one, with a column for each of `columns` and a column "total". Every group needs a total.
        Example: `totals = { F = { "<18" = 900, ">=18" = 4200 }, M = { "<18" = 1000, ">=18" = 3900 } }`,
        `columns = ["sex", "age"]`.
    """

    columns: tuple[str, ...] = Field(min_length=1, max_length=8)
    totals: Annotated[Cells | str, BeforeValidator(_totals)]


class CalibrationTable(SpecTable):
    """[calibration]: weights with which the released rows have published totals. They are made from the accepted table and cost
    nothing.

    Attributes
    ----------
    source : the published source of the totals. Totals that were counted in the private file are not allowed: they would be
        published outside of the guarantee. Example: `source = "Population register, 1 January 2024, table 3"`.
    margins : the totals, one table for each margin; their settings follow below. Margins must agree in their common totals.
        Example: `margins = [{ columns = ["sex"], totals = { F = 5100, M = 4900 } }]`.
    start : a column with `role = "weight"`: the weights start from the numbers of its bins. Left out, all start equal.
        Example: `start = "design_weight"`.
    cap : the largest weight, in mean weights. Example: `cap = 5`.
    floor : the least weight, in mean weights; rows in a group with a total of 0 weigh 0 all the same. Example: `floor = 0.2`.
    tolerance : the largest difference between a weighted count and its total, as a share of the total; margins may disagree by
        as much. The sum of the first margin counts. Example: `tolerance = 0.0001`.
    collapse : columns whose neighbouring groups are joined where a group has too few released rows, in the order of trial.
        Groups are neighbours in the order of their bins or of their totals. Example: `collapse = ["age"]`.
    fewest_rows : groups of a margin with fewer released rows are joined with a neighbour, where `collapse` allows it.
        Example: `fewest_rows = 30`.
    """

    source: Annotated[Line, Field(min_length=1, max_length=500)]
    margins: list[MarginTable] = Field(min_length=1, max_length=20)
    start: str | None = None
    cap: float = Field(default=10, gt=1, le=1e6)
    floor: float = Field(default=0, ge=0, lt=1)
    tolerance: float = Field(default=0.001, ge=1e-6, le=0.1)
    collapse: tuple[str, ...] = ()
    fewest_rows: int = Field(default=10, ge=1)


class SeriesTable(SpecTable):
    """[series]: other releases of the same register, and a plan over years. The card shows their cost and the sum for a person
    who is in all of them; `verify --with` checks it.

    Attributes
    ----------
    name : the name of the series. Example: `name = "Live births, yearly"`.
    earlier : the files release.json of all earlier releases about the same persons, relative to this file, the oldest first.
        Example: `earlier = ["../births-2022/release.json", "../births-2023/release.json"]`.
    years : the number of years in the plan, with one release each. The plan promises a person the cost of all years before the
        first release. `ledger years` notes it, and every release of the series names that ledger. Example: `years = 5`, `first
        = 2019`, `year = 2020`, `epsilon = [0.85, 0.5]`, `records = 1`, `name = "Live births, yearly"`.
    first : the first year. Example: `first = 2019`, `years = 5`, `year = 2020`, `epsilon = 0.5`, `name = "Births"`.
    year : the year of this release. Example: `year = 2020`, `years = 5`, `first = 2019`, `epsilon = 0.5`, `name = "Births"`.
    epsilon : the most that the release of a year may cost a record: one number, or one for each year; the last one holds for
        all later years. Example: `epsilon = [0.85, 0.5]`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    delta : the largest delta of the release of a year. Example: `delta = 1e-9`, `epsilon = 0.5`, `years = 5`, `first = 2019`,
        `year = 2020`, `name = "Births"`.
    records : the largest number of records of a person in the files of all years together: 1 where each record is a different
        person in one year, 4 where a mother has four births at most. The default is the number in [unit] for every year.
        Example: `records = 4`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    fallbacks : the number of years in which a second release may follow a first one that found no table. They count in the
        promise, whether they are needed or not. Example: `fallbacks = 1`, `fallback_epsilon = 0.85`, `epsilon = 0.5`, `years =
        5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    fallback_epsilon : the largest epsilon of a second release for a record. Example: `fallback_epsilon = 0.85`, `fallbacks =
        1`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    again : true for the second release of a year. Example: `again = true`, `fallbacks = 1`, `fallback_epsilon = 0.85`, `epsilon
        = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    corrects : the file release.json of the release that an erratum replaces. `card --bundle` writes errata, at no cost;
        a new release cannot be one. Example: `corrects = "../births-2024/release.json"`, `reason = "A wrong unit."`,
        `name = "Live births, yearly"`.
    reason : the correction of the erratum; required with `corrects` and not allowed without it. Example: `reason = "The unit of
        the weight was wrong."`, `corrects = "../births-2024/release.json"`, `name = "Live births, yearly"`.
    """

    name: Line = Field(min_length=1, max_length=300)
    earlier: tuple[str, ...] = Field(default=(), max_length=1000)
    years: Annotated[int, Field(ge=2, le=MOST_YEARS)] | None = None
    first: Annotated[int, Field(ge=-9999, le=9899)] | None = None
    year: int | None = None
    epsilon: PositiveFraction | Annotated[tuple[PositiveFraction, ...], Field(min_length=1, max_length=MOST_YEARS)] | None = (
        None
    )
    delta: Annotated[Fraction, Field(ge=0, lt=1)] = Fraction(0)
    records: Annotated[int, Field(ge=1, le=100_000)] | None = None
    fallbacks: Annotated[int, Field(ge=0, le=MOST_YEARS)] = 0
    fallback_epsilon: PositiveFraction | None = None
    again: bool = False
    corrects: str | None = None
    reason: Reason = ""

    @property
    def fixed(self) -> frozenset[str]:
        """Which release of which plan it is: all that a plan over years has."""
        return frozenset(() if self.years is None else set(type(self).model_fields) - {"earlier", "corrects", "reason"})

    def horizon(self, records: int) -> Horizon:
        """Return the plan, where a person has so many records in the file of a year."""
        count = self.years or 1
        in_all = min(self.records or records * count, records * count)
        return Horizon(
            first=self.first or 0,
            epsilons=self.epsilons,
            delta=self.delta,
            in_year=min(records, in_all),
            in_all=in_all,
            fallbacks=self.fallbacks,
            fallback_epsilon=self.fallback_epsilon or Fraction(0),
        )

    @property
    def several_releases(self) -> bool:
        """Earlier ones are named, or others are planned."""
        return bool(self.earlier) or self.years is not None

    def contradictions(self) -> Iterator[str | Unexpected]:
        if (self.corrects is None) != (not self.reason):
            yield "corrects and reason need each other"
        needed = {"first": self.first, "year": self.year, "epsilon": self.epsilon}
        if self.years is None:
            stated_fields = [name for name, value in needed.items() if value is not None]
            stated_fields += [
                name for name in ("delta", "records", "fallbacks", "fallback_epsilon", "again") if getattr(self, name)
            ]
            if stated_fields:
                yield f"{stated_fields[0]} belongs to a plan over years, so it needs years"
            return
        if missing := [name for name, value in needed.items() if value is None]:
            yield f"a plan over years needs {missing[0]}"
        last = (self.first or 0) + self.years - 1
        if not (self.first or 0) <= (self.year or 0) <= last:
            yield f"year must be one of the plan, {self.first} to {last}, found {self.year}"
        if isinstance(self.epsilon, tuple) and len(self.epsilon) > self.years:
            yield f"epsilon has {len(self.epsilon)} numbers for {self.years} years"
        if (self.fallbacks > 0) != (self.fallback_epsilon is not None):
            yield "fallbacks and fallback_epsilon need each other"
        if self.fallbacks > self.years or (self.again and not self.fallbacks):
            yield f"there are {self.years} years and {self.fallbacks} second releases of a year"

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """By year."""
        epsilons = self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon or Fraction(0),)
        return (*epsilons, *epsilons[-1:] * ((self.years or 0) - len(epsilons)))


class PopulationTable(SpecTable):
    """[population]: the private file is a simple random sample of so many records. Plan, card and release.json then have a
    second sentence: what a member of the population is promised of whom nobody knows whether he was drawn (theory 11.3,
    amplification by a subset). It lowers no charge, and the ledger has the whole.

    Attributes
    ----------
    size : the number of records in the population, each at most once in the file. Example: `size = 2000000`, `sample = "simple
        random, without replacement"`, `source = "Population register, 1 January 2024"`.
    sample : the sampling design of the file. "simple random, without replacement" is the only design for which this is proved:
        strata, clusters, panels and unequal weights are refused. Example: `sample = "simple random, without replacement"`,
        `size = 2000000`, `source = "Population register, 1 January 2024"`.
    source : the published source of the number of records. Example: `source = "Population register, 1 January 2024"`, `size =
        2000000`, `sample = "simple random, without replacement"`.
    """

    size: int = Field(ge=1, le=10**12)
    sample: Annotated[
        Line, checked(SIMPLE.__eq__, f"{SIMPLE!r}: for strata, clusters, panels and other designs there is no such bound")
    ]
    source: Line = Field(min_length=1, max_length=500)


def _effect(value: Any) -> Any:
    """Give one message instead of one for each type that a design effect could have had."""
    numbers = list(value.values()) if isinstance(value, Mapping) else [value]
    if value is not None and not (numbers and all(is_total(number) and 1 <= number <= 1000 for number in numbers)):
        raise Unexpected("a number from 1 to 1,000, or a table with such a number for each of some columns", repr(value))
    return value


class DesignTable(SpecTable):
    """[design]: the survey design of the private file: weights, strata and clusters. Intervals for a
    population rest on it. Left out, they take the file for a simple random sample, unless something else says that it is none.
    It changes no released row and no charge.

    Attributes
    ----------
    weight : the column with `role = "weight"`; `estimate` then answers weighted questions.
        Example: `weight = "design_weight"`.
    strata : the columns of the private file that name the stratum of a row. Example: `strata = ["region"]`.
    clusters : the column of the private file that names the primary sampling unit (PSU) of a row, such as a census tract or a
        school. It is not read, and no released column may be read from it. Without `effect` an answer has no interval for a
        population. Example: `clusters = "tract"`.
    effect : published design effects: by how many times weights, strata and clusters together make the variance of an estimate
        larger than in a simple random sample of as many rows; at least 1. One number for all columns, or one for each column
        whose share, mean or median is estimated. Example: `effect = 1.8`, `source = "Survey report, table B.1"`.
    source : the published source of the design effects; required with `effect` and not allowed without it. A design effect that
        was computed from the private file is not allowed: it would be published outside of the guarantee. Example: `source =
        "Survey report, table B.1"`, `effect = 1.8`.
    """

    weight: str | None = None
    strata: list[str] = Field(default=[], max_length=20)
    clusters: str | None = None
    effect: Annotated[float | dict[str, float] | None, BeforeValidator(_effect)] = None
    source: Annotated[Line, Field(max_length=500)] = ""

    def contradictions(self) -> Iterator[str | Unexpected]:
        if (self.effect is None) != (not self.source):
            yield "effect and source need each other"


class ImputationTable(SpecTable):
    """[imputation]: complete copies of the released rows, beside the incomplete ones, where missing values are a bin. They are
    made from the accepted table and cost nothing.

    Attributes
    ----------
    copies : the number of complete copies. Their differences show the uncertainty of the filled values. Example: `copies = 10`.
    donors : the least number of rows to draw a value from. A gap is filled from a released row that agrees in the columns of
        `match`; the last columns are dropped until so many rows agree. Example: `donors = 20`.
    match : the columns in which rows should agree, the most important first. The default is all columns in their order.
        Example: `match = ["age", "sex"]`.
    """

    copies: int = Field(default=5, ge=1, le=100)
    donors: int = Field(default=10, ge=1)
    match: tuple[str, ...] | None = None


class PluginTable(SpecTable):
    """[[plugins]]: another package, whose criteria and generators the two files may name as "PACKAGE:NAME". It is loaded only
    when it is installed in just this version, with just these bytes. `synthrelease plugin PACKAGE` prints the table.

    Attributes
    ----------
    package : the installed package. Example: `package = "copula-example"`.
    version : the version that is installed. Example: `version = "0.1.0"`.
    sha256 : the digest of all its installed files.
        Example: `sha256 = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    trust : whether a release may run it on the private file. It must be named to the command, too (`--trust PACKAGE`).
        Example: `trust = true`.
    """

    package: str = Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=100)
    version: Line = Field(min_length=1, max_length=100)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    trust: bool = False


class GeographyTable(SpecTable):
    """[geography]: areas that lie within one another. Each named level of the codelist of the smallest areas becomes a column
    of the record, a public function of the same text of the file, and a rule says that released rows follow it exactly. The
    generator family "nested" measures tables of each level and draws rows level by level.

    Attributes
    ----------
    column : the column of codes of the smallest areas, whose codelist has levels. Example: `column = "municipality"`.
    levels : the levels of that codelist that become columns, the largest areas first. Example: `levels = ["region"]`.
    """

    column: str = Field(min_length=1)
    levels: Annotated[list[str], checked(lambda levels: len(set(levels)) == len(levels), "different levels")] = Field(
        min_length=1, max_length=5
    )

    @property
    def chain(self) -> tuple[str, ...]:
        """The columns of areas, from the largest to the smallest."""
        return (*self.levels, self.column)


class MarksTable(SpecTable):
    """[marks]: columns of categories that say whether a row has a mark, in groups of marks that come together. Each group gets
    a column of the record with the number of marks in the row, which is released, and tables may be measured of it: it keeps
    how marks come together where each pair of them is in too few rows. The number is a function of the same row, so it costs
    nothing by itself, and released rows have just as many marks. A missing value is no mark.

    Attributes
    ----------
    groups : the columns of each group, by the name of the new column. Example: `groups = { heart = ["infarct", "failure",
        "stroke"], lung = ["asthma", "copd"] }`.
    most : the number that starts the last bin of each new column. Example: `most = 3`.
    yes : the categories of a column that are an indicator. The default is the category 1, yes, y, true or t, in small or
        capital letters. Example: `yes = { alive = ["no"], infarct = ["acute", "old"] }`.
    """

    groups: dict[str, list[str]] = Field(min_length=1, max_length=100)
    most: int = Field(default=3, ge=1, le=20)
    yes: dict[str, list[str]] = Field(default_factory=dict)

    @field_validator("groups")
    @classmethod
    def _names_and_columns(cls, groups: dict[str, list[str]]) -> dict[str, list[str]]:
        for name, columns in groups.items():
            if not name.isidentifier() or name in {"and", "or", "not", "in", "is", "missing", "count"}:
                raise Unexpected("names of columns made of letters, digits and underscores", repr(name))
            if not 2 <= len(set(columns)) == len(columns) <= 100:
                raise Unexpected("from 2 to 100 different columns in each group", f"{len(set(columns))} in {name!r}")
        return groups

    def marks_of(self, name: str, table: ColumnTable) -> tuple[str, ...]:
        """Return the categories of a column that are a mark; none where nobody can tell."""
        if name in self.yes:
            return tuple(self.yes[name])
        marks = tuple(label for label in labels_of(table) if label.lower() in YES)
        return marks if len(marks) == 1 else ()


def labels_of(table: ColumnTable) -> list[str]:
    """Return the released categories of a column that its table lists."""
    return list(table.codes.values()) if isinstance(table.codes, Mapping) else list(table.categories or ())


class IntendedQueryTable(QuestionTable):
    """[[intended_queries]]: a question that the release is meant to answer, as `synthrelease bound` asks it. The card says of
    each whether a criterion covers it, whether its error is bounded, or that nothing is stated.
    """
