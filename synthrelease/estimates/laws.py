"""The law of a weighted sum of discrete Laplace noises and of a normal error (theory 13.8, measured ratios)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_STEPS = 64
"""Weights are rounded to this part of the largest, so that equal ones are counted together; the variance is kept. Those that
would become 0, each less than a hundredth of the largest, count together as a normal error."""

_PERIOD = 60.0
"""Standard deviations: the law is folded onto such a stretch. Beyond half of it lies less than e^(-40)."""

_HIGHEST = 60.0
"""Highest frequency, per standard deviation, at which the characteristic function is used."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Noises:
    """The noises of all published cells, in one row.

    Attributes
    ----------
    scale : (n_cells,) b of each: Pr[z] proportional to exp(-|z| / b).
    count : (n_cells,) how many independent noises of that scale are in it; 0 where it is known that there is none.
    """

    scale: np.ndarray
    count: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        """(n_cells,) count * 2a / (1 - a)^2, a = e^(-1/b)."""
        return np.asarray(self.count * _spread(self.scale) / 2)

    def covariance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(j, k) covariances of sums with weights (j, n_cells) and (k, n_cells)."""
        return np.asarray((first * self.variances) @ second.T)


def half_width(noises: Noises, weights: np.ndarray, normal_variance: float, confidence: float) -> float:
    """A t with Pr[|Z| <= t] >= confidence, Z = sum of weights * noises + a normal error.

    The probability is (2 / pi) times the integral over u > 0 of sin(u t) phi(u) / u, phi the characteristic function, which is
    known (theory 13.5, limits of noise), because the law is symmetric. It is computed for Z + U, U uniform within half of the
    largest weight w, so that the law has no steps; |Z| <= |Z + U| + w/2, so w/2 is added to the limit.

    Parameters
    ----------
    weights : (n_cells,) of the noises.
    normal_variance : of an independent normal error with mean 0.
    """
    used = (weights != 0) & (noises.count > 0)
    size, noise = np.abs(weights[used]), noises.variances[used]
    whole = math.sqrt(float((size**2 * noise).sum()) + normal_variance)
    if not whole > 0:
        return 0.0
    largest = float(size.max()) if used.any() else 0.0
    angles = (np.arange(math.ceil(_HIGHEST * _PERIOD / (2 * np.pi))) + 0.5) * (2 * np.pi / _PERIOD)
    steps = np.rint(size * (_STEPS / largest)).astype(np.int64) if largest else np.zeros(0, dtype=np.int64)
    lesser = normal_variance + float((size**2 * noise)[steps == 0].sum())
    log_law = -(angles**2) * (lesser / whole**2) / 2
    for scale in np.unique(noises.scale[used]):
        ours = (noises.scale[used] == scale) & (steps > 0)
        counts = np.bincount(steps[ours], weights=noises.count[used][ours])
        # of all noises whose weight is rounded to the same step, the mean weight that keeps their variance
        squares = np.bincount(steps[ours], weights=size[ours] ** 2 * noises.count[used][ours])
        for count, square in zip(counts[counts > 0], squares[counts > 0], strict=True):
            weight = math.sqrt(square / count)
            log_law -= count * np.log1p(_spread(scale) * np.sin(angles * (weight / whole / 2)) ** 2)
    uniform = np.sinc(angles * (largest / whole / (2 * np.pi)))
    parts = np.exp(log_law) * uniform / angles * (4 / _PERIOD)
    low, high = 0.0, _PERIOD / 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if float(parts @ np.sin(angles * middle)) < confidence else (low, middle)
    return high * whole + largest / 2


def _spread(scale: np.ndarray) -> np.ndarray:
    """4 a / (1 - a)^2."""
    return np.asarray(4 * np.exp(-1 / scale) / np.expm1(-1 / scale) ** 2)
