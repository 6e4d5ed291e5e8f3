"""How figures are written in the documents of a bundle."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from synthrelease.criteria.facts import figure as figure
from synthrelease.criteria.facts import words as words
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.curves import RenyiCurve
from synthrelease.published.charges import ChargePart


def exact_epsilon(exact: str) -> str:
    """An exact epsilon as a decimal, rounded up in the tenth place: never understated."""
    return decimal_text(Fraction(exact))


def cost(node: ChargePart) -> str:
    """What a node of the charge tree costs: its epsilon, or the curve that bounds its Renyi divergence of order a."""
    if node.renyi is None:
        return f"epsilon {exact_epsilon(node.epsilon_exact)}"
    rho, constant, log_mean = (Fraction(text) for text in (node.renyi.rho, node.renyi.constant, node.renyi.log_mean))
    return f"Renyi {RenyiCurve(rho=rho, constant=constant, log_mean=log_mean).text()}"


def without_exponent(value: float, digits: int = 3) -> str:
    """A small probability as the public reads it: 0.000000001."""
    return format(Decimal(f"{value:.{digits}g}"), "f")


def share(value: float, digits: int = 2) -> str:
    """A share of the rows as a percentage."""
    return f"{100 * value:.{digits}f}%"


def rounded_up(value: float, digits: int = 2) -> str:
    """A bound, rounded away from 0."""
    if value <= 0:
        return figure(value)
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return figure(float(f"{math.ceil(value / unit - 1e-9) * unit:.{digits}g}"), digits)


def rounded_down(value: float, digits: int = 4) -> str:
    """The low end of an interval, rounded towards 0."""
    if value <= 0:
        return figure(value)
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return figure(float(f"{math.floor(value / unit + 1e-9) * unit:.{digits}g}"), digits)


def worst_factor(epsilon: Fraction) -> str:
    """e^epsilon, rounded up to two digits: by what factor a probability may change at most."""
    if epsilon > 40:
        return "10^" + str(math.ceil(float(epsilon) / math.log(10)))
    return rounded_up(math.exp(float(epsilon)))


def probability(exact: str) -> str:
    """An exact probability, such as "1/50", as a percentage."""
    return f"{float(100 * Fraction(exact)):.6g}%"
