"""Draw integers exactly from uniform bits: discrete Laplace noise, rounded Gaussian noise, and the hidden number of rounds.

Rounded Gaussian noise is continuous Gaussian noise, rounded to whole numbers (theory 9.13, rounded Gaussian noise). The
absolute value of a standard normal number is composed as c w + t: a cell c of width w = 1 / 1024, and an offset t within the
cell, accepted with probability exp(-(c w t + t^2 / 2)). Bits are read until they decide acceptance and the rounded number. All
decisions use whole numbers, and the tails are not truncated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count

import numpy as np

from synthrelease.privacy.exact_bounds import Between, Geometric, HalfGaussian, Law, exp_bounds

# The truncated negative binomial distribution of a hidden number of rounds is drawn exactly (theory 9.11, inversion of bits).

# Additional bits of the computation, which make the bounds tight. The bounds are valid for any number of bits.
_PRICE_GUARD = 96
_READ = 256  # Number of bits that are read first for an unbounded distribution
# Number of bits that are read for every draw from a table, and total number of bits for a draw that the first bits leave
# undecided.
_FIRST, _WORD = 16, 64
_FEW = 64  # Up to this number of draws, searching takes less time than computing all 2^16 entries of a table


@dataclass(frozen=True, kw_only=True)
class TruncatedNegativeBinomial:
    """A truncated negative binomial distribution of K - 1, where K is the hidden number of rounds: Pr[K = k] = (1 - gamma)^k /
    (gamma^-eta - 1) * prod_{l < k} (l + eta) / (l + 1) for k = 1, 2, ...

    Attributes
    ----------
    shape : eta > -1; 0 is the limit, the logarithmic distribution.
    stop_probability : gamma in (0, 1).
    """

    shape: Fraction
    stop_probability: Fraction

    def below(self, bits: int) -> Iterator[Between]:
        """Yield integer bounds on 2^bits Pr[K <= i] for i = 1, 2, ..., without end."""
        low, high = self._factor(bits)
        digits_behind = max(0, -low.adjusted() + 1)  # with a large shape, the first probabilities are tiny
        wide = bits + _PRICE_GUARD + digits_behind * 10 // 3 + 1
        stay = 1 - self.stop_probability
        mass = Between(int(Fraction(low) * stay * 2**wide), int(Fraction(high) * stay * 2**wide) + 1)
        total, eta_above, eta_below = mass, self.shape.numerator, self.shape.denominator
        numerator, denominator = stay.numerator, stay.denominator * eta_below
        for rounds in count(1):
            yield Between(total.low >> (wide - bits), min(-(-total.high >> (wide - bits)), 1 << bits))
            above, below = numerator * (rounds * eta_below + eta_above), denominator * (rounds + 1)
            mass = Between(mass.low * above // below, -(-mass.high * above // below))
            total = Between(total.low + mass.low, total.high + mass.high)

    def _factor(self, bits: int) -> tuple[Decimal, Decimal]:
        """Return a lower and an upper bound on eta / (gamma^-eta - 1), which is Pr[K = 1] / (1 - gamma)."""
        down, up = (
            Context(prec=(bits + _PRICE_GUARD) * 30103 // 100_000 + 60, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)
            for rounding in (ROUND_FLOOR, ROUND_CEILING)
        )
        gamma, size = self.stop_probability, abs(self.shape)
        # decimal rounds exponentials and logarithms correctly, so one step outwards is a bound
        log_low = down.next_minus(down.ln(_quotient(down, 1 / gamma)))
        log_high = up.next_plus(up.ln(_quotient(up, 1 / gamma)))
        if not self.shape:
            return down.divide(1, log_high), up.divide(1, log_low)
        low = down.multiply(_quotient(down, size), log_low)
        high = up.multiply(_quotient(up, size), log_high)
        if self.shape > 0:
            lower, upper = down.subtract(down.next_minus(down.exp(low)), 1), up.subtract(up.next_plus(up.exp(high)), 1)
        else:  # numerator and denominator change sign: |eta| / (1 - gamma^|eta|)
            lower = down.subtract(1, up.next_plus(up.exp(low.copy_negate())))
            upper = up.subtract(1, down.next_minus(down.exp(high.copy_negate())))
        return down.divide(_quotient(down, size), upper), up.divide(_quotient(up, size), lower)


def inverted(law: Law, random_bits: Callable[[int], int], word: int | None = None, step: int = _READ) -> int:
    """Draw one number exactly from a distribution, by inversion of a uniform number, of which bits are read until they decide
    the result.

    Parameters
    ----------
    random_bits : function that returns so many independent fair bits, as an integer.
    word : the first `step` bits if they were already read, or None.
    step : number of bits that are read at once.

    Notes
    -----
    Theory 9.11, inversion of bits: the number of cumulative probabilities that are at most a uniform number has the stated
    distribution. The uniform number lies in the interval [word, word + 1) / 2^bits.
    """
    word, bits = random_bits(step) if word is None else word, step
    while True:
        for value, (low, high) in enumerate(law.below(bits)):
            if low > word:
                return value
            if high > word:
                break  # the bits do not yet decide on which side of the bound the number lies
        else:  # beyond the last bound
            return value + 1
        word, bits = word << step | random_bits(step), bits + step


def _quotient(context: Context, value: Fraction) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


# A `Table` draws from an integer distribution by inversion of uniform bits, with as many bits as a draw needs.
#
# X is the number of i >= 1 with Pr[X < i] <= U, U uniform on [0, 1). The bits of U are read as needed: the first 16 bits
# usually determine X, and 64 bits nearly always. If 64 bits agree with the bits of some Pr[X < i], 64 more bits are read until
# they differ. So the distribution is exact (theory 9.11, inversion of bits): no probability is rounded, and no tail is
# truncated.

Read = Callable[[int], bytes]
"""The type of a function that returns a given number of uniform bytes, independent of all earlier bytes."""

_OPEN = -1  # The entry of a table for first bits that do not determine the value


@dataclass(frozen=True, eq=False)
class Table:
    """A distribution with precomputed tables, from which many numbers are drawn quickly.

    Attributes
    ----------
    law : the distribution.
    floors : (k,) uint64, floor(2^64 Pr[X < i]) for i = 1, ..., k: for all i, or up to the first value of 2^64 - 1.
    """

    law: Law
    floors: np.ndarray

    @classmethod
    def of(cls, law: Law) -> Table:
        """Compute the table of a distribution. Raises ValueError for a distribution with 2^15 or more likely values."""
        floors = np.array(exact_floors(law), dtype=np.uint64)
        if len(floors) >= 2 ** (_FIRST - 1):
            raise ValueError("expected a distribution with fewer likely values")
        return cls(law, floors)

    @cached_property
    def first(self) -> np.ndarray:
        """Return a (2^16,) int16 table: for each possible first 16 bits of a uniform number, the value of X, or -1 if they do
        not determine it."""
        begins = self._begins
        # the number of floors below all words that begin with these bits
        first = np.repeat(np.arange(len(begins) + 1, dtype=np.int16), np.diff(begins, prepend=-1, append=2**_FIRST - 1))
        first[begins] = _OPEN
        return first

    @property
    def _begins(self) -> np.ndarray:
        return (self.floors >> np.uint64(_WORD - _FIRST)).astype(np.int64)

    def decided(self, bits: np.ndarray) -> np.ndarray:
        """Return the (n,) int64 values of X that these first bits determine, or -1 where more bits are needed."""
        if len(bits) > _FEW:
            return self.first[bits].astype(np.int64)
        begins, values = self._begins, np.searchsorted(self._begins, bits)
        return np.where(begins[np.minimum(values, len(begins) - 1)] == bits, _OPEN, values)

    def draw(self, bits: np.ndarray, read: Read) -> np.ndarray:
        """Return (n,) independent int64 draws from (n,) uint16 uniform first bits. `read` supplies further bits."""
        values = self.decided(bits)
        left = np.flatnonzero(values == _OPEN)
        if len(left):
            further = np.frombuffer(read(8 * len(left)), dtype=np.uint64) >> np.uint64(_FIRST)
            words = (bits[left].astype(np.uint64) << np.uint64(_WORD - _FIRST)) | further
            positions = np.searchsorted(self.floors, words)
            values[left] = positions
            ties = self.floors[np.minimum(positions, len(self.floors) - 1)] == words
            for tie in np.flatnonzero(ties).tolist():
                values[left[tie]] = inverted(self.law, _words(read), int(words[tie]), _WORD)
        return values


def exact_floors(law: Law) -> list[int]:
    """Return floor(2^64 Pr[X < i]) for i = 1, 2, ..., exactly, up to the first value of 2^64 - 1.

    Pr[X < i] is irrational and below 1, so it never equals a bound. If two bounds do not determine the floor, they are computed
    with more bits.
    """
    bits = 2 * _WORD
    while True:
        floors, beyond, highest = list[int](), bits - _WORD, 2**_WORD - 1
        for low, high in law.below(bits):
            floor = low >> beyond
            if floor != high - 1 >> beyond:
                break
            floors.append(floor)
            if floor == highest:
                return floors
        else:
            return floors
        bits *= 2


def _words(read: Read) -> Callable[[int], int]:
    return lambda bits: int.from_bytes(read(bits // 8), "little")


# Discrete Laplace noise is drawn exactly, by one method for vectors of every length.
#
# A geometric variable in base 256 has independent digits, each with a truncated geometric distribution (theory 9.12, digits of
# a geometric variable). So a few small tables suffice for every scale. Discrete Laplace noise is the difference of two
# geometric variables.
#
# Integers are computed modulo 2^64, so the result is a function of the exact integer, at every scale.

_DIGIT = 8  # Number of bits of a digit
# Largest scale of a geometric variable for which one table is enough: about 1,400 values have a probability above 2^-64.
_ONE_TABLE = 32
# Number of draws that are made together, so that their words stay in the processor's cache. The distribution does not depend on
# this number.
_BLOCK = 2**16


def laplace(scale: Fraction, size: int, read: Read) -> np.ndarray:
    """Draw (size,) independent int64 numbers Z with Pr[Z = z] exactly proportional to exp(-|z| / scale) (modulo 2^64).

    Parameters
    ----------
    size : 0 or more. The distribution of each number is the same for every size.
    read : function that returns uniform bytes.

    Notes
    -----
    Z is the difference of two independent geometric variables G with Pr[G >= k] = a^k, a = exp(-1 / scale). The digits of G in
    base 256 are independent, with the distributions of `digit_tables` (theory 9.12, digits of a geometric variable). Each digit
    is drawn exactly by `Table.draw` (theory 9.11, inversion of bits), from bits that are used for this digit only.
    """
    tables = digit_tables(scale)
    noise = np.empty(size, dtype=np.int64)
    for block in _blocks(size):
        n = block.stop - block.start
        words = np.frombuffer(read(2 * 2 * n * len(tables)), dtype=np.uint16).reshape(len(tables), 2 * n)
        pairs = _geometric(tables, words, read)
        noise[block] = pairs[:n] - pairs[n:]
    return noise


@lru_cache(maxsize=64)
def digit_tables(scale: Fraction) -> tuple[Table, ...]:
    """Return one table for each digit of a geometric variable G with Pr[G >= k] = exp(-k / scale), the lowest digit first. The
    last table is unbounded: it gives the value of all further digits together."""
    laws, rate = list[Geometric](), 1 / scale
    while rate * _ONE_TABLE < 1:
        laws.append(Geometric(rate=rate, end=2**_DIGIT))
        rate *= 2**_DIGIT
    return tuple(Table.of(law) for law in (*laws, Geometric(rate=rate)))


def _geometric(tables: tuple[Table, ...], words: np.ndarray, read: Read) -> np.ndarray:
    """Draw (n,) int64 geometric variables, digit by digit. `words` (n_tables, n) has the first random bits for each digit."""
    total = tables[0].draw(words[0], read)
    for digit, (table, bits) in enumerate(zip(tables[1:], words[1:], strict=True), start=1):
        total += table.draw(bits, read) << _DIGIT * digit
    return total


def _blocks(size: int) -> Iterator[slice]:
    for start in range(0, size, _BLOCK):
        yield slice(start, min(start + _BLOCK, size))


LARGEST_SCALE = 2**40
"""Largest standard deviation of rounded Gaussian noise. For larger standard deviations, 32 bits of an offset would often not be
enough to determine the result.
"""
# Cells per unit (as bits), the number of bits that are read first of an offset and of a coin, and the number of bits of an
# offset that decide most coins.
_CELL_BITS, _BITS, _COARSE = 10, 32, 16
_SCALE_BITS = 32
_HALF = 23


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A standard deviation as an exact fraction, steps / 2^bits, with 2^31 < steps <= 2^32."""

    steps: int
    bits: int

    @classmethod
    def at_least(cls, scale: Fraction) -> Scale:
        """Return the smallest `Scale` that is at least `scale` and at least 2^-10; from there on, it exceeds `scale` by a
        factor of at most 1 + 2^-31.

        Raises
        ------
        ValueError : if the scale is above `LARGEST_SCALE`.
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


def normals(scale: Scale, size: int, read: Read) -> np.ndarray:
    """Draw (size,) independent normal numbers with mean 0 and this standard deviation, rounded to whole numbers (int64)."""
    noise = np.empty(size, dtype=np.int64)
    for block in _blocks(size):
        absolute = _absolute(scale, block.stop - block.start, read)
        signs = np.unpackbits(np.frombuffer(read(-(-len(absolute) // 8)), dtype=np.uint8), count=len(absolute))
        noise[block] = np.where(signs, -absolute, absolute)
    return noise


@lru_cache(maxsize=1)
def cells() -> Table:
    return Table.of(HalfGaussian(rate=Fraction(1, 2 ** (2 * _CELL_BITS + 1))))


def _absolute(scale: Scale, size: int, read: Read) -> np.ndarray:
    """Return (size,) absolute values of normal numbers with this standard deviation, rounded to whole numbers."""
    rounded, left = np.empty(size, dtype=np.int64), np.arange(size)
    while len(left):
        cell = cells().draw(np.frombuffer(read(2 * len(left)), dtype=np.uint16), read)
        offset = np.frombuffer(read(4 * len(left)), dtype=np.uint32).astype(np.int64)
        coin = np.frombuffer(read(4 * len(left)), dtype=np.uint32).astype(np.int64)
        whole, taken = nearest(scale, (cell << _BITS) + offset), surely_taken(cell, offset, coin)
        for index in np.flatnonzero(~taken | (whole != nearest(scale, (cell << _BITS) + offset + 1))).tolist():
            whole[index] = resolve_rounded(scale, int(cell[index]), int(offset[index]), int(coin[index]), read)
        rounded[left] = whole
        left = left[whole < 0]
    return rounded


def nearest(scale: Scale, units: np.ndarray) -> np.ndarray:
    """Return the (n,) whole numbers nearest to sigma x, where x = units / 2^42; units are (n,) int64 below 2^47.

    The product steps x units has up to 79 bits, so it is computed in two parts, of which the lower gives only the carry.
    """
    high, low = units >> _HALF, units & (2**_HALF - 1)
    total = high * scale.steps + (low * scale.steps >> _HALF)
    shift = scale.bits + _CELL_BITS + _BITS - _HALF
    return (total + (1 << shift - 1)) >> shift


def surely_taken(cell: np.ndarray, offset: np.ndarray, coin: np.ndarray) -> np.ndarray:
    """Return an (n,) mask of the pairs (cell, offset) that are certainly accepted: the first bits of the coin already lie below
    1 - (c w t + t^2 / 2), with t rounded up.

    In units of 2^-53, c w t + t^2 / 2 is t' (2 c 2^16 + t'), where t' is t in units of 2^-26. One step of a coin of 32 bits is
    2^21 of these units.
    """
    upper = (offset >> _BITS - _COARSE) + 1
    exponent = upper * ((cell << _COARSE + 1) + upper)
    unit = 2 * (_CELL_BITS + _COARSE) + 1
    return ((coin + 1) << unit - _BITS) + exponent <= 1 << unit


def resolve_rounded(scale: Scale, cell: int, offset: int, coin: int, read: Read) -> int:
    """Return the whole number nearest to sigma (c w + t) for a proposed pair (cell, offset), or -1 if it is rejected, with as
    many further bits as needed."""
    bits, taken = _BITS, False
    while True:
        low, high = (_exponent(cell, edge, bits) for edge in (offset, offset + 1))
        if not taken and coin >= exp_bounds(low, bits).high:
            return -1
        taken = taken or coin < exp_bounds(high, bits).low
        units = Fraction((cell << bits) + offset), Fraction((cell << bits) + offset + 1)
        lower, upper = (_rounded(scale.value * unit / 2 ** (_CELL_BITS + bits)) for unit in units)
        if taken and lower == upper:
            return lower
        word = int.from_bytes(read(8), "little")
        offset, coin, bits = offset << 32 | word >> 32, coin << 32 | word & (2**32 - 1), bits + 32


def _exponent(cell: int, offset: int, bits: int) -> Fraction:
    """Return c w t + t^2 / 2, the exponent in the acceptance probability, for t = offset / 2^(10 + bits)."""
    return Fraction(offset * ((cell << bits + 1) + offset), 2 ** (2 * (_CELL_BITS + bits) + 1))


def _rounded(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)
