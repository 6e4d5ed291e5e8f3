"""Prices of laws of the hidden number of rounds: never below what a pair of rounds attains, and above it by less than 1e-6.

Theory 2b.1, price. The slow reference tries acceptance probabilities one by one; the pairs of rounds are written down and their
laws computed in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.errors import BudgetError, Unexpected
from synthrelease.privacy import law_prices
from synthrelease.privacy.curves import exp_up
from synthrelease.privacy.law_prices import _ln, _power_and_sum
from synthrelease.privacy.selection import FiniteLaw, NegativeBinomial, StopCoin, StoppingLaw

BIRTHS = FiniteLaw.of({1: Fraction("0.182"), 6: Fraction("0.47"), 7: Fraction("0.348")})
HIDDEN = FiniteLaw.of({1: Fraction("0.999"), 10_000: Fraction("0.001")})
"""Its largest ratio lies at acceptance probabilities below 1/1000."""

LAWS = {
    "births": BIRTHS,
    "one round": FiniteLaw.of({1: Fraction(1)}),
    "one or two": FiniteLaw.of({1: Fraction(1, 2), 2: Fraction(1, 2)}),
    "two or nine": FiniteLaw.of({2: Fraction(1, 3), 9: Fraction(2, 3)}),
    "thousand": FiniteLaw.of({1: Fraction("0.1"), 30: Fraction("0.3"), 1000: Fraction("0.6")}),
    "hidden": HIDDEN,
    "coin": StopCoin(stop_probability=Fraction(1, 50)),
    "logarithmic": NegativeBinomial(shape=Fraction(0), stop_probability=Fraction(1, 50)),
    "shape -1/2": NegativeBinomial(shape=Fraction(-1, 2), stop_probability=Fraction(1, 50)),
    "shape 3": NegativeBinomial(shape=Fraction(3), stop_probability=Fraction(1, 5)),
}


def best_neighbour(acceptance: np.ndarray, ratio: float) -> np.ndarray:
    return np.minimum(ratio * acceptance, 1 - (1 - acceptance) / ratio)


def log_ratios(law: StoppingLaw, acceptance: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Both logarithms of theory 2b.1, price, in floating point."""
    other = best_neighbour(acceptance, math.exp(epsilon))
    none, none_there = law.nothing(1 - acceptance), law.nothing(1 - other)
    accepted = epsilon + np.log((1 - none) / acceptance * other / (1 - none_there))
    with np.errstate(divide="ignore"):
        return accepted, np.log(none) - np.log(none_there)


def searched(law: StoppingLaw, epsilon: float) -> float:
    """The largest ratio on finer and finer grids of all acceptance probabilities: a lower bound of the price."""
    centre, width, best = 0.0, 30.0, 0.0
    for _ in range(5):
        odds = np.exp(np.linspace(centre - width, centre + width, 20_001))
        acceptance = odds / (1 + odds)
        found = np.maximum(*log_ratios(law, acceptance[(acceptance > 1e-7) & (acceptance < 1 - 1e-4)], epsilon))
        best = max(best, float(found[np.isfinite(found)].max()))
        centre = float(np.log(odds[(acceptance > 1e-7) & (acceptance < 1 - 1e-4)][int(np.nanargmax(found))]))
        width /= 100
    return best


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("epsilon", ["0.05", "1", "4.56"])
def test_the_price_is_the_largest_ratio_and_less_than_a_millionth_above_it(name: str, epsilon: str) -> None:
    price, found = LAWS[name].price(Fraction(epsilon)), searched(LAWS[name], float(epsilon))
    assert found - 1e-8 <= price < found + 1e-6


def law_of_the_loop(law: FiniteLaw, round_: list[Fraction]) -> list[Fraction]:
    """Accepted outputs, then "nothing", by adding up rounds one by one."""
    accepted, left = sum(round_, Fraction(0)), [Fraction(0)] * len(round_)
    for rounds, probability in law.atoms:
        for earlier in range(rounds):
            left = [sum_ + probability * p * (1 - accepted) ** earlier for sum_, p in zip(left, round_, strict=True)]
    return [*left, sum((probability * (1 - accepted) ** rounds for rounds, probability in law.atoms), Fraction(0))]


