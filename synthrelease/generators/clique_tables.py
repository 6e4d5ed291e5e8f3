"""Compute tables of all pairs of columns from a fitted junction tree, and the size of the tree if a further table is added."""

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


def pair_shares(tree: JunctionTree, shares: Sequence[np.ndarray]) -> dict[Columns, np.ndarray]:
    """Return the shares of the cells of every table of two columns, by their increasing columns.

    For a pair that no clique contains, the joint table of the smaller column with the separators is passed along the tree to
    the first clique that contains the larger column.

    Parameters
    ----------
    shares : the shares of the cells of each clique.
    """

    @cache
    def margin(clique: int, columns: Columns) -> np.ndarray:
        return added_up(shares[clique], tree.cliques[clique], columns)

    pairs: dict[Columns, np.ndarray] = {}
    for number, clique in enumerate(tree.cliques):
        pairs |= {pair: margin(number, pair) for pair in combinations(clique, 2)}
    for column in range(len(tree.sizes)):
        into: dict[int, tuple[Columns, np.ndarray]] = {}  # for each clique: its separator, and Pr[column | separator]
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
            given = np.divide(joint, cells, out=np.zeros_like(joint), where=cells > 0)  # 0 if the separator is empty
            into[edge.stop] = separator, given
            for other in tree.cliques[edge.stop]:
                if other > column and other not in separator:
                    beside = margin(edge.stop, (*separator, other)).reshape(-1, tree.sizes[other])
                    pairs[column, other] = given.reshape(len(given), -1) @ beside
    return pairs


@dataclass(frozen=True, kw_only=True)
class Joining:
    """A way to connect a pair of columns: the column sets that cliques must then contain, and the cells of the largest set."""

    sets: tuple[Columns, ...]
    cells: int


def joinings(tree: JunctionTree) -> dict[Columns, Joining]:
    """Return, for every pair of columns, a way to connect the pair in the tree with few additional cells.

    One column is added to every separator on the path to the other column, and so to every two successive separators. With
    these sets, the cliques remain the cliques of a chordal graph, so a junction tree has no larger clique than these sets. The
    direction with fewer cells is used. Pairs inside a clique need no new sets.
    """
    ways: dict[Columns, Joining] = {}
    for column in range(len(tree.sizes)):
        way: dict[int, tuple[Columns, Joining]] = {}  # for each clique: its separator, and the sets on the path
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
