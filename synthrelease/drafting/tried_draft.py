"""A draft is tried: what the file is for is fitted to it, in smaller steps where that is too much."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from synthrelease.accounting.rows import SHORTFALL
from synthrelease.criteria.drafts import MOST_UNIQUE, CriterionDraft
from synthrelease.domain.counts import Counts
from synthrelease.drafting.acceptance_text import acceptance_text
from synthrelease.drafting.areas import AreasDraft, ignoring
from synthrelease.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.drafting.column_text import codelist_name, codelist_text
from synthrelease.drafting.columns import without_role
from synthrelease.drafting.criteria import MOST_OFF, AcceptanceDraft, DraftStanding, draft_acceptance, settle, ties
from synthrelease.drafting.drafted import Draft, write_files
from synthrelease.drafting.linked import MembersDraft
from synthrelease.drafting.marks import draft_marks
from synthrelease.drafting.persons import UnitAnswer, with_drafted_order
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.said_twice import said_twice
from synthrelease.drafting.smaller import FLOORS, Floor, coarser, fewer, floored, in_order, sizes
from synthrelease.drafting.suggestions import suggested_rules
from synthrelease.drafting.text import TEST, Choices, configuration_text
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, Problem, SpecError, listing
from synthrelease.rehearsal.dependence import Pair, tied_pairs
from synthrelease.rehearsal.plan_race import PROMISED, KeptByFits, PlanRace, Promise, Raced, plan_words, with_marks_in
from synthrelease.rehearsal.yardsticks import once_only
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.spec import load_spec

_SEED = 2014
"""A draft is the same each time."""

_FIGURES = Fraction(2, 5)
"""Epsilon of all figures, until it is known; of a small total no more than a fifth of it."""

_NEARLY = PROMISED - 0.03
"""What tables have to keep before it is known that figures cost less, as they mostly do."""

ANY = Promise()

Progress = Callable[[str], None]
"""Told what is being done."""

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

    drafting: Drafting
    choices: Choices
    acceptance: AcceptanceDraft
    standing: DraftStanding
    table: Counts
    pairs: tuple[Pair, ...]


class Drafting:
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
        if self.members is None and self.areas is None and tried.choices.measures:
            tried = tried.drafting._counting_marks(tried)
        if self.areas is not None:
            tried = self._in_areas(tried, self.areas)
        choices, acceptance = tried.choices, tried.acceptance
        tried.drafting._loaded(choices, acceptance).plan.check_limit(choices.limit)
        return tried.drafting._draft(choices, acceptance)

    def _counting_marks(self, whole: _Tried) -> _Tried:
        """The draft with the number of marks of each group of rare ones, where it loses fewer pairs by that."""
        before, choices, race = whole.acceptance, whole.choices, self._begun[1]
        names, sizes = whole.table.layout.columns, whole.table.layout.sizes
        marks = draft_marks(self.columns, whole.table, [*before.lost, *(pair.columns for pair in before.faint)])
        if marks is None:
            return whole
        self.progress(f"trying it with the numbers of marks in {listing(marks.groups)} on the public file")

        def tested(choices: Choices) -> KeptByFits | None:
            spec = self._loaded(choices, _FIRST)
            return race.tested(spec, self._read(spec), whole.pairs)

        counting = replace(choices, tables=marks.tables(choices.tables, names, sizes), marks=tuple(marks.lines(0, 0)))
        without, found = tested(choices), tested(counting)
        if without is None or found is None or not found.better(without):
            return whole
        counting = replace(
            counting,
            marks=tuple(marks.lines(len(without.lost), len(found.lost))),
            plan=with_marks_in(choices.plan, len(before.faint), found),
        )
        first = draft_acceptance(self.wide, whole.table, whole.pairs)
        first = replace(
            first,
            criteria=tuple(ignoring(list(marks.groups), each) for each in first.criteria),
            lost=tuple(pair.columns for pair in found.lost if pair.strong),
            faint=tuple(pair for pair in found.lost if not pair.strong),
        )
        spec = self._loaded(counting, first)
        acceptance, standing = settle(first, spec, self._read(spec), _SEED, tied=whole.standing.tied)
        left = counting.limit - counting.rows - TEST - acceptance.epsilon
        if not left > 0 or (whole.standing.good and not standing.good):
            return whole
        counting = replace(counting, generation=self.promise.purse(left).cost)
        return replace(whole, choices=counting, acceptance=acceptance, standing=standing)

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
        drafting = Drafting(self.name, self.file, columns, before.left_out, self.progress, before.unit, self.promise)
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
        best: tuple[float, Floor, Drafting] | None = None
        for floor in FLOORS:
            columns = floored(self.columns, table, floor)
            if columns == (best[2].columns if best else self.columns):
                continue
            self.progress(f"in these bins too little is kept: trying some {floor}")
            drafting = Drafting(self.name, self.file, columns, self.left_out, self.progress, self.unit, self.promise)
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
            drafting = Drafting(self.name, self.file, stay, left_out, lambda doing: None, self.unit, self.promise)
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
        raise no_draft(self.file, problems)

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
                return load_spec(write_files(Path(folder), self.name, found)[0])
            except SpecError as error:  # told of the file that it would become
                problems = tuple(
                    replace(problem, file=f"{Path(problem.file).parent.name}/{self.name}.toml") for problem in error.problems
                )
        raise SpecError(problems)


def _why(problem: Problem) -> str:
    """A mistake in a draft, without the file that nobody has seen."""
    return f"expected {problem.expected}; found {problem.found}"


def no_draft(file: PublicFile, problems: Sequence[Problem]) -> InputError:
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
