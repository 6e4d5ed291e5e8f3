"""Define the structure of release.json, with which documents are both written and read.

**The promise** (docs/bundle.md, what programs may rely on). A document states its format number, which is 1 since version
1.0.0, the first published version:

- Without a new number, only optional fields may be added. A document without such a field means the same as a document with
  the field's default value, and a field with its default value is not written. So every later version reads every document
  with this number, and `load` of every earlier version does so, too, because it ignores unknown fields.
- A new number is needed to remove or rename a field, to change its type, unit or meaning, to require a new field, or to
  allow a further value of a field (such as a rule of the charges).
- Documents with a later number are refused. The message names the version of synthrelease that can read them.
- Documents with the provisional number 5, from the last versions before 1.0.0, are format 1 without SIGN.md.

`read_strictly` serves `verify`, which must check every field; `read_leniently` serves `load`, which ignores fields of later
versions. Use the version of `verify` that wrote the bundle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, Field, ValidationError

from synthrelease.data.linked import Linked
from synthrelease.errors import Unexpected
from synthrelease.privacy.plan import Guarantee
from synthrelease.published.base import ExactText, Part, check_format, json_bytes
from synthrelease.published.charges import ChargePart, CriterionPart, DomainPart, GuaranteePart, SelectionPart
from synthrelease.published.columns import BinPart, ColumnPart, RulePart
from synthrelease.published.measurements import EstimatesPart, NotSample
from synthrelease.published.models import ModelsPart
from synthrelease.published.options import (
    CalibrationPart,
    DesignPart,
    GeographyPart,
    ImputationPart,
    MarksPart,
    MembersPart,
    PartitionPart,
    PopulationPart,
    ScoutPart,
    SeriesPart,
    SplitPart,
)
from synthrelease.published.table import TableFile, TableShape, files_of
from synthrelease.resources import is_first_or_before
from synthrelease.settings.card import CardTable
from synthrelease.settings.options import IntendedQueryTable, PluginTable
from synthrelease.settings.reading import dotted
from synthrelease.settings.tables import OPTIONS, AttacksTable, BundleTable, NotPromisedTable

if TYPE_CHECKING:
    from synthrelease.criteria.facts import Group, PublicFacts

# The guarantee in five building blocks, for machines (Bailie, Gong & Meng 2023; theory 10, statement of the guarantee).
#
# Two guarantees may be added up if domain, scope and unit agree. Some facts are published exactly and could differ between
# files. The scope names the place of every such fact in release.json. Every other statement about the file is the output of a
# charged mechanism, or follows from outputs and facts. The building blocks follow from other parts of release.json, and
# `verify` compares them.

DOMAIN = "any file that can be read by the schema and is none of those that were called public"
REPLACED = "records replaced"

Standard = Literal["multiplicative", "(epsilon, delta)", "zCDP"]


class ScopePart(Part):
    """The facts that a release publishes exactly, by their source. Each fact is a path in release.json, such as
    "domain.file_rows".

    Attributes
    ----------
    private_file : facts about the private file, which the guarantee does not protect.
    specification : facts that were fixed before the file was read.
    published_figures : numbers that were already stated in other publications.
    """

    private_file: list[str]
    specification: list[str]
    published_figures: list[str]

    @classmethod
    def of(cls, domain: DomainPart, parts: Iterable[Part] = ()) -> ScopePart:
        """Collect the facts that the sections of release.json publish exactly.

        Parameters
        ----------
        domain : how the number of rows was determined. A counted number is a noisy output, so it is not an exact fact.
        parts : further sections of the document.
        """
        of_the_file = {
            "exact": ["n_rows", "domain.rows"],
            "whole": ["domain.file_rows", "n_rows"],
            "stated": ["domain.file_rows"],
            "counted": ["domain.file_rows"],
        }
        known_before = ["schema", "groups", "rules", "domain", *(["n_rows"] if domain.way == "stated" else [])]
        facts = [fact for part in (*parts, domain) for fact in part.exact_facts(domain.way)]
        return cls(
            private_file=[*of_the_file[domain.way], *(path for source, path in facts if source == "private_file")],
            specification=[*known_before, *(path for source, path in facts if source == "specification")],
            published_figures=[path for source, path in facts if source == "published_figures"],
        )

    def places(self) -> list[str]:
        return [*self.private_file, *self.specification, *self.published_figures]


class IntensityPart(Part):
    """The size of the privacy loss. `delta_exact` is "0" if the standard is "multiplicative"."""

    epsilon_exact: ExactText
    delta_exact: ExactText


class FlavourPart(Part):
    """A privacy guarantee, described by five components: domain, scope, unit, standard and intensity.

    Attributes
    ----------
    domain : the files that the guarantee covers.
    scope : the facts that are published exactly, and that are the same in all files that the guarantee compares.
    unit : the unit in which two neighbouring files differ.
    standard : how two output distributions are compared: "multiplicative" (pure), "(epsilon, delta)", or "zCDP", which only
        descriptions of other methods state.
    intensity : the size of the privacy loss for neighbouring files.
    """

    domain: str
    scope: ScopePart
    unit: str
    standard: Standard
    intensity: IntensityPart

    @classmethod
    def of(cls, guarantee: Guarantee, domain: DomainPart, parts: Iterable[Part] = ()) -> FlavourPart:
        return cls(
            domain=DOMAIN,
            scope=ScopePart.of(domain, parts),
            unit=REPLACED,
            standard="(epsilon, delta)" if guarantee.delta else "multiplicative",
            intensity=IntensityPart.like(guarantee),
        )


FORMAT: Literal[1] = 1
BEFORE: Literal[5] = 5
"""The provisional format number, from before format 1."""


class ReleaseDocument(Part):
    """The complete content of release.json, with the fields in the order of the file.

    Attributes
    ----------
    members : a description of the members of each row. Members have a separate file.
    geography : columns with nested areas, such as municipalities within regions.
    marks : columns that summarise indicators.
    specification : the digest of specification.json: the configuration and the acceptance file, without [card].
    files : the SHA-256 checksums of the data files.
    versions : versions of the software that computed the release. `written_by` is the version that wrote the documents.
    calibration : the published totals to which the rows are weighted, and the weights.
    flavour : the guarantee, described by its components for use by programs.
    bundle : further file formats that the publisher requested.
    partition, split : the division of the rows into two random pieces, or the used piece of a split register.
    series : other releases of the same register.
    population : the population from which the file is a simple random sample.
    scout : the noisy tables published before the release, and the cap on the total cost of these tables and the release.
    design : the survey design of the file.
    imputation : complete copies of the rows.
    estimates, models : answers from the published noisy tables, and from sums measured for named questions.
    intended_queries : the questions that the release is meant to answer.
    plugins : other packages that the release used, with versions and digests. Their privacy statements are not proved here.
    not_promised : associations between columns that the publisher does not promise to preserve.
    attacks : results of attacks on public rows, as the publisher reports them.
    """

    format: Literal[1, 5]
    title: str
    description: str
    synthetic: Literal[True]
    n_rows: Annotated[int, Field(ge=1)]
    guarantee: GuaranteePart
    domain: DomainPart
    charges: ChargePart
    criteria: list[CriterionPart]
    configuration: dict[str, dict[str, Any]]
    selection: SelectionPart
    columns: list[ColumnPart] = Field(
        validation_alias=AliasChoices("schema", "columns"), serialization_alias="schema", min_length=1
    )
    groups: dict[str, list[BinPart]]
    rules: list[RulePart]
    members: MembersPart | None = None
    geography: GeographyPart | None = None
    marks: MarksPart | None = None
    specification: str
    files: dict[str, str]
    versions: dict[str, str]
    written_by: str
    card: Annotated[CardTable, Field(strict=False)]
    calibration: CalibrationPart | None = None
    flavour: FlavourPart
    bundle: Annotated[BundleTable, Field(strict=False)] = BundleTable()
    partition: PartitionPart | None = None
    split: SplitPart | None = None
    series: SeriesPart | None = None
    scout: ScoutPart | None = None
    population: PopulationPart | None = None
    design: DesignPart | None = None
    imputation: ImputationPart | None = None
    estimates: EstimatesPart | None = None
    models: ModelsPart | None = None
    intended_queries: Annotated[list[IntendedQueryTable], Field(strict=False)] = []
    plugins: Annotated[list[PluginTable], Field(strict=False)] = []
    not_promised: Annotated[NotPromisedTable, Field(strict=False)] = NotPromisedTable()
    attacks: Annotated[AttacksTable | None, Field(strict=False)] = None

    @property
    def provisional(self) -> bool:
        """Whether a version before 1.0.0 made this release."""
        return self.run_by.startswith("0.")

    @property
    def run_by(self) -> str:
        return self.versions.get("synthrelease", self.written_by)

    @property
    def first_run(self) -> bool:
        """Whether version 1.0.0 or earlier made this release, and so published fewer of the facts fixed before the run."""
        return is_first_or_before(self.run_by)

    @property
    def first_documents(self) -> bool:
        """Whether version 1.0.0 or earlier wrote the documents. Later versions write more documents."""
        return is_first_or_before(self.written_by)

    @property
    def fixed_parts(self) -> dict[str, dict[str, Any]]:
        """The settings that had to be fixed before the run: at present, only the multi-year plan in the section "series"."""
        fixed = None if self.series is None else self.series.fixed
        return {} if fixed is None else {"series": fixed}

    @property
    def parts(self) -> dict[str, Part]:
        """The sections about the options that this release uses, by the name of the option."""
        return {name: part for name in OPTIONS if (part := getattr(self, name)) is not None}

    @property
    def csv(self) -> str:
        return f"{self.bundle.stem}.csv"

    @property
    def parquet(self) -> str:
        return f"{self.bundle.stem}.parquet"

    @property
    def rows_worked_with(self) -> int:
        """The number of rows of the private file that the release used: as many as the table has, unless [partition]
        divided them.
        """
        return self.n_rows if self.divided_rows is None else self.divided_rows

    @property
    def secret_piece(self) -> bool:
        """Whether a secret key decides which rows of the file the release used."""
        return self.split is not None

    @property
    def figures_about(self) -> str:
        """A phrase for the rows that criterion values describe, or "" without [partition] and [split]."""
        if self.partition is not None:
            return "a random piece of the rows ([partition])"
        return "" if self.split is None else "a piece of the register ([split])"

    @property
    def ledger_note(self) -> str:
        """A note for this release in a listing of the ledger, such as ", piece 2" of a split register, otherwise ""."""
        return "" if self.split is None else f", piece {self.split.piece}"

    @property
    def divided_rows(self) -> int | None:
        return None if self.partition is None else self.partition.rows

    @property
    def several_releases(self) -> bool:
        """Whether other releases from the same records exist or may exist. Their privacy losses add up."""
        return self.split is not None or (self.series is not None and self.series.several_releases)

    @property
    def shape(self) -> TableShape:
        return TableShape(
            names=tuple(column.name for column in self.columns),
            labels=tuple(column.labels for column in self.columns),
            ordered=tuple(column.ordered for column in self.columns),
            weighted=self.weighted,
            marked=self.bundle.synthetic_column,
            linked=self.linked,
        )

    @property
    def linked(self) -> Linked | None:
        """Which columns describe roots (such as households) and which their members (such as persons), or None."""
        return None if self.members is None else self.members.linked

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The columns whose value follows from other columns, each with these columns, such as `("region",
        ("municipality",))`.
        """
        of_areas = () if self.geography is None else self.geography.functions
        return of_areas if self.marks is None else (*of_areas, *self.marks.functions)

    @property
    def table_files(self) -> tuple[TableFile, ...]:
        return files_of(self.columns, self.linked, self.bundle)

    @property
    def tables(self) -> tuple[tuple[str, str], ...]:
        """The file names of the table in CSV and in Parquet, each paired with the name of the members' file (or "")."""
        names = [self.bundle.named(f"members.{ending}") if self.linked else "" for ending in ("csv", "parquet")]
        return (self.csv, names[0]), (self.parquet, names[1])

    @property
    def measured_bins(self) -> int:
        """An upper bound on the number of sets of bins in which shared noisy tables could have been published.

        It is 1 if each round (attempt to make a table) measures its own tables.
        """
        selection = self.selection
        if not selection.shared_measurements:
            return 1
        if selection.bounds is not None:
            return selection.bounds.transformations
        return min(selection.configurations, math.prod(len(column.alternatives) for column in self.columns))

    @property
    def measured_once(self) -> bool:
        """Whether the noisy tables were measured exactly once, for one set of bins, so that intervals need no correction."""
        return self.selection.measured_times * self.measured_bins == 1

    @property
    def weighted(self) -> bool:
        return self.calibration is not None and self.calibration.weights is not None

    def role_of(self, column: ColumnPart) -> Literal["weight", "cluster group", "stratum", "answer"]:
        """Return the role of a column in the survey design of the file. A column without a special role is an "answer"."""
        if self.design is None:
            return "answer"
        if column.name in (self.design.weight, self.design.groups):
            return "weight" if column.name == self.design.weight else "cluster group"
        return "stratum" if column.source in self.design.strata else "answer"

    @property
    def not_a_sample(self) -> tuple[NotSample, ...]:
        """The reasons why the file is not a simple random sample of a population, such as "clusters"."""
        if self.estimates is not None and self.estimates.not_a_sample is not None:
            return tuple(self.estimates.not_a_sample)
        return self.declared(design_weights=any("weight" in part.parameters for part in self.criteria))

    def declared(self, *, design_weights: bool) -> tuple[NotSample, ...]:
        """Find the reasons in release.json why the file is not a simple random sample of a population.

        Parameters
        ----------
        design_weights : whether a column of the specification has design weights.
        """
        reasons: dict[NotSample, bool] = {
            "design weights": design_weights,
            "calibration to totals": self.weighted and self.calibration is not None and bool(self.calibration.margins),
            "several rows of a person": self.guarantee.person.records > 1,
            "clusters": self.design is not None and self.design.clusters is not None and self.design.unknown,
        }
        return tuple(reason for reason, holds in reasons.items() if holds)

    @property
    def raw_rules(self) -> list[str]:
        """The combinations of values that rules exclude from the private file."""
        return [rule.never for rule in self.rules if "raw" in rule.applies_to]

    @property
    def minimum_count(self) -> int:
        """How often every distinct row occurs at least: the largest number that the projection or a criterion guarantees,
        or 1.
        """
        from synthrelease.generators.projections import published_projection

        projection = published_projection(self.configuration.get("projection", {}))
        promising = [projection, *(promise.criterion() for promise in self.criteria)]
        return max((promise.promised_count for promise in promising if promise is not None), default=1)

    @cached_property
    def public_facts(self) -> PublicFacts:
        """The facts that criteria may use without privacy cost, without released rows and rules for private rows."""
        from synthrelease.criteria.facts import PublicFacts

        return PublicFacts(
            n=self.n_rows,
            columns=tuple(part.published() for part in self.columns),
            groups=self.released_groups(),
            criteria={part.name: known for part in self.criteria if (known := part.criterion()) is not None},
            linked=self.linked,
        )

    def released_groups(self) -> dict[str, tuple[Group, ...]]:
        from synthrelease.criteria.facts import Group

        return {
            part.name: tuple(Group(label=group.label, inside=tuple(map(group.holds, part.bins))) for group in groups)
            for part in self.columns
            if (groups := self.groups.get(part.name)) is not None
        }

    @cached_property
    def _content(self) -> bytes:
        return json_bytes(self.model_dump(mode="json", by_alias=True))

    def dumped(self) -> bytes:
        return self._content


