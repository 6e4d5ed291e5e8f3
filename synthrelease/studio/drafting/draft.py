"""Draft the configuration and the acceptance file of a release from a public file.

A plan is a measuring method with its tables and an epsilon. Each step returns a value: a `Subject` (the columns), its
`Ground` (counts, associations and the comparison of plans), a `Tried` draft (a plan with its fits), and a `Draft` (the
texts of the files).
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from synthrelease.criteria.drafts import MOST_UNIQUE, CriterionDraft
from synthrelease.data.counts import Counts, number_of_indicators
from synthrelease.data.marginals import with_pairs
from synthrelease.data.schema import Binning, Transformation
from synthrelease.data.texts import quoted
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, OutputError, Problem, SpecError, listing, on_public_data, so_many
from synthrelease.generators.associations import Strengths
from synthrelease.generators.maximum_entropy import warm_starts
from synthrelease.privacy.charges import SHORTFALL
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.selection import one_thread
from synthrelease.scouting.codebook import Codebook, read_codebook, written_as_in
from synthrelease.settings.tables import ACCEPTANCE_SCHEMA, CONFIGURATION_SCHEMA, schema_text
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import DraftRequest
from synthrelease.spec.tried import leave
from synthrelease.studio.drafting.coarser import (
    COARSEST,
    FLOORS,
    are_inside,
    coarser,
    fewer,
    floored,
    in_order,
    least_floor,
    sizes,
    what_stays,
    wider_bin_of_each,
)
from synthrelease.studio.drafting.column_draft import MOST_COLUMNS, AskedFor, ColumnDraft, LeftOut, chosen_columns, said_twice
from synthrelease.studio.drafting.columns import drafted_columns, with_areas, with_one_weight, without_role
from synthrelease.studio.drafting.criteria import (
    LEAST_KEPT,
    MOST_OFF,
    AcceptanceDraft,
    DraftStanding,
    draft_acceptance,
    settle,
    suggested_of_members,
    suggested_rules,
    ties,
)
from synthrelease.studio.drafting.members import AS_KEY_OF_ROOTS, read_members
from synthrelease.studio.drafting.options import AS_KEY, AreasDraft, UnitAnswer, draft_marks, largest_bias
from synthrelease.studio.drafting.public_file import PublicFile, names_of, read_public_file, row_numbers
from synthrelease.studio.drafting.text import (
    TEST,
    Choices,
    Draft,
    Progress,
    Subject,
    Voice,
    acceptance_text,
    check_no_draft,
    codelist_name,
    codelist_text,
    configuration_text,
    paths_of,
    with_means,
    write_files,
)
from synthrelease.studio.rehearsal.closer_look import Yardstick, once_only, yardsticks
from synthrelease.studio.rehearsal.dependence import Pair, PairTables, strengths_of
from synthrelease.studio.rehearsal.plan_race import (
    BETTER,
    CLEARLY,
    ENOUGH,
    HALF,
    MANY,
    MOST_TRIED,
    PRIOR_WEIGHT,
    PROMISED,
    HeldOut,
    Kept,
    PlanRace,
    Promise,
    Raced,
    is_it_worth_it,
    needed_of,
    race_words,
    shown_share,
)

SEED = 2014
"""Seed of all fits. So a file gives the same draft each time."""

MEANS, _OF_SAMPLING = Fraction(1, 10), 0.5
"""The largest epsilon for all directly measured means, and the ratio of noise to sampling error at which these means are
accurate enough.
"""
FIGURES = Fraction(1, 10)
"""Before the cost of the criteria is known, this epsilon is reserved for them, at most a fifth of the total."""

MOST_SEARCHED_AGAIN = 100
"""Largest number of columns whose tables are searched again in wider bins. A search for 200 columns takes 30 CPU seconds."""

WEAK = 0.3
"""Associations are weak if Cramer's V of all pairs is below 0.3, the usual limit of a medium effect."""

# From top to bottom: a request becomes a subject, plans are compared on its counts, and the accepted plan is written.


def write_draft(request: DraftRequest, progress: Progress = lambda doing: None) -> tuple[Path, Path, Draft]:
    """Write configs/NAME.toml and acceptance/NAME.toml under a folder. Existing files are never overwritten.

    A JSON Schema for editors is written beside each file unless it exists, and long codelists into configs/codes.

    Parameters
    ----------
    progress : function that receives a sentence about the current step.

    Returns
    -------
    paths and draft : the path of the configuration, the path of the acceptance file, and the draft.

    Raises
    ------
    InputError : for the same reasons as `draft`.
    OutputError : when one of the files exists or cannot be written.
    """
    into, name = request.into, request.name
    check_no_draft(paths_of(into, name))
    drafted = draft(request, progress)
    check_no_draft(into / "configs" / codelist for codelist in drafted.codelists)
    try:
        paths = write_files(into, name, drafted)
        leave(load_spec(paths[0]), "draft", drafted.n_used, drafted.strengths)
        for beside, name in zip(paths, (CONFIGURATION_SCHEMA, ACCEPTANCE_SCHEMA), strict=True):
            path = beside.parent / name
            if not os.path.lexists(path):
                path.write_text(schema_text(name), encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"Cannot write the draft to {error.filename or into} ({error.strerror}).") from None
    return *paths, drafted


@one_thread
@on_public_data()
@warm_starts()
def draft(request: DraftRequest, progress: Progress = lambda doing: None) -> Draft:
    """Draft a release from a **public** file. If the file has too many columns, `chosen_columns` chooses among them.

    Raises
    ------
    InputError : when the request is invalid, when a file cannot be read or lacks a requested column, when fewer than two
        columns can be released, or when no draft is better than independent columns.
    """
    subject = read_subject(request, Voice(progress))
    try:
        best = tried_in_steps(subject)
        plans = every_way(best)
        if (pure := without_delta(subject, best, plans)) is not None:
            best, plans = pure, every_way(pure)
        return written(best, plans)
    except SpecError as error:  # the message is about the public file: the user has not seen the draft
        raise no_draft(subject.file, error.problems) from None


