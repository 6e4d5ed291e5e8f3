"""The interval of a mean of figures in [0, 1]: its coverage, exactly, and its ends by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from synthrelease.rehearsal.intervals import bounded_mean, clopper_pearson


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_coins_are_covered_at_least_as_often_as_promised(trials: int, level: float) -> None:
    """Every share from 0.01 to 0.99: the probability of the numbers of heads whose interval holds it."""
    ends = [bounded_mean([1.0] * heads + [0.0] * (trials - heads), level) for heads in range(trials + 1)]
    for share in np.linspace(0.01, 0.99, 99):
        missed = [heads for heads, (low, high) in enumerate(ends) if not low <= share <= high]
        assert binom.pmf(missed, trials, share).sum() <= 1 - level


def test_figures_between_0_and_1_are_covered_too() -> None:
    """1,000 times the mean of 12 draws from a beta law that is often near 0 or 1, expectation 0.2."""
    draws = np.random.default_rng(5).beta(0.1, 0.4, (1_000, 12))
    ends = np.array([bounded_mean([mean] * 12) for mean in draws.mean(axis=1)])  # the ends depend on the mean alone
    assert np.mean((ends[:, 0] <= 0.2) & (ends[:, 1] >= 0.2)) >= 0.95


def test_the_ends_by_hand() -> None:
    """All of n are 1: Pr[all heads] = M^n = 1/40 at the lower end. None is: the mirror image. Without figures: anything."""
    assert bounded_mean([1.0] * 80) == (pytest.approx(math.exp(-math.log(40) / 80)), 1.0)
    assert bounded_mean([0.0] * 80) == (0.0, pytest.approx(1 - math.exp(-math.log(40) / 80)))
    assert bounded_mean([]) == (0.0, 1.0)
    low, high = bounded_mean([0.25, 0.75])
    assert low == pytest.approx(1 - high)


def test_it_is_not_much_wider_than_clopper_and_pearsons() -> None:
    exact, (low, high) = clopper_pearson(70, 96), bounded_mean([1.0] * 70 + [0.0] * 26)
    assert low <= exact.low < exact.high <= high
    assert high - low < 1.4 * (exact.high - exact.low)
