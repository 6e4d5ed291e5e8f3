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

from synthrelease.errors import RejectedRound
from synthrelease.generators.base import Background, Generator, Guaranteed
from synthrelease.generators.counting_queries import CELL_LIMIT
from synthrelease.generators.dense import DenseModel, plausible_cells
from synthrelease.generators.network import Adam, Network, Passed, Weights
from synthrelease.privacy import Charge, zero_concentrated
from synthrelease.private import PrivateCounts
from synthrelease.randomness import SystemEntropy, discrete_gaussian, noise_grid
from synthrelease.schema import Layout
from synthrelease.spec_files import Mistake
from synthrelease.table import Counts

_PIECE = 2**13
"""Rows that pass through the critic at once; the rounding error of `noisy_gradient` counts on it."""

_HARDNESS = 5.0
"""Generated rows are softmax(5 (scores + Gumbel noise)) in each column: nearly one bin, as in CTGAN (Xu et al. 2019)."""


class DPGAN(Generator):
    """Hyperparameters.

    Attributes
    ----------
    steps : of the critic, each followed by one of the generator; each costs an equal part of the budget.
    batch : generated rows per step.
    clip : the gradient of a row is shortened to this length, where it is longer.
    weight_limit : the critic's weights are kept within plus and minus this (Wasserstein GAN; Arjovsky, Chintala & Bottou 2017).
    critic_width, generator_width : of the hidden layers, one and two.
    latent : numbers of noise that a generated row is made of.
    critic_rate, generator_rate : length of a step (Adam).
    """

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

    def mistakes(self, layout: Layout, rules: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
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

    def peak_cells(self, layout_cells: int) -> int:
        return 4 * layout_cells + _PIECE * (self.critic_width + 64)


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
            away = clipped_sum(self.critic, generated, np.ones(len(generated)), settings.clip)
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

    def shares(self, draws: int = 4096) -> np.ndarray:
        """(sizes of the columns) The generator's law: the mean of products of columns, over draws of its noise."""
        scores = self.rows.forward(self.public.normal(size=(draws, self.settings.latent))).output
        law = np.zeros(self.layout.sizes)
        columns = [softmax(scores[:, column]) for column in self._columns()]
        half = len(columns) // 2
        for piece in np.array_split(np.arange(draws), max(1, draws * math.prod(self.layout.sizes[half:]) // 2**22)):
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
    most (2 clip + (g + 2^-37 n clip) sqrt(d)) / g steps in l2 norm, rounded up: the sensitivity that is paid for.
    """
    step = noise_grid(clip).step
    exact = np.zeros(sum(layer.size for layer in critic.weights))
    for start in range(0, len(counts.codes), _PIECE):
        piece = slice(start, start + _PIECE)
        sums = clipped_sum(critic, one_hot(counts, piece), counts.counts[piece], clip)
        exact += np.concatenate([layer.ravel() for layer in sums])
    slack = (step + 2.0**-37 * counts.total * clip) * math.sqrt(len(exact))
    steps = math.ceil((2 * clip + slack) / step) + 1
    grid = np.rint(exact / step).astype(np.int64)
    noisy = discrete_gaussian(grid, squared_sensitivity=steps**2, rho=rho, entropy=entropy) * step
    ends = np.cumsum([layer.size for layer in critic.weights])[:-1]
    return [part.reshape(layer.shape) for part, layer in zip(np.split(noisy, ends), critic.weights, strict=True)]


def clipped_sum(critic: Network, rows: np.ndarray, times: np.ndarray, clip: float) -> Weights:
    """Per layer, the sum over the rows of the gradient of each row's score, shortened to length `clip` where it is longer.

    Parameters
    ----------
    rows : (rows, bins of all columns) 0 or 1, or between.
    times : (rows,) how often each occurs.
    """
    passed = critic.forward(rows)
    deltas = critic.deltas(passed, np.ones_like(passed.output))
    # a part in 10^12 shorter, for the rounding of the norm
    kept = np.minimum(1.0, clip * (1 - 1e-12) / np.maximum(Network.row_norms(passed, deltas), 1e-300))
    weight = (kept * times)[:, None]
    return Network.gradient(passed, [weight * delta for delta in deltas])


def one_hot(counts: Counts, piece: slice) -> np.ndarray:
    """(cells of the piece, bins of all columns) 1 where a cell has the bin."""
    starts = np.cumsum([0, *counts.layout.sizes])
    places = np.stack([start + digits[piece] for start, digits in zip(starts, counts.all_digits(), strict=False)], axis=1)
    rows = np.zeros((len(places), starts[-1]))
    np.put_along_axis(rows, places, 1.0, axis=1)
    return rows


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
