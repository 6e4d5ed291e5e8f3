"""Noisy tables of areas that lie within one another, and how they tell more together: up the tree, and down again.

Of one set of columns each area has a table, and the tables of the areas in an area add up to its own. Weighted least squares on
such a tree take two passes (Hay, Rastogi, Miklau & Suciu, VLDB 2010; theory 12.13, areas within areas): on the way up what an
area measured and the sum of what lies in it are weighed by their precisions, on the way down what the sums are off is
shared out in proportion to the variances. Both are linear in the number of areas. Post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.layout import Columns
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import RejectedRound


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
    """For each level, the largest areas first, which area of the level above each area lies in.

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
    found = []
    for column, above, own in zip(areas, of_lowest, of_lowest[1:], strict=False):
        home = np.zeros(sizes[column], dtype=np.int64)
        home[own] = above
        found.append(home)
    return found


def combined(tables: Iterable[AreaTable]) -> tuple[AreaTable, ...]:
    """One table for each set of columns: figures of the same count are weighed by their precision."""
    by_columns: dict[Columns, list[AreaTable]] = {}
    for table in tables:
        by_columns.setdefault(table.columns, []).append(table)
    return tuple(_weighed(each) for each in by_columns.values())


def _weighed(tables: Sequence[AreaTable]) -> AreaTable:
    if len(tables) == 1:
        return tables[0]
    known = np.any([table.variance == 0 for table in tables], axis=0)
    precisions = [1 / np.where(known, 1.0, table.variance) for table in tables]
    total = np.sum(precisions, axis=0)
    values = np.sum([table.values * precision for table, precision in zip(tables, precisions, strict=True)], axis=0) / total
    return AreaTable(columns=tables[0].columns, values=np.where(known, 0.0, values), variance=np.where(known, 0.0, 1 / total))


def lifted(table: AreaTable, home: np.ndarray, areas: int) -> AreaTable:
    """What the sums over the areas in each of `areas` larger ones tell."""
    values, variance = (np.zeros((areas, *table.values.shape[1:])) for _ in range(2))
    np.add.at(values, home, table.values)
    np.add.at(variance, home, table.variance)
    return AreaTable(columns=table.columns, values=values, variance=variance)


def placed(values: np.ndarray, variance: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The nearest counts to `values` (areas, cells), in units of their noise, that add up to `sums` (cells,) over the areas.

    A cell that is known to be empty in every area stays so.
    """
    total = variance.sum(axis=0)
    parts = np.divide(variance, total, out=np.zeros_like(variance), where=total > 0)
    return np.asarray(values + parts * (sums - values.sum(axis=0)))


def levels_of(
    areas: Sequence[int], tables: Mapping[int, Sequence[AreaTable]], plausibility: Plausibility
) -> tuple[tuple[Level, ...], tuple[AreaTable, ...]]:
    """The levels, the largest areas first, each with what those below tell of it; and what they tell of the whole.

    Parameters
    ----------
    tables : of every level, by its column.
    """
    found, below, above = list[Level](), list[AreaTable](), homes(areas, plausibility)
    for place in reversed(range(len(areas))):
        column, home = areas[place], above[place]
        known = combined([*tables.get(column, ()), *below])
        found.append(Level(column=column, home=home, tables=known))
        larger = plausibility.layout.sizes[areas[place - 1]] if place else 1
        below = [lifted(table, home, larger) for table in known]
    return tuple(reversed(found)), tuple(below)
