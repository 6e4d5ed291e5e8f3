"""The model behind areas within areas: the tree of areas, their tables, and the allotment of rows to them.

Every row of the area goes to one of the areas in it, so counts add up exactly. Tables of the smaller areas are moved to where
they add up to the rows that are there (`placed`), made to agree and to have no count below 0, and the rows are divided in
proportion to what they were among all, raked to these tables (iterative proportional fitting). Whole rows are divided one
combination of columns after the other, and what is rounded is carried on to the next one (error diffusion). Post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synthrelease.data.counts import Counts, EqualRows, words_of
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import RejectedRound
from synthrelease.generators.bayesian_network import BayesianNetwork, nearest_on_simplex, nearest_with_margins, shared_sets

# Noisy tables of areas that lie within one another, and how they tell more together: up the tree, and down again.
#
# Of one set of columns each area has a table, and the tables of the areas in an area add up to its own. Weighted least squares
# on such a tree take two passes (Hay, Rastogi, Miklau & Suciu, VLDB 2010; theory 12.13, areas within areas): on the way up what
# an area measured and the sum of what lies in it are weighed by their precisions, on the way down what the sums are off is
# shared out in proportion to the variances. Both are linear in the number of areas. Post-processing.


@dataclass(frozen=True, kw_only=True)
class AreaTable:
    """The counts of every area of a level over some columns, and their noise variances: first axis areas.

    Attributes
    ----------
    columns : beside that of the area, increasing.
    variance : 0 where a cell is known to be empty.
    """

    columns: Columns
    values: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Level:
    """The areas of one level.

    Attributes
    ----------
    column : their place in the layout.
    home : (areas,) which area of the level above each lies in; zeros on the highest level.
    tables : what is known of them, one for each set of columns, also from the levels below.
    """

    column: int
    home: np.ndarray
    tables: tuple[AreaTable, ...]


def homes(areas: Sequence[int], plausibility: Plausibility) -> list[np.ndarray]:
    """Return for each level, the largest areas first, which area of the level above each area lies in.

    Parameters
    ----------
    areas : the columns of areas; a rule ties each to the last one.

    Raises
    ------
    RejectedRound : when the rules leave a choice.
    """
    sizes, lowest = plausibility.layout.sizes, areas[-1]
    of_lowest = [np.zeros(sizes[lowest], dtype=np.int64)]
    for column in areas[:-1]:
        if (home := plausibility.home_of(column, lowest)) is None:
            raise RejectedRound("the rules do not put each area into one of the level above")
        of_lowest.append(home)
    of_lowest.append(np.arange(sizes[lowest]))
    levels = []
    for column, above, area_of_lowest in zip(areas, of_lowest, of_lowest[1:], strict=False):
        home = np.zeros(sizes[column], dtype=np.int64)
        home[area_of_lowest] = above
        levels.append(home)
    return levels


def combined(tables: Iterable[AreaTable]) -> tuple[AreaTable, ...]:
    """Return one table for each set of columns: figures of the same count are weighed by their precision."""
    by_columns: dict[Columns, list[AreaTable]] = {}
    for table in tables:
        by_columns.setdefault(table.columns, []).append(table)
    return tuple(_weighed(of_columns) for of_columns in by_columns.values())


def _weighed(tables: Sequence[AreaTable]) -> AreaTable:
    if len(tables) == 1:
        return tables[0]
    is_empty = np.any([table.variance == 0 for table in tables], axis=0)
    precisions = [1 / np.where(is_empty, 1.0, table.variance) for table in tables]
    total = np.sum(precisions, axis=0)
    values = np.sum([table.values * precision for table, precision in zip(tables, precisions, strict=True)], axis=0) / total
    return AreaTable(
        columns=tables[0].columns, values=np.where(is_empty, 0.0, values), variance=np.where(is_empty, 0.0, 1 / total)
    )


def lifted(table: AreaTable, home: np.ndarray, areas: int) -> AreaTable:
    """Return the information in the sums over the areas in each of the larger `areas`."""
    values, variance = (np.zeros((areas, *table.values.shape[1:])) for _ in range(2))
    np.add.at(values, home, table.values)
    np.add.at(variance, home, table.variance)
    return AreaTable(columns=table.columns, values=values, variance=variance)


def placed(values: np.ndarray, variance: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the nearest counts to `values` (areas, cells), in units of their noise, that add up to `sums` (cells,) over the
    areas.

    A cell that is known to be empty in every area stays so.
    """
    total = variance.sum(axis=0)
    parts = np.divide(variance, total, out=np.zeros_like(variance), where=total > 0)
    return np.asarray(values + parts * (sums - values.sum(axis=0)))


