"""An interval of a ratio of two noisy sums: all ratios that their noise does not contradict (theory 13.8, measured ratios)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from synthrelease.generators.measured_noise import Noises, half_width

_REPEATS = 3
"""How often at most the quantile is computed anew at the end that it led to."""

_CLOSE = 1e-6
"""Of the way from the estimate: an end that moved by less stands."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratio:
    """numerator / denominator, each a sum over the rows plus noise.

    Attributes
    ----------
    numerator, denominator : values with their noise.
    weights : (2, n_noises) of the noises in numerator and denominator.
    sampling : (2, 2) covariance matrix of both sums over draws of the rows that they are sums over; 0 where these are meant.
    lowest, highest : what the ratio can be.
    step : of the lattice of the numerator: 1 where rows are counted.
    clustered : whether what is drawn at once, the members of a root, may be counted in this ratio and in another one.
    """

    numerator: float
    denominator: float
    weights: np.ndarray
    noises: Noises
    lowest: float = -math.inf
    highest: float = math.inf
    sampling: np.ndarray = field(default_factory=lambda: np.zeros((2, 2)))
    step: float = 0.0
    clustered: bool = False

    @property
    def estimate(self) -> float:
        """NaN where the denominator is not above 0."""
        return float(np.clip(self.quotient, self.lowest, self.highest))

    @property
    def standard_error(self) -> float:
        """By the delta method; NaN where the denominator is not above 0."""
        return math.sqrt(self._variance(self.quotient)) / self.denominator if self.denominator > 0 else math.nan

    def interval(self, confidence: float) -> tuple[float, float]:
        """Both ends; everything that is possible where the denominator may be 0 as far as the noise tells.

        Where no possible ratio is left the noise was beyond its limits. The interval then begins at the possible ratio that is
        nearest, and is as long as it was on that side: more than nothing.
        """
        if not self.denominator > 0:
            return self.lowest, self.highest
        first = self._half_width(confidence, self.quotient)
        low, high = self._end(confidence, 0, first), self._end(confidence, 1, first)
        nearest = self.estimate - self.quotient
        if low > self.highest:
            low += nearest
        if high < self.lowest:
            high += nearest
        return max(low, self.lowest), min(high, self.highest)

    @property
    def quotient(self) -> float:
        """The estimate, also where it is beyond what is possible; NaN where the denominator is not above 0."""
        return self.numerator / self.denominator if self.denominator > 0 else math.nan

    def _end(self, confidence: float, which: int, width: float) -> float:
        """The lower (0) or upper (1) ratio at which numerator - ratio * denominator is as large as its noise gets.

        Parameters
        ----------
        width : as large as that noise gets at the estimate, where the search begins.
        """
        ratio = self.quotient
        covariance = self._covariance
        for repeat in range(_REPEATS):
            spread = self._variance(ratio)
            if not spread > 0:
                return ratio
            width = self._half_width(confidence, ratio) if repeat else width
            factor = width**2 / spread
            square = self.denominator**2 - factor * covariance[1, 1]
            middle = self.numerator * self.denominator - factor * covariance[0, 1]
            constant = self.numerator**2 - factor * covariance[0, 0]
            inside = middle**2 - square * constant
            if not (square > 0 and inside >= 0):
                return math.inf if which else -math.inf
            ratio, before = (middle + (2 * which - 1) * math.sqrt(inside)) / square, ratio
            if abs(ratio - before) <= _CLOSE * abs(ratio - self.quotient):
                break
        return ratio

    def _half_width(self, confidence: float, ratio: float) -> float:
        """Of the noise of numerator - ratio * denominator."""
        along = np.array([1.0, -ratio])
        normal = max(0.0, float(along @ self.sampling @ along))
        return half_width(self.noises, along @ self.weights, normal, confidence, self.step)

    @property
    def _covariance(self) -> np.ndarray:
        return np.asarray(self.noises.covariance(self.weights, self.weights) + self.sampling)

    def _variance(self, ratio: float) -> float:
        """Of numerator - ratio * denominator."""
        along = np.array([1.0, -ratio])
        return max(0.0, float(along @ self._covariance @ along))


def possible(covariance: np.ndarray) -> np.ndarray:
    """The nearest covariance matrix: noise can make an estimate of one have eigenvalues below 0, which become 0."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
