"""Renyi curves against enumeration of finite mechanisms, against textbook formulas, and against dp-accounting."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

from synthrelease.privacy.charges import in_sequence, mechanism, zero_concentrated
from synthrelease.privacy.curves import RenyiCurve, curve_of_pure, exp_up, mean_rounds, selected, zcdp

ORDERS = [Fraction(order) for order in ("1.01", "1.5", "2", "3", "8", "40", "200")]
LAWS = [(Fraction(shape), Fraction(gamma)) for shape in ("-0.5", "0", "0.5", "1", "3") for gamma in ("0.5", "0.05", "0.001")]


def divergence(first: np.ndarray, second: np.ndarray, order: float) -> float:
    """Renyi divergence of finite laws, by its definition."""
    return float(logsumexp(order * np.log(first) + (1 - order) * np.log(second)) / (order - 1))


def pmf(shape: Fraction, gamma: Fraction, longest: int) -> np.ndarray:
    """Pr[K = 1..longest], by the product in Definition 1 of Papernot & Steinke."""
    eta, stop = float(shape), float(gamma)
    steps = np.arange(longest)
    factors = (1 - stop) * (steps + eta) / (steps + 1)
    if shape == 0:
        factors[0] = (1 - stop) / math.log(1 / stop)
    else:
        factors[0] /= stop**-eta - 1
    return np.cumprod(factors)


def best_of_k(round_law: np.ndarray, shape: Fraction, gamma: Fraction) -> np.ndarray:
    """Law of "the first accepted of K rounds, or nothing"; `round_law` ends with the probability of rejection."""
    rejected = round_law[-1]
    mass = pmf(shape, gamma, 30_000)
    nothing = float(np.sum(mass * rejected ** np.arange(1, len(mass) + 1)))
    return np.append(round_law[:-1] / (1 - rejected) * (1 - nothing), nothing)


@pytest.mark.parametrize(("shape", "gamma"), LAWS)
def test_the_mean_number_of_rounds_is_that_of_the_law(shape: Fraction, gamma: Fraction) -> None:
    mass = pmf(shape, gamma, 100_000)
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    assert float(np.sum(mass * np.arange(1, len(mass) + 1))) == pytest.approx(float(mean_rounds(shape, gamma)), rel=1e-9)


@cache
def pairs_of_rounds() -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Pairs of round laws over two outputs and rejection, and the least rho for which both are zero-concentrated."""
    generator, found = np.random.default_rng(3), []
    dense = [*np.geomspace(1e-3, 1e3, 200) + 1, *(float(order) for order in ORDERS)]
    for spread in (0.1, 0.1, 0.5, 0.5, 2.0, 2.0):
        first = generator.dirichlet([0.3, 0.3, 3])
        second = first * np.exp(spread * generator.uniform(-1, 1, 3))
        second /= second.sum()
        rho = max(divergence(p, q, order) / order for p, q in ((first, second), (second, first)) for order in dense)
        found.append((first, second, rho))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "gamma"), LAWS)
def test_a_selection_of_finite_rounds_stays_below_its_curve(shape: Fraction, gamma: Fraction) -> None:
    closest = 0.0
    for first, second, rho in pairs_of_rounds():
        curve = selected(zcdp(Fraction(rho)), shape, gamma)
        for p, q in ((first, second), (second, first)):
            laws = best_of_k(p, shape, gamma), best_of_k(q, shape, gamma)
            assert [law.sum() for law in laws] == pytest.approx([1, 1])
            for order in ORDERS:
                found, bound = divergence(*laws, float(order)), float(curve.at(order))
                assert found <= bound + 1e-9
                closest = max(closest, found / bound)
    assert closest > 0.01  # the laws differ: the comparison is about something


def test_a_selection_can_cost_more_than_its_round() -> None:
    """So that a curve of a single round would be wrong: rounds that mostly reject, and a difference in how often."""
    first, second = np.array([0.01, 0.99]), np.array([0.02, 0.98])
    rho = max(divergence(p, q, a) / a for p, q in ((first, second), (second, first)) for a in np.geomspace(1e-3, 1e3, 200) + 1)
    laws = [best_of_k(law, Fraction(1), Fraction("0.05")) for law in (first, second)]
    assert divergence(laws[1], laws[0], 2) > 1.5 * float(zcdp(Fraction(rho)).at(Fraction(2)))


def test_the_middle_term_is_the_least_over_the_second_order() -> None:
    """Against a search over the order that Theorem 2 leaves free, also where the best order is 1."""
    for rho, gamma in (
        (Fraction(1, 10), Fraction(1, 1000)),
        (Fraction(5), Fraction(1, 2)),
        (Fraction(1, 100), Fraction(9, 10)),
    ):
        free = np.concatenate([[1.0], 1 + np.geomspace(1e-6, 1e3, 200_000)])
        searched = np.min((1 - 1 / free) * float(rho) * free + math.log(1 / float(gamma)) / free)
        curve = selected(zcdp(rho), Fraction(1), gamma)
        assert float(curve.constant) == pytest.approx(2 * searched, rel=1e-6)
        assert curve.constant <= Fraction(2 * searched) + Fraction(1, 10**12)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**12)])
