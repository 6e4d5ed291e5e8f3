"""Generalised Cauchy noise: its law, what a slide and a dilation cost, exact losses, and why gamma below 2 is refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

from tests.reproduction.cauchy_noise import CauchyNoise, draws, slide_cost, variance

LN2, LN3 = math.log(2), math.log(3)


def log_density(x: np.ndarray, gamma: float) -> np.ndarray:
    """ln of the density, of integral 1: gamma sin(pi / gamma) / (2 pi (1 + |x|^gamma))."""
    return math.log(gamma * math.sin(math.pi / gamma) / (2 * math.pi)) - np.log1p(np.abs(x) ** gamma)


def exact_loss(shift: float, dilation: float, gamma: float) -> float:
    """The largest |ln P/P'| of X against shift + dilation X: on a grid as fine as the density is smooth, and at infinity."""
    near = np.linspace(-60, 60, 24_001)
    x = np.concatenate([near, shift + dilation * near, shift + near, [0.0, shift]])
    first = log_density(x, gamma)
    second = log_density((x - shift) / dilation, gamma) - math.log(dilation)
    return max(float(np.abs(first - second).max()), (gamma - 1) * abs(math.log(dilation)))


@pytest.mark.parametrize("gamma", [2.0, 2.5, 3.2, 4.0, 7.0])
def test_the_density_has_integral_one_and_the_variance_of_the_formula(gamma: float) -> None:
    total = integrate.quad(lambda x: math.exp(log_density(np.array(x), gamma)), -np.inf, np.inf)[0]
    assert total == pytest.approx(1, abs=1e-7)
    if gamma > 3:
        second = integrate.quad(lambda x: x * x * math.exp(log_density(np.array(x), gamma)), 0, np.inf, limit=200)[0]
        assert 2 * second == pytest.approx(variance(gamma), rel=1e-4)
    else:
        assert variance(gamma) == math.inf


def test_the_variance_is_one_at_four() -> None:
    assert variance(4) == pytest.approx(1)


@pytest.mark.parametrize("gamma", [2.0, 2.5, 4.0])
def test_draws_have_the_density(gamma: float) -> None:
    found = draws(gamma, 4000, np.random.default_rng(3))
    edges = np.array([-np.inf, -5, -2, -1, -0.5, 0, 0.5, 1, 2, 5, np.inf])
    masses = [
        integrate.quad(lambda x: math.exp(log_density(np.array(x), gamma)), low, high)[0]
        for low, high in zip(edges[:-1], edges[1:], strict=True)
    ]
    observed = np.histogram(found, edges)[0]
    assert stats.chisquare(observed, np.array(masses) / sum(masses) * len(found)).pvalue > 1e-6
    wrong = np.histogram(1.15 * found, edges)[0]
    assert stats.chisquare(wrong, np.array(masses) / sum(masses) * len(found)).pvalue < 1e-4


@pytest.mark.parametrize("gamma", [2.0, 2.3, 3.5, 6.0])
def test_a_slide_and_a_dilation_cost_what_is_said_and_not_less(gamma: float) -> None:
    """For gamma of at least 2 the steepest part of the density sets both: nearly reached by small shifts, and in the tail."""
    for shift in (0.01, 0.5, 3.0):
        assert exact_loss(shift, 1, gamma) <= slide_cost(gamma) * shift * (1 + 1e-9)
    assert exact_loss(0.01, 1, gamma) >= 0.99 * slide_cost(gamma) * 0.01
    for rate in (0.1, LN2, LN3):
        assert exact_loss(0, math.exp(rate), gamma) == pytest.approx((gamma - 1) * rate)


def with_gamma(epsilon: float, beta: float, gamma: float) -> CauchyNoise:
    """The smallest scale that a gamma allows: alpha = (epsilon - beta (gamma - 1)) / (gamma - 1)^(1 - 1/gamma)."""
    return CauchyNoise(gamma=gamma, alpha=(epsilon - beta * (gamma - 1)) / slide_cost(gamma), beta=beta)


def heaviest_tails(epsilon: float, beta: float) -> CauchyNoise:
    return with_gamma(epsilon, beta, 2.0)


PRINTED, HEAVY = CauchyNoise.printed, heaviest_tails


@pytest.mark.parametrize(
    ("epsilon", "law"),
    [
        (2 * LN2, PRINTED), (2.0, PRINTED), (6 * LN2, PRINTED),
        (0.75, HEAVY), (1.0, HEAVY), (2 * LN2, HEAVY), (3.0, HEAVY),
    ],
)  # fmt: skip
def test_the_loss_between_neighbours_stays_below_epsilon(epsilon: float, law: Callable[[float, float], CauchyNoise]) -> None:
    """S and the figure move as far as they may: S by the factor e^beta up or down, the figure by the smaller S."""
    noise = law(epsilon, LN2)
    assert noise.epsilon <= epsilon * (1 + 1e-12)
    worst = 0.0
    for smooth, other in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0)):
        scale, dilation = smooth / noise.alpha, other / smooth
        for moved in np.linspace(0, min(smooth, other), 6):  # the local sensitivity is at most S of either table
            worst = max(worst, exact_loss(moved / scale, dilation, noise.gamma))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst > 0.6 * epsilon  # the worst places of a slide and of a dilation are not the same


def test_the_printed_mechanism_passes_its_epsilon_where_gamma_is_below_2() -> None:
    """Two donors of nine donees each: without one of them L_1 goes from 9 to 18. At epsilon 0.5 that is what it costs."""
    gamma = 1 + 0.5 / (2 * LN2)
    assert gamma < 2
    scale, dilation = 10 / LN2, 19 / 10
    assert f"{exact_loss(0, dilation, gamma):.3f}" == "0.642"
    assert f"{exact_loss(10 / scale, dilation, gamma):.3f}" == "0.871"
    for build in (lambda: CauchyNoise.printed(0.5, LN2), lambda: with_gamma(3.0, LN2, 1.9)):
        with pytest.raises(ValueError, match="gamma must be at least 2, not 1."):
            build()
    with pytest.raises(ValueError, match="gamma must be at least 2"):
        CauchyNoise.printed(math.nan, LN2)


def test_a_smaller_scale_is_enough() -> None:
    """The smallest standard deviation of all gammas above 3, beside that of the printed law."""
    for epsilon, best, printed in ((6 * LN2, "1.044", "1.443"), (3.0, "2.038", "3.279")):
        gammas = np.linspace(3.001, 1 + epsilon / LN2, 4000)[:-1]
        assert f"{min(with_gamma(epsilon, LN2, gamma).deviation for gamma in gammas):.3f}" == best
        assert f"{CauchyNoise.printed(epsilon, LN2).deviation:.3f}" == printed
