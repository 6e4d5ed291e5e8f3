"""How strongly columns of a public table hang together, and which tables of it a model should be told.

Everything here looks at exact counts: of public data alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from synthrelease.candidates.generators.junction_tree import JunctionTree
from synthrelease.candidates.generators.maximum_entropy import maximum_entropy
from synthrelease.domain.counts import Counts
from synthrelease.domain.lattice import Lattice, lattice
from synthrelease.domain.plausibility import Plausibility
from synthrelease.errors import RejectedRound
from synthrelease.measurements.noisy_tables import NoisyMarginal, NoisyMarginals
from synthrelease.randomness import SeededEntropy

Columns = tuple[int, ...]

MODEL_CELLS = 2**18
"""Of the largest clique of a model: such a model is fitted in seconds."""

WEAKEST = 0.1
"""Cramer's V from which on two columns are said to hang together."""

MOST_ROUNDS = 5
_SHARE_OF_PRICE = 0.5


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two columns.

    Attributes
    ----------
    columns : their names.
    distance : the share of all rows that would have to change for them to be independent: total variation distance between
        their table and the product of its margins, over the rows with a value of both.
    largest_cell : the largest difference of a cell of their table from that product, as a share of all rows.
    cramers_v : Cramer's V of the rows with a value of both, from 0 for independence to 1, less what chance makes of it.
    beyond_chance : the distance without what a sample of so many rows has of itself; below 0 where it has no more.
    """

    columns: tuple[str, str]
    distance: float
    largest_cell: float
    cramers_v: float
    beyond_chance: float

    @classmethod
    def of(cls, columns: tuple[str, str], counts: np.ndarray, n_rows: int) -> Pair:
        """From (n_first, n_second) counts of the rows with a value of both; a table of no rows is independent."""
        apart = np.abs(from_independence(counts))
        return cls(
            columns=columns,
            distance=float(apart.sum() / 2) / n_rows,
            largest_cell=float(apart.max(initial=0.0)) / n_rows,
            cramers_v=cramers_v(counts),
            beyond_chance=_beyond_chance(counts, counts - from_independence(counts)) / 2 / n_rows,
        )


def strongest_pairs(table: Counts, covered: Iterable[Sequence[str]] = (), missing: Collection[str] = ()) -> list[Pair]:
    """All pairs of columns that no covered set of columns holds, the most dependent first.

    Parameters
    ----------
    missing : columns whose last bin is no value. Rows without a value of either column say nothing of how values hang together;
        that two columns are missing together is known from the form they were asked on.
    """
    names, marginals = table.layout.columns, lattice(table)
    known = {pair for columns in covered for pair in combinations(sorted(map(names.index, columns)), 2)}
    pairs = [
        Pair.of(
            (names[a], names[b]),
            valued(marginals.get((a, b)), names[a] in missing, names[b] in missing),
            table.total,
        )
        for a, b in combinations(range(len(names)), 2)
        if (a, b) not in known
    ]
    return sorted(pairs, key=lambda pair: -pair.distance)


def tied_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Those that hang together, by Cramer's V of at least `WEAKEST`; first what is furthest from independence beyond chance."""
    return sorted((pair for pair in pairs if pair.cramers_v >= WEAKEST), key=lambda pair: -pair.beyond_chance)


def pairs_off(original: Counts, other: Counts) -> float:
    """The share of the rows in a wrong cell, on average over all tables of two columns: their mean total variation distance."""
    mine, theirs = lattice(original), lattice(other)
    apart = [
        np.abs(mine.get(pair) / original.total - theirs.get(pair) / other.total).sum() / 2
        for pair in combinations(range(len(original.layout.sizes)), 2)
    ]
    return float(np.mean(apart)) if apart else 0.0


def valued(counts: np.ndarray, first: bool, second: bool) -> np.ndarray:
    """A table of two columns without the last bin of those that have a bin for missing values."""
    return counts[: counts.shape[0] - first, : counts.shape[1] - second]


def from_independence(counts: np.ndarray) -> np.ndarray:
    """(n_first, n_second) counts less those that the margins would have if the two columns were independent."""
    return counts - np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(1, int(counts.sum()))


def _from_independence(counts: np.ndarray) -> float:
    """Rows that would have to change."""
    return float(np.abs(from_independence(counts)).sum() / 2)


def cramers_v(counts: np.ndarray) -> float:
    """Cramer's V of a (n_first, n_second) table without the part that chance makes of it: 0 for independent columns, at most 1.

    W. Bergsma, A bias-correction for Cramer's V and Tschuprow's T, Journal of the Korean Statistical Society 42 (2013). Bins
    without a row do not count. 0 where a column has one value.
    """
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(float)
    n, (rows, columns) = table.sum(), table.shape
    if n < 2 or min(rows, columns) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    squared = float(((table - expected) ** 2 / expected).sum() / n)
    squared = max(0.0, squared - (rows - 1) * (columns - 1) / (n - 1))
    fewest = min(size - (size - 1) ** 2 / (n - 1) for size in (rows, columns))
    return min(1.0, math.sqrt(squared / (fewest - 1))) if fewest > 1 else 0.0


def telling_tables(table: Counts, plausibility: Plausibility, epsilon: float, seed: int = 0) -> tuple[Columns, ...]:
    """Sub-tables of two or three columns that a model of maximum entropy should be told, when telling costs accuracy.

    In rounds, after the adaptive selection of AIM (McKenna, Mullins, Sheldon & Miklau 2022), without noise because the table is
    public: a model is fitted to the tables so far; of the tables that it gets most wrong those are added whose error, in rows,
    is above the noise that measuring one more table adds to all of them. The tables that a model can hold are limited by
    `MODEL_CELLS`. Every column is in one of them.

    Parameters
    ----------
    epsilon : budget of all measurements together, under which each of T tables gets Laplace noise of scale 2 T / epsilon.
    """
    search = _Search(table, plausibility, epsilon)
    search.add_best(_pairs(table), search.errors_of_independence())
    for number in range(MOST_ROUNDS):
        try:
            model = search.modelled(seed + number)
        except RejectedRound:
            break
        if not search.add_best([*_pairs(table), *search.triples()], search.errors_of(model)):
            break
    return search.tables()


