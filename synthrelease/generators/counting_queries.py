"""Define counting queries, and a model that is corrected by one query at a time, for MWEM and PEP.

A query counts the rows with given bins in some columns. In each iteration a query with a large model error is chosen
privately, its count is measured with noise, and the model is corrected (Liu, Vietri & Wu, NeurIPS 2021, Algorithm 1). The
model stores every cell; cells that a rule excludes are exact zeros.
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
    """The number of rows in one cell, with the index `place`, of the table over `columns`."""

    columns: Columns
    place: tuple[int, ...]


class QueryPool:
    """A public list of counting queries from which a generator selects those that it measures, ordered by table.

    Parameters
    ----------
    queries : largest number of queries: all cells of single columns, then of pairs, and so on. Of the tables that do not
        all fit, some cells are chosen at random.
    marginal : largest number of columns of a table.
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
        return np.concatenate([model.marginal(columns).ravel()[cells] for columns, cells in self.tables])


class Shares:
    """The model's distribution over all cells, corrected one query at a time. The shares always sum to 1.

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
        return float(self.cells[self._slice(query)].sum()) / self.total

    def weigh(self, query: CountingQuery, share: float) -> None:
        """Move the model towards a measured share of a query: multiply the query's cells by exp((measured share - model's
        share) / 2), then normalise (Hardt et al. 2012, Figure 1).
        """
        self.multiply(query, math.exp((min(max(share, 0.0), 1.0) - self.of(query)) / 2))

    def project(self, query: CountingQuery, share: float) -> None:
        """Replace the table by the nearest one, in Kullback-Leibler divergence, that gives exactly this answer to the query
        (Liu et al. 2021, Lemma 1).
        """
        answer, aim = self.of(query), min(max(share, _SMALLEST), 1 - _SMALLEST)
        if 0 < answer < 1:
            odds = math.log(aim) - math.log(answer) + math.log1p(-answer) - math.log1p(-aim)
            self.multiply(query, math.exp(min(odds, _LARGEST)))

    def multiply(self, query: CountingQuery, factor: float) -> None:
        """Multiply the cells of a query by a factor, and rescale all shares."""
        part = self._slice(query)
        before = float(self.cells[part].sum())
        self.cells[part] *= factor
        self.total += before * (factor - 1)
        self._marginals.clear()
        if not 1e-100 < self.total < 1e100:
            self._renew()

    def _renew(self) -> None:
        self.cells /= self.cells.sum()
        self.total = 1.0

    def _slice(self, query: CountingQuery) -> tuple[int | slice, ...]:
        bin_of = dict(zip(query.columns, query.place, strict=True))
        return tuple(bin_of.get(axis, slice(None)) for axis in range(self.cells.ndim))


@dataclass
class NoisyAnswers:
    """The noisy answers so far: for each query, the sum of its noisy shares and the number of its measurements."""

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
    """Return at most `most` measured queries in which the model differs most from the noisy shares, with these shares
    (post-processing).
    """
    numbers, shares = answers.numbers, answers.shares
    gaps = np.abs(pool.shares(model)[numbers] - shares)
    return [(pool.query(int(numbers[i])), float(shares[i])) for i in np.argsort(-gaps, kind="stable")[:most]]


# `DenseModel` stores the probability of every cell, for tables that fit into memory.


@dataclass(frozen=True, kw_only=True)
class DenseModel:
    """A model that stores the probability of every cell, up to a common factor. `shares` has one axis per column."""

    layout: Layout
    shares: np.ndarray

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Draw n rows by systematic rounding of the expected counts. Cells of a rare bin are adjacent, so that its total
        hardly changes.
        """
        expected = self.shares.ravel()
        cells = np.flatnonzero(expected)
        order = rare_first(np.unravel_index(cells, self.layout.sizes), expected[cells], n)
        return Counts(self.layout, cells[order], systematic_rounding(expected[cells][order], n, generator))


def plausible_cells(plausibility: Plausibility) -> np.ndarray:
    """Return an array with one axis per column: 1 for every plausible cell, 0 for every impossible cell.

    Raises
    ------
    RejectedRound : if no cell is plausible.
    """
    free = ~plausibility.structural_zeros(tuple(range(len(plausibility.layout.sizes))))
    if not free.any():
        raise RejectedRound("the rules leave no plausible cell")
    return free.astype(float)
