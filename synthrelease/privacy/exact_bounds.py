"""The cumulative probabilities of integer laws, between whole numbers that certify them to any number of bits.

A law gives, for i = 1, 2, ..., two integers with low <= 2^bits Pr[X < i] <= high. They come from sums and products of integers
rounded down on one side and up on the other, and from exponentials that Python's decimal arithmetic rounds correctly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import NamedTuple, Protocol

_LAW_GUARD = 96
"""Bits that are computed beyond those asked for, so that the bounds are close: they hold with any number."""


class Between(NamedTuple):
    """Two integers, with a number times 2^bits between them."""

    low: int
    high: int


class Law(Protocol):
    """The law of a non-negative integer X."""

    def below(self, bits: int) -> Iterator[Between]:
        """Bounds of Pr[X < i] for i = 1, 2, ..., where that is below 1.

        Of a law without end at least as far as Pr[X >= i] > 2^-bits; its last bounds hold for all further i, too.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Geometric:
    """Pr[X = i] proportional to exp(-rate i), for i = 0, 1, 2, ..., or for i below `end`.

    Attributes
    ----------
    rate : > 0, exact.
    end : None for a law without end.
    """

    rate: Fraction
    end: int | None = None

    def below(self, bits: int) -> Iterator[Between]:
        """Yield Pr[X < i] = (1 - r^i) / (1 - r^end) with r = exp(-rate)."""
        wide = bits + _LAW_GUARD
        unit, ratio = 1 << wide, exponential(self.rate, wide)
        whole = complement(exponential(self.rate * self.end, wide), unit) if self.end else Between(unit, unit)
        power, i = ratio, 1
        while self.end is None or i < self.end:
            part = complement(power, unit)
            yield quotient(part, whole, bits)
            if self.end is None and power.high >> _LAW_GUARD == 0:
                return
            power, i = product(power, ratio, wide), i + 1


@dataclass(frozen=True, kw_only=True)
class HalfGaussian:
    """Pr[X = i] proportional to exp(-rate i^2), for i = 0, 1, 2, ...

    Attributes
    ----------
    rate : > 0, exact.
    """

    rate: Fraction

    def below(self, bits: int) -> Iterator[Between]:
        """Yield bounds of 2^bits Pr[X < i] from the partial sums of the weights exp(-rate i^2). Each ratio of neighbouring
        weights is exp(-2 rate) times the previous one.

        Ratios fall: the weights that are left out add up to at most the first of them / (1 - the ratio that follows).
        """
        wide = bits + _LAW_GUARD
        unit, fall = 1 << wide, exponential(2 * self.rate, wide)
        ratio = exponential(self.rate, wide)
        weight, sums = ratio, [Between(unit, unit)]
        while weight.high >> _LAW_GUARD:
            sums.append(Between(sums[-1].low + weight.low, sums[-1].high + weight.high))
            ratio = product(ratio, fall, wide)
            weight = product(weight, ratio, wide)
        left = weight.high * unit // (unit - product(ratio, fall, wide).high) + 1
        whole = Between(sums[-1].low, sums[-1].high + left)
        for part in sums:
            yield quotient(part, whole, bits)
        yield Between(quotient(sums[-1], whole, bits).low, 1 << bits)


def exponential(exponent: Fraction, bits: int) -> Between:
    """Return bounds of 2^bits exp(-exponent), exponent > 0: the quotient is rounded outwards, the exponential correctly, then
    one step outwards.
    """
    digits = bits * 30103 // 100_000 + 20
    down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
    above, below = Decimal(exponent.numerator), Decimal(exponent.denominator)
    low = down.next_minus(down.exp(up.divide(above, below).copy_negate()))
    high = up.next_plus(up.exp(down.divide(above, below).copy_negate()))
    scale = Decimal(1 << bits)
    return Between(max(0, math.floor(down.multiply(low, scale))), math.ceil(up.multiply(high, scale)))


def product(left: Between, right: Between, bits: int) -> Between:
    return Between(left.low * right.low >> bits, (left.high * right.high >> bits) + 1)


def complement(bounds: Between, unit: int) -> Between:
    return Between(unit - bounds.high, unit - bounds.low)


def quotient(part: Between, whole: Between, bits: int) -> Between:
    """Return bounds of 2^bits part / whole; the upper one at most 2^bits, as a probability is."""
    return Between((part.low << bits) // whole.high, min(-((-part.high << bits) // whole.low), 1 << bits))
