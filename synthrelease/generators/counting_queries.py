"""Define counting queries, and a model that is corrected by one query at a time. MWEM and PEP share this code.

A query counts the rows with given bins in some columns. In each iteration a query with a large model error is chosen privately,
its count is measured with noise, and the model is corrected (Liu, Vietri & Wu, NeurIPS 2021, Algorithm 1). The model stores
every cell; cells that a rule excludes are exact zeros. The pool of possible queries is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.synthetic_table import rare_first
from synthrelease.errors import RejectedRound
from synthrelease.generators.bayesian_network import systematic_rounding

CELL_LIMIT = 2**21
"""Largest number of cells of a table for these generators. Every iteration uses all cells."""

# Smallest target share of a query, and smallest distance of a target from 1. A share of exactly 0 could never increase again.
_SMALLEST = 1e-9

# Largest logarithm of a correction factor, to avoid overflow. A cell with a very small share increases in several steps.
_LARGEST = 100.0


@dataclass(frozen=True, kw_only=True)
class CountingQuery:
    """A query that asks for the number of rows in one cell of the table over `columns`. `place` is the index of the cell in
    this table.
    """

    columns: Columns
    place: tuple[int, ...]


class QueryPool:
    """A public list of counting queries ("how many rows are in this cell?"), from which a generator selects the queries
    that it measures. The queries are ordered by the table that contains the cell.

    Parameters
    ----------
    queries : largest number of queries. The pool has all cells of single columns, then all cells of pairs of columns, and so
        on. If the cells of the tables with one more column do not all fit, some of them are chosen at random.
    marginal : largest number of columns of a sub-table.
    generator : the public random generator that makes this choice.
    """

    def __init__(self, layout: Layout, queries: int, marginal: int, generator: np.random.Generator):
        self.layout = layout
        self.tables: list[tuple[Columns, np.ndarray]] = []
        for size in range(1, min(marginal, len(layout.sizes)) + 1):
            of_size = list(combinations(range(len(layout.sizes)), size))
            starts = np.cumsum([0, *(layout.subset(columns).n_cells for columns in of_size)])
            chosen = np.arange(starts[-1])
            if len(chosen) > queries - len(self):
                chosen = np.sort(generator.choice(chosen, size=queries - len(self), replace=False))
            for columns, start, stop in zip(of_size, starts[:-1], starts[1:], strict=True):
                cells = chosen[(chosen >= start) & (chosen < stop)] - start
                if len(cells):
                    self.tables.append((columns, cells))

    def __len__(self) -> int:
        return sum(len(cells) for _, cells in self.tables)

    def query(self, number: int) -> CountingQuery:
        for columns, cells in self.tables:
            if number < len(cells):
                sizes = self.layout.subset(columns).sizes
                return CountingQuery(columns=columns, place=tuple(int(i) for i in np.unravel_index(cells[number], sizes)))
            number -= len(cells)
        raise IndexError(number)

    def shares(self, model: Shares) -> np.ndarray:
        """Return the (n_queries,) shares of rows that the model expects in the cells of all queries."""
        return np.concatenate([model.marginal(columns).ravel()[cells] for columns, cells in self.tables])


class Shares:
    """The model's distribution over all cells of a table. It is corrected one query at a time; the shares always sum to 1.

    `cells` are the shares times `total`, so that a correction changes only the cells of its query.
    """

    def __init__(self, free: np.ndarray):
        self.cells, self.total = free / free.sum(), 1.0
        self._marginals: dict[Columns, np.ndarray] = {}

    def marginal(self, columns: Columns) -> np.ndarray:
        if not self._marginals:
            self._renew()
        if columns not in self._marginals:
            axes = tuple(axis for axis in range(self.cells.ndim) if axis not in columns)
            self._marginals[columns] = self.cells.sum(axis=axes)
        return self._marginals[columns]

    def of(self, query: CountingQuery) -> float:
        """Return the model's share of rows for a query."""
        return float(self.cells[self._slice(query)].sum()) / self.total

    def weigh(self, query: CountingQuery, share: float) -> None:
        """Move the model towards a measured share of a query: multiply the query's cells by exp((measured share - model's
        share) / 2), then normalise (Hardt et al. 2012, Figure 1).
        """
        self.multiply(query, math.exp((min(max(share, 0.0), 1.0) - self.of(query)) / 2))

    def project(self, query: CountingQuery, share: float) -> None:
        """Replace the model's table by the nearest table that gives exactly this answer to a query. The distance is the
        Kullback-Leibler divergence (Liu et al. 2021, Lemma 1).
        """
        answer, aim = self.of(query), min(max(share, _SMALLEST), 1 - _SMALLEST)
        if 0 < answer < 1:
            odds = math.log(aim) - math.log(answer) + math.log1p(-answer) - math.log1p(-aim)
            self.multiply(query, math.exp(min(odds, _LARGEST)))

    def multiply(self, query: CountingQuery, factor: float) -> None:
        """Multiply the shares of the cells of a query by a factor, and rescale all shares so that they sum to 1."""
        part = self._slice(query)
        before = float(self.cells[part].sum())
        self.cells[part] *= factor
        self.total += before * (factor - 1)
        self._marginals.clear()
        if not 1e-100 < self.total < 1e100:
            self._renew()

    def _renew(self) -> None:
        """Divide all cells by their sum, so that the total does not overflow or accumulate rounding errors."""
        self.cells /= self.cells.sum()
        self.total = 1.0

    def _slice(self, query: CountingQuery) -> tuple[int | slice, ...]:
        bin_of = dict(zip(query.columns, query.place, strict=True))
        return tuple(bin_of.get(axis, slice(None)) for axis in range(self.cells.ndim))


