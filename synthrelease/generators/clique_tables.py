"""Tables of a fitted junction tree: of every pair of columns, and how large the tree becomes with one more table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.data.layout import Columns
from synthrelease.data.marginals import added_up
from synthrelease.generators.junction_tree import JunctionTree

_CARRIED = 2**22
"""Numbers that are carried along all edges at once, at most, or those of one column."""


@dataclass(frozen=True, kw_only=True)
class CompetingTable:
    """A table that competes with others to be measured next. All of it is public.

    Attributes
    ----------
    expected : int64 counts that a model gives its cells.
    weight : how much its error counts, at least 1.
    handicap : what is taken off its error, in records.
    """

    columns: Columns
    expected: np.ndarray
    weight: int
    handicap: int


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A step along a tree, from a clique to its neighbour, with the columns that both have."""

    start: int
    stop: int
    separator: Columns


def pair_shares(tree: JunctionTree, shares: Sequence[np.ndarray]) -> dict[Columns, np.ndarray]:
    """Return the share of every cell of every table of two columns, by increasing columns.

    The joint tables of columns with a separator are carried along the tree, those of many columns as the rows of one matrix.
    """
    walk = _Walk(tree, shares)
    shares_of_pairs: dict[Columns, np.ndarray] = {}
    for number, clique in enumerate(tree.cliques):
        for pair in combinations(clique, 2):
            if pair not in shares_of_pairs:
                shares_of_pairs[pair] = walk.margin(number, pair)
    for columns in walk.batches():
        shares_of_pairs |= walk.pairs(columns)
    return shares_of_pairs


@dataclass(frozen=True, kw_only=True)
class _Carried:
    """Joint tables of the columns behind an edge, each with the edge's separator.

    Attributes
    ----------
    columns : one for every row.
    table : a row for every bin of every column, a column for every cell of the separator.
    """

    columns: np.ndarray
    table: np.ndarray


class _Walk:
    """Along every edge of a tree, in both directions; what was summed up once is kept."""

    def __init__(self, tree: JunctionTree, shares: Sequence[np.ndarray]):
        self._tree, self._shares = tree, shares
        self._margins: dict[tuple[int, Columns], np.ndarray] = {}
        self._separators = [tree.separator(clique) for clique in range(len(tree.cliques))]
        below = [clique for clique in range(len(tree.cliques)) if tree.parents[clique] >= 0]
        up = [Edge(start=clique, stop=tree.parents[clique], separator=self._separators[clique]) for clique in reversed(below)]
        self._edges = [*up, *(Edge(start=edge.stop, stop=edge.start, separator=edge.separator) for edge in reversed(up))]

    def batches(self) -> Iterator[Sequence[int]]:
        """Yield all columns, so many at a time that what is carried stays below `_CARRIED` numbers."""
        cells = sum(math.prod(self._tree.sizes[column] for column in edge.separator) for edge in self._edges)
        batch, bins = list[int](), 0
        for column, size in enumerate(self._tree.sizes):
            if batch and (bins + size) * cells > _CARRIED:
                yield batch
                batch, bins = [], 0
            batch, bins = [*batch, column], bins + size
        yield batch

    def margin(self, clique: int, columns: Columns) -> np.ndarray:
        """Return a table inside a clique; its axes are in the order of `columns`."""
        if (clique, columns) not in self._margins:
            self._margins[clique, columns] = added_up(self._shares[clique], self._tree.cliques[clique], columns)
        return self._margins[clique, columns]

    def pairs(self, first: Sequence[int]) -> dict[Columns, np.ndarray]:
        """Tables of the pairs that no clique holds and whose smaller column is one of these.

        Such a pair has one edge by which the way from one column enters the first clique that holds the other.
        """
        tables_of_pairs: dict[Columns, np.ndarray] = {}
        carried: dict[tuple[int, int], _Carried] = {}
        for edge in self._edges:
            came = [
                (start, carried_there)
                for (start, stop), carried_there in carried.items()
                if stop == edge.start and start != edge.stop
            ]
            carried[edge.start, edge.stop] = arrived = self._carry(edge, first, came)
            if not len(arrived.columns):
                continue
            conditional = self._given(edge.stop, edge.separator, arrived.table)
            for other in self._tree.cliques[edge.stop]:
                rows = arrived.columns < other
                if other in edge.separator or not rows.any():
                    continue
                beside = self.margin(edge.stop, (*edge.separator, other)).reshape(-1, self._tree.sizes[other])
                tables = conditional[rows] @ beside
                names, starts = np.unique(arrived.columns[rows], return_index=True)
                for name, start in zip(names.tolist(), starts.tolist(), strict=True):
                    tables_of_pairs[name, other] = tables[start : start + self._tree.sizes[name]]
        return tables_of_pairs

    def _carry(self, edge: Edge, first: Sequence[int], came: Sequence[tuple[int, _Carried]]) -> _Carried:
        """Return the columns that begin here, and those that came to the start of the edge and go on through its clique."""
        cells = math.prod(self._tree.sizes[column] for column in edge.separator)
        columns, tables = [np.zeros(0, dtype=np.int64)], [np.zeros((0, cells))]
        for column in self._tree.cliques[edge.start]:
            if column in first and column not in edge.separator:
                columns.append(np.full(self._tree.sizes[column], column))
                tables.append(self.margin(edge.start, (column, *edge.separator)).reshape(-1, cells))
        for start, carried in came:
            if len(carried.columns):
                columns.append(carried.columns)
                tables.append(self._through(edge, self._between(start, edge.start), carried.table))
        return _Carried(columns=np.concatenate(columns), table=np.concatenate(tables))

    def _between(self, clique: int, neighbour: int) -> Columns:
        return self._separators[clique if self._tree.parents[clique] == neighbour else neighbour]

    def _given(self, clique: int, separator: Columns, table: np.ndarray) -> np.ndarray:
        """Return the shares of the rows of a joint table in every cell of a separator; 0 where that is empty."""
        cells = self.margin(clique, separator).ravel()
        return np.divide(table, cells, out=np.zeros_like(table), where=np.broadcast_to(cells > 0, table.shape))

    def _through(self, edge: Edge, entered: Columns, table: np.ndarray) -> np.ndarray:
        """Joint tables with the separator by which a clique was entered, as those with the separator of an edge out of it."""
        sizes, separator = self._tree.sizes, edge.separator
        shared = tuple(column for column in entered if column in separator)
        old_only, new_only = (tuple(column for column in columns if column not in shared) for columns in (entered, separator))
        shape = [math.prod(sizes[column] for column in columns) for columns in (shared, old_only, new_only)]
        inside = self.margin(edge.start, (*shared, *old_only, *new_only)).reshape(shape)
        conditional = self._given(edge.start, entered, table).reshape(len(table), *(sizes[column] for column in entered))
        order = [1 + entered.index(column) for column in (*shared, *old_only)]
        rows = conditional.transpose([*order[: len(shared)], 0, *order[len(shared) :]]).reshape(shape[0], len(table), shape[1])
        out = (rows @ inside).reshape(
            *(sizes[column] for column in shared), len(table), *(sizes[column] for column in new_only)
        )
        axes = [(*shared, -1, *new_only).index(column) for column in (-1, *separator)]
        return np.asarray(out.transpose(axes).reshape(len(table), -1))


