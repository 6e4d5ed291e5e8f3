"""Compute public properties of the noise in measurements: its distribution, variance and limits, for counts and for
weighted sums.

The noise of a count is a whole number, distributed symmetrically around 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Literal, Self

import numpy as np

from synthrelease.privacy.grids import gaussian_scale, laplace_sd

TABLE_CHANGE = 2
"""Sensitivity of a table, in l1 norm and in squared l2 norm: replacing a record decreases one count by 1 and increases another
count by 1.
"""

_ROUNDED_UP = 1e-9  # Relative bound on the rounding of a scale: the scale of drawn noise is the exact scale, rounded up

# Number of terms of Poisson's sum on either side; the next term is below e^(-2 pi^2 5^2 scale^2), which is 1e-9 for a scale
# of 1/5.
_TURNS = 4


def least_whole(enough: Callable[[int], bool]) -> int:
    """Return the smallest whole number, at least 0, that satisfies a monotone condition."""
    low, high = -1, 0
    while not enough(high):
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True, order=True)
class _Noise:
    """The base class of the noise distributions of one count, in rows. `cost` is the kind of budget: "epsilon" or "rho"."""

    scale: float
    name: ClassVar[Literal["discrete Laplace", "rounded Gaussian"]]
    cost: ClassVar[Literal["epsilon", "rho"]]

    @property
    def rounded_up(self) -> Self:
        """Return the distribution with a slightly larger scale, which bounds the scale of the drawn noise."""
        return type(self)(self.scale * (1 + _ROUNDED_UP))


class DiscreteLaplace(_Noise):
    """Discrete Laplace noise: Pr[z] is proportional to e^(-|z| / scale).

    Examples
    --------
    >>> DiscreteLaplace(2.0).limit(0.05)
    6
    """

    name = "discrete Laplace"
    cost = "epsilon"

    @classmethod
    def of_table(cls, cost: Fraction) -> DiscreteLaplace:
        return cls(float(TABLE_CHANGE / cost))

    @property
    def variance(self) -> float:
        return laplace_sd(Fraction(self.scale)) ** 2

    @property
    def variance_above(self) -> float:
        """Return an upper bound on the variance, that of continuous Laplace noise. It determines the weight of a table in a
        fit.
        """
        return 2.0 * self.scale**2

    @property
    def mean_size(self) -> float:
        """Return the mean absolute noise of a cell, for continuous Laplace noise of the same scale."""
        return self.scale

    @property
    def highest_moment(self) -> float:
        return 1 / self.scale

    def limit(self, risk: float) -> int:
        """Return the smallest t that |z| exceeds with probability at most `risk`, by Pr[|z| > t] = 2 a^(t+1) / (1 + a), a =
        e^(-1 / scale).
        """
        return max(0, math.ceil(-self.scale * math.log(risk * (1 + math.exp(-1 / self.scale)) / 2)) - 1)

    def log_characteristic(self, angles: np.ndarray) -> np.ndarray:
        """Return ln E[e^(i t z)] of the noise z at the angles t, a real number."""
        return np.asarray(-np.log1p(self._spread * np.sin(angles / 2) ** 2))

    def log_moment(self, h: np.ndarray) -> np.ndarray:
        """Return ln E[e^(h z)] of the noise z, up to rounding."""
        return np.asarray(-np.log1p(-self._spread * np.sinh(h / 2) ** 2))

    @property
    def _spread(self) -> float:
        """Return twice the variance, 4 a / (1 - a)^2 with a = e^(-1 / scale)."""
        return 4 * math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2


# Logarithm below which a characteristic function is replaced by its main term, which differs from it by a factor of at most
# 3.
_NOTHING = -60.0


class RoundedGaussian(_Noise):
    """Rounded Gaussian noise: N(0, scale^2), rounded to the nearest whole number (theory 9.13, rounded Gaussian noise).

    Its probabilities are the density, at whole numbers, of N(0, scale^2) plus a uniform number between -1/2 and 1/2, so
    Poisson's sum gives its characteristic function (theory 13.5, limits of noise).

    Examples
    --------
    >>> RoundedGaussian(2.0).limit(0.05)
    4
    """

    name = "rounded Gaussian"
    cost = "rho"

    @classmethod
    def of_table(cls, cost: Fraction) -> RoundedGaussian:
        return cls(gaussian_scale(TABLE_CHANGE / (2 * cost)))

    @property
    def variance(self) -> float:
        if self.scale > 2:
            return self.scale**2 + 1 / 12  # up to a relative error of e^(-2 pi^2 scale^2)
        z = np.arange(-40, 41)
        steps = np.array([math.erf((whole + 0.5) / self.scale / math.sqrt(2)) for whole in range(-41, 41)])
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
        """Return the smallest t that |z| exceeds with probability at most `risk`, by Pr[|z| > t] = 2 Pr[N > (t + 1/2) /
        scale] for a standard normal N.
        """
        return least_whole(lambda t: math.erfc((t + 0.5) / self.scale / math.sqrt(2)) <= risk)

    def log_characteristic(self, angles: np.ndarray) -> np.ndarray:
        turned = np.remainder(angles + np.pi, 2 * np.pi) - np.pi
        turns = 2 * np.pi * np.arange(-_TURNS, _TURNS + 1)
        near = np.asarray(-((self.scale * turned) ** 2) / 2)
        is_told = near > _NOTHING
        if (
            2 * np.pi * self.scale**2 * (np.pi - np.abs(turned[is_told]).max(initial=0.0)) > -_NOTHING
        ):  # the next term of the sum is negligible
            near[is_told] += np.log(np.sinc(turned[is_told] / (2 * np.pi)))
            return near
        shifted = turned[is_told, None] + turns
        terms = np.exp(-((self.scale * shifted) ** 2) / 2 - near[is_told, None]) * np.sinc(shifted / (2 * np.pi))
        near[is_told] += np.log(terms.sum(axis=-1))
        return near

    def log_moment(self, h: np.ndarray) -> np.ndarray:
        """Return an upper bound on ln E[e^(h z)] of the noise z: the main term of Poisson's sum plus a bound on the other
        terms.
        """
        half, turns = h / 2, np.arange(1, _TURNS + 1)
        others = 2 * (np.exp(-2 * (np.pi * turns * self.scale) ** 2) / (np.pi * turns)).sum() * half
        return np.asarray((self.scale * h) ** 2 / 2 + np.log(np.sinh(half) / half) + np.log1p(others * (1 + _ROUNDED_UP)))


CountNoise = DiscreteLaplace | RoundedGaussian
"""The noise of one count."""

LAWS: Mapping[str, type[CountNoise]] = {"discrete Laplace": DiscreteLaplace, "rounded Gaussian": RoundedGaussian}
"""Distributions of noise, by their names in published measurements."""


# The distribution of one entry of a noise that several numbers share (theory 9.18, one noise for many numbers).
#
# The noise of m numbers is z with Pr[z] proportional to q^max|z_i|, q = e^(-1/b), b the scale. The radius k has Pr[k]
# proportional to (2k + 1)^m q^k, and given the radius each entry is uniform on {-k, ..., k}. So, for t at least 0,
#
#     Pr[|z_i| > t] = 2 sum_{k > t} (k - t) (2k + 1)^(m - 1) q^k / sum_k (2k + 1)^m q^k,      E[z_i^2] = E[k (k + 1)] / 3.
#
# Both formulas use sums of j^p q^j, which have a closed form without subtractions. For m = 1 the noise is discrete Laplace.

MOST_NUMBERS = 100
"""Largest number of values that may share one noise vector. With more values, the sums below could overflow."""

# Relative increase of scales and probabilities in a limit: more than the rounding errors of hundreds of operations.
_CUBE_ROUNDED_UP = 1e-9


@lru_cache(maxsize=10_000)
def cube_sd(size: int, scale: Fraction) -> float:
    """Return the standard deviation of each of `size` numbers with one noise vector. `scale` is sensitivity / epsilon."""
    sums, stop = _power_sums(size + 2, float(scale)), -math.expm1(-1 / float(scale))
    squared = sum(_ways(size, p) * stop ** (size - p) * (sums[p + 2] + stop * sums[p + 1]) for p in range(size + 1))
    return math.sqrt(squared / _all_radii(size, sums, stop) / 3) / stop


@lru_cache(maxsize=100_000)
def cube_limit(size: int, scale: Fraction, risk: float) -> int:
    """Return the smallest t, up to rounding, that the absolute noise of one of `size` numbers with a shared noise vector
    exceeds with probability at most `risk` (0 to 1).
    """

    def enough(beyond: int) -> bool:
        return cube_tail(size, float(scale) * (1 + _CUBE_ROUNDED_UP), beyond) * (1 + _CUBE_ROUNDED_UP) <= risk

    return least_whole(enough)


def entry_limit(together: int, scale: Fraction, risk: float) -> int:
    """Return a limit that the absolute noise exceeds with probability at most `risk`, for one of `together` numbers with a
    shared noise vector, or for a single number.
    """
    return DiscreteLaplace(float(scale)).rounded_up.limit(risk) if together == 1 else cube_limit(together, scale, risk)


def cube_tail(size: int, scale: float, beyond: int) -> float:
    """Return the probability that the absolute noise of one of `size` numbers with a shared noise vector exceeds `beyond`
    (at least 0).
    """
    sums, stop = _power_sums(size, scale), -math.expm1(-1 / scale)
    start = (2 * beyond + 1) * stop  # 2k + 1 = 2 beyond + 1 + 2j, j = 1, 2, ...
    tail = sum(_ways(size - 1, p) * start ** (size - 1 - p) * sums[p + 1] for p in range(size))
    return 2 * math.exp(-beyond / scale) * tail / _all_radii(size, sums, stop)


def _all_radii(size: int, sums: tuple[float, ...], stop: float) -> float:
    """Return the scaled normalising constant of a shared noise vector: (1 - q)^(size + 1) times the sum of (2k + 1)^size
    q^k over all radii k = 0, 1, ..., with q = 1 - `stop`.
    """
    return sum(_ways(size, p) * stop ** (size - p) * sums[p] for p in range(size + 1))


def _ways(size: int, p: int) -> int:
    """Return the coefficient of j^p in (1 + 2j)^size."""
    return math.comb(size, p) * 2**p


@lru_cache(maxsize=1_000)
def _power_sums(most: int, scale: float) -> tuple[float, ...]:
    """Return s_0 = 1, s_1, ..., s_most, where s_p is (1 - q)^(p + 1) times the sum over j of j^p q^j, with q = e^(-1 /
    scale).

    For p above 0, s_p is q times the p-th Eulerian polynomial at q, whose coefficients are all positive.
    """
    q = math.exp(-1 / scale)
    sums, eulerian = [1.0], [1]
    for p in range(1, most + 1):
        if p > 1:
            longer = [0, *eulerian, 0]
            eulerian = [(p - index) * longer[index] + (index + 1) * longer[index + 1] for index in range(p)]
        sums.append(q * sum(number * q**index for index, number in enumerate(eulerian)))
    return tuple(sums)


# The distribution of a weighted sum of independent noise terms and a normal error (theory 13.8, measured ratios).
#
# `measurements.noise_limit` has rigorous limits for integer weights. Here weights are real numbers, and an interval needs
# dozens of such distributions, so each is computed to about five digits.

# Number of classes of weighted standard deviations, relative to the largest standard deviation. Noises of one scale in the same
# class get one weight that preserves the sum of their variances; noises in class 0 are replaced by a normal error with the sum
# of their variances.
_STEPS = 64

# Period onto which the distribution is folded, in standard deviations. The probability beyond half of the period is below
# e^(-40).
_PERIOD = 60.0

_HIGHEST = 120.0  # Highest frequency at which the characteristic function is used, per standard deviation

_ANGLES = (np.arange(math.ceil(_HIGHEST * _PERIOD / (2 * np.pi))) + 0.5) * (2 * np.pi / _PERIOD)

_ALLOWANCE = 1e-5  # Allowance in a probability for frequencies that are left out and for rounded weights

_EXACT = _PERIOD / 2**41  # Precision of a limit, in standard deviations

_MOST_STEPS = 30  # Largest number of secant steps; about eleven are needed

# Logarithm below which a characteristic function counts as 0; all these terms together change a probability by less than 1e-16.
_LEAST = -45.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Noises:
    """Independent noise terms, from which limits for published sums are computed.

    Attributes
    ----------
    law : (n_noises,) the index of the distribution of each entry.
    count : (n_noises,) how many independent terms each entry adds up; 0 for a value without noise.
    """

    laws: tuple[CountNoise, ...]
    law: np.ndarray
    count: np.ndarray

    @cached_property
    def each(self) -> np.ndarray:
        return np.array([law.variance for law in self.laws])[self.law]

    @cached_property
    def variances(self) -> np.ndarray:
        return np.asarray(self.count * self.each)

    def covariance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the (j, k) covariances between sums with the weights `first` (j, n_noises) and `second` (k, n_noises)."""
        return np.asarray((first * self.variances) @ second.T)


