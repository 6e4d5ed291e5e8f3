"""How far a weighted sum of independent noises is off at most, at a stated risk.

Theory 13.5, limits of noise. A part (z, w, k) stands for w (z_1 + ... + z_k), w a whole number and every z_i of the law z,
whose characteristic function E[e^(i t z)] and moments E[e^(h z)] are known (`noise`). The law of a sum that fits on a grid of
`_GRID` points follows from its characteristic function by one Fourier transform; other sums are bounded by Markov's inequality
for e^(h sum), for which every h gives a valid limit.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from synthrelease.measurements.noise import CountNoise

Parts = tuple[tuple[CountNoise, int, int], ...]
"""(z, w, k) of each part: the law of the noise, whole weight above 0, how many noises have both."""

_TRIED = 400
"""Values of h that are tried; each gives a valid limit."""

_FARTHEST = 2.0
"""Values of h are tried up to so many times the one that would be best for a normal law."""

_GRID = 2**17
"""Points of the largest grid on which the law of a sum is computed."""

_ALLOWANCE = 1e-8
"""Of a probability that is computed on the grid: rounding of 2^17 terms (below 1e-9 in all), what lies beyond the grid (at most
1e-10), and the scale that is rounded up (2^-50 of a law for each of at most a million noises)."""


@lru_cache(maxsize=100_000)
def noise_limit(parts: Parts, risk: float) -> int:
    """A t with Pr[|sum of all parts| > t] <= risk.

    Parameters
    ----------
    parts : their noises are independent.
    risk : above 0, below 1.
    """
    if len(parts) == 1 and parts[0][1:] == (1, 1):
        return parts[0][0].rounded_up.limit(risk)
    markov = _markov(parts, risk)
    if risk < 100 * _ALLOWANCE or sum(count for _, _, count in parts) > 1_000_000:
        return markov
    points = 2 ** math.ceil(math.log2(2 * _markov(parts, _ALLOWANCE / 100) + 4))
    return markov if points > _GRID else min(markov, _on_grid(parts, risk, points))


def _markov(parts: Parts, risk: float) -> int:
    """Pr[|sum| > t] <= 2 e^(-h (t+1)) E[e^(h sum)] for every h at which all moments are finite."""
    wider = [(noise.rounded_up, weight, count) for noise, weight, count in parts]
    variance = sum(count * weight**2 * noise.variance for noise, weight, count in wider)
    normal = _FARTHEST * math.sqrt(2 * math.log(2 / risk) / variance)
    finite = min(noise.highest_moment / weight for noise, weight, _ in wider)
    h = np.arange(1, _TRIED) / _TRIED * (finite if math.isfinite(finite) else normal)
    log_moment = np.zeros_like(h)
    for noise, weight, count in wider:
        log_moment += count * noise.log_moment(h * weight)
    return max(0, math.ceil(float(((log_moment + math.log(2 / risk)) / h).min())) - 1)


def _on_grid(parts: Parts, risk: float, points: int) -> int:
    """The least t at which the law of the sum, folded onto so many points, leaves at most the risk beyond t."""
    angles = np.arange(points // 2 + 1) * (2 * np.pi / points)
    log_law = np.zeros_like(angles)
    for noise, weight, count in parts:
        log_law += count * noise.log_characteristic(angles * weight)
    law = np.fft.irfft(np.exp(log_law), points)[: points // 2]
    beyond = 2 * np.cumsum(law[::-1])[::-1]  # of |sum| >= t
    enough = np.flatnonzero(beyond[1:] + _ALLOWANCE <= risk)
    return int(enough[0]) if len(enough) else points
