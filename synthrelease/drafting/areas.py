"""Areas within areas: columns of a public file of which one tells the other, and the draft that `--areas` asks for.

The other columns are drafted as without the smallest areas, with tables that are raced and measured of the whole. Beside these
every level of areas gets its own: those of an area that its rows can bear.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from synthrelease.criteria.facts import CriterionDraft
from synthrelease.drafting.codes import are_too_many, draft_codes
from synthrelease.drafting.column_draft import Answers, ColumnDraft, LeftOut
from synthrelease.drafting.keys import left_out_as_key
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.rows import PublicRows, every_row
from synthrelease.drafting.suggestions import Suggestion
from synthrelease.errors import InputError, listing
from synthrelease.generators.measured_noise import CountNoise
from synthrelease.generators.measurements import divided, power_of

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
    """The question whether two columns are areas within areas, by the source of the larger ones: of codes or words, of which
    there are too many to be drafted each by itself, and each of which has one value in the other column."""
    found: dict[str, str] = {}
    groups = [source for source, column in drafted.items() if isinstance(column, ColumnDraft) and _may_be_level(column)]
    for source, column in drafted.items():
        n = len(answers[source].texts) if source in answers else 0
        worded = (
            column.kind in ("code", "category")
            if isinstance(column, ColumnDraft)
            else n and not left_out_as_key(answers[source])
        )
        if not (n and worded and are_too_many(answers[source].texts)) or answers[source].missing_rows:
            continue
        if answers[source].rows < _ROWS * n:
            continue
        chain = [source]
        for other in sorted(groups, key=lambda each: -len(answers[each].texts)):
            smaller = chain[0]
            larger = other != source and _TIMES * len(answers[other].texts) <= len(answers[smaller].texts)
            if larger and _tells(rows.codes[smaller], rows.codes[other]):
                chain.insert(0, other)
        if len(chain) > 1:
            found.setdefault(
                chain[-2],
                f"each of the {n} values of {source!r} in the public file has one of {chain[-2]!r}, and as it is drafted they "
                f"are not told apart. If they are areas within areas, draft again with --areas {f' {WITHIN} '.join(chain)!r}",
            )
    return found


def _may_be_level(column: ColumnDraft) -> bool:
    plain = column.kind in ("code", "category") and not column.common and column.characters is None
    return plain and 2 <= len(column.codes) <= _MOST_GROUPS


def _texts(column: ColumnDraft) -> dict[str, str]:
    """What each text of an area becomes."""
    return {text: code.label for first, code in column.codes.items() for text in (first, *code.spellings)}


def _known(found: tuple[list[str], np.ndarray], texts: Container[str]) -> np.ndarray:
    """(n_rows,) which text each row has, -1 for one that is no area."""
    return np.array([place if text in texts else -1 for place, text in enumerate(found[0])])[found[1]]


def _tells(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether rows that are alike in one column are so in the other one."""
    known = (one >= 0) & (other >= 0)
    pairs = np.unique(np.stack([one[known], other[known]]), axis=1)
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
    def of(cls, asked: str, file: PublicFile, answers: Answers, columns: Sequence[ColumnDraft]) -> AreasDraft:
        """From the words "region > municipality".

        Parameters
        ----------
        answers : of the smallest areas.
        columns : as they are drafted without them.

        Raises
        ------
        InputError : when a column is none that can be a level, or is told by no other one.
        """
        sources = areas_asked(asked, file)
        known = {column.source: column for column in columns}
        for source in sources[:-1]:
            if source not in known or not _may_be_level(known[source]):
                usable = listing(each for each, column in known.items() if _may_be_level(column))
                raise InputError(f"--areas: expected columns of at most {_MOST_GROUPS} areas ({usable}), found {source!r}.")
        rows, texts = every_row(file, sources), {source: _texts(known[source]) for source in sources[:-1]}
        areas = {source: _known(rows[source], texts.get(source, answers.texts)) for source in sources}
        for upper, lower in pairwise(sources):
            if not _tells(areas[lower], areas[upper]):
                raise InputError(
                    f"--areas: expected each {lower!r} of the public file in one {upper!r}, found one in several. The largest "
                    "areas come first."
                )
        column = draft_codes(answers, [one.name for one in columns], "", apart=True)
        own, levels = areas[sources[-1]], {}
        for source in sources[:-1]:
            both = np.unique(np.stack([own, areas[source]])[:, (own >= 0) & (areas[source] >= 0)], axis=1).T.tolist()
            home = {rows[sources[-1]][0][at]: texts[source][rows[source][0][of]] for at, of in both}
            if lost := [code for code in column.codes if code not in home]:
                raise InputError(f"--areas: expected an area of {source!r} for every code, found none for {lost[0]!r}.")
            levels[known[source].name] = {code: home[code] for code in column.codes}
        remark = f"{len(answers.texts)} areas in the public file"
        drafted = replace(column, kind="code", levels=levels, remark=remark)
        return cls(levels=tuple(known[source] for source in sources[:-1]), column=drafted)

    def placed(self, columns: Sequence[ColumnDraft]) -> list[ColumnDraft]:
        """The columns with the smallest areas in the place of the level above, and without the levels, which come with them."""
        found = [self.column if column.name == self.chain[-2] else column for column in columns]
        return [column for column in found if column.name not in self.chain[:-1]]

    def measured(
        self, raced: Sequence[str], sizes: Mapping[str, int], n_rows: int, cost: Fraction, noise: type[CountNoise]
    ) -> AreaTables:
        """The tables of the whole, which are those of the other columns that were raced, and those of each level: of the
        smallest columns, as far as a mean cell bears the noise that is left for it; else the areas alone.

        Parameters
        ----------
        raced : tables with weights, as `PlanRace.terms` has them.
        sizes : bins of all columns but the smallest areas.
        cost : of all tables, in the measure of the noise.
        """
        whole = [tuple(term.rpartition(" ")[2].split(":")) for term in raced]
        whole = [columns for columns in whole if not set(columns) & {*self.chain}]
        others = sorted((name for name in sizes if name not in self.chain), key=lambda each: sizes[each])
        whole += [(name,) for name in sizes if name in others and not any(name in columns for columns in whole)]
        areas = {**{level.name: len(level.codes) for level in self.levels}, self.column.name: len(self.column.codes)}
        own = {level: others[: self._most(others, sizes, count, n_rows)] for level, count in areas.items()}
        bins = {**sizes, **areas}
        for level in reversed(self.chain):
            while own[level]:
                found = AreaTables.of(whole, own, bins, noise)
                largest = (level, own[level][-1])
                deviation = math.sqrt(noise.of_table(cost * found.shares[largest]).variance_above)
                if deviation * math.prod(bins[name] for name in largest) <= _BEARABLE * n_rows:
                    break
                own[level] = own[level][:-1]
        return AreaTables.of(whole, own, bins, noise)

    def _most(self, others: Sequence[str], sizes: Mapping[str, int], areas: int, n_rows: int) -> int:
        """How many of these columns, the smallest first, have tables of a level that are not too large for the model."""
        cells, found = 1, 0
        for name in others:
            cells *= sizes[name]
            if sizes[name] * areas * _ROWS > n_rows or cells > _MOST_CELLS // len(self.column.codes):
                break
            found += 1
        return found

    def rules(self, suggested: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
        """Those about areas stay as comments: they would tie columns to every area."""
        return tuple(replace(rule, active=rule.active and not {*self.chain} & {*rule.columns}) for rule in suggested)

    def criteria(self, drafted: Sequence[CriterionDraft]) -> tuple[CriterionDraft, ...]:
        """Those of the other columns, and how many rows the smallest areas have, as that of single columns. Where rows are
        compared, smallest areas are not."""
        name = self.column.name
        single = next(each for each in drafted if each.asks == "shares of single columns")
        settings = {key: value for key, value in single.settings.items() if key != "largest"}
        settings |= {"name": f"rows of each {name}", "tables": [name]}
        remark = "The share of the rows in each of the smallest areas"
        own = CriterionDraft(settings=settings, remark=remark, asks="single columns")
        return (*(ignoring([name], each) for each in drafted), own)


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
        own: Mapping[str, Sequence[str]],
        bins: Mapping[str, int],
        noise: type[CountNoise],
    ) -> AreaTables:
        """A level that would get less than its least part of the budget gets that much."""
        levels: list[list[tuple[str, ...]]] = [[*whole]]
        levels += [[(level, name) for name in names] or [(level,)] for level, names in own.items()]
        power = power_of(noise)
        cells = [{columns: math.prod(bins[name] for name in columns) for columns in tables} for tables in levels]
        wanted = [_WHOLE * _NEXT**level for level in range(len(levels))]
        parts = [sum((n / off) ** power for n in tables.values()) for tables, off in zip(cells, wanted, strict=True)]
        raised = set[int]()
        while True:
            enough = _LEAST * sum(part for at, part in enumerate(parts) if at not in raised) / (1 - _LEAST * len(raised))
            low = {at for at, part in enumerate(parts) if at and at not in raised and part < enough}
            if not low:
                break
            raised |= low
        for at in raised:
            wanted[at] = float(f"{wanted[at] * (parts[at] / enough) ** (1 / power):.2g}")
        together = {columns: n for tables in cells for columns, n in tables.items()}
        shares = divided(together, {columns: wanted[at] for at, tables in enumerate(cells) for columns in tables}, noise)
        return cls(wanted=f" {WITHIN} ".join(f"{off:g}" for off in wanted), shares=shares)


def ignoring(names: Sequence[str], drafted: CriterionDraft) -> CriterionDraft:
    """A criterion that says of every column how rows compare in it, with these left out of the comparison."""
    if "exact" not in drafted.settings:
        return drafted
    ignored = drafted.settings.get("ignored", [])
    return replace(drafted, settings={**drafted.settings, "ignored": [*(ignored if isinstance(ignored, list) else ()), *names]})


def areas_asked(asked: str, file: PublicFile) -> list[str]:
    """The columns of the file that --areas names, the largest areas first.

    Raises
    ------
    InputError : for fewer than two different columns of the file.
    """
    sources = [each.strip() for each in asked.split(WITHIN)]
    if unknown := [each for each in sources if each not in file.columns]:
        raise InputError(f"--areas: expected columns of the file ({listing(file.columns)}), found {unknown[0]!r}.")
    if not 2 <= len(set(sources)) == len(sources):
        raise InputError(
            f"--areas: expected different columns, the largest areas first, as 'region > municipality'; found {asked!r}."
        )
    return sources
