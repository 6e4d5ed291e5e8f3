"""The laws of the noise of one published count: whole numbers, symmetric around 0. All of them are public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from synthrelease.privacy.grids import gaussian_scale, laplace_sd

TABLE_CHANGE = 2
"""A replaced record moves one count of a table down and one up: 2 in the l1 norm, and 2 in the squared l2 norm."""

_ROUNDED_UP = 1e-9
"""Relative: the scale of the noise that was drawn is the exact one, rounded up."""

_TURNS = 4
"""Terms of Poisson's sum on either side: the next one is below e^(-2 pi^2 5^2 scale^2), 1e-9 for a scale of a fifth."""


@dataclass(frozen=True, order=True)
class CountNoise:
    """One noise.

    Attributes
    ----------
    scale : above 0, in rows.
    """

    scale: float
    name: ClassVar[Literal["discrete Laplace", "rounded Gaussian"]]
    cost: ClassVar[Literal["epsilon", "rho"]]
    """What a part of a budget is that buys such noise."""

    @classmethod
    def of_table(cls, cost: Fraction) -> CountNoise:
        """Of every count of a table that is measured at this cost."""
        raise NotImplementedError

    @property
    def rounded_up(self) -> CountNoise:
        """With a scale that is certainly no smaller than that of the noise that was drawn."""
        return type(self)(self.scale * (1 + _ROUNDED_UP))

    @property
    def variance(self) -> float:
        """Of the whole number."""
        raise NotImplementedError

    @property
    def variance_above(self) -> float:
        """That of the continuous law of the same scale, by which tables are weighed."""
        raise NotImplementedError

    @property
    def mean_size(self) -> float:
        """E|z| of the continuous law of the same scale: what a table pays for each of its cells."""
        raise NotImplementedError

    @property
    def highest_moment(self) -> float:
        """E[e^(h z)] is finite for 0 <= h below this."""
        raise NotImplementedError

    def limit(self, risk: float) -> int:
        """The least t with Pr[|z| > t] <= risk."""
        raise NotImplementedError

    def log_characteristic(self, angles: np.ndarray) -> np.ndarray:
        """ln E[e^(i t z)] at the angles t, a real number."""
        raise NotImplementedError

    def log_moment(self, h: np.ndarray) -> np.ndarray:
        """ln E[e^(h z)], or a little more."""
        raise NotImplementedError


class DiscreteLaplace(CountNoise):
    """Pr[z] proportional to e^(-|z| / scale).

    Examples
    --------
    >>> DiscreteLaplace(2.0).limit(0.05)
    6
    """

    name = "discrete Laplace"
    cost = "epsilon"

    @classmethod
    def of_table(cls, cost: Fraction) -> DiscreteLaplace:
        """Scale 2 / epsilon."""
        return cls(float(TABLE_CHANGE / cost))

    @property
    def variance(self) -> float:
        return laplace_sd(Fraction(self.scale)) ** 2

    @property
    def variance_above(self) -> float:
        return 2.0 * self.scale**2

    @property
    def mean_size(self) -> float:
        return self.scale

    @property
    def highest_moment(self) -> float:
        return 1 / self.scale

    def limit(self, risk: float) -> int:
        """Pr[|z| > t] = 2 a^(t+1) / (1 + a), a = e^(-1 / scale)."""
        return max(0, math.ceil(-self.scale * math.log(risk * (1 + math.exp(-1 / self.scale)) / 2)) - 1)

    def log_characteristic(self, angles: np.ndarray) -> np.ndarray:
        return np.asarray(-np.log1p(self._spread * np.sin(angles / 2) ** 2))

    def log_moment(self, h: np.ndarray) -> np.ndarray:
        return np.asarray(-np.log1p(-self._spread * np.sinh(h / 2) ** 2))

    @property
    def _spread(self) -> float:
        """4 a / (1 - a)^2."""
        return 4 * math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2


_NOTHING = -60.0
"""A logarithm of a characteristic function below this is not told apart from its main term, which is within ln 3."""


class RoundedGaussian(CountNoise):
    """N(0, scale^2), rounded to the next whole number (theory 9.13, rounded Gaussian noise).

    Its probabilities are the values at whole numbers of the density of N(0, scale^2) plus a uniform number from -1/2 to 1/2,
    so Poisson's sum gives its characteristic function (theory 13.5, limits of noise).

    Examples
    --------
    >>> RoundedGaussian(2.0).limit(0.05)
    4
    """

    name = "rounded Gaussian"
    cost = "rho"

    @classmethod
    def of_table(cls, cost: Fraction) -> RoundedGaussian:
        """Scale sqrt(2 / (2 rho))."""
        return cls(gaussian_scale(TABLE_CHANGE / (2 * cost)))

    @property
    def variance(self) -> float:
        if self.scale > 2:
            return self.scale**2 + 1 / 12  # but for a part of e^(-2 pi^2 scale^2)
        z = np.arange(-40, 41)
        steps = np.array([math.erf((place + 0.5) / self.scale / math.sqrt(2)) for place in range(-41, 41)])
        return float((z**2 * np.diff(steps)).sum() / 2)

    @property
    def variance_above(self) -> float:
        return self.scale**2 + 1 / 12

    @property
    def mean_size(self) -> float:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def highest_moment(self) -> float:
        return math.inf

    def limit(self, risk: float) -> int:
        """Pr[|z| > t] = 2 Pr[N > (t + 1/2) / scale]."""
        low, high = -1, 1
        while not self._within(high, risk):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._within(middle, risk) else (middle, high)
        return high

    def _within(self, t: int, risk: float) -> bool:
        return math.erfc((t + 0.5) / self.scale / math.sqrt(2)) <= risk

    def log_characteristic(self, angles: np.ndarray) -> np.ndarray:
        turned = np.remainder(angles + np.pi, 2 * np.pi) - np.pi
        turns = 2 * np.pi * np.arange(-_TURNS, _TURNS + 1)
        near = np.asarray(-((self.scale * turned) ** 2) / 2)
        told = near > _NOTHING
        if 2 * np.pi * self.scale**2 * (np.pi - np.abs(turned[told]).max(initial=0.0)) > -_NOTHING:  # e^- this: the next turn
            near[told] += np.log(np.sinc(turned[told] / (2 * np.pi)))
            return near
        shifted = turned[told, None] + turns
        terms = np.exp(-((self.scale * shifted) ** 2) / 2 - near[told, None]) * np.sinc(shifted / (2 * np.pi))
        near[told] += np.log(terms.sum(axis=-1))
        return near

    def log_moment(self, h: np.ndarray) -> np.ndarray:
        """The term of no turn, and an upper bound of the others."""
        half, turns = h / 2, np.arange(1, _TURNS + 1)
        others = 2 * (np.exp(-2 * (np.pi * turns * self.scale) ** 2) / (np.pi * turns)).sum() * half
        return np.asarray((self.scale * h) ** 2 / 2 + np.log(np.sinh(half) / half) + np.log1p(others * (1 + _ROUNDED_UP)))


LAWS = {law.name: law for law in (DiscreteLaplace, RoundedGaussian)}
"""By the name that published measurements give it."""
