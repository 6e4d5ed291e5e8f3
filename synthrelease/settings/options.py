"""Define the optional tables of the configuration, such as [members], [calibration], [series] and [design]."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from synthrelease.data.linked import Linked, slot_name
from synthrelease.errors import Unexpected, UnexpectedValue, so_many
from synthrelease.privacy.cap import Cap
from synthrelease.privacy.plan import MOST_YEARS, Horizon
from synthrelease.settings.base import NO_NAME, Line, Reason, SpecTable, checked
from synthrelease.settings.columns import ColumnTable, RuleTable
from synthrelease.settings.questions import QuestionTable

MOST_MEMBERS = 50
Cells = dict[str, float | dict[str, float]]
PositiveFraction = Annotated[Fraction, Field(gt=0)]
SIMPLE = "simple random, without replacement"
"""The only sampling design for which there is a proof of the guarantee for a population."""
YES = ("1", "yes", "y", "true", "t")
"""The categories that by default mean that an indicator applies. Upper and lower case are treated alike."""


class PartitionTable(SpecTable):
    """[partition]: divides the rows at random into one piece for the generator and one piece for the criteria. Each record is
    in only one piece. The privacy loss of the record is therefore only the cost of this piece. The released table has as many
    rows as the piece for the criteria, and the criterion values describe this piece. Each piece differs from the whole file by
    chance, so the thresholds must allow for this difference.

    Attributes
    ----------
    fit : the share of the rows that the generator uses. Example: `fit = 0.5`, `score = 0.5`.
    score : the share of the rows that the criteria use. `fit` and `score` must add up to 1. Example: `score = 0.5`, `fit =
        0.5`.
    """

    fit: Fraction = Field(gt=0, lt=1)
    score: Fraction = Field(gt=0, lt=1)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.fit + self.score != 1:
            yield f"The shares fit and score must add up to 1. Their sum is {float(self.fit + self.score):g}"


class ScoutTable(SpecTable):
    """[scout]: the cost of the scout that preceded this release, and the cap on the scout and the release together. A scout
    publishes noisy tables of single columns, from which `init --scout` drafts a configuration. `init --scout` also writes this
    table. The ledger contains the same numbers, and the program refuses a release with other numbers.

    Attributes
    ----------
    epsilon : the cap on the epsilon of the scout and the release together. It was fixed before the scout. Example: `epsilon =
        2`, `delta = 1e-9`, `rho = 0.003`, `document = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    delta : the delta of the scout and the release together. It must equal the setting `delta` of [budget]. It is 0 for pure
        differential privacy. Example: `delta = 1e-9`, `epsilon = 2`, `rho = 0.003`, `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    rho : the cost of the scout, as a rho. It is 0 for a scout without a delta. Example: `rho = 0.003`, `epsilon = 2`, `delta =
        1e-9`, `document = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    rare : an upper bound on the probability that the scout published a text that occurs in only one row. Example: `rare =
        1e-12`, `epsilon = 2`, `delta = 1e-9`, `rho = 0.003`, `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    tests : the epsilon that is reserved for the tests and the criterion values of the release. If `delta` is 0, this epsilon is
        for the whole release. Example: `tests = 0.2`, `epsilon = 2`, `delta = 1e-9`, `rho = 0.003`, `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    document : the SHA-256 checksum of the file scout.json in the folder of the scout. Example: `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`, `epsilon = 2`, `delta = 1e-9`, `rho = 0.003`.
    folder : the path of the folder of the scout. Before `release` charges any budget, it compares the file scout.json in this
        folder with this table. Example: `folder = "../scout"`, `epsilon = 2`, `delta = 1e-9`, `rho = 0.003`, `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    """

    epsilon: PositiveFraction
    delta: Annotated[Fraction, Field(ge=0)]
    rho: Annotated[Fraction, Field(ge=0)]
    rare: Annotated[Fraction, Field(ge=0)] = Fraction(0)
    tests: Annotated[Fraction, Field(ge=0)] = Fraction(0)
    document: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    folder: Annotated[str, Field(min_length=1)] | None = None

    @property
    def cap(self) -> Cap:
        """Return the cap on scout and release. Raises Unexpected if the scout leaves no budget for the release."""
        return Cap(epsilon=self.epsilon, delta=self.delta, rho=self.rho, rare=self.rare, tests=self.tests)

    def contradictions(self) -> Iterator[str | Unexpected]:
        try:
            _ = self.cap
        except Unexpected as error:
            yield error


class SplitTable(SpecTable):
    """[split]: selects the piece of a divided register that this release uses. The command `synthrelease ledger split` divides
    the register with a secret key, once for all years. Each record is in exactly one piece. As long as the number of a record
    does not change, the privacy loss of the record is the cost of its own piece. The released statistics describe only this
    piece.

    Attributes
    ----------
    by : the column of the private file that contains the record number. These numbers must be public, and every row must have a
        different number. The column must not be released. Example: `by = "certificate"`, `piece = 1`, `of = 2`.
    piece : the number of the piece that this release uses, from 1 to `of`. Example: `piece = 1`, `by = "certificate"`, `of =
        2`.
    of : the number of pieces into which the register is divided, as stated in the ledger. Example: `of = 2`, `by =
        "certificate"`, `piece = 1`.
    """

    by: Line = Field(min_length=1, max_length=200)
    piece: int = Field(ge=1)
    of: int = Field(ge=2, le=1000)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.piece > self.of:
            yield f"The piece must be a number from 1 to {self.of}. It is {self.piece}"


class MembersTable(SpecTable):
    """[members]: a second table with the members of each row of the private file, such as the persons of a household or the
    visits of a patient. A row of the first table is called a root. The members are in a second file (`release --members FILE`),
    or in the same file, which then repeats the columns of the root in each row. The guarantee protects a root together with all
    its members.

    Attributes
    ----------
    key : the column that links members to their root. Both files must contain it. The original keys are not released. In the
        released files, this column contains new numbers. Example: `key = "household"`.
    missing_keys : texts in the key column that mean "no key", in addition to `missing_values` in [input]. Rows without a key
        are excluded. Example: `missing_keys = ["0", "99999"]`.
    most : the maximum number of members of a root that are released. Each additional member adds columns to the record.
        Example: `most = 6`.
    least : the minimum number of members of a root. Roots with fewer members are excluded. Example: `least = 1`.
    more : how the program treats roots with more than `most` members. "first" uses the first members, in the order that `order`
        defines. "drop" excludes the root and all its members. Example: `more = "drop"`.
    order : the columns by which the members of a root are sorted. Numbers are sorted by size, dates by time, and other texts
        alphabetically. Rows without a value come last. Members with equal values in these columns are sorted by their released
        values. The order of the rows in the file has no effect. If a column of `order` is released, its statistics describe
        only the first members of each root. Example: `order = ["number"]`.
    reference : a column of the members' file, and the text that identifies the first member of a root in this column. The first
        member is for example the reference person of a household. Example: `reference = { relation = "reference person" }`.
    size : the name of the released column that contains the number of members. Example: `size = "persons"`.
    columns : the columns of the members, written in the same way as [columns.NAME]. Each of these columns must have exactly one
        list of bins. In criteria and queries, NAME_1 is the column NAME of the first member, NAME_2 is the column of the second
        member, and so on. Example: `columns.age = { kind = "integer", bounds = [0, 99] }`.
    rules : plausibility rules for members, written in the same way as [[rules]]. A root is excluded if one of its members
        breaks a rule. A rule may also name columns of the root. `first.NAME` is the column NAME of the first member; a rule
        with this name applies to all other members. `other.NAME` is the column NAME of another member; a rule with this name
        applies to every pair of members. A rule may compare whole numbers (`age > first.age - 12`) and count members
        (`count(relation == 'spouse') > 1`, `count(age < 18) > children`). Example: `rules = [{ never = "relation == 'spouse'
        and other.relation == 'spouse'" }]`.
    """

    key: str = Field(min_length=1)
    missing_keys: tuple[str, ...] = Field(default=(), max_length=100)
    most: int = Field(ge=1, le=MOST_MEMBERS)
    least: int = Field(default=0, ge=0, le=MOST_MEMBERS)
    more: Literal["first", "drop"] = "first"
    order: list[str] = Field(default=[], max_length=20)
    reference: dict[str, str] = Field(default_factory=dict, max_length=1)
    size: Annotated[str, checked(str.isidentifier, "a column name made of letters, digits and underscores")] = "members"
    columns: dict[str, ColumnTable] = Field(min_length=1, max_length=100)
    rules: list[RuleTable] = Field(default=[], max_length=50)

    def members_with(self, missing: str) -> Linked:
        """Return how one record contains a root and the columns of its members, such as age_1 and age_2.

        Parameters
        ----------
        missing : the setting `missing` of [input], the default for columns.
        """
        return Linked(
            key=self.key,
            missing_keys=self.missing_keys,
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
    """Return the totals; raise Unexpected for invalid numbers. The names of the groups are checked later."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or not value:
        raise UnexpectedValue("the name of a CSV file, or a table of groups with their totals")
    for label, inner in value.items():
        for text, number in inner.items() if isinstance(inner, Mapping) else [(label, inner)]:
            if not is_total(number):
                raise Unexpected(f"The total for {text!r} must be a finite number of at least 0")
    return value


