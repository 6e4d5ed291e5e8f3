"""Add Renyi and Gaussian privacy curves, and convert the sums to (epsilon, delta), with proved bounds on the rounding.

A mechanism has the curve r if, for every order a > 1 and all neighbours, the Renyi divergence of order a between the two output
distributions is at most r(a) (Mironov 2017). Curves add under adaptive composition, and post-processing is free. All curves
here have the form

    r(a) = rho a + constant + log_mean / (a - 1).

With rho alone, this is zero-concentrated differential privacy (Bun & Steinke 2016); the other two coefficients come from a
selection (`selected`). Irrational numbers are computed with 50 digits and rounded up, so that no cost is understated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache

from synthrelease.privacy.exact_bounds import Between, complement, exp_bounds, product

# Probabilities of the normal distribution lie between whole numbers that certify them, to any number of bits (theory 9.14,
# exact Gaussian curve).
#
# Pr[|N| < x] = sqrt(2 x^2 / pi) exp(-x^2 / 2) (1 + x^2 / 3 + x^4 / (3 5) + x^6 / (3 5 7) + ...): all terms are positive, and
# rational if x^2 is rational. Sums, products and roots of integers are rounded down for the lower bound and up for the upper
# bound, exponentials as in `privacy.exact_bounds`. No float is involved.

# Additional bits of the computation, which make the bounds tight. The bounds are valid for any number of bits.
_NORMAL_GUARD = 32


def within(square: Fraction, bits: int) -> Between:
    """Return integer bounds on 2^bits Pr[-x < N < x] for a standard normal N, where x^2 = `square` is at least 0."""
    if not square:
        return Between(0, 0)
    wide = bits + _NORMAL_GUARD
    room = math.ceil(square) + 2  # the series is at most e^(x^2 / 2) < 2^(x^2)
    series, height = _series(square, wide), exp_bounds(square / 2, wide + room)
    pi, above, below = _pi(wide), 2 * square.numerator << 3 * wide, square.denominator
    root = Between(math.isqrt(above // (below * pi.high)), math.isqrt(-(-above // (below * pi.low))) + 1)
    inside = product(product(series, height, wide + room), root, wide)
    return Between(inside.low >> _NORMAL_GUARD, min((inside.high >> _NORMAL_GUARD) + 1, 1 << bits))


def below(point: Fraction, bits: int) -> Between:
    """Return integer bounds on 2^bits Pr[N < point] for a standard normal N."""
    whole, inside = 1 << bits, within(point**2, bits)
    outside = complement(inside, whole)
    half = Between(outside.low >> 1, (outside.high >> 1) + 1)
    return half if point < 0 else complement(half, whole)


def _series(square: Fraction, bits: int) -> Between:
    """Return integer bounds on 2^bits times the series 1 + x^2 / 3 + x^4 / (3 5) + ..., where x^2 = `square`.

    Once the odd divisor is at least 2 x^2, each term is at most half of the previous one, so all omitted terms add up to at
    most the last computed term.
    """
    above, under = square.as_integer_ratio()
    low = high = lower = upper = 1 << bits
    odd = 1
    while lower or odd * under < 2 * above:
        odd += 2
        lower, upper = lower * above // (under * odd), upper * above // (under * odd) + 1
        low, high = low + lower, high + upper
    return Between(low, high + upper)


@lru_cache(maxsize=16)
def _pi(bits: int) -> Between:
    """Return integer bounds on 2^bits pi, by Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""
    fifth, small = _arctan(5, bits), _arctan(239, bits)
    return Between(16 * fifth.low - 4 * small.high, 16 * fifth.high - 4 * small.low)


def _arctan(inverse: int, bits: int) -> Between:
    """Return integer bounds on 2^bits arctan(1 / inverse). Each term of the alternating series has an error below 1, and the
    omitted terms add up to less than 1."""
    power, total, odd = (1 << bits) // inverse, 0, 1
    while power:
        total += power // odd if odd % 4 == 1 else -(power // odd)
        power //= inverse**2
        odd += 2
    return Between(total - 2 * odd, total + 2 * odd)


_DIGITS = 50
_STATED = 10**9  # Epsilons are rounded up to multiples of 1 / _STATED = 1e-9
SLACK = Fraction(1, 10**30)
"""An upper bound on all rounding errors of a few dozen operations with 50 digits on numbers below 1e12."""


