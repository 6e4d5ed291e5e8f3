"""One count or mean of an imputed table with smooth sensitivity (Merrill 2021, chapter 6; Clifton et al. 2022).

Each answer is epsilon-DP, for neighbours that differ in one record which is added or removed, or which is replaced. A release
refuses this: it answers one question for each epsilon, from 2 ln 2 (replacing: 2 ln 3) up, and nothing that is counted in an
imputed table has a bounded sensitivity. There a missing value is a bin of its own, and gaps are filled in the accepted table.

An answer holds neither L_1 nor the scale of its noise: both are facts of single records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from synthrelease.rehearsal.baselines.cauchy_noise import CauchyNoise
from synthrelease.rehearsal.baselines.nearest_neighbours import GappedTable, NearestNeighbours

Neighbours = Literal["add or remove", "replace one"]
Chosen = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(cells, imputed values) -> (n,) which records are meant: a rule that looks at each record alone."""

STEPS: dict[Neighbours, int] = {"add or remove": 1, "replace one": 2}
"""Records that come or go between neighbours."""


def smoothness(neighbours: Neighbours) -> float:
    """beta: ln 2, as L_1 at most doubles when a record is added or removed; ln 3, as it at most trebles when one is replaced.

    The latter is less than that of two steps, ln 4 (theory 11.6, changed donees).
    """
    return math.log(1 + STEPS[neighbours])


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What may be published: the noisy figure and what was fixed beforehand."""

    value: float
    epsilon: float
    neighbours: Neighbours


@dataclass(frozen=True, kw_only=True, eq=False)
class ImputedAnswers:
    """Answers about one public table, each for the epsilon that is named.

    Attributes
    ----------
    scheme : how gaps are filled.
    neighbours : what the guarantee compares.
    low, high : 0 <= low <= high, public bounds of the values; the default of the scheme lies between them.
    sharper : whether the noise is the one of least deviation; otherwise the printed one.
    """

    scheme: NearestNeighbours
    neighbours: Neighbours
    low: float
    high: float
    sharper: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.low <= self.scheme.default <= self.high < math.inf):
            raise ValueError("expected bounds 0 <= low <= default <= high")

    def noise(self, epsilon: float) -> CauchyNoise:
        """The law of the noise for S = 1, which is public. Raises ValueError for an epsilon that is too small for it."""
        law = CauchyNoise.least_deviation if self.sharper else CauchyNoise.printed
        return law(epsilon, smoothness(self.neighbours))

    def count(self, table: GappedTable, chosen: Chosen, epsilon: float, generator: np.random.Generator) -> Answer:
        """The number of records that are chosen, as imputed.

        Privacy: epsilon-DP; S = 1 + L_1, replacing 1 + 2 L_1: the record itself, and those that change donors.
        """
        meant = chosen(table.cells, self._imputed(table))
        return self._answer(float(np.count_nonzero(meant)), self.bound(table, 1, 1), epsilon, generator)

    def mean(
        self,
        table: GappedTable,
        chosen: Chosen,
        size: float,
        epsilon: float,
        generator: np.random.Generator,
        *,
        chosen_by_value: bool = False,
    ) -> Answer:
        """Sum of the values of the chosen over a public size, cut off at the bounds.

        Privacy: epsilon-DP; S = (high + L_1 (high - low)) / size, replacing with 2 L_1; where the choice depends on the value
        that is imputed, high takes the place of high - low, as records come and go with their donors.

        Parameters
        ----------
        size : > 0, a constant or a noisy count that was paid for.
        """
        if not size > 0:
            raise ValueError("expected a size above 0")
        values = self._imputed(table)
        moved = self.high if chosen_by_value else self.high - self.low
        exact = float(values[chosen(table.cells, values)].sum()) / size
        answer = self._answer(exact, self.bound(table, self.high, moved) / size, epsilon, generator)
        return replace(answer, value=min(max(answer.value, self.low), self.high))

    def bound(self, table: GappedTable, own: float, moved: float) -> float:
        """A smooth bound on how far a sum moves to any neighbour. **Private.**

        Parameters
        ----------
        own : the most that a record itself adds to the sum.
        moved : the most that another record's part of the sum moves when its donors change.
        """
        return own + STEPS[self.neighbours] * self.scheme.largest_change(table) * moved

    def _imputed(self, table: GappedTable) -> np.ndarray:
        there = table.values[~table.gaps]
        if not np.all((there >= self.low) & (there <= self.high)):
            raise ValueError("expected all values between the bounds")
        return self.scheme.imputed(table)

    def _answer(self, exact: float, smooth_bound: float, epsilon: float, generator: np.random.Generator) -> Answer:
        value = exact + self.noise(epsilon).draw(smooth_bound, generator)
        return Answer(value=value, epsilon=epsilon, neighbours=self.neighbours)