def tried_in_steps(subject: Subject) -> Tried:
    """Try drafts on the public file, one after another, and return the first good one.

    The first draft has the bins that preserve the associations best at the desired epsilon. If it is not good, drafts
    follow at a larger epsilon, and then with fewer columns. Afterwards columns of rare indicators and the smallest areas
    are added. If all associations are weak, or the rows are too few to estimate the preserved share, epsilon is not raised,
    and the loss alone decides (`DraftStanding.errors`).

    Raises
    ------
    InputError : when no draft is better than independent columns.
    """
    aimed, *larger = subject.promise.totals
    ground = ground_that_tells(ground_of(subject))
    subject = ground.subject

    # the bins and the plan that preserve the associations best at the desired epsilon
    best = in_fitting_bins(ground, aimed)
    at_aimed = best.standing.kept
    if at_aimed is not None and at_aimed.of_all_rows and (at_aimed.share or 0) < 0:
        raise rows_tell_too_little(ground, _off(at_aimed))
    unknown = at_aimed is not None and at_aimed.share is None
    weak = unknown or all(pair.cramers_v < WEAK for pair in ground.pairs)
    first, stands = best, best.standing.good or best.standing.preserves(-math.inf if weak else PROMISED)

    # a larger epsilon, fewer columns
    for total in larger:
        if not (stands or weak or best.standing.good):
            best = in_fitting_bins(ground, total, above=best.choices.limit)
            best = replace(best, at_aimed=at_aimed.share if at_aimed else None)
    if best is not first and first.standing.preserves(best.standing.share - CLEARLY):
        best, stands = first, True  # a larger epsilon preserves no more
    if not (stands or best.standing.good) and subject.members is None:
        best = smaller_draft(ground, best)

    # options of the file
    if subject.members is None and subject.areas is None and best.choices.measures:
        best = counting_marks(best)
    if subject.areas is not None:
        best = with_smallest_areas(best, subject.areas)
    loaded(best.subject, best.choices, best.acceptance).plan.check_limit(best.choices.limit)
    return best


def every_way(best: Tried) -> list[Raced]:
    """Return the plan of a draft and plans by other methods for the same columns; empty if nothing can be compared."""
    return [] if best.choices.areas or best.standing.kept is None else best.ground.race.every_way(best.raced)


def without_delta(subject: Subject, best: Tried, plans: Sequence[Raced]) -> Tried | None:
    """Return a good draft with delta 0 instead of one with a delta above 0, or None.

    It costs no more epsilon and preserves as much of the associations; with a smaller epsilon, it may preserve less, as any
    cheaper plan may.
    """
    as_much = best.raced.share - CLEARLY / 2
    if best.raced.pure or not any(plan.pure and plan.share >= as_much for plan in plans):
        return None
    promise = replace(subject.promise, epsilon=best.choices.limit, pure=True)
    subject.voice.say("trying a draft with delta 0")
    try:
        pure = tried_in_steps(replace(subject, promise=promise))
    except InputError:
        return None
    share, other = (draft.standing.kept.share or 0.0 if draft.standing.kept else 0.0 for draft in (pure, best))
    least = needed_of(other) if pure.choices.limit < best.choices.limit else other - CLEARLY / 2
    return pure if pure.standing.good and share >= least else None


def written(best: Tried, plans: Sequence[Raced]) -> Draft:
    ground, preserved, acceptance = best.ground, best.standing.kept, best.acceptance
    if preserved is None:
        return files_of(best.subject, best.choices, acceptance, ground.table)
    acceptance = replace(
        acceptance,
        lost=tuple(pair.columns for pair in preserved.strong_lost),
        faint=tuple(pair for pair in preserved.lost if not pair.strong),
        kept=" ".join(filter(None, [preserved.words, ground.bias])),
    )
    sentences = is_it_worth_it(best.raced, best.at_aimed), race_words(plans, best.raced), at_larger_epsilon(best)
    choices = replace(best.choices, advice=" ".join(filter(None, sentences)))
    drafted = files_of(best.subject, choices, acceptance, ground.table)
    return replace(drafted, strengths=best.strengths or strengths_of(ground.table, ground.pairs, _gaps(ground.subject)))


_MOST_TRIED_AGAIN = 60  # The largest number of columns for which a larger epsilon is tried only to tell its effect


def at_larger_epsilon(best: Tried) -> str:
    """Say how much a larger epsilon preserves in first trials, if the draft preserves less than 80%, this share can be
    estimated, and the steward named no epsilon.
    """
    largest, preserved = best.subject.promise.totals[-1], best.standing.share
    enough = preserved >= PROMISED or not best.standing.tells
    if enough or largest <= best.choices.limit or len(best.subject.columns) > _MOST_TRIED_AGAIN:
        return ""
    raced = best.ground.race.at(largest)
    if raced.share < preserved + BETTER:
        return ""
    return f"At epsilon {float(largest):g} (`--epsilon {float(largest):g}`), first trials preserved {shown_share(raced.share)}."


# The subject: the columns of the public file, and the steward's statements about its rows.


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}", re.ASCII)
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}


