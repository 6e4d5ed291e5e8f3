"""Determine from public facts about the measurements which associations between columns a model's rows preserve ("carry").

Theory 12.15, associations that rows carry:

- The model matches a measured table within its noise, so the rows **carry** the association of its columns. A table is
  **mostly noise** in two cases. First, the noise alone would make independent columns look more associated than these
  columns are, and more than independent columns look by chance (`noise_strength`). Second, the prior is so strong that the
  fit reproduces less than the share `LEAST_REPEATED` of an association. A table of three columns is also mostly noise if
  the mean noise of a cell exceeds its mean number of rows.
- The model is a product of its tables, sums and rules. Columns that lie on every path between two other columns
  **separate** them: given the separating columns, the two are independent. So the rows carry such a pair **in part**.
- Columns without a path between them are independent in the rows, even if they are associated in the file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Literal

import numpy as np

from synthrelease.data.functions import StatedRule, functions_of
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.linked import Linked, slot_name
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import Unexpected, listing
from synthrelease.generators.junction_tree import JunctionTree

if TYPE_CHECKING:
    from synthrelease.generators.measured_noise import CountNoise

Carried = Literal["yes", "mostly noise", "in part", "no", "not known"]
How = Literal[
    "measured together",
    "follows from a measured table",
    "one sum measured",
    "public table",
    "plausibility rules",
    "through other columns",
    "in pairs",
    "some members",
    "independent",
    "chosen privately",
]
LEAST_REPEATED = 0.8
"""The rows preserve an association if the fit reproduces at least this share of the association."""
LEAST_STRENGTH = 0.1
"""Two columns are called associated if their Cramer's V is at least this value. If the strength is unknown, the noise must stay
below this value."""
Function = tuple[int, Columns]
"""A column, and the columns that determine it."""


@dataclass(frozen=True, kw_only=True)
class Ties:
    """The sets of columns whose association a generator's model may contain.

    Attributes
    ----------
    measured : the columns of each table that every fit measures and matches.
    sums : the columns of each sum of scores that the model matches.
    chosen : the columns of each table that a fit may choose, privately, to measure.
    public : column sets of a model that starts from a public table, which connects all columns of a clique.
    drawn_after : columns drawn after all others, in this order, each with the columns on which it depends.
    """

    measured: tuple[Columns, ...] = ()
    sums: tuple[Columns, ...] = ()
    chosen: Collection[Columns] = ()
    public: tuple[Columns, ...] = ()
    drawn_after: tuple[tuple[int, Columns], ...] = ()


def mean_square_contingency(counts: np.ndarray) -> np.ndarray:
    """Return the (...) mean square contingencies of (..., n_first, n_second) tables: chi-squared / n, minus the expected
    value under independence, but at least 0.

    The result does not change if bins are split in proportion.
    """
    n, rows, columns = (counts.sum(axis=axis, keepdims=True, dtype=float) for axis in ((-2, -1), -1, -2))
    expected = rows * columns / np.maximum(n, 1)
    chi_squared = (counts - expected) ** 2 / np.where(expected > 0, expected, 1)
    free = np.count_nonzero(rows, axis=-2, keepdims=True) - 1, np.count_nonzero(columns, axis=-1, keepdims=True) - 1
    by_chance = free[0] * free[1] / np.maximum(n - 1, 1)
    return np.maximum(0, (chi_squared / np.maximum(n, 1)).sum(axis=(-2, -1)) - by_chance[..., 0, 0])


def cramers_v(counts: np.ndarray) -> np.ndarray:
    """Return the (...) bias-corrected Cramer's V of (..., n_first, n_second) tables: 0 for independent columns, at most 1.

    W. Bergsma, A bias-correction for Cramer's V and Tschuprow's T, Journal of the Korean Statistical Society 42 (2013).
    Bins without rows are ignored. A column with one value gives 0.
    """
    others = np.min([np.count_nonzero(counts.sum(axis=axis), axis=-1) for axis in (-1, -2)], axis=0) - 1
    largest = others - others**2 / np.maximum(counts.sum(axis=(-2, -1)) - 1, 1)
    return np.sqrt(np.minimum(1, mean_square_contingency(counts) / np.where(largest > 0, largest, math.inf)))


def noise_strength(expected: np.ndarray, variance: np.ndarray | float) -> float:
    """Return the approximate Cramer's V that two independent columns would show only because their table has noise.

    A cell with e expected rows and noise variance v adds v / e to chi-squared; the standard deviation of the noise replaces
    a smaller e. Only (r - 1)(c - 1) of the r x c cells count, because the margins are known more accurately.

    Parameters
    ----------
    expected : (r, c) expected numbers of rows for independent columns.
    """
    n, fewest = float(expected.sum()), min(expected.shape) - 1
    if n <= 0 or fewest < 1:
        return 0.0
    free = math.prod(size - 1 for size in expected.shape) / expected.size
    return math.sqrt(float((variance * _weights(expected, variance)).sum()) * free / n / fewest)


def noisy_strength(table: np.ndarray, variance: np.ndarray) -> float:
    """Return the Cramer's V of two columns from their (r, c) noisy table, after subtraction of what noise alone would show."""
    expected = independent_cells(table)
    n, free = float(expected.sum()), math.prod(size - 1 for size in table.shape)
    if n <= 0 or not free:
        return 0.0
    square = float(((table - expected) ** 2 * _weights(expected, variance)).sum()) / n / (min(table.shape) - 1)
    noise = noise_strength(expected, variance) ** 2 * (1 + math.sqrt(2 / free))
    return min(1.0, math.sqrt(max(0.0, square - noise)))


