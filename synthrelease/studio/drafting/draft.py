"""From a public file to the drafted files of a release.

Columns are drafted from how often each text occurs; then the file is read as a release would read it, and tables, rules and
criteria are drafted from its counts; then the draft is tried on it, which sets the thresholds.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from synthrelease.criteria.drafts import MOST_UNIQUE, CriterionDraft
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Binning, IntervalBin, Transformation, parse_bins
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, OutputError, Problem, SpecError, listing, on_public_data, so_many
from synthrelease.privacy.charges import SHORTFALL
from synthrelease.settings.tables import ACCEPTANCE_SCHEMA, CONFIGURATION_SCHEMA, schema_text
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import DraftRequest
from synthrelease.spec.tried import leave
from synthrelease.studio.drafting.categories import with_levels_joined, with_neighbours_joined
from synthrelease.studio.drafting.codebook import Codebook, read_codebook, written_as_in
from synthrelease.studio.drafting.column_draft import (
    MOST_COLUMNS,
    AskedFor,
    ColumnDraft,
    LeftOut,
    chosen_columns,
    said_twice,
)
from synthrelease.studio.drafting.columns import drafted_columns, with_areas, without_role
from synthrelease.studio.drafting.criteria import (
    LEAST_KEPT,
    MOST_OFF,
    OTHERS,
    AcceptanceDraft,
    DraftStanding,
    draft_acceptance,
    settle,
    suggested_of_members,
    suggested_rules,
    ties,
)
from synthrelease.studio.drafting.members import AS_KEY_OF_ROOTS, MembersDraft, read_members
from synthrelease.studio.drafting.options import (
    AS_KEY,
    AreasDraft,
    MarksDraft,
    UnitAnswer,
    draft_marks,
    ignoring,
    most_leaning,
)
from synthrelease.studio.drafting.public_file import PublicFile, names_of, read_public_file, row_numbers
from synthrelease.studio.drafting.text import (
    TEST,
    Choices,
    Draft,
    acceptance_text,
    codelist_name,
    codelist_text,
    configuration_text,
    paths_of,
    write_files,
)
from synthrelease.studio.rehearsal.closer_look import once_only
from synthrelease.studio.rehearsal.dependence import Pair, strengths_of, tied_pairs
from synthrelease.studio.rehearsal.plan_race import (
    BETTER,
    CLEARLY,
    ENOUGH,
    PRIOR_WEIGHT,
    HeldOut,
    Kept,
    PlanRace,
    Promise,
    Raced,
    needed_of,
    plan_advice,
    shown_share,
)

# A draft is tried: what the file is for is fitted to it, and its thresholds are those that the fits reach.

SEED = 2014
"""A draft is the same each time."""

FIGURES = Fraction(2, 5)
"""Epsilon of all figures, until it is known; of a small total no more than a fifth of it."""

ANY = Promise()

_PATIENCE = 4
"""Seconds without a word, after which the next step is told of."""

Progress = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What every draft of some columns stands on.

    Attributes
    ----------
    choices : the rules that the public file suggests, and what else follows from its rows.
    race : of the plans.
    table : the rows of the public file in the drafted bins.
    pairs : the associations of the columns there.
    binnings : of the columns.
    """

    choices: Choices
    race: PlanRace
    table: Counts
    pairs: tuple[Pair, ...]
    binnings: tuple[Binning, ...]


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A draft that was tried on the public file.

    Attributes
    ----------
    raced, others : its plan, and the epsilon of everything beside the tables.
    at_aimed : what a draft at the epsilon that is aimed at keeps, where this one has a larger epsilon.
    """

    drafting: Drafting
    choices: Choices
    acceptance: AcceptanceDraft
    standing: DraftStanding
    raced: Raced
    others: Fraction
    at_aimed: float | None = None

    @property
    def table(self) -> Counts:
        return self.drafting.begun.table

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return self.drafting.begun.pairs

    def with_more(self, choices: Choices, first: AcceptanceDraft, held_out: Callable[[ReleaseSpec], HeldOut]) -> Tried:
        """The same plan with further columns, tables and criteria, tried as a whole."""
        spec = self.drafting.loaded(choices, first)
        rows = self.drafting.read(spec)
        acceptance, standing = settle(first, spec, rows, SEED, self.drafting.patient)
        others = choices.rows + TEST + acceptance.epsilon
        if choices.limit > others:
            choices = replace(choices, generation=self.drafting.promise.purse(choices.limit - others).cost)
            spec = spec.with_budget(generation=choices.generation)
        standing = replace(standing, kept=held_out(spec).kept_by_draft(spec, self.drafting.patient))
        return replace(self, choices=choices, acceptance=acceptance, standing=standing, others=others)

    @property
    def written(self) -> Draft:
        """The two files, with what the plan costs and keeps; in the acceptance file the pairs that it loses."""
        kept, drafting, acceptance = self.standing.kept, self.drafting, self.acceptance
        if kept is None:
            return drafting.draft(self.choices, acceptance)
        faint = tuple(pair for pair in kept.lost if not pair.strong)
        lost = tuple(pair.columns for pair in kept.strong_lost)
        words = " ".join(filter(None, [kept.words, drafting.lean]))
        advice = plan_advice(drafting.begun.race, self.raced, kept, self.at_aimed)
        draft = drafting.draft(replace(self.choices, advice=advice), replace(acceptance, lost=lost, faint=faint, kept=words))
        missing = {column.name for column in drafting.wide if column.keeps_missing}
        return replace(draft, strengths=strengths_of(self.table, self.pairs, missing))


@dataclass(eq=False)
class Drafting:
    """One draft on its way: the columns are given, the rest follows from the counts.

    Attributes
    ----------
    reporter : told what is being done.
    narrower : a draft of the same columns in narrower bins, in which this one is compared; None for the first bins.
    n_kept : rows of the public file that a release of persons, or of roots, works with; 0 where all rows do.
    leaning, lean : the column whose rows of persons lean most, and how much, a sentence; empty without persons.
    """

    name: str
    file: PublicFile
    columns: Sequence[ColumnDraft]
    left_out: Sequence[LeftOut]
    reporter: Progress
    unit: UnitAnswer | None = None
    promise: Promise = ANY
    members: MembersDraft | None = None
    areas: AreasDraft | None = None
    narrower: Drafting | None = None
    n_kept: int = field(default=0, init=False)
    leaning: str = field(default="", init=False)
    lean: str = field(default="", init=False)
    _said: float = field(default_factory=time.monotonic, init=False)

    def progress(self, doing: str) -> None:
        """Say what is being done."""
        self._said = time.monotonic()
        self.reporter(doing)

    def patient(self, doing: str) -> None:
        """Say what is being done, where nothing was said for some seconds."""
        if time.monotonic() - self._said > _PATIENCE:
            self.progress(doing)

    @property
    def wide(self) -> list[ColumnDraft]:
        """The columns of a record: with members those of all of them, too."""
        return [*self.columns, *(self.members.wide() if self.members else ())]

    @property
    def of_members(self) -> list[str]:
        """The columns that several members of a root have."""
        return [column.name for column in self.members.columns] if self.members and self.members.most > 1 else []

    def tried(self, raced: Raced) -> Tried:
        """The draft of a plan of these columns, with the thresholds that it reaches on the public file."""
        choices, race, rows = self.begun.choices, self.begun.race, None
        first, figures = self._criteria(), figures_budget(raced.total)
        while True:
            choices = self._choices_of(choices, raced, race.terms(raced.told))
            self.progress(f"trying the draft on the public file at epsilon {float(raced.total):g}")
            spec = self.loaded(choices, first)
            rows = rows or self.read(spec)  # read again: criteria use the rows' own values
            acceptance, standing = settle(first, spec, rows, SEED, self.patient)
            if acceptance.epsilon <= figures or raced.total <= choices.rows + TEST + figures:
                break
            figures = acceptance.epsilon + FIGURES / 4
            left = max(raced.total - choices.rows - TEST - figures, raced.total / 4)
            raced = replace(raced, purse=self.promise.purse(left))
        others = choices.rows + TEST + acceptance.epsilon
        if raced.total > others:
            raced = replace(raced, purse=self.promise.purse(raced.total - others))
            standing = replace(standing, kept=race.kept(raced, final=True))
        choices = replace(self._choices_of(choices, raced, race.terms(raced.told)), limit=raced.total)
        return Tried(drafting=self, choices=choices, acceptance=acceptance, standing=standing, raced=raced, others=others)

    def _criteria(self) -> AcceptanceDraft:
        """The criteria of these columns, and one for the pairs with columns that the steward called important."""
        drafted = draft_acceptance(self.wide, self.begun.table, self.begun.pairs, self.of_members)
        important = [column.name for column in self.columns if column.name in self.promise.important]
        if not important:
            return drafted
        settings = {
            "name": f"pairs with {' and '.join(important)}"[:80],
            "kind": "mean_marginal_error",
            "tables": [f"all 2-way with {name}" for name in important],
            "threshold": 0.5,
            "epsilon": Fraction(1, 100),
        }
        remark = f"the share of rows in a wrong cell, on average over all pairs with {listing(important)}: said to be important"
        return replace(drafted, criteria=(*drafted.criteria, CriterionDraft(settings=settings, remark=remark, asks="pairs")))

    @cached_property
    def begun(self) -> Ground:
        """What a draft of these columns begins with."""
        self.progress(f"counting the rows in the drafted bins of {len(self.wide)} columns")
        spec, table = self._counted_at_last()
        if twice := said_twice(self.columns, table):
            self.left_out = [*self.left_out, *twice.values()]
            self.columns = [column for column in self.columns if column.name not in twice]
            spec, table = self._counted()
        if self.areas is None and (columns := floored(self.columns, table, least_floor(table))) != self.columns:
            self.columns = columns
            spec, table = self._counted()
        choices = self._first_choices()
        transformation = spec.space[0].transformation
        numbers = None if self.members else partial(row_numbers, self.file, policy=spec.input)
        steps = {column.name: column.facts.step for column in self.columns if column.facts}
        rules = suggested_rules(spec.schema, transformation.binnings, table, self._unruled(), numbers, steps)
        if self.members is not None:
            self.members = replace(self.members, rules=tuple(suggested_of_members(spec.schema, transformation, table)))
        unique = once_only(table)
        of_persons = self.unit.later + self.unit.without_key if self.unit else 0
        rows = self.members.n_roots if self.members else self.file.n_rows - of_persons
        choices = replace(choices, gaps=rows - round(table.total))
        choices = replace(choices, rules=tuple(rules), unique=unique, minimum_count=1 if unique > MOST_UNIQUE else 2)
        self.progress("looking for the tables that hold the associations")
        spec = self.loaded(choices, FIRST)
        plausible = spec.synthetic.merge(spec.space[0].transformation)
        gaps = {column.name for column in self.wide if column.keeps_missing}
        pairs = ties(self.wide, table)
        race = PlanRace(
            table,
            self._held_out(spec, table, pairs, gaps),
            plausible,
            pairs,
            transformation.ordered,
            gaps,
            self.promise,
            lambda total: choices.rows + TEST + figures_budget(total),
            SEED,
            self.patient,
        )
        return Ground(choices=choices, race=race, table=table, pairs=tuple(pairs), binnings=tuple(transformation.binnings))

    def _held_out(self, spec: ReleaseSpec, table: Counts, pairs: Sequence[Pair], gaps: set[str]) -> HeldOut:
        """The rows of the public file in halves; of columns in wider bins the halves of the narrower ones, compared there."""
        transformation = spec.space[0].transformation
        if self.narrower is not None:
            self.leaning, self.lean = self.narrower.leaning, self.narrower.lean
            before = {
                column.name: each for column, each in zip(self.narrower.columns, self.narrower.begun.binnings, strict=True)
            }
            narrow = {column.name: column for column in self.narrower.columns}
            maps = [
                places_in((column, binning), (narrow[column.name], before[column.name]))
                for column, binning in zip(self.columns, transformation.binnings, strict=True)
            ]
            return self.narrower.begun.race.held_out.in_bins(transformation.layout, maps)
        if self.unit is None or not self.unit.later:
            return HeldOut.of_rows(table, pairs, gaps, SEED)
        held_out = HeldOut.of_persons(self.file.source, spec, gaps, SEED)
        left, right = held_out.comparison.sides
        self.leaning, self.lean = most_leaning(table, left + right, transformation.binnings)
        return held_out

    def _choices_of(self, choices: Choices, raced: Raced, tables: tuple[str, ...]) -> Choices:
        """With what was raced."""
        return replace(
            choices,
            family=raced.family,
            prior_weight=PRIOR_WEIGHT[raced.pure],
            tables=tables,
            generation=raced.purse.cost,
            delta=self.promise.delta,
        )

    def _first_choices(self) -> Choices:
        """What a draft begins with: every column by itself."""
        return Choices(
            tables=tuple(column.name for column in self.wide),
            rules=(),
            minimum_count=1,
            unique=0.0,
            rows=rows_budget(self.n_kept or self.file.n_rows),
            limit=Fraction(1000),
            family="marginals",
            prior_weight=1,
            generation=Fraction(1),
            delta=Fraction(0),
        )

    def _counted_at_last(self) -> tuple[ReleaseSpec, Counts]:
        """As `_counted`; a column whose draft cannot be loaded loses the role that was guessed, or is left out, and says so.

        Raises
        ------
        InputError : when what is left cannot be loaded either.
        """
        problems: tuple[Problem, ...] = ()
        while len(self.columns) > (1 if self.members is None else 0):
            try:
                return self._counted()
            except SpecError as error:
                problems = error.problems
            if any(column.weight for column in self.columns):
                self.columns = [without_role(each) if each.weight else each for each in self.columns]
                continue
            at_fault = {problem.path.split(".")[1]: problem for problem in problems if problem.path.startswith("columns.")}
            of_members = {each.path.split(".")[2]: each for each in problems if each.path.startswith("members.columns.")}
            if self.members is not None and 0 < len(of_members) < len(self.members.columns):
                self.members = self.members.without({name: _undrafted(problem) for name, problem in of_members.items()})
                continue
            gone = [column for column in self.columns if column.name in at_fault]
            if not gone:
                break
            self.columns = [column for column in self.columns if column not in gone]
            self.left_out = [
                *self.left_out,
                *(LeftOut(source=each.source, because=_undrafted(at_fault[each.name])) for each in gone),
            ]
        raise no_draft(self.file, problems)

    def _counted(self) -> tuple[ReleaseSpec, Counts]:
        """The columns loaded, and the rows of the public file in their drafted bins."""
        spec = self.loaded(self._first_choices(), FIRST)
        public = self.read(spec)
        if not public.total:
            raise InputError(f"{self.file.name}: every row has a gap in some column; nothing is left to draft from.")
        if self.members is not None or (self.unit is not None and self.unit.key is not None):
            self.n_kept = public.total
        transformation = spec.space[0].transformation
        return spec, public.merge(transformation.layout, transformation.maps)

    def read(self, spec: ReleaseSpec) -> Counts:
        return read_public(self.file.source, spec.schema, spec.input, spec.raw, spec.unit)

    def _unruled(self) -> list[str]:
        """Columns that plausibility has nothing to say about."""
        members = [column.name for column in self.members.wide()[1:]] if self.members else []
        return [*(column.name for column in self.columns if column.weight), *members]

    def draft(self, choices: Choices, acceptance: AcceptanceDraft) -> Draft:
        columns, left_out = self.columns, self.left_out
        return Draft(
            configuration=configuration_text(self.name, self.file, columns, left_out, choices, self.unit, self.members),
            acceptance=acceptance_text(self.name, self.file, acceptance, self.wide),
            columns=tuple(self.columns),
            left_out=tuple(self.left_out),
            criteria=acceptance,
            n_rows=self.file.n_rows,
            source=self.file.name,
            smaller=choices.smaller,
            plan=choices.plan,
            unit=self.unit,
            members=self.members,
            comparing=tuple(rule.never for rule in choices.rules if rule.active and rule.compares),
            codelists={path: codelist_text(column) for column in self.columns if (path := codelist_name(self.name, column))},
        )

    def loaded(self, choices: Choices, acceptance: AcceptanceDraft) -> ReleaseSpec:
        """The draft so far, loaded as a release would load it."""
        found, problems = self.draft(choices, acceptance), tuple[Problem, ...]()
        with tempfile.TemporaryDirectory() as folder:
            try:
                return load_spec(write_files(Path(folder), self.name, found)[0])
            except SpecError as error:  # told of the file that it would become
                problems = tuple(
                    replace(problem, file=f"{Path(problem.file).parent.name}/{self.name}.toml") for problem in error.problems
                )
        raise SpecError(problems)


def _undrafted(problem: Problem) -> str:
    return f"it could not be drafted ({_why(problem)})"


def _why(problem: Problem) -> str:
    """A mistake in a draft, without the file that nobody has seen."""
    return f"expected {problem.expected}; found {problem.found}"


def no_draft(file: PublicFile, problems: Sequence[Problem]) -> InputError:
    """What to tell the steward where the draft as a whole cannot be loaded."""
    found = "; ".join(f"{problem.path}: {_why(problem)}" for problem in problems[:3])
    if not found:
        return InputError(f"{file.name}: expected at least two columns that can be released, found fewer.")
    if all(problem.path.startswith("criteria") for problem in problems):
        return InputError(
            f"{file.name}: no criterion could be drafted from {so_many(file.n_rows, 'row')}. Take a public file with more "
            "rows, or with columns that have fewer different values."
        )
    return InputError(f"{file.name}: no draft could be made of it ({found}). Try a file without the columns that this names.")


FIRST = AcceptanceDraft(
    criteria=(
        CriterionDraft(
            settings={
                "name": "columns",
                "kind": "absolute_marginal_error",
                "largest": 1,
                "threshold": 0.5,
                "epsilon": Fraction(1, 100),
            },
            remark="",
        ),
    ),
    groups={},
    left_out=(),
)
"""What a draft is read with before it has criteria of its own."""


def figures_budget(total: Fraction) -> Fraction:
    """Epsilon of all figures of a release of so large an epsilon, until it is known."""
    return min(FIGURES, total / 5)


def rows_budget(n_rows: int) -> Fraction:
    """Epsilon of counting the kept rows: 0.05, or what leaves out at most about a fiftieth of so many rows.

    The margin of the count is about ln(1 / (2 SHORTFALL)) / epsilon.
    """
    wanted = math.log(float(1 / (2 * SHORTFALL))) / (n_rows / 50)
    return max(Fraction(1, 20), Fraction(math.ceil(wanted * 100), 100))


# A draft with areas is tried: the one of the larger areas, with the smallest ones beside it.


def with_smallest_areas(whole: Tried, areas: AreasDraft, progress: Progress) -> Tried:
    """The draft with the smallest areas, too, and with tables of each level; thresholds that its fits reach.

    Raises
    ------
    InputError : when a level is left out for too few rows.
    """
    progress(f"trying it with {areas.chain[-1]} on the public file")
    before, drafted = whole.drafting, {column.name for column in whole.drafting.columns}
    if gone := [level.name for level in areas.levels if level.name not in drafted]:
        raise InputError(f"--areas: expected {gone[0]!r} among the drafted columns; there are too few rows for it.")
    sizes = dict(zip(whole.table.layout.columns, whole.table.layout.sizes, strict=True))
    noise = before.promise.purse(whole.choices.limit).kind
    n_rows, cost = round(whole.table.total), whole.choices.generation
    measured = areas.measured(whole.choices.tables, sizes, n_rows, cost, noise)
    choices = replace(
        whole.choices,
        areas=areas,
        family="nested" if whole.choices.delta else "nested_pure",
        tables=measured.texts,
        wanted=measured.wanted,
        rules=areas.rules(whole.choices.rules),
    )
    columns = areas.placed(before.columns)
    drafting = replace(before, columns=columns, areas=None, narrower=None)
    spec = drafting.loaded(choices, FIRST)
    transformation = spec.space[0].transformation
    unique = once_only(drafting.read(spec).merge(transformation.layout, transformation.maps))
    choices = replace(choices, unique=unique, minimum_count=1 if unique > MOST_UNIQUE else 2)
    first = draft_acceptance(before.wide, whole.table, whole.pairs, before.of_members, unique=unique)
    first = replace(first, criteria=areas.criteria(first.criteria))
    beside = before.begun.race.held_out

    def held_out(spec: ReleaseSpec) -> HeldOut:
        """The rows in halves with the smallest areas, compared without these."""
        if beside.of_all_rows:
            return replace(beside, fitted=HeldOut.of_persons(before.file.source, spec, (), SEED).fitted)
        transformation = spec.space[0].transformation
        rows = before.read(spec).merge(transformation.layout, transformation.maps)
        return HeldOut.of_rows(rows, before.begun.pairs, beside.comparison.missing, SEED, beside.comparison.columns)

    return replace(whole, drafting=drafting).with_more(choices, first, held_out)


# A draft with numbers of marks is tried beside the one without.


def counting_marks(whole: Tried) -> Tried:
    """The draft with the number of marks of each group of rare ones, where it loses fewer pairs by that."""
    drafting, choices, kept = whole.drafting, whole.choices, whole.standing.kept
    marks = None if kept is None else draft_marks(drafting.columns, whole.table, [pair.columns for pair in kept.lost])
    if kept is None or marks is None:
        return whole
    drafting.progress(f"trying it with the numbers of marks in {listing(marks.groups)} on the public file")
    choices = replace(choices, tables=marks.tables(choices.tables), marks=tuple(marks.lines(0, 0)))
    held_out = drafting.begun.race.held_out

    def counted(spec: ReleaseSpec) -> HeldOut:
        """The same halves with the numbers of marks."""
        left, right = (with_marks(side, spec.space[0].transformation, marks) for side in held_out.fitted)
        return replace(held_out, fitted=(left, right))

    spec = drafting.loaded(choices, FIRST)
    found = counted(spec).kept_by_draft(spec, drafting.patient)
    if found is None or not found.better(kept):
        return whole
    choices = replace(choices, marks=tuple(marks.lines(len(kept.lost), len(found.lost))))
    first = draft_acceptance(drafting.wide, whole.table, whole.pairs)
    first = replace(first, criteria=tuple(ignoring(list(marks.groups), each) for each in first.criteria))
    counting = whole.with_more(choices, first, counted)
    return whole if whole.standing.good and not counting.standing.good else counting


def with_marks(rows: Counts, transformation: Transformation, marks: MarksDraft) -> Counts:
    """Return the rows with a column for the number of marks of each group, which follows from the others."""
    digits, schema = dict(zip(rows.layout.columns, rows.bins, strict=True)), transformation.schema
    for counted in schema.counted:
        name = schema.names[counted.column]
        has = [digits[mark] == transformation.binning(mark).labels.index(marks.yes[mark]) for mark in marks.groups[name]]
        digits[name] = transformation.maps[counted.column][counted.bins[np.sum(has, axis=0)]]
    return Counts.of(transformation.layout, [digits[name] for name in transformation.layout.columns], rows.counts)


# A draft in wider bins: of neighbouring numbers and of rare codes, where a fit in the drafted ones keeps too little.
#
# Coarser bins put more rows into a cell, and so more of the associations stands out from the noise.

FEW_CATEGORIES = 6
FREQUENT = 0.05
"""Share of the rows of a category that stays by itself in coarser bins."""


@dataclass(frozen=True, kw_only=True)
class Floor:
    """How many rows a bin has at least in a draft with coarser bins.

    Attributes
    ----------
    share : of the rows of the public file; a code below it counts among the others, neighbouring bins of numbers join.
    most : columns of so many bins stay as they are.
    least : how many rows that is, in words.
    """

    share: float
    most: int
    least: str


LEAST_ROWS = 10
"""Of the public file in a bin of a draft, at least, where a neighbour or another rare code can join it."""

FLOORS = tuple(
    Floor(share=share, most=most, least=f"at least {share:.0%} of the rows")
    for share, most in ((0.04, 12), (0.05, FEW_CATEGORIES), (0.1, FEW_CATEGORIES))
)
"""That are tried in turn where too little is kept: first of the columns with very many bins alone."""


def coarser(columns: Sequence[ColumnDraft], table: Counts) -> list[ColumnDraft]:
    """The columns with the bins that their numbers are grouped in, three at most, and with their frequent categories.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """
    return [_coarser(column, table.marginal((place,))) for place, column in enumerate(columns)]


def floored(columns: Sequence[ColumnDraft], table: Counts, floor: Floor) -> list[ColumnDraft]:
    """The columns with more bins than the floor lets be, in bins that have its share of the rows.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """
    found = []
    for place, column in enumerate(columns):
        rows = table.marginal((place,))
        if column.n_bins <= floor.most:
            found.append(column)
        elif column.bins and not column.weight:
            limits = _joined(column.bins.coarse, rows[: column.n_bins] / rows.sum(), floor.share)
            found.append(_in_bins(column, rows, limits))
        else:
            found.append(_frequent(column, rows, floor.share, f"in this draft the {{}} with {floor.least}"))
    return found


def _joined(limits: Sequence[float], shares: np.ndarray, least: float) -> tuple[float, ...]:
    """The limits between bins that have so large a share of the rows each; the one nearest to the middle where none are.

    Parameters
    ----------
    shares : of the rows, in the bins between all limits; what is missing of 1 has no value.
    """
    kept, held = list[float](), 0.0
    below = np.cumsum(shares)
    for limit, share, reached in zip(limits, shares, below, strict=False):
        held += share
        if held >= least and below[-1] - reached >= least:
            kept, held = [*kept, limit], 0.0
    return tuple(kept) or (limits[int(np.abs(below[:-1] - below[-1] / 2).argmin())],)


def _coarser(column: ColumnDraft, rows: np.ndarray) -> ColumnDraft:
    if column.bins and not column.weight:
        return _in_bins(column, rows, column.bins.groups)
    if column.n_bins <= FEW_CATEGORIES:
        return column
    return _frequent(column, rows, FREQUENT, f"in this smaller draft the {{}} with at least {FREQUENT:.0%} of the rows")


def _frequent(column: ColumnDraft, rows: np.ndarray, least: float, told: str) -> ColumnDraft:
    """Return the column in categories of so large a share of the rows: neighbours join where there is an order, else those of
    one larger category, else all rare ones; where none is so frequent, the most frequent stay."""
    if column.ordered:
        return with_neighbours_joined(column, least)
    if column.within:
        return with_levels_joined(column, least)
    listed = column.common or tuple(column.codes)
    spelled = any(code.spellings for code in column.codes.values())
    frequent = tuple(text for text in listed if column.codes[text].rows >= least * rows.sum())
    if not frequent:
        most = sorted(listed, key=lambda text: -column.codes[text].rows)[: FEW_CATEGORIES - 1]
        frequent = tuple(text for text in listed if text in most)
    rare = [text for text in listed if text not in frequent]
    if len(rare) < 2 or spelled:
        return column
    named = [column.codes[text].label for text in rare if column.codes[text].label != text]
    question = f"rare codes with a name stand under {OTHERS!r}: {listing(named, 5)}. To keep one, list it as a group of its own"
    return replace(
        column,
        kind="code",
        common=frequent,
        remark=f"{column.remark}; {told.format(len(frequent))}",
        doubt="; ".join(filter(None, [column.doubt, question if named else ""])),
    )


def _in_bins(column: ColumnDraft, rows: np.ndarray, limits: tuple[float, ...]) -> ColumnDraft:
    """These limits in place of the coarse ones, of which they are some; the coarse ones in place of the fine ones."""
    bins, facts = column.bins, column.facts
    if bins is None or facts is None or limits == bins.coarse:
        return column
    groups = bins.groups if set(bins.groups) <= set(limits) else limits[:: max(1, len(limits) // 2)][:2]
    fewer = replace(bins, coarse=limits, fine=bins.coarse, groups=groups)
    whole = column.kind == "integer"
    old, new = (parse_bins(each.texts(whole=whole, weight=False)["coarse"], whole_numbers=whole) for each in (bins, fewer))
    stands = np.array([facts.numbers.get(one.label, one.number) for one in old])
    numbers = {one.label: _mean(one, old, stands, rows, facts.numbers) for one in new}
    kept = {label: number for label, number in facts.numbers.items() if label in {one.label for one in old}}
    return replace(column, bins=fewer, facts=replace(facts, numbers={**kept, **numbers}))


def _mean(
    one: IntervalBin, old: Sequence[IntervalBin], stands: np.ndarray, rows: np.ndarray, known: Mapping[str, float]
) -> float:
    """The mean of the rows of a bin that is made up of others, by the numbers that stand for these."""
    inside = np.array([one.lower <= each.lower and each.upper <= one.upper for each in old])
    if one.label in known or not rows[: len(old)][inside].sum():
        return known.get(one.label, one.number)
    return float(f"{np.average(stands[inside], weights=rows[: len(old)][inside]):.4g}")


def least_floor(table: Counts) -> Floor:
    """That every bin of a draft has, where it can."""
    return Floor(share=LEAST_ROWS / table.total, most=2, least=f"at least {LEAST_ROWS} rows")


def places_in(wider: tuple[ColumnDraft, Binning], narrower: tuple[ColumnDraft, Binning]) -> np.ndarray:
    """(n_narrow,) for each bin of a column the wider one that holds it, or its first category."""
    wide, narrow = wider[1], narrower[1]
    if narrow.lower:
        places = (np.searchsorted(wide.lower, narrow.lower, side="right") - 1).tolist()
    else:
        labels, old = (_label_of_each(column) for column, _ in (wider, narrower))
        first = {old[text]: labels[text] for text in reversed(old)}
        number = {label: place for place, label in enumerate(wide.labels)}
        places = [number[first[label]] for label in narrow.labels[: narrow.present]]
    return np.array([*places, *([] if wide.missing is None else [wide.missing])])


def _label_of_each(column: ColumnDraft) -> dict[str, str]:
    """The label under which each category is released."""
    labels = {text: code.label for text, code in column.codes.items()}
    if column.common:
        labels = {text: label if text in column.common else OTHERS for text, label in labels.items()}
    return labels | {text: label for label, texts in column.groups.items() for text in texts}


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A plan in some bins, which was fitted to the public file.

    Attributes
    ----------
    least : how many rows wider bins have at least, in words; empty for the first bins.
    """

    drafting: Drafting
    raced: Raced
    least: str = ""

    @property
    def words(self) -> str:
        """What it keeps at which epsilon."""
        bins = f"bins of {self.least}" if self.least else "the first bins"
        return f"{bins} at epsilon {float(self.raced.total):g} {shown_share(self.raced.share)}"


