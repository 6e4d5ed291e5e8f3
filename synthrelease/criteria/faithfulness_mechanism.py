"""The private half of faithfulness: compute the exact size of a maximum matching of similar rows, as a maximum flow between
cells.

Private: the counts of the table, and the flows and capacities of its cells. Out: the exact criterion value, only for
`criteria.base_mechanism`, which adds the noise. Neighbours replace one record. For any fixed rule of similarity, this moves
the size of a maximum matching by at most one pair. So the sensitivity of the criterion value is 1/n (Proposition 10; theory
8.1, matching as a flow).

Rows in the same cell are interchangeable, so a matching of rows is an integral flow: source -> original cell (capacity: its
count) -> similar synthetic cell -> sink (capacity: its count). A greedy flow comes first. Its residual network is split
into unconnected parts, and Dinic's algorithm (scipy) finds the maximum flow of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts, EqualRows, few_rows, row_positions, rows_at, word_of, words_of
from synthrelease.data.layout import CODED_CELLS, Columns
from synthrelease.data.linked import Linked

_Pairs = tuple[int, np.ndarray, np.ndarray]
Network = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A network as a sparse matrix: the 64-bit capacities of its edges, the column of each edge, and where each row begins."""

_PART = 3000  # Approximate number of cells of a network that is solved separately. The number does not affect the result.

_HASHED_TOGETHER, _REMAINDERS = 2**15, 2**21  # Number of cells that are hashed at once, and number of remainders of hashes
_MANY_HASHES = 2**22  # From this number of hashes, even and odd hashes are sorted separately

_UNLIMITED = 2**62  # Capacity of an edge without a limit
_CAPACITY_BITS = 30  # Bits of a capacity. Capacities in scipy have 32 bits, and the sum of two capacities must not overflow.


@dataclass(frozen=True, kw_only=True)
class Step:
    """A column in which similar rows may be one bin apart. `allowed[b]` says whether the bins b and b + 1 are similar."""

    column: int
    allowed: np.ndarray


def unmatched_share(
    counts: Counts, columns: Columns, synthetic: Counts, steps: tuple[Step, ...], rows: int, linked: Linked | None = None
) -> float:
    """Return the share of rows that cannot be paired one to one with similar rows of a candidate.

    Parameters
    ----------
    synthetic : the candidate's rows, as returned by `compared_rows`.
    linked : the positions of members in a record if their order does not matter, else None.
    """
    return 1 - maximum_matching(compared_rows(counts, columns, linked), synthetic, steps) / rows


def compared_rows(counts: Counts, compared: tuple[int, ...], linked: Linked | None) -> Counts:
    """Return the table of the compared columns. With `linked`, first sort the members of each root."""
    if linked is not None:
        names = counts.layout.columns
        bins = linked.in_order(names, counts.bins, {names[column] for column in compared})
        counts = Counts.of(counts.layout, bins, counts.counts)
    return counts.project(compared)


def maximum_matching(left: Counts, right: Counts, steps: tuple[Step, ...]) -> int:
    """Return the largest number of disjoint pairs of a left and a right row that are equal or differ by one allowed step. The
    number is exact for two tables over the same layout with at most 2**40 rows each."""
    left, right = near_cells(left, right, {step.column for step in steps})
    groups = _edges(left, right, steps)
    left_free, right_free = left.counts.copy(), right.counts.copy()
    served = [(tails, heads, _serve(tails, heads, left_free, right_free)) for tails, heads in groups]
    half = len(served) // 2 + 1  # steps down, equal cells, steps up: then the edges of a cell are sorted by their other cell
    tails, heads, flows = map(np.concatenate, zip(*[*served[1:half], served[0], *served[half:]], strict=True))
    return int(flows.sum()) + _augment(tails, heads, flows, left_free, right_free)


