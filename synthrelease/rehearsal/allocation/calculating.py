"""Weights by calculation: those with which criteria are least likely to fail, all together.

**What noise costs a criterion.** A criterion passes when its slack, how far it is from failing in sensitivities, is above the
margin of the joint test. On public data the slack has a mean without noise, and a variance from the drawing of rows. The noise
of a measured part takes something from it, whose second moment goes with the square of the noise: u / w^p at budget w, with
p = 2 for an epsilon and p = 1 for a rho. Noise of different parts is independent, so to first order

    s_j(w, t)^2 = d_j + 2 / t^2 + sum_i u_ji / w_i^p,    t the epsilon of the test, whose noise has the variance 2 / t^2,

and criterion j is z_j = (slack_j - margin(t)) / s_j deviations from failing. At a normal law it fails with probability
Phi(-z_j), and some criterion fails with at most the sum of these, which the weights are to make as small as a total allows.
(The largest of them alone says too little: of the ratios of sixty bins each would be let fail as often as one mean.)

**Two steps.** In v_i = log w_i the logarithm of s_j^2 is convex (a sum of exponentials), and so is log sum_j z_j^-2, whose
least value leads near. From there the sum itself is made least along its gradient. t is found by trying.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp
from scipy.stats import norm

from synthrelease.rehearsal.allocation.parts import Allocation, Divisible, dearer, few_digits
from synthrelease.releasing.selection import one_thread

_TESTS = tuple(1.15**power for power in range(-10, 11))
"""Factors of the test's epsilon that are tried."""
_REGROUPED = 4
_SEEN = (0.02, 0.98)
"""Between which a share of tries is taken to say how far a criterion is from failing."""
_MOST_CORRECTED = 4.0
_Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Effects:
    """What noise costs criteria on public data.

    Attributes
    ----------
    aspects : the places of the J aspects of criteria that are asked (`trying.aspects_of`).
    slacks : (J,) mean slack without noise.
    drawn : (J,) its variance without noise.
    units : (J, I) second moment of what the noise of a part takes from the slack of a criterion, where each table or sum of the
        part has a budget of 1: an epsilon, or a rho.
    power : with which power of a part's budget the square of its noise falls: 2 of an epsilon, 1 of a rho.
    """

    aspects: tuple[int, ...]
    slacks: np.ndarray
    drawn: np.ndarray
    units: np.ndarray
    power: int = 2

    def deviations(self, budgets: np.ndarray, test: float, margin: float) -> np.ndarray:
        """(J,) how many deviations every criterion is from failing."""
        variance = self.drawn + 2 / test**2 + (self.units / budgets**self.power).sum(axis=1)
        return np.asarray((self.slacks - margin) / np.sqrt(variance))

    def safest(self, numbers: np.ndarray, total: float, test: float, margin: float) -> tuple[float, np.ndarray] | None:
        """The logarithm of the least sum of the chances that a criterion fails, and the (I,) budgets; None where a slack is too
        small.

        Parameters
        ----------
        numbers : (I,) how often each budget is paid.
        total : of all budgets.
        """
        if (self.slacks <= margin).any():
            return None

        def budgets_of(logarithms: np.ndarray) -> np.ndarray:
            budgets = np.exp(logarithms - logarithms.max())
            return np.asarray(budgets * total / (numbers * budgets).sum())

        def sloped(logarithms: np.ndarray, objective: _Objective) -> tuple[float, np.ndarray]:
            budgets = budgets_of(logarithms)
            deviations = self.deviations(budgets, test, margin)
            value, by_deviations = objective(deviations)
            by_costs = by_deviations * deviations**3 / (self.slacks - margin) ** 2  # as z = slack / s, of which s^2 is the sum
            gained = by_costs @ (self.units / budgets**self.power) * self.power / 2
            return value, gained - gained.sum() * numbers * budgets / total

        near = minimize(sloped, np.zeros(len(numbers)), args=(_squares,), jac=True, method="L-BFGS-B").x
        found = minimize(sloped, near, args=(_chances,), jac=True, method="L-BFGS-B")
        return float(found.fun), budgets_of(found.x)

    def corrected(self, apart: Allocation, divisible: Divisible, tried: Allocation, chances: np.ndarray) -> Effects:
        """With what noise costs a criterion as much higher or lower as its share of passes among tries of an allocation says.

        To first order the costs are right in proportion; how far a criterion is from failing is seen by tries.

        Parameters
        ----------
        apart : the parts of these effects.
        chances : per aspect how often it passes.
        """
        budgets = np.array([float(weight) for weight in divisible.in_budgets(tried).weights])
        margin, test = divisible.margin(tried), float(tried.test)
        seen = norm.ppf(np.clip(chances[list(self.aspects)], *_SEEN))
        noise = (self.of_groups(groups_of(tried, apart)).units / budgets**self.power).sum(axis=1)
        still = self.drawn + 2 / test**2
        wanted = ((self.slacks - margin) / seen) ** 2 - still
        factors = np.clip(wanted / noise, 1 / _MOST_CORRECTED, _MOST_CORRECTED)
        unseen = (chances[list(self.aspects)] >= _SEEN[1]) & (factors > 1)
        return replace(self, units=self.units * np.where(unseen | (self.slacks <= margin), 1.0, factors)[:, None])

    def of_groups(self, groups: Sequence[Sequence[int]]) -> Effects:
        """Of groups of these parts that share one noise each (theory 9.18, one noise for many numbers)."""
        units = [float(dearer(len(group))) ** 2 * self.units[:, list(group)].sum(axis=1) for group in groups]
        return replace(self, units=np.array(units).T)


