"""Define the tables of options, such as [members], [calibration], [series] and [design]. Most releases do not use them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from synthrelease.data.linked import Linked, slot_name
from synthrelease.errors import Unexpected, UnexpectedValue
from synthrelease.privacy.cap import Cap
from synthrelease.privacy.plan import MOST_YEARS, Horizon
from synthrelease.settings.base import NO_NAME, Line, Reason, SpecTable, checked
from synthrelease.settings.columns import ColumnTable, RuleTable
from synthrelease.settings.questions import QuestionTable

MOST_MEMBERS = 50
Cells = dict[str, float | dict[str, float]]
PositiveFraction = Annotated[Fraction, Field(gt=0)]
SIMPLE = "simple random, without replacement"
"""The only sampling design for which the guarantee for a population is proved."""
YES = ("1", "yes", "y", "true", "t")
"""By default, these categories stand for an indicator, in small or capital letters."""


class PartitionTable(SpecTable):
    """[partition]: two random pieces of the rows, one for the generator and one for the criteria. Each record is in one piece,
    so the privacy loss of the record is only the cost of this piece. The released table has as many rows as the piece for the
    criteria, and the criterion values describe this piece. A piece differs from the whole file by chance, so thresholds must
    allow for this difference.

    Attributes
    ----------
    fit : the share of the rows for the generator. Example: `fit = 0.5`, `score = 0.5`.
    score : the share of the rows for the criteria; `fit` and `score` add up to 1. Example: `score = 0.5`, `fit = 0.5`.
    """

    fit: Fraction = Field(gt=0, lt=1)
    score: Fraction = Field(gt=0, lt=1)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.fit + self.score != 1:
            yield f"The shares fit and score must add up to 1. Their sum is {float(self.fit + self.score):g}"


class ScoutTable(SpecTable):
    """[scout]: the scout before this release, and the cap on the scout and the release together. `init --scout` writes this
    table. The ledger of the scout contains the same numbers, and the program refuses a release with other numbers.

    Attributes
    ----------
    epsilon : the cap that was fixed before the scout: the epsilon of the scout and the release together. Example: `epsilon =
        2`, `delta = 1e-9`, `rho = 0.003`, `document = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    delta : the delta of the scout and the release together, which is also [budget] delta; 0 for pure differential privacy.
        Example: `delta = 1e-9`, `epsilon = 2`, `rho = 0.003`, `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    rho : the cost of the scout in rho; 0 for a scout without a delta. Example: `rho = 0.003`, `epsilon = 2`, `delta = 1e-9`,
        `document = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    rare : an upper limit on the probability that the scout published a text that only one row contains. Example: `rare =
        1e-12`, `epsilon = 2`, `delta = 1e-9`, `rho = 0.003`, `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    tests : the epsilon reserved for the tests and criterion values of the release. With delta 0, it is reserved for the whole
        release. Example: `tests = 0.2`, `epsilon = 2`, `delta = 1e-9`, `rho = 0.003`, `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    document : the SHA-256 of scout.json in the scout's folder. Example: `document =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`, `epsilon = 2`, `delta = 1e-9`, `rho = 0.003`.
    folder : the folder of the scout. Before the charge, `release` compares scout.json in this folder with this table. Example:
        `folder = "../scout"`, `epsilon = 2`, `delta = 1e-9`, `rho = 0.003`, `document =
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
        """Return the cap. Raises Unexpected if the scout leaves no budget for the release."""
        return Cap(epsilon=self.epsilon, delta=self.delta, rho=self.rho, rare=self.rare, tests=self.tests)

    def contradictions(self) -> Iterator[str | Unexpected]:
        try:
            _ = self.cap
        except Unexpected as error:
            yield error


class SplitTable(SpecTable):
    """[split]: the piece of the register that this release reads. `synthrelease ledger split` divides the register by a secret
    key, once for all years. Each record is in exactly one piece. As long as a record keeps its number, its privacy loss is the
    cost of its own piece. The released statistics describe the piece.

    Attributes
    ----------
    by : the column of the private file with the record number. This number must be public, present in every row, and different
        for every row. The column must not be released. Example: `by = "certificate"`, `piece = 1`, `of = 2`.
    piece : the number of the piece that this release reads, from 1 to `of`. Example: `piece = 1`, `by = "certificate"`, `of =
        2`.
    of : the number of pieces of the register, as stated in the ledger. Example: `of = 2`, `by = "certificate"`, `piece = 1`.
    """

    by: Line = Field(min_length=1, max_length=200)
    piece: int = Field(ge=1)
    of: int = Field(ge=2, le=1000)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.piece > self.of:
            yield f"The piece must be a number from 1 to {self.of}. It is {self.piece}"


