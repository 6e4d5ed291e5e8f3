"""The gradient of a critic over the rows of a private table: each row's clipped, their sum with noise.

The only place where `dpgan` and `dpctgan` look at the table while their networks are trained. Some things differ from Xie, Lin,
Wang, Wang & Zhou (2018) and from DPCTGAN:

- every step takes the gradient over all rows, not over a random batch. Rows that are equal have the same gradient, so a step
  costs one pass over the distinct rows; and no accounting of random batches is needed;
- the noise is exact, discrete and Gaussian, on a public grid; the accounting is zero-concentrated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.candidates.generators.network import LEAK, Network, Weights
from synthrelease.domain.counts import Counts
from synthrelease.domain.schema import Layout
from synthrelease.noise_grids import noise_grid
from synthrelease.randomness import SystemEntropy, discrete_gaussian

_CHUNK = 2**13
"""Rows that pass through the critic at once; the rounding error of `noisy_gradient` counts on it."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How much rows count by their bin in one column: `weights` (bins of that column), above 0. Public."""

    column: int
    weights: np.ndarray


def noisy_gradient(
    critic: Network,
    counts: Counts,
    clip: float,
    rho: Fraction,
    entropy: SystemEntropy,
    wanted: Wanted | None = None,
) -> Weights:
    """The gradient of the critic's score, summed over all rows of a table, each weighted, then clipped, with noise.

    Parameters
    ----------
    wanted : how much a row's gradient counts, by its bin in one column; all alike when omitted. Public.

    Privacy
    -------
    rho-zero-concentrated, neighbours replace one record: the sum loses one clipped gradient and gains one, so it moves by at
    most 2 clip in l2 norm. It is rounded to a public grid of step g, which moves each of its d coordinates by at most g / 2 in
    both tables. So does the floating-point error of the sum: at most 2^-38 n clip, because at most 2^13 terms are added one
    after the other (2^-40 of their sum, in any order) and the chunks, fewer than 2^9, at the end. The rounded sums differ by at
    most (2 clip + (g + 2^-37 n clip) sqrt(d)) / g steps in l2 norm, rounded up: the sensitivity that is paid for. That equal
    rows have equal gradients in both tables, up to such errors, is the work of `clipped_sum_of_cells`.
    """
    step, exact = noise_grid(clip).step, np.zeros(sum(layer.size for layer in critic.weights))
    for start in range(0, len(counts), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        weights = None if wanted is None else wanted.weights[counts.bins[wanted.column][chunk]]
        sums = clipped_sum_of_cells(critic, places(counts, chunk), counts.counts[chunk], clip, weights)
        exact += np.concatenate([layer.ravel() for layer in sums])
    slack = (step + 2.0**-37 * counts.total * clip) * math.sqrt(len(exact))
    steps = math.ceil((2 * clip + slack) / step) + 1
    grid = np.rint(exact / step).astype(np.int64)
    noisy = discrete_gaussian(grid, squared_sensitivity=steps**2, rho=rho, entropy=entropy) * step
    ends = np.cumsum([layer.size for layer in critic.weights])[:-1]
    return [part.reshape(layer.shape) for part, layer in zip(np.split(noisy, ends), critic.weights, strict=True)]


def clipped_sum_of_cells(
    critic: Network, places: np.ndarray, times: np.ndarray, clip: float, weights: np.ndarray | None = None
) -> Weights:
    """`clipped_sum` for rows that are cells of a table.

    What goes into a hidden unit is added column by column, so it is a function of the row alone. A matrix product would add in
    an order that depends on how many rows there are; where the sum is 0 but for rounding, the slope of the rectifier, and with
    it the gradient of all rows of a cell, would depend on the other rows of the table. What follows has no such edge: the norm
    is a sum along the row, the shares are elementwise, and how a matrix product adds up the rows moves the result by the error
    that `noisy_gradient` pays for.

    Parameters
    ----------
    places : (cells, columns) where each cell's bins are among those of all columns.
    weights : (cells,) what the gradient of a row of each cell is multiplied with before it is clipped, above 0.
    """
    from scipy.sparse import csr_array  # here, because `plan` needs no scipy

    (first, last), (n_cells, n_columns) = critic.weights, places.shape
    hidden = np.tile(first[-1], (n_cells, 1))
    for column in places.T:
        hidden += first[column]
    slopes = np.where(hidden > 0, 1.0, LEAK)
    outputs, deltas = hidden * slopes, last[:-1, 0] * slopes
    squares = (1 + n_columns) * np.square(deltas).sum(axis=1) + 1 + np.square(outputs).sum(axis=1)
    weights = np.ones(n_cells) if weights is None else weights
    weight = (weights * clipped_shares(weights * np.sqrt(squares), clip) * times)[:, None]
    deltas *= weight
    ones = csr_array(
        (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, n_columns)), (n_cells, len(first) - 1)
    )
    return [np.vstack([ones.T @ deltas, deltas.sum(axis=0)]), np.vstack([outputs.T @ weight, weight.sum(axis=0)])]


def clipped_sum(critic: Network, rows: np.ndarray, clip: float) -> Weights:
    """Per layer, the sum over the rows of the gradient of each row's score, shortened to length `clip` where it is longer.

    Parameters
    ----------
    rows : (rows, bins of all columns) between 0 and 1; public, as generated rows are.
    """
    passed = critic.forward(rows)
    deltas = critic.deltas(passed, np.ones_like(passed.output))
    kept = clipped_shares(Network.row_norms(passed, deltas), clip)[:, None]
    return Network.gradient(passed, [kept * delta for delta in deltas])


def clipped_shares(norms: np.ndarray, clip: float) -> np.ndarray:
    """What to multiply gradients of these norms with; a part in 10^12 is left for the rounding of the norm."""
    return np.minimum(1.0, clip * (1 - 1e-12) / norms)  # the gradient by the last bias is 1, so no norm is 0


def places(counts: Counts, chunk: slice) -> np.ndarray:
    """(cells of the chunk, columns) where each cell's bins are among those of all columns, one after the other."""
    starts = np.cumsum([0, *counts.layout.sizes])[:-1]
    return np.stack([start + digits[chunk] for start, digits in zip(starts, counts.bins, strict=True)], axis=1)


def gradient_cells(layout: Layout, critic_width: int) -> int:
    """Numbers that `noisy_gradient` holds at once."""
    return _CHUNK * (4 * critic_width + len(layout.sizes))
