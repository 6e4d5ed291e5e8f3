"""One noise for many numbers: a vector of integers whose probability falls with its largest entry, drawn exactly.

Its entries are not independent: all lie within one random radius. Where m numbers each move by at most D when a record is
replaced, it costs what a single number costs, and has about sqrt((m + 1)(m + 2) / 3) D / epsilon as its standard deviation,
where a share of epsilon for each number has sqrt(2) m D / epsilon (theory 9.18, one noise for many numbers).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from synthrelease.exact_choices import Uniform, heads


def drawn(size: int, rate: Fraction, entropy: Uniform) -> np.ndarray:
    """(size,) int64 z with exactly Pr[z] proportional to exp(-rate max|z_i|); size at least 1, rate above 0.

    A radius k is drawn first, then z uniformly from {-k, ..., k}^size.
    """
    k = radius(size, rate, entropy)
    return entropy.picks(np.full(size, 2 * k + 1, dtype=np.int64)) - k


def radius(size: int, rate: Fraction, entropy: Uniform) -> int:
    """k of at least 0 with exactly Pr[k] proportional to (2k + 1)^size exp(-rate k).

    Proposed is the sum of size + 1 geometric numbers, with Pr proportional to C(k + size, size) exp(-rate k), and taken with
    the probability (2k + 1)^size / ((2k + 2) (2k + 4) ... (2k + 2 size)), a fraction of at most 1.
    """
    while True:
        k = sum(geometric(rate, entropy) for _ in range(size + 1))
        if entropy.pick(math.prod(2 * k + 2 * j for j in range(1, size + 1))) < (2 * k + 1) ** size:
            return k


def geometric(rate: Fraction, entropy: Uniform) -> int:
    """g of at least 0 with exactly Pr[g] proportional to exp(-rate g) (Canonne, Kamath & Steinke 2020, Algorithm 2).

    With rate = a / b: x of at least 0 with Pr[x] proportional to exp(-x / b) is u + b v, u below b taken with probability
    exp(-u / b), v the number of coins of probability exp(-1) until the first tails; and g = floor(x / a).
    """
    above, below = rate.numerator, rate.denominator
    while True:
        rest = entropy.pick(below)
        if heads(rest, below, entropy):
            break
    whole = 0
    while heads(1, 1, entropy):
        whole += 1
    return (rest + below * whole) // above