def read_subject(request: DraftRequest, voice: Voice) -> Subject:
    """Read the public file and draft its columns.

    Raises
    ------
    InputError : when the request is invalid, when the file cannot be read, or when fewer than two columns can be released.
    """
    # check the request against the header of the file
    name, public, table, key = request.name, request.public, request.table, request.key
    if (device := name.lower() in _WINDOWS_DEVICES) or not _NAME.fullmatch(name):
        why = "Windows uses this name for a device." if device else "Use letters, digits, - and _, and start with a letter."
        raise InputError(f"The files of the draft cannot have the name {name!r}. {why}")
    selection = AskedFor(only=request.only, leave_out=request.leave_out)
    promise = Promise.of(request.epsilon, pure=request.pure, important=request.important)
    codebook = read_codebook(request.codebook) if request.codebook else Codebook()
    positions = codebook.positions
    if positions is not None and len(positions.records) > 1 and table is None and request.members is None:
        key = codebook.key if key is None else key
    names = names_of(public, table, positions)
    unit = None if request.unit is None else UnitAnswer.of(request.unit, names)
    if unknown := [column for column in promise.important if column not in names]:
        raise InputError(f"--important: the file has no column {unknown[0]!r}. Its columns are {listing(names)}.")

    # the file, and its columns
    voice.say("reading the public file")
    members = None
    if key is not None:
        if unit is not None and unit.key is not None:
            why = "With --key, a record is a root, such as a household, with all its members."
            raise InputError(f"--unit must be `row` when --key is used, not {request.unit!r}. {why}")
        file, members = read_members(public, request.members, key, codebook, table, selection)
    elif request.members is not None:
        raise InputError("--members needs --key, the name of the column that links the two files.")
    else:
        file = read_public_file(public, table, selection, positions)
    voice.say(f"drafting {so_many(len(file.columns), 'column')}")
    book = written_as_in(file.columns, codebook)
    own_key, as_key = (key, AS_KEY_OF_ROOTS) if unit is None or unit.key is None else (unit.key, AS_KEY)
    columns, left_out, _, rows = drafted_columns(file, book, own_key, as_key)
    columns, left_out = with_one_weight(columns, left_out)
    forms = {column.source: column.format for column in columns if column.of_date}
    identify_nobody = book[own_key].missing if own_key in book else ()
    unit = unit and unit.ordered(file, {column.source for column in left_out}, forms, identify_nobody)

    # areas, and fewer columns where there are too many
    areas = None
    if request.areas is not None:
        areas, columns, left_out = with_areas(request.areas, file, book, columns, left_out)
    if len(columns) < 2 and (members is None or not columns):
        reasons = "; ".join(f"{column.source!r}: {column.because}" for column in left_out)
        why = f" ({reasons})" if reasons else ""
        if members is not None:
            same = f"has the same value in all rows of each {key!r}, as the region of a household has"
            raise InputError(f"{public}: no column that can be released {same}{why}. Draft with --unit instead of --key.")
        raise InputError(f"{public} has {'only one' if columns else 'no'} column that can be released{why}. A draft needs two.")
    question = ""
    if len(columns) > MOST_COLUMNS:
        voice.say("choosing among the columns")
        question = which_matter(len(columns), promise.important)
        columns, dropped = chosen_columns(columns, [rows.batch()], rows.n_rows, promise.important)
        left_out = [*left_out, *dropped]
    if gone := [column for column in left_out if column.source in promise.important]:
        raise InputError(f"--important: {gone[0].source!r} cannot be released: {gone[0].because}.")
    important = tuple(column.name for column in columns if column.source in promise.important)
    subject = Subject(name=name, file=file, columns=tuple(columns), left_out=tuple(left_out), voice=voice, question=question)
    return replace(subject, unit=unit, promise=replace(promise, important=important), members=members, areas=areas)


# The basis of all drafts of a subject: its rows in bins, their associations, suggested rules, and plans to compare.

_COLUMNS = {"name": "columns", "kind": "absolute_marginal_error", "largest": 1, "threshold": 0.5, "epsilon": Fraction(1, 100)}
FIRST = AcceptanceDraft(criteria=(CriterionDraft(settings=_COLUMNS, remark=""),), groups={}, left_out=())
"""Placeholder criterion, used until the criteria of the draft are known."""


@dataclass(frozen=True, kw_only=True)
class Ground:
    """The common basis of all drafts of the same columns: the counts and associations of the public file, and a comparison
    of plans.

    Attributes
    ----------
    choices : the suggested rules, and other choices that follow from the public rows.
    table : counts of the rows of the public file in the drafted bins.
    pairs : associations of all pairs of columns in these bins.
    biased_column : the column in which released rows of persons differ most from all rows; empty without a key of persons.
    bias : sentence that states how much they differ; otherwise empty.
    """

    subject: Subject
    choices: Choices
    race: PlanRace
    table: Counts
    pairs: tuple[Pair, ...]
    binnings: tuple[Binning, ...]
    biased_column: str = ""
    bias: str = ""


def ground_of(subject: Subject, narrower: Ground | None = None) -> Ground:
    """Prepare the drafts of some columns: count the public rows in bins, and find rules and associations.

    Parameters
    ----------
    narrower : basis of the same columns in narrower bins, in which plans with wider bins are compared, or None.

    Raises
    ------
    InputError : when the columns cannot be loaded, or when every row has a missing value.
    """
    # drop columns that cannot be loaded or repeat another column, and merge bins with few rows
    file, voice = subject.file, subject.voice
    voice.say(f"counting the rows in the drafted bins of {len(subject.wide)} columns")
    subject, spec, table = _counted_at_last(subject, narrower)
    if twice := said_twice(subject.columns, table):
        subject = subject.without(twice)
        spec, table = _counted(subject)
    if subject.areas is None and (columns := floored(subject.columns, table, least_floor(table))) != subject.columns:
        subject = replace(subject, columns=columns)
        spec, table = _counted(subject)
    transformation = spec.space[0].transformation

    # rules that no row breaks
    members = subject.members
    own_numbers = None if members else partial(row_numbers, file, policy=spec.input)
    steps = {column.name: column.facts.step for column in subject.columns if column.facts}
    unruled = [column.name for column in subject.columns if column.weight]
    unruled += [column.name for column in members.wide()[1:]] if members else []
    marginals = with_pairs(table)
    rules = suggested_rules(spec.schema, transformation.binnings, table, unruled, own_numbers, steps, marginals)
    if members is not None:
        of_members = tuple(suggested_of_members(spec.schema, transformation, table))
        subject = replace(subject, members=replace(members, rules=of_members))

    # choices that follow from the rows
    unique = once_only(table)
    of_persons = subject.unit.later + subject.unit.without_key if subject.unit else 0
    n_rows = members.n_roots if members else file.n_rows - of_persons
    by_key = members is not None or (subject.unit is not None and subject.unit.key is not None)
    choices = replace(
        _first_choices(subject, round(table.total) if by_key else file.n_rows),
        gaps=n_rows - round(table.total),
        rules=tuple(rules),
        unique=unique,
        minimum_count=1 if unique > MOST_UNIQUE else 2,
    )

    # associations, and the plans that are compared on them
    voice.say("looking for the tables that preserve the associations")
    spec = loaded(subject, choices, FIRST)
    pairs = ties(subject.wide, table, PairTables.of(marginals))
    some = some_rows(table)
    held_out, biased_column, bias = _held_out(subject, spec, some, table, pairs, narrower)
    race = PlanRace(
        table if subject.unit is not None and subject.unit.later else some,
        held_out,
        spec.synthetic.merge(spec.space[0].transformation),
        pairs,
        transformation.ordered,
        _gaps(subject),
        subject.promise,
        lambda total: choices.rows + TEST + min(FIGURES, total / 5) + means_budget(subject, total),
        SEED,
        voice.patiently,
    )
    return Ground(
        subject=subject,
        choices=choices,
        race=race,
        table=table,
        pairs=tuple(pairs),
        binnings=tuple(transformation.binnings),
        biased_column=biased_column,
        bias=bias,
    )


