"""Continuous Gaussian noise, rounded to whole numbers, drawn exactly and in bulk (theory 9.13, rounded Gaussian noise).

The absolute value of a standard normal number is c w + t: a cell c, of width w = 1 / 1024, and a place t in it. Cells are drawn
with Pr[c] proportional to exp(-(c w)^2 / 2), places uniformly, and both together are taken with probability exp(-(c w t + t^2 /
2)), which is almost 1; otherwise they are drawn again. Of t, and of the coin, so many bits are read as it takes to know whether
it is taken, and to which whole number sigma (c w + t) is next. All is decided in whole numbers: nothing is cut off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from synthrelease.inversion.laws import HalfGaussian, exponential
from synthrelease.inversion.tables import Read, Table

LARGEST_SCALE = 2**40
"""The largest standard deviation. Of larger ones 32 bits of a place would leave many results open."""
_CELL_BITS, _BITS, _COARSE = 10, 32, 16
"""Cells of a unit, bits of a place and of a coin that are read first, and bits of a place that most coins need."""
_SCALE_BITS = 32
_HALF = 23
_BLOCK = 2**16


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A standard deviation, steps / 2^bits, with 2^31 < steps <= 2^32."""

    steps: int
    bits: int

    @classmethod
    def at_least(cls, scale: Fraction) -> Scale:
        """The least one, from 2^-10 on, that is not below `scale`; its excess is at most 2^-31 of it.

        Raises
        ------
        ValueError : for a scale above `LARGEST_SCALE`.
        """
        if not scale <= LARGEST_SCALE:
            raise ValueError("the noise scale is too large for rounded Gaussian noise")
        bits, scale = _SCALE_BITS + _CELL_BITS, max(scale, Fraction(1, 2**_CELL_BITS))
        while scale * Fraction(2) ** bits > 2**_SCALE_BITS:
            bits -= 1
        return cls(steps=math.ceil(scale * Fraction(2) ** bits), bits=bits)

    @property
    def value(self) -> Fraction:
        return self.steps / Fraction(2) ** self.bits


def rounded_gaussian(scale: Scale, size: int, read: Read) -> np.ndarray:
    """(size,) int64, independent: the whole numbers next to normal numbers of mean 0 and this standard deviation, exactly."""
    noise = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = slice(start, min(start + _BLOCK, size))
        absolute = _absolute(scale, block.stop - block.start, read)
        signs = np.unpackbits(np.frombuffer(read(-(-len(absolute) // 8)), dtype=np.uint8), count=len(absolute))
        noise[block] = np.where(signs, -absolute, absolute)
    return noise


@lru_cache(maxsize=1)
def cells() -> Table:
    """Of the law of a cell."""
    return Table.of(HalfGaussian(rate=Fraction(1, 2 ** (2 * _CELL_BITS + 1))))


def _absolute(scale: Scale, size: int, read: Read) -> np.ndarray:
    drawn, left = np.empty(size, dtype=np.int64), np.arange(size)
    while len(left):
        cell = cells().draw(np.frombuffer(read(2 * len(left)), dtype=np.uint16), read)
        place = np.frombuffer(read(4 * len(left)), dtype=np.uint32).astype(np.int64)
        coin = np.frombuffer(read(4 * len(left)), dtype=np.uint32).astype(np.int64)
        found, taken = nearest(scale, (cell << _BITS) + place), surely_taken(cell, place, coin)
        for one in np.flatnonzero(~taken | (found != nearest(scale, (cell << _BITS) + place + 1))).tolist():
            found[one] = resolve(scale, int(cell[one]), int(place[one]), int(coin[one]), read)
        drawn[left] = found
        left = left[found < 0]
    return drawn


def nearest(scale: Scale, units: np.ndarray) -> np.ndarray:
    """(n,) the whole number next to sigma x, for x = units / 2^42, units (n,) int64 below 2^47.

    steps x units has up to 79 bits, so it is computed in two parts: of the lower one only what it carries counts.
    """
    high, low = units >> _HALF, units & (2**_HALF - 1)
    total = high * scale.steps + (low * scale.steps >> _HALF)
    shift = scale.bits + _CELL_BITS + _BITS - _HALF
    return (total + (1 << shift - 1)) >> shift


def surely_taken(cell: np.ndarray, place: np.ndarray, coin: np.ndarray) -> np.ndarray:
    """(n,) whether the first bits of the coin are below 1 - (c w t + t^2 / 2), t rounded up: then it is taken whatever follows.

    In units of 2^-53: t' (2 c 2^16 + t') with t' = t in units of 2^-26, and a coin of 32 bits in units of 2^21.
    """
    upper = (place >> _BITS - _COARSE) + 1
    exponent = upper * ((cell << _COARSE + 1) + upper)
    unit = 2 * (_CELL_BITS + _COARSE) + 1
    return ((coin + 1) << unit - _BITS) + exponent <= 1 << unit


def resolve(scale: Scale, cell: int, place: int, coin: int, read: Read) -> int:
    """The whole number next to sigma (c w + t), with as many further bits of t and of the coin as it takes; -1 if not taken."""
    bits, taken = _BITS, False
    while True:
        low, high = (_exponent(cell, edge, bits) for edge in (place, place + 1))
        if not taken and coin >= exponential(low, bits).high:
            return -1
        taken = taken or coin < exponential(high, bits).low
        units = Fraction((cell << bits) + place), Fraction((cell << bits) + place + 1)
        least, most = (_rounded(scale.value * unit / 2 ** (_CELL_BITS + bits)) for unit in units)
        if taken and least == most:
            return least
        word = int.from_bytes(read(8), "little")
        place, coin, bits = place << 32 | word >> 32, coin << 32 | word & (2**32 - 1), bits + 32


def _exponent(cell: int, place: int, bits: int) -> Fraction:
    """c w t + t^2 / 2 for t = place / 2^(10 + bits)."""
    return Fraction(place * ((cell << bits + 1) + place), 2 ** (2 * (_CELL_BITS + bits) + 1))


def _rounded(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)