def is_total(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value < math.inf


class MarginTable(SpecTable):
    """[[calibration.margins]]: published totals for the groups of one column, or for all combinations of the groups of several
    columns.

    Attributes
    ----------
    columns : the columns of the margin. With three or more columns, `totals` must name a CSV file. Example: `columns = ["sex",
        "age"]`.
    totals : a table that assigns a total to the label of each group. With two columns, write such a table for each group of the
        first column. A group is a category, a bin, or a group of an alternative. It may also be a wider bin that consists of
        whole bins of every alternative. Every group needs a total. If you write a text, it is the path of a CSV file, relative
        to this file. The CSV file must have the columns of the margin and a column "total". Example: `totals = { F = { "<18" =
        900, ">=18" = 4200 }, M = { "<18" = 1000, ">=18" = 3900 } }`, `columns = ["sex", "age"]`.
    """

    columns: tuple[str, ...] = Field(min_length=1, max_length=8)
    totals: Annotated[Cells | str, BeforeValidator(_totals)]


class CalibrationTable(SpecTable):
    """[calibration]: adds weights to the released rows, so that weighted counts equal published totals. The program computes
    the weights from the accepted table, at no cost in epsilon.

    Attributes
    ----------
    source : the publication from which the totals come. Do not use totals that were counted in the private file, because they
        would be published without a guarantee. Example: `source = "Population register, 1 January 2024, table 3"`.
    margins : the published totals, with one table for each margin. If two margins share a column, the totals of this column
        must be the same in both. Example: `margins = [{ columns = ["sex"], totals = { F = 5100, M = 4900 } }]`.
    start : the column with `role = "weight"` whose representative values are the initial weights. By default, all rows have the
        same initial weight. Example: `start = "design_weight"`.
    cap : the largest allowed weight, as a multiple of the mean weight. Example: `cap = 5`.
    floor : the smallest allowed weight, as a multiple of the mean weight. Rows in a group with a total of 0 always get the
        weight 0. Example: `floor = 0.2`.
    tolerance : the largest allowed difference between a weighted count and its total, as a share of the total. The sums of
        different margins may also differ by this share. In this case, the program uses the sum of the first margin. Example:
        `tolerance = 0.0001`.
    collapse : the columns in which the program may merge small groups with neighbouring groups. It tries the columns in this
        order. Groups are neighbours if their bins are adjacent, or if their totals are listed next to each other. Example:
        `collapse = ["age"]`.
    fewest_rows : the number of released rows that a group should have at least. If `collapse` names the column, the program
        merges smaller groups with neighbouring groups. Example: `fewest_rows = 30`.
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
    """[series]: earlier releases of the same register, and a plan for several years. The card shows the cost of each release,
    and the total cost for a person whose records are in all of them. `verify --with` checks this total.

    Attributes
    ----------
    name : the name of the series. Example: `name = "Live births, yearly"`.
    earlier : the paths of the files release.json of all earlier releases about the same persons, starting with the oldest. The
        paths are relative to this file. Example: `earlier = ["../births-2022/release.json", "../births-2023/release.json"]`.
    years : the number of years in the plan. There is one release each year. The plan states, before the first release, the
        total cost of all years for a person. `ledger years` writes the plan into the ledger, and all releases of the series
        must use this ledger. Example: `years = 5`, `first = 2019`, `year = 2020`, `epsilon = [0.85, 0.5]`, `records = 1`, `name
        = "Live births, yearly"`.
    first : the first year of the plan. Example: `first = 2019`, `years = 5`, `year = 2020`, `epsilon = 0.5`, `name = "Births"`.
    year : the year of this release. Example: `year = 2020`, `years = 5`, `first = 2019`, `epsilon = 0.5`, `name = "Births"`.
    epsilon : the largest epsilon of each year's release, for one record. Write one number for all years, or a list with a
        number for each year. If the list is shorter than the number of years, its last number is used for all remaining years.
        Example: `epsilon = [0.85, 0.5]`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    delta : the largest delta of each year's release. Example: `delta = 1e-9`, `epsilon = 0.5`, `years = 5`, `first = 2019`,
        `year = 2020`, `name = "Births"`.
    records : the maximum number of records that one person has in the files of all years together. For example, write 1 if
        nobody can be in the files of two years, or 4 if a mother has at most four births. By default, the program assumes that
        a person has `records_per_person` records (see [unit]) in every year. Example: `records = 4`, `epsilon = 0.5`, `years =
        5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    fallbacks : the maximum number of years with a second release. A second release is allowed if the first release of the year
        found no acceptable table. The stated cost always includes these second releases, even if they do not take place.
        Example: `fallbacks = 1`, `fallback_epsilon = 0.85`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name
        = "Births"`.
    fallback_epsilon : the largest epsilon of each second release, for one record. Example: `fallback_epsilon = 0.85`,
        `fallbacks = 1`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    again : true if this release is the second release of its year. Example: `again = true`, `fallbacks = 1`, `fallback_epsilon
        = 0.85`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    corrects : the path of the file release.json of an earlier release that this release corrects. This makes the release an
        erratum. `card --bundle` writes an erratum, at no cost. A new release cannot be an erratum. Example: `corrects =
        "../births-2024/release.json"`, `reason = "A wrong unit."`, `name = "Live births, yearly"`.
    reason : the mistake that the erratum corrects. You must set either both `corrects` and `reason`, or neither. Example:
        `reason = "The unit of the weight was wrong."`, `corrects = "../births-2024/release.json"`, `name = "Live births,
        yearly"`.
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
        """Return the settings of [series] that a plan over several years fixes before a release, none without a plan."""
        return frozenset(() if self.years is None else set(type(self).model_fields) - {"earlier", "corrects", "reason"})

    def horizon(self, records: int) -> Horizon:
        """Return the plan for several years. `records` is the maximum number of records of a person in the file of one year."""
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
        return bool(self.earlier) or self.years is not None

    def contradictions(self) -> Iterator[str | Unexpected]:
        if (self.corrects is None) != (not self.reason):
            yield "Set both corrects and reason, or neither"
        needed = {"first": self.first, "year": self.year, "epsilon": self.epsilon}
        if self.years is None:
            fields = [name for name, value in needed.items() if value is not None]
            fields += [name for name in ("delta", "records", "fallbacks", "fallback_epsilon", "again") if getattr(self, name)]
            if fields:
                yield f"The setting {fields[0]} is only for a multi-year plan, so the table also needs `years`"
            return
        if missing := [name for name, value in needed.items() if value is None]:
            yield f"A multi-year plan also needs `{missing[0]}`"
        last = (self.first or 0) + self.years - 1
        if not (self.first or 0) <= (self.year or 0) <= last:
            yield f"The year must be a year of the plan, {self.first} to {last}. It is {self.year}"
        if isinstance(self.epsilon, tuple) and len(self.epsilon) > self.years:
            yield f"The list epsilon has {len(self.epsilon)} numbers for {so_many(self.years, 'year')}"
        if (self.fallbacks > 0) != (self.fallback_epsilon is not None):
            yield "Set both fallbacks and fallback_epsilon, or neither"
        if self.fallbacks > self.years:
            yield f"`fallbacks` must be at most {self.years}, one second release for each year. It is {self.fallbacks}"
        if self.again and not self.fallbacks:
            yield "With `again`, the plan needs at least one second release, so `fallbacks` must be at least 1"

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        epsilons = self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon or Fraction(0),)
        return (*epsilons, *epsilons[-1:] * ((self.years or 0) - len(epsilons)))


