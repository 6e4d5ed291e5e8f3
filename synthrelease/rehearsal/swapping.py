"""Permutation swapping (Bailie, Gong & Meng 2023): a baseline for comparison, for public data alone.

Theory 10.1, permutation swapping.

Records that agree on the swap key form a stratum. In each stratum every record is selected with the swap rate, and the values
of the swap variable are permuted among the selected ones so that none keeps its own. What comes out is the original table
with some values exchanged, so two tables are published exactly: everything but the swap variable, and key by swap variable.

The nominal epsilon holds *subject to these invariants*: its neighbours are tables that agree on both. It says nothing about
what the invariants give away, and it does not add up with the pure or zero-concentrated guarantees of the rest of this package.
A release therefore has no way to use it: it is no generator, and stands in a room that never sees private data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.domain.counts import Counts


@dataclass(frozen=True, kw_only=True)
class PermutationSwapping:
    """Which columns, and how often.

    Attributes
    ----------
    key : columns that a stratum agrees on.
    variable : the column whose values are exchanged; not in the key.
    rate : probability that a record is selected, in (0, 1).
    """

    key: tuple[int, ...]
    variable: int
    rate: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise ValueError("a swap rate lies above 0 and below 1")
        if self.variable in self.key:
            raise ValueError("the swap variable is not a part of the swap key")

    def largest_stratum(self, table: Counts) -> int:
        """b: the size of the largest stratum."""
        return int(table.marginal(list(self.key)).max()) if self.key else table.total

    def nominal_epsilon(self, table: Counts) -> float:
        """The epsilon of swapping this table, subject to its invariants."""
        return nominal_epsilon(self.rate, self.largest_stratum(table))

    def swap(self, table: Counts, generator: np.random.Generator) -> Counts:
        """The swapped table, of the same size (Bailie et al. 2023, the algorithm "Permutation Swapping").

        Parameters
        ----------
        table : public counts.

        Returns
        -------
        Counts over the same layout. Its marginal of all columns but the variable, and its marginal of key and variable, are
        those of `table`.
        """
        rows = table.expand()
        if self.key:
            _, strata = np.unique(rows[:, list(self.key)], axis=0, return_inverse=True)
        else:
            strata = np.zeros(len(rows), dtype=np.int64)
        order = np.argsort(strata.ravel(), kind="stable")
        sizes = np.bincount(strata.ravel())
        swapped = rows[:, self.variable].copy()
        for members in np.split(order, np.cumsum(sizes)[:-1]):
            selected = self._select(members, generator)
            if len(selected):
                swapped[selected] = rows[selected[derangement(len(selected), generator)], self.variable]
        rows[:, self.variable] = swapped
        return Counts.of(table.layout, list(rows.T))

    def _select(self, members: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Members of a stratum, each selected with the rate; exactly one cannot be exchanged, so it is drawn again."""
        if len(members) < 2:
            return members[:0]
        while True:
            selected = members[generator.random(len(members)) < float(self.rate)]
            if len(selected) != 1:
                return selected


def nominal_epsilon(rate: Fraction, largest_stratum: int) -> float:
    """ln(b + 1) - ln o with the odds o = p / (1 - p); for p above 1/2, ln o where that is more (Bailie et al. 2023).

    Theory 10.1, permutation swapping.

    Parameters
    ----------
    rate : p in (0, 1).
    largest_stratum : b >= 1, the size of the largest stratum.
    """
    if not (0 < rate < 1 and largest_stratum >= 1):
        raise ValueError("a nominal epsilon needs a swap rate in (0, 1) and a stratum of at least one record")
    log_odds = math.log(rate / (1 - rate))
    return max(log_odds, math.log(largest_stratum + 1) - log_odds)


def derangement(n: int, generator: np.random.Generator) -> np.ndarray:
    """A uniform permutation of 0..n-1 without a fixed point, n >= 2: drawn until there is none, about e times."""
    if n < 2:
        raise ValueError("a derangement needs two or more")
    while True:
        drawn = generator.permutation(n)
        if np.all(drawn != np.arange(n)):
            return drawn
