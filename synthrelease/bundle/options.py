"""The options of a release, each by its name: their parts of release.json, what they make of the released rows, and the card.

An option of a few lines stands here; those with more to say have a module: `calibration`, `imputation` and `series`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

from synthrelease.bundle import calibration, imputation, series
from synthrelease.bundle.card.numbers import exact_epsilon, rounded_up
from synthrelease.bundle.tables import AcceptedRows
from synthrelease.criteria.facts import figure
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.published.base import Part
from synthrelease.published.columns import RulePart
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.options import (
    GeographyPart,
    LevelPart,
    MarksPart,
    MembersPart,
    NumberPart,
    PartitionPart,
    PopulationPart,
    SplitPart,
)
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.options import PopulationTable
from synthrelease.settings.tables import BundleTable
from synthrelease.settings.wide import AREAS_WHY, MARKS_WHY
from synthrelease.spec.release_spec import ReleaseSpec

# What is made of the released rows: weights and complete copies.


@dataclass(frozen=True, kw_only=True)
class MadeOfRows:
    """The released table, perhaps weighted, with the parts of release.json and the files that options made of its rows."""

    table: ReleasedTable
    parts: Mapping[str, Part]
    files: Mapping[str, bytes]


def made(spec: ReleaseSpec, rows: AcceptedRows, *, anew: bool = False) -> MadeOfRows:
    """Make weights and complete copies of the released rows.

    Parameters
    ----------
    anew : for a bundle that is finished: weights are a function of the rows and are made again; copies stay as they were drawn.
    """
    table, parts, files = rows.table, dict[str, Part](), dict[str, bytes]()
    if (totals := spec.options.calibration) is not None:
        parts["calibration"], weights = calibration.weighted(totals, rows)
        table = replace(table, weights=weights)
    if (asked := spec.options.imputation) is not None and not anew:
        parts["imputation"], files = imputation.complete_copies(asked, rows)
    return MadeOfRows(table=table, parts=parts, files=files)


def placeholders(spec: ReleaseSpec, rows: AcceptedRows) -> dict[str, Part]:
    """Return the same parts of release.json for a preview, in which no row was accepted."""
    parts = dict[str, Part]()
    if (totals := spec.options.calibration) is not None:
        parts["calibration"] = calibration.placeholder(totals, rows)
    if (asked := spec.options.imputation) is not None:
        parts["imputation"] = imputation.placeholder(asked, rows)
    return parts


def files_anew(old: ReleaseDocument, files: Mapping[str, bytes], now: BundleTable) -> dict[str, bytes]:
    """Return the files of options in a bundle that is written anew."""
    part = old.imputation
    return {} if part is None else imputation.files_anew(part, files, old.bundle, now)


# Parts of release.json.


def planned(spec: ReleaseSpec, rows: int) -> dict[str, Part]:
    """Return the parts that follow from the specification and from the rows that the release works with."""
    parts = dict[str, Part]()
    if spec.partition is not None:
        parts["partition"] = PartitionPart.of(spec.partition, rows)
    if spec.split is not None:
        parts["split"] = SplitPart(by=spec.split.by, piece=spec.split.piece, of=spec.split.of)
    return parts


def with_parts(document: ReleaseDocument, spec: ReleaseSpec, made_of_rows: Mapping[str, Part]) -> ReleaseDocument:
    """Return a new release's document, which has the planned parts, with those of all other options.

    Parameters
    ----------
    made_of_rows : the parts that were made of the released rows.
    """
    asked = spec.options.series
    of_series = {} if asked is None else {"series": series.part(asked, document)}
    return document.model_copy(update={**_stated(document, spec), **of_series, **made_of_rows})


def with_parts_anew(
    document: ReleaseDocument, spec: ReleaseSpec, made_of_rows: Mapping[str, Part], before: bytes
) -> ReleaseDocument:
    """Return the document of a bundle that is written anew, where words alone may be others.

    Parameters
    ----------
    made_of_rows : the parts that were made again of the released rows.
    before : its release.json until now.

    Raises
    ------
    OtherRelease : when that is not the release it should be.
    """
    plain = document.model_copy(update={**dict.fromkeys(document.parts), **planned(spec, document.rows_worked_with)})
    kept = dict[str, Part | None]()
    if spec.options.imputation is not None:
        kept["imputation"] = read_strictly(before).imputation
    if (asked := spec.options.series) is not None:
        kept["series"] = series.part_anew(asked, plain, before)
    return plain.model_copy(update={**_stated(plain, spec), **kept, **made_of_rows})


def _stated(document: ReleaseDocument, spec: ReleaseSpec) -> dict[str, Part]:
    """The parts that say what the specification holds, and what follows from it and the rest of the document."""
    parts = dict[str, Part]()
    if (linked := spec.schema.linked) is not None:
        parts["members"] = MembersPart.of(linked)
    if (population := spec.options.population) is not None and document.domain.file_rows is not None:
        parts["population"] = _population(population, document, document.domain.file_rows)
    if (areas := spec.options.geography) is not None:
        levels = zip(areas.chain, areas.areas, strict=True)
        parts["geography"] = GeographyPart(levels=[LevelPart(column=name, areas=count) for name, count in levels])
    if (marks := spec.options.marks) is not None:
        groups = ((name, {one: list(labels) for one, labels in group.items()}) for name, group in marks.groups.items())
        parts["marks"] = MarksPart(groups=[NumberPart(column=name, marks=group) for name, group in groups])
    return parts


def _population(population: PopulationTable, document: ReleaseDocument, rows: int) -> PopulationPart:
    """What a member of the population is promised, where the file is a sample with a public number of rows (theory 11.3,
    amplification by a subset)."""
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


# The card.


@dataclass(frozen=True, kw_only=True)
class CardStatement:
    """A sentence of the card beside the guarantee."""

    heading: str
    text: str


class CardColumn(NamedTuple):
    """A column of a table of the card: its heading, and how it is set."""

    heading: str
    kind: Literal["", "number", "wide"] = ""


@dataclass(frozen=True, kw_only=True)
class CardSection:
    """A section of the card: sentences, and a table where there are rows.

    Attributes
    ----------
    place : after which other sections it stands: those of the rows, or those of the guarantee and the charges.
    label : of the table, for readers who do not see it.
    rows : the first cell of each is its heading.
    """

    anchor: str
    heading: str
    sentences: tuple[str, ...]
    place: Literal["rows", "guarantee"] = "rows"
    label: str = ""
    columns: tuple[CardColumn, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def statements(document: ReleaseDocument) -> list[CardStatement]:
    """Return what options say beside the guarantee."""
    found = []
    if document.members is not None:
        found.append(CardStatement(heading="With all its members", text=_PROTECTED_MEMBERS))
    if (population := document.population) is not None:
        found.append(CardStatement(heading="Population", text=_population_text(population)))
    return found


_PROTECTED_MEMBERS = (
    "A record is a root with all its members, in any number: whoever replaces all of them changes one record. "
    "So a change of one member, or of how many there are, is covered at the stated epsilon. "
    "Somebody who stands in several roots is covered by so many times this epsilon, and a move from one root to another by "
    "twice. "
    "Who leaves for a root that was not in the file, or takes the last row of one along, changes the number of roots, "
    "which is public: that is covered by nothing."
)


def _population_text(part: PopulationPart) -> str:
    delta = "" if part.delta_exact == "0" else f", delta = {float(Fraction(part.delta_exact)):.3g}"
    return (
        f"The file is a simple random sample, without replacement, of {figure(part.sampled)} of {figure(part.size)} "
        f"records ({part.source}). For one of these of whom nobody knows whether he is in the file: epsilon = "
        f"{exact_epsilon(part.epsilon_exact)}{delta}. Whoever is known to have been drawn has the guarantee above, and "
        "that alone counts in the budget of the dataset; of several releases from the file the guarantees are added up "
        "first."
    )


def about_figures(document: ReleaseDocument) -> list[str]:
    """Return what readers of every figure must know where figures are not about all rows; empty where they are."""
    found = []
    if (partition := document.partition) is not None:
        found += _about_pieces(partition)
    in_file = document.domain.file_rows
    if (split := document.split) is not None and in_file is not None:
        found += _about_the_register(split, document.rows_worked_with, in_file)
    return found


def _about_pieces(part: PartitionPart) -> list[str]:
    """How rows were divided, and by how much a piece differs from them."""
    half, tenth = (rounded_up(100 * part.sampling_error(share), 2) for share in (0.5, 0.1))
    return [
        f"The {figure(part.rows)} original rows were divided at random, without a look at their values and in secret: the "
        f"generator was fitted to {figure(part.fit_rows)} of them, and the criteria compare the table with the other "
        f"{figure(part.score_rows)}. Each record is in one of the pieces, so it costs what that piece spends.",
        "So every figure, noise and interval below is about that piece, also where it says “original”, and not about all "
        f"rows. The piece differs from them by chance: a share of one half by {half} percentage points, one of a tenth by "
        f"{tenth} (one standard deviation). The intervals do not contain this.",
    ]


def _about_the_register(part: SplitPart, rows: int, in_file: int) -> list[str]:
    """How the register is split, and by how much a piece differs from it."""
    half, tenth = (rounded_up(100 * part.sampling_error(rows, in_file, share), 2) for share in (0.5, 0.1))
    return [
        f"The register of {figure(in_file)} records is split into {part.of} pieces by a secret key and the public record "
        f"number ({part.by}), which is not released, and by nothing else. This release read piece {part.piece}. Its "
        "guarantee is for replacing a record by any other. Over several releases a record whose number stays pays for "
        "those that read its piece, and for those that read all records; where its number may be replaced, too, the two "
        "dearest pieces add up.",
        "So every figure, noise and interval below is about that piece, also where it says “original”, and not about all "
        f"records of the register. The piece differs from them by chance: a share of one half by {half} percentage points, "
        f"one of a tenth by {tenth} (one standard deviation). The intervals do not contain this.",
    ]


_SERIES_COLUMNS = (
    CardColumn("earlier release"),
    CardColumn("published"),
    CardColumn("epsilon, record", "number"),
    CardColumn("epsilon, person", "number"),
    CardColumn("what is otherwise in this release", "wide"),
)


def sections(document: ReleaseDocument) -> list[CardSection]:
    """Return the sections of the card that options have."""
    found = []
    if (members := document.members) is not None:
        texts = _of_members(members, document.bundle)
        found.append(CardSection(anchor="members", heading="Members", sentences=texts))
    if (weights := document.calibration) is not None:
        found.append(CardSection(anchor="weights", heading="Weights", sentences=calibration.sentences(weights)))
    if (earlier := document.series) is not None:
        found.append(
            CardSection(
                anchor="series",
                heading="Releases of the same register",
                sentences=series.sentences(earlier, document),
                place="guarantee",
                label="Earlier releases",
                columns=_SERIES_COLUMNS,
                rows=series.rows(earlier),
            )
        )
    if (copies := document.imputation) is not None:
        texts = imputation.sentences(copies, document.bundle)
        found.append(CardSection(anchor="copies", heading="Complete copies", sentences=texts))
    if (areas := document.geography) is not None:
        texts = _of_areas(areas, document.n_rows)
        found.append(CardSection(anchor="geography", heading="Areas within areas", sentences=texts))
    if (marks := document.marks) is not None:
        found.append(CardSection(anchor="marks", heading="Numbers of marks", sentences=_of_marks(marks)))
    return found


def _of_members(part: MembersPart, bundle: BundleTable) -> tuple[str, ...]:
    """How the two files belong together."""
    roots, members = f"{bundle.stem}.csv", bundle.named("members.csv")
    cap = {
        "first": f"Of a root with more than {part.most} members the first {part.most} are in the file, and {part.size} is "
        f"{part.most}.",
        "drop": f"Roots with more than {part.most} members are left out.",
    }[part.more]
    first = part.columns[0]
    return (
        f"{roots} has a row for each root, with the number of its members as {part.size}; {members} has a row for each member "
        f"({', '.join(part.columns)}). Both begin with {part.key}, by which they are joined: new numbers, which are in no "
        "other file.",
        cap,
        f"Below and in the criteria {first}_1 is {first} of the first member of a root, {first}_2 that of the second, and so "
        "on.",
        "Members of one root are alike: a standard error that takes members for independent is too small. Count roots, or use "
        "an estimator for clusters.",
    )


def _of_areas(part: GeographyPart, rows: int) -> tuple[str, ...]:
    """Which levels there are, and how they belong together."""
    names = [level.column for level in part.levels]
    sizes = ", ".join(
        f"{level.column} ({figure(level.areas)}, with {figure(rows // level.areas)} rows on average)" for level in part.levels
    )
    return (
        f"Levels, from the largest areas to the smallest: {sizes}.",
        f"{' and '.join(names[:-1])} {'follows' if len(names) == 2 else 'follow'} from {names[-1]} by a public list, in every "
        "row: counts of areas add up to those of the area they lie in. The rules that say so are in release.json.",
        "The smaller an area, the larger the noise beside its rows. Which tables of each level were measured stands with the "
        "generator; all else is in an area as in the one it lies in.",
    )


def _of_marks(part: MarksPart) -> tuple[str, ...]:
    """Which columns of numbers there are, and what each counts."""
    counted = (
        f"{group.column} counts: "
        + "; ".join(f"{column} is {' or '.join(labels)}" for column, labels in group.marks.items())
        + "."
        for group in part.groups
    )
    return (
        "These columns are in no private file: each is the number of marks in the other columns of the same row, in "
        "every released row exactly. A missing value is no mark. They keep how often marks come together.",
        *counted,
    )


def listed_rules(document: ReleaseDocument) -> list[RulePart]:
    """Return the rules that the card lists: those that no section of an option tells, which names all areas or marks."""
    areas, marks = document.geography, document.marks
    levels = [] if areas is None else [f"{level.column} " for level in areas.levels]
    counted = [] if marks is None else [f"!= {group.column}" for group in marks.groups]

    def told(rule: RulePart) -> bool:
        if rule.why == AREAS_WHY and rule.never.startswith(tuple(levels)):
            return True
        return rule.why == MARKS_WHY and rule.never.endswith(tuple(counted))

    return [rule for rule in document.rules if not told(rule)]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the command says of an option after a release is written."""

    text: str
    failed: bool = False


def outcomes(document: ReleaseDocument) -> list[Outcome]:
    """Return what the command says of options after a release is written: of weights their range, or why there are none."""
    part = document.calibration
    if part is None:
        return []
    if part.weights is None:
        text = f"The table was released without weights: {part.failed}. Nothing is lost: change [calibration], and "
        return [Outcome(text=f"{text}`synthrelease card --bundle` adds the weights, at no cost.", failed=True)]
    weights = part.weights
    text = f"Weights: {weights.smallest:g} to {weights.largest:g}, design effect {weights.design_effect:.3g}, totals met to "
    return [Outcome(text=f"{text}{100 * weights.deviation:.2g}%.")]