class PopulationTable(SpecTable):
    """[population]: describes the population from which the private file is a simple random sample. The plan, the card and
    release.json then state an additional guarantee for each member of the population (theory 11.3, amplification by a subset).
    This guarantee assumes that nobody knows whether the file contains this person. The setting does not lower any charge. The
    ledger still charges the full epsilon.

    Attributes
    ----------
    size : the number of records in the population. Each of them is in the file at most once. Example: `size = 2000000`, `sample
        = "simple random, without replacement"`, `source = "Population register, 1 January 2024"`.
    sample : the sampling design of the file. Only "simple random, without replacement" is allowed, because the guarantee is
        proved only for this design. It is not valid for strata, clusters, panels or unequal weights. Example: `sample = "simple
        random, without replacement"`, `size = 2000000`, `source = "Population register, 1 January 2024"`.
    source : the publication from which the number in `size` comes. Example: `source = "Population register, 1 January 2024"`,
        `size = 2000000`, `sample = "simple random, without replacement"`.
    """

    size: int = Field(ge=1, le=10**12)
    sample: Annotated[Line, checked(SIMPLE.__eq__, f"{SIMPLE!r} (the guarantee is proved only for this design)")]
    source: Line = Field(min_length=1, max_length=500)


def _effect(value: Any) -> Any:
    """Return the setting `effect`; raise UnexpectedValue unless it is a number from 1 to 1,000 or a table of such numbers."""
    numbers = list(value.values()) if isinstance(value, Mapping) else [value]
    if value is not None and not (numbers and all(is_total(number) and 1 <= number <= 1000 for number in numbers)):
        raise UnexpectedValue("a number from 1 to 1,000, or a table with such a number for some columns")
    return value


