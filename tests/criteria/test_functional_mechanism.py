"""The private regression: how noisy it says it is, against how noisy it is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.criteria.functional import Design, Prior, design_of, least_squares
from synthrelease.criteria.records import Interval
from synthrelease.criteria.records_mechanism import MOST, records_of_cells, rounded
from synthrelease.privacy.noise import SYSTEM
from tests.helpers.moments import private_least_squares

EPSILON = Fraction(1)
NUMBERS = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0]), np.array([0.0, 2.0, 4.0, 6.0, 8.0])


def table() -> np.ndarray:
    """20,000 records near target = 2 a + b."""
    random = np.random.default_rng(5)
    a, b = random.integers(0, 4, 20_000), random.integers(0, 2, 20_000)
    target = np.clip(np.round((2 * a + b + random.normal(0, 1, a.size)) / 2), 0, 4).astype(int)
    return np.bincount((a * 2 + b) * 5 + target, minlength=40)


def slopes(design: Design, counts: np.ndarray, draws: int) -> np.ndarray:
    n = int(counts.sum())
    return np.array(
        [
            private_least_squares(design, records_of_cells(counts, NUMBERS), EPSILON, SYSTEM).solve(n).coefficients
            for _ in range(draws)
        ]
    )


def test_the_stated_noise_of_the_slopes_is_that_of_repeated_fits() -> None:
    """500 draws each: either deviation is known to 4%, so a factor of 1.3 is more than six of its own deviations."""
    counts = table()
    design = Design.of(NUMBERS, np.ones(40, dtype=bool), None)
    fitted = private_least_squares(design, records_of_cells(counts, NUMBERS), EPSILON, SYSTEM)
    stated = fitted.redrawn(int(counts.sum()), 500, np.random.default_rng(1)).std(axis=0)
    actual = slopes(design, counts, 500).std(axis=0)
    assert (stated < 1.3 * actual).all()
    assert (actual < 1.3 * stated).all()


def test_repeated_fits_scatter_around_least_squares() -> None:
    counts = table()
    design = Design.of(NUMBERS, np.ones(40, dtype=bool), None)
    found = slopes(design, counts, 400)
    exact, _ = least_squares(records_of_cells(counts, NUMBERS))
    assert (np.abs(found.mean(axis=0) - exact.coefficients) < 5 * found.std(axis=0) / 20).all()


def test_a_remembered_design_is_that_of_its_own_facts() -> None:
    """Domains, priors and counting that differ in one thing each; asked for twice, in another order."""
    possible = [np.ones(40, dtype=bool), np.arange(40) != 39, np.arange(40) != 0]
    guess = Prior(intercept=1.0, coefficients=np.full(2, 0.5), centres=np.ones(2), spreads=np.full(2, 2.0), uncertainty=3.0)
    asked = [
        (cells, prior, counted)
        for cells in possible
        for prior in (None, guess, replace(guess, coefficients=np.array([0.5, 0.25])))
        for counted in (False, True)
    ]
    for cells, prior, counted in [*asked, *reversed(asked)]:
        found = design_of(NUMBERS, cells, prior, limits=tuple(map(Interval.exactly, NUMBERS)), counted=counted)
        right = Design.of(NUMBERS, cells, prior, counted=counted)
        assert found.scales.tolist() == right.scales.tolist()
        assert (found.sensitivity, found.counted) == (right.sensitivity, right.counted)
        assert found.prior.coefficients.tolist() == right.prior.coefficients.tolist()
        assert [axis.tolist() for axis in found.numbers] == [axis.tolist() for axis in right.numbers]


@pytest.mark.parametrize("seed", range(5))
def test_the_sensitivity_of_a_design_is_that_of_all_possible_cells(seed: int) -> None:
    """Every possible cell, also those with the smaller residuals."""
    random = np.random.default_rng(seed)
    possible, slopes_ = random.random(40) < 0.4, random.normal(0, 2, 2)
    guess = Prior(intercept=1.0, coefficients=slopes_, centres=random.random(2), spreads=np.full(2, 0.7), uncertainty=3.0)
    design = Design.of(NUMBERS, possible, guess)
    moments = design.largest_moments(np.flatnonzero(possible))
    assert 2 * int(rounded(moments, design.scales).sum(axis=1).max()) == design.sensitivity
    assert 0.999 * MOST < (moments * design.scales).max() <= MOST