# Number of nodes of the integral over the radius of a shared noise, and the exponent that concentrates nodes at large
# radii.
_RADII, _TAIL = 32, 4

# Factor of a limit that covers the error of the numerical integration. The factor was checked with distributions whose limits
# are known.
_LIMIT_ROUNDED_UP = 1.003

# Number of angles whose characteristic function is computed together; the computation stops when the function is negligible.
_AT_ONCE = 16


@dataclass(frozen=True, kw_only=True)
class SharedNoise:
    """One noise vector that many numbers share at the cost of one. It is treated as continuous because its scale is large
    (theory 9.18, one noise for many numbers).

    The radius k has a gamma distribution with shape `size` + 1. Given k, the entries are independent and uniform between
    -k and k.

    Attributes
    ----------
    scale : sensitivity / epsilon.
    """

    size: int
    scale: float

    @property
    def variance(self) -> float:
        return (self.size + 1) * (self.size + 2) / 3 * self.scale**2

    @property
    def variances(self) -> np.ndarray:
        return np.full(self.size, self.variance)

    def covariance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.asarray(self.variance * first @ second.T)

    @cached_property
    def _radii(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points and probabilities that approximate the distribution of the radius (Gauss-Legendre quadrature)."""
        from scipy.special import gammainccinv  # imported here, because most readers do not need this module

        nodes, weights = np.polynomial.legendre.leggauss(_RADII)
        left = (1 - nodes) / 2
        radii = self.scale * gammainccinv(self.size + 1.0, left**_TAIL)
        return radii, weights / 2 * _TAIL * left ** (_TAIL - 1)

    def half_width(self, weights: np.ndarray, normal_variance: float, confidence: float) -> float:
        sizes = np.sort(np.abs(weights[weights != 0]))[::-1]
        whole = math.sqrt(float(sizes @ sizes) * self.variance + normal_variance)
        if not whole > 0:
            return 0.0
        radii, probabilities = self._radii
        law = np.zeros(len(_ANGLES))
        for start in range(0, len(_ANGLES), _AT_ONCE):
            angles = _ANGLES[start : start + _AT_ONCE]
            of_radii = np.exp(-(angles**2) * (normal_variance / whole**2) / 2)[:, None] * np.ones(len(radii))
            for size in sizes:
                of_radii *= np.sinc(np.multiply.outer(angles, radii * (size / whole / np.pi)))
            law[start : start + _AT_ONCE] = of_radii @ probabilities
            if np.abs(of_radii).max() < _ALLOWANCE / 10:
                break
        left = np.abs(law) > 0
        return _least((law / _ANGLES)[left] * (4 / _PERIOD), _ANGLES[left], confidence + _ALLOWANCE) * whole * _LIMIT_ROUNDED_UP


def half_width(
    noises: Noises | SharedNoise, weights: np.ndarray, normal_variance: float, confidence: float, step: float = 0.0
) -> float:
    """Return half the width of a confidence interval: a t with Pr[|Z| <= t] >= confidence for a weighted sum Z of noise
    terms plus a normal error.

    Z is symmetric, so the probability is (2 / pi) times the integral over u > 0 of sin(u t) phi(u) / u, where phi is the
    known characteristic function (theory 13.5, limits of noise). It is computed for Z + U, which is continuous: U is
    uniform between -w/2 and w/2, and w is the largest weight. Since |Z| <= |Z + U| + w/2, w/2 is added to the limit.

    Parameters
    ----------
    step : the lattice step of a discrete error that is treated as normal. If it exceeds w, half of it is added instead of
        w/2 (continuity correction).
    """
    if isinstance(noises, SharedNoise):
        return noises.half_width(weights, normal_variance, confidence)
    used = (weights != 0) & (noises.count > 0)
    size, law, count = np.abs(weights[used]), noises.law[used], noises.count[used]
    own_variances = size**2 * noises.each[used]
    whole = math.sqrt(float(own_variances @ count) + normal_variance)
    if not whole > 0:
        return 0.0
    largest = max(float(size.max(initial=0.0)), step if normal_variance > 0 else 0.0)
    angles = _ANGLES
    steps = np.rint(np.sqrt(own_variances / own_variances.max(initial=1e-300)) * _STEPS).astype(np.int64)
    lesser = normal_variance + float(own_variances[steps == 0] @ count[steps == 0])
    log_law = -(angles**2) * (lesser / whole**2) / 2
    rough = steps > 0
    kinds, count, size, own_variances = (law * (_STEPS + 1) + steps)[rough], count[rough], size[rough], own_variances[rough]
    counts, squares, shares = (np.bincount(kinds, weights=of) for of in (count, size**2 * count, own_variances * count))
    for kind in np.argsort(-shares, kind="stable")[: np.count_nonzero(counts)]:
        left = log_law > _LEAST  # a characteristic function is at most 1, so negligible values remain negligible
        angles, log_law = angles[left], log_law[left]
        weight = math.sqrt(squares[kind] / counts[kind]) / whole
        log_law += counts[kind] * noises.laws[kind // (_STEPS + 1)].log_characteristic(angles * weight)
    angles, log_law = angles[log_law > _LEAST], log_law[log_law > _LEAST]
    parts = np.exp(log_law) / angles * (4 / _PERIOD)
    if largest > 0:
        halves = angles * (largest / whole / 2)
        parts *= np.sin(halves) / halves
    return _least(parts, angles, confidence + _ALLOWANCE) * whole + largest / 2


def _least(parts: np.ndarray, angles: np.ndarray, probability: float) -> float:
    """Return the smallest t at which the distribution function sum(parts * sin(angles * t)) reaches `probability`, with
    precision `_EXACT`; at most half of its period.
    """
    low, high, at, before, was, steps = 0.0, _PERIOD / 2, 1.5, 0.0, probability, 0
    while high - low > _EXACT:
        missing, steps = probability - float(parts @ np.sin(angles * at)), steps + 1
        low, high = (low, at) if missing <= 0 else (at, high)
        rate = (was - missing) / (at - before)
        further = at + missing / rate + math.copysign(_EXACT / 4, missing) if rate > 0 and steps <= _MOST_STEPS else low
        at, before, was = further if low < further < high else (low + high) / 2, at, missing
    return high
