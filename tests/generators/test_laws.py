"""The law of a weighted sum of noises, against the law of every outcome, convolved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from synthrelease.generators.measured_noise import DiscreteLaplace, Noises, RoundedGaussian, half_width

Law = dict[float, float]


def noises_of(scales: np.ndarray, counts: np.ndarray) -> Noises:
    """Laplace noises of these scales, and Gaussian ones of those below 0."""
    each = [DiscreteLaplace(scale) if scale > 0 else RoundedGaussian(-scale) for scale in scales.tolist()]
    laws = tuple(dict.fromkeys(each))
    return Noises(laws=laws, law=np.array([laws.index(noise) for noise in each]), count=counts)


def noise_law(scale: float) -> Law:
    """Of Laplace noise; of Gaussian noise where the scale is below 0."""
    reach = int(40 * abs(scale)) + 5
    if scale < 0:
        return {
            float(z): float(norm.sf((abs(z) - 0.5) / -scale) - norm.sf((abs(z) + 0.5) / -scale))
            for z in range(-reach, reach + 1)
        }
    a = math.exp(-1 / scale)
    return {float(z): (1 - a) / (1 + a) * a ** abs(z) for z in range(-reach, reach + 1)}


def law_of(parts: list[tuple[float, float, int]]) -> Law:
    """Of the sum of weight * (z_1 + ... + z_count) over (scale, weight, count), by going through all values."""
    whole: Law = {0.0: 1.0}
    for scale, weight, count in parts:
        for _ in range(count):
            added: Law = {}
            for one, probability in whole.items():
                for z, other in noise_law(scale).items():
                    value = round(one + weight * z, 9)
                    added[value] = added.get(value, 0.0) + probability * other
            whole = {value: probability for value, probability in added.items() if probability > 1e-13}
    return whole


CASES = [
    [(3.0, 1.0, 1)],
    [(3.0, 1.0, 2)],
    [(0.7, 1.0, 1)],
    [(2.0, 1.0, 1), (1.0, -0.5, 1)],
    [(2.0, 0.75, 2), (4.0, 0.25, 1)],
    [(-3.0, 1.0, 1)],
    [(-2.0, 0.75, 2), (1.0, -0.5, 1)],
]


@pytest.mark.parametrize("parts", CASES)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_it_holds_the_stated_share_of_all_outcomes_and_not_much_more(
    parts: list[tuple[float, float, int]], confidence: float
) -> None:
    noises = noises_of(np.array([p[0] for p in parts]), np.array([p[2] for p in parts]))
    weights = np.array([p[1] for p in parts])
    width = half_width(noises, weights, 0.0, confidence)
    law = law_of(parts)

    def inside(limit: float) -> float:
        return sum(probability for value, probability in law.items() if abs(value) <= limit + 1e-9)

    step = float(np.abs(weights).max())
    assert inside(width) >= confidence - 1e-6
    assert inside(width - 2 * step) < confidence  # two steps of the coarsest lattice less would be too narrow
    variance = sum(value**2 * probability for value, probability in law.items())
    assert (weights**2 * noises.variances).sum() == pytest.approx(variance, rel=1e-6)


def test_a_normal_error_alone_has_the_normal_quantile() -> None:
    none = noises_of(np.array([1.0]), np.array([0]))
    assert half_width(none, np.ones(1), 4.0, 0.95) == pytest.approx(2 * norm.ppf(0.975), rel=1e-4)


def test_noise_and_a_normal_error_add_up() -> None:
    """Against the sum over the noise's values of the normal law around each."""
    noises = noises_of(np.array([5.0]), np.array([1]))
    width = half_width(noises, np.ones(1), 30.0, 0.95) - 0.5  # half a step is added for a lattice, of which there is none here
    held = sum(
        p * float(norm.cdf((width - z) / math.sqrt(30)) - norm.cdf((-width - z) / math.sqrt(30)))
        for z, p in noise_law(5.0).items()
    )
    assert held == pytest.approx(0.95, abs=1e-4)


def test_many_different_weights_keep_their_variance() -> None:
    random = np.random.default_rng(0)
    weights = random.normal(size=3000)
    noises = noises_of(np.full(3000, 4.0), np.ones(3000, dtype=np.int64))
    sd = math.sqrt(float((weights**2 * noises.variances).sum()))
    assert half_width(noises, weights, 0.0, 0.95) == pytest.approx(1.96 * sd, rel=0.01)


@pytest.mark.parametrize("scales", [np.linspace(2.0, 40.0, 30), -np.linspace(2.0, 40.0, 30), np.array([300.0, 1.0, -0.6])])
def test_noises_of_many_scales_against_the_whole_integral(scales: np.ndarray) -> None:
    """Every noise by itself at every frequency: nothing is left out, summed together, or ordered."""
    noises, weights = noises_of(scales, np.ones(len(scales), dtype=np.int64)), np.linspace(0.5, 1.5, len(scales))
    width, largest = half_width(noises, weights, 0.0, 0.95), float(weights.max())
    sd = math.sqrt(float((weights**2 * noises.variances).sum()))
    angles = (np.arange(40_000) + 0.5) * 0.01 / sd
    law = np.exp(sum(noises.laws[kind].log_characteristic(w * angles) for kind, w in zip(noises.law, weights, strict=True)))
    held = (2 / np.pi) * (np.sin(angles * (width - largest / 2)) * law * np.sinc(angles * largest / (2 * np.pi)) / angles).sum()
    assert held * 0.01 / sd == pytest.approx(0.95, abs=3e-5)
