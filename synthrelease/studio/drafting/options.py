"""Areas within areas: columns of a public file of which one tells the other, and the draft that `--areas` asks for.

The other columns are drafted as without the smallest areas, with tables that are raced and measured of the whole. Beside these
every level of areas gets its own: those of an area that its rows can bear.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from synthrelease.criteria.drafts import CriterionDraft
from synthrelease.data.counts import Counts
from synthrelease.data.marginals import lattice
from synthrelease.data.schema import Binning
from synthrelease.errors import InputError, closest, listing
from synthrelease.generators.associations import LEAST_STRENGTH, cramers_v
from synthrelease.generators.measured_noise import CountNoise
from synthrelease.generators.measurements import divided, power_of
from synthrelease.sources.paths import without_secrets
from synthrelease.studio.drafting.categories import are_too_many, draft_codes
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft, LeftOut, heavy_value, left_out_as_key, plain_name
from synthrelease.studio.drafting.criteria import Suggestion
from synthrelease.studio.drafting.public_file import PublicFile, PublicRows, every_row
from synthrelease.studio.rehearsal.dependence import LEAST_ODD, from_independence

WITHIN = ">"
_ROWS = 5
"""Rows of the public file for each area on average, and for each cell of a table of areas, at least."""
_TIMES = 3
"""Areas for each one of the level above, at least."""
_MOST_GROUPS = 200
_MOST_CELLS = 2**18
"""That an area of the level above is divided into: all bins of its tables together."""
_WHOLE, _NEXT = 0.002, 5
"""How far off a mean cell of the whole may be, and how many times as much on each next level, where the budget allows it."""
_LEAST = 0.1
"""Of the budget, that a level gets, at least."""
_BEARABLE = 0.5
"""One standard deviation of the noise in a table of areas, as a share of its mean cell, at most."""


def nested_columns(
    answers: Mapping[str, Answers], drafted: Mapping[str, ColumnDraft | LeftOut], rows: PublicRows
) -> dict[str, str]:
    """Return the question whether two columns are areas within areas, by the source of the larger ones: of codes or words, of
    which there are too many to be drafted each by itself, and each of which has one value in the other column.
    """
    questions: dict[str, str] = {}
    groups = [source for source, column in drafted.items() if isinstance(column, ColumnDraft) and _may_be_level(column)]
    for source, column in drafted.items():
        if source not in answers:
            continue
        texts, n = answers[source].texts, len(answers[source].texts)
        worded = (
            column.kind in ("code", "category") if isinstance(column, ColumnDraft) else not left_out_as_key(answers[source])
        )
        if not (n and worded and are_too_many(texts)) or answers[source].missing_rows or answers[source].rows < _ROWS * n:
            continue
        chain = [source]
        for group in sorted(groups, key=lambda source_: -len(answers[source_].texts)):
            smaller = chain[0]
            larger = group != source and _TIMES * len(answers[group].texts) <= len(answers[smaller].texts)
            if larger and _tells(rows.codes[smaller], rows.codes[group]):
                chain.insert(0, group)
        if len(chain) > 1:
            lies_in = (
                f"each of the {n} values of {source!r} lies in one value of {chain[-2]!r}, and the draft groups most of them"
            )
            again = f"If these are areas within areas, draft again with --areas {f' {WITHIN} '.join(chain)!r}"
            questions.setdefault(chain[-2], f"{lies_in}. {again}")
    return questions


def _may_be_level(column: ColumnDraft) -> bool:
    plain = column.kind in ("code", "category") and not column.common and column.characters is None
    return plain and 2 <= len(column.codes) <= _MOST_GROUPS


def _tells(lower: np.ndarray, upper: np.ndarray) -> bool:
    """Return whether rows that are alike in one column are so in the other one."""
    valid = (lower >= 0) & (upper >= 0)
    pairs = np.unique(np.stack([lower[valid], upper[valid]]), axis=1)
    return len(np.unique(pairs[0])) == pairs.shape[1]


@dataclass(frozen=True, kw_only=True)
class AreasDraft:
    """The draft of [geography].

    Attributes
    ----------
    levels : the columns of the larger areas, the largest first, as they are drafted by themselves.
    column : the smallest areas, with a code for each, and the levels that its codelist gives it.
    """

    levels: tuple[ColumnDraft, ...]
    column: ColumnDraft

    @property
    def chain(self) -> tuple[str, ...]:
        """The columns of areas in the release, from the largest to the smallest."""
        return (*(level.name for level in self.levels), self.column.name)

    @classmethod
    def of(cls, request: str, file: PublicFile, answers: Answers, columns: Sequence[ColumnDraft]) -> AreasDraft:
        """Draft the areas from the words "region > municipality".

        Parameters
        ----------
        answers : of the smallest areas.
        columns : as they are drafted without them.

        Raises
        ------
        InputError : when a column is none that can be a level, or is told by no other one.
        """
        sources = areas_asked(request, file)
        drafted = {column.source: column for column in columns}
        for source in sources[:-1]:
            if source not in drafted or not _may_be_level(drafted[source]):
                usable = listing(name for name, column in drafted.items() if _may_be_level(column))
                raise InputError(f"--areas: expected columns of at most {_MOST_GROUPS} areas ({usable}), found {source!r}.")
        rows, labels, areas = every_row(file, sources), dict[str, dict[str, str]](), dict[str, np.ndarray]()
        for source, (texts, codes) in rows.items():
            drafted_codes = drafted[source].codes if source != sources[-1] else {}
            labels[source] = {text: code.label for first, code in drafted_codes.items() for text in (first, *code.spellings)}
            known = answers.texts if source == sources[-1] else labels[source]
            areas[source] = np.array([code if text in known else -1 for code, text in enumerate(texts)])[codes]
        for upper, lower in pairwise(sources):
            if not _tells(areas[lower], areas[upper]):
                raise InputError(
                    f"--areas: expected each {lower!r} of the public file in one {upper!r}, found one in several. The largest "
                    "areas come first."
                )
        column = draft_codes(answers, [draft.name for draft in columns], "", apart=True)
        smallest, levels = areas[sources[-1]], {}
        for source in sources[:-1]:
            pairs = np.unique(np.stack([smallest, areas[source]])[:, (smallest >= 0) & (areas[source] >= 0)], axis=1).T.tolist()
            home = {rows[sources[-1]][0][at]: labels[source][rows[source][0][upper_code]] for at, upper_code in pairs}
            if lost := [code for code in column.codes if code not in home]:
                raise InputError(f"--areas: expected an area of {source!r} for every code, found none for {lost[0]!r}.")
            levels[drafted[source].name] = {code: home[code] for code in column.codes}
        column = replace(column, kind="code", levels=levels, remark=f"{len(answers.texts)} areas in the public file")
        return cls(levels=tuple(drafted[source] for source in sources[:-1]), column=column)

    def placed(self, columns: Sequence[ColumnDraft]) -> list[ColumnDraft]:
        """Return the columns with the smallest areas in the place of the level above, and without the levels, which come with
        them.
        """
        columns_ = [self.column if column.name == self.chain[-2] else column for column in columns]
        return [column for column in columns_ if column.name not in self.chain[:-1]]

    def measured(
        self, raced: Sequence[str], sizes: Mapping[str, int], n_rows: int, cost: Fraction, noise: type[CountNoise]
    ) -> AreaTables:
        """Return the tables of the whole, which are those of the other columns that were raced, and those of each level: of the
        smallest columns, as far as a mean cell bears the noise that is left for it; else the areas alone.

        Parameters
        ----------
        raced : tables, as `PlanRace.terms` has them.
        sizes : bins of all columns but the smallest areas.
        cost : of all tables, in the measure of the noise.
        """
        whole = [tuple(term.split(":")) for term in raced]
        whole = [columns for columns in whole if not set(columns) & {*self.chain}]
        names = sorted((name for name in sizes if name not in self.chain), key=lambda name_: sizes[name_])
        whole += [(name,) for name in sizes if name in names and not any(name in columns for columns in whole)]
        areas = {**{level.name: len(level.codes) for level in self.levels}, self.column.name: len(self.column.codes)}
        tables_of = {level: names[: self._most(names, sizes, count, n_rows)] for level, count in areas.items()}
        bins = {**sizes, **areas}
        for level in reversed(self.chain):
            while tables_of[level]:
                shares, largest = AreaTables.of(whole, tables_of, bins, noise).shares, (level, tables_of[level][-1])
                deviation = math.sqrt(noise.of_table(cost * shares[largest]).variance_above)
                if deviation * math.prod(bins[name] for name in largest) <= _BEARABLE * n_rows:
                    break
                tables_of[level] = tables_of[level][:-1]
        return AreaTables.of(whole, tables_of, bins, noise)

    def _most(self, names: Sequence[str], sizes: Mapping[str, int], areas: int, n_rows: int) -> int:
        """Return how many of these columns, the smallest first, have tables of a level that are not too large for the model."""
        cells, n = 1, 0
        for name in names:
            cells *= sizes[name]
            if sizes[name] * areas * _ROWS > n_rows or cells > _MOST_CELLS // len(self.column.codes):
                break
            n += 1
        return n

    def rules(self, suggested: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
        """Return the rules; those about areas stay as comments, since they would tie columns to every area."""
        return tuple(replace(rule, active=rule.active and not {*self.chain} & {*rule.columns}) for rule in suggested)

    def criteria(self, drafted: Sequence[CriterionDraft]) -> tuple[CriterionDraft, ...]:
        """Return the criteria of the other columns, and how many rows the smallest areas have, as that of single columns. Where
        rows are compared, smallest areas are not.
        """
        name = self.column.name
        single = next(criterion for criterion in drafted if criterion.asks == "shares of single columns")
        settings = {key: value for key, value in single.settings.items() if key != "largest"}
        settings |= {"name": f"rows of each {name}", "tables": [name]}
        remark = "The share of the rows in each of the smallest areas"
        of_areas = CriterionDraft(settings=settings, remark=remark, asks="single columns")
        return (*(criterion.ignoring([name]) for criterion in drafted), of_areas)


class AreaTables(NamedTuple):
    """Tables of the whole and of each level, and how the budget is divided among them.

    Attributes
    ----------
    wanted : of the generator: how far off a mean cell of each level may be.
    shares : of the budget, for each table.
    """

    wanted: str
    shares: Mapping[tuple[str, ...], Fraction]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(":".join(columns) for columns in self.shares)

    @classmethod
    def of(
        cls,
        whole: Sequence[tuple[str, ...]],
        names_of: Mapping[str, Sequence[str]],
        bins: Mapping[str, int],
        noise: type[CountNoise],
    ) -> AreaTables:
        """Divide the budget. A level that would get less than its least part of the budget gets that much."""
        levels: list[list[tuple[str, ...]]] = [[*whole]]
        levels += [[(level, name) for name in names] or [(level,)] for level, names in names_of.items()]
        power = power_of(noise)
        cells = [{columns: math.prod(bins[name] for name in columns) for columns in tables} for tables in levels]
        limits = [_WHOLE * _NEXT**level for level in range(len(levels))]
        parts = [sum((n / off) ** power for n in tables.values()) for tables, off in zip(cells, limits, strict=True)]
        raised = set[int]()
        while True:
            enough = _LEAST * sum(part for at, part in enumerate(parts) if at not in raised) / (1 - _LEAST * len(raised))
            low = {at for at, part in enumerate(parts) if at and at not in raised and part < enough}
            if not low:
                break
            raised |= low
        for at in raised:
            limits[at] = float(f"{limits[at] * (parts[at] / enough) ** (1 / power):.2g}")
        together = {columns: n for tables in cells for columns, n in tables.items()}
        shares = divided(together, {columns: limits[at] for at, tables in enumerate(cells) for columns in tables}, noise)
        return cls(wanted=f" {WITHIN} ".join(f"{off:g}" for off in limits), shares=shares)


def areas_asked(request: str, file: PublicFile) -> list[str]:
    """Return the columns of the file that --areas names, the largest areas first.

    Raises
    ------
    InputError : for fewer than two different columns of the file.
    """
    sources = [source.strip() for source in request.split(WITHIN)]
    if unknown := [source for source in sources if source not in file.columns]:
        raise InputError(f"--areas: expected columns of the file ({listing(file.columns)}), found {unknown[0]!r}.")
    if not 2 <= len(set(sources)) == len(sources):
        raise InputError(
            f"--areas: expected different columns, the largest areas first, as 'region > municipality'; found {request!r}."
        )
    return sources


# Groups of rare marks that come together, and whether a draft keeps more of them by their number in each row.
#
# A mark that one row in a hundred has comes together with another one in a few rows, which the noise of their own table
# hides.
# How many marks of a group a row has is one table of four cells, and each mark by that number one of eight: a model of
# largest
# entropy shares the number out among the marks. Everything here looks at public data alone.

MOST = 3
"""Marks of one row that are told apart: so many stand for more, too."""
RARE = 0.1
"""Part of the rows that have a mark, at most."""
_TOGETHER = 0.8 * LEAST_STRENGTH
"""Mean Cramer's V between the marks of two groups from which on they are one."""


