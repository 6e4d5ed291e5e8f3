"""Build junction trees, and compute exact marginals of a product of small tables (Lauritzen & Spiegelhalter 1988).

The axes of every table are its columns in increasing order. Tables contain logarithms; impossible cells are -inf.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, combinations

import numpy as np

from synthrelease.data.layout import Columns


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A directed edge between two neighbouring cliques of a tree. `separator` has their common columns."""

    start: int
    stop: int
    separator: Columns


@dataclass(frozen=True, kw_only=True)
class JunctionTree:
    """A rooted tree of cliques of columns. The cliques that contain a column are connected.

    Attributes
    ----------
    cliques : the column sets, parents before children.
    parents : for each clique, the index of its parent, or -1 for the root.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], sets: Iterable[Columns]) -> JunctionTree:
        """Build a junction tree in which each given set lies inside a clique, and every column in some clique.

        Columns are eliminated greedily: first columns whose neighbours are all connected, then the column with the smallest
        clique. So the cliques of a chordal graph are kept. The tree is a maximum spanning tree by the size of the
        separators (Jensen & Jensen 1994).
        """
        return cls._of(tuple(sizes), tuple(map(tuple, sets)))

    @classmethod
    @lru_cache(maxsize=8)
    def _of(cls, sizes: tuple[int, ...], sets: tuple[Columns, ...]) -> JunctionTree:
        eliminated = [frozenset(clique) for clique in _eliminated(sizes, sets)]
        maximal = sorted({tuple(sorted(c)) for c in eliminated if not any(c < neighbour for neighbour in eliminated)})
        linked = _spanning_tree(maximal)
        root = max(range(len(maximal)), key=lambda place: math.prod(sizes[i] for i in maximal[place]))
        order, parents, left = list[Columns](), list[int](), [(root, -1, -1)]
        while left:  # depth first
            place, above, parent = left.pop()
            left += [(neighbour, place, len(order)) for neighbour in reversed(linked[place]) if neighbour != above]
            order.append(maximal[place])
            parents.append(parent)
        return cls(sizes=sizes, cliques=tuple(order), parents=tuple(parents))

    @property
    def largest(self) -> int:
        return max(self._cells)

    def home(self, columns: Columns) -> int:
        wanted = frozenset(columns)
        return min((i for i, clique in enumerate(self._sets) if wanted <= clique), key=self._cells.__getitem__)

    def separator(self, index: int) -> Columns:
        """Return the columns that a clique shares with its parent, () for the root."""
        return self._separators[index]

    def edges_from(self, start: int) -> Iterator[Edge]:
        """Yield every edge once, directed away from the clique `start`, nearer edges first."""
        left, met = [start], {start}
        for clique in left:  # the list grows during the loop
            for edge in self._beside[clique]:
                if edge.stop not in met:
                    met.add(edge.stop)
                    left.append(edge.stop)
                    yield edge

    @cached_property
    def _beside(self) -> list[list[Edge]]:
        edges: list[list[Edge]] = [[] for _ in self.cliques]
        for child, parent in enumerate(self.parents):
            for start, stop in ((parent, child), (child, parent)) if parent >= 0 else ():
                edges[start].append(Edge(start=start, stop=stop, separator=self.separator(child)))
        return edges

    @cached_property
    def _sets(self) -> tuple[frozenset[int], ...]:
        return tuple(map(frozenset, self.cliques))

    @cached_property
    def _cells(self) -> tuple[int, ...]:
        return tuple(math.prod(self.sizes[column] for column in clique) for clique in self.cliques)

    @cached_property
    def _separators(self) -> tuple[Columns, ...]:
        return tuple(
            () if above < 0 else tuple(column for column in clique if column in self._sets[above])
            for clique, above in zip(self.cliques, self.parents, strict=True)
        )

    def calibrate(self, potentials: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        """Compute the distribution proportional to the exponential of the summed clique potentials. Return the log of its
        normalising constant, and for each clique the logs of the shares of its cells.

        Parameters
        ----------
        potentials : one table of logarithms per clique. Entries may be -inf.
        """
        inward, messages = list(potentials), [np.zeros(())] * len(self.cliques)
        for index in range(len(self.cliques) - 1, 0, -1):
            above, shared = self.parents[index], self.separator(index)
            messages[index] = sum_out(inward[index], self.cliques[index], shared)
            inward[above] = inward[above] + spread(messages[index], shared, self.cliques[above])
        total = float(sum_out(inward[0], self.cliques[0], ()))
        with np.errstate(invalid="ignore"):  # without mass, the total is -inf and the shares are NaN
            beliefs = [inward[0] - total]
        for index in range(1, len(self.cliques)):
            above, shared = self.parents[index], self.separator(index)
            outward = sum_out(beliefs[above], self.cliques[above], shared)
            possible = np.isfinite(messages[index])
            ratio = np.where(possible, outward - np.where(possible, messages[index], 0.0), -np.inf)
            beliefs.append(inward[index] + spread(ratio, shared, self.cliques[index]))
        return total, beliefs


def _spanning_tree(cliques: Sequence[Columns]) -> list[list[int]]:
    """Return the neighbours of each clique in the spanning tree with the most shared columns along its edges. Components
    without a common column are linked to the first clique.
    """
    tree, linked = list(range(len(cliques))), list[list[int]]([] for _ in cliques)
    holding = defaultdict[int, list[int]](list)
    for place, clique in enumerate(cliques):
        for column in clique:
            holding[column].append(place)
    shared = Counter(pair for places in holding.values() for pair in combinations(places, 2))
    sharing = sorted(shared, key=lambda pair: (-shared[pair], pair))
    for first, second in chain(sharing, ((0, place) for place in range(1, len(cliques)))):
        if tree[first] != tree[second]:
            linked[first].append(second)
            linked[second].append(first)
            tree = [tree[first] if part == tree[second] else part for part in tree]
    return linked


def largest_clique(sizes: Sequence[int], sets: Iterable[Columns], most: float = math.inf) -> float:
    """Return the number of cells of the largest clique of a junction tree for these column sets, without building the tree.

    If a clique has more than `most` cells, return the number of cells of one such clique.

    If all neighbours of a column are connected, they remain so while other columns are eliminated; so all such columns are
    eliminated at once. A column v with a closed neighbourhood of size d is one if its row of (A A) * A sums to d^2, where A
    is the adjacency matrix with ones on its diagonal.
    """
    links = {(column, neighbour) for columns in sets for column in columns for neighbour in columns}
    places = {column: place for place, column in enumerate(sorted({column for column, _ in links}))}
    linked = np.zeros((len(places), len(places)), dtype=np.float32)
    for column, neighbour in links:
        linked[places[column], places[neighbour]] = 1
    cells, largest = np.array([sizes[column] for column in places], dtype=float), float(max(sizes, default=1))
    while len(cells) and largest <= most:
        of_clique = np.where(linked > 0, cells, 1.0).prod(axis=1)
        gone = ((linked @ linked) * linked).sum(axis=1) == linked.sum(axis=1) ** 2
        if not gone.any():
            gone[of_clique.argmin()] = True
            near = linked[gone][0]
            linked = np.maximum(linked, np.outer(near, near))
        largest = max(largest, float(of_clique[gone].max()))
        linked, cells = linked[~gone][:, ~gone], cells[~gone]
    return largest


def _eliminated(sizes: Sequence[int], sets: Iterable[Columns]) -> Iterator[Columns]:
    """Eliminate the columns one by one in an order that keeps cliques small, and yield each with its remaining neighbours."""
    around = [0] * len(sizes)
    for columns in sets:
        together = sum(1 << column for column in columns)
        for column in columns:
            around[column] |= together & ~(1 << column)
    order: dict[int, tuple[bool, int, int]] = {}
    changed = set(range(len(sizes)))
    while len(order) + len(changed) > 0:
        for column in changed:
            near = tuple(_places(around[column]))
            loose = any(around[column] & ~around[other] & ~(1 << other) for other in near)
            order[column] = loose, math.prod(sizes[other] for other in near) * sizes[column], column
        column = min(order, key=order.__getitem__)
        near = tuple(_places(around[column]))
        yield column, *near
        changed = set()
        for other in near:
            before = around[other]
            around[other] = (before | around[column]) & ~(1 << other) & ~(1 << column)
            changed |= {other, *_places(around[other])}
        del order[column]


def _places(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def sum_out(table: np.ndarray, columns: Columns, onto: Columns) -> np.ndarray:
    """Return the log of the sums of exp(table) over all columns except `onto`."""
    axes = tuple(i for i, column in enumerate(columns) if column not in onto)
    if not axes:
        return table
    top = table.max(axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(table - top).sum(axis=axes)) + top.squeeze(axis=axes))


def spread(table: np.ndarray, columns: Columns, over: Columns) -> np.ndarray:
    """Reshape a table over `columns` to broadcast against arrays over `over`; both are increasing."""
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if column in columns else 1 for column in over])
