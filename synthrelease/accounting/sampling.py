"""What a member of a population is promised by a release from a simple random sample of it.

Theory 11.3, amplification by a subset. It is a sentence for documents, and nothing else: no charge, no plan and no ledger is
ever less because of it.
"""

from __future__ import annotations

from fractions import Fraction

from synthrelease.accounting.guarantee import Loss
from synthrelease.accounting.renyi import exp_up, log_up
from synthrelease.accounting.selection import tidy_up

_PRECISE = 1000
"""Above this epsilon nothing is computed: it stands as it is, which is never too little."""


def of_the_population(loss: Loss, sampled: int, population: int) -> Loss:
    """(ln(1 + beta (e^epsilon - 1)), beta delta), beta = sampled / population, rounded up; never more than the loss itself.

    Parameters
    ----------
    loss : of the whole release, for replacing one record of the file. Never that of one of its parts.
    sampled, population : records of the file, and those that it was drawn from: a simple random sample without replacement, of
        fixed size, each record at most once.

    Raises
    ------
    ValueError : for a sample of no records, or of more than there are.
    """
    if not 0 < sampled <= population:
        raise ValueError("a simple random sample has at least one record and at most those of the population")
    share = Fraction(sampled, population)
    if loss.epsilon > _PRECISE:
        return Loss(loss.epsilon, tidy_up(share * loss.delta))
    epsilon = log_up(1 + share * (exp_up(loss.epsilon) - 1))
    return Loss(min(loss.epsilon, epsilon), min(loss.delta, tidy_up(share * loss.delta)))