@dataclass(frozen=True, kw_only=True)
class RenyiCurve:
    """A bound on the Renyi divergence of every order above 1: rho * order + constant + log_mean / (order - 1). All coefficients
    are at least 0."""

    rho: Fraction = Fraction(0)
    constant: Fraction = Fraction(0)
    log_mean: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if min(self.rho, self.constant, self.log_mean) < 0:
            raise ValueError("the coefficients of a Renyi curve are at least 0")

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        """Return the curve of two mechanisms composed adaptively: the divergences add up at every order (Mironov 2017,
        Proposition 1)."""
        return RenyiCurve(
            rho=self.rho + other.rho, constant=self.constant + other.constant, log_mean=self.log_mean + other.log_mean
        )

    def at(self, order: Fraction) -> Fraction:
        return self.rho * order + self.constant + self.log_mean / (order - 1)

    def text(self) -> str:
        """Return the formula of the curve, such as "0.5 a" for rho = 0.5 and order a. Coefficients are rounded up."""
        terms = ((self.rho, " a"), (self.constant, ""), (self.log_mean, " / (a - 1)"))
        return " + ".join(f"{_millionths_up(factor)}{rest}" for factor, rest in terms if factor) or "0"

    def epsilon(self, delta: Fraction) -> Fraction:
        """Return the epsilon for which the curve yields (epsilon, delta)-DP, rounded up.

        For every order a > 1: epsilon = r(a) + (ln(1/delta) - ln a) / (a - 1) + ln(1 - 1/a) (Canonne, Kamath & Steinke 2020,
        Proposition 12, solved for epsilon; dp-accounting uses the same formula). A search in floating point finds a good order;
        the bound is valid for any order.

        Raises
        ------
        ValueError : if delta is not between 0 and 1.
        """
        if not 0 < delta < 1:
            raise ValueError("a Renyi curve yields (epsilon, delta) only for a delta above 0 and below 1")
        return _yielded(self, delta)

    def _epsilon_at(self, order: Fraction, delta: Fraction) -> Fraction:
        with localcontext(Context(prec=_DIGITS)):
            rest = (-_ln(delta) - _ln(order)) / decimal_of(order - 1) + _ln(1 - 1 / order)
        return self.at(order) + Fraction(rest)


@lru_cache(maxsize=1024)
def _yielded(curve: RenyiCurve, delta: Fraction) -> Fraction:
    epsilon_at = cache(lambda order: curve._epsilon_at(order, delta))
    best = min(_orders(epsilon_at), key=epsilon_at)
    return _up(max(Fraction(0), epsilon_at(best)))


def zcdp(rho: Fraction) -> RenyiCurve:
    """Return the curve of rho-zero-concentrated differential privacy (Bun & Steinke 2016, Definition 1.1)."""
    return RenyiCurve(rho=rho)


def curve_of_pure(epsilon: Fraction) -> RenyiCurve:
    """Return the curve of an epsilon-DP mechanism: (epsilon^2 / 2)-zero-concentrated (Bun & Steinke 2016, Proposition 1.4)."""
    return zcdp(epsilon**2 / 2)


def above(*curves: RenyiCurve) -> RenyiCurve:
    """Return one Renyi curve that is nowhere below any of several: each coefficient is the largest among them."""
    return RenyiCurve(
        rho=max(curve.rho for curve in curves),
        constant=max(curve.constant for curve in curves),
        log_mean=max(curve.log_mean for curve in curves),
    )


def selected(one_round: RenyiCurve, shape: Fraction, stop_probability: Fraction) -> RenyiCurve:
    """Return the Renyi curve of a selection that runs K independent rounds and publishes only the best. K is secret and has a
    truncated negative binomial distribution.

    Papernot & Steinke (ICLR 2022), Theorem 2, with eta = shape > -1 and gamma = stop_probability in (0, 1): for every order a >
    1 and every a2 >= 1

        r'(a) = r(a) + (1 + eta) ((1 - 1/a2) r(a2) + ln(1/gamma) / a2) + ln(E[K]) / (a - 1).

    For r(a) = rho a the middle term is (1 + eta) (rho (a2 - 1) + ln(1/gamma) / a2), smallest at a2 = sqrt(ln(1/gamma) / rho),
    or at a2 = 1 if this root is below 1.

    Raises
    ------
    ValueError : if a round is not zero-concentrated, or if parameters are outside their range.
    """
    if one_round.constant or one_round.log_mean:
        raise ValueError("a round of a selection must be zero-concentrated")
    with localcontext(Context(prec=_DIGITS)):
        log_inverse = -_ln(stop_probability)
        rho = decimal_of(one_round.rho)
        middle = 2 * (rho * log_inverse).sqrt() - rho if rho <= log_inverse else log_inverse
        log_k = _ln(Fraction(mean_rounds(shape, stop_probability)))
    return RenyiCurve(
        rho=one_round.rho, constant=(1 + shape) * (Fraction(middle) + SLACK), log_mean=max(Fraction(0), Fraction(log_k)) + SLACK
    )


