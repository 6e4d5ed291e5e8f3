"""Gaussian differential privacy: the exact (epsilon, delta) of a mu, and what private choices and pure parts cost in it.

A mechanism is mu-Gaussian when telling its output on a table from that on a neighbour is at least as hard as telling N(mu, 1)
from N(0, 1) (Dong, Roth & Su 2022). Squares of mu add up, also where parts are chosen by the answers before them (theory 9.16,
a Gaussian budget that answers share out). Everywhere here rho = mu^2 / 2: a mu-Gaussian mechanism is rho-zero-concentrated,
and Gaussian noise has the same rho in both, so that one budget means the same noise.

What is found by a search in floating point is only where to look: whole numbers certify it (`accounting.normal`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from synthrelease.accounting.normal import below
from synthrelease.accounting.renyi import decimal_of, zcdp
from synthrelease.inversion.laws import exponential

STEPS = 10**9
"""Epsilons are multiples of one over this."""
_FINE = 10**15
LARGEST_RHO = 200
"""Above it the Renyi conversion is used: its loss is small beside so much."""
_GUARD = 100
_FARTHEST, _NEARLY_NOTHING = 64, Fraction(1, 2**2900)
"""Pr[N < -64] is below e^(-64^2 / 2), and so is this."""


@lru_cache(maxsize=1024)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """The least multiple of 1e-9 for which a Gaussian rho yields (epsilon, delta)-DP (theory 9.14, exact Gaussian curve).

    Raises
    ------
    ValueError : unless 0 < delta < 1.
    """
    if not 0 < delta < 1:
        raise ValueError("a Gaussian guarantee yields (epsilon, delta) only for a delta above 0 and below 1")
    if not rho:
        return Fraction(0)
    if rho > LARGEST_RHO:
        return zcdp(rho).epsilon(delta)
    mu = root(2 * rho, up=True)
    return Fraction(_least(lambda step: delta_up(mu, Fraction(step, STEPS)) <= delta, _guess(float(mu), delta)), STEPS)


@lru_cache(maxsize=1024)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, rounded down, whose Gaussian guarantee at this delta is at most epsilon."""
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError("a rho is looked for within an epsilon above 0 and a delta above 0 and below 1")

    def too_much(step: int) -> bool:
        return delta_up(root(2 * Fraction(step, STEPS), up=True), epsilon) > delta

    mu = _begins(lambda mu: not _is_within(mu, float(epsilon), _log(delta)), math.sqrt(2 * LARGEST_RHO))
    return min(Fraction(_least(too_much, int(mu * mu / 2 * STEPS)) - 1, STEPS), Fraction(LARGEST_RHO))


def delta_up(mu: Fraction, epsilon: Fraction) -> Fraction:
    """Pr[N < mu / 2 - epsilon / mu] - e^epsilon Pr[N < -mu / 2 - epsilon / mu], rounded up by less than 1e-30 of it, or so."""
    if not mu:
        return Fraction(0)
    if mu / 2 - epsilon / mu < -_FARTHEST:
        return _NEARLY_NOTHING
    far = float(mu / 2 + epsilon / mu)
    bits = _GUARD + math.ceil(far * far)  # what is smallest is about e^(-far^2 / 2)
    near, beyond = below(mu / 2 - epsilon / mu, bits), below(-mu / 2 - epsilon / mu, bits)
    shrink = exponential(epsilon, bits)
    return Fraction(near.high, 1 << bits) - Fraction(beyond.low, shrink.high)


def choice_epsilon(rho: Fraction) -> Fraction:
    """The largest epsilon, rounded down, of an exponential mechanism whose Gaussian price is rho.

    2 ln(p / (1 - p)), p = Pr[N < mu / 2] (theory 9.15, Gaussian price of a choice).
    """
    return 2 * pure_epsilon_of(rho)


def pure_epsilon_of(rho: Fraction) -> Fraction:
    """The largest epsilon, rounded down, of a pure mechanism whose Gaussian price is rho.

    ln(p / (1 - p)), p = Pr[N < mu / 2] (theory 9.15, Gaussian price of a choice).
    """
    mu = root(2 * rho, up=False)
    bits = _GUARD + math.ceil(float(mu) ** 2)
    low = below(mu / 2, bits).low
    odds = Fraction(low, (1 << bits) - low)
    return Fraction(max(0, math.floor(Fraction(decimal_of(odds).ln()) * _FINE) - 1), _FINE) if odds > 1 else Fraction(0)


@lru_cache(maxsize=1024)
def of_pure(epsilon: Fraction) -> Fraction:
    """The rho of an epsilon-DP mechanism, rounded up: mu = 2 z, Pr[N < z] = e^epsilon / (1 + e^epsilon)."""
    outside = -float(epsilon) - math.log1p(math.exp(-float(epsilon)))  # ln Pr[N < -z]
    z = _begins(lambda z: _log_below(-z) <= outside, 2 + math.sqrt(2 * float(epsilon)))
    return Fraction(_least(lambda step: pure_epsilon_of(Fraction(step, STEPS)) >= epsilon, int(2 * z * z * STEPS)), STEPS)


def root(value: Fraction, *, up: bool) -> Fraction:
    """The square root as a multiple of 1e-15, rounded up or down."""
    down = math.isqrt(value.numerator * _FINE**2 // value.denominator)
    return Fraction(down + (up and Fraction(down, _FINE) ** 2 < value), _FINE)


def _least(holds: Callable[[int], bool], guess: int) -> int:
    """The least step >= 0 from which on something holds: away from a guess in steps that double, then by halves."""
    low, high, width = -1, max(0, guess), 1
    if holds(high):
        while high - width > low and holds(high - width):
            high, width = high - width, 2 * width
        low = max(low, high - width)
    else:
        while not holds(high + width):
            high, width = high + width, 2 * width
        low, high = high, high + width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _guess(mu: float, delta: Fraction) -> int:
    """About the epsilon, in steps, in floating point."""
    target = _log(delta)
    highest = mu * mu / 2 + mu * (2 + math.sqrt(-2 * target))
    return math.ceil(_begins(lambda epsilon: _is_within(mu, epsilon, target), highest) * STEPS)


def _is_within(mu: float, epsilon: float, target: float) -> bool:
    """Whether the logarithm of the delta at this epsilon is at most `target`, in floating point."""
    first, second = _log_below(mu / 2 - epsilon / mu), epsilon + _log_below(-mu / 2 - epsilon / mu)
    return second >= first or first + math.log1p(-math.exp(second - first)) <= target


def _begins(holds: Callable[[float], bool], high: float) -> float:
    """Where between 0 and `high` something begins to hold, in floating point."""
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _log_below(place: float) -> float:
    """ln Pr[N < place], in floating point."""
    if place > -30:
        return math.log(math.erfc(-place / math.sqrt(2)) / 2)
    square = place * place
    return -square / 2 - math.log(-place * math.sqrt(2 * math.pi)) + math.log1p(-1 / square + 3 / square**2)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
