"""The options of a release, each checked from the folder alone: what it says must follow from its table and its other parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.donors import Gaps, NotImputed, gaps_of_cells, patterns
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.weights import disagreements
from synthrelease.errors import InputError, SynthreleaseError
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import Loss, YearOfSeries, of_the_population
from synthrelease.published.base import Files, sha256
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import (
    HEAD,
    CalibrationPart,
    GeographyPart,
    ImputationPart,
    MarksPart,
    MembersPart,
    NumberPart,
    PartitionPart,
    PopulationPart,
    SeriesPart,
    SplitPart,
    YearsPart,
    flags_of_rows,
    gaps_of,
    weights_or_reason,
)
from synthrelease.published.series import earlier_part, read, total, years_part
from synthrelease.published.table import ReleasedTable, TableError, csv_lines, read_csv, rows_of_lines
from synthrelease.published.verify.checks import Check, Earlier, made
from synthrelease.settings.tables import ReleaseFile
from synthrelease.spec.canonical import BY_DIGEST, PRIOR, read_tables


@dataclass(frozen=True, kw_only=True)
class KnownFiles:
    """What is known when an option is checked.

    Attributes
    ----------
    files : of the bundle, by name.
    rules : for released rows, on the released bins.
    earlier : other releases of the same register that were given.
    """

    files: Files
    table: ReleasedTable
    rules: Plausibility
    earlier: Sequence[Earlier] = ()


def options(document: ReleaseDocument, known: KnownFiles) -> Iterator[Check]:
    """Check every option that the release has, and whether it names the other releases that were given."""
    if (partition := document.partition) is not None:
        yield made("partition", lambda: of_partition(partition, document))
    if (split := document.split) is not None:
        yield made("split", lambda: of_split(split))
    if (members := document.members) is not None:
        yield made("members", lambda: of_members(members, known))
    if (calibration := document.calibration) is not None:
        yield made("calibration", lambda: of_calibration(calibration, document, known))
    if (series := document.series) is not None:
        yield made("series", lambda: of_series(series, document, known))
    if (population := document.population) is not None:
        yield made("population", lambda: of_population(population, document))
    if (imputation := document.imputation) is not None:
        yield made("imputation", lambda: of_imputation(imputation, document, known))
    if (geography := document.geography) is not None:
        yield made("geography", lambda: of_geography(geography, known))
    if (marks := document.marks) is not None:
        yield made("marks", lambda: of_marks(marks, document, known))
    if known.earlier and document.series is None:
        named = ", ".join(str(folder) for folder, _ in known.earlier)
        yield Check(name="other releases", problems=(f"release.json: names no earlier releases, so {named} cannot be one",))


def fixed(document: ReleaseDocument, release: ReleaseFile) -> Iterator[str]:
    """Yield what release.json says of the plan over years otherwise than the published specification, which fixes it.

    Version 1.0.0 published no such table, so that a release which it made may have what its specification does not.
    """
    table, part = release.series, document.series
    stated, said = table is not None and bool(table.fixed), "series" in document.fixed_parts
    if table is not None and stated and part is not None:
        plan = part.years
        found = (part.name, None, None, None) if plan is None else (part.name, plan.horizon, plan.year, plan.again)
        if found != (table.name, table.horizon(release.unit.records), table.year, table.again):
            yield "series: expected the plan over years, and the release of it, that the specification states; found others"
    elif stated or (said and not document.first_run):
        where = ("the specification", "release.json") if stated else ("release.json", "the specification")
        yield f"series: expected what {where[0]} states as fixed before the run in {where[1]}, too; found nothing of it"


def not_in_specification(document: ReleaseDocument, content: bytes) -> Iterator[str]:
    """Name what was fixed before the run and stands in no specification.json of version 1.0.0, a sentence each."""
    for name in document.fixed_parts.keys() - read_tables(content).keys():
        yield (
            f"What release.json says in {name!r} is no part of the specification: releases of version 1.0.0 did not publish it "
            "there, so that it can have been written after the run."
        )


# The sizes of random pieces follow from the rule and the number of rows; the piece of a register is only stated.


def of_partition(part: PartitionPart, document: ReleaseDocument) -> Check:
    """Compute the sizes once more; the table is as large as the second piece."""
    try:
        sizes = part.rule.sizes(part.rows) if 0 < part.rule.fit < 1 else None
    except SynthreleaseError:
        sizes = None
    problem = (
        f"partition: expected pieces of {sizes} rows and a table as large as the second, found {part.fit_rows}, "
        f"{part.score_rows} and {document.n_rows}"
    )
    follows = sizes == (part.fit_rows, part.score_rows) and document.n_rows == part.score_rows
    found = f"{part.fit_rows} rows for the generator and {part.score_rows} for the criteria"
    return Check(name="partition", found=found, problems=() if follows else (problem,))


def of_split(part: SplitPart) -> Check:
    """Say which piece was read."""
    return Check(name="split", found=f"piece {part.piece} of {part.of}, by the record number {part.by}")


def of_members(part: MembersPart, known: KnownFiles) -> Check:
    """Count the members: their rows are checked with those of the roots."""
    counts = known.table.counts
    numbers = part.linked.numbers(counts.bins[counts.layout.columns.index(part.size)])
    members = int((numbers * counts.counts).sum())
    return Check(name="members", found=f"{members} members of {counts.total} roots, each with the key of its root")


# The weights of a released table, raked anew from the table and the published totals.

_RELATIVE = 1e-6
"""Weights that are computed again may differ by so much, from one machine to another."""


def of_calibration(part: CalibrationPart, document: ReleaseDocument, known: KnownFiles) -> Check:
    """Rake once more: the weights, or the reason why there are none, follow from the rows and the published totals."""
    found = "none: the table cannot have the totals, as release.json says"
    if part.weights is not None:
        deviation = f"{100 * part.weights.deviation:.2g}%"
        found = f"{len(part.margins)} margins met to {deviation}, the same weight for equal rows"
    problems = tuple(f"weights: {problem}" for problem in _weight_problems(document, part, known.table))
    return Check(name="calibration", found=found, problems=problems)


def _weight_problems(document: ReleaseDocument, stated: CalibrationPart, table: ReleasedTable) -> Iterator[str]:
    calibration = stated.calibration(document.columns)
    for one in disagreements(calibration.margins, calibration.tolerance):
        yield f"the margins {one.left.name} and {one.right.name} disagree about {one.cell or 'the number of persons'}"
    if calibration.start is not None and calibration.start not in table.names:
        yield f"expected a column of the table to start from, found {calibration.start!r}"
        return
    outcome = weights_or_reason(table.counts, calibration, document.columns)
    found = None if isinstance(outcome, str) else outcome.of_cells
    part = CalibrationPart.of(calibration, document.columns, outcome)
    if (part.weights is None) != (stated.weights is None) or part.failed != stated.failed:
        yield "from the table and the totals follows something else than release.json says"
    elif table.weights is not None and found is not None and not _near(table.weights, found):
        yield "those in the table do not follow from its rows and the totals"
    elif not _same_weights(part, stated):
        yield "what release.json says about them does not follow from the table and the totals"


def _near(left: np.ndarray, right: np.ndarray) -> bool:
    return bool(np.allclose(left, right, rtol=_RELATIVE, atol=0))


def _same_weights(left: CalibrationPart, right: CalibrationPart) -> bool:
    """Whether two parts that state the same margins say the same about the weights."""
    mine, theirs = left.weights, right.weights
    if mine is None or theirs is None:
        return mine is theirs
    figures = [(one.smallest, one.largest, one.design_effect) for one in (mine, theirs)]
    near = _near(np.array(figures[0], dtype=float), np.array(figures[1], dtype=float))
    return (
        near
        and abs(mine.deviation - theirs.deviation) <= _RELATIVE
        and (mine.cycles, mine.joined) == (theirs.cycles, theirs.joined)
    )


# Earlier releases of the same register: the sum that is stated, and what is said of each, against the releases themselves.


def of_series(part: SeriesPart, document: ReleaseDocument, known: KnownFiles) -> Check:
    """Add up what is listed for a person, and compare what is listed with the releases that were given."""
    looked = f"{len(known.earlier)} of {len(part.earlier) + (part.corrects is not None)} other releases looked at"
    total_epsilon = part.total_epsilon_exact
    of_all = "nothing is promised to a person" if total_epsilon is None else f"epsilon {total_epsilon}"
    plan = part.years
    promised = "" if plan is None else f"; epsilon {plan.promised_epsilon_exact} promised over {len(plan.epsilons_exact)} years"
    found = f"{part.name}: {of_all} for a person in all{promised}; {looked}"
    return Check(name="series", found=found, problems=tuple(_series_problems(document, part, known)))


def _series_problems(document: ReleaseDocument, part: SeriesPart, known: KnownFiles) -> Iterator[str]:
    sums = total(part.earlier, part.corrects, document.guarantee.person)
    if sums != (part.total_epsilon_exact, part.total_delta_exact):
        yield f"release.json: series: expected {sums[0]} and {sums[1]} as the sum, found others"
    if part.years is None and any(one.year is not None for one in part.earlier):
        yield "release.json: series: expected the plan over years that an earlier release has, found none"
    if part.years is not None:
        yield from (f"release.json: series: years: {problem}" for problem in _not_planned(document, part, part.years))
    if unlisted := sorted(set(_released_priors(document)) - {one.digest for one in part.earlier}):
        yield f"release.json: configuration: expected a public table that series names, found {unlisted[0][:16]}..."
    listed = {one.digest: one for one in part.earlier}
    for folder, files in known.earlier:
        content = files.get("release.json", b"")
        try:
            old = read(content)
            expected = earlier_part(content, document)
        except InputError as error:
            yield f"{folder}: {error}"
            continue
        digest = sha256(content)
        if part.corrects is not None and digest == part.corrects.digest:
            yield from (f"{folder}: {problem}" for problem in _not_corrected(document, known.table, old, files))
        elif digest not in listed:
            yield f"{folder}: release.json: names no release with its checksum {digest}"
        elif listed[digest] != expected:
            stated = listed[digest]
            wrong = [name for name in type(expected).model_fields if getattr(stated, name) != getattr(expected, name)]
            found = f"{', '.join(wrong)} of {folder}: expected what follows from it, found something else"
            yield f"release.json: series: {found}"


def _not_planned(document: ReleaseDocument, part: SeriesPart, plan: YearsPart) -> Iterator[str]:
    """What does not follow from the plan over years and from the releases that are named."""
    horizon, own = plan.horizon, document.guarantee
    if plan.year not in horizon.years:
        yield f"expected a year of the plan, {horizon.years[0]} to {horizon.years[-1]}, found {plan.year}"
        return
    if any(one.year == plan.year and one.corrects is None for one in part.earlier if one.year is not None):
        yield f"expected one release of {plan.year}, found an earlier one"
    if any(one.year is None for one in part.earlier):
        yield "expected the year of every earlier release, found one without"
        return
    most = horizon.most(plan.year, plan.again)
    if not (Fraction(own.epsilon_exact) <= most and Fraction(own.delta_exact) <= horizon.delta):
        yield f"expected a release of {plan.year} that costs epsilon {most} at most, as planned, found {own.epsilon_exact}"
    if plan.records_in_year != min(own.person.records, plan.records_in_all):
        yield f"expected {own.person.records} records of a person in a year, as guaranteed, found {plan.records_in_year}"
    if plan != years_part(YearOfSeries(horizon=horizon, year=plan.year, again=plan.again), part.earlier, document):
        yield "expected what is promised, and paid so far, to follow from the plan and the named releases, found others"


def _released_priors(document: ReleaseDocument) -> Iterator[str]:
    """The digests of the earlier releases that the generator started from."""
    prior = document.configuration.get("generator", {}).get(PRIOR)
    if isinstance(prior, dict) and isinstance(prior.get("release"), str):
        yield prior["release"].removeprefix(BY_DIGEST)


def _not_corrected(document: ReleaseDocument, table: ReleasedTable, old: ReleaseDocument, files: Files) -> Iterator[str]:
    """What shows that this is no erratum of a release, but another one, which would have spent."""
    for name in ("specification", "n_rows", "guarantee", "charges", "criteria", "configuration", "columns"):
        if getattr(document, name) != getattr(old, name):
            yield f"expected the same {name} in an erratum, found another"
            return
    try:
        rows = read_csv(files.content(old.csv), old.shape, files.content(old.tables[0][1]))
    except TableError as error:
        yield f"{old.csv}: {error}"
        return
    if not rows.counts.same_as(table.counts):
        yield f"{old.csv}: expected the same rows in an erratum, found others"


# The sentence for a member of the population follows from the guarantee and from both numbers of records.


def of_population(part: PopulationPart, document: ReleaseDocument) -> Check:
    """Compute the sentence once more; nothing may say that the file is another sample, or that there are other releases."""
    epsilon = decimal_text(part.loss().epsilon)
    found = f"a sample of {part.sampled} of {part.size}: epsilon {epsilon} beside the guarantee"
    return Check(name="population", found=found, problems=tuple(_population_problems(document, part)))


def _population_problems(document: ReleaseDocument, part: PopulationPart) -> Iterator[str]:
    guarantee = document.guarantee
    if part.sampled != document.domain.file_rows or part.sampled > part.size:
        there = document.domain.file_rows
        yield f"population: expected a sample of {there} rows, as the file has, found {part.sampled} rows"
        return
    whole = Loss(Fraction(guarantee.epsilon_exact), Fraction(guarantee.delta_exact))
    expected = of_the_population(whole, part.sampled, part.size)
    if part.loss() != expected:
        yield f"population: expected epsilon {expected.epsilon} and delta {expected.delta}, found others"
    if guarantee.person.records > 1:
        yield "population: expected none where a person stands in several records, found one"
    if document.several_releases:
        yield "population: expected none where there are other releases of the same records, found one"


# The complete copies: observed values stayed, and what was filled in has a donor among the released rows.


def of_imputation(part: ImputationPart, document: ReleaseDocument, known: KnownFiles) -> Check:
    """Look at each row of each copy. Which donor was drawn is random; only that there is one can be checked."""
    name = part.file(document.bundle)
    problems = tuple(f"{name}: {problem}" for problem in _imputation_problems(document, part, name, known))
    found = f"{0 if part.failed else part.copies} copies, observed values as in data.csv, others with donors"
    return Check(name="imputation", found=found, problems=problems)


def _imputation_problems(document: ReleaseDocument, part: ImputationPart, name: str, known: KnownFiles) -> Iterator[str]:
    table, rules = known.table, known.rules
    if part.failed:
        if name in document.files:
            yield "expected none, found one"
        return
    gaps = gaps_of(part, document.columns)
    if part.smallest != document.minimum_count:
        yield f"expected rows that occur at least {document.minimum_count} times, release.json states {part.smallest}"
    open_ = gaps_of_cells(table.counts, gaps.missing, rules)
    if part.rows != int(table.counts.counts[open_.any(axis=1)].sum()):
        yield f"{part.rows} rows are said to lack a value; in data.csv there are others"
    if name not in known.files or name not in document.files:
        yield "expected in the bundle, not there"
        return
    try:
        lines = csv_lines(known.files.content(name))
        stated = [*HEAD, *replace(table.shape, weighted=False).header]
        if next(lines, []) != stated:
            yield f"expected the columns {', '.join(stated)}, found others"
            return
        flags = flags_of_rows(table, open_)
        for number in range(1, part.copies + 1):
            yield from _copy_problems(number, list(islice(lines, len(flags))), flags, table, gaps, rules, open_)
        if next(lines, None) is not None:
            yield f"expected {part.copies} copies, found more rows"
    except TableError as error:
        yield str(error)


def _copy_problems(
    number: int,
    lines: list[list[str]],
    flags: list[str],
    table: ReleasedTable,
    gaps: Gaps,
    rules: Plausibility,
    open_: np.ndarray,
) -> Iterator[str]:
    head = [[str(number), str(row), flag] for row, flag in enumerate(flags, start=1)]
    if [line[:3] for line in lines] != head:
        yield f"copy {number}: expected one line for each row of data.csv, in order, with the columns that it lacks"
        return
    try:
        batches = list(rows_of_lines((line[len(HEAD) :] for line in lines), replace(table.shape, weighted=False)))
    except TableError as error:
        yield f"copy {number}: {error}"
        return
    bins = [np.concatenate(parts).astype(np.int64) for parts in zip(*(batch.bins for batch in batches), strict=True)]
    lacking = np.repeat(open_, table.counts.counts, axis=0)
    for column, gap in enumerate(gaps.missing):
        if (bins[column] != table.counts.rows(column))[~lacking[:, column]].any():
            yield f"copy {number}: an observed value of {table.names[column]} is another one than in data.csv"
        if gap is not None and (bins[column] == gap)[lacking[:, column]].any():
            yield f"copy {number}: a value of {table.names[column]} is still missing"
    yield from (f"copy {number}: {problem}" for problem in _donor_problems(bins, table, gaps, open_))
    if rules.forbidden(bins).any():
        yield f"copy {number}: a row breaks the plausibility rules for released rows"
    if int(Counts.of(table.counts.layout, bins).counts.min()) < gaps.smallest:
        yield f"copy {number}: a row occurs fewer than {gaps.smallest} times"


def _donor_problems(bins: list[np.ndarray], table: ReleasedTable, gaps: Gaps, open_: np.ndarray) -> Iterator[str]:
    """Values filled in together that no released row has together."""
    starts = np.concatenate([[0], np.cumsum(table.counts.counts)])
    try:
        for pattern in patterns(table.counts, gaps.missing, open_):
            layout = table.counts.layout.subset(pattern.columns)
            donors = Counts.of(layout, [table.counts.bins[column][pattern.donors] for column in pattern.columns])
            rows = np.concatenate([np.arange(starts[cell], starts[cell + 1]) for cell in pattern.recipients])
            if (donors.find([bins[column][rows] for column in pattern.columns]) < 0).any():
                yield f"values of {', '.join(layout.columns)} were filled in that no released row has"
    except NotImputed as error:
        yield str(error)


# Rows of every area are those of the areas in it, level by level, as the rules say which lies in which.


def of_geography(part: GeographyPart, known: KnownFiles) -> Check:
    """Add up the areas of each level, and compare with the level above."""
    problems = tuple(_geography_problems(part, known))
    if problems:
        return Check(name="geography", problems=problems)
    counts = known.table.counts
    with_rows = []
    for level in part.levels:
        rows = counts.marginal([counts.layout.columns.index(level.column)])
        with_rows.append(f"{np.count_nonzero(rows):,} of {level.areas:,} {level.column}")
    found = f"areas with rows: {', '.join(with_rows)}; the rows of each are those of the areas in it"
    return Check(name="geography", found=found)


def _geography_problems(part: GeographyPart, known: KnownFiles) -> Iterator[str]:
    counts, places = known.table.counts, []
    for level in part.levels:
        if level.column not in counts.layout.columns:
            yield f"geography: expected a column {level.column!r} in the table, found none"
            return
        places.append(counts.layout.columns.index(level.column))
        if counts.layout.sizes[places[-1]] != level.areas:
            yield f"geography: expected {counts.layout.sizes[places[-1]]} areas of {level.column!r}, found {level.areas}"
    lowest = counts.marginal([places[-1]])
    homes = []
    for place in places[:-1]:
        home = known.rules.home_of(place, places[-1])
        if home is None:
            name = counts.layout.columns[place]
            yield f"geography: expected a rule that puts each area into one of {name!r}, found none"
            return
        homes.append(home)
        summed = np.bincount(home, weights=lowest, minlength=counts.layout.sizes[place]).astype(np.int64)
        if wrong := int((summed != counts.marginal([place])).sum()):
            name = counts.layout.columns[place]
            yield f"geography: expected rows of {name!r} that are those of the areas in it, found others in {wrong}"
    for upper, lower in pairwise(homes):
        if len(np.unique(np.stack([upper, lower]), axis=1).T) != len(np.unique(lower)):
            yield "geography: expected levels that lie within one another, found an area in two of the level above"


# Every row has as many marks as its column says.


def of_marks(part: MarksPart, document: ReleaseDocument, known: KnownFiles) -> Check:
    """Count the marks of every row, and compare."""
    problems = tuple(_marks_problems(document, part, known))
    if problems:
        return Check(name="marks", problems=problems)
    counts = known.table.counts
    marked = []
    for group in part.groups:
        rows = counts.marginal([counts.layout.columns.index(group.column)])
        marked.append(f"{int(rows[1:].sum()):,} in {group.column}")
    return Check(name="marks", found=f"rows with a mark: {', '.join(marked)}; every row has as many marks as it says")


def _marks_problems(document: ReleaseDocument, part: MarksPart, known: KnownFiles) -> Iterator[str]:
    columns = {column.name: column for column in document.columns}
    for group in part.groups:
        if missing := [name for name in (group.column, *group.marks) if name not in columns]:
            yield f"marks: expected a column {missing[0]!r} in the table, found none"
        elif columns[group.column].kind != "integer" or columns[group.column].missing == "bin":
            yield f"marks: expected whole numbers in {group.column!r}, found something else"
        else:
            yield from _miscounted(group, document, known)


def _miscounted(group: NumberPart, document: ReleaseDocument, known: KnownFiles) -> Iterator[str]:
    counts = known.table.counts
    places = {column.name: place for place, column in enumerate(document.columns)}
    number = np.zeros(len(counts), dtype=np.int64)
    for name, labels in group.marks.items():
        held = [set(one.categories or ()) for one in document.columns[places[name]].bins]
        if any(categories & set(labels) and not categories <= set(labels) for categories in held):
            yield f"marks: expected bins of {name!r} that hold marks alone or none, found others"
            return
        number += np.array([bool(categories & set(labels)) for categories in held])[counts.digits(places[name])]
    edges = [one.edges for one in document.columns[places[group.column]].bins]
    low, high = (np.array(ends)[counts.digits(places[group.column])] for ends in zip(*edges, strict=True))
    if wrong := int(counts.counts[(number < low) | (number >= high)].sum()):
        yield f"marks: expected rows with as many marks as {group.column!r} says, found {wrong} others"