def _gaps(subject: Subject) -> set[str]:
    return {column.name for column in subject.wide if column.keeps_missing}


def _first_choices(subject: Subject, n_rows: int) -> Choices:
    return Choices(tables=tuple(column.name for column in subject.wide), rows=rows_budget(n_rows))


def _counted_at_last(subject: Subject, narrower: Ground | None = None) -> tuple[Subject, ReleaseSpec, Counts]:
    """Load the drafted columns, and count the public rows in their bins.

    If the columns cannot be loaded, design weights become ordinary columns, and then columns with errors are left out.

    Raises
    ------
    InputError : when the remaining columns cannot be loaded either, or when every row has a missing value.
    """
    problems: tuple[Problem, ...] = ()
    while len(subject.columns) > (1 if subject.members is None else 0):
        try:
            return subject, *(_merged(subject, narrower) or _counted(subject))
        except SpecError as error:
            problems = error.problems
        if any(column.weight for column in subject.columns):
            plain = tuple(without_role(column) if column.weight else column for column in subject.columns)
            subject = replace(subject, columns=plain)
            continue
        members = subject.members
        because = {problem.path: f"the column could not be drafted ({problem.message})" for problem in problems}
        of_members = {path.split(".")[2]: why for path, why in because.items() if path.startswith("members.columns.")}
        if members is not None and 0 < len(of_members) < len(members.columns):
            subject = replace(subject, members=members.without(of_members))
            continue
        at_fault = {path.split(".")[1]: why for path, why in because.items() if path.startswith("columns.")}
        columns = [column for column in subject.columns if column.name in at_fault]
        if not columns:
            break
        subject = subject.without({c.name: LeftOut(source=c.source, because=at_fault[c.name]) for c in columns})
    raise no_draft(subject.file, problems)


def _merged(subject: Subject, narrower: Ground | None) -> tuple[ReleaseSpec, Counts] | None:
    """Add up counts in narrower bins, without reading the file again, or return None if this is impossible."""
    if narrower is None or [c.name for c in subject.wide] != [c.name for c in narrower.subject.columns]:
        return None
    spec = loaded(subject, _first_choices(subject, subject.file.n_rows), FIRST)
    if not all(are_inside(*both) for both in _both(subject, spec, narrower)):
        return None
    return spec, narrower.table.merge(spec.space[0].transformation.layout, _wider_bins(subject, spec, narrower))


def _counted(subject: Subject) -> tuple[ReleaseSpec, Counts]:
    spec = loaded(subject, _first_choices(subject, subject.file.n_rows), FIRST)
    rows = rows_of(subject, spec)
    if not rows.total:
        raise InputError(
            f"{subject.file.name}: every row has a missing value. Leave out columns with many missing values (--leave-out)."
        )
    return spec, in_first_bins(rows, spec)


def rows_of(subject: Subject, spec: ReleaseSpec) -> Counts:
    return read_public(subject.file.source, spec.schema, spec.input, spec.raw, spec.unit)


def in_first_bins(rows: Counts, spec: ReleaseSpec) -> Counts:
    """Merge counts in the finest bins into the (first) bins of the release."""
    transformation = spec.space[0].transformation
    return rows.merge(transformation.layout, transformation.maps)


def some_rows(table: Counts) -> Counts:
    """Return the public rows on which drafts are tried: all rows, or for many columns `MOST_TRIED` random rows."""
    if len(table.layout.sizes) <= MANY or table.total <= MOST_TRIED:
        return table
    drawn = SeededEntropy(SEED, 16).generator().multivariate_hypergeometric(table.counts, MOST_TRIED, method="marginals")
    return table.with_counts(drawn)


def _held_out(
    subject: Subject, spec: ReleaseSpec, some: Counts, table: Counts, pairs: Sequence[Pair], narrower: Ground | None
) -> tuple[HeldOut, str, str]:
    """Return two halves of the public rows, one for fitting and one for judging a draft.

    Also return the column in which the released rows of persons differ most from all rows, and a sentence about it; both
    are empty without a key of persons. The halves of columns in wider bins are compared in the narrower bins.
    """
    transformation, gaps = spec.space[0].transformation, _gaps(subject)
    if narrower is not None:
        maps = _wider_bins(subject, spec, narrower)
        return narrower.race.held_out.in_bins(transformation.layout, maps), narrower.biased_column, narrower.bias
    if subject.unit is None or not subject.unit.later:
        return HeldOut.of_rows(some, pairs, gaps, SEED, drawn_from=0 if some is table else round(table.total)), "", ""
    held_out = HeldOut.of_persons(subject.file.source, spec, gaps, SEED)
    left, right = held_out.comparison.sides
    return held_out, *largest_bias(table, left + right, transformation.binnings)


_Binned = tuple[ColumnDraft, Binning]


def _both(subject: Subject, spec: ReleaseSpec, narrower: Ground) -> list[tuple[_Binned, _Binned]]:
    narrow = {pair[0].name: pair for pair in zip(narrower.subject.columns, narrower.binnings, strict=True)}
    wide = zip(subject.columns, spec.space[0].transformation.binnings, strict=True)
    return [(pair, narrow[pair[0].name]) for pair in wide]


def _wider_bins(subject: Subject, spec: ReleaseSpec, narrower: Ground) -> list[np.ndarray]:
    return [wider_bin_of_each(*both) for both in _both(subject, spec, narrower)]


def which_matter(n_columns: int, important: Sequence[str]) -> str:
    taken = f"{listing(important)}, and the most associated columns" if important else "those with the strongest associations"
    return (
        f"QUESTION: which columns matter? {n_columns:,} columns could be released, and a draft has at most {MOST_COLUMNS}. "
        f"This draft has {taken}. The other columns are listed below. `--important A,B` keeps these columns and those "
        "most associated with them."
    )


