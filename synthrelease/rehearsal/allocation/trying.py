"""One try of an allocation: a whole round on a public population, with its exact figures, judged as smoothly as can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.enclave.door import Meter, PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.randomness import SeededEntropy
from synthrelease.rehearsal.allocation.populations import Populations
from synthrelease.rehearsal.attempts import exact_scores, passing
from synthrelease.releasing.attempt import generate, prepare
from synthrelease.releasing.threads import one_thread
from synthrelease.specification.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class Try:
    """What came of one round.

    Attributes
    ----------
    population, number : which table it was made of, and which noise.
    excess : how far the least slack is above the joint test's margin, in scales of the test's noise; -inf without a candidate.
    good : whether every figure, without noise, is at or below its threshold.
    reached : per criterion whether its slack is at least the margin.
    """

    population: int
    number: int
    excess: float
    good: bool
    reached: tuple[bool, ...]

    def chance(self, scale: float = 1.0) -> float:
        """Probability over the test's noise, widened by this factor, that the candidate passes."""
        if not math.isfinite(self.excess):
            return float(self.excess > 0)
        return passing(0.0, self.excess, scale, Fraction(1))


@one_thread
def run_tries(spec: ReleaseSpec, populations: Populations, seed: int, population: int, numbers: Sequence[int]) -> list[Try]:
    """Rounds of a specification on one population. Public data only.

    Noise hangs on seed, population and number alone, and the draws of `SeededEntropy` are the same up to their scale: two
    allocations of one specification differ by how large the same noise is, so that few tries tell which is better.
    """
    table, priors = populations.of(population)
    public = PrivateCounts(table, Meter(()))
    found = []
    for number in numbers:
        whole = public.with_plan(spec.plan.once).rehearsed(SeededEntropy(seed, 2, population, number))
        prepared = prepare(spec, whole, priors)
        entropy = SeededEntropy(seed, 3, population, number)
        excess, good, reached = -math.inf, False, (False,) * len(spec.criteria)
        try:
            merged, candidate = generate(spec, spec.space[number % len(spec.space)], whole.rehearsed(entropy), prepared)
            scores, slacks = exact_scores(spec, merged, candidate, prepared)
        except RejectedRound:
            scores, slacks = [], []
        if scores and spec.joint_test is not None:
            test = spec.joint_test
            excess = (min(slacks) - test.margin) * float(test.epsilon)
            good = all(score.value <= criterion.threshold for criterion, score in zip(spec.criteria, scores, strict=True))
            reached = tuple(slack >= test.margin for slack in slacks)
        found.append(Try(population=population, number=number, excess=excess, good=good, reached=reached))
    return found


def success(spec: ReleaseSpec, tries: Sequence[Try]) -> np.ndarray:
    """(n,) per try the probability that a release with this luck ends with a table that keeps every threshold.

    A search of several rounds is taken to make one candidate over again: the measurements are the same.
    """
    law = spec.selection_rule.law
    chances = np.array([one.chance() * one.good for one in tries])
    return chances if law is None else 1 - np.asarray(law.nothing(1 - chances), dtype=float)


def smoothed(tries: Sequence[Try], scale: float) -> np.ndarray:
    """(n,) per try the probability to pass, with the test's noise widened: what to climb where nearly all, or none, pass."""
    return np.array([one.chance(scale) for one in tries])
