"""Tables of a fitted junction tree: of every pair of columns, and how large the tree becomes with one more table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from synthrelease.data.layout import Columns
from synthrelease.data.marginals import added_up
from synthrelease.generators.junction_tree import JunctionTree


@dataclass(frozen=True, kw_only=True)
class CompetingTable:
    """A table that competes with others for the next measurement. All of it is public.

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


def pair_shares(tree: JunctionTree, shares: Sequence[np.ndarray]) -> dict[Columns, np.ndarray]:
    """Return the share of every cell of every table of two columns, by increasing columns.

    Of a pair that no clique holds, the joint table of the smaller column with the separators is carried along the tree to the
    first clique that holds the larger one.

    Parameters
    ----------
    shares : of the cells of each clique.
    """

    @cache
    def margin(clique: int, columns: Columns) -> np.ndarray:
        return added_up(shares[clique], tree.cliques[clique], columns)

    pairs: dict[Columns, np.ndarray] = {}
    for number, clique in enumerate(tree.cliques):
        pairs |= {pair: margin(number, pair) for pair in combinations(clique, 2)}
    for column in range(len(tree.sizes)):
        into: dict[int, tuple[Columns, np.ndarray]] = {}  # clique -> separator before it, Pr[column | separator]
        for edge in tree.edges_from(tree.home((column,))):
            separator = edge.separator
            if column in separator:
                continue
            if edge.start in into:
                entered, given = into[edge.start]
                inside = tuple(dict.fromkeys((*entered, *separator)))
                axes = [inside.index(name) + 1 for name in entered], [inside.index(name) + 1 for name in separator]
                operands = given, [0, *axes[0]], margin(edge.start, inside), list(range(1, len(inside) + 1)), [0, *axes[1]]
                joint = np.einsum(*operands)
            else:
                joint = margin(edge.start, (column, *separator))
            cells = margin(edge.stop, separator)
            given = np.divide(joint, cells, out=np.zeros_like(joint), where=cells > 0)  # 0 where the separator is empty
            into[edge.stop] = separator, given
            for other in tree.cliques[edge.stop]:
                if other > column and other not in separator:
                    beside = margin(edge.stop, (*separator, other)).reshape(-1, tree.sizes[other])
                    pairs[column, other] = given.reshape(len(given), -1) @ beside
    return pairs


@dataclass(frozen=True, kw_only=True)
class Joining:
    """How a pair of columns can be joined: the column sets that then belong together, and the cells of the largest."""

    sets: tuple[Columns, ...]
    cells: int


def joinings(tree: JunctionTree) -> dict[Columns, Joining]:
    """Return, for every pair of columns, how little they can be joined by.

    A column that is carried along the tree to the other one joins every separator on its way, and so the columns of every two
    separators that follow each other. With these sets the cliques stay those of a chordal graph: a junction tree of them has
    no larger clique. The smaller of the two directions is taken; pairs inside a clique need nothing.
    """
    ways: dict[Columns, Joining] = {}
    for column in range(len(tree.sizes)):
        way: dict[int, tuple[Columns, Joining]] = {}  # clique -> separator before it, the sets on the way
        for edge in tree.edges_from(tree.home((column,))):
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
