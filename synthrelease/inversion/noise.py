"""Discrete Laplace noise of vectors of any length, exact: one way for all of them.

A geometric variable written in base 256 has independent digits, each of a truncated geometric law (theory 9.12, digits of a
geometric variable), so that a few small tables draw one of any scale; discrete Laplace noise is the difference of two.

Integers are computed modulo 2^64: what is returned is a function of the exact integer, at every scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from synthrelease.inversion.laws import Geometric
from synthrelease.inversion.tables import Read, Table

_DIGIT = 8
"""Bits of a digit."""
_ONE_TABLE = 32
"""The largest scale of a geometric variable that one table holds: about 1,400 values have a probability above 2^-64."""
_BLOCK = 2**16
"""Draws that are made together: their words stay in a processor's cache."""


def laplace(scale: Fraction, size: int, read: Read) -> np.ndarray:
    """(size,) int64, independent, Pr[Z = z] proportional to exp(-|z| / scale), exactly (modulo 2^64).

    Parameters
    ----------
    scale : > 0.
    size : 0 or more. The law of each number is the same for every size: no step below looks at it.
    read : where uniform bytes come from.

    Notes
    -----
    The law. Let a = exp(-1 / scale), and let G, G' be independent with Pr[G >= k] = a^k. Then Pr[G - G' = z] is the sum over k
    of (1 - a) a^(k + |z|) (1 - a) a^k, which is (1 - a) / (1 + a) a^|z|: the stated law.

    A geometric variable. Pr[G = d_0 + 256 d_1 + ... + 256^m t] = (1 - a) a^(d_0 + 256 d_1 + ... + 256^m t) is a product of one
    factor for each digit. So the digits are independent, the one at place j with a probability proportional to a^(256^j d), d
    from 0 to 255, and t is geometric with a^(256^m): the laws of `digit_tables` (theory 9.12, digits of a geometric variable).

    A digit. `Table.draw` counts the bounds Pr[X < i] of its law that are at most U, a uniform number of which it reads as many
    bits as decide that. The count is k with probability Pr[X < k + 1] - Pr[X < k] = Pr[X = k]. No bound is rounded, and none is
    left out (theory 9.11, inversion of bits). Bits that were read are used for one digit of one variable.
    """
    tables = digit_tables(scale)
    noise = np.empty(size, dtype=np.int64)
    for block in _blocks(size):
        n = block.stop - block.start
        words = np.frombuffer(read(2 * 2 * n * len(tables)), dtype=np.uint16).reshape(len(tables), 2 * n)
        both = _geometric(tables, words, read)
        noise[block] = both[:n] - both[n:]
    return noise


@lru_cache(maxsize=64)
def digit_tables(scale: Fraction) -> tuple[Table, ...]:
    """Tables of the digits of a geometric variable with Pr[G >= k] = exp(-k / scale), the lowest first.

    The last one has no end: it is what all further digits amount to.
    """
    laws, rate = list[Geometric](), 1 / scale
    while rate * _ONE_TABLE < 1:
        laws.append(Geometric(rate=rate, end=2**_DIGIT))
        rate *= 2**_DIGIT
    return tuple(Table.of(law) for law in (*laws, Geometric(rate=rate)))


def _geometric(tables: tuple[Table, ...], words: np.ndarray, read: Read) -> np.ndarray:
    """(n,) int64 from (n_tables, n) first bits."""
    total = tables[0].draw(words[0], read)
    for place, (table, bits) in enumerate(zip(tables[1:], words[1:], strict=True), start=1):
        total += table.draw(bits, read) << _DIGIT * place
    return total


def _blocks(size: int) -> Iterator[slice]:
    for start in range(0, size, _BLOCK):
        yield slice(start, min(start + _BLOCK, size))
