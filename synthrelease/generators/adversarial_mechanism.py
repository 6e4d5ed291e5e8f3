"""The private half of the networks: noisy frequencies of bins, and the gradient of a critic over the rows of the table.

Private: the counts of the table; the gradient of each of its rows, and their exact sum. Out: networks that were trained with
noisy sums, and noisy frequencies, public. `patectgan` takes its frequencies from here.

Guarantee: rho zero-concentrated, rho_1 for the frequencies and an equal part of the rest for each gradient; neighbours replace
one record. That moves two counts of a column by 1, and replaces one clipped gradient: 2 clip in l2 norm, and what rounding adds
(`noisy_gradient`). Adaptive composition (theory 12.5, clipped gradient).

Unlike in Xie, Lin, Wang, Wang & Zhou (2018) and in DPCTGAN, every step takes the gradient over all rows, not over a random
batch: equal rows have the same gradient, so a step costs one pass over the distinct rows, and no accounting of batches is
needed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.generators.adaptive_mechanism import Gaussian
from synthrelease.generators.gan_networks import CHUNK, LEAK, Conditions, Frequencies, Game, Network, Wanted, Weights, on_one
from synthrelease.privacy.grids import noise_grid
from synthrelease.privacy.noise import SystemEntropy, rounded_gaussian


def trained(counts: Counts, game: Game, steps: int, clip: float, part: Fraction, entropy: SystemEntropy) -> None:
    """Train both networks of DPGAN, each step for this part of rho."""
    for _ in range(steps):
        train_once(counts, game, clip, part, entropy)
    game.finish()


def trained_on_conditions(
    counts: Counts,
    game: Game,
    steps: int,
    clip: float,
    first: Fraction,
    part: Fraction,
    oversampling: float,
    entropy: SystemEntropy,
    public: np.random.Generator,
) -> Frequencies:
    """Measure the frequencies for `first`, then train both networks of DPCTGAN, each step for this part; the frequencies.

    The weights of a step are a function of the noisy frequencies.
    """
    found = noisy_frequencies(counts, first, entropy)
    game.start(found.columns)
    for step in range(steps):
        column = step % len(counts.layout.sizes)
        wanted = found.by_logarithm(column, counts.total, oversampling)
        weights = Wanted(column=column, weights=wanted / found.columns[column])
        conditions = on_one(column, wanted, game.settings.batch, public)
        train_once(counts, game, clip, part, entropy, conditions, weights)
    game.finish()
    return found


def noisy_frequencies(counts: Counts, rho: Fraction, entropy: SystemEntropy) -> Frequencies:
    """Count every column with noise; a bin gets at least one row.

    Privacy
    -------
    rho-zero-concentrated, neighbours replace one record: each of d columns gets rho / d, and is a table of which two counts
    move by 1 (`adaptive.mechanism.Gaussian`).
    """
    asked, part = Gaussian(counts, rho, entropy), rho / len(counts.layout.sizes)
    tables = [np.maximum(asked.table((column,), part), 1) for column in range(len(counts.layout.sizes))]
    return Frequencies(columns=tuple(table / table.sum() for table in tables))


def train_once(
    counts: Counts,
    game: Game,
    clip: float,
    rho: Fraction,
    entropy: SystemEntropy,
    conditions: Conditions | None = None,
    wanted: Wanted | None = None,
) -> None:
    """Train both networks once. Spends rho on one noisy gradient, with the row weights `wanted`; all else is generated rows."""
    towards = noisy_gradient(game.critic, counts, clip, rho, entropy, wanted)
    generated = game.generated(conditions).rows
    away = game.critic.sum_of_rows(generated, partial(clipped_shares, clip=clip))
    game.step([b / len(generated) - a / counts.total for a, b in zip(towards, away, strict=True)], conditions)


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
    for start in range(0, len(counts), CHUNK):
        chunk = slice(start, start + CHUNK)
        weights = None if wanted is None else wanted.weights[counts.bins[wanted.column][chunk]]
        sums = clipped_sum_of_cells(critic, places(counts, chunk), counts.counts[chunk], clip, weights)
        exact += np.concatenate([one.ravel() for one in sums])
    slack = (step + 2.0**-37 * counts.total * clip) * math.sqrt(len(exact))
    steps = math.ceil((2 * clip + slack) / step) + 1
    grid = np.rint(exact / step).astype(np.int64)
    noisy = rounded_gaussian(grid, squared_sensitivity=steps**2, rho=rho, entropy=entropy) * step
    ends = np.cumsum([layer.size for layer in critic.weights])[:-1]
    return [part.reshape(layer.shape) for part, layer in zip(np.split(noisy, ends), critic.weights, strict=True)]


def clipped_sum_of_cells(
    critic: Network, places: np.ndarray, times: np.ndarray, clip: float, weights: np.ndarray | None = None
) -> Weights:
    """`Network.sum_of_rows` of clipped gradients, for rows that are cells of a table.

    What goes into a hidden unit is added column by column, so it is a function of the row alone. A matrix product would add in
    an order that depends on how many rows there are; where the sum is 0 but for rounding, the slope of the rectifier would
    depend on the other rows of the table. What follows has no such edge: how a matrix product adds up the rows moves the result
    by the error that `noisy_gradient` pays for.

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


def clipped_shares(norms: np.ndarray, clip: float) -> np.ndarray:
    """What to multiply gradients of these norms with; a part in 10^12 is left for the rounding of the norm."""
    return np.minimum(1.0, clip * (1 - 1e-12) / norms)  # the gradient by the last bias is 1, so no norm is 0


def places(counts: Counts, chunk: slice) -> np.ndarray:
    """(cells of the chunk, columns) where each cell's bins are among those of all columns, one after the other."""
    starts = np.cumsum([0, *counts.layout.sizes])[:-1]
    return np.stack([start + digits[chunk] for start, digits in zip(starts, counts.bins, strict=True)], axis=1)
