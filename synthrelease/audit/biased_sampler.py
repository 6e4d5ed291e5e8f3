"""Discrete Laplace noise as OpenDP 0.14.0 and 0.14.1 drew it (opendp issue 2638), computed and drawn, for the audit alone.

A coin that shows heads with probability exp(-x) is made of coins of probability x, x/2, x/3, ... (theory 9.5, exact coins).
There a fraction p/q divided by k became (p/g) / (k floor(q/g)), g = gcd(p, k), which is too much unless g divides q: of 4/5 the
second coin had probability 1/2 in place of 2/5. So some outcomes were up to 15% more likely than stated, and others up to 4%
less, at every whole scale but 1 and 2. Neighbouring outcomes lose 1.5 times the claim at scale 3, 2.7 times at 10, 15 times at
100.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

_REACH = 40
"""Scales up to which the law is written down; what lies beyond has a probability below 1e-17."""


def heads(above: int, below: int) -> float:
    """The probability with which a coin of exp(-above / below) shows heads there, 0 <= above < below."""
    common = math.gcd(above, below)
    p, q = above // common, below // common
    shown, reached, toss = 0.0, 1.0, 1
    while reached > 1e-20:
        g = math.gcd(p, toss)
        again = p // g / (toss * (q // g))
        if toss % 2:
            shown += reached * (1 - again)
        reached, toss = reached * again, toss + 1
    return shown


@lru_cache
def law(scale: int) -> np.ndarray:
    """(2m + 1,) the probabilities of -m, ..., m, m = 40 scales.

    The size is u + scale v, u below the scale taken with the probability of `heads`, v geometric; it has a fair sign, and is
    drawn again where that makes -0 of it.
    """
    size = np.arange(_REACH * scale + 1)
    weights = _heads(scale)[size % scale] * np.exp(-(size // scale))
    both = np.concatenate([weights[:0:-1], weights])
    return both / both.sum()


def drawn(size: int, scale: int, generator: np.random.Generator) -> np.ndarray:
    """(size,) int64 independent draws from this law. Not private: from a generator of doubles."""
    rest = generator.choice(scale, size, p=_heads(scale) / _heads(scale).sum())
    found = (rest + scale * (generator.geometric(-math.expm1(-1), size) - 1)) * (1 - 2 * generator.integers(0, 2, size))
    again = np.flatnonzero((found == 0) & (generator.integers(0, 2, size) == 0))  # half of the zeros are -0
    if len(again):
        found[again] = drawn(len(again), scale, generator)
    return found


@lru_cache
def _heads(scale: int) -> np.ndarray:
    return np.array([heads(rest, scale) for rest in range(scale)])
