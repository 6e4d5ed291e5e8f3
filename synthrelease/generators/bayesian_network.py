"""From noisy joint tables to a Bayesian network, and from the network to rows. All of it is post-processing.

Three steps make the most of the same measurements (docs/appendix/benchmarks.md has the gain of each):

1. The tables agree: where several tables contain the same columns, their marginals are averaged by precision, small sets
   of columns first (Qardaji, Yang & Li, "PriView", SIGMOD 2014, Section 4.4).
2. No negative counts: each table is replaced by the nearest non-negative one that has the averaged marginal of its column
   and the marginal of its parents that the network built so far implies, so that clipping moves no mass between bins.
3. Rows are drawn by systematic rounding of expected counts instead of independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synthrelease.data.counts import DENSE_LIMIT, Counts, words_of
from synthrelease.data.layout import Layout
from synthrelease.data.marginals import added_up, spread_out
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.synthetic_table import rare_first
from synthrelease.errors import RejectedRound
from synthrelease.generators.junction_tree import JunctionTree, spread

_DYKSTRA_STEPS = 30
_ROWS_OF_SHARES, _CELLS_OF_SHARES = 100_000, 2**17
"""Rows, at least, from which the law of parents is estimated; cells up to which their expected counts are exact."""

_CELLS_AT_ONCE = 2**18
"""Cells times bins, about, for which whole rows are divided at once: a few arrays of as many numbers."""


@dataclass(frozen=True, kw_only=True)
class NoisyTable:
    """A measured joint table: `values` has one axis per column, in the order of `columns` (the child column last)."""

    columns: tuple[int, ...]
    values: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Family:
    """A column with its parents and Pr[column | parents], axes (parents..., column)."""

    column: int
    parents: tuple[int, ...]
    conditional: np.ndarray


@dataclass(frozen=True, kw_only=True)
class BayesianNetwork:
    """A fitted network; `families` are in sampling order.

    Attributes
    ----------
    evenly : whether whole rows get the bins of further columns evenly, and not each by a draw of its own.
    shown : the layout of the first columns, which rows keep, where those behind them count what rules are about; None for all.
    """

    layout: Layout
    families: tuple[Family, ...]
    evenly: bool = False
    shown: Layout | None = None
    frontier_limit: ClassVar[int] = DENSE_LIMIT
    """Cells that sampling holds at once, up to `frontier_columns` columns; fewer in proportion where there are more."""
    frontier_columns: ClassVar[int] = 6

    @classmethod
    def most_cells(cls, n_columns: int) -> int:
        """Return cells that sampling so many columns holds at once."""
        return max(1, cls.frontier_limit * cls.frontier_columns // max(cls.frontier_columns, n_columns))

    @classmethod
    def peak_cells(cls, layout: Layout) -> int:
        """Return numbers that sampling holds at once, at its peak: six for every cell."""
        return 6 * min(layout.n_cells, cls.most_cells(len(layout.sizes))) + cls.divided_cells(layout)

    @classmethod
    def divided_cells(cls, layout: Layout) -> int:
        """Return numbers that are held while whole rows are divided among the bins of a further column: six for each cell and
        bin."""
        return 6 * min(layout.n_cells, max(_CELLS_AT_ONCE, *layout.sizes))

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Return n rows by ancestral sampling on expected counts."""
        frontier = self.rows(n, generator)
        words = words_of(self.layout, [frontier.digits[column] for column in range(len(self.layout.sizes))])
        counts = frontier.expected.astype(np.int64)
        del frontier  # its bins take more room than the words that are sorted
        rows = Counts.of_words(self.layout, words, counts)
        return rows if self.shown is None else Counts.of(self.shown, rows.bins[: len(self.shown.sizes)], rows.counts)

    def rows(self, n: int, generator: np.random.Generator) -> Frontier:
        """Return n whole rows as distinct cells, for any number of columns, also where no code would fit into 64 bits."""
        cells = self.most_cells(len(self.families))
        frontier = Frontier(sizes=self.layout.sizes, n=n, cells=cells, generator=generator, evenly=self.evenly)
        frontier.extend(self.families)
        frontier.finish()
        return frontier


