"""DPGAN, a generative adversarial network whose critic is trained privately (Xie, Lin, Wang, Wang & Zhou 2018), on cell counts.

A generator network turns noise into rows, a critic network tells rows of the table from generated ones, and each is trained
against the other. Only the critic's gradient over the table's rows is private. Some things differ from the paper, and from
DPCTGAN, which smartnoise-synth has (docs/generators.md says why that one is not offered):

- every step takes the gradient over all rows, not over a random batch. Rows that are equal have the same gradient, so a step
  costs one pass over the distinct rows; and no accounting of random batches is needed;
- the generator is the mean of those of the later steps (Yazici et al. 2019): a single one circles around the table's law;
- the noise is exact, discrete and Gaussian, on a public grid; the accounting is zero-concentrated;
- the released rows come from the whole law that the generator has learned, a mixture of as many products as it gets draws of
  noise, rounded systematically, with exact zeros for impossible cells: no error of sampling is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.accounting.charges import Charge, zero_concentrated
from synthrelease.candidates.generators.base import Background, Generator, Guaranteed
from synthrelease.candidates.generators.counting_queries import CELL_LIMIT
from synthrelease.candidates.generators.dense import DenseModel, plausible_cells
from synthrelease.candidates.generators.network import LEAK, Adam, Network, Passed, Weights
from synthrelease.domain.counts import Counts
from synthrelease.domain.schema import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.randomness import SystemEntropy, discrete_gaussian, noise_grid
from synthrelease.toml.tables import Mistake

_PIECE = 2**13
"""Rows that pass through the critic at once; the rounding error of `noisy_gradient` counts on it."""

_DRAWS = 4096
"""Draws of the generator's noise that its law is the mean of."""

_LAW_PIECE = 2**21
"""Cells of the products of columns that are held at once."""

_HARDNESS = 5.0
"""Generated rows are softmax(5 (scores + Gumbel noise)) in each column: nearly one bin, as in CTGAN (Xu et al. 2019)."""


