"""Draws from an integer law by inversion of uniform bits, as many as a draw needs.

X is the number of i >= 1 with Pr[X < i] <= U, U uniform on [0, 1). The bits of U are read as they are needed: of 16 bits most
say what X is; of the others 64 nearly all; where 64 bits agree with those of some Pr[X < i], 64 more are read until the two
differ. So the law is exact (theory 9.11, inversion of bits): nothing is rounded, and no value is cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synthrelease.inversion.laws import Law

Read = Callable[[int], bytes]
"""So many uniform bytes, independent of all others."""

_FIRST, _WORD = 16, 64
"""Bits that are read for every draw, and in all for a draw that they leave open."""
_OPEN = -1
"""Stands for a value that the first bits leave open."""


@dataclass(frozen=True, eq=False)
class Table:
    """A law, ready to be drawn from.

    Attributes
    ----------
    floors : (k,) uint64, floor(2^64 Pr[X < i]) for i = 1, ..., k: all of them, or up to the first that is 2^64 - 1.
    first : (2^16,) int16, what X is when U begins with these bits; -1 where that is open.
    """

    law: Law
    floors: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, law: Law) -> Table:
        """Raises ValueError for a law with more values than 15 bits hold."""
        floors = np.array(exact_floors(law), dtype=np.uint64)
        if len(floors) >= 2 ** (_FIRST - 1):
            raise ValueError("expected a law with fewer likely values")
        among = np.bincount((floors >> np.uint64(_WORD - _FIRST)).astype(np.int64), minlength=2**_FIRST)
        first = (np.cumsum(among) - among).astype(np.int16)  # the floors below the first word that begins with these bits
        first[among > 0] = _OPEN
        return cls(law, floors, first)

    def draw(self, bits: np.ndarray, read: Read) -> np.ndarray:
        """(n,) int64 independent draws, from (n,) uint16 uniform first bits; `read` gives further ones."""
        drawn = self.first[bits].astype(np.int64)
        left = np.flatnonzero(drawn == _OPEN)
        if len(left):
            further = np.frombuffer(read(8 * len(left)), dtype=np.uint64) >> np.uint64(_FIRST)
            words = (bits[left].astype(np.uint64) << np.uint64(_WORD - _FIRST)) | further
            places = np.searchsorted(self.floors, words)
            drawn[left] = places
            ties = self.floors[np.minimum(places, len(self.floors) - 1)] == words
            for tie in np.flatnonzero(ties).tolist():
                drawn[left[tie]] = resolve(self.law, int(words[tie]), read)
        return drawn


def exact_floors(law: Law) -> list[int]:
    """floor(2^64 Pr[X < i]) for i = 1, 2, ..., up to the first that is 2^64 - 1, each certified.

    Pr[X < i] is irrational and below 1, so a bound is never met; where two bounds leave the floor open, they are made closer.
    """
    bits = 2 * _WORD
    while True:
        floors, beyond = list[int](), bits - _WORD
        for low, high in law.below(bits):
            if low >> beyond != (high - 1) >> beyond:
                break
            floors.append(low >> beyond)
            if floors[-1] == 2**_WORD - 1:
                return floors
        else:
            return floors
        bits *= 2


def resolve(law: Law, word: int, read: Read) -> int:
    """The value of X when U begins with the 64 bits `word`, with as many further bits as it takes."""
    bits = _WORD
    while True:
        word, bits = (word << 64) | int.from_bytes(read(8), "little"), bits + 64
        value = 0
        for low, high in law.below(bits):  # U lies in [word, word + 1) / 2^bits
            if high <= word:
                value += 1
            elif low > word:
                return value
            else:
                break
        else:
            return value