class DesignTable(SpecTable):
    """[design]: describes the survey design of the private file, with its weights, strata and clusters. The program uses this
    information to compute intervals for a population. Without [design], it treats the file as a simple random sample, unless
    another setting forbids this. [design] changes neither the values of the released rows nor any charge.

    Attributes
    ----------
    weight : the column with `role = "weight"`. If you set it, `estimate` can answer weighted questions. Example: `weight =
        "design_weight"`.
    weight_column : true adds a column "weight" to the released rows, at no cost. For each row, this column contains the
        representative value of the bin of its weight. You cannot use this setting together with [calibration], which adds its
        own weights. Example: `weight_column = true`, `weight = "design_weight"`.
    strata : the columns of the private file that identify the stratum of a row. Example: `strata = ["region"]`.
    clusters : the column of the private file that identifies the primary sampling unit (PSU) of a row, such as a census tract
        or a school. Only the column in `groups` may be derived from this column; no other released column may use it. If you
        set neither `effect` nor `groups`, answers have no interval for a population. Example: `clusters = "tract"`.
    groups : the column with `role = "cluster_group"`, which contains 5 to 100 random groups of clusters. To give an interval
        for a share, a mean or a median in the population, the release must measure a noisy table of this column together with
        the columns of the question. Example: `clusters = "tract"`, `groups = "tract_group"`.
    effect : published design effects of at least 1. A design effect is the variance of an estimate under the survey design,
        including weights, strata and clusters, divided by its variance in a simple random sample of the same size. Write one
        number for all columns, or a table with a number for each column whose share, mean or median is estimated. Example:
        `effect = 1.8`, `source = "Survey report, table B.1"`.
    source : the publication from which the design effects come. You must set either both `effect` and `source`, or neither. Do
        not use a design effect that was computed from the private file, because it would be published without a guarantee.
        Example: `source = "Survey report, table B.1"`, `effect = 1.8`.
    """

    weight: str | None = None
    weight_column: bool = False
    strata: list[str] = Field(default=[], max_length=20)
    clusters: str | None = None
    groups: str | None = None
    effect: Annotated[float | dict[str, float] | None, BeforeValidator(_effect)] = None
    source: Annotated[Line, Field(max_length=500)] = ""

    def contradictions(self) -> Iterator[str | Unexpected]:
        if (self.effect is None) != (not self.source):
            yield "Set both effect and source, or neither"


