"""The private half of adaptive generators: choose tables privately and measure them with noise, within one budget.

Private: the counts of the table, its exact sub-tables and their distances from a model's expected counts. Out: noisy tables
and the indices of chosen tables, public. A generator sees the private table only through `PrivateTables`, which
`Door.spend` opens. Questions, and their parts of the budget, may depend on earlier answers.

Guarantee: all answers together cost the budget, which is an epsilon or a rho. A rho states zero-concentrated differential
privacy, or equals mu^2 / 2 if the noise is mu-Gaussian. Neighbours replace one record, which changes at most two counts of
a table, each by 1 (l1 sensitivity 2, `TABLE_CHANGE`), and a score by at most two weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice
from typing import ClassVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.marginals import KEPT_CELLS, column_groups, lattice, with_pairs
from synthrelease.enclave.door import opaque
from synthrelease.errors import BudgetError
from synthrelease.generators.clique_tables import CompetingTables
from synthrelease.generators.measured_noise import TABLE_CHANGE, CountNoise, DiscreteLaplace, RoundedGaussian
from synthrelease.privacy.curves import choice_epsilon, root_down
from synthrelease.privacy.noise import SystemEntropy, choose, discrete_laplace, rounded_gaussian

MOST_SCORE = 10**6
"""Largest absolute score of a cell in a sum. Sums over all rows of a release then stay far below 2^63."""


_TOGETHER = 2**18  # Number of cells that `scores_of` subtracts in one step


def distances_of(tables: CompetingTables, exact: Iterable[np.ndarray]) -> np.ndarray:
    """Return the (tables,) int64 l1 distances between exact and expected counts. Few exact tables are read at a time."""
    ends, distances, next_exact = tables.starts + tables.sizes, list[np.ndarray](), iter(exact)
    for some in np.split(np.arange(len(tables)), np.flatnonzero(np.diff(tables.sizes.cumsum() // _TOGETHER)) + 1):
        counts = np.concatenate([table.ravel() for table in islice(next_exact, len(some))])
        places = zip(tables.starts[some].tolist(), ends[some].tolist(), strict=True)
        changes = np.abs(counts - np.concatenate([tables.expected[start:end] for start, end in places]))
        distances.append(np.add.reduceat(changes, tables.sizes[some].cumsum() - tables.sizes[some]))
    return np.concatenate(distances)


def scores_of(tables: CompetingTables, distances: np.ndarray) -> list[int]:
    """Return each table's score for the private choice of the next measurement; large errors of the model score high.

    Scores are Python integers: a product of 64-bit integers that overflowed could differ by 2^64 between neighbours.
    """
    return (tables.weights.astype(object) * (distances.astype(object) - tables.handicaps)).tolist()


class Budgeted:
    """Holds private counts, and answers questions about them with noise. Each answer costs a part of the budget; when it is
    spent, there is no answer.

    Attributes
    ----------
    left : the budget that is left.
    """

    def __init__(self, budget: Fraction, entropy: SystemEntropy):
        self.left, self._entropy = budget, entropy

    def _take(self, part: Fraction) -> None:
        if not 0 < part <= self.left:
            raise BudgetError("The queries cost more than the budget of the private table.")
        self.left -= part


class PrivateTables(Budgeted):
    """Answer questions about the sub-tables of a private table with noise, within a fixed budget. Error messages show no
    details.

    Privacy
    -------
    Neighbours replace one record. With `budget` rho all answers together are rho-zero-concentrated (`Gaussian`) or sqrt(2
    rho)-Gaussian (`ExactlyGaussian`); with `budget` epsilon they are epsilon-DP (`Laplace`). This holds for any questions,
    because each answer has its own guarantee, for any question that depends on earlier answers, and the parts never add up
    to more than the budget (theory 12.10, a budget that answers share out; Feldman & Zrnic 2021; theory 9.16, a Gaussian
    budget that answers share out).
    """

    def __init__(self, counts: Counts, budget: Fraction, entropy: SystemEntropy):
        super().__init__(budget, entropy)
        self._bins = self._exact = lattice(counts)
        self._counts = counts
        self._held = dict[Columns, np.ndarray]()
        # The distances of the tables of the last choice. A further choice among some of them computes no distance again.
        self._known: tuple[CompetingTables, np.ndarray] | None = None

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> None:
        """Merge the private table to coarser bins for all later questions. The bins may depend on earlier answers:
        neighbours remain neighbours.
        """
        self._counts = opaque(lambda: self._counts.merge(layout, maps))
        self._exact, self._held, self._known = opaque(lambda: lattice(self._counts)), {}, None

    def table(self, columns: Columns, part: Fraction) -> np.ndarray:
        """Return the noisy int64 counts of the table of these columns, for `part` of the budget."""
        self._take(part)
        exact = opaque(lambda: self._exact_of(columns))
        return opaque(lambda: self._noisy(exact.ravel(), part).reshape(exact.shape))

    def bins(self, column: int, part: Fraction) -> np.ndarray:
        """Return the noisy int64 counts of a column's bins, as before any `merge`, for `part` of the budget."""
        self._take(part)
        return opaque(lambda: self._noisy(self._bins.get((column,)), part))

    def total(self, columns: Columns, scores: np.ndarray, part: Fraction) -> int:
        """Return a noisy sum over all rows, for `part` of the budget. Each row adds the public whole-number score of its
        cell.

        Sensitivity: replacing a record subtracts one score and adds another, so the sum changes by at most the highest
        score minus the lowest (theory 12.12, scored sums).
        """
        sizes = tuple(self._counts.layout.sizes[column] for column in columns)
        whole = np.array(scores)
        if whole.shape != sizes or not whole.size or whole.dtype.kind not in "iu":
            raise ValueError("The scores must be whole numbers, one for each cell of the table")
        low, high = int(whole.min()), int(whole.max())  # Python integers: a difference of numpy integers could overflow
        if low < -MOST_SCORE or high > MOST_SCORE:
            raise ValueError(f"The scores must lie between -{MOST_SCORE:,} and {MOST_SCORE:,}")
        self._take(part)
        span, bounded = max(high - low, 1), whole.astype(np.int64)
        exact = opaque(lambda: np.array([int((self._exact_of(columns) * bounded).sum())]))
        return int(opaque(lambda: self.noisy(exact, sensitivity=span**self.power, part=part, entropy=self._entropy))[0])

    def choice(self, competing: CompetingTables, part: Fraction) -> int:
        """Privately choose a table that the model fits badly, and return its index. The score is weight * (l1 distance
        between exact and expected counts - handicap); the handicap is the mean l1 error from measurement noise.

        Sensitivity: two counts of a table change by 1, so its distance changes by at most 2, and its score by at most twice
        its weight (theory 12.9, tables and their distances). All numbers are integers. Several choices may use the same
        expected counts, which are public; each takes its own part.
        """
        self._take(part)
        scores = opaque(lambda: scores_of(competing, self._distances(competing)))
        sensitivity = TABLE_CHANGE * int(competing.weights.max())
        return opaque(lambda: self.chosen(scores, sensitivity=sensitivity, part=part, entropy=self._entropy))

    def _hold(self, competing: Sequence[Columns]) -> None:
        """Count the exact tables that may be selected, and keep them, so that later rounds read no rows again. Pairs are
        summed from stored larger tables. Tables beyond the memory limit are counted in every round.
        """
        sizes, room = self._counts.layout.sizes, KEPT_CELLS - sum(table.size for table in self._held.values())
        groups = column_groups(self._counts.layout, 2, len(self._counts) // 4)
        of_column = {column: group for group in groups for column in group}
        new = [columns for columns in competing if columns not in self._held]
        if 4 * sum(len(columns) == 2 for columns in new) > math.comb(len(sizes), 2):
            self._held |= with_pairs(self._counts).pairs
            room, new = KEPT_CELLS - sum(table.size for table in self._held.values()), [c for c in new if c not in self._held]
        for columns in sorted(new, key=lambda columns: [of_column[column] for column in columns]):
            cells = math.prod(sizes[column] for column in columns)
            if cells <= room:
                if len(columns) == 2:
                    self._exact.values(tuple(sorted({*of_column[columns[0]], *of_column[columns[1]]})))  # which it keeps
                self._held[columns], room = self._exact.get(columns), room - cells

    def _distances(self, competing: CompetingTables) -> np.ndarray:
        """Return the l1 distance between each table's exact and expected counts, reused from the last choice if possible."""
        known, distances = self._known or (competing, np.zeros(0, dtype=np.int64))
        places = np.searchsorted(known.starts[:-1], competing.starts)
        if self._known is None or known.expected is not competing.expected or (known.starts[places] != competing.starts).any():
            self._hold(competing.columns)
            distances = distances_of(competing, (self._exact_of(columns) for columns in competing.columns))
            self._known, places = (competing, distances), np.arange(len(competing))
        return distances[places]

    def _exact_of(self, columns: Columns) -> np.ndarray:
        return self._held[columns] if columns in self._held else self._exact.get(columns)

    def _noisy(self, values: np.ndarray, part: Fraction) -> np.ndarray:
        return self.noisy(values, sensitivity=TABLE_CHANGE, part=part, entropy=self._entropy)

    @staticmethod
    def noisy(values: np.ndarray, *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> np.ndarray:
        """Return (k,) int64 values with noise, for `part` of a budget.

        `sensitivity` bounds the l1 distance of the vectors of neighbours, or their squared l2 distance for Gaussian noise.
        If each count changes by at most 1, both distances have the same bound.
        """
        raise NotImplementedError

    @classmethod
    def chosen(cls, scores: Sequence[int], *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> int:
        """Choose the index of a high score for `part` of a budget. A record moves a score by `sensitivity` at most."""
        epsilon = cls.epsilon_of_choice(part)
        return choose(scores, sensitivity=sensitivity, epsilon=epsilon, mechanism=cls.selector, entropy=entropy)

    @staticmethod
    def epsilon_of_choice(part: Fraction) -> Fraction:
        """Return the epsilon of a private choice that costs this part of a budget."""
        return part

    @classmethod
    def variance(cls, part: Fraction) -> float:
        """Return, or bound closely, the noise variance of each count of a table for `part` of a budget."""
        return cls.squares * cls.law.of_table(part).scale ** 2

    selector: ClassVar[str] = "exponential"
    power: ClassVar[int]
    """The exponent p of the sensitivity d^p of a number that changes by d: 1 for l1 and 2 for squared l2."""
    law: ClassVar[type[CountNoise]]
    squares: ClassVar[float] = 1.0
    """Variance of the noise, divided by the square of its scale."""
    mean_error: ClassVar[float]
    """Mean absolute noise of a count, in units of its standard deviation."""


class Gaussian(PrivateTables):
    """Answers with rounded Gaussian noise; choices by the exponential mechanism. Parts of the budget are zCDP rhos."""

    law = RoundedGaussian
    power = 2
    mean_error: ClassVar[float] = 0.7979  # sqrt(2 / pi)

    @staticmethod
    def noisy(values: np.ndarray, *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> np.ndarray:
        """Return the values with rounded Gaussian noise.

        A table has squared l2 sensitivity 2, not 4 as for a removed and an added record, because the two changes are in
        different cells.
        """
        return rounded_gaussian(values, squared_sensitivity=sensitivity, rho=part, entropy=entropy)

    @staticmethod
    def epsilon_of_choice(part: Fraction) -> Fraction:
        """Return the epsilon of the exponential mechanism that costs this part of a zCDP budget: epsilon^2 / 8 = part,
        rounded down, because the mechanism has bounded range (Cesar & Rogers 2021, Lemma 4).
        """
        return root_down(8 * part)


class ExactlyGaussian(Gaussian):
    """Answers with a Gaussian guarantee, stronger than zCDP: with budget rho, all together are sqrt(2 rho)-Gaussian. A
    private choice costs more than with `Gaussian`.

    The squares of mu add up, even if earlier answers determine each part (theory 9.16, a Gaussian budget that answers share
    out).
    """

    @staticmethod
    def epsilon_of_choice(part: Fraction) -> Fraction:
        """Return the largest epsilon, rounded down, of an exponential mechanism that costs at most this part of a Gaussian
        budget (theory 9.15, Gaussian price of a choice).
        """
        return choice_epsilon(part)


class Laplace(PrivateTables):
    """Answers with discrete Laplace noise; choices by permute-and-flip. Parts of the budget are epsilons."""

    selector: ClassVar[str] = "permute_and_flip"
    law = DiscreteLaplace
    power = 1
    squares: ClassVar[float] = 2.0
    mean_error: ClassVar[float] = 0.7072  # sqrt(1 / 2)

    @staticmethod
    def noisy(values: np.ndarray, *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> np.ndarray:
        return discrete_laplace(values, sensitivity=sensitivity, epsilon=part, entropy=entropy)


def opened(counts: Counts, kind: type[Gaussian | Laplace], budget: Fraction, entropy: SystemEntropy) -> PrivateTables:
    """Return an object that holds the private counts and gives only noisy answers, within `budget`."""
    return kind(counts, budget, entropy)