def pairs_of_rounds(law: FiniteLaw, ratio: Fraction) -> Iterator[tuple[list[Fraction], list[Fraction]]]:
    """The pairs of the proof that the price is needed, near the acceptance probabilities at which a search finds it."""
    for step in range(-60, 41):
        odds = Fraction(math.exp(step / 10)).limit_denominator(10**6)
        acceptance = odds / (1 + odds) / ratio
        rare = acceptance / 10**9
        other = min(ratio * acceptance - rare * (ratio - 1 / ratio), 1 - (1 - acceptance) / ratio)
        yield [rare, acceptance - rare], [rare / ratio, other - rare / ratio]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["births", "one or two", "two or nine"])
@pytest.mark.parametrize("ratio", [Fraction(3, 2), Fraction(4)])
def test_written_out_pairs_of_rounds_come_up_to_the_price_and_never_above(name: str, ratio: Fraction) -> None:
    """Everything is a fraction: e^epsilon is rational here, and epsilon rounded up or down as the claim needs."""
    law = LAWS[name]
    with localcontext() as context:
        context.prec = 40
        epsilon = Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()) + Fraction(1, 10**35)
    allowed, worst = exp_up(law.price(epsilon)), Fraction(0)
    for first, second in pairs_of_rounds(law, ratio):
        mine, theirs = [[*round_, 1 - sum(round_)] for round_ in (first, second)]
        assert all(0 < p <= ratio * q <= ratio**2 * p for p, q in zip(mine, theirs, strict=True))
        laws = law_of_the_loop(law, first), law_of_the_loop(law, second)
        worst = max(worst, *(p / q for p, q in zip(*laws, strict=True)))
    assert worst <= allowed
    assert math.log(allowed / worst) < 5e-3  # a tenth of a step in the odds beside the maximum


def test_at_the_best_acceptance_probability_the_price_is_attained_to_a_millionth() -> None:
    ratio = exp_up(Fraction("4.56"))
    acceptance = 1 / (1 + ratio)
    nothing = BIRTHS.nothing(1 - acceptance) / BIRTHS.nothing(1 - ratio * acceptance)
    accepted = ratio * (1 - BIRTHS.nothing(1 - acceptance)) / acceptance * ratio * acceptance
    accepted /= 1 - BIRTHS.nothing(1 - ratio * acceptance)
    price = BIRTHS.price(Fraction("4.56"))
    assert 0 <= price - Fraction(math.log(max(nothing, accepted))) < Fraction(1, 10**6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if isinstance(law, NegativeBinomial | StopCoin)])
def test_the_closed_forms_agree_with_the_search_that_proves_its_bound(name: str) -> None:
    """The law is cut off where what is left cannot matter; the search knows nothing of the closed forms."""
    law, epsilon = replace(LAWS[name], stop_probability=Fraction(1, 5)), Fraction(2)
    stop, shape = float(law.stop_probability), float(getattr(law, "shape", 1))
    numbers = np.arange(1, 300)
    factors = np.concatenate([[1.0], (1 - stop) * (numbers[:-1] + shape) / (numbers[:-1] + 1)])
    mass = np.cumprod(factors)
    mass /= mass.sum()
    kept = mass > 1e-12
    atoms = [(int(k), Fraction(float(p))) for k, p in zip(numbers[kept], mass[kept], strict=True)]
    atoms = [(k, p / sum(q for _, q in atoms)) for k, p in atoms[:1]] + atoms[1:]
    assert float(law_prices.largest_log_ratio(tuple(atoms), epsilon)) == pytest.approx(float(law.price(epsilon)), abs=1e-6)