class ImputationTable(SpecTable):
    """[imputation]: adds complete copies of the released rows, in which missing values are imputed. The program makes the
    copies from the accepted table, at no cost in epsilon.

    Attributes
    ----------
    copies : the number of complete copies. The differences between the copies show the uncertainty of the imputed values.
        Example: `copies = 10`.
    donors : the minimum number of donors for a missing value. Donors are released rows with equal values in the columns of
        `match`. If there are too few donors, the program ignores the last columns of `match`. The program then draws one donor
        at random and uses its value. Example: `donors = 20`.
    match : the columns in which a donor must have the same values as the incomplete row. List the most important column first.
        The default is all columns in their order. Example: `match = ["age", "sex"]`.
    """

    copies: int = Field(default=5, ge=1, le=100)
    donors: int = Field(default=10, ge=1)
    match: tuple[str, ...] | None = None


class PluginTable(SpecTable):
    """[[plugins]]: another package that provides criteria or generators. In the configuration and the acceptance file, their
    names are written as "PACKAGE:NAME". The program loads the package only if its installed version and the checksum of its
    files match this table. The command `synthrelease plugin PACKAGE` prints the table.

    Attributes
    ----------
    package : the name of the installed package. Example: `package = "copula-example"`.
    version : the required version of the package. Example: `version = "0.1.0"`.
    sha256 : the SHA-256 checksum of all installed files of the package. Example: `sha256 =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    trust : true allows a release to run the package on the private file. The command line must also name the package (`--trust
        PACKAGE`). Example: `trust = true`.
    """

    package: str = Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=100)
    version: Line = Field(min_length=1, max_length=100)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    trust: bool = False


