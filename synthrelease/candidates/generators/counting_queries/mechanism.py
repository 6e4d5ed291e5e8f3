"""The private half of MWEM and PEP: the worst of the model's answers is chosen, and one count is measured, again and again.

Private: the exact counts of all queries of the pool, and the model's errors in them. Out: the model, a function of chosen
queries and noisy counts, public.

Guarantee: `iterations` choices and as many counts, each at its part (`PureSteps`: epsilons, `ConcentratedSteps`: rhos);
neighbours replace one record. That moves a count by at most 1, and so the error |count - round(n share)| of a query:
sensitivity 1 of both. Errors and counts are whole numbers; adaptive composition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.accounting.renyi import root_down
from synthrelease.candidates.generators.counting_queries import NoisyAnswers, QueryPool, Shares, Update, correct
from synthrelease.domain.counts import Counts
from synthrelease.domain.lattice import lattice
from synthrelease.randomness import SystemEntropy, choose, discrete_laplace, rounded_gaussian


@dataclass(frozen=True, kw_only=True)
class PrivateSteps:
    """The two private steps of an iteration, on exact integers of sensitivity 1, each at this part of the budget."""

    part: Fraction
    entropy: SystemEntropy

    def choose(self, errors: Sequence[int]) -> int:
        """Index of a large one among the integer errors of all queries."""
        raise NotImplementedError

    def measure(self, count: int) -> int:
        """An exact count with noise."""
        raise NotImplementedError


class PureSteps(PrivateSteps):
    """Parts are epsilons."""

    def choose(self, errors: Sequence[int]) -> int:
        return choose(errors, sensitivity=1, epsilon=self.part, mechanism="exponential", entropy=self.entropy)

    def measure(self, count: int) -> int:
        return int(discrete_laplace(np.array([count]), sensitivity=1, epsilon=self.part, entropy=self.entropy)[0])


class ConcentratedSteps(PrivateSteps):
    """Parts are rhos."""

    def choose(self, errors: Sequence[int]) -> int:
        """epsilon_0^2 / 8 = part, rounded down: the mechanism has bounded range (Cesar & Rogers 2021, Lemma 4)."""
        epsilon = root_down(8 * self.part)
        return choose(errors, sensitivity=1, epsilon=epsilon, mechanism="exponential", entropy=self.entropy)

    def measure(self, count: int) -> int:
        return int(rounded_gaussian(np.array([count]), squared_sensitivity=1, rho=self.part, entropy=self.entropy)[0])


def answer(
    counts: Counts, pool: QueryPool, free: np.ndarray, steps: PrivateSteps, iterations: int, inner: int, update: Update
) -> Shares:
    """Run all iterations.

    Parameters
    ----------
    counts : the private table.
    free : the plausible cells.

    Privacy
    -------
    The counts are looked at in `steps` alone, `iterations` times each, with the error |count - round(n share)| of every query
    and with one count: integers, since the only floats are the model's shares, which are public. Replacing one record moves a
    count by at most 1, and so an error. Between them everything is post-processing of noisy counts.
    """
    exact, n, model, answers = exact_answers(counts, pool), counts.total, Shares(free), NoisyAnswers()
    for _ in range(iterations):
        wanted = np.rint(n * pool.shares(model)).astype(np.int64)
        number = steps.choose(np.abs(exact - wanted).tolist())
        answers.add(number, steps.measure(int(exact[number])) / n)
        correct(model, pool, answers, inner, update)
    return model


def exact_answers(counts: Counts, pool: QueryPool) -> np.ndarray:
    """(n_queries,) exact integer answers."""
    marginals = lattice(counts)
    return np.concatenate([marginals.get(columns).ravel()[places] for columns, places in pool.tables])
