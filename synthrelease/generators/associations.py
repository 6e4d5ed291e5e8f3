"""Which associations of columns the rows of a model carry: what was measured together, and what only is associated through it.

Three facts decide, and all are public (theory 12.15, associations that rows carry):

- A table that was measured is matched by the model, within its noise. So the rows **carry** the association of its columns,
  unless the noise makes independent columns look more strongly associated than these are, and than chance does
  (`noise_strength`), or the fit, which is drawn to its prior, repeats less than `LEAST_REPEATED` of an association: such a
  table is **mostly noise**. Three columns are, too, where the noise of a cell is on average more rows than the mean cell has.
- The model is a product of its tables, sums and rules. Columns that every path between two others passes **separate** these:
  among rows that agree in them, the two are independent. So the rows have such a pair **in part**: what the separating columns
  explain of its association, and nothing of the rest.
- Columns without any path are independent in the rows, whatever they are in the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
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
"""Of an association, where it is said to be carried."""
LEAST_STRENGTH = 0.1
"""Cramer's V from which on two columns are called associated. Where it is not known, noise may not reach it."""
Function = tuple[int, Columns]
"""A column, and others that it is a function of."""


@dataclass(frozen=True, kw_only=True)
class Ties:
    """The associations between columns in the rows of a generator's model.

    Attributes
    ----------
    measured : the columns of each table that every fit measures, and that its model matches.
    sums : the columns of each sum of scores that it matches: one number of their table.
    chosen : the columns of each table that a fit may measure, by a private choice that is not published.
    public : sets of columns that a model with a public table holds: it ties all columns of a clique of these and of the rules.
    drawn_after : columns that rows get after all others, in this order, each with all columns that it then depends on.
    """

    measured: tuple[Columns, ...] = ()
    sums: tuple[Columns, ...] = ()
    chosen: tuple[Columns, ...] = ()
    public: tuple[Columns, ...] = ()
    drawn_after: tuple[tuple[int, Columns], ...] = ()


def mean_square_contingency(counts: np.ndarray) -> float:
    """Return chi-squared over the number of rows of a table of two columns, corrected for its expected value under
    independence.

    Cells that are divided so that rows and columns stay in proportion leave it as it is.
    """
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(float)
    n, (rows, columns) = table.sum(), table.shape
    if n < 2 or min(rows, columns) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    return max(0.0, float(((table - expected) ** 2 / expected).sum() / n) - (rows - 1) * (columns - 1) / (n - 1))


def cramers_v(counts: np.ndarray) -> float:
    """Return the bias-corrected Cramer's V of a (n_first, n_second) table: 0 for independent columns, at most 1.

    W. Bergsma, A bias-correction for Cramer's V and Tschuprow's T, Journal of the Korean Statistical Society 42 (2013). Bins
    without a row do not count. 0 where a column has one value.
    """
    n = counts.sum()
    fewest = min(int((counts.sum(axis=axis) > 0).sum()) for axis in (0, 1))
    largest = fewest - (fewest - 1) ** 2 / (n - 1) - 1 if n > 1 else 0.0
    return min(1.0, math.sqrt(mean_square_contingency(counts) / largest)) if largest > 0 else 0.0


def noise_strength(expected: np.ndarray, variance: np.ndarray | float) -> float:
    """Return the Cramer's V that independent columns show on average, because of the noise of their table.

    A cell of e expected rows with noise of variance v adds v / e to chi-squared. A model has no cell below 0, so that noise
    above e counts as if e were its deviation. Of r x c cells the margins, which are known better, take all but (r - 1)(c - 1).

    Parameters
    ----------
    expected : (r, c) rows of independent columns.
    variance : of the noise of each cell.
    """
    n, fewest = float(expected.sum()), min(expected.shape) - 1
    if n <= 0 or fewest < 1:
        return 0.0
    free = math.prod(size - 1 for size in expected.shape) / expected.size
    return math.sqrt(float((variance * _weights(expected, variance)).sum()) * free / n / fewest)


