"""Maximum matching of similar rows, exactly, as a maximum flow between cells (theory 8.1, matching as a flow).

Rows in the same cell are interchangeable, so a matching of rows is an integral flow: source -> original cell (capacity: its
count) -> similar synthetic cell -> sink (capacity: its count). scipy's Dinic finds the maximum; a greedy flow is taken
first and Dinic runs on its residual network, which reaches the same maximum with less work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from synthrelease.domain.counts import Counts
from synthrelease.domain.grouping import Grouping, places_in
from synthrelease.domain.schema import CODED_CELLS


@dataclass(frozen=True, kw_only=True)
class Step:
    """A column on which similar rows may be one bin apart: `allowed[b]` says that b and b + 1 are similar."""

    column: int
    allowed: np.ndarray


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
    equal = right.find(left.bins)
    groups = [(np.flatnonzero(equal >= 0), equal[equal >= 0])]
    for codes in _codes_of_words(left, right, {step.column for step in steps}):
        for step in steps:
            if step.column in codes.strides:
                bins, stride = left.digits(step.column)[codes.left_cells], codes.strides[step.column]
                up = step.allowed[bins]
                groups.append(codes.equal(up, stride))
                down = (bins > 0) & step.allowed[np.maximum(bins - 1, 0)]
                groups.append(codes.equal(down, -stride))
    return groups


@dataclass(frozen=True, kw_only=True)
class _Codes:
    """Codes of the cells of both tables in which a bin of some neighbouring columns counts its stride.

    Attributes
    ----------
    left_cells, right_cells : the cells, by increasing code; left ones that no right one can be similar to are left out.
    left, right : their codes. Two are equal just when the cells are.
    strides : column -> what a step to its next bin adds to the code, for the columns that tell cells apart.
    """

    left_cells: np.ndarray
    right_cells: np.ndarray
    left: np.ndarray
    right: np.ndarray
    strides: dict[int, int]

    def equal(self, inside: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Pairs (left cell, right cell) of which the right code is the left one and a step, for the left cells `inside`."""
        places = places_in([self.right], [self.left[inside] + step])
        found = places >= 0
        return self.left_cells[inside][found], self.right_cells[places[found]]


def _codes_of_words(left: Counts, right: Counts, columns: set[int]) -> Iterator[_Codes]:
    """Codes for each of a few groups of neighbouring columns that hold some of `columns`.

    A code is the number of what a cell has in all other columns, among all cells of both tables, and the code of the bins of
    the group. Tables whose layout has codes have one group, and nothing beside it.
    """
    layout, n_left = left.layout, len(left)
    bins = [np.concatenate(both) for both in zip(left.bins, right.bins, strict=True)]
    room = CODED_CELLS if layout.has_codes else CODED_CELLS // max(1, len(bins[0])) // 2
    words = layout.words_within(room)
    cells = [math.prod(layout.sizes[column] for column in word) for word in words]
    before = [np.zeros(len(bins[0]), dtype=np.int64)]
    for word, size in zip(words[:-1], cells[:-1], strict=True):
        before.append(Grouping.of([before[-1] * size + layout.word(bins, word)]).ranks)
    after = before[0]
    for word, size, ahead in zip(reversed(words), reversed(cells), reversed(before), strict=True):
        if columns & set(word):
            others = Grouping.of([ahead, after]).ranks if len(words) > 1 else after
            shared = np.zeros(int(others.max(initial=0)) + 1, dtype=bool)
            shared[others[n_left:]] = True
            codes = others * size + layout.word(bins, word)
            left_cells, right_codes = np.flatnonzero(shared[others[:n_left]]), codes[n_left:]
            left_cells = left_cells[np.argsort(codes[left_cells], kind="stable")]
            right_cells = np.argsort(right_codes, kind="stable")
            yield _Codes(
                left_cells=left_cells,
                right_cells=right_cells,
                left=codes[left_cells],
                right=right_codes[right_cells],
                strides={c: math.prod(layout.sizes[other] for other in word if other > c) for c in word},
            )
        if word != words[0]:
            after = Grouping.of([after * size + layout.word(bins, word)]).ranks


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
