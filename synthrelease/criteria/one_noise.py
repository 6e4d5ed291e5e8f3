"""Figures that share one noise: which ones do, and what their readers know of it. Nothing private is here.

They are the figures of a dataset that a joint test accepted, where the whole release is pure: all of them are fixed before any
is released, and one vector of noise costs the sum of what each would have paid for noise of its own (theory 4.4, figures that
share a noise). Of the figures of a round the limits of bounds would not hold (theory 13.1, limit behind an accepted figure):
that one of them passed would tell how large the noise of the others is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.generators.measured_noise import MOST_NUMBERS, cube_limit, cube_sd
from synthrelease.privacy.grids import shared_grid, shared_steps

MECHANISM = "K-norm: one noise for several figures"
"""What the privacy of such a figure is from, in words."""


@dataclass(frozen=True, kw_only=True)
class OneNoise:
    """The noise of one of several figures that share it.

    Attributes
    ----------
    figures : how many share it.
    epsilon : of all of them together.
    """

    figures: int
    epsilon: Fraction

    def sd(self, sensitivity: float, rows: int) -> float:
        """Its standard deviation, in the figure's unit."""
        grid = shared_grid(sensitivity, rows)
        return grid.step * cube_sd(self.figures, Fraction(grid.steps) / self.epsilon)

    def beyond(self, rows: int, risk: float) -> int:
        """How many steps of the figure's grid the noise is off at most, to either side, but at this risk (0 to 1)."""
        return cube_limit(self.figures, Fraction(shared_steps(rows)) / self.epsilon, risk)

    def upper(self, value: float, sensitivity: float, rows: int, risk: float) -> float:
        """What the exact figure is above with at most this probability (0 to 1/2).

        The law is symmetric, so that one side has half of the risk of both. A step is for the rounding to the grid.
        """
        return value + (self.beyond(rows, 2 * risk) + 1) * shared_grid(sensitivity, rows).step

    def deviation(self, sensitivity: float) -> float:
        """The standard deviation but for the grid: for figures whose number of rows is not known."""
        return math.sqrt((self.figures + 1) * (self.figures + 2) / 3) * sensitivity / float(self.epsilon)

    def because(self, epsilon: Fraction) -> str:
        """What a charge of this epsilon pays for, and its standard deviation over that of a noise of its own."""
        share = self.deviation(1.0) * float(epsilon) / math.sqrt(2)
        return (
            f"K-norm mechanism: one noise for {self.figures} figures, {share:.2f} of the standard deviation of one of its own"
        )


def shared_noise(epsilons: Mapping[str, Fraction]) -> dict[str, OneNoise]:
    """By the names of the figures that share one noise, that noise: of none, or of two and more.

    A function of their budgets alone, so it is public. All begin together; as long as the one with the largest epsilon (the
    first of several) would have less noise by itself, or there are more than the law of the noise is computed for, it leaves.
    So nobody's noise grows: with m figures of E in all, sqrt((m + 1)(m + 2) / 3) / E is at most sqrt(2) / epsilon.
    """
    left = dict(epsilons)
    while len(left) > 1:
        largest, size, total = max(left, key=lambda name: left[name]), len(left), sum(left.values(), Fraction(0))
        if size <= MOST_NUMBERS and 6 * total**2 >= (size + 1) * (size + 2) * left[largest] ** 2:
            return dict.fromkeys(left, OneNoise(figures=size, epsilon=total))
        del left[largest]
    return {}
