"""The normal law between whole numbers that certify it, to any number of bits (theory 9.14, exact Gaussian curve).

Pr[|N| < x] = sqrt(2 x^2 / pi) exp(-x^2 / 2) (1 + x^2 / 3 + x^4 / (3 5) + x^6 / (3 5 7) + ...): all terms are positive, and
rational where x^2 is. Sums, products and roots of integers are rounded down on one side and up on the other, exponentials as in
`inversion.laws`: no float has a part in it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from synthrelease.inversion.laws import Between, complement, exponential, product

_GUARD = 32
"""Bits that are computed beyond those asked for, so that the bounds are close: they hold with any number."""


def within(square: Fraction, bits: int) -> Between:
    """Bounds of 2^bits Pr[|N| < x], N standard normal, x^2 = `square` >= 0."""
    if not square:
        return Between(0, 0)
    wide = bits + _GUARD
    room = math.ceil(square) + 2  # the series is at most e^(x^2 / 2) < 2^(x^2)
    series, height = _series(square, wide), exponential(square / 2, wide + room)
    pi, above, below = _pi(wide), 2 * square.numerator << 3 * wide, square.denominator
    root = Between(math.isqrt(above // (below * pi.high)), math.isqrt(-(-above // (below * pi.low))) + 1)
    found = product(product(series, height, wide + room), root, wide)
    return Between(found.low >> _GUARD, min((found.high >> _GUARD) + 1, 1 << bits))


def below(place: Fraction, bits: int) -> Between:
    """Bounds of 2^bits Pr[N < place]: half of what lies outside, or 1 less that."""
    one, inside = 1 << bits, within(place**2, bits)
    outside = complement(inside, one)
    half = Between(outside.low >> 1, (outside.high >> 1) + 1)
    return half if place < 0 else complement(half, one)


def _series(square: Fraction, bits: int) -> Between:
    """Bounds of 2^bits (1 + x^2 / 3 + x^4 / (3 5) + ...).

    Where the odd number is at least 2 x^2, each term is at most half of the one before: all that follow add up to the last.
    """
    above, under = square.as_integer_ratio()
    low = high = least = most = 1 << bits
    odd = 1
    while least or odd * under < 2 * above:
        odd += 2
        least, most = least * above // (under * odd), most * above // (under * odd) + 1
        low, high = low + least, high + most
    return Between(low, high + most)


@lru_cache(maxsize=16)
def _pi(bits: int) -> Between:
    """Bounds of 2^bits pi, by Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""
    fifth, small = _arctan(5, bits), _arctan(239, bits)
    return Between(16 * fifth.low - 4 * small.high, 16 * fifth.high - 4 * small.low)


def _arctan(inverse: int, bits: int) -> Between:
    """Bounds of 2^bits arctan(1 / inverse): each of the alternating terms is off by less than 1, and so is what is left out."""
    power, total, odd = (1 << bits) // inverse, 0, 1
    while power:
        total += power // odd if odd % 4 == 1 else -(power // odd)
        power //= inverse**2
        odd += 2
    return Between(total - 2 * odd, total + 2 * odd)