def read_strictly(content: bytes | str) -> ReleaseDocument:
    """Read release.json, and raise an error if it has unknown fields.

    Raises
    ------
    Unexpected : if this version would not write such a document. The message gives the position of the first fault.
    """
    return _read(content, "forbid")


def read_leniently(content: bytes | str) -> ReleaseDocument:
    """Read release.json. Ignore unknown fields, which a later version may have added.

    Raises
    ------
    Unexpected : as in `read_strictly`, except for unknown fields.
    """
    return _read(content, "ignore")


def _read(content: bytes | str, unknown: Literal["forbid", "ignore"]) -> ReleaseDocument:
    kind, path, message = "nested", "", "nested too deep"
    try:
        check_format(content, (FORMAT, BEFORE))
        return ReleaseDocument.model_validate_json(content, extra=unknown)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        steps = first["loc"][:-1] if first["loc"][-1:] in (("float",), ("int",)) else first["loc"]  # two kinds of numbers
        kind, path, message = first["type"], dotted(steps), first["msg"].lower()
    except RecursionError:
        pass
    if kind == "json_invalid":
        raise Unexpected(f"The file is not valid JSON ({message.removeprefix('invalid json: ')})")
    raise Unexpected(f"The content is not as `synthrelease release` writes it ({message})", place=path)