def mean_rounds(shape: Fraction, stop_probability: Fraction) -> Decimal:
    """Return the mean E[K] of the truncated negative binomial distribution (Papernot & Steinke 2022, Definition 1), with 50
    digits.

    E[K] = eta (1 - gamma) / (gamma (1 - gamma^eta)); for eta = 0, the logarithmic distribution, (1/gamma - 1) / ln(1/gamma).
    """
    if not (shape > -1 and 0 < stop_probability < 1):
        raise ValueError("a truncated negative binomial law needs a shape above -1 and a stop probability in (0, 1)")
    with localcontext(Context(prec=_DIGITS)):
        gamma, eta = decimal_of(stop_probability), decimal_of(shape)
        if shape == 0:
            return (1 / gamma - 1) / -gamma.ln()
        return eta * (1 - gamma) / (gamma * (1 - (eta * gamma.ln()).exp()))


def _millionths_up(value: Fraction) -> str:
    whole, digits = divmod(-int(-value * 10**6 // 1), 10**6)
    return f"{whole}.{digits:06d}".rstrip("0").rstrip(".")


def root_down(value: Fraction) -> Fraction:
    """Return the square root, rounded down to a multiple of 1e-12."""
    return Fraction(math.isqrt(value.numerator * 10**24 // value.denominator), 10**12)


def exp_up(exponent: Fraction) -> Fraction:
    """Return e^exponent, rounded up by a relative amount of about 1e-40."""
    with localcontext(Context(prec=_DIGITS)):
        return Fraction(decimal_of(exponent).exp()) * (1 + Fraction(1, 10**40))


def least_wrong(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a lower limit on the error rate of an attacker who guesses which of two equally likely neighbouring files was
    used: (1 - delta) / (1 + e^epsilon).

    Theory 1.4, two worlds.
    """
    return (1 - delta) / (1 + exp_up(epsilon))


def log_up(value: Fraction) -> Fraction:
    """Return the natural logarithm of a number of at least 1, rounded up to a multiple of 1e-9."""
    with localcontext(Context(prec=_DIGITS)):
        return _up(Fraction(_ln(value))) if value != 1 else Fraction(0)


def _orders(objective: Callable[[Fraction], Fraction]) -> list[Fraction]:
    """Return orders a = 1 + 2^t of the Renyi divergence at which a bound is tried: grids of t, refined around the smallest
    `objective`."""
    centre, width, tried = Fraction(8), Fraction(32), []
    for _ in range(6):
        grid = [1 + _power_of_two(centre + width * Fraction(step, 16)) for step in range(-16, 17)]
        tried += grid
        best = min(range(len(grid)), key=lambda index: objective(grid[index]))
        centre, width = centre + width * Fraction(best - 16, 16), width / 8
    return tried


def _power_of_two(exponent: Fraction) -> Fraction:
    return Fraction(2.0 ** float(exponent))


def decimal_of(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _ln(value: Fraction) -> Decimal:
    return decimal_of(value).ln()


def _up(value: Fraction) -> Fraction:
    return Fraction(-((-(value + SLACK) * _STATED) // 1), _STATED)


# Gaussian differential privacy: the exact (epsilon, delta) of a mu, and the Gaussian cost of private choices and pure parts.
#
# A mechanism is mu-Gaussian if it is at least as hard to distinguish its outputs on two neighbouring tables as to distinguish
# N(mu, 1) from N(0, 1) (Dong, Roth & Su 2022). Squares of mu add up, even if each part is chosen by the answers of earlier
# parts (theory 9.16, a Gaussian budget that answers share out). In this section rho = mu^2 / 2: a mu-Gaussian mechanism is
# rho-zero-concentrated. Gaussian noise has the same rho in both definitions, so the same budget gives the same noise. A search
# in floating point only proposes a value; whole numbers certify it.

STEPS = 10**9
"""Epsilons are multiples of 1 / STEPS."""
_FINE = 10**15
LARGEST_RHO = 200
"""Largest rho that is converted exactly. A larger rho is converted by its Renyi curve. For such a rho, the relative loss is
small.
"""
_ROOT_GUARD = 100
_FARTHEST, _NEARLY_NOTHING = 64, Fraction(1, 2**2900)  # Pr[N < -64] is below e^(-64^2 / 2), which is below 2^-2900


@lru_cache(maxsize=1024)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest epsilon, as a multiple of 1e-9, for which a Gaussian mechanism with this rho is (epsilon, delta)-DP
    (theory 9.14, exact Gaussian curve). A rho above `LARGEST_RHO` gets the larger epsilon of its Renyi curve.

    Raises
    ------
    ValueError : if delta is not between 0 and 1.
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
    """Return the largest rho for which a Gaussian mechanism is (epsilon, delta)-DP, rounded down and at most `LARGEST_RHO`."""
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError("a rho is looked for within an epsilon above 0 and a delta above 0 and below 1")

    def too_much(step: int) -> bool:
        return delta_up(root(2 * Fraction(step, STEPS), up=True), epsilon) > delta

    mu = _begins(lambda mu: not _is_within(mu, float(epsilon), _log(delta)), math.sqrt(2 * LARGEST_RHO))
    return min(Fraction(_least(too_much, int(mu * mu / 2 * STEPS)) - 1, STEPS), Fraction(LARGEST_RHO))


def delta_up(mu: Fraction, epsilon: Fraction) -> Fraction:
    """Return the delta of a mu-Gaussian mechanism at an epsilon, rounded up by a relative amount of about 1e-30. A delta
    certainly below 2^-2900 is returned as 2^-2900.

    The delta is Pr[N < mu / 2 - epsilon / mu] - e^epsilon Pr[N < -mu / 2 - epsilon / mu] for a standard normal N.
    """
    if not mu:
        return Fraction(0)
    if mu / 2 - epsilon / mu < -_FARTHEST:
        return _NEARLY_NOTHING
    far = float(mu / 2 + epsilon / mu)
    bits = _ROOT_GUARD + math.ceil(far * far)  # the smallest of these numbers is about e^(-far^2 / 2)
    near, beyond = below(mu / 2 - epsilon / mu, bits), below(-mu / 2 - epsilon / mu, bits)
    shrink = exp_bounds(epsilon, bits)
    return Fraction(near.high, 1 << bits) - Fraction(beyond.low, shrink.high)


def choice_epsilon(rho: Fraction) -> Fraction:
    """Return the largest epsilon, rounded down, of an exponential mechanism that costs at most rho in a Gaussian budget.

    The epsilon is 2 ln(p / (1 - p)) with p = Pr[N < mu / 2] (theory 9.15, Gaussian price of a choice).
    """
    return 2 * pure_epsilon_of(rho)


def pure_epsilon_of(rho: Fraction) -> Fraction:
    """Return the largest epsilon, rounded down, such that any pure epsilon-DP mechanism may be charged at rho like a Gaussian
    mechanism.

    The epsilon is ln(p / (1 - p)) with p = Pr[N < mu / 2] (theory 9.15, Gaussian price of a choice).
    """
    mu = root(2 * rho, up=False)
    bits = _ROOT_GUARD + math.ceil(float(mu) ** 2)
    low = below(mu / 2, bits).low
    odds = Fraction(low, (1 << bits) - low)
    return Fraction(max(0, math.floor(Fraction(decimal_of(odds).ln()) * _FINE) - 1), _FINE) if odds > 1 else Fraction(0)


@lru_cache(maxsize=1024)
def rho_of_pure(epsilon: Fraction) -> Fraction:
    """Return the Gaussian rho of an epsilon-DP mechanism, rounded up: mu = 2 z with Pr[N < z] = e^epsilon / (1 + e^epsilon)."""
    outside = -float(epsilon) - math.log1p(math.exp(-float(epsilon)))  # ln Pr[N < -z]
    z = _begins(lambda z: _log_below(-z) <= outside, 2 + math.sqrt(2 * float(epsilon)))
    return Fraction(_least(lambda step: pure_epsilon_of(Fraction(step, STEPS)) >= epsilon, int(2 * z * z * STEPS)), STEPS)


def root(value: Fraction, *, up: bool) -> Fraction:
    down = math.isqrt(value.numerator * _FINE**2 // value.denominator)
    return Fraction(down + (up and Fraction(down, _FINE) ** 2 < value), _FINE)


def _least(holds: Callable[[int], bool], guess: int) -> int:
    """Return the smallest integer >= 0 at which a monotone condition holds, searched from a guess."""
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
    target = _log(delta)
    highest = mu * mu / 2 + mu * (2 + math.sqrt(-2 * target))
    return math.ceil(_begins(lambda epsilon: _is_within(mu, epsilon, target), highest) * STEPS)


def _is_within(mu: float, epsilon: float, target: float) -> bool:
    first, second = _log_below(mu / 2 - epsilon / mu), epsilon + _log_below(-mu / 2 - epsilon / mu)
    return second >= first or first + math.log1p(-math.exp(second - first)) <= target


def _begins(holds: Callable[[float], bool], high: float) -> float:
    """Return the number between 0 and `high` from which a monotone condition holds, by bisection in floating point."""
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _log_below(point: float) -> float:
    """Return ln Pr[N < point] for a standard normal N, in floating point."""
    if point > -30:
        return math.log(math.erfc(-point / math.sqrt(2)) / 2)
    square = point * point
    return -square / 2 - math.log(-point * math.sqrt(2 * math.pi)) + math.log1p(-1 / square + 3 / square**2)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
