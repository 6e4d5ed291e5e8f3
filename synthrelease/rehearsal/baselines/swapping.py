"""Permutation swapping (Bailie, Gong & Meng 2023): a baseline for comparison, for public data alone.

Theory 10.1, permutation swapping.

Records that agree on the swap key form a stratum. In each stratum every record is selected with the swap rate, and the values
of the swap variables are permuted among the selected ones so that none keeps its own record's. What comes out is the original
table with some values exchanged, so two tables are published exactly: everything but the swap variables, and key by swap
variables.

The nominal epsilon holds *subject to these invariants*: it compares tables that agree on both. The closest such tables differ
in two records, so beside a release's epsilon stands **twice the nominal one** (`swap_budget.pairwise_epsilon`). It says nothing
about what the invariants give away, and it does not add up with the pure or zero-concentrated guarantees of the rest of this
package. A release therefore has no way to use it: it is no generator, and stands in a room that never sees private data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.rehearsal.baselines.swap_budget import nominal_epsilon, pairwise_epsilon


@dataclass(frozen=True, kw_only=True)
class PermutationSwapping:
    """Which columns, and how often.

    Attributes
    ----------
    key : columns that a stratum agrees on.
    variables : the columns whose values are exchanged, those of a record together (county and tract); none of them in the key.
    rate : probability that a record is selected, in (0, 1).
    """

    key: tuple[int, ...]
    variables: tuple[int, ...]
    rate: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise ValueError("a swap rate lies above 0 and below 1")
        if not self.variables or len({*self.key, *self.variables}) != len(self.key) + len(self.variables):
            raise ValueError("expected at least one swap variable, none of them twice and none a part of the swap key")

    def largest_stratum(self, table: Counts) -> int:
        """b: the size of the largest stratum of the whole table."""
        return int(table.project(self.key).counts.max()) if self.key else table.total

    def nominal_epsilon(self, table: Counts) -> float:
        """The epsilon of swapping this table for each record that differs, subject to its invariants."""
        return nominal_epsilon(self.rate, self.largest_stratum(table))

    def pairwise_epsilon(self, table: Counts) -> float:
        """The epsilon between the closest tables with these invariants: to be compared with that of a release."""
        return pairwise_epsilon(self.rate, self.largest_stratum(table))

    def keeps(self, columns: tuple[int, ...]) -> bool:
        """Whether the table of these columns is published exactly: it lacks the swap variables, or has but key and these."""
        return not set(columns) & set(self.variables) or set(columns) <= {*self.key, *self.variables}

    def swap(self, table: Counts, generator: np.random.Generator) -> Counts:
        """The swapped table, of the same size (Bailie, Gong & Meng 2023, the algorithm "Permutation Swapping").

        Parameters
        ----------
        table : public counts.

        Returns
        -------
        Counts over the same layout. Its marginal of all columns but the variables, and its marginal of key and variables, are
        those of `table`.
        """
        rows = table.expand()
        if self.key:
            _, strata = np.unique(rows[:, list(self.key)], axis=0, return_inverse=True)
        else:
            strata = np.zeros(len(rows), dtype=np.int64)
        order = np.argsort(strata.ravel(), kind="stable")
        sizes = np.bincount(strata.ravel())
        source = np.arange(len(rows))
        for members in np.split(order, np.cumsum(sizes)[:-1]):
            selected = self._select(members, generator)
            if len(selected):
                source[selected] = selected[derangement(len(selected), generator)]
        columns = [rows[source if column in self.variables else slice(None), column] for column in range(rows.shape[1])]
        return Counts.of(table.layout, columns)

    def _select(self, members: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Members of a stratum, each selected with the rate; exactly one cannot be exchanged, so all are drawn again."""
        if len(members) < 2:
            return members[:0]
        while True:
            selected = members[generator.random(len(members)) < float(self.rate)]
            if len(selected) != 1:
                return selected


def derangement(n: int, generator: np.random.Generator) -> np.ndarray:
    """A uniform permutation of 0..n-1 without a fixed point, n >= 2: drawn until there is none, about e times."""
    if n < 2:
        raise ValueError("a derangement needs two or more")
    while True:
        drawn = generator.permutation(n)
        if np.all(drawn != np.arange(n)):
            return drawn