def noisy_strength(table: np.ndarray, variance: np.ndarray) -> float:
    """Return Cramer's V of two columns from their noisy table. From its square, the mean for independent columns under this
    noise is subtracted, and one standard deviation of that, so that noise alone seldom counts as an association.

    Parameters
    ----------
    table, variance : (r, c) noisy counts, and the variance of the noise of each.
    """
    expected = independent_cells(table)
    n, free = float(expected.sum()), math.prod(size - 1 for size in table.shape)
    if n <= 0 or not free:
        return 0.0
    square = float(((table - expected) ** 2 * _weights(expected, variance)).sum()) / n / (min(table.shape) - 1)
    noise = noise_strength(expected, variance) ** 2 * (1 + math.sqrt(2 / free))
    return min(1.0, math.sqrt(max(0.0, square - noise)))


def independent_cells(table: np.ndarray) -> np.ndarray:
    """Return (r, c) rows that independent columns with the margins of a table would have; noise below 0 counts as none."""
    rows, columns = (np.maximum(0.0, table.sum(axis=axis)) for axis in (1, 0))
    return np.outer(rows, columns) / max(1.0, float(rows.sum() + columns.sum()) / 2)


def _weights(expected: np.ndarray, variance: np.ndarray | float) -> np.ndarray:
    return 1 / np.maximum(np.maximum(expected, np.sqrt(variance)), 1e-9)


@dataclass(frozen=True, kw_only=True)
class Strengths:
    """The known strengths of association between columns: in a public file, or from the noisy tables of a release.

    Attributes
    ----------
    shares : of the rows in each bin with a value, by column.
    pairs : Cramer's V over the rows with a value of both columns, by their names with a colon between, in their order.
    """

    shares: Mapping[str, Sequence[float]] = field(default_factory=dict)
    pairs: Mapping[str, float] = field(default_factory=dict)

    def expected(self, columns: Sequence[str], sizes: Sequence[int], n_rows: int) -> np.ndarray:
        """Return (r, c) rows that independent columns would have; in equal bins where the bins are others or not known."""
        shares = [np.asarray(self.shares.get(name, ())) for name in columns]
        known = (
            share if size - 1 <= len(share) <= size else np.full(size, 1 / size)
            for share, size in zip(shares, sizes, strict=True)
        )
        return n_rows * np.outer(*known)

    def hidden(self, columns: Sequence[str], noise: float, chance: float) -> bool:
        """Return whether the noise is larger than the association of two columns; where its strength is unknown, whether it is
        larger than one that is just visible, `LEAST_STRENGTH`. Noise that is no larger than chance hides nothing: another
        sample of this size differs as much. The plan and the card use this rule.

        Parameters
        ----------
        noise, chance : the Cramer's V that independent columns show because of the noise, and in a sample of so many rows.
        """
        return noise > max(chance, self.pairs.get(":".join(columns), LEAST_STRENGTH))


