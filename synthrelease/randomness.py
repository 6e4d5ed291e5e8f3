"""The only source of entropy and of noise.

Privacy rests on integer noise (`discrete_laplace`, `one_noise`, `rounded_gaussian`), private choices (`choose`), and the coin
or the hidden number of rounds of a selection (`hidden_numbers`). All come from the operating system's generator. Public
randomness (drawing configurations, sampling from an already private model, the projection) comes from `generator()`, a fast
generator seeded with 256 bits from there: it must be independent of the data, which it is, but it need not be secret. There is
no seed in a release: it cannot be repeated, which is what the guarantee requires.

Floating point: noise is drawn as exact integers from random bits (`inversion`), in one way for vectors of every length, so the
low bits of a released figure carry nothing about the data (theory 9, noise; Mironov 2012). Private choices and the noise that
numbers share are drawn with exact rational exponents (`exact_choices`, `cube_noise`): each has the very law that is claimed. No
other library draws anything.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction
from operator import index

import numpy as np

from synthrelease import cube_noise
from synthrelease.exact_choices import Losses, exponential, permute_and_flip
from synthrelease.inversion.noise import laplace
from synthrelease.inversion.rounded import Scale
from synthrelease.inversion.rounded import rounded_gaussian as rounded
from synthrelease.noise_grids import NoisyFigure, figure_sd, gaussian_scale, noise_grid, rounded_up

_MAX_STEPS = 2**62


class SystemEntropy:
    """The operating system's generator: where every draw of a release comes from."""

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        """(k,) int64 values plus exact discrete Laplace noise, drawn alike for every k (`inversion.noise.laplace`)."""
        return np.asarray(values, dtype=np.int64) + laplace(Fraction(scale), len(values), secrets.token_bytes)

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        """(k,) int64 values plus continuous Gaussian noise, rounded to whole numbers, exactly."""
        return np.asarray(values, dtype=np.int64) + rounded(Scale.at_least(Fraction(scale)), len(values), secrets.token_bytes)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        """(k,) int64 values plus one exact noise z for all of them, Pr[z] proportional to exp(-rate max|z_i|)."""
        return np.asarray(values, dtype=np.int64) + cube_noise.drawn(len(values), rate, self)

    def chosen(self, losses: Losses, mechanism: str) -> int:
        """The index of a candidate by its loss, exactly."""
        return {"permute_and_flip": permute_and_flip, "exponential": exponential}[mechanism](losses, self)

    def pick(self, n_choices: int) -> int:
        """A uniform integer below n_choices, however large that is."""
        return secrets.randbelow(n_choices)

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        """(k,) int64, independent and uniform, each below its bound; bounds (k,) int64, at least 1.

        Exact: a 64-bit word from the largest multiple of the bound on is drawn again. Nothing that was drawn is kept for
        later, because a fork would copy it.
        """
        limits = np.asarray(bounds, dtype=np.uint64)
        drawn, left = np.empty(len(limits), dtype=np.int64), np.arange(len(limits))
        while len(left):
            words, limit = np.frombuffer(secrets.token_bytes(8 * len(left)), dtype=np.uint64), limits[left]
            beyond = (~limit + np.uint64(1)) % limit  # 2^64 modulo the bound
            kept = words <= ~beyond
            drawn[left[kept]] = (words[kept] % limit[kept]).astype(np.int64)
            left = left[~kept]
        return drawn

    def generator(self) -> np.random.Generator:
        """A generator for public randomness, seeded by the operating system."""
        return np.random.Generator(np.random.PCG64DXSM(secrets.randbits(256)))


SYSTEM = SystemEntropy()


def discrete_laplace(values: np.ndarray, *, sensitivity: int, epsilon: Fraction, entropy: SystemEntropy = SYSTEM) -> np.ndarray:
    """Add independent discrete Laplace noise to a vector of integers.

    Parameters
    ----------
    values : (k,) integers.
    sensitivity : largest l1 distance between the vectors of two neighbours, an integer of at least 1.
    epsilon : exact, > 0.

    Returns
    -------
    (k,) int64: values + noise, Pr[noise = z] proportional to exp(-|z| epsilon / sensitivity).

    Privacy
    -------
    epsilon-DP for neighbours whose vectors differ by at most `sensitivity` in l1 norm: the density ratio of two shifted
    discrete Laplace vectors is at most exp(|shift|_1 / scale) (Ghosh, Roughgarden & Sundararajan 2009). The scale is rounded
    up, so the claim holds for the one that is used. The law is exact.
    """
    if sensitivity < 1 or epsilon <= 0:
        raise ValueError("discrete Laplace noise needs sensitivity >= 1 and epsilon > 0")
    scale = rounded_up(Fraction(sensitivity) / epsilon)
    _check_room(values, scale)
    return entropy.add_laplace(values, scale)


