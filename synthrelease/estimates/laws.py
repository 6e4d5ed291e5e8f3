"""The law of a weighted sum of many independent discrete Laplace noises and of a normal error (theory 13.8, measured ratios)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_STEPS = 256
"""Weights are rounded to this part of the largest, so that equal ones are counted together; the variance is kept."""

_PERIOD = 80.0
"""Standard deviations: the law is folded onto such a stretch. Beyond half of it lies less than e^(-50)."""

_HIGHEST = 200.0
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
    """A t with Pr[|sum of weights * noises + a normal error| <= t] = confidence, rounded up by half a step of the largest weight.

    The probability is (2 / pi) times the integral over u > 0 of sin(u t) phi(u) / u, phi the characteristic function, which is
    known (theory 13.5, limits of noise), because the law is symmetric. A law on a lattice is smoothed by less than half of its
    step, which is added.

    Parameters
    ----------
    weights : (n_cells,) of the noises.
    normal_variance : of an independent normal error with mean 0.
    """
    used = (weights != 0) & (noises.count > 0)
    variance = float((weights[used] ** 2 * noises.variances[used]).sum())
    whole = math.sqrt(variance + normal_variance)
    if not whole > 0:
        return 0.0
    largest = float(np.abs(weights[used]).max()) if used.any() else 0.0
    highest = min(_HIGHEST, math.pi * whole / largest) if largest else 10.0
    angles = (np.arange(math.ceil(highest * _PERIOD / (2 * np.pi))) + 0.5) * (2 * np.pi / _PERIOD)
    log_law = -(angles**2) * (normal_variance / whole**2) / 2
    if used.any():
        log_law -= _log_noise(noises, weights, used, variance, angles / whole)
    parts = np.exp(log_law) / angles * (4 / _PERIOD)
    low, high = 0.0, _PERIOD / 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if float(parts @ np.sin(angles * middle)) < confidence else (low, middle)
    return high * whole + largest / 2


def _log_noise(noises: Noises, weights: np.ndarray, used: np.ndarray, variance: float, angles: np.ndarray) -> np.ndarray:
    """- log of the characteristic function of the weighted noises, at each angle."""
    size = np.abs(weights[used])
    steps = np.maximum(np.rint(size * (_STEPS / size.max())), 1.0)
    kinds, places = np.unique(np.stack([noises.scale[used], steps]), axis=1, return_inverse=True)
    counts = np.bincount(np.ravel(places), weights=noises.count[used])
    scales, rounded = kinds
    rounded = rounded * math.sqrt(variance / float((rounded**2 * counts * _spread(scales) / 2).sum()))
    found = np.zeros_like(angles)
    for scale, weight, count in zip(scales, rounded, counts, strict=True):
        found += count * np.log1p(_spread(scale) * np.sin(angles * (weight / 2)) ** 2)
    return found


def _spread(scale: np.ndarray) -> np.ndarray:
    """4 a / (1 - a)^2."""
    return np.asarray(4 * np.exp(-1 / scale) / np.expm1(-1 / scale) ** 2)
