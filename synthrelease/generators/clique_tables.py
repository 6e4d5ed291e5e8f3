"""Compute the tables of all pairs of columns from a fitted junction tree, and how much a further table enlarges the tree."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np

from synthrelease.data.layout import Columns
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.generators.maximum_entropy import summed_onto

_TOGETHER = 2**24  # Number of cells of the messages that are in memory at a time (128 MiB)


@dataclass(frozen=True, kw_only=True, eq=False)
class CompetingTables:
    """The tables among which the next table to measure is chosen, with the model's expected counts and the weights of their
    errors. All fields are public.

    Attributes
    ----------
    columns : the columns of each table.
    expected : the int64 expected counts of all tables, one after the other.
    starts, sizes : (tables,) the position of each table's first cell in `expected`, and the number of its cells.
    weights : (tables,) whole factors of the errors, at least 1, which may exceed 64 bits.
    handicaps : (tables,) whole numbers of records that are subtracted from the errors, because a measurement adds noise.
        They may exceed 64 bits.
    """

    columns: Sequence[Columns]
    expected: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    handicaps: np.ndarray

    def __len__(self) -> int:
        return len(self.columns)

    def some(self, places: np.ndarray) -> CompetingTables:
        return replace(
            self,
            columns=[self.columns[place] for place in places.tolist()],
            starts=self.starts[places],
            sizes=self.sizes[places],
            weights=self.weights[places],
            handicaps=self.handicaps[places],
        )


@dataclass(frozen=True, kw_only=True)
class _Message:
    """The message from a clique of a junction tree to a neighbour: the distribution of each column on the sender's side,
    given the separator (the columns that both cliques share).

    Attributes
    ----------
    start : the sender.
    given : (cells of the separator, bins of all columns) the conditional share of every bin.
    first, between : for each column, the number of cells of the first separator on its path, and the largest number of
        cells of two successive separators; 0 for a single separator.
    """

    start: int
    columns: np.ndarray
    given: np.ndarray
    first: np.ndarray
    between: np.ndarray


def pair_shares(
    tree: JunctionTree, shares: Sequence[np.ndarray], limit: float = math.inf
) -> tuple[dict[Columns, np.ndarray], np.ndarray]:
    """Return, for each pair of columns in increasing order, the model's shares of the cells of its table. Also return a
    (columns, columns) array: how many cells the largest new clique would have if the pair were added, or 1 if a clique
    contains it.

    Pairs beyond the limit may be missing in the first result, with infinitely many cells. A new clique combines a column of
    at least two bins with two successive separators, so columns are not passed on if these have more than half of the
    limit.

    A message contains the joint tables of a separator with columns behind the edge. Messages first go to the root, with all
    columns behind the edge, and then away from it, with the columns of earlier cliques. So every pair is computed once.
    """

    @cache
    def margin(clique: int, columns: Columns) -> np.ndarray:
        columns_of = tree.cliques[clique]
        table = summed_onto(shares[clique], [column in columns for column in columns_of])
        return table.transpose(np.argsort(np.argsort(columns)))

    sizes, pairs = np.array(tree.sizes), dict[Columns, np.ndarray]()
    cells = np.full((len(sizes), len(sizes)), np.inf)
    outward = [edge for edge in tree.edges_from(0) if 2 * _cells(tree, edge.separator) <= limit]
    edges = [*(replace(edge, start=edge.stop, stop=edge.start) for edge in reversed(outward)), *outward]
    chunk_of = sizes.cumsum() * sum(_cells(tree, edge.separator) for edge in outward) // _TOGETHER
    for chunk in np.unique(chunk_of):
        heard = [defaultdict[Columns, list[_Message]](list) for _ in tree.cliques]  # by separator
        for edge in edges:
            separator, n_cells, is_outward = edge.separator, _cells(tree, edge.separator), edge.start < edge.stop
            own = [column for column in tree.cliques[edge.start] if chunk_of[column] == chunk and column not in separator]
            joint = [margin(edge.start, (*separator, column)).reshape(n_cells, -1) for column in own]
            behind, first, between = [np.array(own, dtype=int)], [np.full(len(own), n_cells)], [np.zeros(len(own), dtype=int)]
            for entered, messages in heard[edge.start].items():
                union = tuple(dict.fromkeys((*entered, *separator)))
                passed = [message for message in messages if not is_outward or message.start < edge.stop]
                if passed and 2 * _cells(tree, union) <= limit:
                    given = np.concatenate([message.given for message in passed], axis=1)
                    joint.append(_passed_on(tree, given, entered, margin(edge.start, union), separator))
                    behind += [message.columns for message in passed]
                    first += [message.first for message in passed]
                    between += [np.maximum(message.between, _cells(tree, union)) for message in passed]
            if not joint:
                continue
            given, of_separator = np.concatenate(joint, axis=1), margin(edge.stop, separator).reshape(-1, 1)
            given /= np.where(of_separator > 0, of_separator, np.inf)
            message = _Message(
                start=edge.start,
                columns=np.concatenate(behind),
                given=given,
                first=np.concatenate(first),
                between=np.concatenate(between),
            )
            heard[edge.stop][separator].append(message)
            for other in tree.cliques[edge.stop] if is_outward else ():
                if other not in separator:
                    columns, bins = message.columns, sizes[other]
                    there = np.maximum(message.between, np.maximum(message.first, n_cells * bins)) * sizes[columns]
                    back = np.maximum(message.between, np.maximum(n_cells, message.first * sizes[columns])) * bins
                    cells[columns, other] = cells[other, columns] = np.minimum(there, back)
                    table = margin(edge.stop, (other, *separator)).reshape(-1, n_cells) @ given
                    for column, stop in zip(columns.tolist(), sizes[columns].cumsum().tolist(), strict=True):
                        joined = table[:, stop - tree.sizes[column] : stop]
                        pairs[min(column, other), max(column, other)] = joined.T if column < other else joined
    for number, clique in enumerate(tree.cliques):
        for pair in combinations(clique, 2):
            cells[pair] = cells[pair[::-1]] = 1
            if pair not in pairs:
                pairs[pair] = margin(number, pair)
    return pairs, cells


def _passed_on(tree: JunctionTree, given: np.ndarray, entered: Columns, joint: np.ndarray, separator: Columns) -> np.ndarray:
    """Return the joint shares of some bins and the cells of the next separator (`separator`), given the shares of these
    bins in each cell of the separator before (`entered`).

    `joint` has the shares of the clique on `entered`, followed by the other columns of `separator`.
    """
    common = [axis for axis, column in enumerate(entered) if column in separator]
    front, left = range(len(common)), [entered[axis] for axis in common]
    n_common, n_bins = _cells(tree, left), given.shape[1]
    left += [column for column in separator if column not in entered]
    lines = np.moveaxis(given.reshape(*(tree.sizes[column] for column in entered), n_bins), common, front)
    lines = lines.reshape(n_common, -1, n_bins)
    new = np.moveaxis(joint, common, front).reshape(n_common, lines.shape[1], -1)
    table = (new.transpose(0, 2, 1) @ lines).reshape(*(tree.sizes[column] for column in left), n_bins)
    return table.transpose([*(left.index(column) for column in separator), len(left)]).reshape(-1, n_bins)


def joining_sets(tree: JunctionTree, pair: Columns) -> tuple[Columns, ...]:
    """Return the sets of columns that the model's cliques must contain to represent the association of a pair, chosen to
    add few cells. Pairs inside a clique need none.

    One column is added to every separator on the path to the other. Each set combines this column with two successive
    separators. The cliques remain those of a chordal graph, so a junction tree has no larger clique than these sets. Of the
    two directions, the one with fewer cells is used.
    """
    if any({*pair} <= {*clique} for clique in tree.cliques):
        return ()
    return min((_path(tree, *ends) for ends in (pair, pair[::-1])), key=lambda sets: max(_cells(tree, one) for one in sets))


def are_apart(tree: JunctionTree, chosen: Columns, tables: np.ndarray) -> np.ndarray:
    """Return a (tables,) mask of the tables that can be measured together with the chosen table: without a common column
    and, if the chosen table is a pair, with paths through the tree that share no edge with the path between its columns.

    Then the sets of `joining_sets` of all pairs together also form a chordal graph, so no clique is larger than for each
    pair alone.

    Parameters
    ----------
    tables : (tables, at least 2) the columns of each table; columns may be repeated.
    """
    cliques, columns = len(tree.cliques), len(tree.sizes)
    ends, first = list(range(1, cliques + 1)), [cliques] * columns
    for number in reversed(range(cliques)):
        ends[tree.parents[number]] = max(ends[tree.parents[number]], ends[number])
        for column in tree.cliques[number]:
            first[column] = number
    tops = np.array(first)[:, None]
    side = np.where(
        (np.arange(cliques) <= tops) & (tops < ends), 1.0, -1.0
    )  # 1: the column is only below the edge to the parent
    for number in range(cliques):
        side[list(tree.separator(number)), number] = 0
    path = side[:, side[chosen[0]] * side[chosen[-1]] < 0 if len(chosen) == 2 else slice(0)]
    crossing = (path > 0).astype(float) @ (path < 0).T
    taken = (crossing + crossing.T) > 0
    taken[list(chosen)] = taken[:, list(chosen)] = True
    return ~np.any([taken[pair] for pair in combinations(tables.T, 2)], axis=0)


def _path(tree: JunctionTree, column: int, other: int) -> tuple[Columns, ...]:
    """Return the sets of columns that connect two columns along their path in a junction tree. Each set joins `column` with
    two successive separators; the last one also has `other`.
    """
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
