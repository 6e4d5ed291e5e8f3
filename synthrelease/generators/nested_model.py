"""Combine noisy tables of areas on several levels, and allot rows to areas level by level. All of this is post-processing.

Every row of an area goes to one of the smaller areas in it, so counts add up exactly. Tables of the smaller areas are
adjusted to add up to the rows of the larger area (`placed`), made consistent and non-negative, and used to rake equal
proportions (iterative proportional fitting). Whole rows are then divided one combination of columns after the other, and
rounding errors are carried to the next (error diffusion).
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

# Noisy tables of areas within areas are combined along the tree of areas, upwards and downwards.
#
# For one set of columns each area has a table, and the tables of the areas in an area add up to the area's table. Weighted
# least squares on such a tree need two passes (Hay, Rastogi, Miklau & Suciu, VLDB 2010; theory 12.13, areas within areas). On
# the way up, the measurement of an area and the sum over the areas in it are averaged by their precisions. On the way down,
# differences of the sums are distributed in proportion to the variances. The two passes are linear in the number of areas.


@dataclass(frozen=True, kw_only=True)
class AreaTable:
    """The counts of every area of a level over some columns, and their noise variances. The first axis is the areas.

    Attributes
    ----------
    columns : the columns other than the area, in order.
    variance : the noise variances; 0 for cells that are known to be empty.
    """

    columns: Columns
    values: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Level:
    """The areas of one level, such as all municipalities, with their tables and larger areas.

    Attributes
    ----------
    column : the position of the column of areas in the layout.
    home : (areas,) the area of the level above that contains each area; zeros on the highest level.
    tables : the combined tables of this level and the levels below, one for each set of columns.
    """

    column: int
    home: np.ndarray
    tables: tuple[AreaTable, ...]


def homes(areas: Sequence[int], plausibility: Plausibility) -> list[np.ndarray]:
    """Return for each level, largest areas first, which larger area contains each of its areas.

    Parameters
    ----------
    areas : the columns of areas. Rules must determine each of these columns from the last column.

    Raises
    ------
    RejectedRound : if the rules do not determine the larger area of each area.
    """
    sizes, lowest = plausibility.layout.sizes, areas[-1]
    of_lowest = [np.zeros(sizes[lowest], dtype=np.int64)]
    for column in areas[:-1]:
        if (home := plausibility.home_of(column, lowest)) is None:
            raise RejectedRound("the rules do not assign each area to an area of the level above")
        of_lowest.append(home)
    of_lowest.append(np.arange(sizes[lowest]))
    levels = []
    for column, above, area_of_lowest in zip(areas, of_lowest, of_lowest[1:], strict=False):
        home = np.zeros(sizes[column], dtype=np.int64)
        home[area_of_lowest] = above
        levels.append(home)
    return levels


def combined(tables: Iterable[AreaTable]) -> tuple[AreaTable, ...]:
    """Replace tables with the same columns by their mean, weighted by precision."""
    by_columns: dict[Columns, list[AreaTable]] = {}
    for table in tables:
        by_columns.setdefault(table.columns, []).append(table)
    return tuple(_weighed(of_columns) for of_columns in by_columns.values())


def _weighed(tables: Sequence[AreaTable]) -> AreaTable:
    if len(tables) == 1:
        return tables[0]
    empty = np.any([table.variance == 0 for table in tables], axis=0)
    precisions = [1 / np.where(empty, 1.0, table.variance) for table in tables]
    total = np.sum(precisions, axis=0)
    values = np.sum([table.values * precision for table, precision in zip(tables, precisions, strict=True)], axis=0) / total
    return AreaTable(columns=tables[0].columns, values=np.where(empty, 0.0, values), variance=np.where(empty, 0.0, 1 / total))


def lifted(table: AreaTable, home: np.ndarray, areas: int) -> AreaTable:
    """Add up a table of small areas to the `areas` larger areas that contain them (`home`)."""
    values, variance = (np.zeros((areas, *table.values.shape[1:])) for _ in range(2))
    np.add.at(values, home, table.values)
    np.add.at(variance, home, table.variance)
    return AreaTable(columns=table.columns, values=values, variance=variance)


def placed(values: np.ndarray, variance: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the (areas, cells) counts nearest to `values`, in units of their noise, that sum over the areas to the
    (cells,) `sums`. Cells known to be empty do not change.
    """
    total = variance.sum(axis=0)
    parts = np.divide(variance, total, out=np.zeros_like(variance), where=total > 0)
    return np.asarray(values + parts * (sums - values.sum(axis=0)))


