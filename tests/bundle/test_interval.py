"""Intervals for exact figures, against sums over the whole law of the noise."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from synthrelease.bundle.limits import LEVEL, cumulative, laplace_interval
from synthrelease.privacy.grids import noise_grid
from synthrelease.privacy.noise import laplace_figure

SENSITIVITY = 4096.0  # the grid's step is then 1
STEPS = noise_grid(SENSITIVITY).steps


def scale(epsilon: Fraction) -> float:
    return float(Fraction(STEPS) / epsilon)


def interval(value: float, epsilon: Fraction, limit: float | None, worst: float | None = None, best: float = -math.inf):
    return laplace_interval(value, sensitivity=SENSITIVITY, epsilon=epsilon, best=best, worst=worst, passed_below=limit)


def mass(z: int, spread: float) -> float:
    """Pr[noise = z], by its definition."""
    decay = math.exp(-1 / spread)
    return (1 - decay) / (1 + decay) * decay ** abs(z)


def coverage(exact: int, epsilon: Fraction, limit: int | None) -> float:
    """Pr[the interval holds the exact figure | the noisy one did not exceed the limit], summed over the law of the noise."""
    spread = scale(epsilon)
    reach = math.ceil(40 * spread)
    covered = total = 0.0
    for z in range(-reach, reach + 1):
        released = exact + z
        if limit is not None and released > limit:
            break
        weight = mass(z, spread)
        total += weight
        found = interval(float(released), epsilon, None if limit is None else float(limit))
        covered += weight * (found.low <= exact and (found.high is None or exact <= found.high))
    return covered / total


EPSILON = Fraction(STEPS, 3)  # noise of a scale of three steps
LIMITS = [None, *range(-16, 17, 4), 40]


def test_the_grid_of_these_tests_has_steps_of_one() -> None:
    assert noise_grid(SENSITIVITY).step == 1.0
    assert scale(EPSILON) == 3.0


@pytest.mark.parametrize("limit", LIMITS)
def test_the_interval_holds_the_exact_figure_as_often_as_stated_also_after_selection(limit: int | None) -> None:
    """The exact figure is 0; limits above and below it, also so far below that only lucky noise passes."""
    assert coverage(0, EPSILON, limit) >= float(LEVEL)


def test_ignoring_the_selection_would_cover_too_seldom() -> None:
    """The correction is needed: a candidate well beyond its threshold is released only when its noise is lucky."""
    plain = interval(-12.0, EPSILON, None)
    assert plain.high is not None
    assert plain.high < 0
    selected = interval(-12.0, EPSILON, -12.0)
    assert selected.high is None
    assert selected.low == plain.low


def test_far_from_the_threshold_the_selection_changes_nothing() -> None:
    near, far = interval(0.0, EPSILON, 12.0), interval(0.0, EPSILON, 300.0)
    assert far == interval(0.0, EPSILON, None)
    assert near.high is None or near.high > (far.high or 0)


def test_without_selection_the_interval_is_hardly_wider_than_it_must_be() -> None:
    found = interval(0.0, EPSILON, None)
    assert found.high is not None
    assert found.low == -found.high
    inside = sum(mass(z, 3.0) for z in range(-int(found.high) + 1, int(found.high)))  # without the step for the grid
    assert float(LEVEL) <= inside < float(LEVEL) + 0.02


def test_an_interval_ends_where_the_figure_must() -> None:
    inside = interval(0.0, EPSILON, 2.0, worst=5.0, best=-1.0)
    assert (inside.low, inside.high) == (-1.0, 5.0)
    below = interval(-100.0, EPSILON, 200.0, best=0.0)  # noise took the figure below what it can be
    assert (below.low, below.high) == (0.0, 0.0)


def test_a_smaller_epsilon_gives_a_wider_interval() -> None:
    widths = []
    for epsilon in (EPSILON, EPSILON / 2, EPSILON / 8):
        found = interval(0.0, epsilon, None)
        widths.append((found.high or 0) - found.low)
    assert widths == sorted(set(widths))


@pytest.mark.parametrize("z", [-7, -1, 0, 1, 7])
def test_the_cumulative_law_is_the_sum_of_the_masses(z: int) -> None:
    decay = math.exp(-1 / 3.0)
    assert cumulative(z, decay) == pytest.approx(sum(mass(k, 3.0) for k in range(-400, z + 1)), rel=1e-12)


def test_figures_that_are_really_drawn_are_covered() -> None:
    """The grid of the mechanism and the one of the interval are the same, also for a sensitivity that is no power of two."""
    exact, sensitivity, epsilon, limit = 0.3137, 0.0117, Fraction(1, 10), 0.36
    covered = released = 0
    while released < 400:
        figure = laplace_figure(exact, sensitivity=sensitivity, epsilon=epsilon).value
        if figure > limit:
            continue
        released += 1
        found = laplace_interval(figure, sensitivity=sensitivity, epsilon=epsilon, best=0.0, worst=1.0, passed_below=limit)
        covered += found.low <= exact <= (1.0 if found.high is None else found.high)
    assert covered >= 350  # at 95% fewer than 350 of 400 have a probability below 1e-9
