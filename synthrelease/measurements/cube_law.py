"""The law of one number of a noise that several numbers share (theory 9.18, one noise for many numbers).

The noise of m numbers is z with Pr[z] proportional to q^max|z_i|, q = e^(-1/b), b the scale. A radius k has Pr[k] proportional
to (2k + 1)^m q^k, and given it each entry is uniform on {-k, ..., k}. So, for t at least 0,

    Pr[|z_i| > t] = 2 sum_{k > t} (k - t) (2k + 1)^(m - 1) q^k / sum_k (2k + 1)^m q^k,      E[z_i^2] = E[k (k + 1)] / 3.

Both are made of sums of j^p q^j, which have a closed form; nothing is subtracted. With m = 1 the law is discrete Laplace.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from synthrelease.measurements.noise import DiscreteLaplace

MOST_NUMBERS = 100
"""That may share one noise: so far the sums below are within the range of floats."""

_ROUNDED_UP = 1e-9
"""Relative: scales and probabilities of a limit are raised by so much, more than floats lose in hundreds of operations."""


@lru_cache(maxsize=10_000)
def cube_sd(size: int, scale: Fraction) -> float:
    """Standard deviation of each of so many numbers at this scale, the sensitivity over epsilon."""
    sums, stop = _power_sums(size + 2, float(scale)), -math.expm1(-1 / float(scale))
    squared = sum(_ways(size, p) * stop ** (size - p) * (sums[p + 2] + stop * sums[p + 1]) for p in range(size + 1))
    return math.sqrt(squared / _all_radii(size, sums, stop) / 3) / stop


@lru_cache(maxsize=100_000)
def cube_limit(size: int, scale: Fraction, risk: float) -> int:
    """A t with Pr[|z_i| > t] <= risk, the least up to rounding; risk above 0, below 1."""

    def enough(beyond: int) -> bool:
        return cube_tail(size, float(scale) * (1 + _ROUNDED_UP), beyond) * (1 + _ROUNDED_UP) <= risk

    low, high = -1, 0
    while not enough(high):
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def entry_limit(together: int, scale: Fraction, risk: float) -> int:
    """A t with Pr[|z| > t] <= risk for a noise of its own, or for one number of a noise that so many share."""
    return DiscreteLaplace(float(scale)).rounded_up.limit(risk) if together == 1 else cube_limit(together, scale, risk)


def cube_tail(size: int, scale: float, beyond: int) -> float:
    """Pr[|z_i| > beyond], beyond at least 0."""
    sums, stop = _power_sums(size, scale), -math.expm1(-1 / scale)
    start = (2 * beyond + 1) * stop  # 2k + 1 = 2 beyond + 1 + 2j, j = 1, 2, ...
    found = sum(_ways(size - 1, p) * start ** (size - 1 - p) * sums[p + 1] for p in range(size))
    return 2 * math.exp(-beyond / scale) * found / _all_radii(size, sums, stop)


def _all_radii(size: int, sums: tuple[float, ...], stop: float) -> float:
    """(1 - q)^(size + 1) times the sum over k of (2k + 1)^size q^k."""
    return sum(_ways(size, p) * stop ** (size - p) * sums[p] for p in range(size + 1))


def _ways(size: int, p: int) -> int:
    """What stands before j^p in (1 + 2j)^size."""
    return math.comb(size, p) * 2**p


@lru_cache(maxsize=1_000)
def _power_sums(most: int, scale: float) -> tuple[float, ...]:
    """s_0 = 1, s_1, ..., s_most: s_p is (1 - q)^(p + 1) times the sum of j^p q^j.

    For p above 0 that is q times the p-th Eulerian polynomial at q, whose coefficients are all above 0.
    """
    q = math.exp(-1 / scale)
    found, eulerian = [1.0], [1]
    for p in range(1, most + 1):
        if p > 1:
            longer = [0, *eulerian, 0]
            eulerian = [(p - place) * longer[place] + (place + 1) * longer[place + 1] for place in range(p)]
        found.append(q * sum(number * q**place for place, number in enumerate(eulerian)))
    return tuple(found)