@dataclass(frozen=True, kw_only=True)
class MarksDraft:
    """The draft of [marks].

    Attributes
    ----------
    groups : by the name of the column with their number, the columns of marks.
    yes : of each of these the category that is a mark.
    n_before, n_lost : pairs that fits of the draft lose without and with the numbers of marks.
    """

    groups: Mapping[str, tuple[str, ...]]
    yes: Mapping[str, str]
    n_before: int = 0
    n_lost: int = 0

    def tables(self, raced: Sequence[str]) -> tuple[str, ...]:
        """Return the tables that were raced, without those of two marks of one group, and the number of each group by each
        mark.

        These tell how many rows have each mark, too, so that tables of single marks count half, and they themselves twice as
        much as other tables (docs/appendix/benchmarks.md has what other weights keep).

        Parameters
        ----------
        raced : tables, as `PlanRace.terms` has them, with weights by their cells.
        """
        tables = [tuple(term.split(":")) for term in raced]
        inside = [set(marks) for marks in self.groups.values()]
        chosen = [columns for columns in tables if len(columns) == 1 or not any(set(columns) <= group for group in inside)]
        if any(len(columns) == 1 for columns in tables):
            chosen += [(count_column,) for count_column in self.groups]
        chosen += [(count_column, mark) for count_column, marks in self.groups.items() for mark in marks]

        def weight(columns: tuple[str, ...]) -> str:
            if len(columns) == 1:
                return "0.5 " if {*columns} & {*self.yes, *self.groups} else ""
            return "2 " if {*columns} & {*self.groups} else ""

        return tuple(f"{weight(columns)}{':'.join(columns)}" for columns in chosen)

    @property
    def settings(self) -> dict[str, object]:
        """The settings of [marks], without its groups."""
        yes = {name: [label] for name, label in self.yes.items() if label != "1"}
        return {"most": MOST} | ({"yes": yes} if yes else {})