@dataclass(frozen=True, kw_only=True)
class Association:
    """The extent to which the rows carry the association of two or three columns. As a truth value: whether they carry it.

    Attributes
    ----------
    columns : their names.
    carried : "yes" where their table was measured, or follows from one that was: the rows have it within noise and drawing;
        "mostly noise" where it was, but its noise is larger than the association and than chance, or `repeats` is below 0.8;
        "in part"; "no" where the columns are independent in the rows, or one of three is; "not known" where the generator
        chose its tables privately.
    how : the reason, in the words of `How`.
    through : columns that separate the two: among rows that agree in these, the two are independent. Empty for other reasons.
    noise : of a measured table, by how many rows the noise moves one of its cells, on average; None where it is not known.
    mean_cell : how many rows a cell has on average; None without a number of rows.
    repeats : about which share of an association the rows repeat, were all cells alike; the prior of the fit takes the rest.
        None without such a prior.
    apart : columns with rare bins whose rows are in no measured table: what these bins have with other columns is not carried.
    strength : Cramer's V of two measured columns in a public file or by the noisy tables; None where it is not known.
    noise_strength : the Cramer's V that independent columns would show because of the noise of their table.
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
        more += f", but for rare bins of {', '.join(self.apart)}" if self.apart else ""
        return f"{' × '.join(self.columns)}: {self.carried}, {self.how}{more}"


def in_rows(value: float | None) -> str:
    """Return a mean number of rows as it is shown; empty where it is not known."""
    return "" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.2g}"


@dataclass(frozen=True, kw_only=True)
class TableNoise:
    """The noise of a measured table.

    Attributes
    ----------
    law : of each count.
    prior : how many records the prior of the fit is worth against it; 0 where the table is matched without one.
    """

    law: CountNoise
    prior: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Associations:
    """The associations of all columns of a table.

    Attributes
    ----------
    ties : of the generator, over `layout`.
    ruled : columns of each plausibility rule for released rows.
    functions : columns that are functions of others in every row, as the region is one of the municipality.
    linked : how the columns are those of roots and their members; None where rows have no members.
    noise : the noise of each count of a measured table, by the columns of the table, where it is known.
    rows : how many the tables are of; None where nobody knows yet.
    apart : columns with rare bins whose rows are in no table.
    strengths : how strongly columns are associated, as far as it is known.
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
        """Return the association of two or three columns. The name of a column of members refers to the same member, or to the
        member that another name gives.

        Raises
        ------
        KeyError : for a name that no column has.
        Unexpected : for names that coincide, or that leave open which member is meant.
        """
        return _of_members(names, [self._of(columns) for columns in self._in_slots(names)])

    def measured(self, *names: str) -> Carried | None:
        """Return the first part of the same answer, in little time: None where no table gives it. Raises as `of`.

        Columns of members that were measured together in some members alone, such as the first two, are carried "in part".
        """
        of_slots = [self._measured(columns) for columns in self._in_slots(names)]
        answers = {None if association is None else association.carried for association in of_slots}
        if len(answers) == 1:
            return answers.pop()
        return "not known" if "not known" in answers else "in part" if "yes" in answers else None

    def differ(self, first: str, second: str) -> bool:
        """Return whether two names are two different columns; two names of a member column of one member are the same."""
        return set(self._places(first)).isdisjoint(self._places(second))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the columns by their names in the files, columns of members once."""
        return self.layout.columns if self.linked is None else (*self.linked.of_roots(self.layout.columns), *self.linked.names)

    @cached_property
    def pairs(self) -> tuple[Association, ...]:
        """The associations of every two columns, in the order of the columns."""
        return tuple(self.of(*pair) for pair in combinations(self.names, 2))

    @cached_property
    def carried(self) -> CarriedPairs:
        """How many pairs the rows carry, and which."""
        return CarriedPairs.of([self])

    @cached_property
    def triples(self) -> tuple[Association, ...]:
        """The associations of every three columns that the rows carry."""
        shown = {name: self._plain(name) for name in self.layout.columns}
        among = {
            tuple(sorted({shown[self.layout.columns[column]] for column in triple}, key=self.names.index))
            for columns in self._known
            for triple in combinations(columns, 3)
        }
        associations = (self.of(*triple) for triple in sorted(among, key=self._order) if len(triple) == 3)
        return tuple(association for association in associations if association)

    def _order(self, names: Sequence[str]) -> list[int]:
        return [self.names.index(name) for name in names]

    def _plain(self, name: str) -> str:
        slot = None if self.linked is None else self.linked.place_of(name)
        return name if self.linked is None or slot is None else self.linked.names[self.linked.slots[slot].index(name)]

    def _in_slots(self, names: Sequence[str]) -> list[Columns]:
        """Return the columns by their places; where they are of members, once for each that a root can have, or for a named
        one."""
        if self.linked is None and len(set(names)) == len(names):
            return [tuple(self._place[name] for name in names)]
        choices = [self._places(name) for name in names]
        slots = range(max(map(len, choices)))
        if self.linked is not None and len(slots) > 1:
            slots_named = {slot for name in names if (slot := self.linked.place_of(name)) is not None}
            if len(slots_named) > 1:
                expected = f"the member of each column where members differ, as in {slot_name(self.linked.names[0], 2)!r}"
                raise Unexpected(expected, listing(names))
            slots = range(min(slots_named), min(slots_named) + 1) if slots_named else slots
        by_slot = [tuple(each[slot % len(each)] for each in choices) for slot in slots]
        if any(len(set(columns)) < len(columns) for columns in by_slot):
            raise Unexpected("different columns", f"{listing(names)}, two of which are the same")
        return by_slot

    def _places(self, name: str) -> tuple[int, ...]:
        """Return the places of a column: of one of members in every slot."""
        if self.linked is not None and name in self.linked.names:
            at = self.linked.names.index(name)
            return tuple(self._place[slot[at]] for slot in self.linked.slots)
        return (self._place[name],)

    @cached_property
    def _place(self) -> Mapping[str, int]:
        """Return the position of each column in the layout by name; stored, since a thousand columns have half a
        million pairs.
        """
        return {name: place for place, name in enumerate(self.layout.columns)}

    def _of(self, columns: Columns) -> Association:
        if (association := self._measured(columns)) is not None:
            return association
        names = tuple(self.layout.columns[column] for column in columns)
        return self._of_two(names, columns) if len(columns) == 2 else self._of_three(names, columns)

    def _measured(self, columns: Columns) -> Association | None:
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
                hidden = False  # nothing is known of the noise, or one column is a function of the other, which noise keeps
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
        if any(wanted.issubset(table) for table in self.ties.chosen):
            names = tuple(self.layout.columns[column] for column in columns)
            return Association(columns=names, carried="not known", how="chosen privately")
        return None

    def _of_two(self, names: tuple[str, ...], columns: Columns) -> Association:
        """Return the association of two columns without a table of both."""
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
        """Return the association of three columns without a table of all, from their pairs."""
        pairs = {pair: self._of(pair).carried for pair in combinations(columns, 2)}
        if any(all(carried == "no" for pair, carried in pairs.items() if column in pair) for column in columns):
            return Association(columns=names, carried="no", how="independent")
        if "not known" in pairs.values():
            return Association(columns=names, carried="not known", how="chosen privately")
        return Association(columns=names, carried="in part", how="in pairs")

    @cached_property
    def _known(self) -> tuple[Columns, ...]:
        """Return the columns of every measured table, with all columns that are functions of them."""
        return tuple(dict.fromkeys(self._with_functions(table) for table in self.ties.measured))

    def _with_functions(self, columns: Iterable[int]) -> Columns:
        closed, previous = set(columns), set[int]()
        while closed != previous:
            previous = set(closed)
            closed |= {column for column, sources in self.functions if closed.issuperset(sources)}
        return tuple(sorted(closed))

    def _cells(self, columns: Iterable[int]) -> int:
        """Return the cells of their table: a column that is a function of the others makes no cells of its own."""
        free = set(columns)
        for column in sorted(free, reverse=True) if self.functions else ():
            if column in self._with_functions(free - {column}):
                free.remove(column)
        return math.prod(self.layout.sizes[column] for column in free)

    @cached_property
    def _noises(self) -> dict[frozenset[int], tuple[float, float, float]]:
        """By how many rows the noise moves a cell of two or three columns on average, its variance, and how strongly the prior
        pulls (W V m of theory 12.15, associations that rows carry), where that is least.

        A cell of these columns is a sum of cells of the table. The sum of many noises is nearly normal, and of a normal number
        the mean size is sqrt(2 / pi) standard deviations.
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
        """Every two and every three columns of one measured table."""
        return _small_sets(self.ties.measured)

    @cached_property
    def _following(self) -> frozenset[frozenset[int]]:
        """Return every pair and triple of columns of a measured table, with all columns that are functions of its columns."""
        return _small_sets(self._known)

    def _separator(self, first: int, second: int) -> tuple[bool, Columns]:
        """Return whether a factor of the model ties the two, and the columns that separate them otherwise.

        The neighbours of one column on paths to the other separate the two columns. Of the sets on both sides the smaller
        one is named.
        """
        graph = self._graph(first, second)
        if second in graph.near[first]:
            graph, tied = graph.without(first, second), True
        else:
            tied = False
        sides = [graph.borders(first)[second], graph.borders(second)[first]]
        return tied, min(sides, key=lambda side: (len(side), side))

    def _graph(self, first: int, second: int) -> TiedColumns:
        """Return the associations when the two columns are considered alone: of the columns drawn after all others, those
        that one of the two depends on, with the columns they are drawn from connected (the moral graph of the ancestors).
        """
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
        """Return whether a rule only connects a column with the columns it is drawn from, such as the rule that puts areas
        into larger ones.
        """
        return any(column in columns and {column, *sources}.issuperset(columns) for column, sources in self.ties.drawn_after)