def independent_cells(table: np.ndarray) -> np.ndarray:
    """Return the (r, c) expected numbers of rows for independent columns with the margins of a table; negative margins
    count as 0.
    """
    rows, columns = (np.maximum(0.0, table.sum(axis=axis)) for axis in (1, 0))
    return np.outer(rows, columns) / max(1.0, float(rows.sum() + columns.sum()) / 2)


def _weights(expected: np.ndarray, variance: np.ndarray | float) -> np.ndarray:
    return 1 / np.maximum(np.maximum(expected, np.sqrt(variance)), 1e-9)


@dataclass(frozen=True, kw_only=True)
class Strengths:
    """Known shares of bins, and strengths of association (Cramer's V) of pairs.

    Attributes
    ----------
    shares : for each column, the shares of rows in its bins that contain values.
    pairs : Cramer's V over the rows with both values, by the two names joined by a colon in column order.
    """

    shares: Mapping[str, Sequence[float]] = field(default_factory=dict)
    pairs: Mapping[str, float] = field(default_factory=dict)

    def expected(self, columns: Sequence[str], sizes: Sequence[int], n_rows: int) -> np.ndarray:
        shares = [np.asarray(self.shares.get(name, ())) for name in columns]
        known = (share if n - 1 <= len(share) <= n else np.full(n, 1 / n) for share, n in zip(shares, sizes, strict=True))
        return n_rows * np.outer(*known)

    def hidden(self, columns: Sequence[str], noise: float, chance: float) -> bool:
        """Return whether noise hides an association: `noise`, the Cramer's V that it gives independent columns, exceeds
        both the known strength (`LEAST_STRENGTH` if unknown) and `chance`, the Cramer's V from sampling.
        """
        return noise > max(chance, self.pairs.get(":".join(columns), LEAST_STRENGTH))