def near_cells(left: Counts, right: Counts, columns: set[int]) -> tuple[Counts, Counts]:
    """Remove most of the cells without a similar cell in the other table, and no others. Return the two smaller tables.

    Similar cells agree in all words except one. A cell is kept if, for some word, a hash of its other words also occurs in
    the other table. A hash collision only costs time and memory; a second hash drops nearly all such cells.
    """
    if left.layout.has_codes:
        return left, right
    words = [word for word, columns_of_word in enumerate(left.layout.words) if columns & set(columns_of_word)] or [0]
    for first_bit in (33, 2):
        shared = [_shared(left, right, word, first_bit) for word in words]
        similar = [np.zeros(len(table), dtype=bool) for table in (left, right)]
        for table, keep in zip((left, right), similar, strict=True):
            for cells in few_rows(len(table), _HASHED_TOGETHER):
                for of_word, hashed in zip(shared, _hashed(table, words, cells, first_bit), strict=True):
                    keep[cells] |= of_word[hashed % len(of_word)]
        left, right = left.keep(similar[0]), right.keep(similar[1])
    return left, right


def _hashed(table: Counts, left_out: Sequence[int], cells: slice, first_bit: int) -> Iterator[np.ndarray]:
    """For each word in `left_out`, yield a 31-bit hash of all other words of some cells; `first_bit` chooses the hash."""
    mixed = _mixed(words_of(table.layout, rows_at(table.bins, cells)))
    every = mixed.sum(axis=0)
    for word in left_out:
        yield ((every - mixed[word]) >> np.uint64(first_bit)).astype(np.uint32) & np.uint32(2**31 - 1)


