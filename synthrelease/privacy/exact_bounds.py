"""Bound the cumulative probabilities of integer distributions (geometric, half Gaussian) by integers, with any number of bits.

A distribution (`Law`) yields, for i = 1, 2, ..., two integers with low <= 2^bits Pr[X < i] <= high: sums and products of
integers, rounded outwards. Exponentials come from Python's decimal arithmetic, which rounds correctly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import NamedTuple, Protocol

_LAW_GUARD = 96  # Additional bits of the computation, which make the bounds tight. The bounds are valid for any number of bits.


class Between(NamedTuple):
    """A lower and an upper integer bound on 2^bits times a number."""

    low: int
    high: int


class Law(Protocol):
    """A distribution of a non-negative integer X, which gives bounds on its cumulative probabilities."""

    def below(self, bits: int) -> Iterator[tuple[int, int]]:
        """Yield integer bounds on 2^bits Pr[X < i] for i = 1, 2, ..., as long as these probabilities are below 1.

        For an unbounded X, yield bounds for at least all i with Pr[X >= i] > 2^-bits. The last bounds also hold for all further
        i.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Geometric:
    """A geometric distribution, possibly cut off: Pr[X = i] is proportional to exp(-rate i), rate > 0, for i = 0, 1, 2, ...,
    below `end`, if any."""

    rate: Fraction
    end: int | None = None

    def below(self, bits: int) -> Iterator[tuple[int, int]]:
        """Yield integer bounds on 2^bits Pr[X < i] = 2^bits (1 - r^i) / (1 - r^end), where r = exp(-rate)."""
        wide = bits + _LAW_GUARD
        unit, (low, high) = 1 << wide, exp_bounds(self.rate, wide)
        least, most = complement(exp_bounds(self.rate * self.end, wide), unit) if self.end else (unit, unit)
        ratio_low, ratio_high, whole, i = low, high, 1 << bits, 1
        while self.end is None or i < self.end:  # plain integers, because a choice of noise needs hundreds of bounds
            above = -((low - unit << bits) // least)
            yield (unit - high << bits) // most, above if above < whole else whole
            if self.end is None and high >> _LAW_GUARD == 0:
                return
            low, high, i = low * ratio_low >> wide, (high * ratio_high >> wide) + 1, i + 1


@dataclass(frozen=True, kw_only=True)
class HalfGaussian:
    """A half Gaussian distribution on integers: Pr[X = i] is proportional to exp(-rate i^2), rate > 0, for i = 0, 1, 2, ..."""

    rate: Fraction

    def below(self, bits: int) -> Iterator[Between]:
        """Yield integer bounds on 2^bits Pr[X < i], from partial sums of the weights exp(-rate i^2).

        The ratios of weights decrease, so the omitted weights add up to at most the first omitted weight / (1 - the next
        ratio).
        """
        wide = bits + _LAW_GUARD
        unit, fall = 1 << wide, exp_bounds(2 * self.rate, wide)
        ratio = exp_bounds(self.rate, wide)
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


def exp_bounds(exponent: Fraction, bits: int) -> Between:
    """Return integer bounds on 2^bits exp(-exponent), for an exponent above 0."""
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
    """Return integer bounds on 2^bits times a probability, the quotient of two numbers with known bounds."""
    return Between((part.low << bits) // whole.high, min(-((-part.high << bits) // whole.low), 1 << bits))
