"""Compute the tables of all pairs of columns from a fitted junction tree, and how large the tree becomes if a further table is
added.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np

from synthrelease.data.layout import Columns
from synthrelease.data.marginals import added_up
from synthrelease.generators.junction_tree import JunctionTree

_TOGETHER = 2**20  # Number of cells of the messages that are in memory at a time (8 MiB)


@dataclass(frozen=True, kw_only=True)
class CompetingTable:
    """A table that competes with other tables for the next measurement. All fields are public.

    Attributes
    ----------
    columns : the columns of the table.
    expected : the int64 counts of the cells that a model expects.
    weight : the factor by which the error of the table counts, at least 1.
    handicap : the number of records that is subtracted from the error of the table, because a measurement adds noise.
    """

    columns: Columns
    expected: np.ndarray
    weight: int
    handicap: int


@dataclass(frozen=True, kw_only=True)
class _Message:
    """The columns behind an edge of the tree.

    Attributes
    ----------
    start : the clique that sends the message.
    columns : the columns.
    given : the conditional share of every bin of the columns, given each cell of the separator. The array has one line for
        each bin.
    cells : for each column, the number of cells of the largest set that `joining_sets` would need so far, divided by the number
        of bins of the column.
    """

    start: int
    columns: np.ndarray
    given: np.ndarray
    cells: np.ndarray


def pair_shares(tree: JunctionTree, shares: Sequence[np.ndarray]) -> tuple[dict[Columns, np.ndarray], np.ndarray]:
    """Return two results. The first contains, for every table of two columns, the shares of its cells; its key is the two
    columns in increasing order. The second is a (columns, columns) array: for each pair, the number of cells of the largest set
    in `joining_sets`; 1 for pairs inside a clique.

    Two messages along each edge reach every pair. A message contains the joint tables of the separator with all columns
    behind the edge. It is made from the clique that sends it, and from the messages of the other neighbours of this clique.

    Parameters
    ----------
    shares : the shares of the cells of each clique.
    """

    @cache
    def margin(clique: int, columns: Columns) -> np.ndarray:
        return added_up(shares[clique], tree.cliques[clique], columns)

    sizes, pairs = np.array(tree.sizes), dict[Columns, np.ndarray]()
    cells = np.full((len(sizes), len(sizes)), np.iinfo(np.int64).max)
    outward = list(tree.edges_from(0))
    edges = [*(replace(edge, start=edge.stop, stop=edge.start) for edge in reversed(outward)), *outward]
    chunk_of = sizes.cumsum() * sum(_cells(tree, edge.separator) for edge in outward) // _TOGETHER
    for chunk in np.unique(chunk_of):
        heard = [defaultdict[Columns, list[_Message]](list) for _ in tree.cliques]  # by separator
        for edge in edges:
            separator, n_cells = edge.separator, _cells(tree, edge.separator)
            own = [column for column in tree.cliques[edge.start] if chunk_of[column] == chunk and column not in separator]
            joint = [margin(edge.start, (column, *separator)).reshape(-1, n_cells) for column in own]
            behind, largest = [np.array(own, dtype=int)], [np.full(len(own), n_cells)]
            for entered, messages in heard[edge.start].items():
                if passed := [message for message in messages if message.start != edge.stop]:
                    union = tuple(dict.fromkeys((*entered, *separator)))
                    given = np.concatenate([message.given for message in passed])
                    joint.append(_passed_on(tree, given, entered, margin(edge.start, union), separator))
                    behind += [message.columns for message in passed]
                    largest += [np.maximum(message.cells, _cells(tree, union)) for message in passed]
            if not joint:
                continue
            columns, of_separator = np.concatenate(behind), margin(edge.stop, separator).ravel()
            lines = np.concatenate(joint)
            given = np.divide(lines, of_separator, out=np.zeros_like(lines), where=of_separator > 0)
            message = _Message(start=edge.start, columns=columns, given=given, cells=np.concatenate(largest))
            heard[edge.stop][separator].append(message)
            for other in tree.cliques[edge.stop]:
                if other not in separator:
                    joined = sizes[columns] * np.maximum(message.cells, n_cells * sizes[other])
                    cells[columns, other] = cells[other, columns] = np.minimum(cells[other, columns], joined)
                    smaller = columns < other
                    beside = margin(edge.stop, (*separator, other)).reshape(n_cells, -1)
                    table = given[np.repeat(smaller, sizes[columns])] @ beside
                    ends = sizes[columns[smaller]].cumsum()
                    for column, stop in zip(columns[smaller].tolist(), ends.tolist(), strict=True):
                        pairs[column, other] = table[stop - tree.sizes[column] : stop]
    for number, clique in enumerate(tree.cliques):
        for pair in combinations(clique, 2):
            pairs[pair], cells[pair] = margin(number, pair), 1
    return pairs, cells


def _passed_on(tree: JunctionTree, given: np.ndarray, entered: Columns, joint: np.ndarray, separator: Columns) -> np.ndarray:
    """Return the joint shares of lines with the cells of `separator`, from their shares given the cells of `entered`.

    Parameters
    ----------
    joint : the shares of the clique on `entered`, followed by the other columns of `separator`.
    """
    common = [axis for axis, column in enumerate(entered) if column in separator]
    front, left = range(len(common)), [entered[axis] for axis in common]
    n_common = _cells(tree, left)
    left += [column for column in separator if column not in entered]
    lines = np.moveaxis(given.reshape(-1, *(tree.sizes[column] for column in entered)), [axis + 1 for axis in common], front)
    lines = lines.reshape(n_common, len(given), -1)
    table = lines @ np.moveaxis(joint, common, front).reshape(n_common, lines.shape[2], -1)
    sizes = [tree.sizes[column] for column in left]
    sizes.insert(len(common), len(given))
    table = np.moveaxis(table.reshape(sizes), len(common), 0)
    return table.transpose([0, *(left.index(column) + 1 for column in separator)]).reshape(len(given), -1)


def joining_sets(tree: JunctionTree, pair: Columns) -> tuple[Columns, ...]:
    """Return the column sets that cliques must contain so that a pair of columns is connected with few additional cells.

    One column of the pair is added to every separator on the path to the other column. Each set combines this column with two
    successive separators. With these sets, the cliques remain the cliques of a chordal graph, so a junction tree has no larger
    clique than these sets. Of the two directions, the direction with fewer cells is used. Pairs inside a clique need no new
    sets.
    """
    if any({*pair} <= {*clique} for clique in tree.cliques):
        return ()
    return min((_path(tree, *ends) for ends in (pair, pair[::-1])), key=lambda sets: max(_cells(tree, one) for one in sets))


def _path(tree: JunctionTree, column: int, other: int) -> tuple[Columns, ...]:
    """Return the sets that add a column to the separators on its path to another column."""
    paths: dict[int, tuple[Columns, tuple[Columns, ...]]] = {}  # for each clique: its separator, and the sets on the path
    for edge in tree.edges_from(tree.home((column,))):
        if column not in edge.separator:
            entered, sets = paths.get(edge.start, ((), ()))
            sets = (*sets, tuple(sorted({column, *entered, *edge.separator})))
            if other in tree.cliques[edge.stop]:
                return (*sets, tuple(sorted({column, other, *edge.separator})))
            paths[edge.stop] = edge.separator, sets
    raise ValueError("expected two columns of the tree that no clique contains")


def _cells(tree: JunctionTree, columns: Sequence[int]) -> int:
    return math.prod(tree.sizes[column] for column in columns)
