"""Gaussian accounting against mpmath, numerical searches, finite mechanisms and dp-accounting."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from synthrelease.errors import BudgetError
from synthrelease.privacy.charges import Charge, epsilon_at, gaussian, in_sequence, mechanism, zero_concentrated
from synthrelease.privacy.curves import (
    RenyiCurve,
    choice_epsilon,
    epsilon_of,
    pure_epsilon_of,
    rho_of_pure,
    rho_within,
    root,
    zcdp,
)

STEP = Fraction(1, 10**9)
RHOS = [Fraction(1, 10**6), Fraction(1, 1000), Fraction(3, 10), Fraction(2), Fraction(120)]
DELTAS = [Fraction(1, 10**3), Fraction(1, 10**9), Fraction(1, 10**25)]


def exactly(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def delta_of(rho: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """By integration of the excess of one density over e^epsilon times the other, not by the formula."""
    mu, ratio = mpmath.sqrt(2 * exactly(rho)), mpmath.exp(exactly(epsilon))
    start = exactly(epsilon) / mu + mu / 2
    step = 1 / (1 + start)
    return mpmath.quad(lambda x: mpmath.npdf(x, mu) - ratio * mpmath.npdf(x), [start + k * step for k in (0, 2, 8, 32, 120)])


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS, ids=float)
@pytest.mark.parametrize("rho", RHOS, ids=float)
def test_the_epsilon_is_the_least_that_the_densities_allow(rho: Fraction, delta: Fraction) -> None:
    with mpmath.workdps(60):
        found = epsilon_of(rho, delta)
        assert delta_of(rho, found) <= exactly(delta)
        assert found == 0 or delta_of(rho, found - 2 * STEP) > exactly(delta)
    assert found <= zcdp(rho).epsilon(delta)


def test_it_allows_more_rho_than_the_renyi_conversion() -> None:
    for epsilon, delta, gain in ((1, Fraction(1, 10**5), 1.1757), (1, STEP, 1.1058), (4, STEP, 1.0948)):
        rho = rho_within(Fraction(epsilon), delta)
        assert epsilon_of(rho, delta) <= epsilon < epsilon_of(rho + 2 * STEP, delta)
        assert zcdp(rho / Fraction(gain + 1e-4)).epsilon(delta) < epsilon < zcdp(rho / Fraction(gain - 1e-4)).epsilon(delta)


def test_a_large_rho_is_converted_by_its_renyi_curve() -> None:
    assert epsilon_of(Fraction(10**4), STEP) == zcdp(Fraction(10**4)).epsilon(STEP)
    assert epsilon_of(Fraction(0), STEP) == 0


def least_mu(first: np.ndarray, second: np.ndarray) -> float:
    """The least mu of a pair of finite laws, from all corners of its trade-off curve."""
    order = np.argsort(-first / second)
    powers, sizes = np.cumsum(first[order])[:-1], np.cumsum(second[order])[:-1]
    return float(np.max(norm.ppf(powers) - norm.ppf(sizes)))


def exponential(scores: np.ndarray, epsilon: float) -> np.ndarray:
    weights = np.exp(epsilon * scores / 2)
    return weights / weights.sum()


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "4"])
def test_the_price_of_a_choice_is_the_supremum(epsilon: str) -> None:
    """Exponential mechanisms of two and three candidates, their scores moved by -1, 0 or 1: none above, and it is reached."""
    worst, size = 0.0, float(epsilon)
    starts = [np.array(s, dtype=float) for c in (2, 3) for s in product((0, 1, 8), repeat=c)]
    for start in starts:
        for moves in product((-1, 0, 1), repeat=len(start)):
            worst = max(worst, least_mu(exponential(start, size), exponential(start + np.array(moves), size)))
    rho = Fraction(worst**2 / 2)
    assert choice_epsilon(rho * Fraction(1001, 1000)) < Fraction(epsilon) * Fraction(1002, 1000)
    price = 2 * norm.ppf(1 / (1 + math.exp(-size / 2)))
    assert worst <= price * (1 + 1e-9)
    assert worst > price * (1 - 1e-9)
    assert float(choice_epsilon(Fraction(price**2 / 2))) == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("length", [0.1, 1.0, 6.0, 40.0])
def test_of_all_laws_of_two_outcomes_with_this_range_the_even_one_is_dearest(length: float) -> None:
    """The number that the proof of theory 9.15, Gaussian price of a choice, maximises, on a grid of its parameter."""
    s = np.linspace(-60, 60, 20_001)

    def quantile(odds: np.ndarray | float) -> np.ndarray:
        small = 1 / (1 + np.exp(np.abs(odds)))
        return np.sign(odds) * -norm.ppf(small)

    found = quantile(s + length) - quantile(s)
    assert found.max() <= 2 * quantile(length / 2) * (1 + 1e-12)
    assert found.max() > 2 * quantile(length / 2) * (1 - 1e-4)


@pytest.mark.parametrize("epsilon", ["1e-3", "0.1", "1", "7", "40"])
def test_a_pure_part_is_priced_by_randomised_response(epsilon: str) -> None:
    with mpmath.workdps(60):
        share = mpmath.exp(mpmath.mpf(epsilon)) / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        exact = (2 * mpmath.sqrt(2) * mpmath.erfinv(2 * share - 1)) ** 2 / 2
        found = rho_of_pure(Fraction(epsilon))
        assert exact <= exactly(found) <= exact + mpmath.mpf("2e-9")
    assert pure_epsilon_of(found) >= Fraction(epsilon) > pure_epsilon_of(found - 2 * STEP)
    assert 2 * pure_epsilon_of(found) == choice_epsilon(found)


def test_roundings_are_outwards() -> None:
    for value in (Fraction(2), Fraction(1, 3), Fraction(4), Fraction(10**6, 7)):
        assert root(value, up=False) ** 2 <= value <= root(value, up=True) ** 2
        assert root(value, up=True) - root(value, up=False) <= Fraction(1, 10**15)
    assert choice_epsilon(Fraction(0)) == pure_epsilon_of(Fraction(0)) == 0


def test_two_parts_cost_what_they_cost_together() -> None:
    """Two Gaussian draws of rho 0.1 and 0.2, by integration over the plane, against one of 0.3."""
    delta, epsilon = Fraction(1, 1000), float(epsilon_of(Fraction(3, 10), Fraction(1, 1000)))
    grid = np.linspace(-7, 8, 601)
    x, y = np.meshgrid(grid, grid)
    first = norm.pdf(x, math.sqrt(0.2)) * norm.pdf(y, math.sqrt(0.4))
    second = norm.pdf(x) * norm.pdf(y)
    found = np.maximum(first - math.exp(epsilon) * second, 0).sum() * (grid[1] - grid[0]) ** 2
    assert found == pytest.approx(float(delta), rel=1e-3)


def test_parts_that_answers_choose_stay_within_the_budget() -> None:
    """Choices of two steps: the second one's part of the budget depends on what the first one chose.

    Each is a mechanism of two outcomes at its Gaussian price; the pair is no worse than one Gaussian of the whole budget. A
    filter that counts choices at their zero-concentrated price is beyond it.
    """
    whole = Fraction(1, 2)

    def pair(epsilon_of_part) -> tuple[np.ndarray, np.ndarray]:
        laws = []
        for sign in (1, -1):
            law = []
            first = float(epsilon_of_part(Fraction(1, 5)))
            for outcome in (1, -1):
                chance = 1 / (1 + math.exp(-sign * outcome * first / 2))
                second = float(epsilon_of_part(whole - Fraction(1, 5) if outcome == 1 else Fraction(1, 10)))
                law += [chance / (1 + math.exp(-sign * other * second / 2)) for other in (1, -1)]
            laws.append(np.array(law))
        return laws[0], laws[1]

    assert least_mu(*pair(choice_epsilon)) <= 1
    assert least_mu(*pair(lambda part: root(8 * part, up=False))) > 1


def test_a_gaussian_charge_states_a_rho_and_nothing_else() -> None:
    charge = gaussian("g", Fraction(1, 10), "")
    assert charge.curve() == zcdp(Fraction(1, 10))
    assert charge.price != zero_concentrated("g", Fraction(1, 10), "").price
    for renyi in (None, RenyiCurve(rho=Fraction(1), constant=Fraction(1))):
        with pytest.raises(BudgetError, match="marked as Gaussian"):
            Charge(name="g", epsilon=Fraction(0), renyi=renyi, because="", gaussian=True)


def test_pure_parts_count_the_cheaper_way() -> None:
    """Against all subsets of them."""
    delta, pure = Fraction(1, 10**6), [Fraction(1, 50), Fraction(2), Fraction(1, 5)]
    figures = [mechanism(f"figure {k}", each, "") for k, each in enumerate(pure)]
    for fit in (gaussian("fit", Fraction(1, 20), ""), zero_concentrated("fit", Fraction(1, 20), "")):
        found = epsilon_at(in_sequence("one round", fit, *figures), delta)
        every = []
        for apart in product((0, 1), repeat=len(pure)):
            added = sum((each for each, out in zip(pure, apart, strict=True) if out), Fraction(0))
            rest = [each for each, out in zip(pure, apart, strict=True) if not out]
            if fit.gaussian:
                every.append(
                    added + epsilon_of(Fraction(1, 20) + sum((rho_of_pure(each) for each in rest), Fraction(0)), delta)
                )
            else:
                every.append(added + zcdp(Fraction(1, 20) + sum((each**2 / 2 for each in rest), Fraction(0))).epsilon(delta))
        assert found == min(every)
        assert found not in (every[0], every[-1])  # some are added, others are not
    assert epsilon_at(gaussian("fit", Fraction(1, 20), ""), delta) == epsilon_of(Fraction(1, 20), delta)


def test_one_zero_concentrated_part_makes_the_sum_zero_concentrated() -> None:
    parts = gaussian("a", Fraction(1, 10), ""), zero_concentrated("b", Fraction(1, 10), "")
    assert epsilon_at(in_sequence("round", *parts), STEP) == zcdp(Fraction(1, 5)).epsilon(STEP)


def test_fixed_sequences_agree_with_dp_accounting() -> None:
    """Its privacy loss distributions, for Gaussian and pure parts; choices at their Gaussian price are no cheaper."""
    pytest.importorskip("dp_accounting", reason="needs the extra accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    delta, rhos = 1e-6, (0.02, 0.05, 0.1)
    losses = [
        pld.from_gaussian_mechanism(1 / math.sqrt(2 * rho), value_discretization_interval=1e-4, sampling_prob=1.0)
        for rho in rhos
    ]
    whole = losses[0].compose(losses[1]).compose(losses[2])
    ours = epsilon_of(sum((Fraction(str(rho)) for rho in rhos), Fraction(0)), Fraction(str(delta)))
    assert float(ours) == pytest.approx(whole.get_epsilon_for_delta(delta), rel=1e-3)
    choice = pld.from_randomized_response(2 / (1 + math.exp(0.2)), 2, value_discretization_interval=1e-4)
    whole = whole.compose(choice)  # two outcomes with ln(P / P') = +-0.2, the worst choice of epsilon_0 = 0.4
    fit = in_sequence("round", gaussian("fit", Fraction(17, 100), ""), mechanism("choice", Fraction(1, 5), ""))
    theirs = whole.get_epsilon_for_delta(delta)
    assert theirs <= float(epsilon_at(fit, Fraction(str(delta)))) < 1.03 * theirs


def test_the_steps_of_the_stated_epsilon_are_where_they_were_searched() -> None:
    """From any start the same least step is found."""
    from synthrelease.privacy.curves import _least

    for wanted, guess in product((0, 1, 7, 1000), (0, 1, 5, 999, 1000, 1001, 10**6)):
        assert _least(lambda step, wanted=wanted: step >= wanted, guess) == wanted


@pytest.mark.parametrize("wrong", [(Fraction(1), Fraction(0)), (Fraction(1), Fraction(1))])
def test_what_has_no_meaning_is_refused(wrong: tuple[Fraction, Fraction]) -> None:
    with pytest.raises(ValueError, match="delta"):
        epsilon_of(*wrong)
    with pytest.raises(ValueError, match="delta"):
        rho_within(*wrong)


def test_epsilon_falls_with_delta_and_grows_with_rho() -> None:
    for first, second in pairwise(RHOS):
        assert epsilon_of(first, STEP) < epsilon_of(second, STEP)
    for first, second in pairwise(DELTAS):
        assert epsilon_of(Fraction(1), first) < epsilon_of(Fraction(1), second)