def files_of(subject: Subject, choices: Choices, acceptance: AcceptanceDraft, table: Counts | None = None) -> Draft:
    """Put a draft together from the texts of its files and the decisions about its columns.

    `table` holds the counts of the public rows that a release would use, or is None before they are counted.
    """
    name, file, columns = subject.name, subject.file, subject.columns
    choices = replace(choices, smaller=" ".join(filter(None, [subject.question, choices.smaller])))
    return Draft(
        configuration=configuration_text(subject, choices),
        acceptance=acceptance_text(name, file, acceptance, subject.wide),
        columns=columns,
        left_out=subject.left_out,
        criteria=acceptance,
        n_rows=file.n_rows,
        n_used=file.n_rows if table is None else round(table.total),
        source=file.name,
        smaller=choices.smaller,
        plan=choices.plan,
        unit=subject.unit,
        members=subject.members,
        comparing=tuple(rule.never for rule in choices.rules if rule.compares),
        codelists={path: codelist_text(column) for column in columns if (path := codelist_name(name, column))},
    )


def loaded(subject: Subject, choices: Choices, acceptance: AcceptanceDraft) -> ReleaseSpec:
    """Load the files of an unfinished draft. Raises SpecError if a release would refuse the draft."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return load_spec(write_files(Path(folder), subject.name, files_of(subject, choices, acceptance))[0])
        except SpecError as error:  # the message names the file that the draft would become
            named = {problem: f"{Path(problem.file).parent.name}/{subject.name}.toml" for problem in error.problems}
            raise SpecError([replace(problem, file=file) for problem, file in named.items()]) from None


def no_draft(file: PublicFile, problems: Sequence[Problem]) -> InputError:
    reasons = " ".join(f"{problem.path}: {problem.message}." for problem in problems[:3])
    if not reasons:
        return InputError(f"{file.name}: a draft needs at least two columns that can be released. The file has fewer.")
    if all(problem.path.startswith("criteria") for problem in problems):
        return InputError(
            f"{file.name}: no criterion could be drafted from {so_many(file.n_rows, 'row')}. Use a public file with more rows, "
            "or with columns that have fewer different values."
        )
    return InputError(f"{file.name}: the draft would not be valid. {reasons} Leave out the columns that this message names.")


def means_budget(subject: Subject, total: Fraction) -> Fraction:
    """Return the epsilon for measuring the means of all numeric columns, at most a twentieth of `total`; 0 without means.

    It is smaller if the noise of each mean then is half of the mean's sampling error. Let m sums of n rows, each within a
    range r, share one noise vector. The noise of each sum has the standard deviation sqrt((m + 1) (m + 2) / 3) r / epsilon
    (theory 9.18, one noise for many numbers). The sampling error of the sum is sqrt(n) times the standard deviation of the
    column.
    """
    columns = with_means(subject.columns)
    facts, n_sums = [column.facts for column in columns if column.facts], sum(1 + column.keeps_missing for column in columns)
    if not facts or subject.members is not None:
        return Fraction(0)
    widest = max((fact.mean_range[1] - fact.mean_range[0]) / max(fact.spread, 1e-300) for fact in facts)
    enough = math.sqrt((n_sums + 1) * (n_sums + 2) / 3 / subject.file.n_rows) * widest / _OF_SAMPLING
    return min(MEANS, total / 20, Fraction(math.ceil(min(enough, 1) * 100), 100))


def rows_budget(n_rows: int) -> Fraction:
    """Return the epsilon for counting the rows that pass the rules: 0.05, or more for a small file.

    The margin of the count, about ln(1 / (2 SHORTFALL)) / epsilon, excludes at most about a twentieth of the rows.
    """
    epsilon = math.log(float(1 / (2 * SHORTFALL))) / (n_rows / 20)
    return max(Fraction(1, 20), Fraction(math.ceil(epsilon * 100), 100))


_LEAVES = 3  # The largest number of columns that are left out because the released rows of persons differ from all rows


def ground_that_tells(ground: Ground) -> Ground:
    """Return a basis for drafts in which the released rows of each person represent all rows, judged without noise.

    Random rows of each person are released if they represent all rows clearly better than the first rows. If they are still
    too different, up to three columns in which they differ most are left out.

    Raises
    ------
    InputError : when the released rows of persons are still no better than independent columns.
    """
    first, n_gone = ground.subject.unit, 0
    if ground.race.held_out.of_all_rows and first is not None and first.first_by:
        drawn = ground_of(replace(ground.subject, unit=replace(first, first_by=())))
        of_first, of_drawn = (one.race.held_out.kept_without_noise() for one in (ground, drawn))
        ground = drawn if of_first is None or (of_drawn or 0.0) > of_first + BETTER else ground
    while ground.race.held_out.of_all_rows and ground.subject.unit is not None:
        subject, biased, share = ground.subject, ground.biased_column, ground.race.held_out.kept_without_noise()
        if share is None or share >= LEAST_KEPT:
            break
        subject.voice.say(f"the released rows of persons differ from all rows in {biased}; trying a draft without this column")
        n_gone += 1
        if n_gone > _LEAVES or len(subject.columns) < 3 or biased in subject.promise.important:
            raise rows_tell_too_little(ground, "")
        because = f"the released rows of persons differ too much from all rows here. {ground.bias} (try --unit KEY:3)"
        source = next(column.source for column in subject.columns if column.name == biased)
        subject = subject.without({biased: LeftOut(source=source, because=because)})
        ground = ground_of(subject)
    return ground


def rows_tell_too_little(ground: Ground, off: str) -> InputError:
    key, records = ("KEY", 1) if (unit := ground.subject.unit) is None else (str(unit.key), unit.records)
    return InputError(
        f"{ground.subject.file.name}: the released rows of each person resemble all rows less than a table of independent "
        f"columns does. {f'In fits, {off}. ' if off else ''}{ground.bias} No draft was written. Release more rows of each "
        f"person with `--unit {quoted(f'{key}:{3 * records}')}`, which triples the epsilon of each person."
    )


# A plan is tried: it is fitted to the public file, and the fits set the thresholds.


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A draft that was fitted to the public file.

    Attributes
    ----------
    subject : the columns of the draft. The counts in `ground` may lack the column of the smallest areas.
    choices : generator, tables, rules and budget.
    others : the epsilon of all parts except the tables.
    at_aimed : share of the associations that a draft at the desired epsilon preserves, if this one has a larger epsilon.
    strengths : strengths of the associations if the smallest areas are among the columns, or None.
    """

    subject: Subject
    ground: Ground
    choices: Choices
    acceptance: AcceptanceDraft
    standing: DraftStanding
    raced: Raced
    others: Fraction
    at_aimed: float | None = None
    strengths: Strengths | None = None


