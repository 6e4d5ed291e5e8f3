"""Compute tables of all pairs of columns from a fitted junction tree, and the size of the tree with one more table.

The cliques of a tree are listed depth first. Each clique adds columns to the columns of its parent, and its subtree adds
successive columns. So one product of matrices combines the new columns of a clique with all earlier columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from typing import NamedTuple

import numpy as np

from synthrelease.data.layout import Columns
from synthrelease.data.marginals import added_up
from synthrelease.generators.junction_tree import JunctionTree


@dataclass(frozen=True, kw_only=True)
class CompetingTable:
    """A table that competes with others for the next measurement; all fields are public.

    Attributes
    ----------
    columns : the columns of the table.
    expected : the int64 counts of its cells that a model expects.
    weight : the factor of its error, at least 1.
    handicap : the number of records that is subtracted from its error, to account for the noise of a measurement.
    """

    columns: Columns
    expected: np.ndarray
    weight: int
    handicap: int


@dataclass(frozen=True, kw_only=True)
class PairTables:
    """The tables of all pairs of columns, and the cells of the cliques that would connect each pair.

    A pair is stored once. Its first column is the column that an earlier clique adds.

    Attributes
    ----------
    place : per column, its place in the order in which cliques add columns.
    ends : for each place, the number of bins before it; at the end the number of all bins.
    shares : (bins, bins) the shares of the cells.
    cells : (columns, columns) the number of cells of the largest column set of `joining_sets`; 1 for a pair inside a clique.
    """

    place: Mapping[int, int]
    ends: Sequence[int]
    shares: np.ndarray
    cells: np.ndarray

    def of(self, columns: Columns, matrix: np.ndarray) -> np.ndarray:
        """Return the table of a pair from a matrix such as `shares`."""
        first, second = (slice(*self.ends[self.place[column] : self.place[column] + 2]) for column in columns)
        return matrix[first, second] if first.start < second.start else matrix[second, first].T

    def cells_of(self, columns: Columns) -> float:
        """Return the cells of the largest column set that would connect a pair."""
        return float(self.cells[tuple(sorted(self.place[column] for column in columns))])


class _Message(NamedTuple):
    """A message that a clique gets through a separator, about successive columns on the other side of the separator.

    Attributes
    ----------
    separator : the columns that both sides share.
    low, high : the first place of the columns, and the place after the last column.
    given : (bins, cells) the conditional shares of the bins of these columns, given a cell of the separator.
    widest : per column, the largest number of cells of two successive separators on the path to the column.
    nearest : per column, the number of cells of the separator next to the column.
    """

    separator: Columns
    low: int
    high: int
    given: np.ndarray
    widest: np.ndarray
    nearest: np.ndarray


def pair_tables(tree: JunctionTree, shares: Sequence[np.ndarray]) -> PairTables:
    """Return the tables of all pairs of columns of a tree.

    For a pair that no clique contains, the conditional table of one column given a separator is passed along the tree, for all
    columns on one side of the separator together.

    Parameters
    ----------
    shares : the shares of the cells of each clique.
    """

    @cache
    def margin(clique: int, columns: Columns) -> np.ndarray:
        return added_up(shares[clique], tree.cliques[clique], columns)

    def passed(clique: int, entered: Columns, given: np.ndarray, left: Columns) -> np.ndarray:
        """Return joint shares with the cells of the separator `left`, from shares given a cell of the separator `entered`."""
        inside = tuple(dict.fromkeys((*entered, *left)))
        entering, leaving = ([1 + inside.index(column) for column in columns] for columns in (entered, left))
        rows, joint = given.reshape(-1, *(tree.sizes[column] for column in entered)), margin(clique, inside)
        return np.einsum(rows, [0, *entering], joint, range(1, 1 + len(inside)), [0, *leaving]).reshape(len(given), -1)

    def message(clique: int, heard: Iterable[_Message], low: int, high: int, child: int) -> _Message:
        """Return a clique's message about the columns in these places to a child, or to its parent if `child` is the clique."""
        left = tree.separator(child)
        across = margin(clique, left).ravel()
        rows, widest, nearest = np.outer(single[: ends[high]], across), np.empty(high), np.empty(high)
        for one in heard:
            if one.separator and left:
                rows[ends[one.low] : ends[one.high]] = passed(clique, one.separator, one.given, left)
            widest[one.low : one.high] = np.maximum(one.widest, math.prod(tree.sizes[c] for c in {*one.separator, *left}))
            nearest[one.low : one.high] = one.nearest
        for column in tree.cliques[clique]:
            if (at := place[column]) < high:
                widest[at] = nearest[at] = len(across)
                if column not in left:
                    rows[ends[at] : ends[at + 1]] = margin(clique, (column, *left)).reshape(-1, len(across))
        rows, widest, nearest = rows[ends[low] :], widest[low:], nearest[low:]
        given = np.divide(rows, across, out=np.zeros_like(rows), where=across > 0)  # 0 where the separator is empty
        return _Message(separator=left, low=low, high=high, given=given, widest=widest, nearest=nearest)

    added = [[c for c in clique if c not in tree.separator(number)] for number, clique in enumerate(tree.cliques)]
    order = [column for columns in added for column in columns]
    place, sizes = {column: at for at, column in enumerate(order)}, np.array([float(tree.sizes[column]) for column in order])
    ends, starts = [0, *accumulate(tree.sizes[column] for column in order)], [0, *accumulate(map(len, added))]
    single = np.concatenate([margin(number, (column,)) for number, columns in enumerate(added) for column in columns])
    stops, heard, told = starts[1:], [list[_Message]() for _ in added], {0: list[_Message]()}
    for clique in range(len(added) - 1, 0, -1):
        above = tree.parents[clique]
        stops[above] = max(stops[above], stops[clique])
        heard[above].append(message(clique, heard[clique], starts[clique], stops[clique], clique))
    matrix, largest = np.zeros((ends[-1], ends[-1])), np.ones((len(order), len(order)))
    for clique, columns in enumerate(added):
        start, stop, separator = starts[clique], starts[clique + 1], tree.separator(clique)
        if clique:
            above = tree.parents[clique]
            earlier = [*told[above], *(one for one in heard[above] if one.low < start)]
            told[clique] = [here := message(above, earlier, 0, start, clique)]
            beside = [margin(clique, (*separator, column)).reshape(here.given.shape[1], -1) for column in columns]
            matrix[: ends[start], ends[start] : ends[stop]] = here.given @ np.concatenate(beside, axis=1)
            forth = np.maximum(here.widest[:, None], here.given.shape[1] * sizes[start:stop]) * sizes[:start, None]
            back = np.maximum(here.widest, here.nearest * sizes[:start])[:, None] * sizes[start:stop]
            largest[:start, start:stop] = np.minimum(forth, back)
        for one, column in product(tree.cliques[clique], columns):
            if place[one] < place[column]:
                both = slice(*ends[place[one] : place[one] + 2]), slice(*ends[place[column] : place[column] + 2])
                matrix[both], largest[place[one], place[column]] = margin(clique, (one, column)), 1
    return PairTables(place=place, ends=ends, shares=matrix, cells=largest)


def joining_sets(tree: JunctionTree, pair: tuple[int, int]) -> tuple[Columns, ...]:
    """Return column sets that connect a pair with few cells if each is inside a clique; only the pair if a clique contains it.

    One column is added to every separator on the path to the other column, and so to every two successive separators. With
    these sets the cliques remain those of a chordal graph, so a junction tree has no larger clique than these sets. The
    direction with fewer cells is taken.
    """
    passed = dict[int, tuple[Columns, ...]]()  # clique -> the separators on the path to it
    for start, stop, separator in tree.edges_from(tree.home(pair[:1])):
        passed[stop] = (*passed.get(start, ()), separator)
    between = [separator for separator in passed.get(tree.home(pair[1:]), ()) if not {*pair} & {*separator}]
    ways = [
        tuple(tuple(sorted({one, *before, *after})) for before, after in zip([(), *path], [*path, (other,)], strict=True))
        for one, other, path in ((*pair, between), (pair[1], pair[0], between[::-1]))
    ]
    return min(ways, key=lambda sets: max(math.prod(tree.sizes[column] for column in columns) for columns in sets))
