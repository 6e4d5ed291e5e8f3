"""The rows of an area are allotted to the areas in it, so that these have the counts that their tables ask for.

Every row of the area goes to one of the areas in it, so counts add up exactly. Tables of the smaller areas are moved to where
they add up to the rows that are there (`tree.placed`), made to agree and to have no count below 0, and the rows are divided in
proportion to what they were among all, raked to these tables (iterative proportional fitting). Whole rows are divided one
combination of columns after the other, and what is rounded is carried on to the next one (error diffusion). Post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.candidates.generators.bayesian_network import nearest_on_simplex, nearest_with_margins, shared_sets
from synthrelease.candidates.generators.nested.tree import AreaTable, placed
from synthrelease.data.layout import Columns

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
    """(areas, combinations) whole rows of each combination for each area; over the areas they add up to `counts`.

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
    wanted = agreed(tables, bins, sizes, counts, scale)
    return divided_rows(raked(wanted, counts), counts, generator)


def agreed(
    tables: Sequence[AreaTable], bins: Sequence[np.ndarray], sizes: Sequence[int], counts: np.ndarray, scale: float
) -> list[WantedCounts]:
    """The tables of the areas as they are to be raked to: none below 0, they agree, and add up to the rows that are there.

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
    sets, found = [set(table.columns) for table in tables], list[WantedCounts]()
    for each, cell in zip(moved, cells, strict=True):
        if not any(set(each.columns) < other for other in sets):
            values, free = each.values.reshape(areas, -1), each.free.reshape(areas, -1)
            sums = np.bincount(cell, weights=counts, minlength=values.shape[1])
            found.append(WantedCounts(values=nearest_with_margins(values, totals, sums, free), cell=cell))
    return found


@dataclass
class _WantedTable:
    """A table of areas on the way to agree with others: one axis of areas, then one for each column."""

    columns: Columns
    values: np.ndarray
    free: np.ndarray
    precision: float

    def margin(self, columns: Columns) -> np.ndarray:
        """Over the areas and some of its columns."""
        return np.asarray(self.values.sum(axis=self._others(columns)))

    def cells(self, columns: Columns) -> np.ndarray:
        """How many cells that may have rows are in each of that margin."""
        return np.asarray(self.free.sum(axis=self._others(columns)))

    def move(self, columns: Columns, by: np.ndarray) -> None:
        """Change each cell of that margin by so much, in equal parts."""
        self.values = self.values + np.where(self.free, np.expand_dims(by, self._others(columns)), 0.0)

    def _others(self, columns: Columns) -> tuple[int, ...]:
        return tuple(axis + 1 for axis, column in enumerate(self.columns) if column not in columns)


def _agree(tables: Sequence[_WantedTable]) -> None:
    """The margins of all tables on their common columns become their mean, weighed by precision, small sets first (Qardaji,
    Yang & Li, "PriView", SIGMOD 2014, Section 4.4). A table weighs the same in all areas, so that sums over areas stay."""
    for columns in shared_sets([table.columns for table in tables]):
        users = [table for table in tables if set(columns) <= set(table.columns)]
        cells = [table.cells(columns) for table in users]
        weights = [table.precision / max(float(each.mean()), 1e-9) for table, each in zip(users, cells, strict=True)]
        mean = np.sum([weight * table.margin(columns) for weight, table in zip(weights, users, strict=True)], axis=0) / sum(
            weights
        )
        for table, each in zip(users, cells, strict=True):
            off = mean - table.margin(columns)
            table.move(columns, np.divide(off, each, out=np.zeros_like(off), where=each > 0))


def raked(wanted: Sequence[WantedCounts], counts: np.ndarray) -> np.ndarray:
    """(areas, combinations) expected rows: nearest to the same shares in every area, with the wanted tables and the counts.

    The counts are met to the last digit, the tables as far as they can be.
    """
    from scipy.sparse import csr_matrix

    areas = wanted[0].values.shape[0]
    totals = np.mean([table.values.sum(axis=1) for table in wanted], axis=0)
    whole = totals.sum()
    shares = totals / whole if whole > 0 else np.full(areas, 1 / areas)
    rows = np.outer(shares, counts)
    numbers, ones = np.arange(len(counts)), np.ones(len(counts))
    sums = [csr_matrix((ones, (numbers, table.cell)), shape=(len(counts), table.values.shape[1])) for table in wanted]
    for _ in range(_MOST_SWEEPS):
        furthest = 0.0
        for table, into in zip(wanted, sums, strict=True):
            there = (into.T @ rows.T).T
            furthest = max(furthest, float(np.abs(there - table.values).max()))
            rows *= np.divide(table.values, there, out=np.zeros_like(there), where=there > 0)[:, table.cell]
        rows = _with_counts(rows, counts, shares)
        if not furthest > _NEAR:
            break
    return rows


def _with_counts(rows: np.ndarray, counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The same rows, with the count of every combination; one that no area wants is divided like all rows."""
    there = rows.sum(axis=0)
    scaled = rows * np.divide(counts, there, out=np.zeros(len(counts)), where=there > 0)
    return np.where(there > 0, scaled, np.outer(shares, counts))


def divided_rows(expected: np.ndarray, counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(areas, combinations) whole numbers near the expected ones, which add up to `counts` over the areas.

    Combinations are divided in turn. An area that got less than it should so far comes first in the next one, so that its
    whole number of rows is near the expected one, too. A combination that is not expected in an area is not there.
    """
    whole = np.zeros(expected.shape, dtype=np.int64)
    owed = generator.random(len(expected))
    owed -= owed.mean()
    for place, count in enumerate(counts.tolist()):
        column = expected[:, place]
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
            each, some = divmod(left, len(open_to))
            given += each
            given[np.argsort(given - due, kind="stable")[:some]] += 1
        whole[open_to, place] = given
        owed += column
        owed[open_to] -= given
    return whole