def tried(ground: Ground, raced: Raced) -> Tried:
    """Fit a draft with this plan to the public file, and return it with thresholds that the fits meet."""
    subject, race, rows = ground.subject, ground.race, None
    first, figures = _criteria(ground), min(FIGURES, raced.total / 5)

    def chosen(raced: Raced) -> Choices:
        return replace(
            ground.choices,
            family=raced.family,
            prior_weight=PRIOR_WEIGHT,
            tables=race.terms(raced.told, agreements=raced.unpublished == "agreements"),
            agreements=raced.unpublished == "agreements",
            generation=raced.purse.cost,
            delta=subject.promise.delta,
            models=means_budget(subject, raced.total),
        )

    while True:
        choices = chosen(raced)
        subject.voice.say(f"trying the draft on the public file at epsilon {float(raced.total):g}")
        spec = loaded(subject, choices, first)
        if rows is None:
            rows = rows_of(subject, spec)  # read again: criteria use the rows' own values
            measures = _measures(subject, spec, rows)
        beside = choices.rows + choices.models + TEST
        most = figures if raced.total > beside + figures else None
        acceptance, standing = settle(first, spec, rows, measures, SEED, subject.voice.patiently, most)
        if most is None or acceptance.epsilon <= most:
            break
        figures = acceptance.epsilon + FIGURES / 4
        raced = replace(raced, purse=subject.promise.purse(max(raced.total - beside - figures, raced.total / 4)))
    other_epsilon = beside + acceptance.epsilon
    if raced.total > other_epsilon:
        raced = replace(raced, purse=subject.promise.purse(raced.total - other_epsilon))
        standing = replace(standing, kept=race.trial(raced, final=True))
    return Tried(
        subject=subject,
        ground=ground,
        choices=replace(chosen(raced), limit=raced.total),
        acceptance=acceptance,
        standing=standing,
        raced=raced,
        others=other_epsilon,
    )


def _criteria(ground: Ground) -> AcceptanceDraft:
    subject = ground.subject
    drafted = draft_acceptance(subject.wide, ground.table, ground.pairs, subject.of_members)
    important = [column.name for column in subject.columns if column.name in subject.promise.important]
    if not important:
        return drafted
    settings = {"tables": [f"all 2-way with {name}" for name in important], "threshold": 0.5}
    remark = f"the share of rows in a wrong cell, on average over all pairs with {listing(important)} (--important)"
    name = f"pairs with {' and '.join(important)}"
    pairs = CriterionDraft.of(name, "mean_marginal_error", remark, settings, asks="pairs")
    return replace(drafted, criteria=(*drafted.criteria, pairs))


def _measures(subject: Subject, spec: ReleaseSpec, rows: Counts) -> tuple[Yardstick, ...]:
    subject.voice.patiently("comparing two halves of the public file by the criteria")
    n_splits = 2 if len(spec.schema.columns) <= MANY else 1
    return yardsticks(spec, rows, spec.space[0], SEED, projecting=False, n_splits=n_splits)


def with_more(
    whole: Tried, subject: Subject, choices: Choices, first: AcceptanceDraft, held_out: Callable[[ReleaseSpec], HeldOut]
) -> Tried:
    """Add columns, tables and criteria to a draft that was fitted already, and fit the larger draft to the public file.

    Parameters
    ----------
    subject, choices, first : columns, choices and criteria with the additions.
    held_out : function that returns the halves of the public rows with the additional columns.
    """
    voice = subject.voice
    spec = loaded(subject, choices, first)
    rows = rows_of(subject, spec)
    acceptance, standing = settle(first, spec, rows, _measures(subject, spec, rows), SEED, voice.patiently)
    other_epsilon = choices.rows + choices.models + TEST + acceptance.epsilon
    if choices.limit > other_epsilon:
        choices = replace(choices, generation=subject.promise.purse(choices.limit - other_epsilon).cost)
        spec = spec.with_budget(generation=choices.generation)
    standing = replace(standing, kept=held_out(spec).kept_by_draft(spec, voice.patiently))
    return replace(whole, subject=subject, choices=choices, acceptance=acceptance, standing=standing, others=other_epsilon)


# Plans in the first bins and in wider bins are compared, with errors measured in the first bins.


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A plan for a draft that is compared with other plans, in the drafted bins or in wider bins.

    Attributes
    ----------
    least : the smallest number of rows of a wider bin, in words; empty for the first bins.
    """

    ground: Ground
    raced: Raced
    least: str = ""

    @property
    def words(self) -> str:
        bins = f"bins of {self.least}" if self.least else "the first bins"
        return f"{bins} preserve {shown_share(self.raced.share)} of the associations at epsilon {float(self.raced.total):g}"


def candidates_of(ground: Ground, most: Fraction, above: Fraction) -> list[Candidate]:
    """Return the cheapest plan that preserves enough of the associations in the drafted bins, and better plans in wider bins.

    The preserved share of every plan is measured in the drafted bins. Wider bins that are not better at the next smaller
    epsilon are not better at any smaller one. After bins that preserve less than narrower bins, only the coarsest bins are
    tried, and only if the drafted bins preserve less than `HALF`. Plans in other wider bins measure the tables of the first
    plan.

    Parameters
    ----------
    above : epsilon that a plan must exceed; `most` is the largest.
    """
    subject, race = ground.subject, ground.race
    first = race.cheapest(most, above)
    candidates, columns = [Candidate(ground=ground, raced=first)], subject.columns
    if first.kept is None or first.kept.share is None or subject.members is not None or subject.areas is not None:
        return candidates
    start = race.next_cheaper(first.total) if first.share >= ENOUGH else most
    last_share, worse = first.share, False
    for floor in (*FLOORS, *([COARSEST] if first.share < HALF else [])):
        wider = floored(subject.columns, ground.table, floor)
        if wider == columns or start is None or start <= above or (worse and floor is not COARSEST):
            continue
        columns = wider
        subject.voice.say(f"trying bins of {floor.least} at epsilon {float(start):g}")
        in_wider = ground_of(replace(subject, columns=columns), ground)
        if len(in_wider.subject.columns) < len(columns):
            break  # the bins are so wide that two columns have the same bins, as an industry and its sector
        if (in_wider.race.held_out.kept_without_noise() or 0.0) < first.share:
            break
        told = None if floor is COARSEST and len(columns) <= MOST_SEARCHED_AGAIN else first.told
        raced = in_wider.race.cheapest(start, above, told, first.share + (BETTER if start == first.total else 0))
        if raced.surely >= first.share + (BETTER if raced.total == first.total else 0):
            candidates.append(Candidate(ground=in_wider, raced=raced, least=floor.least))
        worse = raced.total == start and raced.share < last_share - CLEARLY
        last_share = raced.share
    return candidates


def in_order_of_use(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Sort plans by preference: first those that preserve enough, or nearly as much as the best, by epsilon.

    Among plans of the same epsilon, those close to the best share come first, with the narrowest bins in front. So no other
    plan is clearly better than the first in both epsilon and share.

    Parameters
    ----------
    candidates : the plans, with narrower bins first.
    """
    plans = [candidate.raced for candidate in candidates]
    needed = needed_of(max(plan.share for plan in plans))
    best = {plan.total: max(other.share for other in plans if other.total == plan.total) for plan in plans}

    def rank(candidate: Candidate) -> tuple[bool, Fraction, bool]:
        plan = candidate.raced
        return plan.share < needed, plan.total, plan.share < best[plan.total] - CLEARLY

    return sorted(candidates, key=rank)


