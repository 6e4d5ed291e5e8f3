"""What is public about the noise of a figure: the grid on which it is released, how wide its noise is and how far it reaches.

Nothing is drawn here, and no private value is handed over. `privacy.noise` draws noise on these grids; readers of a release
compute with them, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class NoisyFigure:
    """A released figure: its noisy value and the standard deviation of the noise, both in the figure's units."""

    value: float
    noise_sd: float


class NoiseGrid(NamedTuple):
    """The public grid of a figure: its step, and the integer sensitivity of the figure in steps (`laplace_figure`)."""

    step: float
    steps: int


MOST_ROWS = 2**40
"""Of a table: counts, their sums over weights of 2^20 and grids are proved exact enough for so many (theory 9.2, figure on a
grid)."""


def grid_bits(rows: int) -> int:
    """Return how fine a grid is, 12 up to 2^35 rows and 7 at 2^40: a step is at most the sensitivity / 2^bits, and above half
    of that.

    A figure of n rows ranges over at most n sensitivities, so that these are at most 2^48 steps, and the rounding of doubles
    moves it by some n 2^-53 of them.

    Raises
    ------
    ValueError : for more than `MOST_ROWS` rows.
    """
    if rows > MOST_ROWS:
        raise ValueError("there are too many rows for figures in floating point")
    return 12 - max(0, (rows - 1).bit_length() - 35)


@lru_cache
def noise_grid(sensitivity: float, rows: int = 1) -> NoiseGrid:
    """Return the grid on which a figure of this sensitivity (finite, > 0), of a table of `rows` rows, is released: a public
    one.
    """
    step = 2.0 ** (math.floor(math.log2(sensitivity)) - grid_bits(rows))
    if step < 2.0**-1000:
        raise ValueError("the sensitivity is too small for floating-point figures")
    steps = math.ceil(Fraction(sensitivity) / Fraction(step) + Fraction(1, 2)) + 1
    return NoiseGrid(step, steps)


def shared_grid(sensitivity: float, rows: int = 1) -> NoiseGrid:
    """Return the grid of a figure that shares its noise with others. All such figures have equally many steps, so that one
    record moves none by more.

    The step is the sensitivity / 2^bits: a float, for the bits are taken off its exponent, but no power of two, so that figures
    are put on it in fractions. It is never below the step of `noise_grid` (theory 4.4, figures that share a noise).
    """
    step = math.ldexp(sensitivity, -grid_bits(rows))
    if step < 2.0**-1000:
        raise ValueError("the sensitivity is too small for floating-point figures")
    return NoiseGrid(step, shared_steps(rows))


def shared_steps(rows: int = 1) -> int:
    """Return the integer sensitivity, in steps, of every figure that shares its noise with others."""
    return 2 ** grid_bits(rows) + 2


def grid_point(value: float, step: float) -> int:
    """Return the point of a grid, in steps, that a released figure is, or is nearest to; exact whatever the step."""
    return round(Fraction(value) / Fraction(step))


@lru_cache
def figure_sd(grid: NoiseGrid, epsilon: Fraction) -> float:
    """Return the standard deviation of the noise of `laplace_figure` on a grid, in the figure's units."""
    return grid.step * laplace_sd(Fraction(grid.steps) / epsilon)


def laplace_sd(scale: Fraction) -> float:
    """Return the standard deviation of discrete Laplace noise of this scale: with a = exp(-1/scale), sqrt(2a) / (1 - a)."""
    decay = math.exp(-1 / float(scale))
    return math.sqrt(2 * decay) / (1 - decay)


def gaussian_scale(variance: Fraction) -> float:
    """Return the square root of a variance, rounded up: the noise is sqrt(2 rho)-Gaussian where this is the squared sensitivity
    over 2 rho.
    """
    scale = math.sqrt(float(variance))
    while Fraction(scale) ** 2 < variance:
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_tail(*, sensitivity: float, epsilon: Fraction, probability: Fraction) -> float:
    """Return how far the noise of `laplace_figure` lies above 0 with at most this probability, in the figure's units.

    Exact for the discrete law: Pr[noise >= k steps] = a^k / (1 + a) with a = exp(-1/scale); one
    step is on top, because the rounding of the figure to the grid may move it by half a step.

    Raises
    ------
    ValueError : unless 0 < probability < 1/2.
    """
    if not 0 < probability < Fraction(1, 2):
        raise ValueError("a tail probability must lie above 0 and below 1/2")
    step, steps = noise_grid(sensitivity)
    decay = 1 / rounded_up(Fraction(steps) / epsilon)
    k = math.ceil(-math.log(float(probability) * (1 + math.exp(-decay))) / decay)
    return (k + 1) * step


def rounded_up(value: Fraction) -> float:
    """Return the least float that is not below a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
