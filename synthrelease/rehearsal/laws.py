"""The law of the hidden number of rounds that ends least often with "nothing" at a price: a linear programme.

A search draws a hidden number K of rounds from a public law and publishes the first accepted round, or "nothing" when none of K
is. With E = e^epsilon of a round, A the probability that a round is accepted and f(x) = sum_k Pr[K=k] x^k, it costs a price P
when, for every A in (0, 1/(1+E)] and the largest A' that a neighbouring table can have, A' = E A,

    (1 - f(1-A)) / A <= e^(P - epsilon) (1 - f(1-A')) / A'     and     f(1-A) <= e^P f(1-A').

Both are linear in Pr[K=k], and so is the probability of "nothing", also as a mean over private fits that all rounds of a
release share. Here the constraints are asked on a mesh of A, so what is found is an **offer**: its price is certified by
`accounting`, for every A, when it is put into a plan, and no other figure is shown to anybody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from synthrelease.privacy.law_prices import MOST_ROUNDS
from synthrelease.privacy.selection import FiniteLaw, StopCoin, StoppingLaw

ONCE = FiniteLaw.of({1: Fraction(1)})
"""One round, which costs its own epsilon."""

_MESH = 80
"""Values of A', evenly spaced in log(A' / (1-A')); twice as many move the prices of the offers by less than 0.01."""

_REACH = 12.0
"""The mesh begins at log(A' / (1-A')) = -12, where both ratios are about 1 for the laws that are offered."""

_EVERY, _MOST, _FURTHER = 30, MOST_ROUNDS, 50
"""Numbers of rounds that a law may have: each up to the first, then so many further ones up to the largest, evenly in log K."""

_LEAST = 1e-6
"""What is less likely is left out of a law."""

_SPARED = 0.005
"""A number of rounds is left out where the programme without it ends with "nothing" only by this share more often."""

_DIGITS = 3
"""Significant digits of the smallest probability of a law."""

_FINE, _STEPS = 1_000, 9
"""The price of the cheapest law is looked for within epsilon over the first, and raised in so many growing steps until the
rounded law ends with "nothing" seldom enough."""


def numbers_of_rounds(most: int = MOST_ROUNDS) -> np.ndarray:
    """(n,) the values of K that a law may have, rising, none above `most`."""
    further = np.geomspace(_EVERY, _MOST, _FURTHER + 1).round()
    numbers = np.unique(np.concatenate([np.arange(1.0, _EVERY + 1), further, [most]]))
    return numbers[numbers <= most]


def mean_nothing(law: StoppingLaw, chances: Sequence[float]) -> float:
    """Mean over private fits of Pr["nothing"] = f(1 - a), a the probability that a round with this fit is accepted."""
    return math.fsum(chances_of_nothing(law, chances)) / len(chances)


def chances_of_nothing(law: StoppingLaw, chances: Sequence[float]) -> list[float]:
    """Per private fit, Pr["nothing"]."""
    return np.asarray(law.nothing(1 - np.asarray(chances, dtype=float))).tolist()


def mean_rounds_run(law: StoppingLaw, chances: Sequence[float]) -> float:
    """Mean over private fits of the number of rounds that are run: (1 - f(1-a)) / a, E[K] where a = 0."""
    pairs = zip(chances, chances_of_nothing(law, chances), strict=True)
    return math.fsum((1 - nothing) / chance if chance > 0 else law.mean for chance, nothing in pairs) / len(chances)


def best_law(epsilon: float, price: float, chances: Sequence[float], most: int = MOST_ROUNDS) -> FiniteLaw | None:
    """The law that ends least often with "nothing" among those that cost at most `price` on the mesh; None where none does.

    Parameters
    ----------
    epsilon : of one round, above 0; rounds are pure.
    price : epsilon of the whole search; K = 1 costs that of a round.
    chances : per private fit, the probability that a round is accepted, in [0, 1]; one number where fits share nothing.
    most : the largest number of rounds that a law may have.

    Returns
    -------
    Law
        Few numbers of rounds with probabilities of few digits that sum to 1. Rounding can move price and "nothing" in
        the last of these digits.
    """
    numbers, shares, nothing = _solved(epsilon, price, chances, numbers_of_rounds(most))
    if not len(numbers):
        return None
    for number in sorted(numbers, key=lambda number: shares[number]):
        kept = np.array([other for other in numbers if other != number])
        fewer = _solved(epsilon, price, chances, kept) if number != 1 and len(kept) else None
        if fewer is not None and len(fewer[0]) and fewer[2] <= (1 + _SPARED) * nothing:
            numbers, shares, _ = fewer
    return rounded(shares)


def _solved(
    epsilon: float, price: float, chances: Sequence[float], rounds: np.ndarray
) -> tuple[np.ndarray, dict[int, float], float]:
    """The programme over these numbers of rounds: those that are used, their probabilities, and that of "nothing"."""
    from scipy.optimize import linprog

    table = _constraints(epsilon, price, rounds)
    nothing = np.mean([(1 - chance) ** rounds for chance in chances], axis=0)
    found = linprog(nothing, A_ub=table, b_ub=np.zeros(len(table)), A_eq=np.ones((1, len(rounds))), b_eq=[1.0], method="highs")
    if not found.success:
        return np.array([]), {}, 1.0
    used = found.x > _LEAST
    shares = {int(number): float(share) for number, share in zip(rounds[used], found.x[used], strict=True)}
    return rounds[used], shares, float(found.fun)


def cheapest_law(epsilon: float, nothing: float, chances: Sequence[float], most: int = MOST_ROUNDS) -> FiniteLaw | None:
    """The cheapest law, on the mesh, that ends with "nothing" with at most this probability; None where none does for the
    price of a search that hardly ever gives up, 2 epsilon.

    The logarithm of the smallest probability falls with the price, nearly in a line: false position, with halvings.

    Parameters
    ----------
    epsilon, chances, most : as for `best_law`.
    nothing : wanted bound of the mean over private fits, in (0, 1).
    """
    if mean_nothing(ONCE, chances) <= nothing:
        return ONCE
    price = _price_of(epsilon, nothing, chances, numbers_of_rounds(most))
    if price is None:
        return None
    for step in range(_STEPS):
        law = best_law(epsilon, price + epsilon * 2**step / (4 * _FINE), chances, most)
        if law is not None and mean_nothing(law, chances) <= nothing:
            return law
    return None


def _price_of(epsilon: float, nothing: float, chances: Sequence[float], rounds: np.ndarray) -> float | None:
    """About the price at which the programme ends with "nothing" so seldom; None above 2 epsilon."""
    from scipy.optimize import brentq

    def log_ratio(price: float) -> float:
        return math.log(max(_solved(epsilon, price, chances, rounds)[2], 1e-12) / nothing)

    if log_ratio(2 * epsilon) > 0:
        return None
    return float(brentq(log_ratio, epsilon, 2 * epsilon, xtol=epsilon / _FINE))


def stop_probability(nothing: float, chances: Sequence[float]) -> Fraction | None:
    """The largest stop probability, rounded down to two digits, of a coin that ends with "nothing" with at most this
    probability in the mean over private fits; None where none does."""

    def ends(logarithm: float) -> bool:
        return mean_nothing(StopCoin(stop_probability=Fraction(math.exp(logarithm))), chances) <= nothing

    low, high = math.log(1e-9), 0.0
    if mean_nothing(ONCE, chances) <= nothing:
        return Fraction(1)
    if not ends(low):
        return None
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if ends(middle) else (low, middle)
    step = Fraction(10) ** (math.floor(low / math.log(10)) - 1)
    return math.floor(Fraction(math.exp(low)) / step) * step


def rounded(shares: Mapping[int, float]) -> FiniteLaw:
    """A law with few digits; its probabilities sum to 1 exactly."""
    total = math.fsum(shares.values())
    digits = max(_DIGITS, _DIGITS - 1 - math.floor(math.log10(min(shares.values()) / total)))
    units = 10**digits
    whole = {number: math.floor(share / total * units) for number, share in sorted(shares.items())}
    left = units - sum(whole.values())
    for number in sorted(whole, key=lambda number: whole[number] - shares[number] / total * units)[:left]:
        whole[number] += 1
    return FiniteLaw.of({number: Fraction(share, units) for number, share in whole.items() if share})


def _constraints(epsilon: float, price: float, rounds: np.ndarray) -> np.ndarray:
    """(2 mesh, n) coefficients of Pr[K = k] in what must not be above 0, each row scaled to 1."""
    odds = np.exp(np.linspace(-_REACH, epsilon, _MESH))  # of A'
    factor = math.exp(epsilon)
    accepted = odds / (1 + odds) / factor
    outputs, nothing = _per_round(accepted, 1 - accepted, rounds)
    other_outputs, other_nothing = _per_round(odds / (1 + odds), 1 / (1 + odds), rounds)
    rows = np.vstack(
        [math.exp(epsilon - price) * outputs - other_outputs, math.exp(-price) * nothing - other_nothing]
    )  # fmt: skip
    return rows / np.abs(rows).max(axis=1, keepdims=True)


def _per_round(accepted: np.ndarray, rejected: np.ndarray, rounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(mesh, n) (1 - (1-A)^k) / A, and (1-A)^k."""
    logs = np.where(accepted < 0.5, np.log1p(-np.minimum(accepted, 0.5)), np.log(rejected))
    exponents = np.outer(logs, rounds)
    return -np.expm1(exponents) / accepted[:, None], np.exp(exponents)