class MembersTable(SpecTable):
    """[members]: the members of each row of the private file, such as the persons of a household or the visits of a patient.
    The members are in a second file (`release --members FILE`), or in one file that repeats the columns of the root in each
    row. The guarantee protects a root together with all its members.

    Attributes
    ----------
    key : the column of both files that links a member to its root. The true keys are not released: the released files have new
        numbers under the name of the key. Example: `key = "household"`.
    missing_keys : texts in the column of the key that mean "no key", in addition to `missing_values` of [input]. A row without
        a key is excluded. Example: `missing_keys = ["0", "99999"]`.
    most : the largest number of members of a root that are released. Each further member adds columns to the record. Example:
        `most = 6`.
    least : the smallest number of members. A root with fewer members is excluded. Example: `least = 1`.
    more : the treatment of a root with more than `most` members. "first" releases the first members, in the order that `order`
        states. "drop" excludes the root with all its members. Example: `more = "drop"`.
    order : the columns of the members' file that order the members of a root. Numbers are ordered by size, dates by time, and
        other texts alphabetically. Rows without a value come last. Members that agree in these columns are ordered by their
        released values. The order of the rows in the file has no effect. If a column of `order` is released, its statistics
        describe only the first members of each root. Example: `order = ["number"]`.
    reference : a column of the members' file, and the text by which this column marks the first member of a root, such as the
        reference person of a household. Example: `reference = { relation = "reference person" }`.
    size : the name of the released column with the number of members. Example: `size = "persons"`.
    columns : the columns of a member, written like [columns.NAME]. Each of these columns has exactly one list of bins. In
        criteria and queries the column NAME of the first member is NAME_1, of the second member NAME_2, and so on. Example:
        `columns.age = { kind = "integer", bounds = [0, 99] }`.
    rules : plausibility rules for members, written like [[rules]]. A root is excluded if one of its members breaks a rule. A
        rule may name columns of the root, of the first member (first.NAME; the rule then checks all other members), and of
        another member (other.NAME; the rule then checks every two members). A rule may compare whole numbers (`age > first.age
        - 12`) and count members (`count(relation == 'spouse') > 1`, `count(age < 18) > children`). Example: `rules = [{ never =
        "relation == 'spouse' and other.relation == 'spouse'" }]`.
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
        """Return how the members of a root are arranged in the record of this root.

        Parameters
        ----------
        missing : the default treatment of missing values.
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
    """Return totals if they are valid. Otherwise raise Unexpected, with the same message for every invalid table of totals. The
    groups are checked later.
    """
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
    """Return whether a value can be a total: a finite number of at least 0."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value < math.inf


class MarginTable(SpecTable):
    """[[calibration.margins]]: published totals for all groups of one column, or for all combinations of groups of two columns.

    Attributes
    ----------
    columns : the one or two columns of the margin. Example: `columns = ["sex", "age"]`.
    totals : the total of each group, by its label. With two columns, each group of the first column has a table. A group is a
        category, a bin or a group of an alternative. It may also be a wider bin that consists of whole bins of every
        alternative. Every group needs a total. A text is the path of a CSV file, relative to this file, with the columns of the
        margin and a column "total". Example: `totals = { F = { "<18" = 900, ">=18" = 4200 }, M = { "<18" = 1000, ">=18" = 3900
        } }`, `columns = ["sex", "age"]`.
    """

    columns: tuple[str, ...] = Field(min_length=1, max_length=8)
    totals: Annotated[Cells | str, BeforeValidator(_totals)]


class CalibrationTable(SpecTable):
    """[calibration]: weights for the released rows, so that weighted counts equal published totals. The weights are computed
    from the accepted table and cost no epsilon.

    Attributes
    ----------
    source : the published source of the totals. Do not count totals in the private file: they would be published without a
        guarantee. Example: `source = "Population register, 1 January 2024, table 3"`.
    margins : the totals, one table for each margin. Margins that share columns must agree in the totals of these columns.
        Example: `margins = [{ columns = ["sex"], totals = { F = 5100, M = 4900 } }]`.
    start : the column with `role = "weight"` whose representative values are the initial weights. Without `start` all rows
        start with the same weight. Example: `start = "design_weight"`.
    cap : the largest weight, as a multiple of the mean weight. Example: `cap = 5`.
    floor : the smallest weight, as a multiple of the mean weight. Rows in a group with a total of 0 have the weight 0. Example:
        `floor = 0.2`.
    tolerance : the largest difference between a weighted count and its total, as a share of the total. The sums of two margins
        may also differ by this share; the program uses the sum of the first margin. Example: `tolerance = 0.0001`.
    collapse : the columns whose small groups the program may join with neighbouring groups. The program tries the columns in
        this order. Two groups are neighbours if their bins, or their totals, stand next to each other. Example: `collapse =
        ["age"]`.
    fewest_rows : the smallest number of released rows of a group. The program joins a smaller group with a neighbouring group,
        if `collapse` names the column. Example: `fewest_rows = 30`.
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
    """[series]: other releases of the same register, and a plan for several years. The card shows the cost of each release, and
    the total cost for a person who is in all of them. `verify --with` checks this total.

    Attributes
    ----------
    name : the name of the series. Example: `name = "Live births, yearly"`.
    earlier : the paths of the release.json files of all earlier releases about the same persons, relative to this file, the
        oldest first. Example: `earlier = ["../births-2022/release.json", "../births-2023/release.json"]`.
    years : the number of years in the plan. Each year has one release. Before the first release the plan states the total cost
        of all years for a person. `ledger years` writes the plan into the ledger, and every release of the series must use this
        ledger. Example: `years = 5`, `first = 2019`, `year = 2020`, `epsilon = [0.85, 0.5]`, `records = 1`, `name = "Live
        births, yearly"`.
    first : the first year. Example: `first = 2019`, `years = 5`, `year = 2020`, `epsilon = 0.5`, `name = "Births"`.
    year : the year of this release. Example: `year = 2020`, `years = 5`, `first = 2019`, `epsilon = 0.5`, `name = "Births"`.
    epsilon : the largest epsilon of a year's release for one record. Write one number for all years, or a list with a number
        for each year. If the list has fewer numbers than years, its last number is for all later years. Example: `epsilon =
        [0.85, 0.5]`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    delta : the largest delta of the release of a year. Example: `delta = 1e-9`, `epsilon = 0.5`, `years = 5`, `first = 2019`,
        `year = 2020`, `name = "Births"`.
    records : the largest number of records that one person has in the files of all years together. For example, write 1 if
        nobody can be in the files of two years, or 4 if a mother has at most four births. The default is the number in [unit]
        for every year. Example: `records = 4`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    fallbacks : the number of years in which a second release may follow a release that found no table. The stated cost includes
        these second releases, whether they take place or not. Example: `fallbacks = 1`, `fallback_epsilon = 0.85`, `epsilon =
        0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    fallback_epsilon : the largest epsilon of a second release for a record. Example: `fallback_epsilon = 0.85`, `fallbacks =
        1`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    again : true marks the second release of a year. Example: `again = true`, `fallbacks = 1`, `fallback_epsilon = 0.85`,
        `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    corrects : the path of release.json of the release that this erratum replaces. `card --bundle` writes an erratum, at no
        cost. A new release cannot be an erratum. Example: `corrects = "../births-2024/release.json"`, `reason = "A wrong
        unit."`, `name = "Live births, yearly"`.
    reason : the mistake that the erratum corrects. The setting is required with `corrects`, and not allowed without
        `corrects`. Example: `reason = "The unit of the weight was wrong."`, `corrects = "../births-2024/release.json"`, `name
        = "Live births, yearly"`.
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
        """Return the names of the settings that a plan over several years fixes before the first release; empty without a
        plan.
        """
        return frozenset(() if self.years is None else set(type(self).model_fields) - {"earlier", "corrects", "reason"})

    def horizon(self, records: int) -> Horizon:
        """Return the plan over several years. It assumes that a person has at most `records` records in the file of a year."""
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
        """Return whether the series has other releases, earlier or planned."""
        return bool(self.earlier) or self.years is not None

    def contradictions(self) -> Iterator[str | Unexpected]:
        if (self.corrects is None) != (not self.reason):
            yield "Set both corrects and reason, or neither"
        needed = {"first": self.first, "year": self.year, "epsilon": self.epsilon}
        if self.years is None:
            fields = [name for name, value in needed.items() if value is not None]
            fields += [name for name in ("delta", "records", "fallbacks", "fallback_epsilon", "again") if getattr(self, name)]
            if fields:
                yield f"The setting {fields[0]} is only for a plan over years, so the table also needs `years`"
            return
        if missing := [name for name, value in needed.items() if value is None]:
            yield f"A plan over years also needs `{missing[0]}`"
        last = (self.first or 0) + self.years - 1
        if not (self.first or 0) <= (self.year or 0) <= last:
            yield f"The year must be a year of the plan, {self.first} to {last}. It is {self.year}"
        if isinstance(self.epsilon, tuple) and len(self.epsilon) > self.years:
            yield f"The list epsilon has {len(self.epsilon)} numbers for {self.years} years"
        if (self.fallbacks > 0) != (self.fallback_epsilon is not None):
            yield "Set both fallbacks and fallback_epsilon, or neither"
        if self.fallbacks > self.years or (self.again and not self.fallbacks):
            limits = f"with `again`, there must be at least one, and there may be at most {self.years}, one for each year"
            yield f"The plan has {self.fallbacks} second releases (fallbacks): {limits}"

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """Return, for each year, the largest epsilon of its release."""
        epsilons = self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon or Fraction(0),)
        return (*epsilons, *epsilons[-1:] * ((self.years or 0) - len(epsilons)))


class PopulationTable(SpecTable):
    """[population]: the population from which the private file is a simple random sample. The plan, the card and release.json
    then state a second guarantee for each member of the population (theory 11.3, amplification by a subset). This guarantee
    assumes that nobody knows whether the file contains this person. The table does not lower any charge: the ledger charges
    the full epsilon.

    Attributes
    ----------
    size : the number of records in the population. Each record is in the file at most once. Example: `size = 2000000`, `sample
        = "simple random, without replacement"`, `source = "Population register, 1 January 2024"`.
    sample : the sampling design of the file. "simple random, without replacement" is the only design with a proof; strata,
        clusters, panels and unequal weights are refused. Example: `sample = "simple random, without replacement"`, `size =
        2000000`, `source = "Population register, 1 January 2024"`.
    source : the published source of the number of records. Example: `source = "Population register, 1 January 2024"`, `size =
        2000000`, `sample = "simple random, without replacement"`.
    """

    size: int = Field(ge=1, le=10**12)
    sample: Annotated[Line, checked(SIMPLE.__eq__, f"{SIMPLE!r} (the guarantee is proved only for this design)")]
    source: Line = Field(min_length=1, max_length=500)


def _effect(value: Any) -> Any:
    """Return a design effect if it is valid: a number from 1 to 1,000, or a table of such numbers. Otherwise raise Unexpected,
    with the same message for every other value.
    """
    numbers = list(value.values()) if isinstance(value, Mapping) else [value]
    if value is not None and not (numbers and all(is_total(number) and 1 <= number <= 1000 for number in numbers)):
        raise Unexpected("a number from 1 to 1,000, or a table with such a number for some columns", repr(value))
    return value


class DesignTable(SpecTable):
    """[design]: the survey design of the private file: weights, strata and clusters. Intervals for a population use this table.
    Without this table, the intervals treat the file as a simple random sample, unless another setting forbids this. The table
    [design] changes no released row and no charge.

    Attributes
    ----------
    weight : the column with `role = "weight"`. With this setting, `estimate` answers weighted questions. Example: `weight =
        "design_weight"`.
    weight_column : true adds a column "weight" to the released rows, at no cost. This column contains the representative value
        of the bin in which the row's weight lies. The setting is not allowed with [calibration], which adds its own weights.
        Example: `weight_column = true`, `weight = "design_weight"`.
    strata : the columns of the private file that name the stratum of a row. Example: `strata = ["region"]`.
    clusters : the column of the private file that names the primary sampling unit (PSU) of a row, such as a census tract or a
        school. No released column except the column of `groups` may be made from this column. Without `effect` and `groups`,
        answers have no interval for a population. Example: `clusters = "tract"`.
    groups : the column with `role = "cluster_group"`: random groups of clusters, at least 5. An interval for a share, a mean or
        a median in the population needs a noisy table of this column together with the columns of the question. Example:
        `clusters = "tract"`, `groups = "tract_group"`.
    effect : published design effects. A design effect is the variance of an estimate, with all effects of weights, strata and
        clusters, divided by its variance in a simple random sample of the same size. A design effect is at least 1. Give one
        number for all columns, or one for each column whose share, mean or median is estimated. Example: `effect = 1.8`,
        `source = "Survey report, table B.1"`.
    source : the published source of the design effects. The setting is required with `effect`, and not allowed without
        `effect`. A design effect that was computed from the private file is not allowed: it would be published without a
        guarantee. Example: `source = "Survey report, table B.1"`, `effect = 1.8`.
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
    """[imputation]: complete copies of the released rows, in which missing values are filled. The copies are made from the
    accepted table and cost no epsilon.

    Attributes
    ----------
    copies : the number of complete copies. Differences between copies show the uncertainty of the filled values. Example:
        `copies = 10`.
    donors : the smallest number of donor rows for a missing value. Donors are released rows that agree in the columns of
        `match`. If there are too few donors, the program ignores the last columns of `match`. The missing value is filled with
        the value of a donor that is drawn at random. Example: `donors = 20`.
    match : the columns in which donors must agree, the most important first. The default is all columns in their order.
        Example: `match = ["age", "sex"]`.
    """

    copies: int = Field(default=5, ge=1, le=100)
    donors: int = Field(default=10, ge=1)
    match: tuple[str, ...] | None = None


