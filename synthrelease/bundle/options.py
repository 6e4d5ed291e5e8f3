"""Handle the options of a release: each option's section of release.json, its files and its section of the card.

The options `imputation` and `series` have their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from synthrelease.bundle import imputation, models_card, series
from synthrelease.bundle.card.numbers import paragraphs_of, said
from synthrelease.bundle.tables import AcceptedRows
from synthrelease.criteria.facts import figure, words
from synthrelease.data.weights import Calibration, Weights
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.published.base import Part
from synthrelease.published.columns import RulePart
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.options import (
    CalibrationPart,
    DesignPart,
    GeographyPart,
    LevelPart,
    MarginPart,
    MarksGroupPart,
    MarksPart,
    MembersPart,
    PartitionPart,
    PopulationPart,
    ScoutPart,
    SplitPart,
    weights_or_reason,
)
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.options import PopulationTable
from synthrelease.settings.tables import BundleTable
from synthrelease.settings.wide import AREAS_WHY, MARKS_WHY
from synthrelease.spec.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class MadeOfRows:
    """The released table, weighted if there are published totals, with the sections and files that are computed from its
    rows.
    """

    table: ReleasedTable
    parts: Mapping[str, Part]
    files: Mapping[str, bytes]


def made(spec: ReleaseSpec, rows: AcceptedRows, *, anew: bool = False) -> MadeOfRows:
    """Compute the weights and the completed copies of the rows that are about to be published.

    Parameters
    ----------
    anew : whether a finished bundle is being rewritten: the completed copies then stay as they are.
    """
    table, parts, files = rows.table, dict[str, Part](), dict[str, bytes]()
    if (totals := spec.options.calibration) is not None:
        parts["calibration"], weights = weighted(totals, rows)
        table = replace(table, weights=weights)
    if (imputation_ := spec.options.imputation) is not None and not anew:
        parts["imputation"], files = imputation.complete_copies(imputation_, rows)
    return MadeOfRows(table=table, parts=parts, files=files)


def placeholders(spec: ReleaseSpec, rows: AcceptedRows) -> dict[str, Part]:
    """Return the sections about weights and completed copies for a preview, which has no rows, with invented values."""
    parts = dict[str, Part]()
    if (totals := spec.options.calibration) is not None:
        parts["calibration"] = equally_weighted(totals, rows)
    if (imputation_ := spec.options.imputation) is not None:
        parts["imputation"] = imputation.placeholder(imputation_, rows)
    return parts


def files_anew(old: ReleaseDocument, files: Mapping[str, bytes], bundle: BundleTable) -> dict[str, bytes]:
    part = old.imputation
    return {} if part is None else imputation.files_anew(part, files, old.bundle, bundle)


def planned(spec: ReleaseSpec, rows: int) -> dict[str, Part]:
    """Return the sections about pieces ([partition] and [split]), which are known before any row is generated."""
    parts = dict[str, Part]()
    if spec.options.partition is not None:
        parts["partition"] = PartitionPart.of(spec.options.partition, rows)
    if spec.options.split is not None:
        parts["split"] = SplitPart(by=spec.options.split.by, piece=spec.options.split.piece, of=spec.options.split.of)
    return parts


def with_parts(document: ReleaseDocument, spec: ReleaseSpec, made_of_rows: Mapping[str, Part]) -> ReleaseDocument:
    """Add the sections about all options except pieces to the release.json of a new release.

    Parameters
    ----------
    made_of_rows : the sections that were computed from the released rows.
    """
    series_ = spec.options.series
    of_series = {} if series_ is None else {"series": series.part(series_, document)}
    return document.model_copy(update={**stated(document, spec), **of_series, **made_of_rows})


def with_parts_anew(
    document: ReleaseDocument, spec: ReleaseSpec, made_of_rows: Mapping[str, Part], content: bytes
) -> ReleaseDocument:
    """Compute the sections of all options again for a rewritten bundle, in which only texts, weights and file formats may
    differ.

    Parameters
    ----------
    made_of_rows : the sections that were computed again from the released rows.
    content : the bytes of the old release.json, which is replaced.

    Raises
    ------
    OtherRelease : if the configuration is an erratum for a different release.
    """
    plain = document.model_copy(update={**dict.fromkeys(document.parts), **planned(spec, document.rows_worked_with)})
    parts = dict[str, Part | None]()
    if spec.options.imputation is not None:
        parts["imputation"] = read_strictly(content).imputation
    if (series_ := spec.options.series) is not None:
        parts["series"] = series.part_anew(series_, plain, content)
    return plain.model_copy(update={**stated(plain, spec), **parts, **made_of_rows})


def stated(document: ReleaseDocument, spec: ReleaseSpec) -> dict[str, Part]:
    """Return the sections that repeat settings of options, such as the names of nested areas, without the rows."""
    parts = dict[str, Part]()
    if (linked := spec.schema.linked) is not None:
        parts["members"] = MembersPart.of(linked)
    if (population := spec.options.population) is not None and document.domain.file_rows is not None:
        parts["population"] = _population(population, document, document.domain.file_rows)
    if (scout := spec.options.scout) is not None:
        parts["scout"] = ScoutPart.of(scout)
    if (design := spec.options.design) is not None:
        parts["design"] = DesignPart.of(design)
    if (areas := spec.options.geography) is not None:
        levels = zip(areas.chain, areas.areas, strict=True)
        parts["geography"] = GeographyPart(levels=[LevelPart(column=name, areas=count) for name, count in levels])
    if (marks := spec.options.marks) is not None:
        groups = ((name, {column: list(labels) for column, labels in group.items()}) for name, group in marks.groups.items())
        parts["marks"] = MarksPart(groups=[MarksGroupPart(column=name, marks=group) for name, group in groups])
    return parts


def _population(population: PopulationTable, document: ReleaseDocument, rows: int) -> PopulationPart:
    """Compute the privacy guarantee for a member of the population, of which the file is a random sample.

    Theory 11.3, amplification by a subset.
    """
    guarantee = document.guarantee.guarantee()
    loss = of_the_population(Loss(guarantee.epsilon, guarantee.delta), rows, population.size)
    return PopulationPart(
        size=population.size,
        source=population.source,
        sample="simple random, without replacement",
        sampled=rows,
        epsilon_exact=str(loss.epsilon),
        delta_exact=str(loss.delta),
    )


@dataclass(frozen=True, kw_only=True)
class CardStatement:
    """A statement on the card next to the guarantee, with its heading."""

    heading: str
    text: str


class CardColumn(NamedTuple):
    """The heading and style of one column of a table on the card."""

    heading: str
    kind: Literal["", "number", "wide"] = ""


@dataclass(frozen=True, kw_only=True)
class CardSection:
    """A section of the card about an option: its heading, paragraphs, and sometimes a table.

    Attributes
    ----------
    place : whether the section follows those about the rows, or those about the guarantee and the charges.
    label : the label of the table for screen readers.
    rows : the cells of each row, the heading of the row first.
    """

    anchor: str
    heading: str
    sentences: tuple[str, ...]
    place: Literal["rows", "guarantee"] = "rows"
    label: str = ""
    columns: tuple[CardColumn, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def statements(document: ReleaseDocument) -> list[CardStatement]:
    """Return the statements about options next to the guarantee on the card."""
    listed = []
    if document.members is not None:
        listed.append(CardStatement(heading="With all its members", text=said("protected_members")))
    if (population := document.population) is not None:
        listed.append(CardStatement(heading="Population", text=said("population", population)))
    if document.scout is not None:
        listed.append(CardStatement(heading="Scout and release", text=said("scouted", document.scout)))
    for table in document.plugins:
        claimed = [criterion.name for criterion in document.criteria if criterion.kind.startswith(f"{table.package}:")]
        generates = str(document.configuration["generator"].get("family")).startswith(f"{table.package}:")
        listed.append(CardStatement(heading="Plug-in package", text=said("plugin", table, claimed, generates)))
    return listed


def about_figures(document: ReleaseDocument) -> list[str]:
    """Return warnings that criterion values describe only a piece of the rows, if [partition] or [split] divided them."""
    texts, in_file = list[str](), document.domain.file_rows
    if document.partition is not None:
        texts += paragraphs_of("pieces", document.partition)
    if (split := document.split) is not None and in_file is not None:
        texts += paragraphs_of("register", split, in_file, partial(split.sampling_error, document.rows_worked_with, in_file))
    return texts


# For each option, the table in its section of the card: the label, the columns, and the function that makes the rows.
_TABLES: dict[str, tuple[str, tuple[CardColumn, ...], Callable[[Any], tuple[tuple[str, ...], ...]]]] = {
    "series": (
        "Earlier releases",
        (
            *map(CardColumn, ("earlier release", "published")),
            *(CardColumn(heading, "number") for heading in ("epsilon of a record", "epsilon of a person")),
            CardColumn("changes since then", "wide"),
        ),
        series.rows,
    ),
    "models": (
        "Answers to questions that were measured directly",
        (
            *map(CardColumn, ("question", "statistic")),
            *(CardColumn(heading, "number") for heading in ("estimate", "interval, the file", "interval, population")),
        ),
        models_card.rows,
    ),
}


def sections(document: ReleaseDocument) -> list[CardSection]:
    texts: dict[str, tuple[str, str, Callable[[Any], tuple[str, ...]]]] = {
        "members": ("members", "Members", lambda part: paragraphs_of("members", part, document.csv, document.tables[0][1])),
        "design": ("design", "Design of the sample", partial(paragraphs_of, "design")),
        "calibration": ("weights", "Weights", lambda part: paragraphs_of("weights", part, list(map(_margin, part.margins)))),
        "series": ("series", "Releases of the same register", lambda part: series.sentences(part, document)),
        "models": ("models", "Questions measured directly", models_card.sentences),
        "imputation": ("copies", "Copies without gaps", lambda part: imputation.sentences(part, document.bundle)),
        "geography": ("geography", "Levels of areas", lambda part: paragraphs_of("areas", part, document.n_rows)),
        "marks": ("marks", "Groups of indicators", partial(paragraphs_of, "marks")),
    }
    listed = []
    for name, (anchor, heading, sentences) in texts.items():
        if (part := getattr(document, name)) is not None:
            section = CardSection(anchor=anchor, heading=heading, sentences=sentences(part))
            if name in _TABLES:
                label, columns, rows = _TABLES[name]
                section = replace(section, place="guarantee", label=label, columns=columns, rows=rows(part))
            listed.append(section)
    return listed


def listed_rules(document: ReleaseDocument) -> list[RulePart]:
    """Return the rules that the card lists: those that follow from nested areas or indicators are explained elsewhere."""
    areas, marks = document.geography, document.marks
    levels = [] if areas is None else [f"{level.column} " for level in areas.levels]
    named = [] if marks is None else [group.column for group in marks.groups]

    def told(rule: RulePart) -> bool:
        if rule.why == AREAS_WHY and rule.never.startswith(tuple(levels)):
            return True
        return rule.why == MARKS_WHY and any(f"{name} in [" in rule.never for name in named)

    return [rule for rule in document.rules if not told(rule)]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A message that the command prints after a release is written."""

    text: str
    failed: bool = False