def levels_of(
    areas: Sequence[int], tables: Mapping[int, Sequence[AreaTable]], plausibility: Plausibility
) -> tuple[tuple[Level, ...], tuple[AreaTable, ...]]:
    """Return the levels, the largest areas first, each combined with the levels below; and what they contribute to the whole.

    Parameters
    ----------
    tables : of every level, by its column.
    """
    levels, below, above = list[Level](), list[AreaTable](), homes(areas, plausibility)
    for index in reversed(range(len(areas))):
        column, home = areas[index], above[index]
        tables_here = combined([*tables.get(column, ()), *below])
        levels.append(Level(column=column, home=home, tables=tables_here))
        larger = plausibility.layout.sizes[areas[index - 1]] if index else 1
        below = [lifted(table, home, larger) for table in tables_here]
    return tuple(reversed(levels)), tuple(below)


_MOST_SWEEPS = 60
_NEAR = 0.05
"""Sweeps end when no count of a table is further off than this, in rows."""


@dataclass(frozen=True, kw_only=True)
class WantedCounts:
    """A table that the areas in an area should have: (areas, cells), and which of its cells each combination is in.

    Attributes
    ----------
    cell : (combinations,) the cell of each.
    """

    values: np.ndarray
    cell: np.ndarray


def allotted(
    tables: Sequence[AreaTable],
    bins: Sequence[np.ndarray],
    sizes: Sequence[int],
    counts: np.ndarray,
    scale: float,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return (areas, combinations) whole rows of each combination for each area; over the areas they add up to `counts`.

    Parameters
    ----------
    tables : of the areas in this one, over columns whose numbers are places in `bins`.
    bins : for each column that a table has, (combinations,) its bin.
    sizes : how many bins each of these has.
    counts : (combinations,) rows of this area, above 0.
    scale : rows that are drawn for each row that was measured.
    """
    areas = tables[0].values.shape[0]
    if areas == 1:
        return counts[None, :].copy()
    aims = agreed(tables, bins, sizes, counts, scale)
    return divided_rows(raked(aims, counts), counts, generator)


def agreed(
    tables: Sequence[AreaTable], bins: Sequence[np.ndarray], sizes: Sequence[int], counts: np.ndarray, scale: float
) -> list[WantedCounts]:
    """Return the tables of the areas as they are to be raked to: none below 0, they agree, and add up to the rows that are
    there.

    A table whose columns are all in another one has told what it knows and is left out.
    """
    areas, moved, cells = tables[0].values.shape[0], list[_WantedTable](), list[np.ndarray]()
    for table in tables:
        shape = tuple(sizes[column] for column in table.columns)
        cell = np.zeros(len(counts), dtype=np.int64)
        for column, size in zip(table.columns, shape, strict=True):
            cell = cell * size + bins[column]
        sums = np.bincount(cell, weights=counts, minlength=math.prod(shape))
        variance = scale**2 * table.variance.reshape(areas, -1)
        free = (variance > 0) & (sums > 0)
        values = np.where(free, placed(scale * table.values.reshape(areas, -1), np.where(free, variance, 0.0), sums), 0.0)
        precision = 1 / float(variance[free].mean()) if free.any() else 1.0
        moved.append(_WantedTable(table.columns, values.reshape(areas, *shape), free.reshape(areas, *shape), precision))
        cells.append(cell)
    _agree(moved)
    totals = nearest_on_simplex(moved[0].margin(()), float(counts.sum()), np.ones(areas, dtype=bool))
    sets, wanted = [set(table.columns) for table in tables], list[WantedCounts]()
    for table_, cell in zip(moved, cells, strict=True):
        if not any(set(table_.columns) < other for other in sets):
            values, free = table_.values.reshape(areas, -1), table_.free.reshape(areas, -1)
            sums = np.bincount(cell, weights=counts, minlength=values.shape[1])
            wanted.append(WantedCounts(values=nearest_with_margins(values, totals, sums, free), cell=cell))
    return wanted


@dataclass
class _WantedTable:
    """A table of areas on the way to agree with others: one axis of areas, then one for each column."""

    columns: Columns
    values: np.ndarray
    free: np.ndarray
    precision: float

    def margin(self, columns: Columns) -> np.ndarray:
        """Return the sums over all but the areas and some of its columns."""
        return np.asarray(self.values.sum(axis=self._others(columns)))

    def cells(self, columns: Columns) -> np.ndarray:
        """Return, for each cell of the margin, the number of cells in it that may have rows."""
        return np.asarray(self.free.sum(axis=self._others(columns)))

    def move(self, columns: Columns, by: np.ndarray) -> None:
        """Change each cell of that margin by so much, in equal parts."""
        self.values = self.values + np.where(self.free, np.expand_dims(by, self._others(columns)), 0.0)

    def _others(self, columns: Columns) -> tuple[int, ...]:
        return tuple(axis + 1 for axis, column in enumerate(self.columns) if column not in columns)


def _agree(tables: Sequence[_WantedTable]) -> None:
    """Make the margins of all tables on their common columns their mean, weighed by precision, small sets first (Qardaji,
    Yang & Li, "PriView", SIGMOD 2014, Section 4.4). A table weighs the same in all areas, so that sums over areas stay."""
    for columns in shared_sets([table.columns for table in tables]):
        users = [table for table in tables if set(columns) <= set(table.columns)]
        cells = [table.cells(columns) for table in users]
        weights = [
            table.precision / max(float(free_cells.mean()), 1e-9) for table, free_cells in zip(users, cells, strict=True)
        ]
        mean = np.sum([weight * table.margin(columns) for weight, table in zip(weights, users, strict=True)], axis=0) / sum(
            weights
        )
        for table, free_cells in zip(users, cells, strict=True):
            off = mean - table.margin(columns)
            table.move(columns, np.divide(off, free_cells, out=np.zeros_like(off), where=free_cells > 0))


def raked(aims: Sequence[WantedCounts], counts: np.ndarray) -> np.ndarray:
    """Return (areas, combinations) expected rows: nearest to the same shares in every area, with the wanted tables and the
    counts.

    The counts are met to the last digit, the tables as far as they can be.
    """
    from scipy.sparse import csr_matrix

    areas = aims[0].values.shape[0]
    totals = np.mean([table.values.sum(axis=1) for table in aims], axis=0)
    whole = totals.sum()
    shares = totals / whole if whole > 0 else np.full(areas, 1 / areas)
    rows = np.outer(shares, counts)
    numbers, ones = np.arange(len(counts)), np.ones(len(counts))
    sums = [csr_matrix((ones, (numbers, table.cell)), shape=(len(counts), table.values.shape[1])) for table in aims]
    for _ in range(_MOST_SWEEPS):
        furthest = 0.0
        for table, into in zip(aims, sums, strict=True):
            reached = (into.T @ rows.T).T
            furthest = max(furthest, float(np.abs(reached - table.values).max()))
            rows *= np.divide(table.values, reached, out=np.zeros_like(reached), where=reached > 0)[:, table.cell]
        rows = _with_counts(rows, counts, shares)
        if not furthest > _NEAR:
            break
    return rows


def _with_counts(rows: np.ndarray, counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the same rows, with the count of every combination; one that no area wants is divided like all rows."""
    reached = rows.sum(axis=0)
    scaled = rows * np.divide(counts, reached, out=np.zeros(len(counts)), where=reached > 0)
    return np.where(reached > 0, scaled, np.outer(shares, counts))


def divided_rows(expected: np.ndarray, counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return (areas, combinations) whole numbers near the expected ones, which add up to `counts` over the areas.

    Combinations are divided in turn. An area that got less than it should so far comes first in the next one, so that its
    whole number of rows is near the expected one, too. A combination that is not expected in an area is not there.
    """
    whole = np.zeros(expected.shape, dtype=np.int64)
    owed = generator.random(len(expected))
    owed -= owed.mean()
    for combination, count in enumerate(counts.tolist()):
        column = expected[:, combination]
        open_to = np.flatnonzero(column > 0)
        due = owed[open_to] + column[open_to]
        given = np.maximum(np.floor(due), 0).astype(np.int64)
        left = count - int(given.sum())
        while left < 0:
            most = np.flatnonzero(given > 0)
            most = most[np.argsort((due - given)[most], kind="stable")][:-left]
            given[most] -= 1
            left += len(most)
        if left > 0:
            for_each, remaining = divmod(left, len(open_to))
            given += for_each
            given[np.argsort(given - due, kind="stable")[:remaining]] += 1
        whole[open_to, combination] = given
        owed += column
        owed[open_to] -= given
    return whole


# Rows of the whole are drawn first, and allotted to areas level by level: to regions, in each of them to municipalities.

_ROWS_AT_ONCE = 2**20
"""Rows that are dealt out to areas at once, about: memory does not grow with the number of rows."""


@dataclass(frozen=True, kw_only=True)
class NestedModel:
    """A model of the columns that are no areas, and the tables of areas.

    Attributes
    ----------
    layout : of all columns.
    others : the columns that are no areas, increasing; columns of tables are these.
    whole : the model of them; None where there are none.
    levels : the largest areas first.
    n : rows of the table that was measured.
    """

    layout: Layout
    others: Columns
    whole: BayesianNetwork | None
    levels: tuple[Level, ...]
    n: int

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Return n rows; the areas of one level are drawn one after the other."""
        if self.whole is None:
            bins, counts = dict[int, np.ndarray](), np.array([n])
        else:
            drawn = self.whole.sample(n, generator)
            bins, counts = dict(zip(self.others, drawn.bins, strict=True)), drawn.counts
        area = np.zeros(len(counts), dtype=np.int64)
        for level in self.levels:
            rows, area, counts = self._allot(level, area, bins, counts, n / self.n, generator)
            bins = {column: column_bins[rows] for column, column_bins in bins.items()}
            bins[level.column] = area.astype(np.min_scalar_type(self.layout.sizes[level.column] - 1))
        return Counts.of(self.layout, [bins[column] for column in range(len(self.layout.sizes))], counts)

    def _allot(
        self,
        level: Level,
        above: np.ndarray,
        bins: dict[int, np.ndarray],
        counts: np.ndarray,
        scale: float,
        generator: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, for every new cell, the cell it comes from, its area, and its rows.

        Parameters
        ----------
        above : the area of the level above of every cell.
        """
        core = sorted({column for table in level.tables for column in table.columns})
        keys = [above, *(bins[column] for column in core)]
        layout = Layout(columns=("",) * len(keys), sizes=tuple(int(key.max(initial=0)) + 1 for key in keys))
        groups = EqualRows.of(words_of(layout, keys))  # those of one area above side by side
        first, totals = groups.first, groups.sums(counts)
        larger = np.arange(int(level.home.max()) + 2)
        ends, lies = np.searchsorted(above[first], larger), np.argsort(level.home, kind="stable")
        starts = np.searchsorted(level.home[lies], larger)
        cells, into, rows = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
        for upper in larger[:-1]:
            some, areas = np.arange(ends[upper], ends[upper + 1]), lies[starts[upper] : starts[upper + 1]]
            if not len(some):
                continue
            whole = allotted(
                [_of(table, areas, core) for table in level.tables],
                [bins[column][first[some]] for column in core],
                [self.layout.sizes[column] for column in core],
                totals[some],
                scale,
                generator,
            )
            at, area = np.nonzero(whole.T)
            cells.append(some[at])
            into.append(areas[area])
            rows.append(whole[area, at])
        return _dealt(groups, counts, *(np.concatenate(pieces) for pieces in (cells, into, rows)), generator=generator)


def _of(table: AreaTable, areas: np.ndarray, core: Sequence[int]) -> AreaTable:
    """Return the table of some areas, with its columns as positions among all tables of the level."""
    columns = tuple(core.index(column) for column in table.columns)
    return AreaTable(columns=columns, values=table.values[areas], variance=table.variance[areas])


def _dealt(
    groups: EqualRows,
    counts: np.ndarray,
    combinations: np.ndarray,
    areas: np.ndarray,
    rows: np.ndarray,
    *,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which rows of a combination of columns go where is left to chance: these columns are all that the areas tell
    apart.

    Parameters
    ----------
    groups, counts : which cells have the same combination, and the rows of every cell.
    combinations, areas, rows : how many rows of a combination each area gets, one combination after the other.

    Returns
    -------
    three arrays
        Of every new cell the cell that it comes from, its area, and its rows.
    """
    ends, largest = np.cumsum(groups.sums(counts)), int(areas.max(initial=0)) + 1
    cuts = np.unique([0, *(np.searchsorted(ends, np.arange(_ROWS_AT_ONCE, ends[-1], _ROWS_AT_ONCE)) + 1), len(ends)])
    starts, entries = np.append(groups.starts, len(counts)), np.searchsorted(combinations, cuts)
    dealt = list[tuple[np.ndarray, np.ndarray]]()
    for piece, (first, last) in enumerate(pairwise(cuts.tolist())):
        cells = groups.order[starts[first] : starts[last]]
        combination = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        order = np.repeat(np.arange(len(cells)), counts[cells])
        order = order[np.lexsort([generator.random(len(order)), combination[order]])]
        some = slice(entries[piece], entries[piece + 1])
        to = np.repeat(areas[some], rows[some])
        dealt.append(np.unique(cells[order] * largest + to, return_counts=True))
    pairs, together = (np.concatenate(columns) for columns in zip(*dealt, strict=True))
    return pairs // largest, pairs % largest, together
