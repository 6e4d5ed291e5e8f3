"""From a public file to the drafted files of a release.

Columns are drafted from how often each text occurs; then the file is read as a release would read it, and tables, rules and
criteria are drafted from its counts; then the draft is tried on it, which sets the thresholds.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from synthrelease.accounting.rows import SHORTFALL
from synthrelease.criteria.drafts import MOST_UNIQUE, CriterionDraft
from synthrelease.domain.counts import Counts
from synthrelease.drafting.acceptance_text import acceptance_text
from synthrelease.drafting.areas import AreasDraft, areas_asked
from synthrelease.drafting.choosing import ALL, MOST_COLUMNS, AskedFor, chosen_columns
from synthrelease.drafting.codebook import CodebookEntry, read_codebook
from synthrelease.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.drafting.column_text import codelist_name, codelist_text
from synthrelease.drafting.columns import without_role
from synthrelease.drafting.criteria import MOST_OFF, AcceptanceDraft, DraftStanding, draft_acceptance, settle, ties
from synthrelease.drafting.file_columns import answers_of, drafted_columns
from synthrelease.drafting.linked import MembersDraft, read_members
from synthrelease.drafting.persons import UnitAnswer, with_drafted_order
from synthrelease.drafting.public_file import PublicFile, names_of, read_public_file
from synthrelease.drafting.said_twice import said_twice
from synthrelease.drafting.smaller import FLOORS, Floor, coarser, fewer, floored, in_order, sizes
from synthrelease.drafting.suggestions import suggested_rules
from synthrelease.drafting.text import TEST, Choices, configuration_text
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, OutputError, Problem, SpecError, listing
from synthrelease.rehearsal.dependence import Pair, tied_pairs
from synthrelease.rehearsal.plan_race import PROMISED, PlanRace, Promise, Raced, plan_words
from synthrelease.rehearsal.yardsticks import once_only
from synthrelease.specification.json_schema import (
    ACCEPTANCE_NAME,
    CONFIGURATION_NAME,
    acceptance_schema,
    configuration_schema,
    schema_text,
)
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.spec import load_spec

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}", re.ASCII)
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}
_SEED = 2014
"""A draft is the same each time."""

_FIGURES = Fraction(2, 5)
"""Epsilon of all figures, until it is known; of a small total no more than a fifth of it."""
_NEARLY = PROMISED - 0.03
"""What tables have to keep before it is known that figures cost less, as they mostly do."""
ANY = Promise()

Progress = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The files as text, and what was made of the columns.

    Attributes
    ----------
    codelists : long codelists, by their path relative to the configuration.
    smaller : why the draft has fewer columns, or coarser bins, than the file would give; empty where it has not.
    plan : what it costs and keeps, in sentences.
    unit : how rows belong to persons; None where nobody has said it.
    members : the rows of a second table that belong to each of these; None where there are none.
    """

    configuration: str
    acceptance: str
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[LeftOut, ...]
    criteria: AcceptanceDraft
    n_rows: int
    source: str
    codelists: Mapping[str, str] = field(default_factory=dict)
    smaller: str = ""
    plan: str = ""
    unit: UnitAnswer | None = None
    members: MembersDraft | None = None

    @property
    def doubtful(self) -> tuple[ColumnDraft, ...]:
        """The columns that the steward is asked about."""
        return tuple(column for column in (*self.columns, *(self.members.columns if self.members else ())) if column.doubt)