def one_noise(values: np.ndarray, *, sensitivity: int, epsilon: Fraction, entropy: SystemEntropy = SYSTEM) -> np.ndarray:
    """Add one noise to a vector of integers that is fixed before any of them is released.

    Parameters
    ----------
    values : (k,) integers.
    sensitivity : largest change of any of them between neighbours, an integer of at least 1.
    epsilon : exact, > 0: of all of them together.

    Returns
    -------
    (k,) int64: values + z, Pr[z] proportional to exp(-max|z_i| epsilon / sensitivity). The entries of z are not independent;
    `measurements.cube_law` has the law of each.

    Privacy
    -------
    epsilon-DP for neighbours none of whose entries differ by more than `sensitivity`: |max|z_i - d_i| - max|z_i|| <= max|d_i|
    (theory 9.18, one noise for many numbers; Hardt & Talwar 2010). The law is exact.
    """
    if sensitivity < 1 or epsilon <= 0:
        raise ValueError("a noise for many numbers needs sensitivity >= 1 and epsilon > 0")
    _check_room(values, len(values) * float(sensitivity / epsilon))
    return entropy.add_cube(values, epsilon / sensitivity)


def rounded_gaussian(
    values: np.ndarray, *, squared_sensitivity: int, rho: Fraction, entropy: SystemEntropy = SYSTEM
) -> np.ndarray:
    """Add independent Gaussian noise to a vector of integers, rounded to integers.

    Parameters
    ----------
    values : (k,) integers.
    squared_sensitivity : largest squared l2 distance between the vectors of two neighbours, an integer of at least 1.
    rho : exact, > 0.

    Returns
    -------
    (k,) int64: the integers next to values + N(0, variance), variance = squared_sensitivity / (2 rho), the square of
    `gaussian_scale`.

    Privacy
    -------
    mu-Gaussian, mu^2 = 2 rho, and so rho-zero-concentrated: the noise is continuous, and rounding its sum with the values is
    post-processing (theory 9.13, rounded Gaussian noise; Dong, Roth & Su 2022). The scale is rounded up, so the
    claim holds for the scale that is used. The law is exact.
    """
    if squared_sensitivity < 1 or rho <= 0:
        raise ValueError("Gaussian noise needs squared_sensitivity >= 1 and rho > 0")
    scale = gaussian_scale(Fraction(squared_sensitivity) / (2 * rho))
    _check_room(values, scale)
    return entropy.add_gaussian(values, scale)


def laplace_figure(
    value: float, *, sensitivity: float, epsilon: Fraction, rows: int = 1, entropy: SystemEntropy = SYSTEM
) -> NoisyFigure:
    """Release one real figure through integer noise on a fixed grid.

    Parameters
    ----------
    value : the exact figure, up to rounding errors of at most a quarter of a grid step (sums behind it are exact integers
        or correctly rounded sums of numbers that are each a function of one record's cell alone; the docstring of each figure
        says why its error is so small).
    sensitivity : largest change of the exact figure between neighbours, > 0; public.
    epsilon : exact, > 0.
    rows : the public number of rows behind the figure, on which its grid depends (`noise_grid`).

    Privacy
    -------
    epsilon-DP. The grid step g is the largest power of two not above sensitivity / 2**12, a public number; of more than 2^35
    rows a coarser one, so that an error of 8 n 2^-53 sensitivities stays within a quarter of a step up to 2^40 rows. Values of
    neighbours that differ by at most `sensitivity` plus computation error below g/2, a quarter of a step in each, round to grid
    points at most ceil(sensitivity / g + 1/2) + 1 steps apart; that number is the integer sensitivity of the noise, so the
    rounding is paid for (at most 0.1% more noise, 2.4% at 2^40 rows). Dividing by g is exact, and a value of more than 2^48
    steps, whose last bit is no longer far below a step, is refused.
    """
    if not (math.isfinite(value) and math.isfinite(sensitivity) and sensitivity > 0):
        raise ValueError("a figure and its sensitivity must be finite, and the sensitivity above 0")
    step, steps = grid = noise_grid(sensitivity, rows)
    if abs(value / step) > 2.0**48:
        raise ValueError("the figure is too large for its sensitivity")
    noisy = discrete_laplace(np.array([round(value / step)]), sensitivity=steps, epsilon=epsilon, entropy=entropy)
    return NoisyFigure(value=float(noisy[0]) * step, noise_sd=figure_sd(grid, epsilon))


def choose(
    scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, mechanism: str, entropy: SystemEntropy = SYSTEM
) -> int:
    """Privately choose the index of a high integer score.

    Parameters
    ----------
    mechanism : "permute_and_flip" (McKenna & Sheldon 2020; never a lower expected score) or "exponential"
        (McSherry & Talwar 2007).

    Privacy
    -------
    epsilon-DP when each score changes by at most `sensitivity` between neighbours: both mechanisms take a proposed candidate
    with probability exp(-epsilon (best score - score) / (2 sensitivity)), exactly (`exact_choices`).
    """
    if sensitivity < 1 or epsilon <= 0 or not len(scores):
        raise ValueError("a private choice needs a candidate, sensitivity >= 1 and epsilon > 0")
    best = max(scores)
    losses = Losses([index(best - score) for score in scores], epsilon / (2 * sensitivity))
    return entropy.chosen(losses, mechanism)


def secret_bytes(number: int) -> bytes:
    """So many bytes from the operating system, for a key that is kept. No noise may come from a key: it could be made again."""
    return secrets.token_bytes(number)


def _check_room(values: np.ndarray, scale: float) -> None:
    """Refuse what noise could move beyond 64 bits, the lowest integer among it: floats without a value become that one."""
    highest, lowest = int(values.max(initial=0)), int(values.min(initial=0))
    if not (scale <= 2.0**55 and lowest >= -_MAX_STEPS and highest <= _MAX_STEPS):
        raise ValueError("the noise scale or the values are too large for exact 64-bit noise")