@dataclass
class NoisyAnswers:
    """The noisy answers to queries so far. A query may be measured several times, so the object has, for each query, the
    sum of its noisy answers (as shares of the rows) and the number of its measurements.
    """

    sums: dict[int, float] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)

    def add(self, number: int, share: float) -> None:
        self.sums[number] = self.sums.get(number, 0.0) + share
        self.times[number] = self.times.get(number, 0) + 1

    @property
    def numbers(self) -> np.ndarray:
        return np.fromiter(self.sums, dtype=np.int64)

    @property
    def shares(self) -> np.ndarray:
        return np.array([self.sums[number] / self.times[number] for number in self.sums])


def worst_answered(model: Shares, pool: QueryPool, answers: NoisyAnswers, most: int) -> list[tuple[CountingQuery, float]]:
    """Return the measured queries, at most `most`, in which the model differs most from the noisy answers. Each query comes
    with its measured share of rows. This is post-processing.
    """
    numbers, shares = answers.numbers, answers.shares
    gaps = np.abs(pool.shares(model)[numbers] - shares)
    return [(pool.query(int(numbers[i])), float(shares[i])) for i in np.argsort(-gaps, kind="stable")[:most]]


# `DenseModel` stores the probability of every cell, for tables that fit into memory.


@dataclass(frozen=True, kw_only=True)
class DenseModel:
    """A model of a table that stores the probability of every cell, up to a common factor. `shares` has one axis per
    column.
    """

    layout: Layout
    shares: np.ndarray

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Draw n rows: round the expected counts of the cells to whole numbers by systematic rounding. The cells of a rare
        bin are next to each other, so that rounding hardly changes the number of rows in this bin.
        """
        expected = self.shares.ravel()
        cells = np.flatnonzero(expected)
        order = rare_first(np.unravel_index(cells, self.layout.sizes), expected[cells], n)
        return Counts(self.layout, cells[order], systematic_rounding(expected[cells][order], n, generator))


def plausible_cells(plausibility: Plausibility) -> np.ndarray:
    """Return an array with one axis per column that marks cells by the rules: 1 for every plausible cell, 0 for every
    impossible cell.

    Raises
    ------
    RejectedRound : if no cell is plausible.
    """
    free = ~plausibility.structural_zeros(tuple(range(len(plausibility.layout.sizes))))
    if not free.any():
        raise RejectedRound("the rules leave no plausible cell")
    return free.astype(float)