def in_fitting_bins(ground: Ground, most: Fraction, above: Fraction = Fraction(0)) -> Tried:
    """Fit the most preferred plan and, if its draft is not good, the next, and return the first good or the first draft.

    Parameters
    ----------
    most, above : the epsilon of a plan is at most `most`, and larger than `above`.
    """
    candidates = in_order_of_use(candidates_of(ground, most, above))
    drafts = list[Tried]()
    for candidate in candidates[:2]:
        race, raced = candidate.ground.race, candidate.raced
        if candidate.least and len(candidate.ground.table.layout.sizes) <= MOST_SEARCHED_AGAIN:
            raced = max(raced, race.at(raced.total), key=lambda plan: plan.share)
        drafts.append(tried(candidate.ground, race.unpublished_if_better(raced)))
        if drafts[-1].standing.good:
            break
    best = next((draft for draft in drafts if draft.standing.good), drafts[0])
    chosen = next(candidate for candidate in candidates if candidate.ground is best.ground)
    if not chosen.least:
        return best
    n_bins = {column.name: column.n_bins for column in ground.subject.columns}
    wider = [column for column in best.subject.columns if column.n_bins < n_bins[column.name]]
    alternatives = "; ".join(candidate.words for candidate in candidates if candidate is not chosen)
    young = any(column.bins and column.bins.ages for column in wider)
    smaller = (
        f"In this draft the bins of {listing(column.name for column in wider)} were widened: each bin has "
        f"{chosen.least}{' (a quarter of this for ages under 20)' * young}. Other drafts were fitted, too, and compared in the "
        f"same bins: {alternatives}."
    )
    return replace(best, choices=replace(best.choices, smaller=smaller))


# A draft of fewer columns, where a fit is no better than independent columns.

_STRONGEST_STAY = ": the columns of the pairs with the strongest associations, then the columns with the fewest bins"
_STRONGEST_STAY_COARSER = f"{_STRONGEST_STAY}, in coarser bins"