def candidates_of(drafting: Drafting, most: Fraction, above: Fraction) -> list[Candidate]:
    """Return the cheapest plan that keeps enough in the drafted bins, and those in wider bins that beat it.

    All are measured in the drafted bins. The more epsilon a plan has the more it keeps, so a plan in wider bins that is no
    better at the next smaller epsilon is no better at any. Bins in which the rows themselves keep no more, without noise,
    are not fitted, and after bins that keep less than narrower ones no wider ones are tried. Wider bins are compared with the
    tables of the first ones: to look for others takes most of the time, and is done for the plan that is drafted.
    """
    race = drafting.begun.race
    first = Candidate(drafting=drafting, raced=race.cheapest(most, above))
    found, columns = [first], drafting.columns
    nobody_knows = first.raced.kept is None or first.raced.kept.share is None
    if nobody_knows or drafting.members is not None or drafting.areas is not None:
        return found
    enough = first.raced.share >= ENOUGH
    start = race.next_cheaper(first.raced.total) if enough else most
    before = first.raced.share
    for floor in FLOORS:
        wider = floored(drafting.columns, drafting.begun.table, floor)
        if wider == columns or start is None or start <= above:
            continue
        columns = wider
        drafting.progress(f"trying bins of {floor.least} at epsilon {float(start):g}")
        other = replace(drafting, columns=columns, narrower=drafting)
        race = other.begun.race
        if (race.held_out.kept_without_noise() or 0.0) < first.raced.share:
            break
        raced = race.cheapest(start, above, first.raced.told)
        if raced.surely >= first.raced.share + (BETTER if raced.total == first.raced.total else 0):
            found.append(Candidate(drafting=other, raced=raced, least=floor.least))
        if raced.total == start and raced.share < before - CLEARLY:
            break
        before = raced.share
    return found


