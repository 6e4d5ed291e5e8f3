"""Tables of a fitted junction tree: of every pair of columns, and how large the tree becomes with one more table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.candidates.generators.bayesian_network import margin_of
from synthrelease.candidates.generators.junction_tree import Columns, JunctionTree


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A step along a tree, from a clique to its neighbour, with the columns that both have."""

    start: int
    stop: int
    separator: Columns


def pair_shares(tree: JunctionTree, shares: Sequence[np.ndarray]) -> dict[Columns, np.ndarray]:
    """The share of every cell of every table of two columns, by increasing columns.

    From the smallest clique of each column its joint table with the separator is carried along the tree.
    """
    found: dict[Columns, np.ndarray] = {}
    for clique, table in zip(tree.cliques, shares, strict=True):
        for place, first in enumerate(clique):
            for second in clique[place + 1 :]:
                if (first, second) not in found:
                    found[first, second] = margin_of(table, clique, (first, second))
    for column in range(len(tree.sizes)):
        carried: dict[int, tuple[Columns, np.ndarray]] = {}  # clique -> separator towards the column, joint table over it
        for edge in edges_from(tree, tree.home((column,))):
            if column in edge.separator:
                continue
            before = tree.cliques[edge.start]
            if edge.start in carried:
                joint = _joint(column, *carried[edge.start], shares[edge.start], before, edge.separator)
            else:
                joint = margin_of(shares[edge.start], before, (column, *edge.separator))
            carried[edge.stop] = edge.separator, joint
            inside = tree.cliques[edge.stop]
            for other in inside:
                pair = (min(column, other), max(column, other))
                if pair not in found:
                    table = _joint(column, edge.separator, joint, shares[edge.stop], inside, (other,))
                    found[pair] = table if column < other else table.T
    return found


def _joint(column: int, separator: Columns, joint: np.ndarray, share: np.ndarray, clique: Columns, onto: Columns) -> np.ndarray:
    """Joint table of a column outside a clique and some columns inside it, axes (column, onto...).

    Parameters
    ----------
    joint : axes (column, separator...): given the separator, the column is independent of the clique.
    """
    given = margin_of(share, clique, separator)
    ratio = np.divide(joint, given, out=np.zeros_like(joint), where=np.broadcast_to(given > 0, joint.shape))
    both = tuple(sorted({*separator, *onto}))
    label = {each: number for number, each in enumerate((column, *both))}
    return np.asarray(
        np.einsum(
            ratio,
            [label[each] for each in (column, *separator)],
            margin_of(share, clique, both),
            [label[each] for each in both],
            [label[each] for each in (column, *onto)],
        )
    )


def edges_from(tree: JunctionTree, start: int) -> Iterator[Edge]:
    """Every edge once, led away from a clique, those nearer to it first."""
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
    found: dict[Columns, Joining] = {}
    for column in range(len(tree.sizes)):
        way: dict[int, tuple[Columns, Joining]] = {}  # clique -> separator before it, the sets on the way
        for edge in edges_from(tree, tree.home((column,))):
            if column in edge.separator:
                continue
            before, so_far = way.get(edge.start, ((), Joining(sets=(), cells=1)))
            here = _joining(tree, so_far, {column, *before, *edge.separator})
            way[edge.stop] = edge.separator, here
            for other in tree.cliques[edge.stop]:
                pair = (min(column, other), max(column, other))
                joined = _joining(tree, here, {column, other, *edge.separator})
                if pair not in found or joined.cells < found[pair].cells:
                    found[pair] = joined
    inside = {(a, b) for clique in tree.cliques for place, a in enumerate(clique) for b in clique[place + 1 :]}
    return found | dict.fromkeys(inside, Joining(sets=(), cells=1))


def _joining(tree: JunctionTree, before: Joining, columns: set[int]) -> Joining:
    cells = math.prod(tree.sizes[column] for column in columns)
    return Joining(sets=(*before.sets, tuple(sorted(columns))), cells=max(before.cells, cells))