def _squares(deviations: np.ndarray) -> tuple[float, np.ndarray]:
    """log sum_j z_j^-2 of (J,) deviations z, and its slopes."""
    terms = -2 * np.log(deviations)
    value = float(logsumexp(terms))
    return value, -2 * np.exp(terms - value) / deviations


def _chances(deviations: np.ndarray) -> tuple[float, np.ndarray]:
    """log sum_j Phi(-z_j) of (J,) deviations z, and its slopes."""
    value = float(logsumexp(log_ndtr(-deviations)))
    return value, -np.exp(norm.logpdf(deviations) - value)


@one_thread
def calculated(divisible: Divisible, apart: Allocation, effects: Effects) -> Allocation | None:
    """The safest allocation of a total, groups of sums among its choices; None where a slack without noise is too small.

    Parameters
    ----------
    apart : every sum by itself.
    effects : of its parts.
    """
    found = None
    for factor in _TESTS:
        begun = replace(apart, test=few_digits(apart.test * Fraction(factor)))
        for failing, allocation in _grouped(divisible, begun, apart, effects):
            if found is None or failing < found[0]:
                found = failing, allocation
    return None if found is None else found[1]


def _grouped(
    divisible: Divisible, allocation: Allocation, apart: Allocation, effects: Effects
) -> Iterator[tuple[float, Allocation]]:
    """Weights for no groups, for the cheapest groups at these weights, and so on."""
    total, margin = float(divisible.generation(allocation)), divisible.margin(allocation)
    if total <= 0:
        return
    for _ in range(_REGROUPED):
        groups = groups_of(allocation, apart)
        numbers = np.array([part.number for part in allocation.parts], dtype=float)
        safest = effects.of_groups(groups).safest(numbers, total, float(allocation.test), margin)
        if safest is None:
            return
        failing, budgets = safest
        allocation = replace(allocation, weights=tuple(few_digits(Fraction(budget)) for budget in budgets.tolist()))
        yield failing, allocation
        again = allocation.regrouped()
        if {part.texts for part in again.parts} == {part.texts for part in allocation.parts}:
            return
        allocation = again


def groups_of(allocation: Allocation, apart: Allocation) -> list[list[int]]:
    """For each part of an allocation the places of its sums, or its table, in the one that has them by themselves."""
    places = {(part.field, part.text): place for place, part in enumerate(apart.parts)}
    return [[places[part.field, text] for text in part.texts] for part in allocation.parts]