def outcomes(document: ReleaseDocument) -> list[Outcome]:
    """Return the messages about options after a release: the range of the weights, or why there are none."""
    part = document.calibration
    if part is None:
        return []
    if part.weights is None:
        text = f"The table was released without weights: {part.failed}. Change [calibration]. Then "
        return [Outcome(text=f"{text}`synthrelease card --bundle` adds the weights at no privacy cost.", failed=True)]
    weights = part.weights
    met = f" Weighted counts agree with the totals within {100 * weights.deviation:.2g}%." if part.margins else ""
    text = f"Weights: {weights.smallest:g} to {weights.largest:g}, design effect {weights.design_effect:.3g}.{met}"
    return [Outcome(text=text)]


# Weights: raking of the released rows to published totals.


def weighted(value: Calibration, rows: AcceptedRows) -> tuple[CalibrationPart, np.ndarray | None]:
    """Compute weights that adjust the released rows to published totals. Return their section, and the weight of each
    distinct row.

    If no weights reproduce the totals, they are None: the table is still released, because its budget is spent.
    """
    calibration = value.on(rows.transformation)
    outcome = weights_or_reason(rows.table.counts, calibration, rows.columns)
    part = CalibrationPart.of(calibration, rows.columns, outcome)
    return part, None if isinstance(outcome, str) else outcome.of_cells


def equally_weighted(value: Calibration, rows: AcceptedRows) -> CalibrationPart:
    equal = Weights(
        of_cells=np.ones(1), smallest=1.0, largest=1.0, design_effect=1.0, cycles=1, deviation=value.tolerance, joined=()
    )
    return CalibrationPart.of(value.on(rows.transformation), rows.columns, equal)


def _margin(margin: MarginPart) -> str:
    names, total = " by ".join(map(words, margin.columns)), figure(sum(margin.totals), 12)
    return f"{names} ({len(margin.totals)} totals, which add up to {total})"
