"""What counts of hits prove: against scipy's exact intervals, and against the exact law of the counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.whole.drawn.cases import Hits, draws_to_find, lower_bounds, proven, upper_bounds


@pytest.mark.parametrize("draws", [1, 17, 400])
def test_bounds_are_those_of_the_exact_binomial_interval(draws: int) -> None:
    hits = np.unique([0, 1, draws // 3, draws - 1, draws])
    low, high = lower_bounds(hits, draws, 0.005), upper_bounds(hits, draws, 0.005)
    for i, k in enumerate(hits):
        interval = stats.binomtest(int(k), draws).proportion_ci(0.99, method="exact")
        assert low[i] == pytest.approx(interval.low, abs=1e-12)
        assert high[i] == pytest.approx(interval.high, abs=1e-12)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.6, 0.2), (0.4, 0.3), (1.0, 0.4)])
def test_a_proven_epsilon_is_too_large_at_most_as_often_as_is_said(p: float, q: float) -> None:
    """Summed over all pairs of counts of 60 draws; the bounds waste some of the error, but not most of their width."""
    draws, error = 60, 0.02
    counts = np.arange(draws + 1)
    left, right = stats.binom.pmf(counts, draws, p), stats.binom.pmf(counts, draws, q)
    wrong = sum(
        left[h] * right[k]
        for h in counts
        for k in counts
        if proven(Hits(hits=h, draws=draws), Hits(hits=k, draws=draws), error) > math.log(p / q) + 1e-12
    )
    assert wrong <= error
    typical = proven(Hits(hits=round(60 * p), draws=60), Hits(hits=round(60 * q), draws=60), error)
    assert typical > math.log(p / q) - 1.2


def test_nothing_is_proven_without_a_hit() -> None:
    assert proven(Hits(hits=0, draws=100), Hits(hits=0, draws=100), 0.01) == -math.inf


@pytest.mark.parametrize("mechanism", ["Laplace noise", "permute-and-flip"])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_the_planned_draws_find_a_scale_that_is_a_tenth_too_small(epsilon: float, mechanism: str) -> None:
    """The counts of the best event, simulated: found in 99% of audits after these draws, in few after a quarter."""
    generator, error, a = np.random.default_rng(5), 1e-6, math.exp(-epsilon / 0.9)
    more, less = (1 / (1 + a), a / (1 + a)) if mechanism == "Laplace noise" else (1 / 2, a / 2)

    def found(draws: int) -> float:
        hits = generator.binomial(draws, [[more], [less]], (2, 500))
        low, high = lower_bounds(hits[0], draws, error / 2), upper_bounds(hits[1], draws, error / 2)
        return float((np.log(low / high) > epsilon).mean())

    draws = draws_to_find(more, less, epsilon, error=error)
    assert found(draws) >= 0.99
    assert found(draws // 4) < 0.5
