"""Build a Bayesian network from noisy joint tables, and sample rows from it. All of this is post-processing.

Three steps improve the accuracy with the same measurements (docs/appendix/benchmarks.md):

1. Tables are made consistent: their marginals on common columns are averaged, weighted by precision, small sets of columns
   first (Qardaji, Yang & Li, "PriView", SIGMOD 2014, Section 4.4).
2. Each table is replaced by the nearest non-negative table with two given marginals: the averaged marginal of its column,
   and the marginal of its parents under the network so far. So removing negative counts moves no mass between bins.
3. Rows are drawn by systematic rounding of expected counts instead of independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from synthrelease.data.counts import DENSE_LIMIT, Counts, as_ones, in_a_row, joined, ones, packed, room
from synthrelease.data.layout import Layout
from synthrelease.data.marginals import added_up, spread_out
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.synthetic_table import rare_first
from synthrelease.errors import RejectedRound
from synthrelease.generators.junction_tree import JunctionTree, spread

_DYKSTRA_STEPS = 30
# Smallest number of rows from which the distribution of parents is estimated, and largest number of cells for which this
# distribution is exact.
_ROWS_OF_SHARES, _CELLS_OF_SHARES = 100_000, 2**17

_ROWS_TOGETHER = 2**19  # Approximate number of whole rows that get the bins of further columns at a time
_CELLS_AT_ONCE = 2**18  # Approximate number of cells times bins for which whole rows are divided at once, which limits memory


@dataclass(frozen=True, kw_only=True)
class NoisyTable:
    """A measured joint table; `values` has one axis per column of `columns`, the child column last."""

    columns: tuple[int, ...]
    values: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Family:
    """A node of a Bayesian network: a column, its parents, and Pr[column | parents] with the axes (parents..., column)."""

    column: int
    parents: tuple[int, ...]
    conditional: np.ndarray


@dataclass(frozen=True, kw_only=True)
class BayesianNetwork:
    """A fitted Bayesian network.

    Attributes
    ----------
    families : the columns with their conditional probabilities, in sampling order.
    evenly : whether bins are assigned evenly to whole rows (`even_bins`), not independently.
    shown : if the last columns are running counts (`counters`), the layout of the columns before them; otherwise None.
    """

    layout: Layout
    families: tuple[Family, ...]
    evenly: bool = False
    shown: Layout | None = None
    frontier_limit: ClassVar[int] = DENSE_LIMIT
    """Largest number of cells in memory while sampling, for up to `frontier_columns` columns. With more columns, the number
    is proportionally smaller.
    """
    frontier_columns: ClassVar[int] = 6

    @classmethod
    def most_cells(cls, n_columns: int) -> int:
        return max(1, cls.frontier_limit * cls.frontier_columns // max(cls.frontier_columns, n_columns))

    @classmethod
    def peak_cells(cls, layout: Layout) -> int:
        return 6 * min(layout.n_cells, cls.most_cells(len(layout.sizes))) + cls.divided_cells(layout)

    @classmethod
    def divided_cells(cls, layout: Layout) -> int:
        return 6 * min(layout.n_cells, max(_CELLS_AT_ONCE, *layout.sizes))

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        pieces, counts = zip(*map(self._packed, self.pieces(n, generator)), strict=True)
        parts = [in_a_row([piece.pop(0) for piece in pieces]) for _ in self.layout.packs]
        rows = Counts.of_parts(self.layout, parts, joined(counts))
        if self.shown is None:
            return rows
        return Counts.of(self.shown, [rows.bins[column] for column in range(len(self.shown.sizes))], rows.counts)

    def _packed(self, piece: Frontier) -> tuple[list[np.ndarray], np.ndarray]:
        digits = [piece.digits[column] for column in range(len(self.layout.sizes))]
        return packed(self.layout, digits), as_ones(piece.expected.astype(np.int64))

    def pieces(self, n: int, generator: np.random.Generator) -> Iterator[Frontier]:
        """Yield n drawn rows in batches of about `_ROWS_TOGETHER` rows, or in one batch if bins are assigned evenly or all
        columns fit before rounding.

        A batch lists distinct rows with their numbers of copies.

        The distribution of the rows does not depend on the batches (theory 12.18, rows in pieces).
        """
        cells = self.most_cells(len(self.families))
        frontier = Frontier(sizes=self.layout.sizes, n=n, cells=cells, generator=generator, evenly=self.evenly)
        families = list(self.families)
        while families and (self.evenly or frontier.has_room_for(families[0])):
            frontier.extend([families.pop(0)])
        frontier.finish()
        for piece in frontier.pieces() if families else [frontier]:
            piece.extend(families)
            yield piece


class Frontier:
    """The rows of a sample while they are drawn column by column. Equal rows form one cell with a number of rows, which may
    be an expected number.

    If the next column would exceed `cells` cells, the expected counts are rounded to n whole rows. Then each row gets a bin
    by an independent draw, or evenly (`even_bins`). A cell of probability 0 never gets a row.

    Attributes
    ----------
    digits : for each column, its (n_cells,) bins, in the smallest type that fits.
    expected : (n_cells,) counts, whole after the rounding.
    """

    def __init__(self, *, sizes: Sequence[int], n: int, cells: int, generator: np.random.Generator, evenly: bool = False):
        self.sizes, self.digits, self.expected = dict(enumerate(sizes)), dict[int, np.ndarray](), np.array([float(n)])
        self._n, self._cells, self._generator, self._whole, self._evenly = n, cells, generator, False, evenly

    def has_room_for(self, family: Family) -> bool:
        return len(self.expected) * self.sizes[family.column] <= self._cells

    def pieces(self) -> Iterator[Frontier]:
        """Divide the rounded cells, each undivided, into batches of about `_ROWS_TOGETHER` rows."""
        ends = np.cumsum(self.expected)
        cuts = np.searchsorted(ends, np.arange(_ROWS_TOGETHER, self._n, _ROWS_TOGETHER))
        for start, stop in pairwise([0, *np.unique(cuts).tolist(), len(ends)]):
            piece = copy(self)
            piece.digits = {column: bins[start:stop] for column, bins in self.digits.items()}
            piece.expected = self.expected[start:stop]
            yield piece

    def extend(self, families: Sequence[Family]) -> None:
        for family in families:
            if not self.has_room_for(family):
                self.finish()
            if self._whole:
                (self._extend_evenly if self._evenly else self._extend_whole)(family)
                continue
            counts = self.expected[:, None] * self._shares_of(family, np.arange(len(self.expected)))
            cells, values = np.nonzero(counts)
            self._take(cells, family.column, values, counts[cells, values])

    def _extend_whole(self, family: Family) -> None:
        """Give each row a random bin of one more column. The order of the cells changes."""
        alone = self.expected == 1
        if alone.all():
            parents = [self.digits[parent] for parent in family.parents]
            self.digits[family.column] = draw_bins(family.conditional, parents, len(alone), self._generator)
            return
        single, several = (np.flatnonzero(rows).astype(np.min_scalar_type(len(rows))) for rows in (alone, ~alone))
        parents = [self.digits[parent][single] for parent in family.parents]
        bins = draw_bins(family.conditional, parents, len(single), self._generator)
        of_several, of_single = self._split(family, several), (single, bins, ones(len(single)))
        cells, values, counts = map(np.concatenate, zip(of_several, of_single, strict=True))
        self._take(cells, family.column, values, counts)

    def _split(self, family: Family, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Split cells with several rows among the bins of one more column. For each new cell, return the index of the old
        cell, the bin and the number of rows.
        """
        blocks = [(cells[:0], np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64))]
        at_once = max(1, _CELLS_AT_ONCE // self.sizes[family.column])
        for start in range(0, len(cells), at_once):
            block = cells[start : start + at_once]
            counts = round_within_rows(self._shares_of(family, block), self.expected[block].astype(np.int64), self._generator)
            rows_of_block, values = np.nonzero(counts)
            kind = np.min_scalar_type(self.sizes[family.column])  # small types, because the pieces of a large table are large
            blocks.append((block[rows_of_block], values.astype(kind), counts[rows_of_block, values]))
        cells, values, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return cells, values, counts

    def _extend_evenly(self, family: Family) -> None:
        """Give each row a bin of one more column. Among rows with the same parents, bins occur as often as their
        probabilities say.
        """
        totals = self.expected.astype(np.int64)
        cells, values, rows = even_bins(
            family.conditional, [self.digits[parent] for parent in family.parents], totals, self._generator
        )
        if len(cells) == len(totals):  # no cell is divided
            own = self.digits[family.column] = np.empty(len(cells), dtype=np.min_scalar_type(self.sizes[family.column] - 1))
            own[cells] = values
            return
        self._take(cells, family.column, values, rows.astype(float))

    def _shares_of(self, family: Family, cells: np.ndarray) -> np.ndarray:
        rows = family.conditional[tuple(self.digits[parent][cells] for parent in family.parents)]
        return np.broadcast_to(rows, (len(cells), self.sizes[family.column]))

    def _take(self, cells: np.ndarray, column: int, values: np.ndarray, expected: np.ndarray) -> None:
        """Replace the cells by new cells with one more column: for each, the current cell from which it comes, its bin in
        the new column, and its count.
        """
        self.digits = {other: bins[cells] for other, bins in self.digits.items()}
        self.digits[column] = values.astype(np.min_scalar_type(self.sizes[column] - 1))
        self.expected = expected

    def finish(self) -> None:
        """Round the expected counts to n whole rows, in place. Rows that rounding moves go to similar cells."""
        if self._whole:
            return
        bins = [self.digits[column] for column in sorted(self.digits)]
        order = rare_first(bins, self.expected, self._n) if bins else np.arange(1)
        counts = systematic_rounding(self.expected[order], self._n, self._generator)
        occurring = np.flatnonzero(counts)
        self.expected = counts[occurring].astype(float)
        chosen = order[occurring]
        self.digits = {column: bins_of_column[chosen] for column, bins_of_column in self.digits.items()}
        self._whole = True

    def shares(self, columns: tuple[int, ...]) -> np.ndarray:
        shape = tuple(self.sizes[column] for column in columns)
        codes = np.zeros(len(self.expected), dtype=np.int64)
        for column, size in zip(columns, shape, strict=True):
            codes = codes * size + self.digits[column]
        sums = np.bincount(codes, weights=self.expected, minlength=math.prod(shape))
        return sums.reshape(shape) / sums.sum()


def systematic_rounding(expected: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """Round expected counts, scaled to the sum n, to integers that sum to n. Each is the floor or the ceiling of its scaled
    count, which is its expected value.

    This is systematic sampling (Madow 1949) with one random offset. Sums over neighbouring cells have an error below 1.
    """
    total = expected.sum()
    if not (np.isfinite(total) and total > 0):
        raise RejectedRound("the network gives no probability to any cell")
    edges = np.floor(np.cumsum(expected) * (n / total) + generator.random()).astype(np.int64)
    edges[np.flatnonzero(expected)[-1] :] = n  # rounding errors must not assign the last row to a cell of probability 0
    return np.diff(np.minimum(edges, n), prepend=0)


def round_within_rows(shares: np.ndarray, totals: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Divide each row's total among its cells in proportion to their shares, by systematic rounding with an independent
    random offset per row.
    """
    edges = np.floor(np.cumsum(shares, axis=1) * totals[:, None] + generator.random(len(totals))[:, None])
    last = shares.shape[1] - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
    edges = np.where(np.arange(shares.shape[1]) >= last[:, None], totals[:, None], edges)  # as above, for each row
    return np.diff(np.minimum(edges, totals[:, None]), axis=1, prepend=0)


def build_network(
    tables: Sequence[NoisyTable], n: int, layout: Layout, plausibility: Plausibility, generator: np.random.Generator
) -> BayesianNetwork:
    """Build a Bayesian network from noisy tables, one for each column with its parents, in sampling order.

    Parameters
    ----------
    n : the public number of rows.
    plausibility : the rules; their structural zeros are exact zeros of the network.
    generator : the public random generator. It draws rows if the distribution of some parents is too large to be exact.
    """
    free = [~plausibility.structural_zeros(table.columns) for table in tables]
    agreed = agree(tables, free, n)
    families: list[Family] = []
    drawn = Frontier(sizes=layout.sizes, n=max(n, _ROWS_OF_SHARES), cells=_CELLS_OF_SHARES, generator=generator)
    for table, allowed in zip(agreed, free, strict=True):
        parents, column = table.columns[:-1], table.columns[-1]
        rows = table.values.reshape(-1, table.values.shape[-1])
        allowed_rows = allowed.reshape(rows.shape)
        column_totals = nearest_on_simplex(rows.sum(axis=0), float(n), np.asarray(allowed_rows.any(axis=0)))
        row_totals = n * _parent_marginal(families, parents, drawn).ravel()
        projected = nearest_with_margins(rows, row_totals, column_totals, allowed_rows)
        conditional = _conditional(projected, column_totals, allowed_rows)
        families.append(Family(column=column, parents=parents, conditional=conditional.reshape(table.values.shape)))
    return BayesianNetwork(layout=layout, families=tuple(families))


def agree(tables: Sequence[NoisyTable], free: Sequence[np.ndarray], n: int) -> list[NoisyTable]:
    """Change noisy tables so that their marginals on common columns agree: averages, weighted by precision.

    `free` is False at structural zeros, which become 0; `n` is the exact total of every table.
    """
    values = [np.where(mask, table.values, 0.0) for table, mask in zip(tables, free, strict=True)]
    for shared in shared_sets([table.columns for table in tables]):
        users = [i for i, table in enumerate(tables) if set(shared) <= set(table.columns)]
        margins = [added_up(values[i], tables[i].columns, shared) for i in users]
        cells = [added_up(free[i].astype(float), tables[i].columns, shared) for i in users]
        if shared:
            # a margin cell is a sum of `cells` independent noise terms: its precision is 1 / cells; without a free cell, it is
            # exactly 0
            weights = [np.divide(1.0, c, out=np.full_like(c, 1e12), where=c > 0) for c in cells]
            target = sum(w * m for w, m in zip(weights, margins, strict=True)) / sum(weights)
        else:
            target = np.asarray(float(n))
        for i, margin, count in zip(users, margins, cells, strict=True):
            shift = np.divide(target - margin, count, out=np.zeros_like(count), where=count > 0)
            values[i] = values[i] + np.where(free[i], spread_out(shift, shared, tables[i].columns, values[i].shape), 0.0)
    return [NoisyTable(columns=table.columns, values=value) for table, value in zip(tables, values, strict=True)]


def shared_sets(column_sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return every set of columns that two or more tables have in common, small sets first, beginning with the empty set."""
    closure: set[frozenset[int]] = set()
    for columns in column_sets:  # every intersection of the tables so far, with and without one more table
        closure |= {intersection & set(columns) for intersection in closure} | {frozenset(columns)}
    shared = {s for s in closure if sum(s <= set(columns) for columns in column_sets) > 1} | {frozenset[int]()}
    return sorted((tuple(sorted(s)) for s in shared), key=lambda s: (len(s), s))


def nearest_on_simplex(values: np.ndarray, total: float, allowed: np.ndarray) -> np.ndarray:
    """Return the non-negative vector nearest to `values` that sums to `total` and is zero where not allowed."""
    return _onto_simplices(np.array([total]), allowed[None, :])(values[None, :])[0]


def _onto_simplices(totals: np.ndarray, allowed: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that projects every row of a table onto {x >= 0, sum x = total, x = 0 where not allowed} (Duchi et
    al., ICML 2008).
    """
    allowed = allowed & (totals > 0)[:, None]
    counted = np.arange(1, allowed.shape[1] + 1)
    order: Literal["F", "C"] = "F" if len(allowed) > allowed.shape[1] else "C"  # fast along the longer axis
    column, everywhere = totals[:, None], bool(allowed.all())

    def projected(values: np.ndarray) -> np.ndarray:
        shifts = -values if everywhere else np.where(allowed, -values, np.inf)
        shifts.sort(axis=1)  # here and below without numpy's wrappers, which take longer than the work on a small table
        shifts = np.asarray(shifts, order=order)
        np.add.accumulate(shifts, axis=1, out=shifts)
        shifts += column
        # (total - sum of the k largest) / k decreases until k is the number of positive values, then increases
        shifts /= counted
        moved = np.maximum(values + np.minimum.reduce(shifts, axis=1, keepdims=True), 0.0)
        return moved if everywhere else np.where(allowed, moved, 0.0)

    return projected


def nearest_with_margins(
    values: np.ndarray, row_totals: np.ndarray, column_totals: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """Return the non-negative table nearest to `values` with given row and column sums (Dykstra's alternating projections)."""
    onto_columns, onto_rows = _onto_simplices(column_totals, allowed.T), _onto_simplices(row_totals, allowed)
    table, row_part, column_part = values, np.zeros_like(values), np.zeros_like(values)
    for _ in range(_DYKSTRA_STEPS):
        moved = table + column_part
        by_column = onto_columns(moved.T).T
        column_part = moved - by_column
        moved = by_column + row_part
        table = onto_rows(moved)
        row_part = moved - table
    return table


def _conditional(table: np.ndarray, column_totals: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Divide every row of a table by its sum. A row of zeros gets the overall distribution of the column on allowed cells."""
    fallback = np.where(allowed, column_totals + 1e-9, 0.0)
    sums = table.sum(axis=1, keepdims=True)
    filled = np.where(sums > 0, table, fallback)
    sums = filled.sum(axis=1, keepdims=True)
    uniform = np.full_like(table, 1.0 / table.shape[1])  # this happens only for impossible bins of parents
    return np.divide(filled, sums, out=uniform, where=sums > 0)


def _parent_marginal(families: Sequence[Family], parents: tuple[int, ...], drawn: Frontier) -> np.ndarray:
    """Return the joint probabilities of the parents in a network under construction, with axes in the order of `parents`.

    The result is exact if the junction tree of the parents and their ancestors has cliques of at most DENSE_LIMIT cells.
    Otherwise it is estimated from the rows of `drawn`.
    """
    if not parents:
        return np.ones(())
    needed, ancestors = set(parents), list[Family]()
    for family in reversed(families):  # children before their parents
        if family.column in needed:
            needed.update(family.parents)
            ancestors.append(family)
    sizes = [size if column in needed else 1 for column, size in drawn.sizes.items()]
    scopes = [tuple(sorted((*family.parents, family.column))) for family in ancestors]
    tree = JunctionTree.of(sizes, [*scopes, tuple(sorted(parents))])
    if tree.largest > DENSE_LIMIT:
        drawn.extend(families[len(drawn.digits) :])
        return drawn.shares(parents)
    tables = [np.ones([sizes[column] for column in clique]) for clique in tree.cliques]
    for family, scope in zip(ancestors, scopes, strict=True):
        home, conditional = tree.home(scope), added_up(family.conditional, (*family.parents, family.column), scope)
        tables[home] = tables[home] * spread(conditional, scope, tree.cliques[home])
    home = tree.home(parents)
    for edge in reversed(list(tree.edges_from(home))):  # sum out the cliques farthest from the parents first
        message = added_up(tables[edge.stop], tree.cliques[edge.stop], edge.separator)
        tables[edge.start] = tables[edge.start] * spread(message, edge.separator, tree.cliques[edge.start])
    return added_up(tables[home], tree.cliques[home], parents)


# The bins of single rows are drawn independently from public probabilities. All of this is post-processing.

_DRAWN_TOGETHER = 2**14  # Number of single rows that are processed at once, which fits into the processor's cache
# Largest number of equal parts of [0, 1) in the look-up table. The number of parts is a power of 2, so that the part of a
# number is exact.
_PARTS = 2**8


def draw_bins(conditional: np.ndarray, parents: Sequence[np.ndarray], n: int, generator: np.random.Generator) -> np.ndarray:
    """Draw a bin of a column for each of n rows, given the (n,) bins of each parent. A bin of probability 0 is never drawn.

    Bins are drawn by inversion, with a guide table (Chen & Asmussen): [0, 1) is divided into equal parts, most of which
    lead to one bin.
    """
    drawing = _Drawing(conditional.reshape(-1, conditional.shape[-1]), n)
    bins = room(n, drawing.kind)
    for start in range(0, n, _DRAWN_TOGETHER):
        some = slice(start, start + _DRAWN_TOGETHER)
        rows = np.zeros(len(bins[some]), dtype=np.int64)
        for parent, size in zip(parents, conditional.shape, strict=False):
            rows *= size
            rows += parent[some]
        bins[some] = drawing.bins(rows, generator.random(len(rows)))
    return bins


class _Drawing:
    """Fast draws by inversion with a guide table from several discrete distributions, given their (rows, bins)
    probabilities up to a factor.
    """

    def __init__(self, shares: np.ndarray, n: int):
        n_rows, size = shares.shape
        ends = np.cumsum(shares, axis=1)
        self._totals, self._last = ends[:, -1].copy(), size - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
        self._halvings = (size - 1).bit_length()
        inner = np.full((n_rows, 2**self._halvings), np.inf)
        inner[:, : size - 1] = ends[:, :-1]
        self._inner, self.kind = inner.ravel(), np.min_scalar_type(size)
        self._parts, self._unknown = 1 << (min(_PARTS, 1 + n // (8 * n_rows)).bit_length() - 1), size
        starts = np.arange(self._parts) / self._parts
        rows = np.repeat(np.arange(n_rows), self._parts)
        first = self._searched(rows, np.tile(starts, n_rows))
        last = self._searched(rows, np.tile(np.nextafter(starts + 1 / self._parts, 0), n_rows))
        self._guide = np.where(first == last, first, self._unknown).astype(self.kind)

    def bins(self, rows: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Draw n bins, each from the distribution with its index in `rows` (n,) by its uniform number (n,)."""
        bins: np.ndarray = self._guide.take(rows * self._parts + (uniform * self._parts).astype(np.int64))
        left = np.flatnonzero(bins == self._unknown)
        bins[left] = self._searched(rows.take(left), uniform.take(left))
        return bins

    def _searched(self, rows: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        aims, first = uniform * self._totals.take(rows), rows << self._halvings
        ends = first.copy()
        for step in (1 << halving for halving in reversed(range(self._halvings))):
            # binary search for the number of ends that are at most the aim
            ends += np.multiply(aims >= self._inner.take(ends + (step - 1)), step, dtype=np.int64)
        return np.minimum(ends - first, self._last.take(rows))  # rounding up must not lead to a bin of probability 0


# The bins of a further column are assigned evenly to whole rows. The result depends on the model and on random numbers, not on
# private data.
#
# Independent draws would add a sampling error to the tables of the model. This error can be avoided: the rows with the same
# bins of the parents can divide the bins among themselves. Equally spaced points with a random offset are placed on the line of
# rows, on which the length of each row is its probability of the bin (systematic sampling, Madow 1949). A row gets the bin if
# the row's part of the line contains a point. Rows with the same bins of the parents are neighbours on the line, in random
# order. So each row gets the bin with its own probability. Which of these rows get the bin does not depend on their other
# columns. The bins are assigned one after another, the last bin first.


def even_bins(
    conditional: np.ndarray, parents: Sequence[np.ndarray], totals: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give each row a bin of one more column, so that bins occur as often as their probabilities say, up to rounding.
    Return the cell, the bin and the number of rows of each part, as three (m,) arrays.

    Bins are assigned from the last to the first. Among rows without a later bin, every run of successive rows gets a bin as
    often as their probabilities state, with an error below one row. A bin of probability 0 is never assigned.

    Parameters
    ----------
    parents : for every parent, the (n_cells,) bins of the cells.
    totals : (n_cells,) number of rows of each cell.
    """
    shares = conditional.reshape(-1, conditional.shape[-1])
    upto = np.cumsum(shares, axis=1)
    # probability of a bin given that no later bin was assigned; the first possible bin gets all remaining rows, since x / x is
    # 1
    chance_of = np.divide(shares, upto, out=np.ones_like(shares), where=upto > 0).T.copy()
    groups = np.ravel_multi_index(tuple(parents), conditional.shape[:-1]) if parents else np.zeros(len(totals), dtype=np.int64)
    line = generator.permutation(len(totals))
    order = generator.permutation(len(shares)).astype(np.min_scalar_type(len(shares)))  # small integers are sorted by counting
    line = line[np.argsort(order[groups[line]], kind="stable")]
    group, waiting = groups[line], totals[line]
    parts, offsets = [], generator.random(len(chance_of))
    for bin_ in range(len(chance_of) - 1, 0, -1):
        chances = chance_of[bin_].take(group)
        teeth = np.floor(np.cumsum(chances * waiting) + offsets[-1 - bin_]).astype(np.int64)
        teeth[1:] -= teeth[:-1].copy()
        rows = np.where(chances < 1, np.minimum(teeth, waiting), waiting)  # sums are rounded
        given_out, rest = np.flatnonzero(rows), np.flatnonzero(waiting > rows)
        parts.append((line.take(given_out), bin_, rows.take(given_out)))
        line, group, waiting = line.take(rest), group.take(rest), (waiting - rows).take(rest)
    parts.append((line, 0, waiting))
    bins = np.repeat([bin_ for _, bin_, _ in parts], [len(cells) for cells, _, _ in parts])
    return np.concatenate([cells for cells, _, _ in parts]), bins, np.concatenate([rows for _, _, rows in parts])
