"""What the noise of every part takes from every criterion at an allocation, from tries in which all parts change at once.

Parts in turn would need tries for each of them. Instead each try is made twice with the same luck: with every part's budget
times or over a factor, by a coin for each part, and the other way round. The difference is a sum over the parts, in which
the luck cancels; a few dozen of such pairs tell the summands, however many parts there are (a least squares fit in which
noise helps no criterion, and in which a part that is not heard of is taken to be without effect).

The slack of a criterion is taken to be linear in the noise deviations, b^(-p/2) at a budget b, with p = 2 for an epsilon and
p = 1 for a rho: so are the mean of distances and the largest of them, near to an allocation. So a step from it is bounded. Its
spread grows as its loss does. The weights of the step are those with which criteria are least likely to fail, in the sum of
exp(-z) over their deviations z from failing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import numpy as np
from scipy.optimize import minimize, nnls

from synthrelease.rehearsal.allocation.parts import Allocation, Divisible, few_digits

FACTOR = 1.5
"""Budgets of a pair of tries are times or over this."""
_LEAST_PAIRS = 8
_RIDGE = 16
"""How many pairs "no part has any effect" is worth."""
_TESTS = (0.7, 0.85, 1.0, 1.2, 1.4)
"""Factors of the test's epsilon that are tried."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OppositeTries:
    """Two tries with the same luck at opposite changes of all budgets.

    Attributes
    ----------
    deviations : (2, I) of the noise of every part, in any unit that is common to all pairs.
    slacks : (2, J) of every aspect (`trying.aspects_of`).
    """

    population: int
    deviations: np.ndarray
    slacks: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class SlopesOfParts:
    """Of an allocation.

    Attributes
    ----------
    slacks, spreads : (J,) of every aspect that is asked, the mean, and the standard deviation within a population.
    losses : (J, I) what of it each part's noise takes.
    """

    slacks: np.ndarray
    spreads: np.ndarray
    losses: np.ndarray

    @classmethod
    def of(cls, present: Sequence[OppositeTries], before: Sequence[OppositeTries], deviations: np.ndarray) -> Self | None:
        """None where too few tries made a candidate, or no criterion asks anything.

        Parameters
        ----------
        present, before : pairs at this allocation, and at others of the same parts, whose differences tell, too.
        deviations : (I,) of the noise at this allocation, in the unit of the pairs.
        """
        if len(present) < _LEAST_PAIRS:
            return None
        pairs = [*present, *before]
        asked = np.isfinite([pair.slacks for pair in pairs]).all(axis=(0, 1))
        if not asked.any():
            return None
        more = np.array([pair.deviations[1] - pair.deviations[0] for pair in pairs]) / deviations
        lost = np.array([pair.slacks[0, asked] - pair.slacks[1, asked] for pair in pairs])
        ridge = float(more.std()) * np.sqrt(_RIDGE) * np.eye(len(deviations))
        nothing = np.zeros(len(deviations))
        losses = [nnls(np.vstack([more, ridge]), np.concatenate([each, nothing]))[0] for each in lost.T]
        middles = np.array([pair.slacks[:, asked].mean(axis=0) for pair in present])
        populations = np.array([pair.population for pair in present])
        within = middles.copy()
        for population in set(populations.tolist()):
            within[populations == population] -= middles[populations == population].mean(axis=0)
        free = max(1, len(present) - len(set(populations.tolist())))
        return cls(slacks=middles.mean(axis=0), spreads=np.sqrt((within**2).sum(axis=0) / free), losses=np.array(losses))

    def deviations(self, noise: np.ndarray, test: float, margin: float) -> np.ndarray:
        """(J,) how many deviations every aspect is from failing, with (I,) so many times the noise of every part."""
        now, then = self.losses.sum(axis=1), self.losses @ noise
        grown = np.divide(then, now, out=np.ones_like(now), where=now > 0)
        variance = (self.spreads * grown) ** 2 + 2 / test**2
        return np.asarray((self.slacks - (then - now) - margin) / np.sqrt(variance))

    def step(self, divisible: Divisible, present: Allocation, radius: float) -> Allocation:
        """The allocation of the same total with which criteria are least likely to fail.

        Parameters
        ----------
        radius : the logarithm of a budget moves by so much at most, before all are scaled to the total.
        """
        budgets = np.array([float(weight) for weight in divisible.in_budgets(present).weights])
        numbers = np.array([part.number for part in present.parts], dtype=float)
        best, least = present, np.inf
        for factor in _TESTS:
            tested = replace(present, test=few_digits(present.test * Fraction(factor)))
            total, margin, test = float(divisible.generation(tested)), divisible.margin(tested), float(tested.test)
            if total <= 0:
                continue

            def at(moves: np.ndarray, total: float = total) -> np.ndarray:
                moved = budgets * np.exp(moves)
                return np.asarray(moved * total / (numbers * moved).sum())

            def failing(moves: np.ndarray, test: float = test, margin: float = margin, at=at) -> float:  # type: ignore[no-untyped-def]
                return float(
                    np.logaddexp.reduce(-self.deviations((budgets / at(moves)) ** (divisible.power / 2), test, margin))
                )

            found = minimize(failing, np.zeros(len(budgets)), method="L-BFGS-B", bounds=[(-radius, radius)] * len(budgets))
            if found.fun < least:
                least = float(found.fun)
                best = replace(tested, weights=tuple(few_digits(Fraction(budget)) for budget in at(found.x).tolist()))
        return best
