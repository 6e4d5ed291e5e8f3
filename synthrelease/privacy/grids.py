"""Compute the grid on which a statistic is released, and the standard deviation and tails of its noise.

This module draws no noise and receives no private value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class NoisyFigure:
    """A released statistic: the noisy value, and the standard deviation of its noise in the same units."""

    value: float
    noise_sd: float


class NoiseGrid(NamedTuple):
    """The public grid on which a statistic is released: the distance between grid points, and the sensitivity of the statistic
    in such steps."""

    step: float
    steps: int


MOST_ROWS = 2**40
"""Largest number of rows of a table. Up to this number, the proof covers the exactness of counts, of weighted sums of counts
with weights up to 2^20, and of grids (theory 9.2, figure on a grid).
"""


def grid_bits(rows: int) -> int:
    """Return how fine the grid of a statistic is: a step is about sensitivity / 2^bits (theory 9.2, figure on a grid). The
    result is 12 up to 2^35 rows, and decreases to 7 at 2^40 rows.

    Raises
    ------
    ValueError : if there are more than `MOST_ROWS` rows.
    """
    if rows > MOST_ROWS:
        raise ValueError("there are too many rows for exact floating-point numbers")
    return 12 - max(0, (rows - 1).bit_length() - 35)


@lru_cache
def noise_grid(sensitivity: float, rows: int = 1) -> NoiseGrid:
    """Return the public grid of a statistic with this sensitivity (finite, > 0), computed from a table of this many rows."""
    step = 2.0 ** (math.floor(math.log2(sensitivity)) - grid_bits(rows))
    if step < 2.0**-1000:
        raise ValueError("the sensitivity is too small for floating-point numbers")
    steps = math.ceil(Fraction(sensitivity) / Fraction(step) + Fraction(1, 2)) + 1
    return NoiseGrid(step, steps)


def shared_grid(sensitivity: float, rows: int = 1) -> NoiseGrid:
    """Return the public grid for a statistic that shares one noise vector with other statistics.

    One record changes each such statistic by at most `shared_steps` steps. A step is sensitivity / 2^bits, exact as a float but
    not always a power of two, so values are divided by it as fractions. The step is never below that of `noise_grid` (theory
    4.4, figures that share a noise).
    """
    step = math.ldexp(sensitivity, -grid_bits(rows))
    if step < 2.0**-1000:
        raise ValueError("the sensitivity is too small for floating-point numbers")
    return NoiseGrid(step, shared_steps(rows))


def shared_steps(rows: int = 1) -> int:
    """Return by how many grid steps one record changes at most each statistic that shares one noise vector with others."""
    return 2 ** grid_bits(rows) + 2


def grid_point(value: float, step: float) -> int:
    """Return the nearest grid point of a released value, in steps."""
    return round(Fraction(value) / Fraction(step))


@lru_cache
def figure_sd(grid: NoiseGrid, epsilon: Fraction) -> float:
    """Return the standard deviation of the noise that `laplace_figure` adds on this grid, in the units of the statistic."""
    return grid.step * laplace_sd(Fraction(grid.steps) / epsilon)


def laplace_sd(scale: Fraction) -> float:
    """Return the standard deviation of discrete Laplace noise of this scale: with a = exp(-1/scale), sqrt(2a) / (1 - a)."""
    decay = math.exp(-1 / float(scale))
    return math.sqrt(2 * decay) / (1 - decay)


def gaussian_scale(variance: Fraction) -> float:
    """Return the standard deviation of Gaussian noise with this variance, rounded up.

    With variance squared sensitivity / (2 rho), the guarantee is sqrt(2 rho)-Gaussian.
    """
    scale = math.sqrt(float(variance))
    while Fraction(scale) ** 2 < variance:
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_tail(*, sensitivity: float, epsilon: Fraction, probability: Fraction) -> float:
    """Return a limit that the signed error of a statistic released by `laplace_figure` exceeds with at most this probability.

    The limit is in the units of the statistic, on the grid of a table with one row. The quantile is exact for the discrete
    distribution: Pr[noise >= k steps] = a^k / (1 + a) with a = exp(-1/scale). One step is added for the rounding to the grid.

    Raises
    ------
    ValueError : if the probability is not between 0 and 1/2.
    """
    if not 0 < probability < Fraction(1, 2):
        raise ValueError("a tail probability must lie above 0 and below 1/2")
    step, steps = noise_grid(sensitivity)
    decay = 1 / rounded_up(Fraction(steps) / epsilon)
    k = math.ceil(-math.log(float(probability) * (1 + math.exp(-decay))) / decay)
    return (k + 1) * step


def rounded_up(value: Fraction) -> float:
    """Return the smallest float that is not below a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