def draft(
    name: str,
    public: str | Path,
    table: str | None = None,
    codebook: str | Path | None = None,
    progress: Progress = lambda doing: None,
    wanted: AskedFor = ALL,
    unit: str | None = None,
    promise: Promise = ANY,
    members: str | Path | None = None,
    key: str | None = None,
    areas: str | None = None,
) -> Draft:
    """Draft a release from a **public** file.

    Parameters
    ----------
    name : of the release: letters, digits, - and _; the files are named after it.
    table : of a database.
    codebook : a JSON or CSV file that says what columns and codes mean (`codebook`).
    wanted : the columns of the file that are drafted. Of more than a release can have some are chosen (`chosen_columns`).
    unit : how rows belong to persons: "row", "KEY" or "KEY:3" (`persons.UnitAnswer`). None leaves the question open.
    promise : the most that the release may spend, and whether delta is 0; else the cheapest plan that keeps enough is drafted.
    members, key : a public file of the members of these rows, and the column of both that says whose member a row is; with a
        key alone the one file has a row for each member, with the columns of its root.
    areas : columns that are areas within areas, the largest first, as "region > municipality" (`areas.AreasDraft`).

    Raises
    ------
    InputError : when the name cannot be used, `unit` names no column, a file cannot be read, lacks a column that is wanted, or
        has fewer than two columns for a release.
    """
    if not _NAME.fullmatch(name) or name.lower() in _WINDOWS_DEVICES:
        raise InputError(
            f"expected a name of letters, digits, - and _ that starts with a letter (two files get it), found {name!r}."
        )
    book = read_codebook(codebook) if codebook else {}
    answer = None if unit is None else UnitAnswer.of(unit, names_of(public, table))
    progress("reading the public file")
    linked = None
    if key is not None:
        if answer is not None and answer.key is not None:
            raise InputError(f"--unit: expected `row` with --key (a record is a root with all its members), found {unit!r}.")
        file, linked = read_members(public, members, key, book, table, wanted)
    elif members is not None:
        raise InputError("--members: expected --key with it, the column of both files that says whose member a row is.")
    else:
        file = read_public_file(public, table, wanted)
    own_key = key if answer is None or answer.key is None else answer.key
    columns, left_out, dated = drafted_columns(file, book, own_key)
    answer = answer and answer.ordered(file, dated)
    within = None
    if areas is not None:
        if linked is not None:
            raise InputError(
                "--areas: expected a file of one table, found --key with it. Add [geography] to the draft by hand."
            )
        within, columns, left_out = _with_areas(areas, file, book, columns, left_out)
    if len(columns) < 2 and (linked is None or not columns):
        reasons = "; ".join(f"{column.source!r}: {column.because}" for column in left_out)
        told = f" ({reasons})" if reasons else ""
        raise InputError(f"{public}: expected at least two columns that a release can have, found {len(columns)}{told}.")
    if len(columns) > MOST_COLUMNS:
        progress("choosing among the columns")
        columns, others = chosen_columns(columns, file.batches(), file.n_rows)
        left_out += others
    problems: tuple[Problem, ...] = ()
    try:
        return _Drafting(name, file, columns, left_out, progress, answer, promise, linked, within).run()
    except SpecError as error:  # told of the file, not of a draft that nobody has seen
        problems = error.problems
    raise _no_draft(file, problems)


def _with_areas(
    asked: str, file: PublicFile, book: Mapping[str, CodebookEntry], columns: Sequence[ColumnDraft], left_out: Sequence[LeftOut]
) -> tuple[AreasDraft, list[ColumnDraft], list[LeftOut]]:
    """The draft of the areas, and the other columns, which are drafted first."""
    *larger, smallest = areas_asked(asked, file)
    others = [replace(each, doubt="") if each.source in larger else each for each in columns if each.source != smallest]
    texts = answers_of(file, smallest, file.columns[smallest], book.get(smallest, CodebookEntry()))
    gone = [each for each in left_out if each.source != smallest]
    return AreasDraft.of(asked, file, texts, others), others, gone


_KEPT = ": those of the pairs that hang together most, then those with the fewest bins"
_KEPT_IN_COARSER = f"{_KEPT}, in coarser bins"


def _too_many(n_columns: int, n_rows: int, standing: DraftStanding, total: Fraction) -> str:
    """Why a draft of all columns is none."""
    found = []
    if standing.bins > MOST_OFF:
        found.append(f"the worst bin of a column is off by {standing.bins:.0%} of all rows")
    if standing.tied and not (standing.judged and standing.errors <= 1):
        strongest, independent = standing.of_strongest
        found.append(
            f"{standing.fits:.1%} of the rows are in a wrong cell of a table of two columns, on average, where independent "
            f"columns have {standing.independent:.1%}; in the pairs that hang together most {strongest:.1%} are, where these "
            f"have {independent:.1%}"
        )
    return (
        f"Too many columns for so few rows at this epsilon: in fits to all {n_columns} columns ({n_rows:,} rows, epsilon "
        f"{float(total):g} in all) {'; '.join(found)}."
    )