def draft_marks(columns: Sequence[ColumnDraft], table: Counts, lost: Collection[tuple[str, str]]) -> MarksDraft | None:
    """Return groups of rare marks that come together, as far as a draft loses pairs of them; None where there are none.

    Parameters
    ----------
    table : the public rows in the drafted bins.
    lost : pairs of columns that fits of the draft lose.
    """
    yes = dict(_marks(columns, table))
    of_pairs = [set(pair) for pair in lost]
    if not any(pair <= set(yes) for pair in of_pairs):
        return None
    together = _together(table, yes)
    groups, used_names = dict[str, tuple[str, ...]](), {column.name for column in columns}
    for group in _joined(list(yes), together):
        ties = [set(pair) for pair, (_, odd) in together.items() if odd >= LEAST_ODD and set(pair) <= set(group)]
        if len(group) > 2 and ties and any(pair <= set(group) for pair in of_pairs):
            name = plain_name(f"marks_{len(groups) + 1}", used_names | set(groups))
            groups[name] = tuple(group)
    labels = {mark: yes[mark][1] for group in groups.values() for mark in group}
    return MarksDraft(groups=groups, yes=labels) if groups else None


def _marks(columns: Sequence[ColumnDraft], table: Counts) -> Iterator[tuple[str, tuple[int, str]]]:
    """Return the columns of two categories of which one is rare, with its bin and its label."""
    for column in columns:
        plain = column.kind in ("code", "category") and not column.common and not column.levels and len(column.codes) == 2
        if plain and column.name in table.layout.columns:
            rows = table.marginal([table.layout.columns.index(column.name)])[:2]
            mark = int(rows.argmin())
            if 0 < rows[mark] <= RARE * rows.sum():
                yield column.name, (mark, [draft.label for draft in column.codes.values()][mark])


