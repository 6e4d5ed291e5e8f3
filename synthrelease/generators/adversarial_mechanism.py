"""The private half of the GAN families: measure noisy frequencies of bins and noisy gradients of a critic.

Private: the counts of the table, the gradient of each row of the table, and the exact sum of these gradients. Out: noisy
sums of gradients and noisy frequencies, public. `patectgan` also uses the frequencies.

Guarantee: rho-zero-concentrated; neighbours replace one record. The frequencies cost rho_1, and each gradient costs an
equal part of the rest. Replacing a record changes two counts of a column by 1 and replaces one clipped gradient. So a sum
of gradients has sensitivity 2 clip in l2 norm, plus rounding (`noisy_gradient`). The costs add up by adaptive composition
(theory 12.5, clipped gradient).

Unlike in Xie, Lin, Wang, Wang & Zhou (2018) and in DPCTGAN, every step takes the gradient over all rows, not over a random
batch, so no accounting of batches is needed.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.enclave.door import opaque
from synthrelease.generators.adaptive_mechanism import Budgeted, Gaussian
from synthrelease.generators.gan_networks import CHUNK, LEAK, Frequencies, Network, RowWeights, Weights
from synthrelease.privacy.grids import noise_grid
from synthrelease.privacy.noise import SystemEntropy, rounded_gaussian


class NoisyGradients(Budgeted):
    """Give noisy frequencies and noisy gradients of a critic from the rows of a private table, within a budget rho.

    Privacy
    -------
    All answers together are rho-zero-concentrated, for any questions; neighbours replace one record. Every answer costs its
    part, and the parts never add up to more than the budget (theory 12.10, a budget that answers share out).
    """

    def __init__(self, counts: Counts, budget: Fraction, entropy: SystemEntropy):
        super().__init__(budget, entropy)
        self._counts = counts

    def frequencies(self, part: Fraction) -> Frequencies:
        self._take(part)
        return opaque(lambda: noisy_frequencies(self._counts, part, self._entropy))

    def gradient(self, critic: Network, clip: float, part: Fraction, row_weights: RowWeights | None = None) -> Weights:
        """Return the noisy sum over rows of the gradient of the critic's score, for `part` of the budget."""
        self._take(part)
        return opaque(lambda: noisy_gradient(critic, self._counts, clip, part, self._entropy, row_weights))


def closed_rows(counts: Counts, budget: Fraction, entropy: SystemEntropy) -> NoisyGradients:
    """Return an object that holds the private rows and gives only noisy answers, within `budget`."""
    return NoisyGradients(counts, budget, entropy)


def noisy_frequencies(counts: Counts, rho: Fraction, entropy: SystemEntropy) -> Frequencies:
    """Measure the frequencies of the bins of every column with noise. A bin with a noisy count below 1 gets the count 1.

    Privacy
    -------
    The frequencies are rho-zero-concentrated; neighbours replace one record. Each of d columns gets rho / d. A column is a
    table in which two counts change by 1 (`adaptive_mechanism.Gaussian`).
    """
    tables_, part = Gaussian(counts, rho, entropy), rho / len(counts.layout.sizes)
    tables = [np.maximum(tables_.table((column,), part), 1) for column in range(len(counts.layout.sizes))]
    return Frequencies(columns=tuple(table / table.sum() for table in tables))


def noisy_gradient(
    critic: Network, counts: Counts, clip: float, rho: Fraction, entropy: SystemEntropy, row_weights: RowWeights | None = None
) -> Weights:
    """Return the noisy sum, over all rows, of the gradient of the critic's score. Each row's gradient is weighted, then
    clipped.

    Parameters
    ----------
    clip : largest l2 norm of a row's weighted gradient.
    row_weights : public weights by the bin of the row in one column, or None.

    Privacy
    -------
    The result is rho-zero-concentrated; neighbours replace one record. The sum loses one clipped gradient and gains
    another, so the sum changes by at most 2 clip in l2 norm. The sum is rounded to a public grid of step g, which moves
    each of its d coordinates by at most g / 2 in each of the two tables. The floating-point error of the sum moves each
    coordinate by at most 2^-38 n clip, because at most 2^13 terms are added one after the other (2^-40 of their sum, in any
    order), and then fewer than 2^9 chunks. So the rounded sums differ by at most (2 clip + (g + 2^-37 n clip) sqrt(d)) / g
    steps in l2 norm, rounded up; this is the sensitivity of the noise. `clipped_sum_of_cells` ensures that equal rows have
    equal gradients in both tables, up to such errors.
    """
    step, exact = noise_grid(clip).step, np.zeros(sum(layer.size for layer in critic.weights))
    for start in range(0, len(counts), CHUNK):
        chunk = slice(start, start + CHUNK)
        weights = None if row_weights is None else row_weights.weights[counts.bins[row_weights.column][chunk]]
        sums = clipped_sum_of_cells(critic, places(counts, chunk), counts.counts[chunk], clip, weights)
        exact += np.concatenate([layer_sum.ravel() for layer_sum in sums])
    slack = (step + 2.0**-37 * counts.total * clip) * math.sqrt(len(exact))
    steps = math.ceil((2 * clip + slack) / step) + 1
    grid = np.rint(exact / step).astype(np.int64)
    noisy = rounded_gaussian(grid, squared_sensitivity=steps**2, rho=rho, entropy=entropy) * step
    ends = np.cumsum([layer.size for layer in critic.weights])[:-1]
    return [part.reshape(layer.shape) for part, layer in zip(np.split(noisy, ends), critic.weights, strict=True)]


def clipped_sum_of_cells(
    critic: Network, places: np.ndarray, times: np.ndarray, clip: float, weights: np.ndarray | None = None
) -> Weights:
    """Return the sum over rows of the clipped gradients of the critic's score. Rows are given as cells with counts.

    The input of a hidden unit is added column by column, so it depends on the row alone. A matrix product would add in an
    order that depends on the number of rows; for an input of 0 up to rounding, the slope of the rectifier would then depend
    on other rows. Later steps have no such discontinuity: the order of additions in a matrix product changes the result by
    an error that the sensitivity in `noisy_gradient` covers.

    Parameters
    ----------
    places : (cells, columns) the index of each cell's bins among the bins of all columns.
    times : (cells,) number of rows of each cell.
    clip : largest l2 norm of a weighted gradient.
    weights : (cells,) factors of the gradients before clipping, above 0, or None for 1.
    """
    from scipy.sparse import csr_array  # imported here, because `plan` needs no scipy

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


def clipped_shares(norms: np.ndarray, clip: float) -> np.ndarray:
    """Return the factors that clip gradients of these norms, reduced by 1e-12 for the rounding of a norm."""
    return np.minimum(1.0, clip * (1 - 1e-12) / norms)  # the derivative by the last bias is 1, so no norm is 0


def places(counts: Counts, chunk: slice) -> np.ndarray:
    """Return a (cells, columns) array with the bin of each cell of the chunk in each column, numbered across all columns."""
    starts = np.cumsum([0, *counts.layout.sizes])[:-1]
    return np.stack([start + digits[chunk] for start, digits in zip(starts, counts.bins, strict=True)], axis=1)
