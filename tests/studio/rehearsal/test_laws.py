"""The linear programme over laws of the number of rounds, against all small laws and against laws with two values."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from synthrelease.privacy.selection import FiniteLaw, StopCoin
from synthrelease.studio.rehearsal.advice import (
    ONCE,
    best_law,
    chances_of_nothing,
    cheapest_law,
    mean_nothing,
    mean_rounds_run,
    rounded,
)


def prices(epsilon: float, laws: np.ndarray, points: int = 200) -> np.ndarray:
    """(n_laws,) least prices of laws (n_laws, largest K), by a dense grid of all A in (0, 1) and the worst neighbour of each.

    Written from the definition, and slow; a lower bound of the price.
    """
    logit = np.linspace(-epsilon - 12, epsilon + 12, points)
    accepted = 1 / (1 + np.exp(-logit))
    other = np.minimum(math.exp(epsilon) * accepted, 1 - (1 - accepted) / math.exp(epsilon))
    k = np.arange(1, laws.shape[1] + 1)
    here, there = (laws @ (1 - a)[None, :] ** k[:, None] for a in (accepted, other))
    first = epsilon + np.log((1 - here) / accepted) - np.log((1 - there) / other)
    return np.maximum(first.max(axis=1), (np.log(here) - np.log(there)).max(axis=1))


def small_laws(most: int, steps: int) -> np.ndarray:
    """(n, most) all laws on 1, ..., `most` whose probabilities are multiples of one over `steps`, 1 among them."""
    bars = np.array([(0, *cut, steps + most - 1) for cut in combinations(range(1, steps + most - 1), most - 1)])
    shares = np.diff(bars, axis=1) - 1
    shares[:, 0] += 1
    return shares / steps


@pytest.mark.parametrize(("epsilon", "chance"), [(0.5, 0.6), (2.0, 0.5), (4.56, 0.73)])
def test_no_small_law_ends_less_often_with_nothing_at_the_price_of_the_best_one(epsilon: float, chance: float) -> None:
    """All 2,380 laws on five numbers with multiples of 1/14; some of them nearly reach the best one."""
    laws = small_laws(5, 14)
    costs, ends = prices(epsilon, laws), laws @ (1 - chance) ** np.arange(1, 6)
    for factor in (1.1, 1.3):
        best = best_law(epsilon, factor * epsilon, [chance])
        assert best is not None
        price = float(best.price(Fraction(str(epsilon))))  # certified, from the accounting
        assert price == pytest.approx(factor * epsilon, abs=0.015)
        nothing = mean_nothing(best, [chance])
        assert nothing <= ends[costs <= price - 0.004 * epsilon].min()
        assert ends[costs <= price + 0.1 * epsilon].min() < nothing  # they come near


@pytest.mark.parametrize(("price", "nothing"), [(5.27, 0.141), (5.84, 0.075), (6.20, 0.050), (6.76, 0.027), (7.20, 0.016)])
def test_the_frontier_of_the_births(price: float, nothing: float) -> None:
    """Rounds of 4.56 that are accepted with probability 0.73 (theory 2b.4, best distribution)."""
    best = best_law(4.56, price, [0.73])
    assert best is not None
    assert mean_nothing(best, [0.73]) == pytest.approx(nothing, abs=0.0008)
    assert float(best.price(Fraction("4.56"))) == pytest.approx(price, abs=0.005)
    assert len(best.atoms) <= 3


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "chances"), [(4.56, [0.73]), (1.0, [0.4]), (0.3, [0.95, 0.9, 0.5, 0.99])])
def test_the_cheapest_law_ends_seldom_enough_and_no_pair_of_numbers_is_cheaper(epsilon: float, chances: list[float]) -> None:
    """Pairs 1 and k, 1 with the largest probability that ends so seldom with nothing."""
    best, wanted = cheapest_law(epsilon, 0.05, chances), 0.05
    assert best is not None
    assert 0.98 * wanted < mean_nothing(best, chances) <= wanted
    price, pairs = float(best.price(Fraction(str(epsilon)))), []
    once = mean_nothing(ONCE, chances)
    for k in range(2, 41):
        more = math.fsum((1 - chance) ** k for chance in chances) / len(chances)
        if more < wanted:
            share = (wanted - more) / (once - more)
            pairs.append([share, *[0.0] * (k - 2), 1 - share, *[0.0] * (40 - k)])
    assert len(pairs) > 20
    assert price <= prices(epsilon, np.array(pairs)).min() + 0.006 * epsilon
    coins = [StopCoin(stop_probability=Fraction(step, 1000)) for step in range(1, 1000)]
    seldom = [coin for coin in coins if mean_nothing(coin, chances) <= wanted]
    assert price <= min(float(coin.price(Fraction(str(epsilon)))) for coin in seldom) + 1e-6


def test_no_law_has_more_rounds_than_the_largest_that_is_allowed() -> None:
    short, free = (cheapest_law(1.0, 0.05, [0.2], most) for most in (25, 10_000))
    assert short is not None
    assert free is not None
    assert short.atoms[-1][0] <= 25 < free.atoms[-1][0]
    assert cheapest_law(1.0, 0.05, [0.2], 12) is None


def test_one_round_is_enough_where_it_is_accepted_often_enough() -> None:
    assert cheapest_law(4.56, 0.05, [0.96]) == ONCE
    assert ONCE.price(Fraction("4.56")) == Fraction("4.56")


def test_where_too_many_private_fits_pass_nothing_no_law_is_offered() -> None:
    """One fit in ten never passes: nothing is released with probability 0.1 at least, however long the search."""
    chances = [0.0] + [0.9] * 9
    assert cheapest_law(0.3, 0.05, chances) is None
    found = cheapest_law(0.3, 0.12, chances)
    assert found is not None
    assert 0.1 < mean_nothing(found, chances) <= 0.12


def test_nothing_and_rounds_by_simulation() -> None:
    """60,000 searches of fits 0.3 and 0.7; tolerances of ten standard errors."""
    law, draw, n = FiniteLaw.of({1: Fraction(1, 5), 6: Fraction(4, 5)}), np.random.default_rng(3), 60_000
    chances = draw.choice([0.3, 0.7], n)
    longest = draw.choice([1, 6], n, p=[0.2, 0.8])
    needed = draw.geometric(chances)
    nothing, run = needed > longest, np.minimum(needed, longest)
    assert mean_nothing(law, [0.3, 0.7]) == pytest.approx(nothing.mean(), abs=10 * nothing.std() / math.sqrt(n))
    assert mean_rounds_run(law, [0.3, 0.7]) == pytest.approx(run.mean(), abs=10 * run.std() / math.sqrt(n))
    assert chances_of_nothing(law, [0.3]) == [pytest.approx(0.2 * 0.7 + 0.8 * 0.7**6)]
    assert mean_rounds_run(law, [0.0]) == 5


def test_a_rounded_law_has_three_digits_and_sums_to_one() -> None:
    law = rounded({1: 0.0123656, 7: 1 / 3, 9: 0.6543011})
    assert sum(share for _, share in law.atoms) == 1
    assert dict(law.atoms) == {1: Fraction("0.0124"), 7: Fraction("0.3333"), 9: Fraction("0.6543")}
