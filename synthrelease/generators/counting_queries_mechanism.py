"""The private half of MWEM and PEP: privately choose queries with large model errors, and measure their counts with noise.

Private: the exact counts of all queries of the pool, and the model's errors in them. Out: chosen queries and noisy counts,
public.

Guarantee: the costs of `iterations` choices and of the same number of counts add up (adaptive composition). The costs are
epsilons with `PaperLaplace`, and rhos with `adaptive_mechanism.Gaussian`. Neighbours replace one record, which changes a count
by at most 1. So the error |count - round(n share)| of a query also changes by at most 1. The sensitivity of both is 1. Errors
and counts are whole numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import lattice
from synthrelease.enclave.door import opaque
from synthrelease.generators.adaptive_mechanism import Budgeted, Laplace, PrivateTables
from synthrelease.generators.counting_queries import QueryPool
from synthrelease.privacy.noise import SystemEntropy


class PaperLaplace(Laplace):
    """Answers with discrete Laplace noise; choices by the exponential mechanism, as in the paper on MWEM."""

    selector: ClassVar[str] = "exponential"


class QueryAnswers(Budgeted):
    """Hold the exact answers to a list of queries, give noisy answers, and make private choices, within a budget.

    Parameters
    ----------
    kind : the class that draws the noise and makes the choices; parts of the budget are epsilons or rhos.

    Privacy
    -------
    The budget covers all answers, for any questions (theory 12.10, a budget that answers share out). The private counts are
    used in the errors |count - expected| of all queries, and as single counts. All these numbers are integers; the expected
    counts are public. Replacing one record changes a count by at most 1, and therefore changes an error by at most 1.
    """

    def __init__(self, counts: Counts, budget: Fraction, entropy: SystemEntropy, pool: QueryPool, kind: type[PrivateTables]):
        super().__init__(budget, entropy)
        self._exact, self._kind = exact_answers(counts, pool), kind

    def worst(self, expected: np.ndarray, part: Fraction) -> int:
        """Privately choose the index of a query whose expected count is far off, for `part` of the budget."""
        self._take(part)
        errors = opaque(lambda: np.abs(self._exact - expected).tolist())
        return opaque(lambda: self._kind.chosen(errors, sensitivity=1, part=part, entropy=self._entropy))

    def count(self, number: int, part: Fraction) -> int:
        self._take(part)
        return int(opaque(lambda: self._kind.noisy(self._exact[[number]], sensitivity=1, part=part, entropy=self._entropy))[0])


def answered(
    counts: Counts, budget: Fraction, entropy: SystemEntropy, pool: QueryPool, kind: type[PrivateTables]
) -> QueryAnswers:
    """Return an object that holds the exact answers and gives only noisy ones, within `budget`."""
    return QueryAnswers(counts, budget, entropy, pool, kind)


def exact_answers(counts: Counts, pool: QueryPool) -> np.ndarray:
    marginals = lattice(counts)
    return np.concatenate([marginals.get(columns).ravel()[cells] for columns, cells in pool.tables])
