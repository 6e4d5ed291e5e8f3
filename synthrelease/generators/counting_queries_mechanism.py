"""The private half of MWEM and PEP: the worst of the model's answers is chosen, and one count is measured, again and again.

Private: the exact counts of all queries of the pool, and the model's errors in them. Out: chosen queries and noisy counts,
public.

Guarantee: `iterations` choices and as many counts, each at its part (`PaperLaplace`: epsilons, `adaptive_mechanism.Gaussian`:
rhos); neighbours replace one record. That moves a count by at most 1, and so the error |count - round(n share)| of a query:
sensitivity 1 of both. Errors and counts are whole numbers; adaptive composition.
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
    """With the choice of MWEM's paper."""

    selector: ClassVar[str] = "exponential"


class QueryAnswers(Budgeted):
    """The answers to all queries of a pool, closed behind a budget.

    Parameters
    ----------
    kind : what choices and counts are made by; its parts are epsilons or rhos.

    Privacy
    -------
    The budget pays for all answers, whatever is asked (theory 12.10, a budget that answers share out). The counts are looked at
    with the error |count - expected| of every query, and with one count: integers, since what is expected is public. Replacing
    one record moves a count by at most 1, and so an error.
    """

    def __init__(self, counts: Counts, budget: Fraction, entropy: SystemEntropy, pool: QueryPool, kind: type[PrivateTables]):
        super().__init__(budget, entropy)
        self._exact, self._kind = exact_answers(counts, pool), kind

    def worst(self, expected: np.ndarray, part: Fraction) -> int:
        """Return the number of a query whose count is far from the expected one, for this part of the budget."""
        self._take(part)
        errors = opaque(lambda: np.abs(self._exact - expected).tolist())
        return opaque(lambda: self._kind.chosen(errors, sensitivity=1, part=part, entropy=self._entropy))

    def count(self, number: int, part: Fraction) -> int:
        """Return the noisy count of a query, for this part of the budget."""
        self._take(part)
        return int(opaque(lambda: self._kind.noisy(self._exact[[number]], sensitivity=1, part=part, entropy=self._entropy))[0])


def answered(
    counts: Counts, budget: Fraction, entropy: SystemEntropy, pool: QueryPool, kind: type[PrivateTables]
) -> QueryAnswers:
    """Close private counts behind a budget: the charge covers every answer, and nothing else comes out."""
    return QueryAnswers(counts, budget, entropy, pool, kind)


def exact_answers(counts: Counts, pool: QueryPool) -> np.ndarray:
    """Return (n_queries,) exact integer answers."""
    marginals = lattice(counts)
    return np.concatenate([marginals.get(columns).ravel()[cells] for columns, cells in pool.tables])