@dataclass(frozen=True, kw_only=True)
class Association:
    """Whether the synthetic rows preserve ("carry") the association of two or three columns, and how well. True as a
    boolean if they do.

    Attributes
    ----------
    carried : "yes" if the columns' table was measured or follows from a measured table. "mostly noise" if the noise exceeds
        the association and chance, or `repeats` is below 0.8. "in part" if the association exists only through other
        tables. "no" if the columns are independent in the rows (of three columns: one is independent of both others). "not
        known" if the generator chose its tables privately.
    how : the reason for `carried`.
    through : the columns that separate two columns, which are independent given them.
    noise : the mean absolute noise of a cell, in rows, or None if unknown.
    mean_cell : the mean number of rows of a cell, or None if unknown.
    repeats : the approximate share of an association that the fit keeps despite its prior, or None without a prior.
    apart : columns with rare bins that are counted separately, without associations.
    strength : Cramer's V of two measured columns, or None if unknown.
    noise_strength : the Cramer's V that independent columns would show because of the noise.
    """

    columns: tuple[str, ...]
    carried: Carried
    how: How
    through: tuple[str, ...] = ()
    noise: float | None = None
    mean_cell: float | None = None
    repeats: float | None = None
    apart: tuple[str, ...] = ()
    strength: float | None = None
    noise_strength: float | None = None

    def __bool__(self) -> bool:
        return self.carried == "yes"

    def __str__(self) -> str:
        more = f" ({', '.join(self.through)})" if self.through else ""
        if self.carried == "mostly noise":
            makes = "" if self.noise_strength is None else f" makes a Cramer's V of {self.noise_strength:.2f}"
            known = "" if self.strength is None else f", the association has {self.strength:.2f}"
            repeated = "" if self.repeats is None else f", {self.repeats:.2f} repeated"
            more += f" (noise of {in_rows(self.noise)} rows on average{makes}{known}{repeated})"
        more += f", except for rare bins of {', '.join(self.apart)}" if self.apart else ""
        return f"{' × '.join(self.columns)}: {self.carried}, {self.how}{more}"


def in_rows(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.2g}"


