"""Counting queries that are answered one after the other: the common part of MWEM and PEP.

A query asks how many rows have given bins in some columns. In each iteration the query that the model answers worst is chosen
privately, its count is measured with noise, and the model is corrected (Liu, Vietri & Wu, NeurIPS 2021, Algorithm 1). The model
holds every plausible cell; cells that a rule excludes are exact zeros. Which queries may be asked is public.
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
"""Cells of the largest table that these generators take: every iteration looks at all of them."""

_SMALLEST = 1e-9
"""Shares are projected onto this much at least, and as much below 1: a cell that is 0 could never come back."""

_LARGEST = 100.0
"""Of the logarithm of a correction: more would overflow. A cell of so small a share comes back in steps."""


@dataclass(frozen=True, kw_only=True)
class CountingQuery:
    """How many rows are in one cell of the sub-table of `columns`; `place` is its index in that sub-table."""

    columns: Columns
    place: tuple[int, ...]


class QueryPool:
    """The queries that may be selected, by sub-table.

    Parameters
    ----------
    queries : how many: all cells of one column, then of pairs of columns, and so on; of the last size of sub-tables that do not
        all fit a random choice (public).
    marginal : sub-tables of at most so many columns.
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
        """Return the (n_queries,) model's answers, as shares of all rows."""
        return np.concatenate([model.marginal(columns).ravel()[cells] for columns, cells in self.tables])


class Shares:
    """The shares of all cells, corrected slice by slice; they add up to 1 over the plausible cells.

    `cells` are the shares times `total`, so that a correction touches its slice alone.
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
        """Return the share of the rows that a query counts."""
        return float(self.cells[self._slice(query)].sum()) / self.total

    def weigh(self, query: CountingQuery, share: float) -> None:
        """Multiply the cells of a query by exp((measured - answered) / 2), in shares (Hardt et al. 2012, Figure 1)."""
        self.multiply(query, math.exp((min(max(share, 0.0), 1.0) - self.of(query)) / 2))

    def project(self, query: CountingQuery, share: float) -> None:
        """Move to the nearest table, in Kullback-Leibler divergence, that gives this answer (Liu et al. 2021, Lemma 1)."""
        answer, aim = self.of(query), min(max(share, _SMALLEST), 1 - _SMALLEST)
        if 0 < answer < 1:
            odds = math.log(aim) - math.log(answer) + math.log1p(-answer) - math.log1p(-aim)
            self.multiply(query, math.exp(min(odds, _LARGEST)))

    def multiply(self, query: CountingQuery, factor: float) -> None:
        """Multiply the share of a query's cells, and make the whole 1 again."""
        part = self._slice(query)
        before = float(self.cells[part].sum())
        self.cells[part] *= factor
        self.total += before * (factor - 1)
        self._marginals.clear()
        if not 1e-100 < self.total < 1e100:
            self._renew()

    def _renew(self) -> None:
        """Remove the common factor of all cells, and the accumulated rounding error."""
        self.cells /= self.cells.sum()
        self.total = 1.0

    def _slice(self, query: CountingQuery) -> tuple[int | slice, ...]:
        bin_of = dict(zip(query.columns, query.place, strict=True))
        return tuple(bin_of.get(axis, slice(None)) for axis in range(self.cells.ndim))


@dataclass
class NoisyAnswers:
    """The measurements so far: per query the sum and number of its noisy shares."""

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
    """Return the measured queries that the model answers worst, at most so many, with their shares. Post-processing."""
    numbers, shares = answers.numbers, answers.shares
    gaps = np.abs(pool.shares(model)[numbers] - shares)
    return [(pool.query(int(numbers[i])), float(shares[i])) for i in np.argsort(-gaps, kind="stable")[:most]]


# A model that holds the probability of every cell of the table: for tables that fit in memory.


@dataclass(frozen=True, kw_only=True)
class DenseModel:
    """`shares` (sizes of the columns) are the probabilities of all cells, up to a factor."""

    layout: Layout
    shares: np.ndarray

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Return n rows by systematic rounding of the expected counts, rows of a rare bin side by side."""
        expected = self.shares.ravel()
        cells = np.flatnonzero(expected)
        order = rare_first(np.unravel_index(cells, self.layout.sizes), expected[cells], n)
        return Counts(self.layout, cells[order], systematic_rounding(expected[cells][order], n, generator))


def plausible_cells(plausibility: Plausibility) -> np.ndarray:
    """Return (sizes of the columns) 1 for every plausible cell and 0 for every other.

    Raises
    ------
    RejectedRound : when no cell is plausible.
    """
    free = ~plausibility.structural_zeros(tuple(range(len(plausibility.layout.sizes))))
    if not free.any():
        raise RejectedRound("the rules leave no plausible cell")
    return free.astype(float)
