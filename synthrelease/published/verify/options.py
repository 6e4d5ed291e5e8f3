"""Check each option of a release from the folder alone: release.json must agree with the table and with itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.donors import Gaps, NotImputed, gaps_of_cells, patterns
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import bins_of_sets
from synthrelease.data.weights import disagreements
from synthrelease.errors import BudgetError, InputError, SynthreleaseError, so_many
from synthrelease.privacy.cap import within_cap
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import Loss, YearOfSeries, of_the_population
from synthrelease.published.base import Files, sha256
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import (
    HEAD,
    CalibrationPart,
    GeographyPart,
    ImputationPart,
    MarksGroupPart,
    MarksPart,
    MembersPart,
    PartitionPart,
    PopulationPart,
    ScoutPart,
    SeriesPart,
    SplitPart,
    YearsPart,
    flags_of_rows,
    gaps_of,
    weights_or_reason,
)
from synthrelease.published.series import earlier_part, read, total, years_part
from synthrelease.published.table import ReleasedTable, RowsBatch, TableError, csv_batches, read_csv, rows_of
from synthrelease.published.verify.checks import Check, Earlier, made
from synthrelease.settings.tables import ReleaseFile
from synthrelease.spec.canonical import BY_DIGEST, PRIOR, read_tables


@dataclass(frozen=True, kw_only=True)
class KnownFiles:
    """The files and tables that the checks of options use.

    Attributes
    ----------
    files : the files of the bundle, by name.
    rules : the rules for released rows, on the released bins.
    earlier : the given other releases of the same register.
    """

    files: Files
    table: ReleasedTable
    rules: Plausibility
    earlier: Sequence[Earlier] = ()


def options(document: ReleaseDocument, bundle: KnownFiles) -> Iterator[Check]:
    """Yield the result of a check for each option that the release uses.

    A failed check is added if the caller gave other releases of the register although release.json names none.
    """
    checks: dict[str, Callable[[Any], Check]] = {
        "partition": lambda part: of_partition(part, document),
        "split": of_split,
        "members": lambda part: of_members(part, bundle),
        "calibration": lambda part: of_calibration(part, document, bundle),
        "series": lambda part: of_series(part, document, bundle),
        "scout": lambda part: of_scout(part, document),
        "population": lambda part: of_population(part, document),
        "imputation": lambda part: of_imputation(part, document, bundle),
        "geography": lambda part: of_geography(part, bundle),
        "marks": lambda part: of_marks(part, document, bundle),
    }
    for name, check in checks.items():
        if (part := getattr(document, name)) is not None:
            yield made(name, partial(check, part))
    if bundle.earlier and document.series is None:
        folders = ", ".join(str(folder) for folder, _ in bundle.earlier)
        yield Check(
            name="other releases", problems=(f"release.json names no earlier release, so {folders} cannot be checked as one",)
        )


def fixed(document: ReleaseDocument, release: ReleaseFile) -> Iterator[str]:
    """Yield a sentence if release.json and the published specification differ in the multi-year plan or in its year.

    The specification of version 1.0.0 may lack this table.
    """
    table, part = release.series, document.series
    in_specification, in_release = table is not None and bool(table.fixed), "series" in document.fixed_parts
    if table is not None and in_specification and part is not None:
        plan = part.years
        plan_of_release = (part.name, None, None, None) if plan is None else (part.name, plan.horizon, plan.year, plan.again)
        if plan_of_release != (table.name, table.horizon(release.unit.records), table.year, table.again):
            yield "series: the multi-year plan, or the year in this plan, differs from the specification"
    elif in_specification or (in_release and not document.first_run):
        files = ("the specification", "release.json") if in_specification else ("release.json", "the specification")
        yield f"series: {files[0]} states what was fixed before the run, but {files[1]} does not"


def not_in_specification(document: ReleaseDocument, content: bytes) -> Iterator[str]:
    """Yield a sentence for each section that had to be fixed before the run, but that version 1.0.0 left out of
    specification.json.
    """
    for name in document.fixed_parts.keys() - read_tables(content).keys():
        yield (
            f"The specification does not contain {name!r} of release.json, because version 1.0.0 did not publish it there. "
            "This part may have been written after the run."
        )


# The sizes of random pieces follow from the rule and the number of rows. The piece of a register is only stated.


def of_partition(part: PartitionPart, document: ReleaseDocument) -> Check:
    """Check the sizes of the two random pieces of the rows. The released table has as many rows as the second."""
    try:
        sizes = part.rule.sizes(part.rows) if 0 < part.rule.fit < 1 else None
    except SynthreleaseError:
        sizes = None
    problem = f"partition: {part.rows:,} rows cannot be divided with the share {part.fit_exact}"
    if sizes is not None:
        problem = (
            f"partition: the pieces must have {sizes[0]:,} and {sizes[1]:,} rows, and the table as many as the second. They "
            f"have {part.fit_rows:,} and {part.score_rows:,}, and the table has {document.n_rows:,}"
        )
    follows = sizes == (part.fit_rows, part.score_rows) and document.n_rows == part.score_rows
    summary = f"{part.fit_rows:,} rows for the generator and {part.score_rows:,} for the criteria"
    return Check(name="partition", found=summary, problems=() if follows else (problem,))


def of_split(part: SplitPart) -> Check:
    """Report which piece of the register the release used. Nothing in the bundle can contradict it."""
    return Check(name="split", found=f"piece {part.piece} of {part.of}, by the record number {part.by}")


def of_members(part: MembersPart, bundle: KnownFiles) -> Check:
    """Report the number of members of all roots. This check cannot fail; the check "table" compares the two files."""
    counts = bundle.table.counts
    numbers = part.linked.numbers(counts.bins[counts.layout.columns.index(part.size)])
    members = int((numbers * counts.counts).sum())
    found = f"{so_many(members, 'member')} of {so_many(counts.total, 'root')}, each with the key of its root"
    return Check(name="members", found=found)


# The weights of a released table, raked again from the table and the published totals.

_RELATIVE = 1e-6  # Relative tolerance for recomputed weights: machines differ in the last digits


def of_calibration(part: CalibrationPart, document: ReleaseDocument, bundle: KnownFiles) -> Check:
    """Check the published weights, or their absence, by computing them again from the rows and the published totals."""
    summary = "the table has no weights, because no weights give the totals, as release.json says"
    if part.weights is not None:
        deviation = f"{100 * part.weights.deviation:.2g}%"
        summary = f"the weighted rows have the totals of {len(part.margins)} margins within {deviation}"
        if not part.margins:
            summary = "the weights are the representative values of their classes"
    problems = tuple(f"weights: {problem}" for problem in _weight_problems(document, part, bundle.table))
    return Check(name="calibration", found=summary, problems=problems)


def _weight_problems(document: ReleaseDocument, part_stated: CalibrationPart, table: ReleasedTable) -> Iterator[str]:
    calibration = part_stated.calibration(document.columns)
    for pair in disagreements(calibration.margins, calibration.tolerance):
        yield f"the margins {pair.left.name} and {pair.right.name} disagree about {pair.cell or 'the number of persons'}"
    if calibration.start is not None and calibration.start not in table.names:
        yield f"the weights start from {calibration.start!r}, which is not a column of the table"
        return
    outcome = weights_or_reason(table.counts, calibration, document.columns)
    weights = None if isinstance(outcome, str) else outcome.of_cells
    part = CalibrationPart.of(calibration, document.columns, outcome)
    if (part.weights is None) != (part_stated.weights is None) or part.failed != part_stated.failed:
        yield "release.json states another result than the table and the totals give"
    elif table.weights is not None and weights is not None and not _near(table.weights, weights):
        yield "the weights in the table do not follow from its rows and the totals"
    elif not _same_weights(part, part_stated):
        yield "the statements of release.json do not follow from the table and the totals"


def _near(left: np.ndarray, right: np.ndarray) -> bool:
    return bool(np.allclose(left, right, rtol=_RELATIVE, atol=0))


def _same_weights(left: CalibrationPart, right: CalibrationPart) -> bool:
    left_weights, right_weights = left.weights, right.weights
    if left_weights is None or right_weights is None:
        return left_weights is right_weights
    figures = [(weights.smallest, weights.largest, weights.design_effect) for weights in (left_weights, right_weights)]
    near = _near(np.array(figures[0], dtype=float), np.array(figures[1], dtype=float))
    return (
        near
        and abs(left_weights.deviation - right_weights.deviation) <= _RELATIVE
        and (left_weights.cycles, left_weights.joined) == (right_weights.cycles, right_weights.joined)
    )


# Earlier releases of the same register: the stated sum, and the statements about each release.


def of_series(part: SeriesPart, document: ReleaseDocument, bundle: KnownFiles) -> Check:
    """Check the total cost of the listed releases for a person, and compare the list with the given releases."""
    others = so_many(len(part.earlier) + (part.corrects is not None), "other release")
    looked = f"{len(bundle.earlier)} of {others} checked"
    total_epsilon = part.total_epsilon_exact
    of_all = "no guarantee for a person" if total_epsilon is None else f"epsilon {total_epsilon} in total for a person"
    plan = part.years
    promised = "" if plan is None else f"; epsilon {plan.promised_epsilon_exact} promised over {len(plan.epsilons_exact)} years"
    summary = f"{part.name}: {of_all}{promised}; {looked}"
    return Check(name="series", found=summary, problems=tuple(_series_problems(document, part, bundle)))


def _series_problems(document: ReleaseDocument, part: SeriesPart, bundle: KnownFiles) -> Iterator[str]:
    sums = total(part.earlier, part.corrects, document.guarantee.person)
    if sums != (part.total_epsilon_exact, part.total_delta_exact):
        epsilon, delta = ("null" if exact is None else exact for exact in sums)
        named = "release.json: series: total_epsilon_exact and total_delta_exact must be"
        yield f"{named} {epsilon} and {delta}, which follow from the listed releases"
    if part.years is None and any(release.year is not None for release in part.earlier):
        yield "release.json: series: the multi-year plan of an earlier release is missing"
    if part.years is not None:
        yield from (f"release.json: series: years: {problem}" for problem in _not_planned(document, part, part.years))
    if unlisted := sorted(set(_released_priors(document)) - {release.digest for release in part.earlier}):
        yield f"release.json: configuration: series does not name the public table {unlisted[0][:16]}..."
    listed = {release.digest: release for release in part.earlier}
    for folder, files in bundle.earlier:
        content = files.get("release.json", b"")
        try:
            old = read(content)
            expected = earlier_part(content, document)
        except InputError as error:
            yield f"{folder}: {error}"
            continue
        digest = sha256(content)
        if part.corrects is not None and digest == part.corrects.digest:
            yield from (f"{folder}: {problem}" for problem in _not_corrected(document, bundle.table, old, files))
        elif digest not in listed:
            yield f"{folder}: the checked release.json names no release with the checksum {digest}"
        elif listed[digest] != expected:
            part_of_release = listed[digest]
            wrong = [name for name in type(expected).model_fields if getattr(part_of_release, name) != getattr(expected, name)]
            yield f"release.json: series: {', '.join(wrong)} of {folder}: these values differ from the release in this folder"


def _not_planned(document: ReleaseDocument, part: SeriesPart, plan: YearsPart) -> Iterator[str]:
    horizon, guarantee = plan.horizon, document.guarantee
    if plan.year not in horizon.years:
        yield f"{plan.year} is not a year of the plan ({horizon.years[0]} to {horizon.years[-1]})"
        return
    if any(release.year == plan.year and release.corrects is None for release in part.earlier if release.year is not None):
        yield f"there is an earlier release of {plan.year}, but each year has only one release"
    if any(release.year is None for release in part.earlier):
        yield "an earlier release has no year"
        return
    most = horizon.most(plan.year, plan.again)
    if not (Fraction(guarantee.epsilon_exact) <= most and Fraction(guarantee.delta_exact) <= horizon.delta):
        spent = guarantee.epsilon_exact
        cost = f"epsilon {spent} and delta {guarantee.delta_exact}"
        yield f"the release of {plan.year} costs {cost}, but the plan allows at most {most} and {horizon.delta}"
    if plan.records_in_year != (in_year := min(guarantee.person.records, plan.records_in_all)):
        yield f"records_in_year is {plan.records_in_year}, but {in_year} follows from the guarantee and records_in_all"
    if plan != years_part(YearOfSeries(horizon=horizon, year=plan.year, again=plan.again), part.earlier, document):
        yield "the promised and spent losses do not follow from the plan and the named releases"


def _released_priors(document: ReleaseDocument) -> Iterator[str]:
    prior = document.configuration.get("generator", {}).get(PRIOR)
    if isinstance(prior, dict) and isinstance(prior.get("release"), str):
        yield prior["release"].removeprefix(BY_DIGEST)


def _not_corrected(document: ReleaseDocument, table: ReleasedTable, old: ReleaseDocument, files: Files) -> Iterator[str]:
    """Yield the first difference between a release and the one that it claims to correct: a release that differs is a
    further release, which spent budget.
    """
    for name in ("specification", "n_rows", "guarantee", "charges", "criteria", "configuration", "columns"):
        if getattr(document, name) != getattr(old, name):
            yield f"{name} differs, but an erratum must not change this part"
            return
    try:
        rows = read_csv(files.content(old.csv), old.shape, files.content(old.tables[0][1]))
    except TableError as error:
        yield f"{old.csv}: {error}"
        return
    if not rows.counts.same_as(table.counts):
        yield f"{old.csv}: the rows differ, but an erratum must not change rows"


# Scout and release cost their cap together, and what both spent is within it.


def of_scout(part: ScoutPart, document: ReleaseDocument) -> Check:
    """Check that a scout (noisy tables published before the release) and the release cost no more than their common cap."""
    alone = decimal_text(Fraction(part.alone_exact))
    summary = f"the scout costs epsilon = {alone}, together with the release {document.guarantee.epsilon}"
    return Check(name="scout", found=summary, problems=tuple(_scout_problems(part, document)))


def _scout_problems(part: ScoutPart, document: ReleaseDocument) -> Iterator[str]:
    root = document.charges.charge()
    try:
        cap = part.cap()
        first = len(cap.charges)
        composed = within_cap(root.name, cap, *root.parts[first:])
    except (BudgetError, ValueError) as error:
        yield f"scout: {error}"
        return
    if part.alone_exact != str(cap.alone):
        yield f"scout: it states epsilon {part.alone_exact} for the scout alone, but its charges add up to {cap.alone}"
    if composed.price != root.price or [leaf.price for leaf in cap.charges] != [leaf.price for leaf in root.parts[:first]]:
        yield "scout: the charges of the scout and its cap are not at the root of the charges"


# The guarantee for a member of the population follows from the main guarantee and the two numbers of records.


def of_population(part: PopulationPart, document: ReleaseDocument) -> Check:
    """Check the additional privacy guarantee for a member of the population, which requires a simple random sample."""
    epsilon = decimal_text(part.loss().epsilon)
    summary = f"the file has {part.sampled:,} of {part.size:,} records; epsilon {epsilon} for a member of the population"
    return Check(name="population", found=summary, problems=tuple(_population_problems(document, part)))


def _population_problems(document: ReleaseDocument, part: PopulationPart) -> Iterator[str]:
    guarantee = document.guarantee
    if part.sampled != (rows := document.domain.file_rows) or part.sampled > part.size:
        known = f"the file has {'an unknown number' if rows is None else f'{rows:,}'} and the population {part.size:,}"
        yield f"population: the sample has {so_many(part.sampled, 'row')}, but {known}"
        return
    whole = Loss(Fraction(guarantee.epsilon_exact), Fraction(guarantee.delta_exact))
    expected = of_the_population(whole, part.sampled, part.size)
    if part.loss() != expected:
        follow = f"must be {expected.epsilon} and {expected.delta}, which follow from the guarantee and the numbers of records"
        yield f"population: epsilon_exact and delta_exact {follow}"
    if guarantee.person.records > 1:
        yield "population: this guarantee does not exist if a person has several records"
    if document.several_releases:
        yield "population: this guarantee does not exist if there are other releases of the same records"


# The complete copies: observed values are unchanged, and filled values have a donor among the released rows.


def of_imputation(part: ImputationPart, document: ReleaseDocument, bundle: KnownFiles) -> Check:
    """Check that missing values in each completed copy come from possible donors. Which donor was drawn cannot be checked."""
    name = part.file(document.bundle)
    problems = tuple(f"{name}: {problem}" for problem in _imputation_problems(document, part, name, bundle))
    copies = so_many(0 if part.failed else part.copies, "copy", "copies")
    summary = f"{copies} with the observed values of {document.csv}; each other value has a donor"
    return Check(name="imputation", found=summary, problems=problems)


def _imputation_problems(document: ReleaseDocument, part: ImputationPart, name: str, bundle: KnownFiles) -> Iterator[str]:
    table, rules = bundle.table, bundle.rules
    if part.failed:
        if name in document.files:
            yield "this file exists, but release.json says that there are no copies"
        return
    gaps = gaps_of(part, document.columns)
    if part.smallest != document.minimum_count:
        least = f"states that each row occurs at least {so_many(part.smallest, 'time')}"
        yield f"release.json {least}, but the minimum count is {document.minimum_count}"
    open_ = gaps_of_cells(table.counts, gaps.missing, rules)
    if part.rows != (lacking := int(table.counts.counts[open_.any(axis=1)].sum())):
        yield f"release.json states {so_many(part.rows, 'row')} without a value, but {document.csv} has {lacking:,}"
    if name not in bundle.files or name not in document.files:
        yield "this file is missing"
        return
    shape, flags = replace(table.shape, weighted=False), flags_of_rows(table, open_)
    try:
        batches = list(csv_batches(bundle.files.content(name), shape, HEAD))
        copies = RowsBatch.joined(rows_of(iter(batches), shape), shape)
    except TableError as error:
        yield str(error)
        return
    heads = list(zip(*([text for batch in batches for text in batch[column].to_pylist()] for column in HEAD), strict=True))
    for number in range(1, part.copies + 1):
        of_copy = slice((number - 1) * len(flags), number * len(flags))
        if heads[of_copy] != [(str(number), str(row), flag) for row, flag in enumerate(flags, start=1)]:
            named = f"copy {number}: its lines are not the rows of {document.csv} in order"
            yield f"{named}, each with the columns that were filled in"
            continue
        bins = [column.astype(np.int64) for column in copies[of_copy].bins]
        yield from (f"copy {number}: {problem}" for problem in _copy_problems(bins, table, gaps, rules, open_))
    if len(heads) > part.copies * len(flags):
        yield f"there are more rows than {so_many(part.copies, 'copy', 'copies')} can have"


def _copy_problems(
    bins: list[np.ndarray], table: ReleasedTable, gaps: Gaps, rules: Plausibility, open_: np.ndarray
) -> Iterator[str]:
    """Yield a sentence for each error in a completed copy, such as a changed observed value."""
    lacking = np.repeat(open_, table.counts.counts, axis=0)
    for column, gap in enumerate(gaps.missing):
        if (bins[column] != table.counts.rows(column))[~lacking[:, column]].any():
            yield f"an observed value of {table.names[column]} differs from the value in data.csv"
        if gap is not None and (bins[column] == gap)[lacking[:, column]].any():
            yield f"a value of {table.names[column]} is still missing"
    yield from _donor_problems(bins, table, gaps, open_)
    if rules.forbidden(bins).any():
        yield "a row breaks the plausibility rules for released rows"
    if int(Counts.of(table.counts.layout, bins).counts.min()) < gaps.smallest:
        yield f"a row occurs fewer than {gaps.smallest} times"


def _donor_problems(bins: list[np.ndarray], table: ReleasedTable, gaps: Gaps, open_: np.ndarray) -> Iterator[str]:
    """Yield a sentence for each set of columns whose filled-in values occur together in no released row (no donor)."""
    starts = np.concatenate([[0], np.cumsum(table.counts.counts)])
    try:
        for pattern in patterns(table.counts, gaps.missing, open_):
            layout = table.counts.layout.subset(pattern.columns)
            donors = Counts.of(layout, [table.counts.bins[column][pattern.donors] for column in pattern.columns])
            rows = np.concatenate([np.arange(starts[cell], starts[cell + 1]) for cell in pattern.recipients])
            if (donors.find([bins[column][rows] for column in pattern.columns]) < 0).any():
                yield f"no released row has the values of {', '.join(layout.columns)} that were filled in"
    except NotImputed as error:
        yield str(error)


# The rows of an area are the rows of the areas in it, level by level, as the rules say.


def of_geography(part: GeographyPart, bundle: KnownFiles) -> Check:
    """Check that each area has as many rows as the smaller areas in it."""
    problems = tuple(_geography_problems(part, bundle))
    if problems:
        return Check(name="geography", problems=problems)
    counts = bundle.table.counts
    with_rows = []
    for level in part.levels:
        rows = counts.marginal([counts.layout.columns.index(level.column)])
        with_rows.append(f"{np.count_nonzero(rows):,} of {level.areas:,} {level.column}")
    summary = f"areas with rows: {', '.join(with_rows)}; the rows of the smaller areas add up to the rows of each area"
    return Check(name="geography", found=summary)


def _geography_problems(part: GeographyPart, bundle: KnownFiles) -> Iterator[str]:
    counts, indices = bundle.table.counts, []
    for level in part.levels:
        if level.column not in counts.layout.columns:
            yield f"geography: the table has no column {level.column!r}"
            return
        indices.append(counts.layout.columns.index(level.column))
        if counts.layout.sizes[indices[-1]] != level.areas:
            areas = so_many(counts.layout.sizes[indices[-1]], "area")
            yield f"geography: {level.column!r} has {areas}, but release.json states {level.areas:,}"
    lowest = counts.marginal([indices[-1]])
    homes = []
    for index in indices[:-1]:
        home = bundle.rules.home_of(index, indices[-1])
        if home is None:
            name = counts.layout.columns[index]
            yield f"geography: no rule puts each area into one area of {name!r}"
            return
        homes.append(home)
        summed = np.bincount(home, weights=lowest, minlength=counts.layout.sizes[index]).astype(np.int64)
        if wrong := int((summed != counts.marginal([index])).sum()):
            name = counts.layout.columns[index]
            yield f"geography: {so_many(wrong, 'area')} of {name!r} and their smaller areas differ in their numbers of rows"
    for upper, lower in pairwise(homes):
        if len(np.unique(np.stack([upper, lower]), axis=1).T) != len(np.unique(lower)):
            yield "geography: an area lies in two areas of the level above"


# Every row has exactly the indicators that its column states.


def of_marks(part: MarksPart, document: ReleaseDocument, bundle: KnownFiles) -> Check:
    """Check that each column that lists indicators agrees with the columns of these indicators in every row."""
    problems = tuple(_marks_problems(document, part, bundle))
    if problems:
        return Check(name="marks", problems=problems)
    counts = bundle.table.counts
    rows = {group.column: counts.marginal([counts.layout.columns.index(group.column)])[1:].sum() for group in part.groups}
    marked = ", ".join(f"{int(found):,} in {column}" for column, found in rows.items())
    return Check(name="marks", found=f"rows with an indicator: {marked}; every row has the stated indicators")


def _marks_problems(document: ReleaseDocument, part: MarksPart, bundle: KnownFiles) -> Iterator[str]:
    columns = {column.name: column for column in document.columns}
    for group in part.groups:
        if missing := [name for name in (group.column, *group.marks) if name not in columns]:
            yield f"marks: the table has no column {missing[0]!r}"
        elif columns[group.column].kind != "category" or columns[group.column].missing == "bin":
            yield f"marks: {group.column!r} is not a column of sets of indicators"
        else:
            yield from _miscounted(group, document, bundle)


def _miscounted(group: MarksGroupPart, document: ReleaseDocument, bundle: KnownFiles) -> Iterator[str]:
    counts = bundle.table.counts
    indices = {column.name: index for index, column in enumerate(document.columns)}
    number = np.zeros(len(counts), dtype=np.int64)
    for bit, (name, labels) in enumerate(group.marks.items()):
        held = [set(bin_.categories or ()) for bin_ in document.columns[indices[name]].bins]
        if any(categories & set(labels) and not categories <= set(labels) for categories in held):
            yield f"marks: a bin of {name!r} has both categories of the indicator and other categories"
            return
        has = np.array([bool(categories & set(labels)) for categories in held])[counts.digits(indices[name])]
        number += has * 2**bit
    labels = [bin_.label for bin_ in document.columns[indices[group.column]].bins]
    wrong = bins_of_sets(list(group.marks), labels)[number] != counts.digits(indices[group.column])
    if rows := int(counts.counts[wrong].sum()):
        yield f"marks: {so_many(rows, 'row does', 'rows do')} not have the indicators that {group.column!r} states"