class Frontier:
    """Cells of the first columns of a network with their expected counts, extended by one column at a time.

    When the next extension would exceed `cells` cells, the expected counts are rounded to n whole rows first; from then on each
    row is extended by a draw of its own, or evenly (`even_rows`). A cell of probability 0 never gets anything.

    Attributes
    ----------
    digits : column -> (n_cells,) its bins, in the smallest type that holds them.
    expected : (n_cells,) expected or whole counts.
    """

    def __init__(self, *, sizes: Sequence[int], n: int, cells: int, generator: np.random.Generator, evenly: bool = False):
        self.sizes, self.digits, self.expected = dict(enumerate(sizes)), dict[int, np.ndarray](), np.array([float(n)])
        self._n, self._cells, self._generator, self._whole, self._evenly = n, cells, generator, False, evenly

    def extend(self, families: Sequence[Family]) -> None:
        """Extend every cell by the columns of further families, in sampling order."""
        for family in families:
            size = self.sizes[family.column]
            if len(self.expected) * size > self._cells:
                self.finish()
            if self._whole:
                (self._extend_evenly if self._evenly else self._extend_whole)(family)
                continue
            counts = self.expected[:, None] * self._shares_of(family, np.arange(len(self.expected)))
            cells, values = np.nonzero(counts)
            self._take(cells, family.column, values, counts[cells, values])

    def _extend_whole(self, family: Family) -> None:
        """Draw a bin for each cell of one row, and split the cells of several rows. Their order carries no meaning
        afterwards.
        """
        alone = self.expected == 1
        if alone.all():
            parents = [self.digits[parent] for parent in family.parents]
            self.digits[family.column] = draw_bins(family.conditional, parents, len(alone), self._generator)
            return
        single, several = np.flatnonzero(alone), np.flatnonzero(~alone)
        bins = draw_bins(
            family.conditional, [self.digits[parent][single] for parent in family.parents], len(single), self._generator
        )
        cells, values, counts = self._split(family, several)
        self._take(
            np.concatenate([cells, single]),
            family.column,
            np.concatenate([values, bins]),
            np.concatenate([counts, np.ones(len(single))]),
        )

    def _split(self, family: Family, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows of cells of several, by the bins of a further column: the cell of each part, its bin, its rows.

        Some cells at a time, since a number for every cell and bin would be as many as both numbers multiplied.
        """
        nothing = np.zeros(0, dtype=np.int64)
        blocks = [(nothing, nothing, nothing)]
        at_once = max(1, _CELLS_AT_ONCE // self.sizes[family.column])
        for start in range(0, len(cells), at_once):
            block = cells[start : start + at_once]
            counts = round_within_rows(self._shares_of(family, block), self.expected[block].astype(np.int64), self._generator)
            rows_of_block, values = np.nonzero(counts)
            blocks.append((block[rows_of_block], values, counts[rows_of_block, values]))
        cells, values, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return cells, values, counts

    def _extend_evenly(self, family: Family) -> None:
        """Give rows the bins that the rows with the same parents share out among themselves."""
        totals = self.expected.astype(np.int64)
        cells, values, rows = even_bins(
            family.conditional, [self.digits[parent] for parent in family.parents], totals, self._generator
        )
        if len(cells) == len(totals):  # no cell is divided
            self.digits[family.column] = values[np.argsort(cells)].astype(np.min_scalar_type(self.sizes[family.column] - 1))
            return
        self._take(cells, family.column, values, rows.astype(float))

    def _shares_of(self, family: Family, cells: np.ndarray) -> np.ndarray:
        """Return the (cells, bins) shares of the bins of a family's column in each of these cells."""
        rows = family.conditional[tuple(self.digits[parent][cells] for parent in family.parents)]
        return np.broadcast_to(rows, (len(cells), self.sizes[family.column]))

    def _take(self, cells: np.ndarray, column: int, values: np.ndarray, expected: np.ndarray) -> None:
        """Replace the current cells by others: the cells they come from, the bins of a further column, and counts."""
        self.digits = {other: bins[cells] for other, bins in self.digits.items()}
        self.digits[column] = values.astype(np.min_scalar_type(self.sizes[column] - 1))
        self.expected = expected

    def finish(self) -> None:
        """Replace expected counts by whole rows; cells are ordered so that similar cells exchange rows."""
        if self._whole:
            return
        bins = [self.digits[column] for column in sorted(self.digits)]
        order = rare_first(bins, self.expected, self._n) if bins else np.arange(1)
        counts = systematic_rounding(self.expected[order], self._n, self._generator)
        occurring = np.flatnonzero(counts)
        self.expected = counts[occurring].astype(float)
        self.digits = {column: bins_of_column[order][occurring] for column, bins_of_column in self.digits.items()}
        self._whole = True

    def shares(self, columns: tuple[int, ...]) -> np.ndarray:
        """Return the share of every combination of bins of these columns, as an array with an axis for each column."""
        shape = tuple(self.sizes[column] for column in columns)
        codes = np.zeros(len(self.expected), dtype=np.int64)
        for column, size in zip(columns, shape, strict=True):
            codes = codes * size + self.digits[column]
        sums = np.bincount(codes, weights=self.expected, minlength=math.prod(shape))
        return sums.reshape(shape) / sums.sum()


def systematic_rounding(expected: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """Return integers that sum to n, each the floor or ceiling of its expected count, each right on average.

    Systematic sampling (Madow 1949): a comb of n equally spaced teeth with one random offset is laid over the line of
    cells. Sums over runs of neighbouring cells are off by less than 1.
    """
    total = expected.sum()
    if not (np.isfinite(total) and total > 0):
        raise RejectedRound("the network gives no mass to any cell")
    edges = np.floor(np.cumsum(expected) * (n / total) + generator.random()).astype(np.int64)
    edges[np.flatnonzero(expected)[-1] :] = n  # a sum that ends just below n must not leave a row to a cell of 0
    return np.diff(np.minimum(edges, n), prepend=0)


def round_within_rows(shares: np.ndarray, totals: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Split each row's integer total by its shares: systematic rounding with an independent offset for every row.

    The offsets must be independent: rows with one record each and the same shares would otherwise all choose alike.
    """
    edges = np.floor(np.cumsum(shares, axis=1) * totals[:, None] + generator.random(len(totals))[:, None])
    last = shares.shape[1] - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
    edges = np.where(np.arange(shares.shape[1]) >= last[:, None], totals[:, None], edges)  # as above, for each row
    return np.diff(np.minimum(edges, totals[:, None]), axis=1, prepend=0)


def build_network(
    tables: Sequence[NoisyTable], n: int, layout: Layout, plausibility: Plausibility, generator: np.random.Generator
) -> BayesianNetwork:
    """Return the network for measured tables in sampling order (each table's parents come before it).

    Parameters
    ----------
    generator : for rows of the model itself, where the law of some parents is too large to work out exactly.
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
    """Make the marginals of all tables on their shared columns equal, each weighed by its precision.

    Parameters
    ----------
    free : per table, False at structural zeros; those cells become 0 and carry no noise.
    n : the public number of rows, the exact total of every table.
    """
    values = [np.where(mask, table.values, 0.0) for table, mask in zip(tables, free, strict=True)]
    for shared in shared_sets([table.columns for table in tables]):
        users = [i for i, table in enumerate(tables) if set(shared) <= set(table.columns)]
        margins = [added_up(values[i], tables[i].columns, shared) for i in users]
        cells = [added_up(free[i].astype(float), tables[i].columns, shared) for i in users]
        if shared:
            # each margin cell is a sum of `cells` independent draws: precision 1 / cells; no free cell means exactly 0
            weights = [np.divide(1.0, c, out=np.full_like(c, 1e12), where=c > 0) for c in cells]
            target = sum(w * m for w, m in zip(weights, margins, strict=True)) / sum(weights)
        else:
            target = np.asarray(float(n))
        for i, margin, count in zip(users, margins, cells, strict=True):
            shift = np.divide(target - margin, count, out=np.zeros_like(count), where=count > 0)
            values[i] = values[i] + np.where(free[i], spread_out(shift, shared, tables[i].columns, values[i].shape), 0.0)
    return [NoisyTable(columns=table.columns, values=value) for table, value in zip(tables, values, strict=True)]


def shared_sets(column_sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return all intersections of two or more tables' columns, the empty set first, small sets before large ones."""
    closure: set[frozenset[int]] = set()
    for columns in column_sets:  # every intersection of the tables so far, with and without one more
        closure |= {intersection & set(columns) for intersection in closure} | {frozenset(columns)}
    shared = {s for s in closure if sum(s <= set(columns) for columns in column_sets) > 1} | {frozenset[int]()}
    return sorted((tuple(sorted(s)) for s in shared), key=lambda s: (len(s), s))


def nearest_on_simplex(values: np.ndarray, total: float, allowed: np.ndarray) -> np.ndarray:
    """Return the non-negative vector with this sum that is nearest to `values`, zero where not allowed."""
    return _simplex_rows(values[None, :], np.array([total]), allowed[None, :])[0]


def _simplex_rows(values: np.ndarray, totals: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Project every row onto {x >= 0, sum x = total, x = 0 where not allowed} (Duchi et al., ICML 2008)."""
    ordered = np.sort(np.where(allowed, values, -np.inf), axis=1)[:, ::-1]
    ranks = np.arange(1, values.shape[1] + 1)
    # (the sum of the k largest - total) / k grows up to the number of values that stay above 0, and falls from there on
    threshold = ((np.cumsum(ordered, axis=1) - totals[:, None]) / ranks).max(axis=1)
    return np.where(allowed & (totals > 0)[:, None], np.maximum(values - threshold[:, None], 0.0), 0.0)


def nearest_with_margins(
    values: np.ndarray, row_totals: np.ndarray, column_totals: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """Return the non-negative table nearest to `values` with given row and column sums (Dykstra's alternating projections)."""
    table, row_part, column_part = values, np.zeros_like(values), np.zeros_like(values)
    for _ in range(_DYKSTRA_STEPS):
        by_column = _simplex_rows((table + column_part).T, column_totals, allowed.T).T
        column_part = table + column_part - by_column
        table = _simplex_rows(by_column + row_part, row_totals, allowed)
        row_part = by_column + row_part - table
    return table


def _conditional(table: np.ndarray, column_totals: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return rows normalised to probabilities; a row without mass takes the column's marginal over its allowed cells."""
    fallback = np.where(allowed, column_totals + 1e-9, 0.0)
    sums = table.sum(axis=1, keepdims=True)
    filled = np.where(sums > 0, table, fallback)
    sums = filled.sum(axis=1, keepdims=True)
    uniform = np.full_like(table, 1.0 / table.shape[1])  # only for parents that are themselves impossible
    return np.divide(filled, sums, out=uniform, where=sums > 0)


def _parent_marginal(families: Sequence[Family], parents: tuple[int, ...], drawn: Frontier) -> np.ndarray:
    """Return Pr[parents] under the network built so far, axes in the order of `parents`.

    Only the parents and their ancestors matter; all other columns sum to 1. It is exact as long as the junction tree of these
    has cliques of at most DENSE_LIMIT cells, as it has up to some twenty columns. Beyond that it is the shares among the rows
    of `drawn`.
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
    for edge in reversed(list(tree.edges_from(home))):  # what is far from the parents is summed out first
        message = added_up(tables[edge.stop], tree.cliques[edge.stop], edge.separator)
        tables[edge.start] = tables[edge.start] * spread(message, edge.separator, tree.cliques[edge.start])
    return added_up(tables[home], tree.cliques[home], parents)


# Bins of single rows, each by a draw of its own from public shares. All of it is post-processing.

_DRAWN_TOGETHER = 2**14
"""Single rows, which stay close to the processor."""
_PARTS = 2**8
"""Parts of [0, 1), at most, of which each the bin is looked up; a power of 2, so that the part of a number is exact."""


def draw_bins(conditional: np.ndarray, parents: Sequence[np.ndarray], n: int, generator: np.random.Generator) -> np.ndarray:
    """Return (n,) a bin for each of n rows, drawn by the shares that its parents' bins have; a bin of share 0 is never drawn.

    A bin never falls while the number that is drawn grows. So most of equal parts of [0, 1) have one bin from end to end, which
    is known before anything is drawn (Chen & Asmussen's guide table); only in the others is it searched for.

    Parameters
    ----------
    conditional : shares, axes (parents..., bins).
    parents : for every parent, (n,) its bins.
    """
    drawing = _Drawing(conditional.reshape(-1, conditional.shape[-1]), n)
    uniform, bins = generator.random(n), np.empty(n, dtype=drawing.kind)
    for start in range(0, n, _DRAWN_TOGETHER):
        some = slice(start, start + _DRAWN_TOGETHER)
        rows = np.zeros(len(bins[some]), dtype=np.int64)
        for parent, size in zip(parents, conditional.shape, strict=False):
            rows *= size
            rows += parent[some]
        bins[some] = drawing.bins(rows, uniform[some])
    return bins


class _Drawing:
    """Bins by shares, from numbers in [0, 1).

    Parameters
    ----------
    shares : (rows, bins) of each law; they need not add up to 1.
    n : how many numbers there will be, about.
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
        """Return the (n,) bins of these laws for these numbers."""
        bins: np.ndarray = self._guide.take(rows * self._parts + (uniform * self._parts).astype(np.int64))
        left = np.flatnonzero(bins == self._unknown)
        bins[left] = self._searched(rows.take(left), uniform.take(left))
        return bins

    def _searched(self, rows: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        aims, first = uniform * self._totals.take(rows), rows << self._halvings
        ends = first.copy()
        for step in (1 << halving for halving in reversed(range(self._halvings))):
            # how many ends lie at or below the aim, by halves
            ends += np.multiply(aims >= self._inner.take(ends + (step - 1)), step, dtype=np.int64)
        return np.minimum(ends - first, self._last.take(rows))  # a product rounded up to the end leads to no bin of 0


# Whole rows get the bins of a further column evenly: a function of the model and of random numbers, no private data.
#
# A draw for every row by itself adds to the noise of the model's tables what another sample of so many rows would. That is
# needless: the rows with the same parents' bins can share out the bins among themselves. A comb of equally spaced teeth with a
# random offset is laid over the line of rows, each as long as its chance of the bin (systematic sampling, Madow 1949); those
# that hold a tooth get it. On the line the rows with the same parents' bins are neighbours, in a random order, so each gets the
# bin with its own chance, and which of them get it tells nothing of their other columns. One bin after another is given out
# like this, the last one first.


def even_bins(
    conditional: np.ndarray, parents: Sequence[np.ndarray], totals: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bins of cells with whole numbers of rows: (m,) places of the cells, (m,) bins, and (m,) how many rows get
    them.

    Of the rows that are not given a later bin, every stretch of the line gets a bin as often as its chances say, up to less
    than one row; a bin of share 0 is never given.

    Parameters
    ----------
    conditional : shares, axes (parents..., bins).
    parents : for every parent, (n_cells,) its bins.
    totals : (n_cells,) rows of each cell.
    """
    shares = conditional.reshape(-1, conditional.shape[-1])
    upto = np.cumsum(shares, axis=1)
    # the chance of a bin where no later one is given; the first possible bin takes what is left, as x / x is 1
    chance_of = np.divide(shares, upto, out=np.ones_like(shares), where=upto > 0)
    groups = np.ravel_multi_index(tuple(parents), conditional.shape[:-1]) if parents else np.zeros(len(totals), dtype=np.int64)
    line = generator.permutation(len(totals))
    line = line[np.argsort(generator.permutation(len(shares))[groups[line]], kind="stable")]
    cells, bins, counts = [], [], []
    waiting = totals[line]
    for bin_ in range(shares.shape[1] - 1, -1, -1):
        chances = chance_of[groups[line], bin_]
        teeth = np.floor(np.cumsum(chances * waiting) + generator.random()).astype(np.int64)
        rows = np.where(chances < 1, np.minimum(np.diff(teeth, prepend=0), waiting), waiting)  # sums are rounded
        given_out = rows > 0
        cells.append(line[given_out])
        counts.append(rows[given_out])
        bins.append(np.full(int(given_out.sum()), bin_))
        rest = waiting > rows
        line, waiting = line[rest], (waiting - rows)[rest]
    return np.concatenate(cells), np.concatenate(bins), np.concatenate(counts)