def _small_sets(tables: Iterable[Columns]) -> frozenset[frozenset[int]]:
    return frozenset(frozenset(some) for table in tables for width in (2, 3) for some in combinations(table, width))


class TiedColumns:
    """A graph of columns: columns of one factor of a model are neighbours."""

    def __init__(self, near: dict[int, frozenset[int]]):
        self.near = near
        self._borders: dict[int, dict[int, Columns]] = {}

    @classmethod
    def of(cls, n_columns: int, sets: Iterable[Columns]) -> TiedColumns:
        """Return the graph in which columns of one of these sets are neighbours."""
        near: dict[int, set[int]] = {column: set() for column in range(n_columns)}
        for columns in sets:
            for column in columns:
                near[column].update(columns)
        return cls({column: frozenset(neighbours - {column}) for column, neighbours in near.items()})

    def without(self, first: int, second: int) -> TiedColumns:
        """Return the graph in which these two are no neighbours."""
        return TiedColumns(self.near | {first: self.near[first] - {second}, second: self.near[second] - {first}})

    def borders(self, first: int) -> dict[int, Columns]:
        """Return, for each column that is no neighbour of `first`, the neighbours of `first` on paths to it."""
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
    """Return one association for all slots of members: the noisiest where all are carried alike, else the unknown one, else
    'in part'.
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
    """Return columns that are functions of others: those that options state by name, and those that rules determine.

    Parameters
    ----------
    columns : each on all bins that it may be released on.
    """
    place_of = {alternatives[0].name: index for index, alternatives in enumerate(columns)}
    of_options = [(place_of[name], tuple(place_of[source] for source in others)) for name, others in by_options]
    return tuple(dict.fromkeys([*of_options, *functions_of(rules, columns)]))


def weakest_of(associations: Sequence[Association]) -> Association:
    """Return the weakest answer of several models, any of which may be drawn."""
    order: tuple[Carried, ...] = ("no", "mostly noise", "in part", "not known", "yes")
    return min(associations, key=lambda association: order.index(association.carried))


@dataclass(frozen=True, kw_only=True)
class PartnersOfColumn:
    """Pairs of one column."""

    column: str
    others: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CarriedPairs:
    """A summary for readers: the number of pairs the rows carry, and which pairs they carry or do not carry.

    Attributes
    ----------
    pairs, triples : how many there are.
    carried, unknown : how many of the pairs are, and of how many nobody can tell.
    noisy : the pairs that were measured with noise larger than their association, and are not carried for that.
    partial : how many were measured together in some members of a root, and not in later ones.
    carried_triples : those that are carried.
    only : whether the pairs of `columns` are those that are carried; otherwise all others are.
    columns : the pairs that are carried, or those that are not where these are fewer, each once.
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
    def of(cls, models: Sequence[Associations]) -> CarriedPairs:
        """Summarise one model; for several models, any of which may be drawn, the associations all of them carry."""
        names = models[0].names
        answers = {pair: {model.measured(*pair) for model in models} for pair in combinations(names, 2)}
        carried = [pair for pair, words in answers.items() if words == {"yes"}]
        others = [pair for pair, words in answers.items() if words != {"yes"}]
        triples = [model.columns for model in models[0].triples if all(model_.of(*model.columns) for model_ in models[1:])]
        return cls(
            pairs=len(answers),
            triples=math.comb(len(names), 3),
            carried=len(carried),
            unknown=sum("not known" in words and words <= {"not known", "yes"} for words in answers.values()),
            noisy=tuple(
                pair for pair, words in answers.items() if "mostly noise" in words and words <= {"mostly noise", "yes"}
            ),
            partial=sum("in part" in words and words <= {"in part", "yes"} for words in answers.values()),
            carried_triples=tuple(triples),
            only=len(carried) < len(others),
            columns=tuple(_by_column(names, carried if len(carried) < len(others) else others)),
        )


def _by_column(names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Iterator[PartnersOfColumn]:
    """Yield each pair once: first the pairs of the column with the most pairs, then those of the column with the most
    remaining ones.
    """
    left = {name: dict[str, None]() for name in names}
    for first, second in pairs:
        left[first][second] = left[second][first] = None
    while partners := left[column := max(names, key=lambda name: len(left[name]))]:
        yield PartnersOfColumn(column=column, others=tuple(name for name in names if name in partners))
        for name in partners:
            del left[name][column]
        left[column] = {}
