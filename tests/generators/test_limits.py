"""Limits of sums of noise against the exact law, summed up cell by cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace, RoundedGaussian
from synthrelease.generators.measurements import Parts, noise_limit

LAPLACE, GAUSSIAN = DiscreteLaplace, RoundedGaussian
PARTS: list[Parts] = [
    ((LAPLACE(2.0), 1, 1),),
    ((LAPLACE(2.0), 1, 5),),
    ((LAPLACE(1.5), 3, 2),),
    ((LAPLACE(2.0), 1, 3), (LAPLACE(0.7), 2, 2)),
    ((LAPLACE(5.0), 1, 1), (LAPLACE(1.0), 8, 1)),
    ((GAUSSIAN(0.5), 1, 1),),
    ((GAUSSIAN(2.0), 1, 1),),
    ((GAUSSIAN(2.0), 1, 5),),
    ((GAUSSIAN(0.5), 1, 4), (GAUSSIAN(1.5), 3, 2)),
    ((LAPLACE(2.0), 1, 2), (GAUSSIAN(4.0), 2, 2)),
]


def probabilities(noise: CountNoise, reach: int) -> np.ndarray:
    """Of -reach, ..., reach, from what the noise is defined as."""
    z = np.arange(-reach, reach + 1.0)
    if isinstance(noise, DiscreteLaplace):
        a = math.exp(-1 / noise.scale)
        return (1 - a) / (1 + a) * a ** np.abs(z)
    return norm.sf((np.abs(z) - 0.5) / noise.scale) - norm.sf((np.abs(z) + 0.5) / noise.scale)


def law(parts: Parts) -> np.ndarray:
    """Probabilities of -m, ..., m of the sum, by convolution: one noise after the other."""
    found = np.ones(1)
    for noise, weight, count in parts:
        reach = math.ceil(45 * noise.scale)
        one = np.zeros(2 * reach * weight + 1)
        one[::weight] = probabilities(noise, reach)
        for _ in range(count):
            found = np.convolve(found, one)
    return found


def beyond(probabilities: np.ndarray, limit: int) -> float:
    """Pr[|sum| > limit]."""
    middle = len(probabilities) // 2
    return float(probabilities[: middle - limit].sum() + probabilities[middle + limit + 1 :].sum())


@pytest.mark.parametrize("risk", [0.2, 1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_a_limit_holds_at_its_risk_and_no_smaller_one_would(parts: Parts, risk: float) -> None:
    exact, limit = law(parts), noise_limit(parts, risk)
    assert beyond(exact, limit) <= risk
    if risk > 1e-6 or parts[0][1:] == (1, 1) and len(parts) == 1:
        # from the law itself, and not from Markov's inequality: the next smaller value that the sum can have is too small
        smaller = max((value for value in range(limit) if exact[len(exact) // 2 + value] > 1e-15), default=None)
        assert smaller is None or beyond(exact, smaller) > risk - 2e-8


def test_sums_that_fit_on_no_grid_have_a_limit_all_the_same() -> None:
    heavy: Parts = ((LAPLACE(300.0), 2000, 50),)
    limit, deviation = noise_limit(heavy, 1e-3), math.sqrt(50 * 2) * 300 * 2000
    assert 3.29 * deviation < limit < 4.3 * deviation  # normal: 3.29; Markov's inequality takes about a sixth more


def test_gaussian_sums_that_fit_on_no_grid_have_a_limit_as_far_out_as_the_normal_law_and_its_moments_allow() -> None:
    heavy: Parts = ((GAUSSIAN(300.0), 2000, 50),)
    limit, deviation = noise_limit(heavy, 1e-3), math.sqrt(50) * 300 * 2000
    assert 3.29 * deviation < limit < math.sqrt(2 * math.log(2 / 1e-3)) * deviation * 1.001  # Chernoff's bound of a normal law


@pytest.mark.parametrize(
    "noise", [LAPLACE(0.4), LAPLACE(3.0), GAUSSIAN(0.4), GAUSSIAN(1.0), GAUSSIAN(2.5), GAUSSIAN(20.0)], ids=str
)
def test_characteristic_function_moments_and_variance_are_those_of_the_probabilities(noise: CountNoise) -> None:
    reach = math.ceil(60 * noise.scale)
    z, law_of_noise = np.arange(-reach, reach + 1.0), probabilities(noise, reach)
    angles = np.array([0.0, 0.01, 0.5, 2.0, 3.0, 7.0, 40.0])
    exact = (law_of_noise * np.cos(angles[:, None] * z)).sum(axis=1)
    assert np.exp(noise.log_characteristic(angles)) == pytest.approx(exact, abs=1e-12)
    h = np.array([0.05, 0.3]) / noise.scale
    moments = (law_of_noise * np.exp(h[:, None] * z)).sum(axis=1)
    assert (np.exp(noise.log_moment(h)) >= moments * (1 - 1e-12)).all()
    assert np.exp(noise.log_moment(h)) == pytest.approx(moments, rel=0.02 if noise.scale < 0.5 else 1e-6)
    assert noise.variance == pytest.approx((law_of_noise * z**2).sum(), rel=1e-9)
