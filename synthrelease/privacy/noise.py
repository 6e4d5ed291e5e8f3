"""Draw all privacy noise, private choices and public randomness. This module is the only source of entropy.

Privacy rests on integer noise (`discrete_laplace`, `one_noise`, `rounded_gaussian`), private choices (`choose`), and the coin
or the hidden number of rounds of a selection (`hidden_numbers`). They use the operating system's generator. Public randomness
(to draw configurations, to sample from a fitted private model, and in projections) comes from `generator()`, a fast generator
seeded with 256 bits from the operating system; it must be independent of the data, but need not be secret. A release has no
seed, so nobody can reproduce its noise. The guarantee requires this.

Noise is drawn as exact integers from random bits (`privacy.samplers`), by the same method for vectors of every length. So the
low-order bits of a released number reveal nothing about the data; with floating-point noise they can (theory 9, noise; Mironov
2012). Private choices and noise vectors have exact rational exponents. The docstring of each mechanism states its guarantee.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction
from operator import index

import numpy as np

from synthrelease.privacy.grids import NoisyFigure, figure_sd, gaussian_scale, noise_grid, rounded_up
from synthrelease.privacy.samplers import Scale, laplace, normals

# Private choices are drawn exactly: each probability is the stated rational expression, without rounding.
#
# A candidate has weight exp(-loss * rate), with an integer loss (how far its score lies below the best score) and a rational
# rate. The exponent is a fraction, and a coin that shows heads with probability exp(-p/q) can be drawn from uniform integers
# alone (Canonne, Kamath & Steinke 2020, Algorithm 1). So no candidate has probability 0, and no probability has a rounding
# error.
#
# A candidate with a large loss costs about two draws: exp(-x) is decided by floor(x) coins of probability exp(-1), and the
# first tails ends the sequence. These coins are drawn for many candidates at once. The running time of a choice depends on the
# scores; running times are not published.

# Number of candidates that are processed together: the first and the largest number; it doubles from batch to batch. The
# distribution of the result does not depend on this number.
_FIRST_BATCH, _LARGEST_BATCH = 16, 2**14

_FACTORIAL = math.factorial(20)  # 20!, the largest factorial that fits into 63 bits

# The numbers 20!/k! in increasing order. A uniform integer below 20! is below 20!/k! with probability exactly 1/k!.
_THRESHOLDS = np.array([_FACTORIAL // math.factorial(k) for k in range(20, 0, -1)], dtype=np.int64)

_MOST = 2**62


class Losses:
    """The candidates of a private choice, each with an integer loss of at least 0 and weight exp(-loss * rate). At least one
    loss is 0.

    Attributes
    ----------
    whole : (n_candidates,) floor(loss * rate), at most 2^62 (no sequence of coins shows heads this often).
    """

    def __init__(self, losses: Sequence[int], rate: Fraction):
        self.losses, self.rate = losses, rate
        above, below = rate.numerator, rate.denominator
        if max(losses) * above < _MOST and below < _MOST:
            self.whole = np.asarray(losses, dtype=np.int64) * above // below
        else:
            self.whole = np.array([min(loss * above // below, _MOST) for loss in losses], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.losses)

    def first_taken(self, proposed: np.ndarray, entropy: SystemEntropy) -> int | None:
        """Accept each proposed candidate independently with probability exp(-loss * rate), and return the first accepted one,
        or None."""
        for candidate in proposed[all_heads(self.whole[proposed], entropy)].tolist():
            rest = self.losses[candidate] * self.rate.numerator % self.rate.denominator
            if heads(rest, self.rate.denominator, entropy):
                return int(candidate)
        return None


def exponential(losses: Losses, entropy: SystemEntropy) -> int:
    """Draw a candidate with probability proportional to exp(-loss * rate): draw uniformly until one is accepted."""
    size = _FIRST_BATCH
    while True:
        taken = losses.first_taken(entropy.picks(np.full(size, len(losses))), entropy)
        if taken is not None:
            return taken
        size = min(2 * size, _LARGEST_BATCH)


def permute_and_flip(losses: Losses, entropy: SystemEntropy) -> int:
    """Return the first accepted candidate in a uniformly random order. The shuffle (Fisher-Yates) stops there."""
    order, start, size = list(range(len(losses))), 0, _FIRST_BATCH
    while True:
        stop = min(start + size, len(order))
        jumps = entropy.picks(np.arange(len(order) - start, len(order) - stop, -1))
        for position, jump in zip(range(start, stop), jumps.tolist(), strict=True):
            order[position], order[position + jump] = order[position + jump], order[position]
        taken = losses.first_taken(np.array(order[start:stop]), entropy)
        if taken is not None:
            return taken
        if stop == len(order):
            raise ValueError("expected a candidate with loss 0, which is always accepted; no candidate has loss 0")
        start, size = stop, min(2 * size, _LARGEST_BATCH)


def heads(above: int, below: int, entropy: SystemEntropy) -> bool:
    """Toss a coin that is True with probability exactly exp(-above / below), for 0 <= above <= below (Canonne, Kamath & Steinke
    2020, Algorithm 1, first case).

    Let x = above / below. Coins of probability x, x/2, x/3, ... are tossed until one shows tails. Pr[the first k coins show
    heads] = x^k / k!, so the number of tosses is odd with probability 1 - x + x^2/2 - x^3/6 + ... = exp(-x).
    """
    tossed = 1
    while entropy.pick(below * tossed) < above:
        tossed += 1
    return tossed % 2 == 1


def all_heads(times: np.ndarray, entropy: SystemEntropy) -> np.ndarray:
    """Return (k,) independent booleans, True with probability exactly exp(-times): `times` coins of probability exp(-1) all
    show heads."""
    result = np.ones(len(times), dtype=bool)
    left, tossed = np.flatnonzero(times > 0), 0
    while len(left):
        tossed += 1
        up = heads_of_one(len(left), entropy)
        result[left[~up]] = False
        left = left[up & (times[left] > tossed)]
    return result


def heads_of_one(size: int, entropy: SystemEntropy) -> np.ndarray:
    """Return (size,) independent booleans, each True with probability exactly exp(-1).

    This is `heads(1, 1)`: a uniform integer below 20! decides the coins of probability 1, 1/2, ..., 1/20 at once, because it is
    below 20!/k! with probability 1/k!. Further coins are tossed only when the integer is 0.
    """
    uniform = entropy.picks(np.full(size, _FACTORIAL))
    tossed = 21 - np.searchsorted(_THRESHOLDS, uniform, side="right")
    for position in np.flatnonzero(uniform == 0):
        while entropy.pick(int(tossed[position])) == 0:
            tossed[position] += 1
    return tossed % 2 == 1


# One noise for many numbers is a vector of integers whose probability decreases with its largest absolute entry, drawn exactly.
#
# The entries are not independent: all lie within one random radius. Suppose that m numbers each change by at most D if a record
# is replaced. Then this noise costs as much as the noise of a single number, and its standard deviation is about sqrt((m + 1)(m
# + 2) / 3) D / epsilon. Sharing epsilon among the numbers gives sqrt(2) m D / epsilon instead (theory 9.18, one noise for many
# numbers).


def drawn(size: int, rate: Fraction, entropy: SystemEntropy) -> np.ndarray:
    """Draw one noise vector z of `size` >= 1 integers (int64), with Pr[z] exactly proportional to exp(-rate max|z_i|), rate >
    0.

    A radius k is drawn first, then z uniformly from {-k, ..., k}^size.
    """
    k = radius(size, rate, entropy)
    return entropy.picks(np.full(size, 2 * k + 1, dtype=np.int64)) - k


def radius(size: int, rate: Fraction, entropy: SystemEntropy) -> int:
    """Draw an integer k >= 0 with Pr[k] exactly proportional to (2k + 1)^size exp(-rate k).

    The proposal is the sum of size + 1 geometric numbers, with probability proportional to C(k + size, size) exp(-rate k). It
    is accepted with probability (2k + 1)^size / ((2k + 2) (2k + 4) ... (2k + 2 size)), a fraction of at most 1.
    """
    while True:
        k = sum(geometric(rate, entropy) for _ in range(size + 1))
        if entropy.pick(math.prod(2 * k + 2 * j for j in range(1, size + 1))) < (2 * k + 1) ** size:
            return k


def geometric(rate: Fraction, entropy: SystemEntropy) -> int:
    """Draw an integer g >= 0 with Pr[g] exactly proportional to exp(-rate g) (Canonne, Kamath & Steinke 2020, Algorithm 2).

    Let rate = a / b. The integer x = u + b v has Pr[x] proportional to exp(-x / b), where u is uniform below b and accepted
    with probability exp(-u / b), and v is the number of coins of probability exp(-1) that show heads before the first tails.
    Then g = floor(x / a).
    """
    above, below = rate.numerator, rate.denominator
    while True:
        rest = entropy.pick(below)
        if heads(rest, below, entropy):
            break
    whole = 0
    while heads(1, 1, entropy):
        whole += 1
    return (rest + below * whole) // above


_MAX_STEPS = 2**62


class SystemEntropy:
    """The source of every draw of a release: the random number generator of the operating system."""

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Return (k,) int64 values, each with independent, exact discrete Laplace noise."""
        return np.asarray(values, dtype=np.int64) + laplace(Fraction(scale), len(values), secrets.token_bytes)

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Return (k,) int64 values plus continuous Gaussian noise, rounded to whole numbers; the distribution is exact."""
        return np.asarray(values, dtype=np.int64) + normals(Scale.at_least(Fraction(scale)), len(values), secrets.token_bytes)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        """Return (k,) int64 values plus one noise vector z, drawn exactly with Pr[z] proportional to exp(-rate max|z_i|)."""
        return np.asarray(values, dtype=np.int64) + drawn(len(values), rate, self)

    def chosen(self, losses: Losses, mechanism: str) -> int:
        """Draw the index of a candidate of small loss, privately and exactly, by "permute_and_flip" or "exponential"."""
        return {"permute_and_flip": permute_and_flip, "exponential": exponential}[mechanism](losses, self)

    def pick(self, n_choices: int) -> int:
        """Return a uniform integer from 0 to n_choices - 1, of any size."""
        return secrets.randbelow(n_choices)

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        """Return (k,) independent, uniform int64 numbers, each from 0 to its bound minus 1. Bounds are (k,) int64, at least 1.

        The distribution is exact: a 64-bit word at or above the largest multiple of the bound is drawn again. No random bits
        are stored for later use, because a fork of the process would copy them.
        """
        limits = np.asarray(bounds, dtype=np.uint64)
        numbers, left = np.empty(len(limits), dtype=np.int64), np.arange(len(limits))
        while len(left):
            words, limit = np.frombuffer(secrets.token_bytes(8 * len(left)), dtype=np.uint64), limits[left]
            beyond = (~limit + np.uint64(1)) % limit  # 2^64 modulo the bound
            usable = words <= ~beyond
            numbers[left[usable]] = (words[usable] % limit[usable]).astype(np.int64)
            left = left[~usable]
        return numbers

    def generator(self) -> np.random.Generator:
        """Return a generator for public randomness, seeded by the operating system."""
        return np.random.Generator(np.random.PCG64DXSM(secrets.randbits(256)))


SYSTEM = SystemEntropy()


def discrete_laplace(values: np.ndarray, *, sensitivity: int, epsilon: Fraction, entropy: SystemEntropy = SYSTEM) -> np.ndarray:
    """Add independent discrete Laplace noise to a vector of integers.

    Parameters
    ----------
    values : the (k,) integers to which noise is added.
    sensitivity : largest l1 distance between the vectors of two neighbours, an integer of at least 1.
    epsilon : the privacy cost, an exact number above 0.

    Returns
    -------
    (k,) int64: values + noise, Pr[noise = z] proportional to exp(-|z| epsilon / sensitivity).

    Privacy
    -------
    epsilon-DP for neighbours whose vectors differ by at most `sensitivity` in l1 norm: the density ratio of two shifted
    discrete Laplace vectors is at most exp(|shift|_1 / scale) (Ghosh, Roughgarden & Sundararajan 2009). The scale is rounded
    up, so the claim holds for the scale that is used. The noise has exactly this distribution.
    """
    if sensitivity < 1 or epsilon <= 0:
        raise ValueError("discrete Laplace noise needs sensitivity >= 1 and epsilon > 0")
    scale = rounded_up(Fraction(sensitivity) / epsilon)
    _check_room(values, scale)
    return entropy.add_laplace(values, scale)


def one_noise(values: np.ndarray, *, sensitivity: int, epsilon: Fraction, entropy: SystemEntropy = SYSTEM) -> np.ndarray:
    """Add one noise vector to a list of integers, so that they together cost one epsilon. All integers must be fixed before any
    is released.

    Parameters
    ----------
    values : the (k,) integers to which noise is added.
    sensitivity : largest change of any of the integers between neighbours, an integer of at least 1.
    epsilon : the privacy cost of all integers together, an exact number above 0.

    Returns
    -------
    (k,) int64: values + z, Pr[z] proportional to exp(-max|z_i| epsilon / sensitivity). The entries of z are not independent;
    `generators.measured_noise` has the distribution of each entry.

    Privacy
    -------
    epsilon-DP for neighbours whose entries each differ by at most `sensitivity`, because |max|z_i - d_i| - max|z_i|| <=
    max|d_i| (theory 9.18, one noise for many numbers; Hardt & Talwar 2010). The noise has exactly this distribution.
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
    values : the (k,) integers to which noise is added.
    squared_sensitivity : largest squared l2 distance between the vectors of two neighbours, an integer of at least 1.
    rho : the privacy cost, an exact number above 0.

    Returns
    -------
    (k,) int64: the integers nearest to values + N(0, variance), variance = squared_sensitivity / (2 rho), the square of
    `gaussian_scale`.

    Privacy
    -------
    mu-Gaussian, mu^2 = 2 rho, and so rho-zero-concentrated: the noise is continuous, and rounding its sum with the values is
    post-processing (theory 9.13, rounded Gaussian noise; Dong, Roth & Su 2022). The scale is rounded up, so the
    claim holds for the scale that is used. The noise has exactly this distribution.
    """
    if squared_sensitivity < 1 or rho <= 0:
        raise ValueError("Gaussian noise needs squared_sensitivity >= 1 and rho > 0")
    scale = gaussian_scale(Fraction(squared_sensitivity) / (2 * rho))
    _check_room(values, scale)
    return entropy.add_gaussian(values, scale)


def laplace_figure(
    value: float, *, sensitivity: float, epsilon: Fraction, rows: int = 1, entropy: SystemEntropy = SYSTEM
) -> NoisyFigure:
    """Release a statistic, such as a mean, with discrete Laplace noise, on a public grid, so that floating-point errors reveal
    nothing.

    Parameters
    ----------
    value : the exact number, up to rounding errors of at most a quarter of a grid step. It is computed from exact integers, or
        from correctly rounded sums of numbers that are each a function of one record's cell alone.
    sensitivity : largest change of the exact number between neighbours, > 0; public.
    epsilon : the privacy cost, an exact number above 0.
    rows : the public number of rows from which the number is computed, which determines the grid (`noise_grid`).

    Privacy
    -------
    epsilon-DP (theory 9.2, figure on a grid). The grid step g is the largest power of two not above sensitivity / 2^12, a
    public number; for more than 2^35 rows the grid is coarser. The values of two neighbours differ by at most `sensitivity`
    plus a computation error below g/2 (a quarter of a step in each). They round to grid points at most ceil(sensitivity / g +
    1/2) + 1 steps apart. The noise is scaled to this number as integer sensitivity, so it also covers the rounding. Dividing by
    g is exact. A value of more than 2^48 steps is refused, because its last bit is no longer far below a step.
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
    """Privately choose the index of a candidate with a high integer score.

    Parameters
    ----------
    scores : one integer score for each candidate; at least one.
    sensitivity : largest change of a score between neighbours, an integer of at least 1.
    epsilon : the privacy cost, an exact number above 0.
    mechanism : "permute_and_flip" (McKenna & Sheldon 2020) or "exponential" (McSherry & Talwar 2007). The expected score is
        never lower with "permute_and_flip".

    Privacy
    -------
    epsilon-DP if each score changes by at most `sensitivity` between neighbours: both mechanisms accept a proposed candidate
    with probability exp(-epsilon (best score - score) / (2 sensitivity)), exactly (`privacy.noise`).
    """
    if sensitivity < 1 or epsilon <= 0 or not len(scores):
        raise ValueError("a private choice needs a candidate, sensitivity >= 1 and epsilon > 0")
    best = max(scores)
    losses = Losses([index(best - score) for score in scores], epsilon / (2 * sensitivity))
    return entropy.chosen(losses, mechanism)


def secret_bytes(number: int) -> bytes:
    """Return random bytes of the operating system for a stored key, never for noise."""
    return secrets.token_bytes(number)


def _check_room(values: np.ndarray, scale: float) -> None:
    """Raise ValueError for integers that noise could move beyond 64 bits, and for the lowest one, which represents NaN."""
    highest, lowest = int(values.max(initial=0)), int(values.min(initial=0))
    if not (scale <= 2.0**55 and lowest >= -_MAX_STEPS and highest <= _MAX_STEPS):
        raise ValueError("the noise scale or the values are too large for exact 64-bit noise")
