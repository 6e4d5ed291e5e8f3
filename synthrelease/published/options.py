"""Define the sections of release.json about options, and functions with which `verify` checks these sections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.data.counts import Counts
from synthrelease.data.donors import Gaps
from synthrelease.data.linked import Linked, slot_name
from synthrelease.data.weights import Calibration, Margin, NotCalibrated, Weights, raked
from synthrelease.privacy.cap import Cap
from synthrelease.privacy.charges import Way
from synthrelease.privacy.plan import Loss
from synthrelease.privacy.subsets import MOST_PIECES, PartitionRule
from synthrelease.published.base import ExactText, Fact, Number, Part, number
from synthrelease.published.columns import ColumnPart
from synthrelease.published.measurements import IntendedEstimatePart
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.options import DesignTable, ScoutTable
from synthrelease.settings.tables import BundleTable

if TYPE_CHECKING:
    from synthrelease.privacy.plan import Horizon, YearOfSeries

AtLeastOne = Annotated[int, Field(ge=1)]
Positive = Annotated[Number, Field(gt=0)]
NotNegative = Annotated[Number, Field(ge=0)]
MOST_YEARS = 100
"""Equal to `privacy.plan.MOST_YEARS`, repeated so that readers need not load that module."""
IMPUTED = "imputed.csv"
"""Name of the file with the complete copies, unless [bundle] asks for other names."""
HEAD = (".imp", ".id", ".imputed")
"""The first columns of imputed.csv: the number of the copy, the row of the table, and the columns that were filled in."""


class PartitionPart(Part):
    """The random division of the used rows into two pieces: one for the generator, one for the criteria. It ignores the
    values of rows.

    Attributes
    ----------
    fit_exact : the share of the rows in the first piece, as an exact fraction.
    rows, fit_rows, score_rows : the number of used rows, and the number of rows in each piece. The released table has
        `score_rows` rows.
    """

    fit_exact: ExactText
    rows: Annotated[int, Field(ge=2)]
    fit_rows: Annotated[int, Field(ge=1)]
    score_rows: Annotated[int, Field(ge=1)]

    @classmethod
    def of(cls, rule: PartitionRule, rows: int) -> PartitionPart:
        fit, score = rule.sizes(rows)
        return cls(fit_exact=str(rule.fit), rows=rows, fit_rows=fit, score_rows=score)

    @property
    def rule(self) -> PartitionRule:
        return PartitionRule(fit=Fraction(self.fit_exact))

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """Return the path of this section, if the number of rows, and so the sizes of the pieces, are published exactly."""
        sources: dict[Way, tuple[Fact, ...]] = {
            "exact": (("private_file", "partition"),),
            "whole": (("private_file", "partition"),),
            "stated": (("specification", "partition"),),
        }
        return sources.get(way, ())

    def sampling_error(self, share: float = 0.5) -> float:
        """Return the standard deviation of a share in the second piece, which is a random subset of the rows.

        `share` is the same share among all rows (theory 11.11, counts of random pieces).
        """
        return _error_of_a_subset(self.score_rows, self.rows, share)


class SplitPart(Part):
    """The piece of a split register from which the release was made. Criterion values, noise and table describe only this
    piece.

    Attributes
    ----------
    by : the column of the file that contains the public record numbers.
    piece, of : the number of the piece (from 1), and the number of pieces. A secret key determines the record numbers in
        this piece.
    """

    facts: ClassVar[tuple[Fact, ...]] = (("specification", "split"),)
    by: str
    piece: Annotated[int, Field(ge=1)]
    of: Annotated[int, Field(ge=2, le=MOST_PIECES)]

    @model_validator(mode="after")
    def _there_is_one(self) -> SplitPart:
        if self.piece > self.of:
            raise ValueError(f"there is no piece {self.piece}: the pieces are 1 to {self.of}")
        return self

    @property
    def left_out(self) -> str:
        return f"Rows in {self.of - 1} of the {self.of} pieces of the register were left out."

    def sampling_error(self, rows: int, file_rows: int, share: float = 0.5) -> float:
        """Return the standard deviation of a share among the used rows, treated as a random subset of the file.

        `share` is the same share among all rows of the file (theory 11.11, counts of random pieces).
        """
        return _error_of_a_subset(rows, file_rows, share)


def _error_of_a_subset(drawn: int, rows: int, share: float) -> float:
    return (share * (1 - share) / drawn * ((rows - drawn) / max(rows - 1, 1))) ** 0.5


class MembersPart(Part):
    """Linked tables: every row is a root with its members (such as a household with its persons). The members have a
    separate file, which contains the key of their root.

    Attributes
    ----------
    key : the name of the first column of the two files, the number of a root from 1. No other file contains this number.
    size : the column of the table with the number of members of each root.
    most, least : the largest and the smallest number of members of a root. If `more` is "first", `most` means `most` or
        more.
    more : for roots with more than `most` members, "first" keeps the first members, and "drop" excludes the root.
    order, reference : the columns of the file by which the members are ordered, and the column and string that mark the
        first member.
    columns : the columns of a member. In `schema`, the column NAME is NAME_1 for the first member, NAME_2 for the second,
        and so on.
    whole : columns in which every member has a value.
    missing_keys : strings in the key column of the private file that mean "no key".
    """

    facts: ClassVar[tuple[Fact, ...]] = (("specification", "members"),)
    key: str
    size: str
    most: Annotated[int, Field(ge=1, le=50)]
    least: Annotated[int, Field(ge=0)]
    more: Literal["first", "drop"]
    order: list[str]
    reference: dict[str, str]
    columns: Annotated[list[str], Field(min_length=1)]
    whole: list[str]
    missing_keys: list[str] = []

    @model_validator(mode="after")
    def _of_its_columns(self) -> MembersPart:
        if not set(self.whole) <= set(self.columns) or self.least > self.most:
            raise ValueError("a column in `whole` is not in `columns`, or `least` exceeds `most`")
        return self

    @classmethod
    def of(cls, linked: Linked) -> MembersPart:
        return cls.like(
            linked,
            reference=dict([linked.reference]) if linked.reference else {},
            columns=list(linked.names),
            whole=[name for name in linked.names if name in linked.whole],
        )

    @property
    def linked(self) -> Linked:
        return self.value_of(
            Linked,
            names=tuple(self.columns),
            slots=tuple(tuple(slot_name(name, slot) for name in self.columns) for slot in range(1, self.most + 1)),
            whole=frozenset(self.whole),
            reference=next(iter(self.reference.items()), None),
        )


class MarginGroupPart(Part):
    """A group of released bins of a column, for which totals are published."""

    label: str
    bins: Annotated[list[str], Field(min_length=1)]


class MarginPart(Part):
    """Published totals of a population, cross-classified by groups of columns, such as age group by sex.

    Attributes
    ----------
    groups : the groups of each column, in the order of `columns`. Consecutive groups are neighbours.
    totals : the total of each combination. The group of the last column changes fastest.
    """

    columns: Annotated[list[str], Field(min_length=1)]
    groups: list[Annotated[list[MarginGroupPart], Field(min_length=1)]]
    totals: Annotated[list[NotNegative], Field(min_length=1)]


class JoinedPart(Part):
    """Neighbouring groups of a column that were merged before weighting, in the table of published totals at position
    `margin` (from 0).
    """

    margin: int
    column: str
    groups: Annotated[list[str], Field(min_length=2)]


class WeightsPart(Part):
    """A summary of the weights of the released rows after raking to published totals.

    Attributes
    ----------
    design_effect : 1 + cv^2 of the weights.
    cycles : the number of passes over all margins.
    deviation : the largest relative difference between a weighted count and its published total.
    """

    smallest: NotNegative
    largest: Positive
    design_effect: Positive
    cycles: Annotated[int, Field(ge=1)]
    deviation: NotNegative
    joined: list[JoinedPart]


class CalibrationPart(Part):
    """The published totals of a population to which the released rows were weighted, and the result.

    Attributes
    ----------
    source : the publication that contains the totals.
    start : the column whose representative values are the initial weights, or null if all weights start equal.
    floor, cap : smallest and largest weight, as multiples of the mean weight.
    margins : the totals. If there are none, the weights are the representative values of `start`.
    weights : the result, or null if the margins could not be met. The table then has no weights, and `failed` gives the
        reason.
    """

    facts: ClassVar[tuple[Fact, ...]] = (("published_figures", "calibration.margins"),)
    source: str
    start: str | None
    floor: NotNegative
    cap: Positive
    tolerance: Positive
    collapse: list[str]
    fewest_rows: Annotated[int, Field(ge=1)]
    margins: list[MarginPart]
    weights: WeightsPart | None
    failed: str

    @property
    def described(self) -> str:
        return f"Raked to: {self.source}" if self.margins else f"Representative value of the row's class of {self.start}."

    @property
    def beyond(self) -> str:
        """A statement about the weights that nobody can check with the bundle alone, as part of a sentence."""
        if not self.margins:
            return f"that the representative values of {self.start} are weights"
        return f"that the totals of the weights were published as stated ({self.source})"

    @classmethod
    def of(cls, calibration: Calibration, columns: Sequence[ColumnPart], outcome: Weights | str) -> CalibrationPart:
        labels = {column.name: column.labels for column in columns}
        return cls.like(
            calibration,
            floor=number(calibration.floor),
            cap=number(calibration.cap),
            tolerance=number(calibration.tolerance),
            margins=[_margin_part(margin, labels) for margin in calibration.margins],
            weights=None if isinstance(outcome, str) else _weights_part(outcome),
            failed=outcome if isinstance(outcome, str) else "",
        )

    def calibration(self, columns: Sequence[ColumnPart]) -> Calibration:
        """Convert this section back to the published totals and the limits of the weights.

        Raises
        ------
        LookupError, ValueError : if the groups do not fit the columns.
        """
        labels = {column.name: column.labels for column in columns}
        return self.value_of(Calibration, margins=tuple(_margin(part, labels) for part in self.margins))


def _margin_part(margin: Margin, labels: dict[str, tuple[str, ...]]) -> MarginPart:
    groups = []
    for column, names, into in zip(margin.columns, margin.labels, margin.into, strict=True):
        of_bin = [*zip(labels[column], into, strict=True)]
        bins = [[label for label, group in of_bin if group == place] for place in range(len(names))]
        groups.append([MarginGroupPart(label=label, bins=held) for label, held in zip(names, bins, strict=True)])
    return MarginPart(columns=list(margin.columns), groups=groups, totals=[number(total) for total in margin.totals])


def _margin(part: MarginPart, labels: dict[str, tuple[str, ...]]) -> Margin:
    into = []
    for column, groups in zip(part.columns, part.groups, strict=True):
        of_bin = [(label, index) for index, group in enumerate(groups) for label in group.bins]
        if sorted(label for label, _ in of_bin) != sorted(labels[column]):
            raise ValueError("a margin does not put each released bin into one group")
        into.append(tuple(dict(of_bin)[label] for label in labels[column]))
    margin = Margin(
        columns=tuple(part.columns),
        labels=tuple(tuple(group.label for group in groups) for groups in part.groups),
        into=tuple(into),
        totals=tuple(float(total) for total in part.totals),
    )
    if margin.table.shape != margin.shape or not margin.total > 0:
        raise ValueError("a margin lacks a total, or all its totals are 0")
    return margin


def _weights_part(weights: Weights) -> WeightsPart:
    sizes = {name: number(getattr(weights, name)) for name in ("smallest", "largest", "design_effect", "deviation")}
    joined = [JoinedPart.like(groups, groups=list(groups.labels)) for groups in weights.joined]
    return WeightsPart.like(weights, **sizes, joined=joined)


def weights_or_reason(table: Counts, calibration: Calibration, columns: Sequence[ColumnPart]) -> Weights | str:
    """Compute the weights that adjust a released table to published totals, or return the reason why there are none.

    The result depends only on released values.
    """
    numbers = {column.name: [bin_.number for bin_ in column.bins] for column in columns}
    start = None if calibration.start is None else np.array(numbers[calibration.start], dtype=float)
    try:
        return raked(table, calibration, start)
    except NotCalibrated as error:
        return str(error)
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        return f"the weights could not be computed ({type(error).__name__})"


# Other releases of the same register, and a multi-year plan.


class PlanOfYearsPart(Part):
    """A plan of releases over several years, made before its first year, and the year of this document in it.

    Attributes
    ----------
    first : the first year of the plan, whose number of years is the length of `epsilons_exact`.
    year : the year of this document.
    records_in_year, records_in_all : the largest number of records of a person in the file of one year, and in all files
        together.
    epsilons_exact, delta_exact : the largest privacy loss of one record from the release of each year.
    fallbacks, fallback_epsilon_exact : the number of years that may have a second release, and the largest epsilon of a
        second release for a record.
    """

    first: int
    year: int
    records_in_year: Annotated[int, Field(ge=1)]
    records_in_all: Annotated[int, Field(ge=1)]
    epsilons_exact: Annotated[list[ExactText], Field(min_length=1, max_length=MOST_YEARS)]
    delta_exact: ExactText
    fallbacks: Annotated[int, Field(ge=0)]
    fallback_epsilon_exact: ExactText

    @classmethod
    def of_plan(cls, year: YearOfSeries) -> PlanOfYearsPart:
        plan = year.horizon
        return PlanOfYearsPart.like(
            plan,
            year=year.year,
            records_in_year=plan.in_year,
            records_in_all=plan.in_all,
            epsilons_exact=[str(epsilon) for epsilon in plan.epsilons],
        )

    @property
    def horizon(self) -> Horizon:
        from synthrelease.privacy.plan import Horizon

        epsilons = tuple(map(Fraction, self.epsilons_exact))
        return self.value_of(Horizon, epsilons=epsilons, in_year=self.records_in_year, in_all=self.records_in_all)


class YearsPart(PlanOfYearsPart):
    """The multi-year plan, the year of this release in it, and the largest privacy loss of a person (theory 11.13, a
    promise over years).

    Attributes
    ----------
    again : whether this is the second run of its year, after a run that did not release a table.
    promised_epsilon_exact, promised_delta_exact : the largest privacy loss of a person over all years of the plan.
    paid_epsilon_exact, paid_delta_exact : the largest privacy loss that a person can have had from all years up to the year
        of this release.
    """

    again: bool
    promised_epsilon_exact: ExactText
    promised_delta_exact: ExactText
    paid_epsilon_exact: ExactText
    paid_delta_exact: ExactText


class EarlierPart(Part):
    """An earlier release of the same register.

    Attributes
    ----------
    digest : the SHA-256 checksum of its release.json.
    epsilon_exact, delta_exact : its cost for one record.
    person_epsilon_exact, person_delta_exact : its cost for a person, or null if it promised nothing to a person.
    corrects : the digest of the release that it replaced, if it is an erratum. An erratum spends no budget.
    changed : how bins and rules changed from the earlier to the present release, one sentence for each change.
    year, again : its year in the multi-year plan, and whether it was the second run for this year. Absent without a plan;
        `again` is absent if it is false.
    estimated : with a multi-year plan, those of its estimates whose columns have the same bins in the present release.
    """

    title: str
    version: str
    published: str
    digest: str
    epsilon_exact: ExactText
    delta_exact: ExactText
    person_epsilon_exact: ExactText | None
    person_delta_exact: ExactText | None
    corrects: str | None
    changed: list[str]
    year: int | None = None
    again: Literal[True] | None = None
    estimated: list[IntendedEstimatePart] = []


class CorrectedPart(Part):
    """The release that this release corrects without spending budget, and what was wrong."""

    digest: str
    version: str
    reason: str


class SeriesPart(Part):
    """All releases that use records of the same persons, and the total privacy loss of a person from all of them.

    Attributes
    ----------
    total_epsilon_exact, total_delta_exact : the total privacy loss of a person with records in all releases, including this
        release (theory 1.1, sequential composition), or null if one of them promises nothing to a person. An erratum and
        the release that it corrects count as one release.
    years : the multi-year plan, or absent.
    """

    beyond: ClassVar[str] = "that release.json names all releases of the same register"
    name: str
    earlier: list[EarlierPart]
    corrects: CorrectedPart | None
    total_epsilon_exact: ExactText | None
    total_delta_exact: ExactText | None
    years: YearsPart | None = None

    @property
    def fixed(self) -> dict[str, Any] | None:
        """The parts of the multi-year plan that were fixed before the run, or None without such a plan."""
        if self.years is None:
            return None
        return {"name": self.name, **self.years.model_dump(include={*PlanOfYearsPart.model_fields, "again"})}

    @property
    def several_releases(self) -> bool:
        return bool(self.earlier) or self.years is not None


class ScoutPart(Part):
    """The scout (noisy tables published before the release), and a cap on the total cost of the scout and the release.

    The cap was fixed before the scout was measured (theory 9.19, one cap).

    Attributes
    ----------
    document : the SHA-256 checksum of the file scout.json in the folder of the scout.
    epsilon_exact, delta_exact : the cap, which equals the guarantee.
    rho_exact, rare_exact, tests_exact : the numbers of `privacy.cap.Cap` as exact fractions.
    alone_exact : the epsilon of the scout alone, stated at the delta of the cap.
    """

    facts: ClassVar[tuple[Fact, ...]] = (("specification", "scout"),)
    document: str
    epsilon_exact: ExactText
    delta_exact: ExactText
    rho_exact: ExactText
    rare_exact: ExactText
    tests_exact: ExactText
    alone_exact: ExactText

    @classmethod
    def of(cls, table: ScoutTable) -> ScoutPart:
        return cls.like(table, alone_exact=str(table.cap.alone))

    def cap(self) -> Cap:
        """Convert this section back to the limit on the privacy cost of the scout and the release together.

        Raises
        ------
        Unexpected : if the numbers are impossible (a ValueError).
        """
        return self.value_of(Cap)


class PopulationPart(Part):
    """A further privacy guarantee, for a member of the population from which the file is a random sample.

    It holds only if nobody knows who was drawn into the file. A ledger (list of all charges to a dataset) charges the main
    guarantee, not this one.

    Attributes
    ----------
    size, source : the number of records in the population, and the publication that states this number.
    sample : how the file was drawn from the population.
    sampled : number of rows in the file.
    epsilon_exact, delta_exact : the privacy loss of a member of the population (theory 11.3, amplification by a subset).
    """

    facts: ClassVar[tuple[Fact, ...]] = (("private_file", "population.sampled"),)
    size: Annotated[int, Field(ge=1)]
    source: str
    sample: Literal["simple random, without replacement"]
    sampled: Annotated[int, Field(ge=1)]
    epsilon_exact: ExactText
    delta_exact: ExactText

    def loss(self) -> Loss:
        return Loss(Fraction(self.epsilon_exact), Fraction(self.delta_exact))


class DesignPart(Part):
    """The stated survey design of the private file, which is used to compute intervals for a population.

    Attributes
    ----------
    weight : the column of the table with the design weight, or null.
    strata, clusters : columns of the private file. No column of the table shows the cluster of a row.
    groups : the column of the table with the random groups of clusters, or null.
    effect : the design effects that `source` states: one for all columns, or one for each of some columns.
    """

    facts: ClassVar[tuple[Fact, ...]] = (("specification", "design"),)
    weight: str | None
    strata: list[str]
    clusters: str | None
    effect: Number | dict[str, Number] | None
    source: str
    groups: str | None = None

    @classmethod
    def of(cls, table: DesignTable) -> DesignPart:
        return cls.like(table)

    @property
    def unknown(self) -> bool:
        """Whether the effect of clusters on variances is unknown: neither a design effect nor random groups of clusters."""
        return self.effect is None and self.groups is None

    def effect_on(self, columns: Iterable[str]) -> float | None:
        """Return the largest design effect of these columns, or None if one of them has no stated effect."""
        effects = [self.effect.get(name) for name in columns] if isinstance(self.effect, dict) else [self.effect]
        return None if None in effects else max((float(effect or 1) for effect in effects), default=1.0)


class ImputationPart(Part):
    """The completed copies of the released table in imputed.csv, in which missing values are filled in.

    Attributes
    ----------
    donors : the smallest number of donor rows for a row with missing values. Donors agree with the row in the columns of
        `match`; if too few rows agree, the last columns of `match` are dropped.
    match : columns in which rows should agree, most important first.
    rows : number of released rows in which a value is missing although the rules do not require it.
    smallest : the smallest number of rows that get the values of one donor, so that each row of a copy occurs at least this
        often.
    failed : reason why there are no copies, or empty if there are copies.
    """

    beyond: ClassVar[str] = "that donors were drawn at random for the complete copies"
    copies: AtLeastOne
    donors: AtLeastOne
    match: list[str]
    rows: Annotated[int, Field(ge=0)]
    smallest: AtLeastOne
    failed: str

    def file(self, bundle: BundleTable) -> str:
        return bundle.named(IMPUTED)


def missing_bins(columns: Sequence[ColumnPart]) -> tuple[int | None, ...]:
    return tuple(next((index for index, bin_ in enumerate(column.bins) if bin_.missing), None) for column in columns)


def gaps_of(part: ImputationPart, columns: Sequence[ColumnPart]) -> Gaps:
    names = [column.name for column in columns]
    return Gaps(
        missing=missing_bins(columns),
        match=tuple(names.index(name) for name in part.match),
        donors=part.donors,
        copies=part.copies,
        smallest=part.smallest,
    )


def flags_of_rows(table: ReleasedTable, open_: np.ndarray) -> list[str]:
    """Return, for each row of data.csv, the columns whose missing value is to be filled in, separated by spaces.

    Parameters
    ----------
    open_ : (n_cells, n_columns) mask of the missing values to be filled in (`gaps_of_cells`).
    """
    names = np.full(len(table.counts), "", dtype=object)
    for column, name in enumerate(table.names):
        names[open_[:, column]] += f" {name}"
    return [text.strip() for text in np.repeat(names, table.counts.counts).tolist()]


# Columns that follow from other columns in the same row.


class LevelPart(Part):
    """One level of nested areas, such as all regions: its column in the table, and the number of possible areas."""

    column: str
    areas: Annotated[int, Field(ge=1)]


class GeographyPart(Part):
    """Nested areas: each smallest area lies in exactly one area of each higher level. `levels` begins with the largest
    areas.
    """

    facts: ClassVar[tuple[Fact, ...]] = (("specification", "geography"),)
    levels: Annotated[list[LevelPart], Field(min_length=2)]

    @model_validator(mode="after")
    def _different(self) -> GeographyPart:
        if len({level.column for level in self.levels}) < len(self.levels):
            raise ValueError("two levels name the same column")
        return self

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The column of each level except the smallest, with the column of the next smaller areas, which determine it."""
        return tuple((above.column, (level.column,)) for above, level in pairwise(self.levels))


class MarksGroupPart(Part):
    """A column that states, for each row, which indicators of a group apply, such as which diagnoses a person has.

    Attributes
    ----------
    column : the name of this column.
    marks : for the column of each indicator in the group, the released categories which mean that the indicator applies.
    """

    column: str
    marks: Annotated[dict[str, list[str]], Field(min_length=2)]


class MarksPart(Part):
    """Columns that summarise yes/no indicators, such as a column that lists the diagnoses of a person. The private file
    does not have these columns.
    """

    facts: ClassVar[tuple[Fact, ...]] = (("specification", "marks"),)
    groups: Annotated[list[MarksGroupPart], Field(min_length=1)]

    @model_validator(mode="after")
    def _different(self) -> MarksPart:
        if len({group.column for group in self.groups}) < len(self.groups):
            raise ValueError("two groups name the same column")
        return self

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each column that lists indicators, with the columns of the single indicators, which determine it."""
        return tuple((group.column, tuple(group.marks)) for group in self.groups)
