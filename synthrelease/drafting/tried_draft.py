"""A draft is tried: what the file is for is fitted to it, and its thresholds are those that the fits reach."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from synthrelease.criteria.facts import MOST_UNIQUE, CriterionDraft
from synthrelease.data.counts import Counts
from synthrelease.drafting.acceptance_text import acceptance_text
from synthrelease.drafting.areas import AreasDraft
from synthrelease.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.drafting.column_text import codelist_name, codelist_text
from synthrelease.drafting.columns import without_role
from synthrelease.drafting.criteria import AcceptanceDraft, DraftStanding, draft_acceptance, settle, ties
from synthrelease.drafting.drafted import Draft, write_files
from synthrelease.drafting.linked import MembersDraft
from synthrelease.drafting.persons import UnitAnswer, with_drafted_order
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.said_twice import said_twice
from synthrelease.drafting.suggestions import suggested_of_members, suggested_rules
from synthrelease.drafting.text import TEST, Choices, configuration_text
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, Problem, SpecError, so_many
from synthrelease.privacy.charges import SHORTFALL
from synthrelease.rehearsal.dependence import Pair, tied_pairs
from synthrelease.rehearsal.plan_race import PROMISED, PlanRace, Promise, Raced, plan_words
from synthrelease.rehearsal.yardsticks import once_only
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec

SEED = 2014
"""A draft is the same each time."""

FIGURES = Fraction(2, 5)
"""Epsilon of all figures, until it is known; of a small total no more than a fifth of it."""

ANY = Promise()

Progress = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True, kw_only=True)
class Tried:
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

    def of(self, columns: Sequence[ColumnDraft], left_out: Sequence[LeftOut], progress: Progress | None = None) -> Drafting:
        """The same draft of other columns, without areas."""
        progress = progress or self.progress
        return Drafting(self.name, self.file, columns, left_out, progress, self.unit, self.promise, self.members)

    @property
    def wide(self) -> list[ColumnDraft]:
        """The columns of a record: with members those of all of them, too."""
        return [*self.columns, *(self.members.wide() if self.members else ())]

    @property
    def of_members(self) -> list[str]:
        """The columns that several members of a root have."""
        return [column.name for column in self.members.columns] if self.members and self.members.most > 1 else []

    def tried(self, most: Fraction, *, above: Fraction = Fraction(0), only_pairs: bool = False) -> Tried:
        """The draft of these columns, with the thresholds that it reaches on the public file.

        Parameters
        ----------
        most, above : epsilon of the whole release, at most, and what it has to be more than.
        """
        choices, race, table, pairs = self.begun
        first, figures, rows = draft_acceptance(self.wide, table, pairs, self.of_members), min(FIGURES, most / 5), None
        while True:
            others = choices.rows + TEST + figures
            raced = race.cheapest(most, others, above, only_pairs=only_pairs)
            choices = self._choices_of(choices, raced, raced.purse.cost, race.terms(raced.told))
            self.progress(f"trying the draft on the public file at epsilon {float(raced.total):g}")
            spec = self.loaded(choices, replace(first, lost=raced.told.lost))
            rows = rows or self.read(spec)  # read again: criteria use the rows' own values
            drafted = replace(first, lost=raced.told.lost, faint=raced.told.faint)
            acceptance, standing = settle(drafted, spec, rows, SEED, self.progress, tied=bool(tied_pairs(pairs)))
            if acceptance.epsilon <= figures or raced.total <= others:
                break
            figures = acceptance.epsilon + FIGURES / 4
        others = choices.rows + TEST + acceptance.epsilon
        left = raced.total - others
        cost = self.promise.purse(left).cost if left > 0 else raced.purse.cost
        raced = race.paid(raced, others)
        words = plan_words(race, raced, others)
        if self.wider and (race.kept_by(raced) or 0.0) < PROMISED:
            words = f"{words} {self.wider}"
        choices = replace(self._choices_of(choices, raced, cost, race.terms(raced.told)), plan=words, limit=raced.total)
        return Tried(
            drafting=self,
            choices=choices,
            acceptance=acceptance,
            standing=standing,
            table=table,
            pairs=tuple(pairs),
        )

    @cached_property
    def begun(self) -> tuple[Choices, PlanRace, Counts, list[Pair]]:
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
        if self.members is not None:
            self.members = replace(self.members, rules=tuple(suggested_of_members(spec.schema, transformation, table)))
        unique = once_only(table)
        choices = replace(choices, gaps=(self.members.n_roots if self.members else self.file.n_rows) - round(table.total))
        choices = replace(choices, rules=tuple(rules), unique=unique, minimum_count=1 if unique > MOST_UNIQUE else 2)
        self.progress("looking for the tables in which the columns hang together")
        spec = self.loaded(choices, FIRST)
        plausible = spec.synthetic.merge(spec.space[0].transformation)
        gaps = {column.name for column in self.wide if column.keeps_missing}
        pairs = ties(self.wide, table)
        race = PlanRace(table, plausible, pairs, transformation.ordered, gaps, self.promise, SEED)
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


def rows_budget(n_rows: int) -> Fraction:
    """Epsilon of counting the kept rows: 0.05, or what leaves out at most about a fiftieth of so many rows.

    The margin of the count is about ln(1 / (2 SHORTFALL)) / epsilon.
    """
    wanted = math.log(float(1 / (2 * SHORTFALL))) / (n_rows / 50)
    return max(Fraction(1, 20), Fraction(math.ceil(wanted * 100), 100))