@dataclass(frozen=True, kw_only=True)
class _Tried:
    """A draft that was tried on the public file.

    Attributes
    ----------
    table : the rows of the public file in the drafted bins.
    pairs : how its columns hang together.
    """

    drafting: _Drafting
    choices: Choices
    acceptance: AcceptanceDraft
    standing: DraftStanding
    table: Counts
    pairs: tuple[Pair, ...]


class _Drafting:
    """One draft on its way: the columns are given, the rest follows from the counts."""

    def __init__(
        self,
        name: str,
        file: PublicFile,
        columns: Sequence[ColumnDraft],
        left_out: Sequence[LeftOut],
        progress: Progress,
        unit: UnitAnswer | None = None,
        promise: Promise = ANY,
        members: MembersDraft | None = None,
        areas: AreasDraft | None = None,
    ):
        self.promise, self.members, self.areas = promise, members, areas
        self.name, self.file, self.columns, self.left_out, self.progress = name, file, columns, left_out, progress
        self.unit, self.n_kept, self.wider = unit, 0, ""

    @property
    def wide(self) -> list[ColumnDraft]:
        """The columns of a record: with members those of all of them, too."""
        return [*self.columns, *(self.members.wide() if self.members else ())]

    def run(self) -> Draft:
        total = self.promise.totals[0]
        tried = self._in_wider_bins(total) or self._tried(total)
        for most in self.promise.totals[1:]:
            if not tried.standing.good:
                tried = tried.drafting._tried(most, above=tried.choices.limit)
        if not tried.standing.good and self.members is None:
            tried = self._smaller(tried)
        if self.areas is not None:
            tried = self._in_areas(tried, self.areas)
        choices, acceptance = tried.choices, tried.acceptance
        tried.drafting._loaded(choices, acceptance).plan.check_limit(choices.limit)
        return tried.drafting._draft(choices, acceptance)

    def _in_areas(self, whole: _Tried, areas: AreasDraft) -> _Tried:
        """The draft with the smallest areas, too, and with tables of each level; thresholds that its fits reach.

        Raises
        ------
        InputError : when a level is left out for too few rows.
        """
        self.progress(f"trying it with {areas.chain[-1]} on the public file")
        before, drafted = whole.drafting, {column.name for column in whole.drafting.columns}
        if gone := [level.name for level in areas.levels if level.name not in drafted]:
            raise InputError(f"--areas: expected {gone[0]!r} among the drafted columns; there are too few rows for it.")
        sizes = dict(zip(whole.table.layout.columns, whole.table.layout.sizes, strict=True))
        choices = replace(
            whole.choices,
            areas=areas,
            family="nested" if whole.choices.delta else "nested_pure",
            tables=areas.tables(whole.choices.tables, sizes, round(whole.table.total)),
            rules=areas.rules(whole.choices.rules),
        )
        columns = areas.placed(before.columns)
        drafting = _Drafting(self.name, self.file, columns, before.left_out, self.progress, before.unit, self.promise)
        spec = drafting._loaded(choices, _FIRST)
        transformation = spec.space[0].transformation
        unique = once_only(drafting._read(spec).merge(transformation.layout, transformation.maps))
        choices = replace(choices, unique=unique, minimum_count=1 if unique > MOST_UNIQUE else 2)
        first = draft_acceptance(before.wide, whole.table, whole.pairs, unique=unique)
        first = replace(
            first, criteria=areas.criteria(first.criteria), lost=whole.acceptance.lost, faint=whole.acceptance.faint
        )
        spec = drafting._loaded(choices, first)
        acceptance, standing = settle(first, spec, drafting._read(spec), _SEED, tied=whole.standing.tied)
        left = choices.limit - choices.rows - TEST - acceptance.epsilon
        choices = replace(choices, generation=self.promise.purse(left).cost if left > 0 else choices.generation)
        return replace(whole, drafting=drafting, choices=choices, acceptance=acceptance, standing=standing)

    def _in_wider_bins(self, total: Fraction) -> _Tried | None:
        """The draft of these columns in wider bins, where at this epsilon they keep what a draft aims at and those that were
        drafted do not; None elsewhere."""
        if self.members is not None or self.areas is not None:
            return None
        choices, race, table, _ = self._begun
        others = choices.rows + TEST + min(_FIGURES, total / 5)
        narrow = race.keeps(total, others)
        if narrow is None or narrow >= _NEARLY:
            return None
        best: tuple[float, Floor, _Drafting] | None = None
        for floor in FLOORS:
            columns = floored(self.columns, table, floor)
            if columns == (best[2].columns if best else self.columns):
                continue
            self.progress(f"in these bins too little is kept: trying some {floor}")
            drafting = _Drafting(self.name, self.file, columns, self.left_out, self.progress, self.unit, self.promise)
            kept = drafting._begun[1].keeps(total, others)
            if kept is not None and (best is None or kept > best[0]):
                best = kept, floor, drafting
            if kept is not None and kept >= PROMISED:
                break
        if best is None:
            return None
        kept, floor, drafting = best
        self.wider = f"In bins {floor} {max(0.0, kept):.0%} would be kept at epsilon {float(total):g}."
        if kept < _NEARLY:
            return None
        one = drafting._tried(total)
        if not one.standing.good:
            return None
        before = {column.name: column.n_bins for column in self.columns}
        wider = listing(column.name for column in drafting.columns if column.n_bins < before[column.name])
        smaller = (
            f"In narrower bins fits keep {max(0.0, narrow):.0%} of how columns hang together at epsilon "
            f"{float(total):g}. So in this draft {wider} have wider ones, {floor} each. The narrower ones are there, too, for "
            "[transformations]: `codes` of codes, `fine` of numbers."
        )
        return replace(one, choices=replace(one.choices, smaller=smaller))

    def _tried(self, most: Fraction, *, above: Fraction = Fraction(0), only_pairs: bool = False) -> _Tried:
        """The draft of these columns, with the thresholds that it reaches on the public file.

        Parameters
        ----------
        most, above : epsilon of the whole release, at most, and what it has to be more than.
        """
        choices, race, table, pairs = self._begun
        members = [column.name for column in self.members.columns] if self.members and self.members.most > 1 else []
        first, figures, rows = draft_acceptance(self.wide, table, pairs, members), min(_FIGURES, most / 5), None
        while True:
            others = choices.rows + TEST + figures
            raced = race.cheapest(most, others, above, only_pairs=only_pairs)
            choices = self._choices_of(choices, raced, raced.purse.cost, race.terms(raced.told))
            self.progress(f"trying the draft on the public file at epsilon {float(raced.total):g}")
            spec = self._loaded(choices, replace(first, lost=raced.told.lost))
            rows = rows or self._read(spec)  # read again: criteria use the rows' own values
            drafted = replace(first, lost=raced.told.lost, faint=raced.told.faint)
            acceptance, standing = settle(drafted, spec, rows, _SEED, tied=bool(tied_pairs(pairs)))
            if acceptance.epsilon <= figures or raced.total <= others:
                break
            figures = acceptance.epsilon + _FIGURES / 4
        others = choices.rows + TEST + acceptance.epsilon
        left = raced.total - others
        cost = self.promise.purse(left).cost if left > 0 else raced.purse.cost
        raced = race.paid(raced, others)
        words = plan_words(race, raced, others)
        if self.wider and (race.kept_by(raced) or 0.0) < PROMISED:
            words = f"{words} {self.wider}"
        choices = replace(self._choices_of(choices, raced, cost, race.terms(raced.told)), plan=words, limit=raced.total)
        return _Tried(
            drafting=self,
            choices=choices,
            acceptance=acceptance,
            standing=standing,
            table=table,
            pairs=tuple(pairs),
        )

    @cached_property
    def _begun(self) -> tuple[Choices, PlanRace, Counts, list[Pair]]:
        """What a draft of these columns begins with: its rules, the race of its plans, and the rows of the public file in the
        drafted bins, with how the columns hang together there."""
        self.progress(f"counting the rows in the drafted bins of {len(self.wide)} columns")
        spec, table = self._counted_at_last()
        if twice := said_twice(self.columns, table):
            self.left_out = [*self.left_out, *twice.values()]
            self.columns = [column for column in self.columns if column.name not in twice]
            spec, table = self._counted()
        choices = self._first_choices()
        transformation = spec.space[0].transformation
        rules = suggested_rules(spec.schema, transformation.binnings, table, self._unruled())
        unique = once_only(table)
        choices = replace(choices, gaps=(self.members.n_roots if self.members else self.file.n_rows) - round(table.total))
        choices = replace(choices, rules=tuple(rules), unique=unique, minimum_count=1 if unique > MOST_UNIQUE else 2)
        self.progress("looking for the tables in which the columns hang together")
        spec = self._loaded(choices, _FIRST)
        plausible = spec.synthetic.merge(spec.space[0].transformation)
        gaps = {column.name for column in self.wide if column.keeps_missing}
        pairs = ties(self.wide, table)
        race = PlanRace(table, plausible, pairs, transformation.ordered, gaps, self.promise, _SEED)
        return choices, race, table, pairs

    def _choices_of(self, choices: Choices, raced: Raced, cost: Fraction, tables: tuple[str, ...]) -> Choices:
        """With what was raced, at this cost of the tables."""
        return replace(
            choices,
            family=raced.family,
            prior_weight=raced.prior_weight,
            tables=tables,
            generation=cost,
            delta=self.promise.delta,
        )

    def _smaller(self, whole: _Tried) -> _Tried:
        """The draft of as many columns as stand beside independent columns; in its drafted bins where it can.

        Raises
        ------
        InputError : when no two columns do.
        """
        columns, order = whole.drafting.columns, in_order(whole.drafting.columns, whole.pairs)
        in_coarse_bins = coarser(columns, whole.table)
        most = whole.choices.limit
        why = _too_many(len(columns), self.file.n_rows, whole.standing, most)

        def tried(drafted: Sequence[ColumnDraft], kept: int, how: str) -> _Tried:
            self.progress(f"too many columns for so few rows: trying {kept} of {len(columns)} columns")
            stay, gone = fewer(drafted, order, kept)
            left_out = [*whole.drafting.left_out, *gone]
            drafting = _Drafting(self.name, self.file, stay, left_out, lambda doing: None, self.unit, self.promise)
            one = drafting._tried(most, above=most, only_pairs=True)
            smaller = f"{why} So this draft has {len(one.drafting.columns)} of the {len(columns)} columns{how}."
            return replace(one, choices=replace(one.choices, smaller=smaller))

        if whole.standing.near and (one := tried(in_coarse_bins, len(columns), ", in coarser bins")).standing.good:
            return one
        steps = pairwise(sizes(len(columns), whole.standing.errors))
        good = ((wide, n, one) for wide, n in steps if (one := tried(in_coarse_bins, n, _KEPT_IN_COARSER)).standing.good)
        if (first := next(good, None)) is None:
            raise InputError(f"{why} Nor is a draft of the two columns that hang together most better. No draft was written.")
        wider, kept, found = first
        if (between := (kept + wider) // 2) not in (kept, wider):
            one = tried(in_coarse_bins, between, _KEPT_IN_COARSER)
            kept, found = (between, one) if one.standing.good else (kept, found)
        in_drafted_bins = tried(columns, kept, _KEPT)
        return in_drafted_bins if in_drafted_bins.standing.good else found

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
                self.members = self.members.without(tuple(of_members))
                continue
            gone = [column for column in self.columns if column.name in at_fault]
            if not gone:
                break
            self.columns = [column for column in self.columns if column not in gone]
            self.left_out = [
                *self.left_out,
                *(
                    LeftOut(source=each.source, because=f"it could not be drafted ({_why(at_fault[each.name])})")
                    for each in gone
                ),
            ]
        raise _no_draft(self.file, problems)

    def _counted(self) -> tuple[ReleaseSpec, Counts]:
        """The columns loaded, and the rows of the public file in their drafted bins."""
        spec = self._loaded(self._first_choices(), _FIRST)
        public = self._read(spec)
        if not public.total:
            raise InputError(f"{self.file.name}: every row has a gap in some column; nothing is left to draft from.")
        if self.members is not None or (self.unit is not None and self.unit.key is not None):
            self.n_kept = public.total
        transformation = spec.space[0].transformation
        return spec, public.merge(transformation.layout, transformation.maps)

    def _read(self, spec: ReleaseSpec) -> Counts:
        return read_public(self.file.source, spec.schema, spec.input, spec.raw, spec.unit)

    def _unruled(self) -> list[str]:
        """Columns that plausibility has nothing to say about."""
        members = [column.name for column in self.members.wide()[1:]] if self.members else []
        return [*(column.name for column in self.columns if column.weight), *members]

    def _draft(self, choices: Choices, acceptance: AcceptanceDraft) -> Draft:
        unit = with_drafted_order(self.unit, {name for each in self.columns for name in (each.source, each.minus) if name})
        return Draft(
            configuration=configuration_text(self.name, self.file, self.columns, self.left_out, choices, unit, self.members),
            acceptance=acceptance_text(self.name, self.file, acceptance, self.wide),
            columns=tuple(self.columns),
            left_out=tuple(self.left_out),
            criteria=acceptance,
            n_rows=self.file.n_rows,
            source=self.file.name,
            smaller=choices.smaller,
            plan=choices.plan,
            unit=unit,
            members=self.members,
            codelists={path: codelist_text(column) for column in self.columns if (path := codelist_name(self.name, column))},
        )

    def _loaded(self, choices: Choices, acceptance: AcceptanceDraft) -> ReleaseSpec:
        """The draft so far, loaded as a release would load it."""
        found, problems = self._draft(choices, acceptance), tuple[Problem, ...]()
        with tempfile.TemporaryDirectory() as folder:
            try:
                return load_spec(_write(Path(folder), self.name, found)[0])
            except SpecError as error:  # told of the file that it would become
                problems = tuple(
                    replace(problem, file=f"{Path(problem.file).parent.name}/{self.name}.toml") for problem in error.problems
                )
        raise SpecError(problems)


def _why(problem: Problem) -> str:
    """A mistake in a draft, without the file that nobody has seen."""
    return f"expected {problem.expected}; found {problem.found}"


def _no_draft(file: PublicFile, problems: Sequence[Problem]) -> InputError:
    """What to tell the steward where the draft as a whole cannot be loaded."""
    found = "; ".join(f"{problem.path}: {_why(problem)}" for problem in problems[:3])
    if not found:
        return InputError(f"{file.name}: expected at least two columns that can be released, found fewer.")
    return InputError(f"{file.name}: no draft could be made of it ({found}). Try a file without the columns that this names.")


_FIRST = AcceptanceDraft(
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


def rows_budget(n_rows: int) -> Fraction:
    """Epsilon of counting the kept rows: 0.05, or what leaves out at most about a fiftieth of so many rows.

    The margin of the count is about ln(1 / (2 SHORTFALL)) / epsilon.
    """
    wanted = math.log(float(1 / (2 * SHORTFALL))) / (n_rows / 50)
    return max(Fraction(1, 20), Fraction(math.ceil(wanted * 100), 100))


def write_draft(
    name: str,
    public: str | Path,
    into: str | Path = ".",
    table: str | None = None,
    codebook: str | Path | None = None,
    progress: Progress = lambda doing: None,
    wanted: AskedFor = ALL,
    unit: str | None = None,
    promise: Promise = ANY,
    members: str | Path | None = None,
    key: str | None = None,
    areas: str | None = None,
) -> tuple[Path, Path, Draft]:
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
    into = Path(into)
    for path in _paths(into, name):
        if os.path.lexists(path):
            raise OutputError(f"{path}: expected no such file, found one. Nothing was overwritten: choose another name.")
    found = draft(name, public, table, codebook, progress, wanted, unit, promise, members, key, areas)
    for codelist in (into / "configs" / name for name in found.codelists):
        if os.path.lexists(codelist):
            raise OutputError(f"{codelist}: expected no such file, found one. Nothing was written: choose another name.")
    problem = ""
    try:
        paths = _write(into, name, found)
        schemas = (CONFIGURATION_NAME, configuration_schema), (ACCEPTANCE_NAME, acceptance_schema)
        for beside, (schema_name, schema) in zip(paths, schemas, strict=True):
            path = beside.parent / schema_name
            if not os.path.lexists(path):
                path.write_text(schema_text(schema()), encoding="utf-8", newline="\n")
    except OSError as error:
        problem = f"{error.filename or into}: the draft could not be written ({error.strerror})."
    if problem:
        raise OutputError(problem)
    return *paths, found


def _paths(into: Path, name: str) -> tuple[Path, Path]:
    return into / "configs" / f"{name}.toml", into / "acceptance" / f"{name}.toml"


def _write(into: Path, name: str, found: Draft) -> tuple[Path, Path]:
    """The files of a draft under a folder; what is there already raises FileExistsError."""
    configuration, acceptance = _paths(into, name)
    codelists = {configuration.parent / path: text for path, text in found.codelists.items()}
    for path, text in {configuration: found.configuration, acceptance: found.acceptance, **codelists}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return configuration, acceptance
