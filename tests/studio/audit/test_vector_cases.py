"""Noise on vectors of every length: the cases find the sampler that was once drawn from, wherever it is put."""

from __future__ import annotations

import math

import numpy as np
import pytest

from synthrelease.privacy.noise import SystemEntropy
from tests.whole.drawn import noise as biased_sampler
from tests.whole.drawn.noise import LENGTHS, MOST_CALLS, SCALES, laplace_vector_case, numbers, scale_case, vector_cases
from tests.whole.drawn.running import Effort, audit_cases

SURE = 1 - 1e-7


def test_there_is_a_case_for_every_length_and_scale() -> None:
    names = {case.name for case in vector_cases() if case.family == "discrete Laplace, by length"}
    by_one = {f"one count by 1, in vectors of {n}, scale {scale}" for n in (1, 2, 199) for scale in (5, 40, 100, 1000)}
    assert names == by_one | {f"one count by 5, in vectors of {n}, scale 5" for n in (1, 2, 199)}


def test_vectors_are_drawn_one_by_one_and_as_long_as_they_say() -> None:
    lengths: list[int] = []

    def noise(values: np.ndarray) -> np.ndarray:
        lengths.append(len(values))
        return values + 10 * len(lengths)

    assert numbers(noise, 3, 1, 7).tolist() == [11, 11, 11, 21, 21, 21, 31]
    assert lengths == [3, 3, 3]


@pytest.mark.parametrize(("above", "below"), [(1, 2), (1, 3), (0, 7), (3, 5)])
def test_where_nothing_is_shortened_the_biased_coin_is_the_exact_one(above: int, below: int) -> None:
    """3/5: the third coin is 3/5 / 3, of which g = 3 does not divide 5, so that it differs; the others have g = 1."""
    found = biased_sampler.heads(above, below)
    assert (found == pytest.approx(math.exp(-above / below), abs=1e-12)) is ((above, below) != (3, 5))


def test_the_biased_law_of_four_fifths_is_counted_by_hand() -> None:
    """The second coin of 4/5 is 1/2 (4/5 / 2 is made 2 / (2 * 2)), the third 4/15, the fourth 1 / (4 * 1), the fifth 4/25."""
    tosses = [4 / 5, 1 / 2, 4 / 15, 1 / 4, 4 / 25]
    shown = (1 - tosses[0]) + tosses[0] * tosses[1] * (1 - tosses[2]) + math.prod(tosses[:4]) * (1 - tosses[4])
    assert biased_sampler.heads(4, 5) == pytest.approx(shown, abs=0.003)
    assert biased_sampler.heads(4, 5) > shown  # what follows the fifth toss


def drawn_by_coins(size: int, scale: int, generator: np.random.Generator) -> np.ndarray:
    """As the sampler drew: a rest by biased coins, a geometric number of scales, a fair sign, half of the zeros again."""
    taken = np.array([biased_sampler.heads(rest, scale) for rest in range(scale)])
    rest = generator.choice(scale, size, p=taken / taken.sum())
    found = (rest + scale * (generator.geometric(-math.expm1(-1), size) - 1)) * (1 - 2 * generator.integers(0, 2, size))
    again = np.flatnonzero((found == 0) & (generator.integers(0, 2, size) == 0))
    if len(again):
        found[again] = drawn_by_coins(len(again), scale, generator)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("scale", [5, 40])
def test_draws_of_the_biased_sampler_have_its_law(scale: int) -> None:
    drawn = drawn_by_coins(200_000, scale, np.random.default_rng(3))
    law, most = biased_sampler.law(scale), 3 * scale
    middle = len(law) // 2
    expected = 200_000 * law[middle - most : middle + most + 1]
    found = np.bincount(np.clip(drawn, -most - 1, most + 1) + most + 1, minlength=2 * most + 3)[1:-1]
    chi = float(((found - expected) ** 2 / expected).sum())
    assert chi < len(expected) + 6 * math.sqrt(2 * len(expected))


class Planted:
    """`add_laplace` of the biased sampler, from draws made in advance: vectors of one number take no longer than others."""

    def __init__(self, scale: int):
        self._scale, self._generator, self._left = scale, np.random.default_rng(), np.zeros(0, dtype=np.int64)

    def __call__(self, values: np.ndarray, scale: float) -> np.ndarray:
        if len(self._left) < len(values):
            self._left = biased_sampler.drawn(100_000, self._scale, self._generator)
        noise, self._left = self._left[: len(values)], self._left[len(values) :]
        return values + noise


@pytest.mark.slow
@pytest.mark.parametrize(("length", "scale"), [(1, 5), (2, 5), (199, 5), (199, 40), (199, 100)])
def test_the_cases_find_the_biased_sampler_and_nothing_in_ours(
    length: int, scale: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a tenth of the draws ours is looked at; a right sampler is above its claim once in ten million runs."""
    case = laplace_vector_case(length, scale)
    (ours,) = audit_cases([case], effort=Effort(draws=case.draws // 10), confidence=SURE)
    assert not ours.exceeded
    planted = Planted(scale)
    monkeypatch.setattr(SystemEntropy, "add_laplace", lambda self, values, scale: planted(values, scale))
    (found,) = audit_cases([case], confidence=SURE)
    assert found.exceeded


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 199])
def test_a_scale_that_is_a_tenth_too_small_is_found_in_short_vectors(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case, true = scale_case(length), SystemEntropy.add_laplace
    (ours,) = audit_cases([case], effort=Effort(draws=2_000), confidence=SURE)
    assert not ours.exceeded
    monkeypatch.setattr(SystemEntropy, "add_laplace", lambda self, values, scale: true(self, values, 0.9 * scale))
    (found,) = audit_cases([case], effort=Effort(draws=30_000), confidence=0.999)
    assert found.exceeded


def test_the_planned_draws_find_the_fault_within_the_calls_that_are_made() -> None:
    """All but those of short vectors at large scales, as the module says."""
    too_few = {(n, scale) for n in LENGTHS for scale in SCALES if laplace_vector_case(n, scale).draws == MOST_CALLS * n}
    assert too_few == {(1, 100), (1, 1000), (2, 1000)}