class PluginTable(SpecTable):
    """[[plugins]]: another package whose criteria and generators the two files may name as "PACKAGE:NAME". The program loads
    the package only if its installed version and the digest of its files are as stated in this table. `synthrelease plugin
    PACKAGE` prints the table.

    Attributes
    ----------
    package : the installed package. Example: `package = "copula-example"`.
    version : the required version. Example: `version = "0.1.0"`.
    sha256 : the digest of all installed files of the package. Example: `sha256 =
        "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462"`.
    trust : true allows a release to run the package on the private file. The command must name the package, too (`--trust
        PACKAGE`). Example: `trust = true`.
    """

    package: str = Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=100)
    version: Line = Field(min_length=1, max_length=100)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    trust: bool = False


class GeographyTable(SpecTable):
    """[geography]: areas that lie within one another. The smallest areas have a codelist with levels. Each level named here
    becomes a released column, computed from the code of the smallest area. A rule ensures that in every released row the larger
    areas agree with this code. The generator family "nested" measures tables of each level and draws rows level by level.

    Attributes
    ----------
    column : the column of codes of the smallest areas, whose codelist has levels. Example: `column = "municipality"`.
    levels : the levels of the codelist that become columns, from the largest areas to the smallest. Example: `levels =
        ["region"]`.
    """

    column: str = Field(min_length=1)
    levels: Annotated[list[str], checked(lambda levels: len(set(levels)) == len(levels), "different levels")] = Field(
        min_length=1, max_length=5
    )

    @property
    def chain(self) -> tuple[str, ...]:
        """Return the columns of areas, from the largest areas to the smallest."""
        return (*self.levels, self.column)


