"""Raking of a noisy table of respondents: closed forms, odds ratios, structural zeros, contradictions, and the noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.helpers.noisy_raking import NotRaked, noisy_counts, raked_to

TABLE = np.array([[40.0, 10.0, 25.0], [5.0, 30.0, 10.0]])
EVERYWHERE = np.ones(TABLE.shape, dtype=bool)


def test_one_margin_scales_its_slices() -> None:
    found = raked_to(TABLE, EVERYWHERE, {(0,): np.array([1500, 900])})
    assert np.allclose(found.population, TABLE * np.array([[1500 / 75], [900 / 45]]))
    assert found.stratum.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.allclose(found.totals, found.population.ravel())


def test_two_margins_are_met_and_keep_the_odds_ratios() -> None:
    found = raked_to(TABLE, EVERYWHERE, {(0,): np.array([1500, 900]), (1,): np.array([800, 1000, 600])}).population
    assert np.allclose(found.sum(axis=1), [1500, 900])
    assert np.allclose(found.sum(axis=0), [800, 1000, 600])
    odds = [each[0, :-1] * each[1, 1:] / (each[0, 1:] * each[1, :-1]) for each in (found, TABLE)]
    assert np.allclose(odds[0], odds[1], rtol=1e-6)


def test_a_margin_of_two_axes_in_a_table_of_three() -> None:
    generator = np.random.default_rng(0)
    table, people = generator.integers(1, 30, (2, 3, 4)).astype(float), generator.random((2, 3, 4)) * 1000
    margins = {(0, 2): people.sum(axis=1), (1,): people.sum(axis=(0, 2))}
    found = raked_to(table, table > 0, margins).population
    assert np.allclose(found.sum(axis=1), margins[0, 2])
    assert np.allclose(found.sum(axis=(0, 2)), margins[1,])


def test_structural_zeros_stay_zero_and_are_no_strata() -> None:
    possible = np.array([[True, True, False], [True, True, True]])
    found = raked_to(np.where(possible, TABLE, 0), possible, {(0,): np.array([1500, 900]), (1,): np.array([900, 1200, 300])})
    assert found.population[0, 2] == 0
    assert found.stratum.tolist() == [0, 1, -1, 2, 3, 4]
    assert np.allclose(found.population.sum(axis=0), [900, 1200, 300])


def test_cells_that_came_out_empty_are_joined_as_whole_slices() -> None:
    noisy = np.array([[40.0, -2.0, 25.0], [5.0, 30.0, 10.0]])
    found = raked_to(noisy, EVERYWHERE, {(1,): np.array([800, 1000, 600])})
    assert found.into[1].tolist() == [0, 1, 1]  # the middle group goes to its smaller neighbour, of 35 and not of 45
    assert np.allclose(found.population.sum(axis=0), [800, 1000 + 600])
    assert found.stratum.tolist() == [0, 1, 1, 2, 3, 3]


def test_what_is_joined_depends_on_the_noisy_table_alone() -> None:
    """The exact counts are no argument; and a table with the same noisy counts gives the same strata."""
    noisy = np.array([[3.0, 0.0, 2.0], [4.0, 1.0, 0.0]])
    first, second = (raked_to(noisy.copy(), EVERYWHERE, {(0,): np.array([10, 20])}) for _ in range(2))
    assert all(np.array_equal(one, two) for one, two in zip(first.into, second.into, strict=True))
    assert np.all(first.population > 0)


@pytest.mark.parametrize(
    ("noisy", "margins", "message"),
    [
        (TABLE, {(0,): np.array([1500, 900]), (1,): np.array([800, 1000, 601])}, "contradict each other"),
        (TABLE, {(0, 1): TABLE * 10, (1,): np.array([450, 400, 351])}, "contradict each other"),
        (TABLE, {(0,): np.array([-5, 900])}, "totals of at least 0"),
        (-TABLE, {(0,): np.array([1500, 900])}, "with people in it"),
    ],
)
def test_contradictions_are_refused(noisy: np.ndarray, margins: dict, message: str) -> None:
    with pytest.raises(NotRaked, match=message):
        raked_to(noisy, EVERYWHERE, margins)


def test_totals_that_structural_zeros_forbid_are_refused() -> None:
    possible = np.array([[True, False, False], [True, True, True]])
    with pytest.raises(NotRaked, match="a table with these cells can have"):
        raked_to(np.where(possible, TABLE, 0), possible, {(0,): np.array([1500, 900]), (1,): np.array([800, 1000, 600])})


@pytest.mark.parametrize(("neighbours", "scale"), [("add or remove", 1), ("replace one", 2)])
def test_the_noise_is_discrete_laplace_of_the_scale_that_the_neighbours_need(neighbours: str, scale: int) -> None:
    """One added record moves one count, a replaced one moves two: scale 1 / epsilon is not enough for the latter."""
    counts, possible = np.full((60, 60), 7), np.ones((60, 60), dtype=bool)
    possible[0] = False
    found = noisy_counts(counts, possible, 0.8, neighbours, np.random.default_rng(5))  # type: ignore[arg-type]
    assert np.all(found[0] == 0)
    noise = found[1:].ravel() - 7
    assert np.issubdtype(noise.dtype, np.integer)
    law = stats.dlaplace(0.8 / scale)
    edges = np.array([-4, -2, -1, 0, 1, 2, 4]) if scale == 1 else np.array([-8, -4, -2, 0, 2, 4, 8])
    masses = np.diff(np.concatenate([[0], law.cdf(edges), [1]]))
    observed = np.bincount(np.searchsorted(edges, noise), minlength=len(masses))
    assert stats.chisquare(observed, masses * len(noise)).pvalue > 1e-6
    wrong = np.diff(np.concatenate([[0], stats.dlaplace(0.8 / (3 - scale)).cdf(edges), [1]]))
    assert stats.chisquare(observed, wrong * len(noise)).pvalue < 1e-6
