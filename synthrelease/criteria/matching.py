"""Maximum matching of similar rows, exactly, as a maximum flow between cells (theory 8.1, matching as a flow).

Rows in the same cell are interchangeable, so a matching of rows is an integral flow: source -> original cell (capacity: its
count) -> similar synthetic cell -> sink (capacity: its count). scipy's Dinic finds the maximum; a greedy flow is taken
first and Dinic runs on its residual network, which reaches the same maximum with less work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthrelease.domain.counts import Counts


@dataclass(frozen=True, kw_only=True)
class Step:
    """A column on which similar rows may be one bin apart: `allowed[b]` says that b and b + 1 are similar."""

    column: int
    allowed: np.ndarray


def only(table: Counts, columns: tuple[int, ...]) -> Counts:
    """The rows of a table by these columns (increasing) alone."""
    if len(columns) == len(table.layout.sizes):
        return table
    layout = table.layout.subset(columns)
    return Counts(layout, layout.codes([table.digits(column) for column in columns]), table.counts)


def maximum_matching(left: Counts, right: Counts, steps: tuple[Step, ...]) -> int:
    """Largest number of disjoint pairs (row of left, row of right) that are equal or differ by one allowed step.

    Parameters
    ----------
    left, right : tables over one layout; each fewer than 2**31 rows (scipy's limit for capacities).
    """
    groups = _edges(left, right, steps)
    left_free, right_free = left.counts.copy(), right.counts.copy()
    flows = np.concatenate([_serve(tails, heads, left_free, right_free) for tails, heads in groups])
    tails, heads = (np.concatenate(parts) for parts in zip(*groups, strict=True))
    return int(flows.sum()) + _augment(tails, heads, flows, left_free, right_free)


def _edges(left: Counts, right: Counts, steps: tuple[Step, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs (left cell, right cell) of similar cells: the equal ones, then one group per direction of each step.

    Within a group every cell of either side occurs at most once.
    """
    groups = []

    def link(codes: np.ndarray, cells: np.ndarray) -> None:
        position = np.searchsorted(right.codes, codes)
        position[position == len(right.codes)] = 0
        found = right.codes[position] == codes if len(right.codes) else np.zeros(len(codes), dtype=bool)
        groups.append((cells[found], position[found]))

    cells = np.arange(len(left.codes))
    link(left.codes, cells)
    for step in steps:
        stride, bins = left.layout.strides[step.column], left.digits(step.column)
        up = step.allowed[bins]
        link(left.codes[up] + stride, cells[up])
        down = (bins > 0) & step.allowed[np.maximum(bins - 1, 0)]
        link(left.codes[down] - stride, cells[down])
    return groups


def _serve(tails: np.ndarray, heads: np.ndarray, left_free: np.ndarray, right_free: np.ndarray) -> np.ndarray:
    """Greedy flow along one group of edges, at once; updates the free capacities in place."""
    amount = np.minimum(left_free[tails], right_free[heads])
    left_free[tails] -= amount
    right_free[heads] -= amount
    return amount


def _augment(tails: np.ndarray, heads: np.ndarray, flows: np.ndarray, left_free: np.ndarray, right_free: np.ndarray) -> int:
    """What can still be added to a given flow: the maximum flow of its residual network."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    if not len(tails) or not left_free.any() or not right_free.any():
        return 0
    n_left, n_right = len(left_free), len(right_free)
    source, sink = n_left + n_right, n_left + n_right + 1
    open_left, open_right = np.flatnonzero(left_free), np.flatnonzero(right_free)
    used = np.flatnonzero(flows)
    rows = np.concatenate([np.full(len(open_left), source), tails, heads[used] + n_left, open_right + n_left])
    columns = np.concatenate([open_left, heads + n_left, tails[used], np.full(len(open_right), sink)])
    unlimited = np.full(len(tails), np.iinfo(np.int32).max // 2)
    capacity = np.concatenate([left_free[open_left], unlimited, flows[used], right_free[open_right]])
    network = csr_array((capacity.astype(np.int32), (rows, columns)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(network, source, sink, method="dinic").flow_value)
