"""The interval of a mean of figures in [0, 1]: its coverage, exactly, and its ends by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from synthrelease.studio.rehearsal.attempts import Looks, bounded_mean, clopper_pearson, narrow_mean


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


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.3, 0.35), (0.0, 0.4), (0.8, 1.0)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_figures_with_two_values_are_covered_whoever_has_which_expectation(low: float, high: float, level: float) -> None:
    """Exactly: 5 figures that are the high value with one probability, and 4 with another, as of two configurations."""
    ends = {ones: narrow_mean([high] * ones + [low] * (9 - ones), level) for ones in range(10)}  # in any order
    for one in np.linspace(0, 1, 21):
        for other in np.linspace(0, 1, 21):
            mean = low + (high - low) * (5 * one + 4 * other) / 9
            law = np.convolve(binom.pmf(range(6), 5, one), binom.pmf(range(5), 4, other))
            missed = [ones for ones, (start, end) in ends.items() if not start - 1e-12 <= mean <= end + 1e-12]
            assert law[missed].sum() <= 1 - level + 1e-12


def test_chances_that_do_not_differ_need_a_quarter_of_the_attempts() -> None:
    """By hand: with everything put on each, 24 figures of 0.32 win (0.32 / m)^24 / 3 and more."""
    looks = Looks(planned=96)
    assert looks.after == (24, 48, 96)
    low, high = looks.mean([0.32] * 24)
    assert high - low < 0.25
    assert low > 0.32 * (0.0075 / 6) ** (1 / 24)
    coins = looks.mean([1.0, 0.0] * 12)
    assert coins[1] - coins[0] > 0.5
    assert looks.mean([1.0, 0.0] * 48) == bounded_mean([1.0, 0.0] * 48, 0.965)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.7, 0.98])
def test_whoever_stops_when_he_likes_is_misled_as_seldom_as_promised(share: float) -> None:
    """Exactly, for coins: the probability that any of three looks at 12, 24 and 48 tosses misses the share."""
    looks = Looks(planned=48, level=0.6)
    still = {0: 1.0}  # numbers of heads, with the probability of those that no look has missed so far
    for before, after in zip((0, *looks.after), looks.after, strict=False):
        more = binom.pmf(range(after - before + 1), after - before, share)
        found: dict[int, float] = {}
        for heads, likely in still.items():
            for added, each in enumerate(more):
                found[heads + added] = found.get(heads + added, 0.0) + likely * each
        ends = {heads: looks.mean([1.0] * heads + [0.0] * (after - heads)) for heads in found}
        still = {heads: likely for heads, likely in found.items() if ends[heads][0] <= share <= ends[heads][1]}
    assert math.fsum(still.values()) >= 0.6