def _together(table: Counts, yes: Mapping[str, tuple[int, str]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Return for every two marks Cramer's V, 0 where they avoid each other, and the rows that have both beyond chance."""
    names, tables, pairs = table.layout.columns, lattice(table), dict[tuple[str, str], tuple[float, float]]()
    for first, second in combinations(sorted(yes, key=names.index), 2):
        counts = tables.get((names.index(first), names.index(second)))[:2, :2]
        odd = float(from_independence(counts)[yes[first][0], yes[second][0]])
        pairs[first, second] = (cramers_v(counts) if odd > 0 else 0.0, odd)
    return pairs


def _joined(marks: Sequence[str], together: Mapping[tuple[str, str], tuple[float, float]]) -> list[list[str]]:
    """Join marks into groups: again and again the two that come together most, by the mean over their marks."""
    strength = np.zeros((len(marks), len(marks)))
    for (mark, partner), (v, _) in together.items():
        strength[marks.index(mark), marks.index(partner)] = strength[marks.index(partner), marks.index(mark)] = v
    groups = [[i] for i in range(len(marks))]
    while len(groups) > 1:
        mean, first, second = max(
            (float(strength[np.ix_(groups[a], groups[b])].mean()), a, b) for a, b in combinations(range(len(groups)), 2)
        )
        if mean < _TOGETHER:
            break
        groups[first] += groups.pop(second)
    return [[marks[i] for i in sorted(group)] for group in groups]


# How rows belong to persons: what `init --unit` answers, and the table [unit] of a draft, which asks where nobody has.

ROW = "row"
MOST_ROWS, FEWEST_PERSONS = 1000, 20
AS_KEY = "[unit] has it as the key, which tells whose row it is and is never released"
_IF_NONE = (
    "If it stands for an unknown person, leave the key of such rows empty in the private file: then they are left out. As it "
    "is, they count as one person."
)
_MENTIONED = 6
"""Candidates that a draft names."""


@dataclass(frozen=True, kw_only=True)
class UnitAnswer:
    """How rows belong to persons.

    Attributes
    ----------
    key, records : the column that tells whose row it is, and how many rows of each person are released; without a key each
        row is another person.
    first_by : the number of the record by which a person's rows are ordered, where the file has one that is not released; else
        they are drawn at random. A released value chooses no row: the release would describe the rows with such values.
    heavy : the value of the key that may stand for none (`keys.heavy_value`).
    varying : the columns in which rows of a person differ, released or not, by the share of later rows in which they do.
    without_key, later : rows of the public file that have no key, and those beyond what is released of each person.
    """

    key: str | None = None
    records: int = 1
    first_by: tuple[str, ...] = ()
    heavy: str = ""
    varying: Mapping[str, float] = field(default_factory=dict)
    without_key: int = 0
    later: int = 0

    @property
    def doubt(self) -> str:
        """Return the questions to the steward about the key and the order of rows; empty where nothing is doubtful."""
        sentences = [f"In the public file the key {self.key!r} has {self.heavy}. {_IF_NONE}"] if self.heavy else []
        columns = [f"{name!r} ({share:.0%})" for name, share in self.varying.items() if name not in self.first_by]
        rest = f" and {len(columns) - _MENTIONED} more" if len(columns) > _MENTIONED else ""
        if self.first_by:
            sentences.append(
                f"Is {self.first_by[0]!r} the order of events? Every row has its own number there, so the first event of each "
                'person is released. first_by = "random" draws one.'
            )
        elif columns:
            sentences.append(
                "Which row of a person is released? One is drawn at random. Columns in which later rows of a person differ: "
                f"{', '.join(columns[:_MENTIONED])}{rest}. To release first events alone, name the "
                'column that tells their order: first_by = ["COLUMN"].'
            )
        return " ".join(sentences)

    @classmethod
    def of(cls, request: str, names: Collection[str]) -> UnitAnswer:
        """Read the words `row`, `KEY` or `KEY:3`.

        Raises
        ------
        InputError : when there is no such column, or the number is none from 1 to 1000.
        """
        if request == ROW:
            return cls()
        key, mark, n_rows = request.rpartition(":")
        if request in names or not mark:
            key, n_rows = request, "1"
        if key not in names:
            guess = closest(key, names)
            meant = f" Did you mean {guess!r}?" if guess else ""
            raise InputError(
                f"--unit: expected `row`, or a column of the file ({listing(names)}), perhaps with how many rows of each "
                f"person are released behind a colon; found {without_secrets(repr(key), [key])}.{meant}"
            )
        if not (n_rows.isascii() and n_rows.isdigit() and 1 <= int(n_rows[:9]) <= MOST_ROWS):
            raise InputError(
                f"--unit: expected a number of rows of each person from 1 to {MOST_ROWS} behind {key + ':'!r}, "
                f"found {n_rows!r}."
            )
        return cls(key=key, records=int(n_rows))

    def ordered(self, file: PublicFile, unreleased: Collection[str]) -> UnitAnswer:
        """Add the columns in which rows of a person differ, and the number of the record, where an unreleased column is one.

        Raises
        ------
        InputError : when the key has so few values that it tells no persons apart.
        """
        if self.key is None:
            return self
        rows = every_row(file, tuple(file.columns), self.key)
        keys, every = rows.pop(self.key)
        if (n := len({*keys} - {""})) < FEWEST_PERSONS:
            raise InputError(
                f"--unit: expected a column that tells persons apart, by at least {FEWEST_PERSONS} values; found {self.key!r} "
                f"with {n} in the public file."
            )
        times = np.bincount(every, minlength=len(keys)).tolist()
        heavy = heavy_value({key: often for key, often in zip(keys, times, strict=True) if key})
        with_key = every != (keys.index("") if "" in keys else -1)
        persons = every[with_key]
        of_each = np.unique(persons, return_counts=True)[1]
        behind, differ = len(persons) - len(of_each), dict[str, float]()
        for name, (texts, codes) in rows.items():
            pairs = np.unique(persons * len(texts) + codes[with_key])
            if len(pairs) > len(of_each):
                differ[name] = (len(pairs) - len(of_each)) / behind
        varying = dict(sorted(differ.items(), key=lambda item: -item[1]))
        records = (name for name in varying if name in unreleased and len(rows[name][0]) == len(every))
        return replace(
            self,
            first_by=tuple(name for name in records if all(map(str.isdecimal, rows[name][0])))[:1],
            heavy=heavy,
            varying=varying,
            without_key=int((~with_key).sum()),
            later=int(np.maximum(of_each - self.records, 0).sum()),
        )


def most_leaning(table: Counts, whole: Counts, binnings: Sequence[Binning]) -> tuple[str, str]:
    """Return the column with the bin whose share leans most because persons count once, and not with all their rows; and how
    much it leans, a sentence.

    Parameters
    ----------
    table, whole : the rows of persons that are released, and all rows of the public file, in the same bins.
    """
    shares = [[rows.marginal([i]) / rows.total for rows in (table, whole)] for i in range(len(binnings))]
    column, (of_persons, of_all) = max(enumerate(shares), key=lambda item: float(np.abs(item[1][0] - item[1][1]).max()))
    bin_, name = int(np.abs(of_persons - of_all).argmax()), table.layout.columns[column]
    return name, (
        f"Of all bins {binnings[column].labels[bin_]!r} of {name} leans most: {of_persons[bin_]:.0%} "
        f"of the rows that stand for persons, {of_all[bin_]:.0%} of all rows of the public file."
    )


def shared_keys(left_out: Sequence[LeftOut]) -> str:
    """Say which columns look like keys that several rows share, as a question about persons."""
    keys = [column for column in left_out if column.rows_of_one > 1]
    keys.sort(key=lambda column: (-column.mean_rows, column.source))
    if not keys:
        return ""
    rows_of = [f"{column.source!r} up to {column.rows_of_one} rows, {column.mean_rows:.3g} in the mean" for column in keys]
    rest = f"; and {len(keys) - _MENTIONED} more" if len(keys) > _MENTIONED else ""
    heavy = "; ".join(f"{column.source!r} has {column.heavy}" for column in keys[:_MENTIONED] if column.heavy)
    question = f" {heavy}. {_IF_NONE}" if heavy else ""
    return f"In the public file rows share the values of {'; '.join(rows_of[:_MENTIONED])}{rest}.{question}"