def _mixed(words: Sequence[np.ndarray]) -> np.ndarray:
    """Return (n_words, n_cells) 64-bit hashes (SplitMix finalizer; Steele, Lea & Flood 2014). A word is an integer that
    contains the bins of a few columns."""
    mixed = np.stack(words).view(np.uint64)
    for number, bits in enumerate(mixed, start=1):
        bits += np.uint64(number * 0x9E3779B97F4A7C15 % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            bits ^= bits >> np.uint64(shift)
            bits *= np.uint64(factor)
    return mixed


def _shared(left: Counts, right: Counts, word: int, first_bit: int) -> np.ndarray:
    """Return a mask over the remainders of hashes, True for every hash that occurs in both tables (and for others with the
    same remainder).

    The hashes are sorted with the table as their last bit, so a common hash shows as two neighbours that differ in this bit
    alone.
    """
    shared, steps = np.zeros(_REMAINDERS, dtype=bool), 1 if len(left) + len(right) < _MANY_HASHES else 2
    for start in range(steps):
        ends = here = after = np.empty(len(left) + len(right), dtype=np.uint32)  # the unused half takes no memory
        done = 0
        for side, table in enumerate((left, right)):
            for cells in few_rows(len(table), _HASHED_TOGETHER):
                (hashed,) = _hashed(table, [word], cells, first_bit)
                hashed = hashed[hashed % steps == start]
                ends[done : (done := done + len(hashed))] = hashed << 1 | side
        ends = ends[:done]
        ends.sort()
        for few in few_rows(done - 1, _HASHED_TOGETHER):
            here, after = ends[few], ends[few.start + 1 : few.stop + 1]
            shared[(after[(here[: len(after)] ^ after) == 1] >> 1) % _REMAINDERS] = True
    return shared


def _edges(left: Counts, right: Counts, steps: tuple[Step, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the pairs (left cell, right cell) of similar cells in groups: equal cells, then a group for each column whose
    bin is one lower in the right cell, then one for each column whose bin is one higher, both sorted by code change.

    Within a group, every cell occurs at most once.
    """
    equal, down, up = right.find(left.bins), list[_Pairs](), list[_Pairs]()
    for codes in _codes_of_words(left, right, {step.column for step in steps}):
        for step in steps:
            if step.column in codes.strides:
                bins, stride = left.digits(step.column)[codes.left_cells], codes.strides[step.column]
                down.append((-stride, *codes.equal((bins > 0) & step.allowed[np.maximum(bins - 1, 0)], -stride)))
                up.append((stride, *codes.equal(step.allowed[bins], stride)))
    steps_of = [pairs for half in (down, up) for _, *pairs in sorted(half, key=lambda pairs: pairs[0])]
    return [(np.flatnonzero(equal >= 0), equal[equal >= 0]), *((tails, heads) for tails, heads in steps_of)]


@dataclass(frozen=True, kw_only=True)
class _Codes:
    """Integer codes of the cells of two tables. Moving one column to its next bin always adds the same number, the stride
    of this column.

    Attributes
    ----------
    left_cells, right_cells : the cells in the order of their codes, without left cells that cannot have a similar right
        cell.
    left, right : the codes of these cells; equal codes mean equal cells.
    strides : the stride of each column of the group.
    """

    left_cells: np.ndarray
    right_cells: np.ndarray
    left: np.ndarray
    right: np.ndarray
    strides: dict[int, int]

    def equal(self, inside: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        places = row_positions([self.right], [self.left[inside] + step])
        paired = places >= 0
        return self.left_cells[inside][paired], self.right_cells[places[paired]]


def _codes_of_words(left: Counts, right: Counts, columns: set[int]) -> Iterator[_Codes]:
    """Yield the codes of the cells for each group of neighbouring columns that contains some of `columns`.

    A code combines the rank of the cell's bins in all other columns with the code of its bins in the group. A layout with
    codes has a single group.
    """
    layout, n_left = left.layout, len(left)
    n_cells = n_left + len(right)
    room = CODED_CELLS if layout.has_codes else CODED_CELLS // max(1, n_cells) // 2
    words = layout.words_within(room)
    cells = [math.prod(layout.sizes[column] for column in word) for word in words]

    def coded(word_columns: Columns) -> np.ndarray:
        return np.concatenate([word_of(layout, table.bins, word_columns) for table in (left, right)])

    before = [np.zeros(n_cells, dtype=np.int64)]
    for word, size in zip(words[:-1], cells[:-1], strict=True):
        before.append(EqualRows.of([before[-1] * size + coded(word)]).ranks)
    after = before[0]
    for word, size, ahead in zip(reversed(words), reversed(cells), reversed(before), strict=True):
        if columns & set(word):
            others = EqualRows.of([ahead, after]).ranks if len(words) > 1 else after
            shared = np.zeros(int(others.max(initial=0)) + 1, dtype=bool)
            shared[others[n_left:]] = True
            codes = others * size + coded(word)
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
            after = EqualRows.of([after * size + coded(word)]).ranks


def _serve(tails: np.ndarray, heads: np.ndarray, left_free: np.ndarray, right_free: np.ndarray) -> np.ndarray:
    """Send as much flow as possible along each edge, subtract it from the free capacities in place, and return it."""
    amount = np.minimum(left_free[tails], right_free[heads])
    left_free[tails] -= amount
    right_free[heads] -= amount
    return amount


def _augment(tails: np.ndarray, heads: np.ndarray, flows: np.ndarray, left_free: np.ndarray, right_free: np.ndarray) -> int:
    if not len(tails) or not left_free.any() or not right_free.any():
        return 0
    part = _parts(tails, heads, left_free, right_free)
    return sum(map(residual_flow, residual_networks(tails, heads, flows, left_free, right_free, part)))


def _parts(tails: np.ndarray, heads: np.ndarray, left_free: np.ndarray, right_free: np.ndarray) -> np.ndarray:
    """Divide the cells of the flow network into parts that can be solved separately. Return the (n_left + n_right,) part of
    each cell, or -1 for cells that can get no further flow.

    The maximum flow is the sum over connected components. A component without free cells on one side is finished (theory
    8.2, independent parts). The others are combined into parts of a few thousand cells, by their numbers of free rows,
    because the slowest component of a part determines its time.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_left, n = len(left_free), len(left_free) + len(right_free)
    places = tails.astype(np.int32), (heads + n_left).astype(np.int32)
    graph = coo_array((np.ones(len(tails)), places), shape=(n, n))
    n_components, component = connected_components(graph, directed=False)
    free_left = np.bincount(component[:n_left], weights=left_free, minlength=n_components)
    free_right = np.bincount(component[n_left:], weights=right_free, minlength=n_components)
    left = np.flatnonzero((free_left > 0) & (free_right > 0))
    left = left[np.argsort(free_right[left] - free_left[left], kind="stable")]
    parts = np.cumsum(np.bincount(component, minlength=n_components)[left]) // _PART
    part_of = np.full(n_components, -1, dtype=np.min_scalar_type(-n // _PART - 1))  # small integers are sorted fast
    part_of[left] = parts
    return part_of[component]


def residual_networks(
    tails: np.ndarray, heads: np.ndarray, flows: np.ndarray, left_free: np.ndarray, right_free: np.ndarray, part: np.ndarray
) -> Iterator[Network]:
    """Yield the residual network of each part, from its source (first node) to its sink (last node). Each edge has an
    opposite edge, with capacity 0 where the flow cannot be reduced."""
    from scipy.sparse import csr_array

    n_left, solved = len(left_free), part[tails] >= 0
    tails, heads, flows = tails[solved], heads[solved] + n_left, flows[solved]
    nodes = np.argsort(part, kind="stable")[np.count_nonzero(part < 0) :]
    part = part.astype(np.int64)
    ends = np.cumsum(np.bincount(part[nodes], minlength=1) + 2)
    starts = np.append(0, ends[:-1])
    number = np.empty(len(part), dtype=np.int32)  # before version 1.15, scipy keeps 64-bit indices, which its flow refuses
    number[nodes] = np.arange(1, len(nodes) + 1) + 2 * part[nodes]
    free = np.concatenate([left_free, right_free])
    opened = nodes[free[nodes] > 0]
    lefts, rights = opened[opened < n_left], opened[opened >= n_left]
    sources, sinks = starts[part[lefts]].astype(np.int32), (ends[part[rights]] - 1).astype(np.int32)
    tails, heads, lefts_at, rights_at = number[tails], number[heads], number[lefts], number[rights]
    # in this order, the edges of each node are sorted if those of each tail are, and the matrix need not be sorted
    rows = np.concatenate([lefts_at, sources, tails, heads[::-1], rights_at, sinks])
    columns = np.concatenate([sources, lefts_at, heads, tails[::-1], sinks, rights_at])
    nothing, unlimited = np.zeros(len(opened), dtype=np.int64), np.full(len(tails), _UNLIMITED)
    capacities = nothing[: len(lefts)], free[lefts], unlimited, flows[::-1], free[rights], nothing[: len(rights)]
    matrix = csr_array((np.concatenate(capacities), (rows, columns)), shape=(ends[-1], ends[-1]))
    for start, stop in zip(starts.tolist(), ends.tolist(), strict=True):  # a part without cells has no edges, and no flow
        edges = slice(matrix.indptr[start], matrix.indptr[stop])
        yield matrix.data[edges], matrix.indices[edges] - np.int32(start), matrix.indptr[start : stop + 1] - edges.start


def residual_flow(network: Network) -> int:
    """Return the largest flow from the first to the last node of a network, exact for 64-bit capacities.

    scipy's capacities have 32 bits: all capacities are divided by a power of two and rounded down, and the residual network
    is scaled again until the power is 1 (theory 8.3, scaled capacities).
    """
    from scipy.sparse import csc_array, csr_array
    from scipy.sparse.csgraph import maximum_flow

    capacities, *places = network
    source, sink = 0, (size := len(places[1]) - 1) - 1
    offered, wanted = int(capacities[: places[1][1]].sum()), int(capacities[places[0] == sink].sum())
    if wanted < offered:  # search from the side with fewer free rows, in the transposed network: it visits fewer cells
        capacities = csc_array((capacities, *places), shape=(size, size)).tocsr().data
        source, sink = sink, source
    added, bound, finite = 0, min(offered, wanted), capacities < _UNLIMITED
    while True:
        unit = 1 << max(0, bound.bit_length() - _CAPACITY_BITS)
        # cut above the bound, so that an edge without a limit has more capacity than any flow
        scaled = (np.minimum(capacities, bound + unit) // unit).astype(np.int32)
        flow = maximum_flow(csr_array((scaled, *places), shape=(size, size)), source, sink, method="dinic")
        added += unit * int(flow.flow_value)
        if unit == 1:
            return added
        bound = min(bound - unit * int(flow.flow_value), unit * int(np.count_nonzero(capacities[finite])))
        capacities = capacities - unit * flow.flow.data.astype(np.int64)