def test_a_price_from_a_coarse_grid_would_be_too_small_and_the_certificate_is_not() -> None:
    """Known fault: the largest of a thousand even acceptance probabilities. The maximum is between 0 and the first of them."""
    epsilon = Fraction(1)
    grid = np.linspace(0, 1, 1001)[1:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        naive = float(np.nanmax(np.maximum(*log_ratios(HIDDEN, grid, float(epsilon)))))
    assert searched(HIDDEN, float(epsilon)) > naive + 0.1
    assert HIDDEN.price(epsilon) >= searched(HIDDEN, float(epsilon))


def test_no_cell_is_bounded_below_a_value_inside_it() -> None:
    random = np.random.default_rng(0)
    for law in (BIRTHS, HIDDEN, LAWS["thousand"]):
        low = np.exp(random.uniform(-12, 1.9, 300))
        high = low * np.exp(random.uniform(0, 1, 300))
        bound = law_prices._log_ratio(low, high, law.atoms, math.exp(2), Fraction(2))
        for share in (0, 0.3, 1):
            inside = low ** (1 - share) * high**share
            assert (law_prices._log_ratio(inside, inside, law.atoms, math.exp(2), Fraction(2)) <= bound + 1e-12).all()


def test_logarithms_and_sums_of_powers_have_their_stated_errors() -> None:
    values = np.concatenate([2.0 ** np.arange(-500, 500, 7) * x for x in (1, 1.3, math.sqrt(2), 1.99)])
    exact = np.array([math.log(value) for value in values])
    assert (np.abs(_ln(values) - exact) <= (2 * np.abs(np.frexp(values)[1]) + 20) * 2.0**-53).all()
    for exponent in (0, 1, 2, 7, 1000):
        x = Fraction(0.99)
        power, total = _power_and_sum(np.array([0.99]), exponent)
        sums = (1 - x**exponent) / (1 - x)
        assert abs(Fraction(power[0]) - x**exponent) <= 2 * exponent * x**exponent / 2**53
        assert abs(Fraction(total[0]) - sums) <= 4 * exponent * sums / 2**53


def test_edges() -> None:
    eps = Fraction("4.56")
    for k in (1, 2, 1000):
        assert FiniteLaw.of({k: Fraction(1)}).price(eps) == k * eps
    for law in LAWS.values():
        assert law.price(Fraction(0)) == 0
        assert eps <= law.price(eps)
    assert StopCoin(stop_probability=Fraction(1)).price(eps) == eps
    assert StopCoin(stop_probability=Fraction(1, 10**30)).price(eps) == 2 * eps
    for gamma, price in (("0.001", 9.03), ("0.02", 8.05), ("0.1", 6.76)):
        assert float(StopCoin(stop_probability=Fraction(gamma)).price(eps)) == pytest.approx(price, abs=0.006)
    assert 10**6 + 6.9 < StopCoin(stop_probability=Fraction(1, 1000)).price(Fraction(10**6)) < 10**6 + 7
    with pytest.raises(BudgetError, match="costs epsilon = 301.* at most epsilon = 300"):
        BIRTHS.price(Fraction(301))


def test_a_long_law_and_a_large_epsilon_are_priced_in_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not seconds, which depend on the machine: acceptance probabilities that are tried."""
    tried, right = [0], law_prices._log_ratio
    monkeypatch.setattr(
        law_prices, "_log_ratio", lambda low, *rest: (tried.__setitem__(0, tried[0] + len(low)), right(low, *rest))[1]
    )
    for atoms in ({1: "0.1", 1000: "0.9"}, {1: "0.001", 2: "0.002", 1000: "0.997"}):
        FiniteLaw.of({k: Fraction(p) for k, p in atoms.items()}).price(Fraction(10))
    assert 0 < tried[0] < 10_000


@pytest.mark.parametrize(
    ("atoms", "message"),
    [
        ({1: Fraction("0.5"), 2: Fraction("0.4999999999999999999")}, r"must sum to 1. Their sum is 1e-19 below 1"),
        ({1: Fraction("0.5"), 2: Fraction("0.6")}, r"must sum to 1. Their sum is 0.1 above 1"),
        ({0: Fraction(1)}, "from 1 to 10,000 in ascending order, found 0"),
        ({10_001: Fraction(1)}, "from 1 to 10,000"),
        ({1: Fraction(2), 2: Fraction(-1)}, "2: expected a probability of at least 1e-12, found -1"),
        ({}, "found no number"),
        (dict.fromkeys(range(1, 1002), Fraction(1, 1001)), "has 1,001 different numbers of rounds. At most 1,000"),
    ],
)
def test_what_is_no_law_is_refused(atoms: dict[int, Fraction], message: str) -> None:
    with pytest.raises(Unexpected, match=message):
        FiniteLaw.of(atoms)


def test_laws_say_how_long_they_last_and_how_often_nothing_comes_of_it() -> None:
    assert BIRTHS.mean == pytest.approx(0.182 + 6 * 0.47 + 7 * 0.348)
    assert StopCoin(stop_probability=Fraction(1, 50)).mean == 50
    for law in LAWS.values():
        for rejection in (0.0, 0.3, 0.99):
            assert law.nothing(np.array([rejection]))[0] == pytest.approx(float(law.nothing(rejection)))
        assert float(law.nothing(1.0)) == pytest.approx(1)
        assert float(law.nothing(0.0)) == pytest.approx(0)
    assert BIRTHS.nothing(Fraction(1, 2)) == Fraction("0.182") / 2 + Fraction("0.47") / 64 + Fraction("0.348") / 128
