"""One try of an allocation: a whole round on a public population, with its exact figures, judged as smoothly as can be."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.criteria.marginals import RelativeMarginalError
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.rehearsal.allocation.populations import Populations
from synthrelease.rehearsal.attempts import exact_scores, passing
from synthrelease.releasing.attempt import generate, prepare
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class Try:
    """What came of one round.

    Attributes
    ----------
    population, number : which table it was made of, and which noise.
    excess : how far the least slack is above the joint test's margin, in scales of the test's noise; -inf without a candidate.
    good : whether every figure, without noise, is at or below its threshold.
    aspects : how far every aspect of the criteria is from failing, in sensitivities (`aspects_of`); empty without a candidate.
    reached : per criterion whether its slack is at least the margin.
    """

    population: int
    number: int
    excess: float
    good: bool
    aspects: tuple[float, ...]
    reached: tuple[bool, ...]

    def chance(self, scale: float = 1.0) -> float:
        """Probability over the test's noise, widened by this factor, that the candidate passes."""
        if not math.isfinite(self.excess):
            return float(self.excess > 0)
        return passing(0.0, self.excess, scale, Fraction(1))


class NoiseOfOnePart(SeededEntropy):
    """Of the measurements, which come in a fixed order, some have noise and all others none.

    The noise of a number is its standard deviation, times a factor, up or down by a coin: its second moment, which is asked
    for, is then that of every draw, where draws of Laplace noise would have to be many.

    Parameters
    ----------
    loud : which of the measurements, in their order.
    """

    def __init__(self, *key: int, loud: Collection[int], factor: float):
        super().__init__(*key)
        self._loud, self._factor, self._asked = frozenset(loud), factor, 0

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._moved(
            values, 1 / (math.sqrt(2) * math.sinh(1 / (2 * scale)))
        )  # of the difference of two geometric variables

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._moved(values, scale)

    def _moved(self, values: np.ndarray, deviation: float) -> np.ndarray:
        self._asked += 1
        signs = 2 * self._generator.integers(0, 2, len(values)) - 1
        noise = np.rint(signs * self._factor * deviation) if self._asked - 1 in self._loud else np.zeros(len(values))
        return np.asarray(values, dtype=np.int64) + noise.astype(np.int64)


@one_thread
def run_tries(
    spec: ReleaseSpec,
    populations: Populations,
    seed: int,
    population: int,
    numbers: Sequence[int],
    loud: Collection[int] | None = None,
    factor: float = 1,
) -> list[Try]:
    """Rounds of a specification on one population. Public data only.

    Noise hangs on seed, population and number alone, and the draws of `SeededEntropy` are the same up to their scale: two
    allocations of one specification differ by how large the same noise is, so that few tries tell which is better.

    Parameters
    ----------
    loud, factor : which measurements have noise, and how much more than theirs (`NoiseOfOnePart`); None for a release's noise.
    """
    table, priors = populations.of(population)
    public = PrivateCounts(table, Meter(()))
    found = []
    for number in numbers:
        key = (seed, 2, population, number)
        noise = SeededEntropy(*key) if loud is None else NoiseOfOnePart(*key, loud=loud, factor=factor)
        whole = public.with_plan(spec.plan.once).rehearsed(noise)
        prepared = prepare(spec, whole, priors)
        entropy = SeededEntropy(seed, 3, population, number)
        excess, good, reached = -math.inf, False, (False,) * len(spec.criteria)
        try:
            merged, candidate = generate(spec, spec.space[number % len(spec.space)], whole.rehearsed(entropy), prepared)
            scores, slacks = exact_scores(spec, merged, candidate, prepared)
            aspects = aspects_of(spec, table, candidate, slacks)
        except RejectedRound:
            scores, slacks, aspects = [], [], ()
        if scores and spec.joint_test is not None:
            test = spec.joint_test
            excess = (min(slacks) - test.margin) * float(test.epsilon)
            good = all(score.value <= criterion.threshold for criterion, score in zip(spec.criteria, scores, strict=True))
            reached = tuple(slack >= test.margin for slack in slacks)
        found.append(Try(population=population, number=number, excess=excess, good=good, aspects=aspects, reached=reached))
    return found


def aspects_of(spec: ReleaseSpec, public: Counts, candidate: Candidate, slacks: Sequence[float]) -> tuple[float, ...]:
    """The slack of every criterion, and in place of that of ratios the slack of every bin.

    The slack of ratios is the least of those of all bins. Noise of a bin that is not the nearest one to its limit takes nothing
    from it as long as it is small, and much when it is large; what it takes from the bin's own goes with the noise.
    """
    from synthrelease.criteria.marginals_mechanism import bins_inside, one_way

    found: list[float] = []
    for criterion, slack in zip(spec.criteria, slacks, strict=True):
        if isinstance(criterion, RelativeMarginalError):
            binned = public.merge(candidate.transformation.layout, candidate.transformation.maps)
            found += bins_inside(one_way(binned), one_way(candidate.counts), criterion.threshold).tolist()
        else:
            found.append(slack)
    return tuple(found)


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
