"""One noise for many numbers has exactly its law: enumerated over what is drawn, and against its definition."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from synthrelease.generators.measured_noise import cube_limit, cube_sd, cube_tail
from synthrelease.privacy import noise as cube_noise
from synthrelease.privacy.noise import SYSTEM, one_noise
from synthrelease.privacy.public_entropy import SeededEntropy

RATES = (Fraction(1, 3), Fraction(5, 4))
MOST = 400


def weights(size: int, rate: Fraction) -> list[float]:
    """Of each largest entry, by counting vectors: those within k less those within k - 1."""
    within = [(2 * k + 1) ** size for k in range(MOST)]
    of_shell = [many - few for many, few in zip(within, [0, *within], strict=False)]
    return [many * math.exp(-float(rate) * k) for k, many in enumerate(of_shell)]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("rate", RATES)
def test_a_radius_and_a_uniform_vector_within_it_are_the_law(size: int, rate: Fraction) -> None:
    """Sum over all radii of at least max|z|: the same share of exp(-rate max|z|) for every vector."""
    radii = [(2 * k + 1) ** size * math.exp(-float(rate) * k) for k in range(MOST)]
    found = [sum(radii[k] / (2 * k + 1) ** size for k in range(largest, MOST)) for largest in range(12)]
    ratios = [one / math.exp(-float(rate) * largest) for largest, one in enumerate(found)]
    assert ratios == pytest.approx([ratios[0]] * 12, rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 9])
def test_what_is_proposed_and_taken_multiply_to_the_law_of_the_radius(size: int) -> None:
    for k in range(60):
        proposed = math.comb(k + size, size)  # ways to write k as a sum of size + 1 numbers
        taken = Fraction((2 * k + 1) ** size, math.prod(2 * k + 2 * j for j in range(1, size + 1)))
        assert taken <= 1
        assert proposed * taken == Fraction((2 * k + 1) ** size, 2**size * math.factorial(size))


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
def test_numbers_that_are_drawn_follow_the_law(rate: Fraction) -> None:
    """Geometric numbers, and the largest entries of vectors: chi-square over bins of at least 20 draws, at 1e-6."""
    draws = 4000
    geometric = Counter(cube_noise.geometric(rate, SYSTEM) for _ in range(draws))
    assert p_value(geometric, [math.exp(-float(rate) * k) for k in range(MOST)], draws) > 1e-6
    vectors = np.array([cube_noise.drawn(3, rate, SYSTEM) for _ in range(draws)])
    assert p_value(Counter(np.abs(vectors).max(axis=1).tolist()), weights(3, rate), draws) > 1e-6
    sd = math.sqrt(sum(w * mean_square(k) for k, w in enumerate(weights(3, rate))) / sum(weights(3, rate)))
    assert vectors.std(axis=0) == pytest.approx([sd] * 3, rel=0.1)


def mean_square(largest: int) -> float:
    """Of one entry of a vector of three whose largest is this, by enumeration of the shell's sums."""
    cube = [sum(z * z for z in range(-k, k + 1)) * (2 * k + 1) ** 2 for k in (largest, largest - 1)]
    size = (2 * largest + 1) ** 3 - (2 * largest - 1) ** 3
    return 0.0 if largest == 0 else (cube[0] - cube[1]) / size


def p_value(seen: Counter[int], shares: list[float], draws: int) -> float:
    expected = [share / sum(shares) * draws for share in shares]
    last = next(k for k in range(MOST) if sum(expected[k:]) < 40)
    observed = [seen[k] for k in range(last)] + [sum(count for k, count in seen.items() if k >= last)]
    wanted = [*expected[:last], sum(expected[last:])]
    return float(stats.chisquare(observed, np.array(wanted) * sum(observed) / sum(wanted)).pvalue)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim_and_one_is_by_as_much(size: int) -> None:
    """All vectors of a small cube, all differences with entries of at most 2: a loss of at most 2 rate, and attained."""
    rate = 0.7
    losses = [
        rate * abs(max(map(abs, z)) - max(abs(a - b) for a, b in zip(z, moved, strict=True)))
        for z in product(range(-3, 4), repeat=size)
        for moved in product(range(-2, 3), repeat=size)
    ]
    assert max(losses) == pytest.approx(2 * rate)


@pytest.mark.parametrize("size", [1, 2, 9, 40])
@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(7), Fraction(60)])
def test_the_law_of_an_entry_is_that_of_all_radii(size: int, scale: Fraction) -> None:
    """Against sums over radii, as far as anything is left of them."""
    k = np.arange(int(80 * scale * (size + 3)) + 60)
    logs = size * np.log(2 * k + 1) - k / float(scale)
    radii = np.exp(logs - logs.max())
    radii /= radii.sum()
    assert cube_sd(size, scale) == pytest.approx(math.sqrt((radii * k * (k + 1)).sum() / 3), rel=1e-12)
    for beyond in (0, 1, 10, int(scale * size), int(4 * scale * size)):
        further = (radii * np.maximum(k - beyond, 0) * 2 / (2 * k + 1)).sum()
        assert cube_tail(size, float(scale), beyond) == pytest.approx(further, rel=1e-11)
    for risk in (0.9, 0.05, 1e-6):
        limit = cube_limit(size, scale, risk)
        assert cube_tail(size, float(scale), limit) <= risk
        assert limit == 0 or cube_tail(size, float(scale), limit - 1) > risk * (1 - 1e-6)


def test_one_number_has_discrete_laplace_noise() -> None:
    a = math.exp(-1 / 5)
    assert [cube_tail(1, 5.0, t) for t in range(9)] == pytest.approx([2 * a ** (t + 1) / (1 + a) for t in range(9)])


def test_rehearsed_noise_has_the_same_law() -> None:
    """Of entries and of the largest one, at a scale that is an odd fraction; and it grows with the scale, draw by draw."""
    size, draws, epsilon = 3, 6000, Fraction(3, 7)
    entropy = SeededEntropy(1)
    found = np.array([one_noise(np.zeros(size), sensitivity=2, epsilon=epsilon, entropy=entropy) for _ in range(draws)])
    assert p_value(Counter(np.abs(found).max(axis=1).tolist()), weights(size, epsilon / 2), draws) > 1e-6
    assert found.std(axis=0) == pytest.approx([cube_sd(size, 2 / epsilon)] * size, rel=0.1)
    ratios = [
        one_noise(np.zeros(4), sensitivity=4000, epsilon=Fraction(1), entropy=SeededEntropy(seed))
        / one_noise(np.zeros(4), sensitivity=4000, epsilon=Fraction(2), entropy=SeededEntropy(seed))
        for seed in range(20)
    ]
    assert np.array(ratios) == pytest.approx(2, rel=0.1, abs=0.02)