def smaller_draft(ground: Ground, whole: Tried) -> Tried:
    """Search for a draft of as many columns as possible that is better than independent columns.

    The first bins are used if a draft in them is good, otherwise coarser bins.

    Parameters
    ----------
    whole : the draft of all columns, which is not good.

    Raises
    ------
    InputError : when even a draft of two columns is no better than independent columns.
    """
    subject, columns, total = ground.subject, ground.subject.columns, whole.choices.limit
    order = in_order(columns, ground.pairs, subject.promise.important)
    in_coarse_bins, why = coarser(columns, ground.table), _too_many(len(columns), whole)

    def with_fewer(drafted: Sequence[ColumnDraft], size: int, how: str) -> Tried:
        fewer_columns = f"{size} of {len(columns)} columns" if size < len(columns) else "all columns in coarser bins"
        subject.voice.say(f"there are too few rows for the draft; trying {fewer_columns}")
        stay, gone = fewer(drafted, order, size)
        left_out = (*subject.left_out, *gone)
        in_bins = ground_of(replace(subject, columns=stay, left_out=left_out, areas=None), ground)
        draft = tried(in_bins, in_bins.race.at(total))
        preserved, stays = draft.standing.kept, what_stays(len(draft.subject.columns), len(columns), how)
        reached = f" In fits of this draft, {_off(preserved)}." if preserved and draft.standing.tells else ""
        smaller = f"{why} So this draft has {stays}.{reached}"
        return replace(draft, choices=replace(draft.choices, smaller=smaller), at_aimed=whole.at_aimed)

    # coarser bins alone halve the losses at best
    if whole.standing.errors <= 2 and (draft := with_fewer(in_coarse_bins, len(columns), "")).standing.good:
        return draft
    steps = pairwise(sizes(len(columns), whole.standing.errors))
    trials = ((larger, size, with_fewer(in_coarse_bins, size, _STRONGEST_STAY_COARSER)) for larger, size in steps)
    first = next((trial for trial in trials if trial[2].standing.good), None)
    if first is None and subject.unit is not None and subject.unit.later:
        raise rows_tell_too_little(ground, "")
    if first is None:
        no_better = "Even a draft of the two most associated columns is no better. No draft was written."
        raise InputError(f"{why} {no_better}{what_would_help(whole)}")
    larger, size, draft = first
    if (between := (size + larger) // 2) not in (size, larger):
        wider = with_fewer(in_coarse_bins, between, _STRONGEST_STAY_COARSER)
        size, draft = (between, wider) if wider.standing.good else (size, draft)
    in_drafted_bins = with_fewer(columns, size, _STRONGEST_STAY)
    return in_drafted_bins if in_drafted_bins.standing.good else draft


def what_would_help(whole: Tried) -> str:
    """Return an epsilon, or a number of rows, at which a draft of all columns would be good, as advice, or ""."""
    race, limit, n_rows = whole.ground.race, whole.choices.limit, round(whole.ground.table.total)
    for total in (total for total in (3, 5, 8, 12, 20) if total > limit):
        raced = race.at(Fraction(total))
        if DraftStanding(bins=0.0, judged=True, kept=raced.kept).good:
            rows = n_rows * race.of_tables(raced.total) / race.of_tables(limit)
            return (
                f" Fits of all columns preserve enough at epsilon {total} (`--epsilon {total}`). At epsilon {float(limit):g}, "
                f"the noise is as small with about {float(f'{float(rows):.2g}'):,.0f} rows."
            )
    return ""


def _too_many(n_columns: int, whole: Tried) -> str:
    reasons, standing, total = list[str](), whole.standing, f"epsilon {float(whole.choices.limit):g} in all"
    if whole.others >= whole.choices.limit:
        reasons.append(
            f"counting rows and testing the table cost epsilon {float(whole.others):g}, so nothing is left for tables"
        )
    if standing.bins > MOST_OFF:
        reasons.append(f"the largest error of a bin is {standing.bins:.0%} of all rows")
    if standing.kept and (standing.tells or standing.errors > 1):
        reasons.append(_off(standing.kept))
    return (
        f"The file has too few rows for all columns at this epsilon. In fits of all {n_columns} columns "
        f"({round(whole.ground.table.total):,} rows, {total}), {'; '.join(reasons or ['a fit failed'])}."
    )


def _off(preserved: Kept) -> str:
    strongest = " over the pairs with the strongest associations" if preserved.strongest_alone else ""
    return (
        f"{preserved.off:.1%} of the rows are in a wrong cell of a table of two columns, on average{strongest}; with "
        f"independent columns, the share is {preserved.independent:.1%}"
    )


# Two optional parts of a draft: the smallest areas, which are added to the draft of the larger areas, and columns of rare
# indicators.


def with_smallest_areas(whole: Tried, areas: AreasDraft) -> Tried:
    """Extend the draft by the smallest areas, such as municipalities, with tables for each level of areas.

    Raises
    ------
    InputError : when a level of areas is not among the drafted columns because it has too few rows.
    """
    ground, larger = whole.ground, whole.subject
    larger.voice.say(f"trying the draft with {areas.chain[-1]} on the public file")
    drafted = {column.name for column in larger.columns}
    if gone := [level.name for level in areas.levels if level.name not in drafted]:
        raise InputError(f"--areas: the public file has too few rows to draft the column {gone[0]!r}.")
    n_bins = dict(zip(ground.table.layout.columns, ground.table.layout.sizes, strict=True))
    noise, n_rows = larger.promise.purse(whole.choices.limit).kind, round(ground.table.total)
    tables = ground.race.terms(whole.raced.told)
    measured = areas.measured(tables, n_bins, n_rows, whole.choices.generation, noise)
    choices = replace(
        whole.choices,
        areas=areas,
        family="nested" if whole.choices.delta else "nested_pure",
        tables=measured.texts,
        agreements=False,
        wanted=measured.wanted,
        rules=areas.rules(whole.choices.rules),
    )
    subject = replace(larger, columns=tuple(areas.placed(larger.columns)), areas=None)
    spec = loaded(subject, choices, FIRST)
    table = in_first_bins(rows_of(subject, spec), spec)
    unique = once_only(table)
    whole = replace(whole, strengths=strengths_of(table, ties(subject.wide, table), _gaps(subject)))
    choices = replace(choices, unique=unique, minimum_count=1 if unique > MOST_UNIQUE else 2)
    first = draft_acceptance(larger.wide, ground.table, ground.pairs, larger.of_members, unique=unique)
    first = replace(first, criteria=areas.criteria(first.criteria))
    beside = ground.race.held_out

    def held_out(spec: ReleaseSpec) -> HeldOut:
        if beside.of_all_rows:
            return replace(beside, fitted=HeldOut.of_persons(larger.file.source, spec, (), SEED).fitted)
        rows = in_first_bins(rows_of(larger, spec), spec)
        return HeldOut.of_rows(rows, ground.pairs, beside.comparison.missing, SEED, beside.comparison.columns)

    return with_more(whole, subject, choices, first, held_out)


def counting_marks(whole: Tried) -> Tried:
    """Add a column for each group of rare indicators, such as rare diseases, if fewer pairs then lose their association."""
    subject, ground, choices, preserved = whole.subject, whole.ground, whole.choices, whole.standing.kept
    marks = None if preserved is None else draft_marks(subject.columns, ground.table, [pair.columns for pair in preserved.lost])
    if preserved is None or marks is None:
        return whole
    subject.voice.say(f"trying the draft with columns of rare indicators, {listing(marks.groups)}, on the public file")
    choices = replace(choices, tables=marks.tables(choices.tables), marks=marks)
    held_out = ground.race.held_out

    def counted(spec: ReleaseSpec) -> HeldOut:
        left, right = (with_marks(side, spec.space[0].transformation) for side in held_out.fitted)
        return replace(held_out, fitted=(left, right))

    spec = loaded(subject, choices, FIRST)
    with_sets = counted(spec).kept_by_draft(spec, subject.voice.patiently)
    if with_sets is None or not with_sets.better(preserved):
        return whole
    compared = replace(marks, n_before=len(preserved.lost), n_lost=len(with_sets.lost))
    choices = replace(choices, marks=compared)
    first = draft_acceptance(subject.wide, ground.table, ground.pairs)
    first = replace(first, criteria=tuple(criterion.ignoring([*marks.groups]) for criterion in first.criteria))
    counting = with_more(whole, subject, choices, first, counted)
    return whole if whole.standing.good and not counting.standing.good else counting


def with_marks(rows: Counts, transformation: Transformation) -> Counts:
    """Add a column for each group of rare indicators to the counts: which of the indicators a row has."""
    digits, schema = dict(zip(rows.layout.columns, rows.bins, strict=True)), transformation.schema
    for counted in schema.counted:  # an indicator has two categories, which are its atomic bins
        bins = number_of_indicators(counted, {place: digits[schema.names[place]] for place in counted.marks})
        digits[schema.names[counted.column]] = transformation.maps[counted.column][bins]
    return Counts.of(transformation.layout, [digits[name] for name in transformation.layout.columns], rows.counts)
