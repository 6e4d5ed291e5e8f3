"""The law of a weighted sum of independent noises and of a normal error (theory 13.8, measured ratios).

`limits` has limits for whole weights, which hold without exception. Here weights are any numbers, dozens of them
for every interval, so the law is computed to about five digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthrelease.measurements.noise import CountNoise

_STEPS = 64
"""Noises of one scale whose weighted standard deviations round to the same part of the largest are given one weight; their
summed variance is kept. Those that round to 0 count together as a normal error of their summed variance."""

_PERIOD = 60.0
"""Standard deviations: the law is folded onto such a stretch. Beyond half of it lies less than e^(-40)."""

_HIGHEST = 120.0
"""Highest frequency, per standard deviation, at which the characteristic function is used."""

_ANGLES = (np.arange(math.ceil(_HIGHEST * _PERIOD / (2 * np.pi))) + 0.5) * (2 * np.pi / _PERIOD)

_ALLOWANCE = 1e-5
"""Of a probability, for frequencies that are left out and weights that are rounded."""

_EXACT = _PERIOD / 2**41
"""Standard deviations: how exactly a limit is found."""

_MOST_STEPS = 30
"""Of secants: about eleven are needed."""

_LEAST = -45.0
"""Logarithm below which a characteristic function counts as 0: all its terms together are less than 1e-16 of a probability."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Noises:
    """Independent noises, in one row: those of all published cells, and that of the number of kept rows.

    Attributes
    ----------
    laws : those that occur.
    law : (n_noises,) which of them each has.
    count : (n_noises,) how many independent noises of that law are in it; 0 where it is known that there is none.
    """

    laws: tuple[CountNoise, ...]
    law: np.ndarray
    count: np.ndarray

    @cached_property
    def each(self) -> np.ndarray:
        """(n_noises,) the variance of one of them."""
        return np.array([one.variance for one in self.laws])[self.law]

    @cached_property
    def variances(self) -> np.ndarray:
        """(n_noises,)."""
        return np.asarray(self.count * self.each)

    def covariance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(j, k) covariances of sums with weights (j, n_noises) and (k, n_noises)."""
        return np.asarray((first * self.variances) @ second.T)


def half_width(noises: Noises, weights: np.ndarray, normal_variance: float, confidence: float, step: float = 0.0) -> float:
    """A t with Pr[|Z| <= t] >= confidence, Z = sum of weights * noises + a normal error.

    The probability is (2 / pi) times the integral over u > 0 of sin(u t) phi(u) / u, phi the characteristic function, which is
    known (theory 13.5, limits of noise), because the law is symmetric. It is computed for Z + U, U uniform within half of the
    largest weight w, so that the law has no steps; |Z| <= |Z + U| + w/2, so w/2 is added to the limit.

    Parameters
    ----------
    weights : (n_noises,) of the noises.
    normal_variance : of an independent normal error with mean 0.
    step : of the lattice of what is taken as normal; half of it is added in the same way where it is larger (continuity
        correction).
    """
    used = (weights != 0) & (noises.count > 0)
    size, law, count = np.abs(weights[used]), noises.law[used], noises.count[used]
    each = size**2 * noises.each[used]
    whole = math.sqrt(float(each @ count) + normal_variance)
    if not whole > 0:
        return 0.0
    largest = max(float(size.max(initial=0.0)), step if normal_variance > 0 else 0.0)
    angles = _ANGLES
    steps = np.rint(np.sqrt(each / each.max(initial=1e-300)) * _STEPS).astype(np.int64)
    lesser = normal_variance + float(each[steps == 0] @ count[steps == 0])
    log_law = -(angles**2) * (lesser / whole**2) / 2
    rough = steps > 0
    kinds, count, size, each = (law * (_STEPS + 1) + steps)[rough], count[rough], size[rough], each[rough]
    counts, squares, shares = (np.bincount(kinds, weights=of) for of in (count, size**2 * count, each * count))
    for kind in np.argsort(-shares, kind="stable")[: np.count_nonzero(counts)]:
        left = log_law > _LEAST  # a characteristic function is at most 1: what counts as 0 stays so
        angles, log_law = angles[left], log_law[left]
        weight = math.sqrt(squares[kind] / counts[kind]) / whole
        log_law += counts[kind] * noises.laws[kind // (_STEPS + 1)].log_characteristic(angles * weight)
    angles, log_law = angles[log_law > _LEAST], log_law[log_law > _LEAST]
    parts = np.exp(log_law) / angles * (4 / _PERIOD)
    if largest > 0:
        halves = angles * (largest / whole / 2)
        parts *= np.sin(halves) / halves
    return _least(parts, angles, confidence + _ALLOWANCE) * whole + largest / 2


def _least(parts: np.ndarray, angles: np.ndarray, wanted: float) -> float:
    """The t up to half of the period, to `_EXACT`, from which on the sum of parts * sin(angles * t) is at least `wanted`.

    The sum is a distribution function, and rises: secants through the last two values, each a little beyond where they meet
    `wanted`, so that both sides close in. Where one leads nowhere, the stretch that is left is halved.
    """
    low, high, at, before, was, steps = 0.0, _PERIOD / 2, 1.5, 0.0, wanted, 0
    while high - low > _EXACT:
        missing, steps = wanted - float(parts @ np.sin(angles * at)), steps + 1
        low, high = (low, at) if missing <= 0 else (at, high)
        rate = (was - missing) / (at - before)
        further = at + missing / rate + math.copysign(_EXACT / 4, missing) if rate > 0 and steps <= _MOST_STEPS else low
        at, before, was = further if low < further < high else (low + high) / 2, at, missing
    return high