class DPGAN(Generator):
    """DPGAN: a generative adversarial network whose critic is trained with noisy gradients.

    Attributes
    ----------
    steps : of the critic, each followed by one of the generator; each costs an equal part of the budget.
        Example: `steps = [300, 1000]`.
    batch : generated rows per step. Example: `batch = 500`.
    clip : the gradient of a row is shortened to this length, where it is longer. Example: `clip = [0.1, 1, 5]`.
    weight_limit : the critic's weights are kept within plus and minus this (Wasserstein GAN; Arjovsky, Chintala & Bottou 2017).
        Example: `weight_limit = 0.05`.
    critic_width : units of the critic's hidden layer. Example: `critic_width = 64`.
    generator_width : units of each of the generator's two hidden layers. Example: `generator_width = 256`.
    latent : numbers of noise that a generated row is made of. Example: `latent = 16`.
    critic_rate : length of the critic's steps (Adam). Example: `critic_rate = 0.002`.
    generator_rate : length of the generator's steps (Adam). Example: `generator_rate = 0.001`.
    """

    words: ClassVar[str] = (
        "DPGAN (Xie, Lin, Wang, Wang and Zhou 2018): two neural networks are trained against each other, one makes rows, the "
        "other tells them from the original records; what the second one learns from the records has noise."
    )
    no_draft: ClassVar[str] = "Its networks are tuned in a rehearsal, from a draft that runs without them."
    family: Literal["dpgan"] = "dpgan"
    guarantee: ClassVar[Guaranteed] = "zCDP"
    steps: int = Field(default=500, ge=1, le=100_000)
    batch: int = Field(default=1000, ge=1, le=100_000)
    clip: float = Field(default=1.0, ge=1e-3, le=1e3)
    weight_limit: float = Field(default=0.03, gt=0, le=10)
    critic_width: int = Field(default=32, ge=1, le=1024)
    generator_width: int = Field(default=128, ge=1, le=1024)
    latent: int = Field(default=32, ge=1, le=1024)
    critic_rate: float = Field(default=0.005, gt=0, le=0.1)
    generator_rate: float = Field(default=0.0005, gt=0, le=0.1)

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        if layout.n_cells > CELL_LIMIT:
            expected = f"a table of at most {CELL_LIMIT} cells, because the law of {self.family!r} is over all of them"
            yield Mistake(field="family", expected=expected, found=f"{layout.n_cells} cells")

    def charge(self, epsilon: Fraction) -> Charge:
        return zero_concentrated("generation", epsilon, f"DPGAN: {self.steps} noisy gradients (Xie et al. 2018)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Train both networks.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record: each of T steps spends rho / T on one `noisy_gradient`; adaptive
        composition. Everything else sees generated rows and noisy gradients alone.
        """
        entropy, layout, part = private.entropy, private.layout, charge.curve().rho / self.steps
        free, trainer = plausible_cells(background.plausibility), Trainer(self, layout, private.entropy.generator())
        private.spend(charge, lambda counts: trainer.train(counts, part, entropy))
        shares = trainer.shares() * free
        if not (np.isfinite(shares).all() and shares.sum() > 0):
            raise RejectedRound("the networks learned no table")
        return DenseModel(layout=layout, shares=shares / shares.sum())

    def effort(self, layout: Layout) -> float:
        return float(self.steps * (self.batch + self.critic_width + self.generator_width))

    def peak_cells(self, layout: Layout) -> int:
        width, critic, rows = sum(layout.sizes), self.critic_width, self.generator_width
        weights = 6 * ((width + 2) * critic + (self.latent + rows + width) * rows)
        gradient = _PIECE * (4 * critic + len(layout.sizes))
        generated = self.batch * (4 * width + 6 * rows + self.latent + 3 * critic)
        law = 4 * layout.n_cells + _DRAWS * (2 * width + 2 * rows) + 2 * _LAW_PIECE
        return weights + max(gradient + generated, law)


class Trainer:
    """Both networks on the bins of a layout, and their training."""

    def __init__(self, settings: DPGAN, layout: Layout, generator: np.random.Generator):
        self.settings, self.layout, self.public = settings, layout, generator
        width = sum(layout.sizes)
        self.critic = Network((width, settings.critic_width, 1), generator)
        self.rows = Network((settings.latent, settings.generator_width, settings.generator_width, width), generator)
        self._ends = np.cumsum([0, *layout.sizes])
        self._critic_steps = Adam(self.critic.weights, settings.critic_rate)
        self._row_steps = Adam(self.rows.weights, settings.generator_rate)

    def train(self, counts: Counts, rho: Fraction, entropy: SystemEntropy) -> None:
        """Every step spends rho on one noisy gradient."""
        settings, limit, mean = self.settings, self.settings.weight_limit, [layer.copy() for layer in self.rows.weights]
        for step in range(settings.steps):
            towards = noisy_gradient(self.critic, counts, settings.clip, rho, entropy)
            generated = self._generated().rows
            away = clipped_sum(self.critic, generated, settings.clip)
            self._critic_steps.step([b / len(generated) - a / counts.total for a, b in zip(towards, away, strict=True)])
            for layer in self.critic.weights:
                np.clip(layer, -limit, limit, out=layer)
            self._improve()
            share = 0.01 if 2 * step > settings.steps else 1.0
            mean = [a + share * (layer - a) for a, layer in zip(mean, self.rows.weights, strict=True)]
        self.rows.weights = mean

    def _improve(self) -> None:
        """One step of the generator, towards rows that the critic scores higher. Public."""
        made = self._generated()
        passed = self.critic.forward(made.rows)
        by_row = self.critic.by_rows(self.critic.deltas(passed, np.full_like(passed.output, -1 / len(made.rows))))
        by_score = np.empty_like(by_row)
        for column in self._columns():
            soft, slope = made.rows[:, column], by_row[:, column]
            by_score[:, column] = _HARDNESS * soft * (slope - (soft * slope).sum(axis=1, keepdims=True))
        self._row_steps.step(Network.gradient(made.passed, self.rows.deltas(made.passed, by_score)))

    def _generated(self) -> Generated:
        passed = self.rows.forward(self.public.normal(size=(self.settings.batch, self.settings.latent)))
        scores = _HARDNESS * (passed.output + self.public.gumbel(size=passed.output.shape))
        return Generated(passed, np.hstack([softmax(scores[:, column]) for column in self._columns()]))

    def _columns(self) -> list[slice]:
        return [slice(start, stop) for start, stop in zip(self._ends[:-1], self._ends[1:], strict=True)]

    def shares(self, draws: int = _DRAWS) -> np.ndarray:
        """(sizes of the columns) The generator's law: the mean of products of columns, over draws of its noise."""
        scores = self.rows.forward(self.public.normal(size=(draws, self.settings.latent))).output
        law = np.zeros(self.layout.sizes)
        columns = [softmax(scores[:, column]) for column in self._columns()]
        half = len(columns) // 2
        widest = max(math.prod(self.layout.sizes[:half]), math.prod(self.layout.sizes[half:]))
        for piece in np.array_split(np.arange(draws), max(1, draws * widest // _LAW_PIECE)):
            law += (products(columns[:half], piece).T @ products(columns[half:], piece)).reshape(self.layout.sizes)
        return law / draws


@dataclass(frozen=True)
class Generated:
    """Generated rows (batch, bins of all columns), nearly 0 or 1, and the forward pass that made them."""

    passed: Passed
    rows: np.ndarray


def noisy_gradient(critic: Network, counts: Counts, clip: float, rho: Fraction, entropy: SystemEntropy) -> Weights:
    """The gradient of the critic's score, summed over all rows of a table, each clipped, with noise.

    Privacy
    -------
    rho-zero-concentrated, neighbours replace one record: the sum loses one clipped gradient and gains one, so it moves by at
    most 2 clip in l2 norm. It is rounded to a public grid of step g, which moves each of its d coordinates by at most g / 2 in
    both tables. So does the floating-point error of the sum: at most 2^-38 n clip, because at most 2^13 terms are added one
    after the other (2^-40 of their sum, in any order) and the pieces, fewer than 2^9, at the end. The rounded sums differ by at
    most (2 clip + (g + 2^-37 n clip) sqrt(d)) / g steps in l2 norm, rounded up: the sensitivity that is paid for. That equal
    rows have equal gradients in both tables, up to such errors, is the work of `clipped_sum_of_cells`.
    """
    step, exact = noise_grid(clip).step, np.zeros(sum(layer.size for layer in critic.weights))
    for start in range(0, len(counts), _PIECE):
        piece = slice(start, start + _PIECE)
        sums = clipped_sum_of_cells(critic, places(counts, piece), counts.counts[piece], clip)
        exact += np.concatenate([layer.ravel() for layer in sums])
    slack = (step + 2.0**-37 * counts.total * clip) * math.sqrt(len(exact))
    steps = math.ceil((2 * clip + slack) / step) + 1
    grid = np.rint(exact / step).astype(np.int64)
    noisy = discrete_gaussian(grid, squared_sensitivity=steps**2, rho=rho, entropy=entropy) * step
    ends = np.cumsum([layer.size for layer in critic.weights])[:-1]
    return [part.reshape(layer.shape) for part, layer in zip(np.split(noisy, ends), critic.weights, strict=True)]


def clipped_sum_of_cells(critic: Network, places: np.ndarray, times: np.ndarray, clip: float) -> Weights:
    """`clipped_sum` for rows that are cells of a table.

    What goes into a hidden unit is added column by column, so it is a function of the row alone. A matrix product would add in
    an order that depends on how many rows there are; where the sum is 0 but for rounding, the slope of the rectifier, and with
    it the gradient of all rows of a cell, would depend on the other rows of the table. What follows has no such edge: the norm
    is a sum along the row, the shares are elementwise, and how a matrix product adds up the rows moves the result by the error
    that `noisy_gradient` pays for.

    Parameters
    ----------
    places : (cells, columns) where each cell's bins are among those of all columns.
    """
    from scipy.sparse import csr_array  # here, because `plan` needs no scipy

    (first, last), (n_cells, n_columns) = critic.weights, places.shape
    hidden = np.tile(first[-1], (n_cells, 1))
    for column in places.T:
        hidden += first[column]
    slopes = np.where(hidden > 0, 1.0, LEAK)
    outputs, deltas = hidden * slopes, last[:-1, 0] * slopes
    squares = (1 + n_columns) * np.square(deltas).sum(axis=1) + 1 + np.square(outputs).sum(axis=1)
    weight = (clipped_shares(np.sqrt(squares), clip) * times)[:, None]
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


def places(counts: Counts, piece: slice) -> np.ndarray:
    """(cells of the piece, columns) where each cell's bins are among those of all columns, one after the other."""
    starts = np.cumsum([0, *counts.layout.sizes])[:-1]
    return np.stack([start + digits[piece] for start, digits in zip(starts, counts.bins, strict=True)], axis=1)


def softmax(scores: np.ndarray) -> np.ndarray:
    """(rows, bins) along each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def products(columns: list[np.ndarray], piece: np.ndarray) -> np.ndarray:
    """(draws, product of the sizes) of each draw's shares in all columns, the first column outermost."""
    whole = np.ones((len(piece), 1))
    for column in columns:
        whole = (whole[:, :, None] * column[piece][:, None, :]).reshape(len(piece), -1)
    return whole