class MarksTable(SpecTable):
    """[marks]: groups of indicators, such as rare diagnoses. Each group gets a released column of categories that say which
    indicators apply to the row, such as "infarct + stroke". One noisy table of this column measures all pairs of indicators of
    the group. This helps if indicators occur together too seldom for a separate table of each pair. Each value of the column
    depends on its own row alone, so the column costs no epsilon. Every released row has exactly the indicators that this column
    names. A missing value is treated as an indicator that does not apply.

    Attributes
    ----------
    groups : the name of each new column, with its 2 to 16 columns of indicators. Example: `groups = { heart = ["infarct",
        "failure", "stroke"], lung = ["asthma", "copd"] }`.
    most : all rows with at least this number of indicators share one category. Example: `most = 3`.
    yes : for a column, the categories that mean that the indicator applies. By default these are the categories 1, yes, y, true
        and t, in small or capital letters. Example: `yes = { alive = ["no"], infarct = ["acute", "old"] }`.
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
        """Return the categories of a column that mean that its indicator applies; empty if they are unknown."""
        if name in self.yes:
            return tuple(self.yes[name])
        marks = tuple(label for label in labels_of(table) if label.lower() in YES)
        return marks if len(marks) == 1 else ()


def labels_of(table: ColumnTable) -> list[str]:
    """Return the released categories that the table of a column lists."""
    return list(table.codes.values()) if isinstance(table.codes, Mapping) else list(table.categories or ())


class IntendedQueryTable(QuestionTable):
    """[[intended_queries]]: a question that the release is meant to answer. For each question, the card says whether a
    criterion covers the question, whether the error of the answer is bounded, or whether nothing is stated.
    """