@dataclass(frozen=True, kw_only=True)
class TableNoise:
    """The noise distribution of each count of a measured table, and the weight of the prior in its fit, as a number of
    records.
    """

    law: CountNoise
    prior: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Associations:
    """Which associations between columns the synthetic rows of a model preserve ("carry"), according to the tables of the
    model.

    Attributes
    ----------
    ruled : the columns of each plausibility rule.
    functions : columns that are functions of other columns, as a region is of the municipality.
    linked : the arrangement of members in wide records of linked tables, or None. A wide record has one block of columns,
        called a slot, for each possible member.
    noise : the noise of each measured table, by its columns.
    rows : the number of rows, or None if not yet known.
    apart : columns with rare bins whose rows are in no measured table.
    """

    layout: Layout
    ties: Ties
    ruled: tuple[Columns, ...] = ()
    functions: tuple[Function, ...] = ()
    linked: Linked | None = None
    noise: Mapping[Columns, TableNoise] = field(default_factory=dict)
    rows: int | None = None
    apart: frozenset[int] = frozenset()
    strengths: Strengths = Strengths()

    def of(self, *names: str) -> Association:
        """Return whether the rows preserve the association of two or three named columns, and how well.

        Names of members' columns all refer to the same member: to the member whose number a name contains, if any.

        Raises
        ------
        KeyError : if a name is unknown.
        Unexpected : if two names refer to the same column, or to columns of different members.
        """
        return _of_members(names, [self._of(columns) for columns in self._in_slots(names)])

    def measured(self, *names: str) -> Carried | None:
        """Return how well measured or chosen tables preserve an association, such as "yes". None if no such table contains
        the columns. Faster than `of`.
        """
        of_slots = [self._measured(columns) for columns in self._in_slots(names)]
        answers = {None if association is None else association.carried for association in of_slots}
        if len(answers) == 1:
            return answers.pop()
        return "not known" if "not known" in answers else "in part" if "yes" in answers else None

    def differ(self, first: str, second: str) -> bool:
        """Return whether two names refer to different columns. In linked tables, `age` and `age_2` refer to the same column."""
        return set(self._places(first)).isdisjoint(self._places(second))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns as in the private files: a column of members, such as `age`, is listed once."""
        return self.layout.columns if self.linked is None else (*self.linked.of_roots(self.layout.columns), *self.linked.names)

    @property
    def pairs(self) -> Iterator[Association]:
        parts = {column: {column} for column in range(len(self.layout.sizes))}
        tied = ((column, *near) for column, near in self._graph(0, 0).near.items())
        for columns in filter(None, (*tied, *self._known)):
            if not parts[columns[0]].issuperset(columns):
                joined = set[int]().union(*(parts[column] for column in columns))
                parts |= dict.fromkeys(joined, joined)
        plain = self.linked is None and not self.ties.drawn_after
        for first, second in combinations(self.names, 2):
            if plain and self._place[second] not in parts[self._place[first]]:
                yield Association(columns=(first, second), carried="no", how="independent")
            else:
                yield self.of(first, second)

    @cached_property
    def carried(self) -> CarriedPairs:
        return CarriedPairs.of([self])

    @cached_property
    def triples(self) -> tuple[Association, ...]:
        shown = {name: self._plain(name) for name in self.layout.columns}
        among = {
            tuple(sorted({shown[self.layout.columns[column]] for column in triple}, key=self.names.index))
            for columns in self._known
            for triple in combinations(columns, 3)
        }
        associations = (self.of(*triple) for triple in sorted(among, key=self._order) if len(triple) == 3)
        return tuple(association for association in associations if association)

    def in_tables(self) -> Iterator[tuple[str, str]]:
        """Yield both orders of the names of each pair of columns inside a measured or chosen table. For all other pairs,
        `measured` returns None.
        """
        for table in (*self._known, *self.ties.chosen):
            yield from permutations({self._plain(self.layout.columns[column]) for column in table}, 2)

    def _order(self, names: Sequence[str]) -> list[int]:
        return [self.names.index(name) for name in names]

    def _plain(self, name: str) -> str:
        """Return the name of a column as in the files: `age` for the column `age_2` of one member."""
        slot = None if self.linked is None else self.linked.place_of(name)
        return name if self.linked is None or slot is None else self.linked.names[self.linked.slots[slot].index(name)]

    def _in_slots(self, names: Sequence[str]) -> list[Columns]:
        """Return the indices of the named columns, as one tuple for each possible member. A name with a member's number,
        such as `age_2`, leaves only this member.
        """
        if self.linked is None and len(set(names)) == len(names):
            return [tuple(self._place[name] for name in names)]
        choices = [self._places(name) for name in names]
        slots = range(max(map(len, choices)))
        if self.linked is not None and len(slots) > 1:
            slots_named = {slot for name in names if (slot := self.linked.place_of(name)) is not None}
            if len(slots_named) > 1:
                advice = f"Write a number in every name of a members' column, as in {slot_name(self.linked.names[0], 2)!r}"
                raise Unexpected(f"{listing(names)} name different members. {advice}")
            slots = range(min(slots_named), min(slots_named) + 1) if slots_named else slots
        by_slot = [tuple(each[slot % len(each)] for each in choices) for slot in slots]
        if any(len(set(columns)) < len(columns) for columns in by_slot):
            raise Unexpected(f"Two of the columns {listing(names)} are the same. Name different columns")
        return by_slot

    def _places(self, name: str) -> tuple[int, ...]:
        if self.linked is not None and name in self.linked.names:
            at = self.linked.names.index(name)
            return tuple(self._place[slot[at]] for slot in self.linked.slots)
        return (self._place[name],)

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.layout.columns)}

    def _of(self, columns: Columns) -> Association:
        if (association := self._measured(columns)) is not None:
            return association
        names = tuple(self.layout.columns[column] for column in columns)
        return self._of_two(names, columns) if len(columns) == 2 else self._of_three(names, columns)

    def _measured(self, columns: Columns) -> Association | None:
        """Return how well measured or chosen tables preserve the association of these columns. None if no such table
        contains them.
        """
        wanted = frozenset(columns)
        if wanted in self._following:
            names = tuple(self.layout.columns[column] for column in columns)
            how: How = "measured together" if wanted in self._together else "follows from a measured table"
            noise, variance, pull = self._noises.get(wanted, (None, None, None))
            cell = None if self.rows is None else self.rows / self._cells(wanted)
            repeats = None if not pull or self.rows is None else 1 / (1 + pull / self.rows**2)
            in_order = tuple(self.layout.columns[column] for column in sorted(columns))
            sizes, strength, makes = [self.layout.sizes[column] for column in sorted(columns)], None, None
            if len(columns) == 3:
                hidden = (noise or 0) > (cell or math.inf) or not all(map(self._measured, combinations(columns, 2)))
            elif variance is None or self.rows is None or self._cells(wanted) < math.prod(sizes):
                hidden = False  # the noise is unknown, or one column is a function of the other, which noise does not change
            else:
                strength = self.strengths.pairs.get(":".join(in_order))
                expected = self.strengths.expected(in_order, sizes, self.rows)
                makes = noise_strength(expected, variance)
                hidden = self.strengths.hidden(in_order, makes, noise_strength(expected, expected))
            noisy = hidden or (1 if repeats is None else repeats) < LEAST_REPEATED
            apart = tuple(self.layout.columns[column] for column in columns if column in self.apart)
            return Association(
                columns=names,
                carried="mostly noise" if noisy else "yes",
                how=how,
                noise=noise,
                mean_cell=cell,
                repeats=repeats,
                apart=apart,
                strength=strength,
                noise_strength=makes,
            )
        chosen = self.ties.chosen
        if tuple(sorted(wanted)) in chosen or any(wanted.issubset(table) for table in chosen if len(table) > len(wanted)):
            names = tuple(self.layout.columns[column] for column in columns)
            return Association(columns=names, carried="not known", how="chosen privately")
        return None

    def _of_two(self, names: tuple[str, ...], columns: Columns) -> Association:
        tied, through = self._separator(*columns)
        if not tied and not through:
            return Association(columns=names, carried="no", how="independent")
        reasons: tuple[tuple[How, Iterable[Columns]], ...] = (
            ("one sum measured", self.ties.sums),
            ("public table", self._public),
            ("plausibility rules", self.ruled),
        )
        reasons_met = (reason for reason, sets in reasons if any(set(columns).issubset(columns_tied) for columns_tied in sets))
        separating = tuple(self.layout.columns[column] for column in through)
        return Association(columns=names, carried="in part", how=next(reasons_met, "through other columns"), through=separating)

    def _of_three(self, names: tuple[str, ...], columns: Columns) -> Association:
        pairs = {pair: self._of(pair).carried for pair in combinations(columns, 2)}
        if any(all(carried == "no" for pair, carried in pairs.items() if column in pair) for column in columns):
            return Association(columns=names, carried="no", how="independent")
        if "not known" in pairs.values():
            return Association(columns=names, carried="not known", how="chosen privately")
        return Association(columns=names, carried="in part", how="in pairs")

    @cached_property
    def _known(self) -> tuple[Columns, ...]:
        return tuple(dict.fromkeys(self._with_functions(table) for table in self.ties.measured))

    def _with_functions(self, columns: Iterable[int]) -> Columns:
        """Return these columns and all columns that they determine (as municipality determines region), in order."""
        closed, previous = set(columns), set[int]()
        while closed != previous:
            previous = set(closed)
            closed |= {column for column, sources in self.functions if closed.issuperset(sources)}
        return tuple(sorted(closed))

    def _cells(self, columns: Iterable[int]) -> int:
        """Return the number of cells of the table of these columns. Columns determined by the others add no cells."""
        free = set(columns)
        for column in sorted(free, reverse=True) if self.functions else ():
            if column in self._with_functions(free - {column}):
                free.remove(column)
        return math.prod(self.layout.sizes[column] for column in free)

    @cached_property
    def _noises(self) -> dict[frozenset[int], tuple[float, float, float]]:
        """Return, for each pair and triple of columns inside a measured table, the mean absolute noise of a cell, the noise
        variance, and the influence W V m of the prior (theory 12.15, associations that rows carry). If several tables
        contain the columns, the smallest values count.
        """
        noises = dict[frozenset[int], tuple[float, float, float]]()
        for table in self.ties.measured:
            if (noise := self.noise.get(table)) is None:
                continue
            cells = self._cells(table)
            for subset in _small_sets([self._with_functions(table)]):
                own_cells = self._cells(subset)
                variance = max(1, cells / own_cells) * noise.law.variance_above
                size = noise.law.mean_size if cells <= own_cells else math.sqrt(2 / math.pi * variance)
                earlier = noises.get(subset, (math.inf, math.inf, math.inf))
                own = size, variance, noise.prior * variance * own_cells
                noises[subset] = min(own[0], earlier[0]), min(own[1], earlier[1]), min(own[2], earlier[2])
        return noises

    @cached_property
    def _together(self) -> frozenset[frozenset[int]]:
        return _small_sets(self.ties.measured)

    @cached_property
    def _following(self) -> frozenset[frozenset[int]]:
        return _small_sets(self._known)

    def _separator(self, first: int, second: int) -> tuple[bool, Columns]:
        """Return whether some table, sum or rule contains both columns. Also return a small set of columns that separates
        them, apart from such a direct connection: the neighbours of one column on paths to the other.
        """
        graph = self._graph(first, second)
        if second in graph.near[first]:
            graph, tied = graph.without(first, second), True
        else:
            tied = False
        sides = [graph.borders(first)[second], graph.borders(second)[first]]
        return tied, min(sides, key=lambda side: (len(side), side))

    def _graph(self, first: int, second: int) -> TiedColumns:
        """Return the moral graph of two columns and of all columns on which they depend in the model."""
        drawn_from = dict(self.ties.drawn_after)
        if not drawn_from and frozenset() in self._graphs:
            return self._graphs[frozenset()]
        ruled = [factor for factor in self.ruled if not self._within_a_draw(factor)]
        needed = {first, second}.union(*(factor for factor in ruled if not drawn_from.keys().isdisjoint(factor)))
        for column, sources in reversed(self.ties.drawn_after):
            needed |= set(sources) if column in needed else set()
        drawn_columns = frozenset(needed & drawn_from.keys())
        if drawn_columns not in self._graphs:
            sets = [*self.ties.measured, *self.ties.sums, *self.ties.chosen, *self._public]
            factors = [tuple(column for column in factor if column not in drawn_from) for factor in sets] + ruled
            factors += [(column, *sources) for column, sources in self.ties.drawn_after if column in drawn_columns]
            self._graphs[drawn_columns] = TiedColumns.of(len(self.layout.sizes), factors)
        return self._graphs[drawn_columns]

    @cached_property
    def _public(self) -> tuple[Columns, ...]:
        if not self.ties.public:
            return ()
        return JunctionTree.of(self.layout.sizes, [*self.ties.public, *self.ruled]).cliques

    @cached_property
    def _graphs(self) -> dict[frozenset[int], TiedColumns]:
        return {}

    def _within_a_draw(self, columns: Columns) -> bool:
        """Return whether a rule connects only a column and the columns from which it is drawn, and so adds no other
        dependence.
        """
        return any(column in columns and {column, *sources}.issuperset(columns) for column, sources in self.ties.drawn_after)


def _small_sets(tables: Iterable[Columns]) -> frozenset[frozenset[int]]:
    return frozenset(frozenset(some) for table in tables for width in (2, 3) for some in combinations(table, width))


class TiedColumns:
    """A graph of columns. Two columns are neighbours if some table, sum or rule of a model contains both."""

    def __init__(self, near: dict[int, frozenset[int]]):
        self.near = near
        self._borders: dict[int, dict[int, Columns]] = {}

    @classmethod
    def of(cls, n_columns: int, sets: Iterable[Columns]) -> TiedColumns:
        near: dict[int, set[int]] = {column: set() for column in range(n_columns)}
        for columns in sets:
            for column in columns:
                near[column].update(columns)
        return cls({column: frozenset(neighbours - {column}) for column, neighbours in near.items()})

    def without(self, first: int, second: int) -> TiedColumns:
        return TiedColumns(self.near | {first: self.near[first] - {second}, second: self.near[second] - {first}})

    def borders(self, first: int) -> dict[int, Columns]:
        """Return, for each column that is no neighbour of `first`, the neighbours of `first` on paths to this column."""
        if first not in self._borders:
            border, borders = self.near[first], dict[int, Columns]()
            for start in self.near:
                if start in borders or start in border or start == first:
                    continue
                reached, met, left = {start}, set[int](), [start]
                while left:
                    neighbours = self.near[left.pop()]
                    met |= neighbours & border
                    left += (new := neighbours - border - reached)
                    reached |= new
                borders |= dict.fromkeys(reached, tuple(sorted(met)))
            self._borders[first] = borders
        return self._borders[first]


def _of_members(names: Sequence[str], of_slots: Sequence[Association]) -> Association:
    """Combine the associations of the same columns for each possible member into one.

    If all agree on `carried`, return the one with the most noise. Otherwise, `carried` is "not known" if it is for some
    member, else "in part".
    """
    answers = {association.carried for association in of_slots}
    first = of_slots[0]
    if len(answers) == 1:
        if len(of_slots) == 1:
            return first if first.columns == tuple(names) else replace(first, columns=tuple(names))
        noisiest = max(of_slots, key=lambda association: association.noise or 0)
        apart = tuple(name for name, plain in zip(names, first.columns, strict=True) if plain in first.apart)
        return replace(noisiest, columns=tuple(names), how=first.how, through=(), apart=apart)
    carried: Carried = "not known" if "not known" in answers else "in part"
    how: How = "chosen privately" if carried == "not known" else "some members"
    return Association(columns=tuple(names), carried=carried, how=how)


def all_functions(
    by_options: Iterable[tuple[str, tuple[str, ...]]], rules: Iterable[StatedRule], columns: Sequence[Sequence[PublishedColumn]]
) -> tuple[Function, ...]:
    """Return each column that other columns determine, with these columns, by an option of the specification or by a rule."""
    place_of = {alternatives[0].name: index for index, alternatives in enumerate(columns)}
    of_options = [(place_of[name], tuple(place_of[source] for source in others)) for name, others in by_options]
    return tuple(dict.fromkeys([*of_options, *functions_of(rules, columns)]))


def weakest_of(associations: Sequence[Association]) -> Association:
    """Return the association that is preserved worst, among those of the same columns in several models."""
    order: tuple[Carried, ...] = ("no", "mostly noise", "in part", "not known", "yes")
    return min(associations, key=lambda association: order.index(association.carried))


@dataclass(frozen=True, kw_only=True)
class PartnersOfColumn:
    """A column, and the other columns of listed pairs that contain it."""

    column: str
    others: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CarriedPairs:
    """A summary of the pairs and triples of columns whose association the rows preserve ("carry").

    Attributes
    ----------
    unknown : number of pairs of which it is not known whether they are carried.
    noisy : the pairs whose measured tables are mostly noise.
    partial : number of pairs that were measured together only for some members of a root.
    only : whether `columns` lists the carried pairs, or the other pairs if these are fewer.
    columns : the listed pairs, each once.
    """

    pairs: int
    triples: int
    carried: int
    unknown: int
    noisy: tuple[tuple[str, str], ...]
    partial: int
    carried_triples: tuple[tuple[str, ...], ...]
    only: bool
    columns: tuple[PartnersOfColumn, ...]

    @classmethod
    def of(cls, models: Sequence[Associations], lost: Collection[tuple[str, str]] = ()) -> CarriedPairs:
        """Summarise which pairs keep their association in the rows of every model. Pairs in `lost`, whose association was
        lost in a trial, are in no list.
        """
        names = models[0].names
        measured = {pair for model in models for pair in model.in_tables() if pair not in lost}
        n_pairs = math.comb(len(names), 2)
        answers = {pair: {model.measured(*pair) for model in models} for pair in combinations(names, 2) if pair in measured}
        carried = [pair for pair, words in answers.items() if words == {"yes"}]
        triples = [model.columns for model in models[0].triples if all(model_.of(*model.columns) for model_ in models[1:])]
        only = 2 * len(carried) < n_pairs
        others = (pair for pair in combinations(names, 2) if answers.get(pair) != {"yes"} and pair not in lost)
        listed = carried if only else others
        return cls(
            pairs=n_pairs,
            triples=math.comb(len(names), 3),
            carried=len(carried),
            unknown=sum("not known" in words and words <= {"not known", "yes"} for words in answers.values()),
            noisy=tuple(
                pair for pair, words in answers.items() if "mostly noise" in words and words <= {"mostly noise", "yes"}
            ),
            partial=sum("in part" in words and words <= {"in part", "yes"} for words in answers.values()),
            carried_triples=tuple(triples),
            only=only,
            columns=tuple(_by_column(names, listed)),
        )


def _by_column(names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Iterator[PartnersOfColumn]:
    """Group pairs by column, so that each pair occurs once. The column with the most remaining pairs always comes next."""
    left = {name: dict[str, None]() for name in names}
    for first, second in pairs:
        left[first][second] = left[second][first] = None
    while partners := left[column := max(names, key=lambda name: len(left[name]))]:
        yield PartnersOfColumn(column=column, others=tuple(name for name in names if name in partners))
        for name in partners:
            del left[name][column]
        left[column] = {}