def _beyond_chance(counts: np.ndarray, model: np.ndarray) -> float:
    """Sum of all cells' errors, less what a sample of so many rows has of itself: the next one has others.

    A cell with m rows is off by sqrt(2 m / pi) on average, with variance m (1 - 2 / pi); two deviations of the sum count, too.
    """
    chance = float(np.sqrt(np.maximum(model, 0) * (2 / np.pi)).sum()) + 2 * math.sqrt(float(model.sum()) * (1 - 2 / math.pi))
    return float(np.abs(counts - model).sum()) - chance


def _pairs(table: Counts) -> list[Columns]:
    return list(combinations(range(len(table.layout.sizes)), 2))


class _Search:
    """The tables that were chosen so far, each of them with what is known of the public table."""

    def __init__(self, table: Counts, plausibility: Plausibility, epsilon: float):
        self.table, self.plausibility, self.epsilon = table, plausibility, epsilon
        self.sizes = table.layout.sizes
        self.exact: Lattice = lattice(table)
        self.chosen: list[Columns] = []
        self.rules = [mask.columns for mask in plausibility.masks]

    def errors_of_independence(self) -> dict[Columns, float]:
        """As `errors_of`, of a model that knows single columns."""
        errors = {}
        for pair in _pairs(self.table):
            counts = self.exact.get(pair)
            errors[pair] = _beyond_chance(counts, np.outer(counts.sum(axis=1), counts.sum(axis=0)) / self.table.total)
        return errors

    def tables(self) -> tuple[Columns, ...]:
        """The chosen ones that none contains, and every column that is in none by itself."""
        chosen = [columns for columns in self.chosen if not any(set(columns) < set(other) for other in self.chosen)]
        alone = [(column,) for column in range(len(self.sizes)) if not any(column in columns for columns in chosen)]
        return (*sorted(chosen), *alone)

    def triples(self) -> list[Columns]:
        """Three columns of which at least two pairs are chosen."""
        pairs = {pair for columns in self.chosen for pair in combinations(columns, 2)}
        found = set()
        for first, second in combinations(sorted(pairs), 2):
            columns = tuple(sorted({*first, *second}))
            if len(columns) == 3 and columns not in self.chosen and self._cells([columns]) <= MODEL_CELLS:
                found.add(columns)
        return sorted(found)

    def modelled(self, seed: int) -> Counts:
        """A table of the same size drawn from the model of what was chosen.

        The tables count as precise as the release could measure them, and no more: a fit to exact counts takes minutes.
        """
        share = Fraction(self.epsilon).limit_denominator(10**6) / len(self.tables())
        tables = tuple(
            NoisyMarginal(columns=columns, values=values, epsilon=share, cells=np.ones_like(values))
            for columns, values in ((columns, self.exact.get(columns)) for columns in self.tables())
        )
        measured = NoisyMarginals(layout=self.table.layout, n=self.table.total, tables=tables)
        model = maximum_entropy(measured, self.tables(), self.plausibility, None, 1.0)
        return model.sample(self.table.total, SeededEntropy(seed).generator())

    def errors_of(self, model: Counts) -> dict[Columns, float]:
        """Rows that the model has in wrong cells, beside those that chance explains, per table that is not chosen."""
        drawn = lattice(model)
        found = {}
        for columns in [*_pairs(self.table), *self.triples()]:
            if not any(set(columns) <= set(other) for other in self.chosen):
                found[columns] = _beyond_chance(self.exact.get(columns), drawn.get(columns))
        return found

    def add_best(self, candidates: Iterable[Columns], errors: dict[Columns, float]) -> int:
        """Add tables, the most wrong for their price first, while they are worth it and a model can hold them; how many."""
        added: list[Columns] = []
        cells = self._cells(self.chosen)
        order = sorted(
            (each for each in candidates if each in errors), key=lambda each: self._price(each, cells) - errors[each]
        )
        most = max(2, len(self.sizes) // 2) if self.chosen else len(self.sizes)
        for columns in order:
            if len(added) == most or errors[columns] <= self._price(columns, self._cells(self.chosen)):
                break
            close = sum(len(set(columns) & set(other)) > 1 for other in added)
            if not close and JunctionTree.of(self.sizes, [*self.chosen, *self.rules, columns]).largest <= MODEL_CELLS:
                self.chosen = [*(other for other in self.chosen if not set(other) < set(columns)), columns]
                added.append(columns)
        return len(added)

    def _price(self, columns: Columns, cells: int) -> float:
        """Half the expected noise, in rows, that measuring this table adds: its own, and that of the others for smaller shares.

        Half, because what is known of one table also mends others that share columns with it. On two registers of 15 and 34
        columns the distances of two and three columns were smallest at about that part, and rose on both sides of it.

        Parameters
        ----------
        cells : of all tables that were chosen so far.
        """
        scale = _SHARE_OF_PRICE * 2 / self.epsilon
        return scale * ((len(self.chosen) + 1) * (cells + self._cells([columns])) - len(self.chosen) * cells)

    def _cells(self, tables: Iterable[Columns]) -> int:
        return sum(math.prod(self.sizes[column] for column in columns) for columns in tables)