@pytest.mark.parametrize("rho", [Fraction(1, 10**4), Fraction(1, 10), Fraction(5)])
def test_the_conversion_lies_between_the_gaussian_truth_and_the_textbook_bound(rho: Fraction, delta: Fraction) -> None:
    """Gaussian noise of rho: Balle & Wang 2018. rho + 2 sqrt(rho ln(1/delta)) is Bun & Steinke's."""
    epsilon = float(zcdp(rho).epsilon(delta))
    assert epsilon < float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    shift = math.sqrt(2 * float(rho))
    truth = math.exp(log_ndtr(shift / 2 - epsilon / shift)) - math.exp(epsilon + log_ndtr(-shift / 2 - epsilon / shift))
    assert truth <= float(delta)
    assert truth > float(delta) / 100  # and it is not far below


def test_the_conversion_finds_the_best_order() -> None:
    """Against a dense search in floating point."""
    for curve in (zcdp(Fraction(1, 10)), RenyiCurve(rho=Fraction(1, 50), constant=Fraction(2), log_mean=Fraction(7))):
        orders = 1 + np.geomspace(1e-4, 1e6, 400_000)
        bound = float(curve.rho) * orders + float(curve.constant) + float(curve.log_mean) / (orders - 1)
        searched = np.min(bound + (math.log(1e8) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders))
        assert float(curve.epsilon(Fraction(1, 10**8))) == pytest.approx(searched, rel=1e-5)


@pytest.mark.parametrize(("shape", "gamma"), [law for law in LAWS if law[0] >= 0])  # dp-accounting has no negative shapes
def test_selection_and_conversion_agree_with_dp_accounting(shape: Fraction, gamma: Fraction) -> None:
    pytest.importorskip("dp_accounting", reason="needs the extra accounting")
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=[float(order) for order in 1 + np.geomspace(1e-2, 1e4, 300)])
    accountant.compose(dp_event.RepeatAndSelectDpEvent(dp_event.ZCDpEvent(0.1), float(mean_rounds(shape, gamma)), float(shape)))
    accountant.compose(dp_event.ZCDpEvent(0.02))
    ours = selected(zcdp(Fraction(1, 10)), shape, gamma) + zcdp(Fraction(1, 50))
    for delta in (1e-4, 1e-9):
        assert float(ours.epsilon(Fraction(str(delta)))) == pytest.approx(accountant.get_epsilon(delta), rel=1e-3)


def test_composition_adds_and_pure_privacy_is_half_its_square() -> None:
    first, second = RenyiCurve(rho=Fraction(1), constant=Fraction(2), log_mean=Fraction(3)), curve_of_pure(Fraction(1, 10))
    assert second == zcdp(Fraction(1, 200))
    for order in ORDERS:
        assert (first + second).at(order) == first.at(order) + second.at(order)
    p = math.exp(0.1) / (1 + math.exp(0.1))  # randomised response, the worst case of pure privacy
    for order in ORDERS:
        assert divergence(np.array([p, 1 - p]), np.array([1 - p, p]), float(order)) <= float(second.at(order))


def test_roundings_are_upwards() -> None:
    for exponent in (Fraction(1, 3), Fraction(4), Fraction(0)):
        assert exp_up(exponent) >= Fraction(math.exp(exponent)) * (1 - Fraction(1, 2**52))
        assert exp_up(exponent) > sum((exponent**k / math.factorial(k) for k in range(60)), Fraction(0))
    assert zcdp(Fraction(1, 10**30)).epsilon(Fraction(1, 2)) >= 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: zcdp(Fraction(1)).epsilon(Fraction(0)),
        lambda: zcdp(Fraction(1)).epsilon(Fraction(1)),
        lambda: zcdp(Fraction(-1)),
        lambda: selected(selected(zcdp(Fraction(1)), Fraction(1), Fraction(1, 2)), Fraction(1), Fraction(1, 2)),
        lambda: selected(zcdp(Fraction(1)), Fraction(-1), Fraction(1, 2)),
        lambda: selected(zcdp(Fraction(1)), Fraction(1), Fraction(1)),
    ],
)
def test_what_has_no_meaning_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match=r"curve|law|round"):
        wrong()


@pytest.mark.parametrize(
    ("rho", "shown"),
    [("123.4564001", "123.456401 a"), ("0.1606", "0.1606 a"), ("1e-9", "0.000001 a"), ("2", "2 a"), ("0", "0")],
)
def test_a_curve_is_printed_rounded_up(rho: str, shown: str) -> None:
    assert zcdp(Fraction(rho)).text() == shown


def test_pure_parts_beside_a_curve_count_each_by_itself() -> None:
    """Eight times epsilon^2 / 2, not (8 epsilon)^2 / 2; verified from the parts alone."""
    figures = in_sequence("figures", *(mechanism(f"figure {i}", Fraction(1, 10), "") for i in range(8)))
    whole = in_sequence("release", zero_concentrated("fit", Fraction(1), ""), figures)
    assert whole.curve() == zcdp(1 + 8 * Fraction(1, 200))
    assert in_sequence("release", figures).epsilon == Fraction(8, 10)
