"""How far a weighted sum of independent discrete Laplace noises is off at most, at a stated risk.

Theory 13.5, limits of noise. A part (b, w, k) stands for w (z_1 + ... + z_k), Pr[z] proportional to a^|z|, a = e^(-1/b), w a
whole number. With

    E[e^(i t z)] = 1 / (1 + 4 a sin^2(t/2) / (1 - a)^2),   E[e^(h z)] = 1 / (1 - 4 a sinh^2(h/2) / (1 - a)^2), 0 < h < 1/b,

the law of a sum that fits on a grid of `_GRID` points follows from its characteristic function by one Fourier transform; other
sums are bounded by Markov's inequality for e^(h sum), for which every h gives a valid limit.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

Parts = tuple[tuple[float, int, int], ...]
"""(b, w, k) of each part: scale of the noise, whole weight above 0, how many noises have both."""

_TRIED = 400
"""Values of h that are tried; each gives a valid limit."""

_ROUNDED_UP = 1e-9
"""Relative: the scale of the noise that was drawn is the exact one, rounded up."""

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
        return _single(parts[0][0], risk)
    markov = _markov(parts, risk)
    if risk < 100 * _ALLOWANCE or sum(count for _, _, count in parts) > 1_000_000:
        return markov
    points = 2 ** math.ceil(math.log2(2 * _markov(parts, _ALLOWANCE / 100) + 4))
    return markov if points > _GRID else min(markov, _on_grid(parts, risk, points))


def _single(scale: float, risk: float) -> int:
    """Pr[|z| > t] = 2 a^(t+1) / (1 + a)."""
    scale *= 1 + _ROUNDED_UP
    return max(0, math.ceil(-scale * math.log(risk * (1 + math.exp(-1 / scale)) / 2)) - 1)


def _markov(parts: Parts, risk: float) -> int:
    """Pr[|sum| > t] <= 2 e^(-h (t+1)) E[e^(h sum)] for every h below the least 1 / (b w)."""
    scaled = [(scale * (1 + _ROUNDED_UP), weight, count) for scale, weight, count in parts]
    h = np.arange(1, _TRIED) / _TRIED / max(scale * weight for scale, weight, _ in scaled)
    log_moment = np.zeros_like(h)
    for scale, weight, count in scaled:
        log_moment -= count * np.log1p(-_spread(scale) * np.sinh(h * weight / 2) ** 2)
    return max(0, math.ceil(float(((log_moment + math.log(2 / risk)) / h).min())) - 1)


def _on_grid(parts: Parts, risk: float, points: int) -> int:
    """The least t at which the law of the sum, folded onto so many points, leaves at most the risk beyond t."""
    angles = np.arange(points // 2 + 1) * (2 * np.pi / points)
    log_law = np.zeros_like(angles)
    for scale, weight, count in parts:
        log_law += log_characteristic(scale, weight, count, angles)
    law = np.fft.irfft(np.exp(log_law), points)[: points // 2]
    beyond = 2 * np.cumsum(law[::-1])[::-1]  # of |sum| >= t
    enough = np.flatnonzero(beyond[1:] + _ALLOWANCE <= risk)
    return int(enough[0]) if len(enough) else points


def log_characteristic(scale: float, weight: float | np.ndarray, count: float | np.ndarray, angles: np.ndarray) -> np.ndarray:
    """ln E[e^(i t w (z_1 + ... + z_k))] at the angles t, a real number; w need not be whole. Arrays are broadcast."""
    return np.asarray(-count * np.log1p(_spread(scale) * np.sin(angles * weight / 2) ** 2))


def _spread(scale: float) -> float:
    """4 a / (1 - a)^2."""
    return 4 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2