class GeographyTable(SpecTable):
    """[geography]: nested areas, such as municipalities within regions. The column of the smallest areas must have a codelist
    with levels, which assign each area to a larger area. Each level that you name here becomes a released column, which the
    program computes from the code of the smallest area. Rules ensure that the larger areas contain the smallest area in every
    released row. The generator family "nested" measures tables for each level, and assigns the rows to areas level by level.

    Attributes
    ----------
    column : the column with the codes of the smallest areas. Its codelist must have levels. Example: `column = "municipality"`.
    levels : the levels of the codelist that become released columns, from the largest areas to the smallest. Example: `levels =
        ["region"]`.
    """

    column: str = Field(min_length=1)
    levels: Annotated[list[str], checked(lambda levels: len(set(levels)) == len(levels), "different levels")] = Field(
        min_length=1, max_length=5
    )

    @property
    def chain(self) -> tuple[str, ...]:
        """Return the columns of areas, the largest areas first."""
        return (*self.levels, self.column)


class MarksTable(SpecTable):
    """[marks]: groups of indicators, such as rare diagnoses. For each group, the program adds a released column that lists the
    indicators that apply to a row, such as "infarct + stroke". One noisy table of this column measures all pairs of indicators
    of the group. This helps if two indicators occur together so rarely that separate tables for each pair would be mostly
    noise. The added column costs no epsilon, because each of its values depends only on the same row. In every released row,
    exactly the indicators that this column lists apply. A missing value counts as an indicator that does not apply.

    Attributes
    ----------
    groups : for each new column, its name and a list of 2 to 16 columns of indicators. Example: `groups = { heart = ["infarct",
        "failure", "stroke"], lung = ["asthma", "copd"] }`.
    most : the number of indicators from which rows are combined. All rows with at least this number of indicators get the same
        category, such as "3 or more". Example: `most = 3`.
    yes : for a column of an indicator, the categories that mean that the indicator applies. By default, these are the
        categories 1, yes, y, true and t, in upper or lower case. Example: `yes = { alive = ["no"], infarct = ["acute", "old"]
        }`.
    """

    groups: dict[str, list[str]] = Field(min_length=1, max_length=100)
    most: int = Field(default=3, ge=1, le=20)
    yes: dict[str, list[str]] = Field(default_factory=dict)

    @field_validator("groups")
    @classmethod
    def _names_and_columns(cls, groups: dict[str, list[str]]) -> dict[str, list[str]]:
        for name, columns in groups.items():
            if not name.isidentifier() or name in {"and", "or", "not", "in", "is", "missing", "count"}:
                raise Unexpected(NO_NAME.format(name))
            if not 2 <= len(set(columns)) == len(columns) <= 16:  # 16 columns have 2^16 sets, and a table lists all sets
                raise Unexpected(f"The group {name!r} must have from 2 to 16 different columns")
        return groups

    def marks_of(self, name: str, table: ColumnTable) -> tuple[str, ...]:
        """Return the categories of a column that mean that its indicator applies, such as "yes"; none if unknown."""
        if name in self.yes:
            return tuple(self.yes[name])
        marks = tuple(label for label in labels_of(table) if label.lower() in YES)
        return marks if len(marks) == 1 else ()


def labels_of(table: ColumnTable) -> list[str]:
    return list(table.codes.values()) if isinstance(table.codes, Mapping) else list(table.categories or ())


class IntendedQueryTable(QuestionTable):
    """[[intended_queries]]: a question that users should be able to answer from the release. For each question, the card says
    whether a criterion covers it, whether there is a bound on the error of the answer, or whether the error is unknown."""
