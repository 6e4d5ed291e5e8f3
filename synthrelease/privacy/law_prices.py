"""Compute the privacy cost of a selection whose hidden number of rounds has finitely many possible values (theory 2b.7,
certified price).

For epsilon-DP rounds, let E = e^epsilon, and let q_k = Pr[K = k] for the hidden number of rounds K. The cost is the larger of

    epsilon + sup ln(g(A) / g(E A))    and    sup ln(f(1 - A) / f(1 - E A)),    0 < A <= 1 / (1 + E).

Here f(x) = sum q_k x^k and g(A) = (1 - f(1 - A)) / A (theory 2b.1, price; theory 2b.5, where both ratios are largest). With the
odds v = E A / (1 - E A), 0 < v <= E,

    1 - E A = 1 / (1 + v),    1 - A = (E + (E - 1) v) / (E (1 + v)).

*Every cell is bounded.* With r = (1 - A) / (1 - E A) = 1 + v (E - 1) / E, the ratios on a cell, an interval of v from a to b,
are at most their values at x(a) and r(b), x = 1 - A. Cells are halved until no bound exceeds the largest value found by more
than the tolerance, which is added to this value. Below the first point a, both ratios are below e^(2 a k), where k is the
largest value of K.

*Rounding.* Only +, -, *, / and square roots of doubles are used, element by element: each is correctly rounded (IEEE 754), so
the result is the same on all machines. Powers and sums of powers have positive terms and are computed by doubling; logarithms
by a series (`_ln`). Let u = 2^-53, k at most 10^4 and epsilon at most 300. Then 1 - A and (1 - A) / r have relative errors of
at most 12u, and their k-th powers and the sums h_k have relative errors below 14ku < 2e-11. Their logarithm, whose binary
exponent is at most 434, times k_0 has an error below 10^4 (2 * 434 + 40) u < 2e-9, and the rounding of numbers up to 3 * 10^6
adds 2e-9. The errors of both sides of a ratio together stay below `_ROUNDING`, which is added to the result. e^epsilon is
rounded up to a double, which can only raise the price, because more pairs of rounds are then neighbours.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from synthrelease.privacy.curves import exp_up
from synthrelease.privacy.grids import rounded_up

MOST_ROUNDS = 10_000
LARGEST_EPSILON = 300
"""Largest epsilon of a round. The bounds on rounding errors hold for at most MOST_ROUNDS rounds and this epsilon."""

_TOLERANCE = Fraction(1, 10**7)
_ROUNDING = Fraction(1, 10**8)
_LN2 = 0.6931471805599453
_ROOT_HALF = 0.7071067811865476
_TERMS = 12

Atoms = tuple[tuple[int, Fraction], ...]
"""The distribution of the number of rounds, as pairs (rounds, probability) in ascending order of rounds."""


@lru_cache(maxsize=64)
def largest_log_ratio(atoms: Atoms, epsilon: Fraction) -> Fraction:
    """Return an upper bound on the epsilon of a selection whose number of rounds has the distribution `atoms`. The bound
    exceeds the exact cost by less than 2e-7.

    Parameters
    ----------
    atoms : numbers of rounds from 1 to at most 10^4, with probabilities of at least 1e-12 that sum to 1.
    epsilon : the epsilon of a round, above 0 and at most 300.
    """
    ratio = rounded_up(exp_up(epsilon))
    left, right = np.array([1e-10 / atoms[-1][0]]), np.array([ratio])
    best = float(_log_ratio(right, right, atoms, ratio, epsilon)[0])
    best = max(best, float(epsilon) + 1e-9)  # a bound for the odds below the first point: e^(2 a k), e^epsilon times it
    while len(left):
        open_ = _log_ratio(left, right, atoms, ratio, epsilon) > best + float(_TOLERANCE)
        left, right = left[open_], right[open_]
        middle = np.sqrt(left) * np.sqrt(right)
        best = max(best, float(_log_ratio(middle, middle, atoms, ratio, epsilon).max(initial=best)))
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return Fraction(best) + _TOLERANCE + _ROUNDING


def _log_ratio(low: np.ndarray, high: np.ndarray, atoms: Atoms, ratio: float, epsilon: Fraction) -> np.ndarray:
    """Return (n,) upper bounds on the privacy cost, each for all odds of acceptance from `low` to `high`, (n,) arrays. If `low`
    equals `high`, the bound is exact."""
    near = (ratio + (ratio - 1) * low) / (ratio * (1 + low))
    far = near / (1 + high * ((ratio - 1) / ratio))
    nothing, accepted = (top - bottom for top, bottom in zip(_logarithms(near, atoms), _logarithms(far, atoms), strict=True))
    return np.maximum(nothing, float(epsilon) + accepted)


def _logarithms(rejection: np.ndarray, atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of f and g for (n,) probabilities x that a round is rejected. The smallest power of x is factored
    out, because x may be tiny."""
    at, power = atoms[0][0], np.ones_like(rejection)
    whole, total = _power_and_sum(rejection, at)  # x^k_0 and h_k_0
    nothing, accepted = np.zeros_like(rejection), np.zeros_like(rejection)
    for rounds, probability in atoms:
        step, added = _power_and_sum(rejection, rounds - at)
        total = total + whole * added
        whole, power, at = whole * step, power * step, rounds
        nothing, accepted = nothing + float(probability) * power, accepted + float(probability) * total
    return atoms[0][0] * _ln(rejection) + _ln(nothing), _ln(accepted)


def _power_and_sum(base: np.ndarray, exponent: int) -> tuple[np.ndarray, np.ndarray]:
    """Return base^k and h_k = 1 + base + ... + base^(k - 1), k = `exponent`, by doubling: h_2k = h_k (1 + base^k), h_k+1 = 1 +
    base h_k."""
    power, total = np.ones_like(base), np.zeros_like(base)
    for bit in f"{exponent:b}":
        power, total = power * power, total * (1 + power)
        if bit == "1":
            power, total = power * base, 1 + base * total
    return power, total


def _ln(values: np.ndarray) -> np.ndarray:
    """Return natural logarithms of positive doubles, with an error of at most (2 |binary exponent| + 20) 2^-53.

    For 2^e m with m in [1/sqrt(2), sqrt(2)): e ln 2 + 2 (z + z^3 / 3 + ...), z = (m - 1) / (m + 1), |z| < 0.172. The omitted
    terms are below 0.172^25.
    """
    mantissa, exponent = np.frexp(values)
    low = mantissa < _ROOT_HALF
    mantissa, exponent = np.where(low, 2 * mantissa, mantissa), exponent - low
    z = (mantissa - 1) / (mantissa + 1)
    square, series = z * z, np.zeros_like(z)
    for term in range(_TERMS - 1, -1, -1):
        series = series * square + 1 / (2 * term + 1)
    return exponent * _LN2 + 2 * z * series