def edges_from(tree: JunctionTree, start: int) -> Iterator[Edge]:
    """Yield every edge once, led away from a clique, those nearer to it first."""
    beside: list[list[Edge]] = [[] for _ in tree.cliques]
    for child, parent in enumerate(tree.parents):
        if parent >= 0:
            columns = tree.separator(child)
            beside[parent].append(Edge(start=parent, stop=child, separator=columns))
            beside[child].append(Edge(start=child, stop=parent, separator=columns))
    left, met = [start], {start}
    for clique in left:  # it grows while it is gone through
        for edge in beside[clique]:
            if edge.stop not in met:
                met.add(edge.stop)
                left.append(edge.stop)
                yield edge


@dataclass(frozen=True, kw_only=True)
class Joining:
    """How a pair of columns can be joined: the column sets that then belong together, and the cells of the largest."""

    sets: tuple[Columns, ...]
    cells: int


def joinings(tree: JunctionTree) -> dict[Columns, Joining]:
    """For every pair of columns, how little they can be joined by.

    A column that is carried along the tree to the other one joins every separator on its way, and so the columns of every two
    separators that follow each other. With these sets the cliques stay those of a chordal graph: a junction tree of them has
    no larger clique. The smaller of the two directions is taken; pairs inside a clique need nothing.
    """
    ways: dict[Columns, Joining] = {}
    for column in range(len(tree.sizes)):
        way: dict[int, tuple[Columns, Joining]] = {}  # clique -> separator before it, the sets on the way
        for edge in edges_from(tree, tree.home((column,))):
            if column in edge.separator:
                continue
            entered, so_far = way.get(edge.start, ((), Joining(sets=(), cells=1)))
            way_here = _joining(tree, so_far, {column, *entered, *edge.separator})
            way[edge.stop] = edge.separator, way_here
            for other in tree.cliques[edge.stop]:
                pair = (min(column, other), max(column, other))
                joined = _joining(tree, way_here, {column, other, *edge.separator})
                if pair not in ways or joined.cells < ways[pair].cells:
                    ways[pair] = joined
    inside = {(a, b) for clique in tree.cliques for position, a in enumerate(clique) for b in clique[position + 1 :]}
    return ways | dict.fromkeys(inside, Joining(sets=(), cells=1))


def _joining(tree: JunctionTree, so_far: Joining, columns: set[int]) -> Joining:
    cells = math.prod(tree.sizes[column] for column in columns)
    return Joining(sets=(*so_far.sets, tuple(sorted(columns))), cells=max(so_far.cells, cells))