def in_order_of_use(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Sort plans, the one to draft first: of those that keep enough, or nearly as much as any, the cheapest one, and of equally
    cheap ones the one with the narrowest bins of those that keep most. None of the others beats it in epsilon and in what is
    kept by more than the noise of single fits.

    Parameters
    ----------
    candidates : those with narrower bins first.
    """
    needed = needed_of(max(one.raced.share for one in candidates))
    most = {
        one.raced.total: max(other.raced.share for other in candidates if other.raced.total == one.raced.total)
        for one in candidates
    }

    def rank(one: Candidate) -> tuple[bool, Fraction, bool]:
        raced = one.raced
        return raced.share < needed, raced.total, raced.share < most[raced.total] - CLEARLY

    return sorted(candidates, key=rank)


def in_fitting_bins(drafting: Drafting, most: Fraction, above: Fraction = Fraction(0)) -> Tried:
    """The draft that keeps most at the least epsilon, at most `most`, in its own bins or in wider ones."""
    candidates = in_order_of_use(candidates_of(drafting, most, above))
    tried = list[Tried]()
    for one in candidates[:2]:
        race = one.drafting.begun.race
        raced = max(one.raced, race.at(one.raced.total), key=lambda raced: raced.share) if one.least else one.raced
        tried.append(one.drafting.tried(race.with_own_tables(raced)))
        if tried[-1].standing.good:
            break
    best = next((one for one in tried if one.standing.good), tried[0])
    chosen = next(one for one in candidates if one.drafting is best.drafting)
    if not chosen.least:
        return best
    before = {column.name: column.n_bins for column in drafting.columns}
    names = listing(column.name for column in best.drafting.columns if column.n_bins < before[column.name])
    others = "; ".join(one.words for one in candidates if one is not chosen)
    smaller = (
        f"In this draft the bins of {names} are wider than at first and have {chosen.least} each. Fits of other drafts that "
        f"were tried keep, measured in the same bins: {others}."
    )
    return replace(best, choices=replace(best.choices, smaller=smaller))


# A smaller draft: fewer columns where a fit is no better than independent columns.
#
# Every measured table gets its share of one budget, so the noise of each grows with their number, and with few rows it hides
# how
# columns are associated. Fewer columns need fewer tables.

_NEXT = 0.7
"""Part of the columns that is tried next."""

_KEPT = ": those of the pairs with the strongest associations, then those with the fewest bins"
_KEPT_IN_COARSER = f"{_KEPT}, in coarser bins"


def in_order(columns: Sequence[ColumnDraft], pairs: Sequence[Pair], important: Sequence[str] = ()) -> list[ColumnDraft]:
    """Columns in the order in which a smaller draft keeps them.

    A design weight first, because nothing can be estimated without it; then the columns of the pairs most associated,
    pair by pair; then those that are associated with none, the ones with the fewest bins first.
    """
    by_name = {column.name: column for column in columns}
    important = [name for name in important if name in by_name]
    names = [*important, *(column.name for column in columns if column.weight)]
    names += [name for pair in tied_pairs(pairs) for name in pair.columns]
    names += sorted(by_name, key=lambda name: by_name[name].n_bins)
    return [by_name[name] for name in dict.fromkeys(names)]


def sizes(n_columns: int, errors: float) -> Iterator[int]:
    """How many columns to try, fewer and fewer: all, what noise that grows with their square suggests, and on down to two.

    Parameters
    ----------
    errors : of a fit to all columns, over those of independent columns.
    """
    yield n_columns
    kept = n_columns * min(_NEXT, math.sqrt(1 / max(errors, 1.0)))
    while kept > 2:
        yield max(2, round(kept))
        kept *= _NEXT
    yield 2


def fewer(columns: Sequence[ColumnDraft], order: Sequence[ColumnDraft], kept: int) -> tuple[list[ColumnDraft], list[LeftOut]]:
    """The first `kept` columns of the order, in their own order, and why the others are left out."""
    stay = {column.name for column in order[:kept]}
    because = (
        "the draft had to become smaller, and it is in no pair that is associated more than those that stay (--only tries "
        "other columns)"
    )
    gone = [LeftOut(source=column.source, because=because) for column in columns if column.name not in stay]
    return [column for column in columns if column.name in stay], gone


def what_stays(kept: int, columns: int, how: str) -> str:
    """What a smaller draft has: all columns in coarser bins, or some, chosen as `how` says."""
    return f"{kept} of the {columns} columns{how}" if kept < columns else "coarser bins"


def smaller_draft(drafting: Drafting, whole: Tried) -> Tried:
    """The draft of as many columns as stand beside independent columns; in its drafted bins where it can.

    Raises
    ------
    InputError : when no two columns do.
    """
    columns, order = whole.drafting.columns, in_order(whole.drafting.columns, whole.pairs, drafting.promise.important)
    in_coarse_bins = coarser(columns, whole.table)
    most = whole.choices.limit
    why = _too_many(len(columns), drafting.file.n_rows, whole)

    def tried(drafted: Sequence[ColumnDraft], kept: int, how: str) -> Tried:
        drafting.progress(f"too many columns for so few rows: trying {kept} of {len(columns)} columns")
        stay, gone = fewer(drafted, order, kept)
        left_out = [*whole.drafting.left_out, *gone]
        smaller = replace(whole.drafting, columns=stay, left_out=left_out, areas=None, narrower=whole.drafting)
        one = smaller.tried(smaller.begun.race.at(most))
        stays = what_stays(len(one.drafting.columns), len(columns), how)
        reached = f" In fits to it {_off(one.standing.kept)}." if one.standing.kept and one.standing.tells else ""
        because = f"{why} So this draft has {stays}.{reached}"
        return replace(one, choices=replace(one.choices, smaller=because))

    if whole.standing.near and (one := tried(in_coarse_bins, len(columns), "")).standing.good:
        return one
    steps = pairwise(sizes(len(columns), whole.standing.errors))
    good = ((wide, n, one) for wide, n in steps if (one := tried(in_coarse_bins, n, _KEPT_IN_COARSER)).standing.good)
    if (first := next(good, None)) is None:
        raise InputError(
            f"{why} Nor is a draft of the two columns with the strongest associations better. No draft was written."
        )
    wider, kept, found = first
    if (between := (kept + wider) // 2) not in (kept, wider):
        one = tried(in_coarse_bins, between, _KEPT_IN_COARSER)
        kept, found = (between, one) if one.standing.good else (kept, found)
    in_drafted_bins = tried(columns, kept, _KEPT)
    return in_drafted_bins if in_drafted_bins.standing.good else found


def _too_many(n_columns: int, n_rows: int, whole: Tried) -> str:
    """Why a draft of all columns is none."""
    found, standing, total = list[str](), whole.standing, f"epsilon {float(whole.choices.limit):g} in all"
    if whole.others >= whole.choices.limit:
        found.append(f"nothing is left for tables: counting the rows and testing cost epsilon {float(whole.others):g}")
    if standing.bins > MOST_OFF:
        found.append(f"the worst bin of a column is off by {standing.bins:.0%} of all rows")
    if standing.kept and standing.tells:
        found.append(_off(standing.kept))
    return (
        f"Too many columns for so few rows at this epsilon: in fits to all {n_columns} columns ({n_rows:,} rows, {total}) "
        f"{'; '.join(found)}."
    )


def _off(kept: Kept) -> str:
    """How far off tables of two columns are in fits, beside independent columns."""
    strongest = ", of the pairs with the strongest associations," if kept.strongest_alone else ","
    return (
        f"{kept.off:.1%} of the rows are in a wrong cell of a table of two columns{strongest} on average, where independent "
        f"columns have {kept.independent:.1%}"
    )


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}", re.ASCII)
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}


@on_public_data()
def draft(request: DraftRequest, progress: Progress = lambda doing: None) -> Draft:
    """Draft a release from a **public** file. Of more columns than a release can have some are chosen (`chosen_columns`).

    Raises
    ------
    InputError : when the name cannot be used, `unit` names no column, a file cannot be read, lacks a column that is wanted, or
        has fewer than two columns for a release.
    """
    name, public, table, unit, key = request.name, request.public, request.table, request.unit, request.key
    wanted = AskedFor(only=request.only, leave_out=request.leave_out)
    promise = Promise.of(request.epsilon, pure=request.pure, important=request.important)
    if not _NAME.fullmatch(name) or name.lower() in _WINDOWS_DEVICES:
        device = ", which Windows takes for a device" if name.lower() in _WINDOWS_DEVICES else ""
        expected = "a name of letters, digits, - and _ that starts with a letter (two files get it)"
        raise InputError(f"expected {expected}, found {name!r}{device}.")
    known = read_codebook(request.codebook) if request.codebook else Codebook()
    positions = known.positions
    hierarchical = positions is not None and len(positions.records) > 1 and table is None and request.members is None
    key = known.key if hierarchical and key is None else key
    names = names_of(public, table, positions)
    answer = None if unit is None else UnitAnswer.of(unit, names)
    if unknown := [name for name in promise.important if name not in names]:
        raise InputError(f"--important: expected columns of the file ({listing(names)}), found {unknown[0]!r}.")
    progress("reading the public file")
    linked = None
    if key is not None:
        if answer is not None and answer.key is not None:
            raise InputError(f"--unit: expected `row` with --key (a record is a root with all its members), found {unit!r}.")
        file, linked = read_members(public, request.members, key, known, table, wanted)
    elif request.members is not None:
        raise InputError("--members: expected --key with it, the column of both files that says whose member a row is.")
    else:
        file = read_public_file(public, table, wanted, positions)
    progress(f"drafting {so_many(len(file.columns), 'column')}")
    book = written_as_in(file.columns, known)
    own_key, as_key = (key, AS_KEY_OF_ROOTS) if answer is None or answer.key is None else (answer.key, AS_KEY)
    columns, left_out, _ = drafted_columns(file, book, own_key, as_key)
    answer = answer and answer.ordered(file, {column.source for column in left_out})
    within = None
    if request.areas is not None:
        within, columns, left_out = with_areas(request.areas, file, book, columns, left_out)
    if len(columns) < 2 and (linked is None or not columns):
        reasons = "; ".join(f"{column.source!r}: {column.because}" for column in left_out)
        told = f" ({reasons})" if reasons else ""
        if len(file.columns) == 1 and linked is None:  # perhaps no table at all: its first line may be a row, and is not shown
            told = (
                " in lines that no comma, semicolon, tab or bar divides. Give the DDI codebook (XML) of a fixed-width file to "
                "--codebook, or convert the file to CSV with a header first"
            )
        raise InputError(f"{public}: expected at least two columns that a release can have, found {len(columns)}{told}.")
    if len(columns) > MOST_COLUMNS:
        progress("choosing among the columns")
        columns, others = chosen_columns(columns, file.batches(), file.n_rows)
        left_out += others
    if gone := [each for each in left_out if each.source in promise.important]:
        raise InputError(f"--important: expected columns that can be released, found {gone[0].source!r}: {gone[0].because}.")
    important = (column.name for column in columns if column.source in promise.important)
    promise = replace(promise, important=tuple(important))
    problems: tuple[Problem, ...] = ()
    try:
        return tried_in_steps(Drafting(name, file, columns, left_out, progress, answer, promise, linked, within))
    except SpecError as error:  # told of the file, not of a draft that nobody has seen
        problems = error.problems
    raise no_draft(file, problems)


WEAK = 0.3
"""Cramer's V of all pairs, below which associations are weak: from here on one speaks of a medium effect."""


def tried_in_steps(drafting: Drafting) -> Draft:
    """In steps until it stands: in the bins that keep most, at a larger epsilon, with fewer columns; then with numbers of marks
    and its smallest areas. Weak associations are worth no larger epsilon: beside them a draft stands that is no worse than
    independent columns, whether or not it promises a pair."""
    aimed, *larger = drafting.promise.totals
    drafting = with_rows_that_tell(drafting)
    tried = in_fitting_bins(drafting, aimed)
    at_aimed = tried.standing.kept
    if at_aimed is not None and at_aimed.of_all_rows and (at_aimed.share or 0) < 0:
        raise rows_tell_too_little(drafting, _off(at_aimed))
    weak = all(pair.cramers_v < WEAK for pair in tried.pairs)
    stands = tried.standing.good or (weak and tried.standing.bins <= MOST_OFF and tried.standing.errors <= 1)
    for most in larger:
        if not (stands or weak or tried.standing.good):
            tried = replace(
                in_fitting_bins(drafting, most, above=tried.choices.limit), at_aimed=at_aimed.share if at_aimed else None
            )
    if not (stands or tried.standing.good) and drafting.members is None:
        tried = smaller_draft(drafting, tried)
    if drafting.members is None and drafting.areas is None and tried.choices.measures:
        tried = counting_marks(tried)
    if drafting.areas is not None:
        tried = with_smallest_areas(tried, drafting.areas, drafting.progress)
    tried.drafting.loaded(tried.choices, tried.acceptance).plan.check_limit(tried.choices.limit)
    return tried.written


_LEAVES = 3
"""Columns that a draft leaves out, at most, because rows of persons lean in them."""


def with_rows_that_tell(drafting: Drafting) -> Drafting:
    """Return a draft whose rows of persons tell more about all rows of the public file than independent columns, without noise.

    Where the first rows by the number of the record do not, rows of each person are drawn at random; where these do not, the
    columns are left out in which they lean most.

    Raises
    ------
    InputError : where that does not help.
    """
    gone = 0
    while (held_out := drafting.begun.race.held_out).of_all_rows and drafting.unit is not None:
        kept, columns, unit, left_out = held_out.kept_without_noise(), drafting.columns, drafting.unit, drafting.left_out
        if kept is None or kept >= LEAST_KEPT:
            break
        if unit.first_by:
            drafting.progress("the first rows of persons tell too little about all rows: drawing rows at random")
            unit = replace(unit, first_by=())
        else:
            drafting.progress(f"rows of persons lean too much in {drafting.leaning}: trying the draft without it")
            columns = [column for column in columns if column.name != drafting.leaning]
            gone += 1
            if gone > _LEAVES or len(columns) < 2 or drafting.leaning in drafting.promise.important:
                raise rows_tell_too_little(drafting, "")
            because = f"the rows of persons that are released lean too much in it. {drafting.lean} (--unit KEY:3 releases more)"
            source = next(column.source for column in drafting.columns if column.name == drafting.leaning)
            left_out = [*left_out, LeftOut(source=source, because=because)]
        drafting = replace(drafting, columns=columns, left_out=left_out, unit=unit)
    return drafting


def rows_tell_too_little(drafting: Drafting, off: str) -> InputError:
    """Return what to tell the steward where the rows of persons are no draft."""
    key = "KEY" if drafting.unit is None else str(drafting.unit.key)
    return InputError(
        f"{drafting.file.name}: the released rows of each person say less about all rows than independent columns do. "
        f"{f'In fits {off}. ' if off else ''}{drafting.lean} No draft was written. Release more rows of each person: "
        f"`--unit {key}:3`."
    )


def write_draft(request: DraftRequest, progress: Progress = lambda doing: None) -> tuple[Path, Path, Draft]:
    """Write configs/NAME.toml and acceptance/NAME.toml under a folder; neither may be there already.

    The JSON Schema that the first line of each names for editors is put beside it, unless one is there; long codelists are put
    into configs/codes.

    Returns
    -------
    Both paths and the draft.

    Raises
    ------
    InputError : as `draft`.
    OutputError : when one of the files is there, or cannot be written.
    """
    into, name = request.into, request.name
    for path in paths_of(into, name):
        if os.path.lexists(path):
            raise OutputError(f"{path}: expected no such file, found one. Nothing was overwritten: choose another name.")
    found = draft(request, progress)
    for codelist in (into / "configs" / name for name in found.codelists):
        if os.path.lexists(codelist):
            raise OutputError(f"{codelist}: expected no such file, found one. Nothing was written: choose another name.")
    problem = ""
    try:
        paths = write_files(into, name, found)
        leave(load_spec(paths[0]), "draft", found.n_rows, found.strengths)
        for beside, name in zip(paths, (CONFIGURATION_SCHEMA, ACCEPTANCE_SCHEMA), strict=True):
            path = beside.parent / name
            if not os.path.lexists(path):
                path.write_text(schema_text(name), encoding="utf-8", newline="\n")
    except OSError as error:
        problem = f"{error.filename or into}: the draft could not be written ({error.strerror})."
    if problem:
        raise OutputError(problem)
    return *paths, found
