"""Renyi differential privacy as exact values: curves, their sum, and the (epsilon, delta) that a curve yields.

A mechanism has the curve r when, for every order a > 1 and all neighbours, the Renyi divergence of order a between its two
output laws is at most r(a) (Mironov 2017). Curves add under adaptive composition, and post-processing is free. All curves that
occur here have the form

    r(a) = rho a + constant + log_mean / (a - 1):

rho alone is zero-concentrated differential privacy (Bun & Steinke 2016); the other two come from a selection (`selected`).
Irrational numbers are computed with 50 digits and rounded up, so that no guarantee is understated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache

_DIGITS = 50
_STATED = 10**9
"""Epsilons are rounded up to multiples of 1e-9."""
SLACK = Fraction(1, 10**30)
"""More than all rounding errors of a few dozen operations with 50 digits on numbers below 1e12."""


@dataclass(frozen=True, kw_only=True)
class RenyiCurve:
    """rho * order + constant + log_mean / (order - 1), for every order > 1; each coefficient at least 0."""

    rho: Fraction = Fraction(0)
    constant: Fraction = Fraction(0)
    log_mean: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if min(self.rho, self.constant, self.log_mean) < 0:
            raise ValueError("the coefficients of a Renyi curve are at least 0")

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        """Adaptive composition: divergences of every order add (Mironov 2017, Proposition 1)."""
        return RenyiCurve(
            rho=self.rho + other.rho, constant=self.constant + other.constant, log_mean=self.log_mean + other.log_mean
        )

    def at(self, order: Fraction) -> Fraction:
        """The bound on the divergence of an order > 1."""
        return self.rho * order + self.constant + self.log_mean / (order - 1)

    def text(self) -> str:
        """The curve in the order a, rounded up: a text for people."""
        terms = ((self.rho, " a"), (self.constant, ""), (self.log_mean, " / (a - 1)"))
        return " + ".join(f"{_millionths_up(factor)}{rest}" for factor, rest in terms if factor) or "0"

    def epsilon(self, delta: Fraction) -> Fraction:
        """The epsilon for which the curve yields (epsilon, delta)-DP, rounded up.

        For every order a > 1: epsilon = r(a) + (ln(1/delta) - ln a) / (a - 1) + ln(1 - 1/a) (Canonne, Kamath & Steinke 2020,
        Proposition 12, solved for epsilon; it is what dp-accounting uses). The order is searched in floating point; whichever
        is found, the bound at it is proved, and it is computed with 50 digits.

        Raises
        ------
        ValueError : unless 0 < delta < 1.
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
    """The curve of rho-zero-concentrated differential privacy (Bun & Steinke 2016, Definition 1.1)."""
    return RenyiCurve(rho=rho)


def of_pure(epsilon: Fraction) -> RenyiCurve:
    """The curve of an epsilon-DP mechanism: epsilon^2 / 2 zero-concentrated (Bun & Steinke 2016, Proposition 1.4)."""
    return zcdp(epsilon**2 / 2)


def above(*curves: RenyiCurve) -> RenyiCurve:
    """The least curve of this form that is nowhere below any of these: the largest of each coefficient."""
    return RenyiCurve(
        rho=max(curve.rho for curve in curves),
        constant=max(curve.constant for curve in curves),
        log_mean=max(curve.log_mean for curve in curves),
    )


def selected(one_round: RenyiCurve, shape: Fraction, stop_probability: Fraction) -> RenyiCurve:
    """The curve of the best of K independent rounds, K truncated negative binomial and hidden.

    Papernot & Steinke (ICLR 2022), Theorem 2, with eta = shape > -1 and gamma = stop_probability in (0, 1): for every order
    a > 1 and every a2 >= 1

        r'(a) = r(a) + (1 + eta) ((1 - 1/a2) r(a2) + ln(1/gamma) / a2) + ln(E[K]) / (a - 1).

    For r(a) = rho a the middle term is (1 + eta) (rho (a2 - 1) + ln(1/gamma) / a2), least at a2 = sqrt(ln(1/gamma) / rho), or
    at 1 where that is below 1.

    Raises
    ------
    ValueError : for a round that is not zero-concentrated (a selection inside a selection), or parameters outside their range.
    """
    if one_round.constant or one_round.log_mean:
        raise ValueError("a round of a selection must be zero-concentrated")
    with localcontext(Context(prec=_DIGITS)):
        log_inverse = -_ln(stop_probability)
        rho = decimal_of(one_round.rho)
        middle = 2 * (rho * log_inverse).sqrt() - rho if rho <= log_inverse else log_inverse
        log_mean = _ln(Fraction(mean_rounds(shape, stop_probability)))
    return RenyiCurve(
        rho=one_round.rho,
        constant=(1 + shape) * (Fraction(middle) + SLACK),
        log_mean=max(Fraction(0), Fraction(log_mean)) + SLACK,
    )


def mean_rounds(shape: Fraction, stop_probability: Fraction) -> Decimal:
    """E[K] of the truncated negative binomial law (Papernot & Steinke 2022, Definition 1), with 50 digits.

    eta (1 - gamma) / (gamma (1 - gamma^eta)); for eta = 0, the logarithmic law, (1/gamma - 1) / ln(1/gamma).
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
    """The square root, rounded down to a multiple of 1e-12."""
    return Fraction(math.isqrt(value.numerator * 10**24 // value.denominator), 10**12)


def exp_up(exponent: Fraction) -> Fraction:
    """e^exponent, rounded up in the 40th digit or so."""
    with localcontext(Context(prec=_DIGITS)):
        return Fraction(decimal_of(exponent).exp()) * (1 + Fraction(1, 10**40))


def log_up(value: Fraction) -> Fraction:
    """The natural logarithm of a number of at least 1, rounded up to a multiple of 1e-9."""
    with localcontext(Context(prec=_DIGITS)):
        return _up(Fraction(_ln(value))) if value != 1 else Fraction(0)


def _orders(objective: Callable[[Fraction], Fraction]) -> list[Fraction]:
    """Orders a = 1 + 2^t on ever finer grids of t around the best so far."""
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
    """The fraction to as many digits as the context has."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _ln(value: Fraction) -> Decimal:
    return decimal_of(value).ln()


def _up(value: Fraction) -> Fraction:
    return Fraction(-((-(value + SLACK) * _STATED) // 1), _STATED)
