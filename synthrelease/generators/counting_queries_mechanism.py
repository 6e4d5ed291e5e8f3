"""The private half of MWEM and PEP: the worst of the model's answers is chosen, and one count is measured, again and again.

Private: the exact counts of all queries of the pool, and the model's errors in them. Out: the model, a function of chosen
queries and noisy counts, public.

Guarantee: `iterations` choices and as many counts, each at its part (`PaperLaplace`: epsilons, `adaptive.mechanism.Gaussian`:
rhos); neighbours replace one record. That moves a count by at most 1, and so the error |count - round(n share)| of a query:
sensitivity 1 of both. Errors and counts are whole numbers; adaptive composition.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import lattice
from synthrelease.generators.adaptive_mechanism import Laplace, PrivateTables
from synthrelease.generators.counting_queries import NoisyAnswers, QueryPool, Shares, Update, correct
from synthrelease.privacy.noise import SystemEntropy


class PaperLaplace(Laplace):
    """With the choice of MWEM's paper."""

    selector: ClassVar[str] = "exponential"


def answer(
    counts: Counts,
    pool: QueryPool,
    free: np.ndarray,
    steps: type[PrivateTables],
    part: Fraction,
    entropy: SystemEntropy,
    iterations: int,
    inner: int,
    update: Update,
) -> Shares:
    """Run all iterations.

    Parameters
    ----------
    free : the plausible cells.
    steps, part : what each of an iteration's two steps is made by, and its part of the budget.

    Privacy
    -------
    The counts are looked at by the `steps` alone, `iterations` times each, with the error |count - round(n share)| of every
    query and with one count: integers, since the only floats are the model's shares, which are public. Replacing one record
    moves a count by at most 1, and so an error. Between them everything is post-processing of noisy counts.
    """
    exact, n, model, answers = exact_answers(counts, pool), counts.total, Shares(free), NoisyAnswers()
    for _ in range(iterations):
        wanted = np.rint(n * pool.shares(model)).astype(np.int64)
        number = steps.chosen(np.abs(exact - wanted).tolist(), sensitivity=1, part=part, entropy=entropy)
        answers.add(number, int(steps.noisy(exact[[number]], sensitivity=1, part=part, entropy=entropy)[0]) / n)
        correct(model, pool, answers, inner, update)
    return model


def exact_answers(counts: Counts, pool: QueryPool) -> np.ndarray:
    """(n_queries,) exact integer answers."""
    marginals = lattice(counts)
    return np.concatenate([marginals.get(columns).ravel()[places] for columns, places in pool.tables])