def levels_of(
    areas: Sequence[int], tables: Mapping[int, Sequence[AreaTable]], plausibility: Plausibility
) -> tuple[tuple[Level, ...], tuple[AreaTable, ...]]:
    """Return all levels of areas, the largest areas first, and the tables of the whole. Tables of larger areas are averaged
    with the sums of smaller areas.
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
_NEAR = 0.05  # Raking ends when no count of a table differs from its target by more than this number of rows


@dataclass(frozen=True, kw_only=True)
class WantedCounts:
    """The target counts (areas, cells) of one table, with the cell of each combination of columns (combinations,)."""

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
    """Divide the rows of a larger area among its smaller areas. Return (areas, combinations) whole numbers, which add up to
    `counts` over the areas.

    Parameters
    ----------
    tables : the tables of the smaller areas, whose columns are positions in `bins`.
    counts : (combinations,) number of rows of this area, above 0.
    scale : the ratio of drawn to measured rows.
    """
    areas = tables[0].values.shape[0]
    if areas == 1:
        return counts[None, :].copy()
    aims = agreed(tables, bins, sizes, counts, scale)
    return divided_rows(raked(aims, counts), counts, generator)


def agreed(
    tables: Sequence[AreaTable], bins: Sequence[np.ndarray], sizes: Sequence[int], counts: np.ndarray, scale: float
) -> list[WantedCounts]:
    """Return the target tables of the smaller areas within a larger area: non-negative, approximately consistent with each
    other, and equal in total to the rows of the larger area. Tables whose columns another table contains are omitted.
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
    """A table of areas while it is made consistent with others. The axis of areas comes first, then the columns."""

    columns: Columns
    values: np.ndarray
    free: np.ndarray
    precision: float

    def margin(self, columns: Columns) -> np.ndarray:
        return np.asarray(self.values.sum(axis=self._others(columns)))

    def cells(self, columns: Columns) -> np.ndarray:
        return np.asarray(self.free.sum(axis=self._others(columns)))

    def move(self, columns: Columns, by: np.ndarray) -> None:
        """Add `by` to the marginal counts on the areas and these columns, divided equally among the cells that may have
        rows.
        """
        self.values = self.values + np.where(self.free, np.expand_dims(by, self._others(columns)), 0.0)

    def _others(self, columns: Columns) -> tuple[int, ...]:
        return tuple(axis + 1 for axis, column in enumerate(self.columns) if column not in columns)


def _agree(tables: Sequence[_WantedTable]) -> None:
    """Make tables agree on common columns: replace their marginal counts by the mean, weighted by precision, small sets of
    columns first.

    See Qardaji, Yang & Li, "PriView", SIGMOD 2014, Section 4.4. A table has the same weight in all areas, so sums over
    areas do not change.
    """
    for columns in shared_sets([table.columns for table in tables]):
        users = [table for table in tables if set(columns) <= set(table.columns)]
        cells = [table.cells(columns) for table in users]
        used = list(zip(users, cells, strict=True))
        weights = [table.precision / max(float(free_cells.mean()), 1e-9) for table, free_cells in used]
        weighted = [weight * table.margin(columns) for weight, table in zip(weights, users, strict=True)]
        mean = np.sum(weighted, axis=0) / sum(weights)
        for table, free_cells in used:
            off = mean - table.margin(columns)
            table.move(columns, np.divide(off, free_cells, out=np.zeros_like(off), where=free_cells > 0))


def raked(aims: Sequence[WantedCounts], counts: np.ndarray) -> np.ndarray:
    """Return the (areas, combinations) expected rows: equal proportions in all areas, raked to the target tables and the
    counts.

    The counts are met exactly (up to rounding), the tables as closely as possible.
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
    """Scale the expected rows so that every combination has its count over all areas. A combination without expected rows
    is divided in proportion to `shares`.
    """
    reached = rows.sum(axis=0)
    scaled = rows * np.divide(counts, reached, out=np.zeros(len(counts)), where=reached > 0)
    return np.where(reached > 0, scaled, np.outer(shares, counts))


def divided_rows(expected: np.ndarray, counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Round expected rows to (areas, combinations) whole numbers that add up to `counts` over the areas. A combination
    expected nowhere in an area gets no row there.

    An area with too few rows so far has priority for the next combination, so its total is also close to its expected
    number.
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


# The columns other than areas are drawn first, and rows are then allotted to areas level by level: to regions, then
# municipalities.

# Approximate number of rows that are assigned to areas at once, so that memory does not grow with the number of rows.
_ROWS_AT_ONCE = 2**20


@dataclass(frozen=True, kw_only=True)
class NestedModel:
    """A model of the whole without areas, with tables by which rows are divided among larger and then smaller areas.

    Attributes
    ----------
    others : the columns other than areas, in order.
    whole : the model of these columns, or None if there are none.
    levels : the levels of areas, the largest areas first.
    n : the number of rows of the measured table.
    """

    layout: Layout
    others: Columns
    whole: BayesianNetwork | None
    levels: tuple[Level, ...]
    n: int

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
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
        """Divide the rows of every cell among the areas of one level in its larger area (`above`). For every new cell,
        return its old cell, its area and its number of rows.
        """
        core = sorted({column for table in level.tables for column in table.columns})
        keys = [above, *(bins[column] for column in core)]
        layout = Layout(columns=("",) * len(keys), sizes=tuple(int(key.max(initial=0)) + 1 for key in keys))
        groups = EqualRows.of(words_of(layout, keys))  # groups in the same larger area are adjacent
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
    """Assign the rows of each combination of columns to areas at random, given the number of rows for each area. For every
    new cell, return its original cell, its area and its number of rows.
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
