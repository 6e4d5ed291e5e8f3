"""The private half of adaptive generators, and of frequencies: choices among tables, and noisy tables, within one budget.

Private: the counts of the table, its exact sub-tables and their distances from what a model expects. Out: noisy tables and
chosen ones, public. All that a generator learns goes through `PrivateTables`, a door of its own that `Door.spend` opens. What
is asked next, and at which part of the budget, may depend on all answers so far; when nothing is left, nothing is answered.

Guarantee: the budget (rho, as zero-concentrated or as mu^2 / 2, or epsilon) for the whole conversation; neighbours replace one
record, which moves at most two counts of a table, each by 1 (`TABLE_CHANGE`), and a score by two weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.marginals import KEPT_CELLS, column_groups, lattice
from synthrelease.enclave.door import opaque
from synthrelease.errors import BudgetError
from synthrelease.generators.clique_tables import CompetingTable
from synthrelease.generators.measured_noise import TABLE_CHANGE, CountNoise, DiscreteLaplace, RoundedGaussian
from synthrelease.privacy.curves import choice_epsilon, root_down
from synthrelease.privacy.noise import SystemEntropy, choose, discrete_laplace, rounded_gaussian

MOST_SCORE = 10**6
"""No score of a sum is further from 0: sums of as many rows as a release may have stay far below 2^63."""


def score_of(table: CompetingTable, exact: np.ndarray) -> int:
    """Return weight * (l1 distance of the exact counts from the expected ones - handicap)."""
    return table.weight * (int(np.abs(exact - table.expected).sum()) - table.handicap)


class Budgeted:
    """A wrapper of private counts: each answer uses a part of the budget, and no answer is given when it is spent.

    Attributes
    ----------
    left : the budget that no answer has taken yet.
    """

    def __init__(self, budget: Fraction, entropy: SystemEntropy):
        self.left, self._entropy = budget, entropy

    def _take(self, part: Fraction) -> None:
        if not 0 < part <= self.left:
            raise BudgetError("more was asked of the private table than its budget allows")
        self.left -= part


class PrivateTables(Budgeted):
    """The sub-tables of a private table, protected by a budget. A failure inside is opaque, as in `Door.spend`.

    Privacy
    -------
    Neighbours replace one record. With `budget` rho the whole conversation is rho-zero-concentrated (`Gaussian`) or
    sqrt(2 rho)-Gaussian (`ExactlyGaussian`), with epsilon it is epsilon-DP (`Laplace`), whatever is asked: each answer keeps
    its own guarantee for any question that depends on the answers before it, and the parts never add up to more than the
    budget, which is fixed (theory 12.10, a budget that answers share out; Feldman & Zrnic 2021; theory 9.16, a Gaussian budget
    that answers share out).
    """

    def __init__(self, counts: Counts, budget: Fraction, entropy: SystemEntropy):
        super().__init__(budget, entropy)
        self._bins = self._exact = lattice(counts)
        self._counts = counts
        self._held = dict[Columns, np.ndarray]()

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> None:
        """Ask everything of coarser bins from here on, which answers may have decided: neighbours stay neighbours."""
        self._counts = opaque(lambda: self._counts.merge(layout, maps))
        self._exact, self._held = opaque(lambda: lattice(self._counts)), {}

    def table(self, columns: Columns, part: Fraction) -> np.ndarray:
        """Return int64 counts of the sub-table of `columns`, with noise in every cell, for this part of the budget."""
        self._take(part)
        exact = opaque(lambda: self._exact_of(columns))
        return opaque(lambda: self._noisy(exact.ravel(), part).reshape(exact.shape))

    def bins(self, column: int, part: Fraction) -> np.ndarray:
        """Return int64 counts of the bins of a column as they were before any merging, with noise in every one."""
        self._take(part)
        return opaque(lambda: self._noisy(self._bins.get((column,)), part))

    def total(self, columns: Columns, scores: np.ndarray, part: Fraction) -> int:
        """Return the sum over all rows of a public whole score of these columns, with noise, for this part of the budget.

        Sensitivity: a replaced record takes one score away and adds another, so the sum moves by at most the highest minus the
        lowest of them (theory 12.12, scored sums).
        """
        sizes = tuple(self._counts.layout.sizes[column] for column in columns)
        whole = np.array(scores)
        if whole.shape != sizes or not whole.size or whole.dtype.kind not in "iu":
            raise ValueError("expected whole scores, one for each cell of the table")
        low, high = int(whole.min()), int(whole.max())  # of Python, without an end: the distance of integers of numpy can wrap
        if low < -MOST_SCORE or high > MOST_SCORE:
            raise ValueError(f"expected scores from -{MOST_SCORE:,} to {MOST_SCORE:,}")
        self._take(part)
        span, bounded = max(high - low, 1), whole.astype(np.int64)
        exact = opaque(lambda: np.array([int((self._exact_of(columns) * bounded).sum())]))
        return int(opaque(lambda: self.noisy(exact, sensitivity=span**self.power, part=part, entropy=self._entropy))[0])

    def choice(self, competing: Sequence[CompetingTable], part: Fraction) -> int:
        """Return the index of a table with a large weight * (l1 distance from the expected counts - handicap).

        Sensitivity: two counts of a table move by 1, so its distance by at most 2, and the score by 2 weights (theory 12.9,
        tables and their distances). All are integers.
        """
        self._take(part)
        opaque(lambda: self._hold([table.columns for table in competing]))
        scores = opaque(lambda: [score_of(table, self._exact_of(table.columns)) for table in competing])
        largest = max(table.weight for table in competing)
        sensitivity = TABLE_CHANGE * largest
        return opaque(lambda: self.chosen(scores, sensitivity=sensitivity, part=part, entropy=self._entropy))

    def _hold(self, competing: Sequence[Columns]) -> None:
        """Count the tables that compete once for all rounds, so that a round takes no time that grows with the rows.

        A pair is summed up from the table of all columns that are counted together with its own. A table without room is
        counted in every round.
        """
        sizes, room = self._counts.layout.sizes, KEPT_CELLS - sum(table.size for table in self._held.values())
        groups = column_groups(self._counts.layout, 2, len(self._counts) // 4)
        of_column = {column: group for group in groups for column in group}
        for columns in sorted(competing, key=lambda columns: [of_column[column] for column in columns]):
            cells = math.prod(sizes[column] for column in columns)
            if columns not in self._held and cells <= room:
                if len(columns) == 2:
                    self._exact.values(tuple(sorted({*of_column[columns[0]], *of_column[columns[1]]})))  # which it keeps
                self._held[columns], room = self._exact.get(columns), room - cells

    def _exact_of(self, columns: Columns) -> np.ndarray:
        return self._held[columns] if columns in self._held else self._exact.get(columns)

    def _noisy(self, values: np.ndarray, part: Fraction) -> np.ndarray:
        return self.noisy(values, sensitivity=TABLE_CHANGE, part=part, entropy=self._entropy)

    @staticmethod
    def noisy(values: np.ndarray, *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> np.ndarray:
        """Return (k,) int64 counts with noise, for a part of a budget. A replaced record moves at most `sensitivity` of
        them, each by 1: that is their l1 distance, and their squared l2 distance.
        """
        raise NotImplementedError

    @classmethod
    def chosen(cls, scores: Sequence[int], *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> int:
        """Return the index of a high score, for a part of a budget; a replaced record moves each score by at most
        `sensitivity`.
        """
        epsilon = cls.epsilon_of_choice(part)
        return choose(scores, sensitivity=sensitivity, epsilon=epsilon, mechanism=cls.selector, entropy=entropy)

    @staticmethod
    def epsilon_of_choice(part: Fraction) -> Fraction:
        """Return the epsilon of a choice that costs this part of a budget: an epsilon itself, unless the class
        says otherwise."""
        return part

    @classmethod
    def variance(cls, part: Fraction) -> float:
        """Return the noise variance of every count of a table measured at this part of the budget, or a little more."""
        return cls.squares * cls.law.of_table(part).scale ** 2

    selector: ClassVar[str] = "exponential"
    power: ClassVar[int]
    """In which power the change of one number is its sensitivity: 1 for l1, 2 for squared l2."""
    law: ClassVar[type[CountNoise]]
    squares: ClassVar[float] = 1.0
    """Variance of the noise, in squares of its scale."""
    mean_error: ClassVar[float]
    """Mean absolute noise of a count, in its standard deviations."""


class Gaussian(PrivateTables):
    """Rounded Gaussian noise and the exponential mechanism; parts are rhos."""

    law = RoundedGaussian
    power = 2
    mean_error: ClassVar[float] = 0.7979  # sqrt(2 / pi)

    @staticmethod
    def noisy(values: np.ndarray, *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> np.ndarray:
        """Return rounded Gaussian noise on counts: of a table squared l2 sensitivity 2, not the 4 of two steps of adding and
        removing: they are in different cells."""
        return rounded_gaussian(values, squared_sensitivity=sensitivity, rho=part, entropy=entropy)

    @staticmethod
    def epsilon_of_choice(part: Fraction) -> Fraction:
        """Return epsilon with epsilon^2 / 8 = part, rounded down: the mechanism has bounded range (Cesar & Rogers 2021, Lemma
        4)."""
        return root_down(8 * part)


class ExactlyGaussian(Gaussian):
    """The same wrapper for a Gaussian budget: with rho the conversation is sqrt(2 rho)-Gaussian, and choices cost more of it.

    Squares of mu add up where parts are chosen by the answers before them (theory 9.16, a Gaussian budget that answers share
    out).
    """

    @staticmethod
    def epsilon_of_choice(part: Fraction) -> Fraction:
        """Return an exponential mechanism whose Gaussian price is the part, rounded down (theory 9.15, Gaussian price of a
        choice)."""
        return choice_epsilon(part)


class Laplace(PrivateTables):
    """Discrete Laplace noise and permute-and-flip; parts are epsilons."""

    selector: ClassVar[str] = "permute_and_flip"
    law = DiscreteLaplace
    power = 1
    squares: ClassVar[float] = 2.0
    mean_error: ClassVar[float] = 0.7072  # sqrt(1 / 2)

    @staticmethod
    def noisy(values: np.ndarray, *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> np.ndarray:
        return discrete_laplace(values, sensitivity=sensitivity, epsilon=part, entropy=entropy)


def opened(counts: Counts, kind: type[Gaussian | Laplace], budget: Fraction, entropy: SystemEntropy) -> PrivateTables:
    """Close private counts behind a budget: the charge covers every answer of these tables, and nothing else comes out."""
    return kind(counts, budget, entropy)
