"""Draft the options [geography], [marks] and [unit] of a release from a public file.

[geography] describes areas within larger areas, such as municipalities in regions (`--areas`). The other columns are
drafted without the smallest areas, and tables are added for every level of areas with enough rows. [marks] describes groups
of rare indicators. [unit] states which rows belong to the same person (`--unit`).
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
from synthrelease.data.dates import DateFormat
from synthrelease.data.marginals import lattice
from synthrelease.data.schema import Binning
from synthrelease.errors import InputError, closest, listing, so_many
from synthrelease.generators.associations import LEAST_STRENGTH, cramers_v
from synthrelease.generators.measured_noise import CountNoise
from synthrelease.generators.measurements import divided, formula_by_cells, power_of
from synthrelease.sources.paths import without_secrets
from synthrelease.studio.drafting.categories import are_too_many, draft_codes
from synthrelease.studio.drafting.column_draft import (
    NUMBER,
    Answers,
    ColumnDraft,
    LeftOut,
    left_out_as_key,
    missing_keys,
    plain_name,
)
from synthrelease.studio.drafting.criteria import Suggestion
from synthrelease.studio.drafting.public_file import PublicFile, PublicRows, every_row
from synthrelease.studio.rehearsal.dependence import LEAST_ODD, from_independence

WITHIN = ">"
_ROWS = 5  # The least mean number of public rows per area, and per cell of a table of areas
_TIMES = 3  # The least ratio of the number of areas on a level to the number on the level above
_MOST_GROUPS = 200
# The largest number of cells of a level's model, which is the product of the bins of its columns and the smallest areas.
_MOST_CELLS = 2**18
# The wanted relative error of a mean cell in tables of all rows, and the factor by which it grows on each lower level.
_WHOLE, _NEXT = 0.002, 5
_LEAST = 0.1  # The least share of the budget for a level
_BEARABLE = 0.5  # The largest ratio of the standard deviation of the noise in a table of areas to its mean cell


def nested_columns(
    answers: Mapping[str, Answers], drafted: Mapping[str, ColumnDraft | LeftOut], rows: PublicRows
) -> dict[str, str]:
    """Return questions, by column, whether columns are areas within areas, such as municipalities within regions.

    The question is asked if the smaller areas are too many for separate bins, and each occurs with one larger area only.
    """
    questions: dict[str, str] = {}
    groups = [source for source, column in drafted.items() if isinstance(column, ColumnDraft) and _may_be_level(column)]
    for source, column in drafted.items():
        if source not in answers or (isinstance(column, LeftOut) and column.design):  # clusters are places, but no areas
            continue
        texts, n = answers[source].texts, len(answers[source].texts)
        named = column.kind in ("code", "category") if isinstance(column, ColumnDraft) else not left_out_as_key(answers[source])
        if not (n and named and are_too_many(texts)) or answers[source].missing_rows or answers[source].rows < _ROWS * n:
            continue
        chain = [source]
        for group in sorted(groups, key=lambda source_: -len(answers[source_].texts)):
            smaller = chain[0]
            larger = group != source and _TIMES * len(answers[group].texts) <= len(answers[smaller].texts)
            if larger and _tells(rows.codes[smaller], rows.codes[group]):
                chain.insert(0, group)
        if len(chain) > 1:
            lies_in = (
                f"each of the {n:,} values of {source!r} lies in one value of {chain[-2]!r}, and the draft groups most of them"
            )
            again = f"If the columns are areas within areas, draft again with --areas {f' {WITHIN} '.join(chain)!r}"
            questions.setdefault(chain[-2], f"{lies_in}. {again}")
    return questions


def _may_be_level(column: ColumnDraft) -> bool:
    plain = column.kind in ("code", "category") and not column.common and column.characters is None
    return plain and 2 <= len(column.codes) <= _MOST_GROUPS


def _tells(lower: np.ndarray, upper: np.ndarray) -> bool:
    valid = (lower >= 0) & (upper >= 0)
    pairs = np.unique(np.stack([lower[valid], upper[valid]]), axis=1)
    return len(np.unique(pairs[0])) == pairs.shape[1]


@dataclass(frozen=True, kw_only=True)
class AreasDraft:
    """The drafted settings of [geography]: columns of areas within areas, such as municipalities within regions.

    Attributes
    ----------
    levels : the drafted columns of the larger areas, the largest areas first.
    column : column of the smallest areas, with a code for each area and the larger areas in its codelist.
    """

    levels: tuple[ColumnDraft, ...]
    column: ColumnDraft

    @property
    def chain(self) -> tuple[str, ...]:
        return (*(level.name for level in self.levels), self.column.name)

    @classmethod
    def of(cls, request: str, file: PublicFile, answers: Answers, columns: Sequence[ColumnDraft]) -> AreasDraft:
        """Draft the columns that the option --areas names: areas within areas, such as municipalities within regions.

        Parameters
        ----------
        request : the value of the option --areas, such as "region > municipality".
        answers : the column of the smallest areas.
        columns : drafted columns without the smallest areas.

        Raises
        ------
        InputError : when a column cannot be a level of areas, or when an area lies in several larger areas or in none.
        """
        sources = areas_asked(request, file)
        drafted = {column.source: column for column in columns}
        for source in sources[:-1]:
            if source not in drafted or not _may_be_level(drafted[source]):
                usable = listing(name for name, column in drafted.items() if _may_be_level(column))
                raise InputError(
                    f"--areas: {source!r} cannot be a column of larger areas. Such a column has at most {_MOST_GROUPS} areas, "
                    f"each with its own bin. These columns can be used: {usable or 'none'}."
                )
        rows, labels, areas = every_row(file, sources), dict[str, dict[str, str]](), dict[str, np.ndarray]()
        for source, (texts, codes) in rows.items():
            drafted_codes = drafted[source].codes if source != sources[-1] else {}
            labels[source] = {text: code.label for first, code in drafted_codes.items() for text in (first, *code.spellings)}
            known = answers.texts if source == sources[-1] else labels[source]
            areas[source] = np.array([code if text in known else -1 for code, text in enumerate(texts)])[codes]
        for upper, lower in pairwise(sources):
            if not _tells(areas[lower], areas[upper]):
                raise InputError(f"--areas: each {lower!r} must lie in one {upper!r}. Name the largest areas first.")
        column = draft_codes(answers, [draft.name for draft in columns], "", apart=True)
        smallest, levels = areas[sources[-1]], {}
        for source in sources[:-1]:
            pairs = np.unique(np.stack([smallest, areas[source]])[:, (smallest >= 0) & (areas[source] >= 0)], axis=1).T.tolist()
            home = {rows[sources[-1]][0][at]: labels[source][rows[source][0][upper_code]] for at, upper_code in pairs}
            if lost := [code for code in column.codes if code not in home]:
                raise InputError(f"--areas: no row of the public file shows in which {source!r} the area {lost[0]!r} lies.")
            levels[drafted[source].name] = {code: home[code] for code in column.codes}
        column = replace(column, kind="code", levels=levels, remark=f"{len(answers.texts):,} areas in the public file")
        return cls(levels=tuple(drafted[source] for source in sources[:-1]), column=column)

    def placed(self, columns: Sequence[ColumnDraft]) -> list[ColumnDraft]:
        """Replace all columns of areas by the column of the smallest areas, whose codelist contains the larger ones."""
        columns_ = [self.column if column.name == self.chain[-2] else column for column in columns]
        return [column for column in columns_ if column.name not in self.chain[:-1]]

    def measured(
        self, raced: Sequence[str], sizes: Mapping[str, int], n_rows: int, cost: Fraction, noise: type[CountNoise]
    ) -> AreaTables:
        """Choose the tables of a release with areas, of all rows and by area on each level, and divide the budget among them.

        The comparison of plans chose the tables of all rows. On each level, columns with few bins have a table by area if
        the noise is at most half of an average cell. Without such columns, only the areas are counted.

        Parameters
        ----------
        raced : chosen tables, as `PlanRace.terms` returns them.
        sizes : number of bins of each column except the smallest areas.
        cost : privacy cost of all tables, in the measure of the noise.
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
        """Return how many columns can have a table by area, such as `region:sex`, before these tables become too large.

        Parameters
        ----------
        names, sizes : the columns, the column with the fewest bins first, and the number of bins of each.
        """
        cells, n = 1, 0
        for name in names:
            cells *= sizes[name]
            if sizes[name] * areas * _ROWS > n_rows or cells > _MOST_CELLS // len(self.column.codes):
                break
            n += 1
        return n

    def rules(self, suggested: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
        """Return the suggested rules that name no areas; rules about areas would need tables by every area."""
        return tuple(rule for rule in suggested if not {*self.chain} & {*rule.columns})

    def criteria(self, drafted: Sequence[CriterionDraft]) -> tuple[CriterionDraft, ...]:
        """Add a criterion of the share of rows in each of the smallest areas; criteria about whole rows ignore these areas."""
        name = self.column.name
        single = next(criterion for criterion in drafted if criterion.asks == "shares of single columns")
        settings = {key: value for key, value in single.settings.items() if key != "largest"}
        settings |= {"name": f"rows of each {name}", "tables": [name]}
        remark = "The share of the rows in each of the smallest areas"
        of_areas = CriterionDraft(settings=settings, remark=remark, asks="single columns")
        return (*(criterion.ignoring([name]) for criterion in drafted), of_areas)


class AreaTables(NamedTuple):
    """The tables that a release with areas measures, of all rows and by area, such as `region:sex`, with their shares of
    the budget.

    Attributes
    ----------
    wanted : the setting `wanted` of the generator, as a text: the wanted relative error of an average cell at each level.
    shares : share of the budget for each table, by the names of its columns.
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
        """Divide the budget among the tables, so that every level of areas has at least a tenth.

        Parameters
        ----------
        whole : tables of all rows.
        names_of : for each level of areas, the columns that have a table by area.
        """
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
    """Return the columns in the option --areas, such as 'region > municipality', from the largest to the smallest areas.

    Raises
    ------
    InputError : when a name is no column of the file, when a name occurs twice, or when there is only one name.
    """
    sources = [source.strip() for source in request.split(WITHIN)]
    if unknown := [source for source in sources if source not in file.columns]:
        raise InputError(f"--areas: the file has no column {unknown[0]!r}. Its columns are {listing(file.columns)}.")
    if not 2 <= len(set(sources)) == len(sources):
        raise InputError(f"--areas must name at least two different columns, such as 'region > municipality', not {request!r}.")
    return sources


# Groups of rare indicators that occur together, with a column for each group.
#
# If each of two indicators occurs in one row in a hundred, they occur together in a few rows only. The noise of their joint
# table would hide these few rows. Which indicators of a group a row has is one table. This table has less noise than a joint
# table of each pair: a replaced row changes two cells of this table, but two cells of each joint table. Only public data are
# used here.

MOST = 3
"""All rows with at least this many indicators of a group are in one category of the group's column."""
MOST_OF_GROUP = 16
"""The largest number of indicators in a group that [marks] allows."""
RARE = 0.1
"""An indicator is rare if at most this share of the rows has it."""
# Two groups of indicators are merged if the mean Cramer's V between the groups is at least this number.
_TOGETHER = 0.8 * LEAST_STRENGTH


@dataclass(frozen=True, kw_only=True)
class MarksDraft:
    """The drafted settings of [marks]: groups of rare indicators, such as rare diseases, with a new column for each group.

    Attributes
    ----------
    groups : for each new column, by its name, the names of the indicator columns that it combines.
    yes : label of the rare category of each indicator.
    n_before, n_lost : the numbers of pairs of columns whose association fits lose, without and with the new columns.
    """

    groups: Mapping[str, tuple[str, ...]]
    yes: Mapping[str, str]
    n_before: int = 0
    n_lost: int = 0

    def tables(self, raced: Sequence[str]) -> tuple[str, ...]:
        """Return the tables to measure, as terms of a formula: the chosen tables, and one such as `4 marks_1` for each group.

        Its table, with weight 4, replaces the tables within the group (docs/appendix/benchmarks.md compares other weights).
        """
        inside = [set(marks) for marks in self.groups.values()]
        chosen = [term for term in raced if not any({*term.split(":")} <= group for group in inside)]
        return (*chosen, *(f"4 {name}" for name in self.groups))

    @property
    def only_measured(self) -> str:
        """The formula of the tables of single rare indicators, which are measured for readers but not used by the model.

        With them, the model would lose the association of more pairs (docs/appendix/benchmarks.md).
        """
        return formula_by_cells([f"0.25 {mark}" for marks in self.groups.values() for mark in marks], ())

    @property
    def settings(self) -> dict[str, object]:
        yes = {name: [label] for name, label in self.yes.items() if label != "1"}
        return {"most": MOST} | ({"yes": yes} if yes else {})


def draft_marks(columns: Sequence[ColumnDraft], table: Counts, lost: Collection[tuple[str, str]]) -> MarksDraft | None:
    """Form groups of rare indicators that occur together, such as rare diseases, or return None if no group loses an
    association.

    Parameters
    ----------
    table : counts of the public rows in the drafted bins.
    lost : pairs of columns whose association fits of the draft lose.
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
    """Yield each rare indicator, a column with one frequent and one rare category, with the bin and label of the latter."""
    for column in columns:
        plain = column.kind in ("code", "category") and not column.common and not column.levels and len(column.codes) == 2
        if plain and column.name in table.layout.columns:
            rows = table.marginal([table.layout.columns.index(column.name)])[:2]
            mark = int(rows.argmin())
            if 0 < rows[mark] <= RARE * rows.sum():
                yield column.name, (mark, [draft.label for draft in column.codes.values()][mark])


def _together(table: Counts, yes: Mapping[str, tuple[int, str]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Return, for every two indicators, Cramer's V and the number of rows with both minus the number expected by chance.

    Cramer's V is set to 0 if fewer rows than by chance have both indicators.
    """
    names, tables, pairs = table.layout.columns, lattice(table), dict[tuple[str, str], tuple[float, float]]()
    for first, second in combinations(sorted(yes, key=names.index), 2):
        counts = tables.get((names.index(first), names.index(second)))[:2, :2]
        odd = float(from_independence(counts)[yes[first][0], yes[second][0]])
        pairs[first, second] = (float(cramers_v(counts)) if odd > 0 else 0.0, odd)
    return pairs


def _joined(marks: Sequence[str], together: Mapping[tuple[str, str], tuple[float, float]]) -> list[list[str]]:
    """Form groups of associated indicators by agglomerative clustering on the mean Cramer's V between groups.

    No group gets more than `MOST_OF_GROUP` indicators. An indicator without associations is a group of its own.
    """
    strength = np.zeros((len(marks), len(marks)))
    for (mark, partner), (v, _) in together.items():
        strength[marks.index(mark), marks.index(partner)] = strength[marks.index(partner), marks.index(mark)] = v
    groups = [[i] for i in range(len(marks))]
    while len(groups) > 1:
        small = [pair for pair in combinations(range(len(groups)), 2) if sum(len(groups[a]) for a in pair) <= MOST_OF_GROUP]
        means = ((float(strength[np.ix_(groups[a], groups[b])].mean()), a, b) for a, b in small)
        mean, first, second = max(means, default=(0.0, 0, 0))
        if mean < _TOGETHER:
            break
        groups[first] += groups.pop(second)
    return [[marks[i] for i in sorted(group)] for group in groups]


# How rows belong to persons: the value of `init --unit`, or the question in [unit] of the draft.

ROW = "row"
MOST_ROWS, FEWEST_PERSONS = 1000, 20
AS_KEY = "this column is the key of [unit], which identifies the person of a row and is never released"
_MENTIONED = 6  # The largest number of columns that a draft names in one sentence


def none_has_these(key: str, missing_keys: Sequence[str], rows: int) -> str:
    """Return the question whether some values of a key mean that the person is unknown, or an empty string."""
    if not missing_keys:
        return ""
    return (
        f"In the public file the key {key!r} is {' or '.join(map(repr, missing_keys))} in {so_many(rows, 'row')}, many more "
        "than any other key has. Is the key unknown there? The draft says so (`missing_keys`) and excludes such rows."
    )


@dataclass(frozen=True, kw_only=True)
class UnitAnswer:
    """The answer to the question how many rows one person can have, and which column identifies the person.

    Attributes
    ----------
    key : name of the column that identifies the person of a row, or None if every row is a different person.
    records : largest number of released rows of each person.
    first_by : column of record numbers that orders the rows of a person; empty for random rows. Never a released column,
        whose smallest values would be released too often.
    varying : columns in which rows of a person differ, with the share of later rows that have a new value.
    without_key, later : the number of public rows without a key, and of rows that exceed the released rows of their person.
    missing_keys : texts of the key that stand for unknown persons.
    with_these : number of public rows with one of these texts that the codebook does not declare.
    """

    key: str | None = None
    records: int = 1
    first_by: tuple[str, ...] = ()
    varying: Mapping[str, float] = field(default_factory=dict)
    without_key: int = 0
    later: int = 0
    missing_keys: tuple[str, ...] = ()
    with_these: int = 0

    @property
    def doubt(self) -> str:
        asked = none_has_these(str(self.key), self.missing_keys, self.with_these) if self.with_these else ""
        sentences = [asked] if asked else []
        columns = [f"{name!r} ({share:.0%})" for name, share in self.varying.items() if name not in self.first_by]
        rest = f" and {len(columns) - _MENTIONED} more" if len(columns) > _MENTIONED else ""
        if self.first_by:
            sentences.append(
                f"Is {self.first_by[0]!r} the order of events? Its numbers differ in every row and increase with another "
                "column, so the draft releases the first rows of each person in this order. For random rows, set "
                'first_by = "random".'
            )
        elif columns:
            sentences.append(
                "The draft releases random rows of each person. Columns in which the rows of a person differ: "
                f"{', '.join(columns[:_MENTIONED])}{rest}. To release the first events instead, name the column with their "
                'order: first_by = ["COLUMN"].'
            )
        return " ".join(sentences)

    @classmethod
    def of(cls, request: str, names: Collection[str]) -> UnitAnswer:
        """Return the answer that a value of the option --unit states: `row`, `KEY` or `KEY:3`.

        Raises
        ------
        InputError : if the file has no column KEY, or if the number after the colon is not a whole number from 1 to 1000.
        """
        if request == ROW:
            return cls()
        key, mark, n_rows = request.rpartition(":")
        if request in names or not mark:
            key, n_rows = request, "1"
        if key not in names:
            guess = closest(key, names)
            meant = f" Did you mean {guess!r}?" if guess else ""
            found = without_secrets(repr(key), [key])
            raise InputError(f"--unit must be `row` or a column of the file ({listing(names)}), not {found}.{meant}")
        if not (n_rows.isascii() and n_rows.isdigit() and 1 <= int(n_rows[:9]) <= MOST_ROWS):
            raise InputError(
                f"--unit: the number after {key + ':'!r} must be a whole number from 1 to {MOST_ROWS:,}, not {n_rows!r}."
            )
        return cls(key=key, records=int(n_rows))

    def ordered(
        self, file: PublicFile, unreleased: Collection[str], forms: Mapping[str, str | None], declared: Collection[str] = ()
    ) -> UnitAnswer:
        """Add facts from the public file: how many rows of persons are not released, and which column orders a person's rows.

        Parameters
        ----------
        unreleased : names of columns that are not released. A column with a different number in every row orders the rows
            if a date or another number of the same person increases with it.
        declared : texts of the key that identify nobody according to the codebook.

        Raises
        ------
        InputError : when the key has fewer than 20 different values, which cannot identify persons.
        """
        if self.key is None:
            return self
        rows = every_row(file, tuple(file.columns), self.key)
        keys, every = rows.pop(self.key)
        if (n := len({*keys} - {""})) < FEWEST_PERSONS:
            raise InputError(
                f"--unit: {self.key!r} has {so_many(n, 'different value')}. A key needs at least {FEWEST_PERSONS}."
            )
        times = {key: often for key, often in zip(keys, np.bincount(every, minlength=len(keys)).tolist(), strict=True) if key}
        said = tuple(text for text in times if text in declared)
        suspected = missing_keys({text: often for text, often in times.items() if text not in declared})
        with_these = sum(times[text] for text in suspected)
        for text in (none := (*said, *suspected)):
            del times[text]
        with_key = ~np.isin(every, [place for place, key in enumerate(keys) if key not in times])
        persons = every[with_key].astype(np.int64)
        of_each = np.unique(persons, return_counts=True)[1]
        behind, differ = len(persons) - len(of_each), dict[str, float]()
        for name, (texts, codes) in rows.items():
            pairs = np.unique(persons * len(texts) + codes[with_key])
            if len(pairs) > len(of_each):
                differ[name] = (len(pairs) - len(of_each)) / behind
        varying = dict(sorted(differ.items(), key=lambda item: -item[1]))
        records = [name for name in varying if name in unreleased and len(rows[name][0]) == len(every)]
        records = [name for name in records if all(map(str.isdecimal, rows[name][0]))]
        beside = [name for name in varying if records and name not in records]
        others = [_measured(*rows[name], forms.get(name))[with_key] for name in beside]

        def orders(name: str) -> bool:
            rank = np.argsort(np.argsort([*map(int, rows[name][0])]))[rows[name][1]]
            return any(_orders(rank[with_key], persons, other) for other in others)

        return replace(
            self,
            first_by=tuple(filter(orders, records))[:1],
            varying=varying,
            without_key=len(every) - sum(times.values()),
            missing_keys=none,
            with_these=with_these,
            later=sum(max(often - self.records, 0) for often in times.values()),
        )


# A record number orders the rows of persons if another column agrees with it in at least 90% of 20 or more steps.
_IN_ORDER, _FEWEST_STEPS = 0.9, 20


def _measured(texts: Sequence[str], codes: np.ndarray, form: str | None) -> np.ndarray:
    if form is not None:
        days = map(DateFormat(form).read, texts)
        return np.array([math.nan if day is None else day.toordinal() for day in days])[codes]
    return np.array([float(text) if NUMBER.fullmatch(text) else math.nan for text in texts])[codes]


def _orders(numbers: np.ndarray, persons: np.ndarray, other: np.ndarray) -> bool:
    """Return whether another column, such as a date, mostly increases if the rows of each person are sorted by record number.

    Parameters
    ----------
    numbers, persons, other : (n_rows,) the record number, the person, and the value of the other column in each row.
    """
    line = np.lexsort((numbers, persons))
    steps = np.diff(other[line])[np.diff(persons[line]) == 0]
    up, down = int((steps > 0).sum()), int((steps < 0).sum())
    return up + down >= _FEWEST_STEPS and up >= _IN_ORDER * (up + down)


def largest_bias(table: Counts, whole: Counts, binnings: Sequence[Binning]) -> tuple[str, str]:
    """Return the column in which the released rows of persons differ most from all rows, and a sentence about it.

    Parameters
    ----------
    table, whole : counts of the released rows of persons, and of all rows of the public file, in the same bins.
    """
    shares = [[rows.marginal([i]) / rows.total for rows in (table, whole)] for i in range(len(binnings))]
    column, (of_persons, of_all) = max(enumerate(shares), key=lambda item: float(np.abs(item[1][0] - item[1][1]).max()))
    bin_, name = int(np.abs(of_persons - of_all).argmax()), table.layout.columns[column]
    of_some, of_every = f"{of_persons[bin_]:.1%}", f"{of_all[bin_]:.1%}"
    most = f"in the share of {binnings[column].labels[bin_]!r} of {name}: {of_some} instead of {of_every}"
    if of_some == of_every:
        return name, "The released rows of persons are similar to all rows of the public file."
    return name, f"The released rows of persons differ most from all rows of the public file {most}."


def shared_keys(left_out: Sequence[LeftOut]) -> str:
    keys = [column for column in left_out if column.rows_of_one > 1]
    keys.sort(key=lambda column: (-column.mean_rows, column.source))
    if not keys:
        return ""
    rows_of = [f"{key.source!r} ({key.besides}up to {key.rows_of_one:,} rows, {key.mean_rows:.3g} on average)" for key in keys]
    rest = f" and {so_many(len(keys) - _MENTIONED, 'more column')}" if len(keys) > _MENTIONED else ""
    return f"In the public file, several rows share a value of {', '.join(rows_of[:_MENTIONED])}{rest}."
