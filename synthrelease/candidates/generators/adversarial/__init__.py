"""The public half of generative adversarial networks on cell counts: what dpgan, dpctgan and patectgan share.

A generator network turns noise, and a condition where there is one, into rows; a critic network scores rows. `Game` holds both
and takes a critic's gradient that is already private. From there on everything is post-processing:

- the generator is the mean of those of the later steps (Yazici et al. 2019): a single one circles around the table's law;
- a condition is one bin of one column, and the row has it: the generator makes the other columns;
- the released rows come from the whole law that the generator has learned, a mixture of as many products as it gets draws of
  noise, rounded systematically, with exact zeros for impossible cells: no error of sampling is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from synthrelease.candidates.generators.base import Generator
from synthrelease.candidates.generators.counting_queries import CELL_LIMIT
from synthrelease.candidates.generators.dense import DenseModel
from synthrelease.candidates.generators.network import Adam, Network, Passed, Weights
from synthrelease.data.layout import Layout
from synthrelease.errors import RejectedRound
from synthrelease.settings.base import Mistake

DRAWS = 4096
"""Draws of the generator's noise that its law is the mean of."""

CHUNK = 2**13
"""Rows that pass through the critic at once; the rounding error of `noisy_gradient` counts on it."""
_LAW_CHUNK = 2**21
"""Cells of the products of columns that are held at once."""

_HARDNESS = 5.0
"""Generated rows are softmax(5 (scores + Gumbel noise)) in each column: nearly one bin, as in CTGAN (Xu et al. 2019)."""


class AdversarialGenerator(Generator):
    """Hyperparameters of the networks.

    Attributes
    ----------
    steps : of the critic, each followed by one of the generator; each costs an equal part of the budget.
        Example: `steps = [300, 1000]`.
    batch : generated rows per step. Example: `batch = 500`.
    weight_limit : the critic's weights are kept within plus and minus this (Wasserstein GAN; Arjovsky, Chintala & Bottou 2017).
        Example: `weight_limit = 0.05`.
    critic_width : units of the critic's hidden layer. Example: `critic_width = 64`.
    generator_width : units of each of the generator's two hidden layers. Example: `generator_width = 256`.
    latent : numbers of noise that a generated row is made of. Example: `latent = 16`.
    critic_rate : length of the critic's steps (Adam). Example: `critic_rate = 0.002`.
    generator_rate : length of the generator's steps (Adam). Example: `generator_rate = 0.001`.
    """

    no_draft: ClassVar[str] = "Its networks are tuned in a rehearsal, from a draft that runs without them."
    steps: int = Field(default=500, ge=1, le=100_000)
    batch: int = Field(default=1000, ge=1, le=100_000)
    weight_limit: float = Field(default=0.03, gt=0, le=10)
    critic_width: int = Field(default=32, ge=1, le=1024)
    generator_width: int = Field(default=128, ge=1, le=1024)
    latent: int = Field(default=32, ge=1, le=1024)
    critic_rate: float = Field(default=0.005, gt=0, le=0.1)
    generator_rate: float = Field(default=0.0005, gt=0, le=0.1)

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        if layout.n_cells > CELL_LIMIT:
            expected = f"a table of at most {CELL_LIMIT} cells, because the law of {self.family!r} is over all of them"
            yield Mistake(
                field="family", expected=expected, found=f"{layout.n_cells} cells; the largest columns are {layout.largest()}"
            )

    def effort(self, layout: Layout) -> float:
        return float(self.steps * (self.batch + self.critic_width + self.generator_width))

    def peak_cells(self, layout: Layout) -> int:
        width, critic, rows = sum(layout.sizes), self.critic_width, self.generator_width
        weights = 6 * ((width + 2) * critic + (self.latent + rows + 2 * width) * rows)
        generated = self.batch * (4 * width + 6 * rows + self.latent + 3 * critic)
        law = 4 * layout.n_cells + DRAWS * (3 * width + 2 * rows) + 2 * _LAW_CHUNK
        return weights + max(self.private_cells(layout) + generated, law)

    def private_cells(self, layout: Layout) -> int:
        """Numbers that are held at once where the table's rows are looked at."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """(rows,) each: the column that a row is given, and its bin there."""

    columns: np.ndarray
    bins: np.ndarray


@dataclass(frozen=True)
class Generated:
    """Generated rows (batch, bins of all columns), nearly 0 or 1, and the forward pass that made them."""

    passed: Passed
    rows: np.ndarray


class Game:
    """Both networks on the bins of a layout. Sees nothing of the table but a private gradient for each step.

    Parameters
    ----------
    generator : draws weights, noise and rows; public.
    conditioned : whether rows are made from conditions.
    """

    def __init__(
        self, settings: AdversarialGenerator, layout: Layout, generator: np.random.Generator, *, conditioned: bool = False
    ):
        self.settings, self.layout, self.public, self.conditioned = settings, layout, generator, conditioned
        width, hidden = sum(layout.sizes), settings.generator_width
        self.critic = Network((width, settings.critic_width, 1), generator)
        self.rows = Network((settings.latent + width * conditioned, hidden, hidden, width), generator)
        self._ends = np.cumsum([0, *layout.sizes])
        self._critic_steps = Adam(self.critic.weights, settings.critic_rate)
        self._row_steps = Adam(self.rows.weights, settings.generator_rate)
        self._mean, self._steps = [layer.copy() for layer in self.rows.weights], 0

    def start(self, frequencies: Sequence[np.ndarray]) -> None:
        """Let the generator begin with columns of these frequencies, nearly independent: per column (bins) shares above 0."""
        last = self.rows.weights[-1]
        last[:-1] *= 0.1
        last[-1] = np.log(np.concatenate(frequencies))

    def step(self, gradient: Weights, conditions: Conditions | None = None) -> None:
        """One step of the critic against a gradient that is private already, and one of the generator."""
        limit = self.settings.weight_limit
        self._critic_steps.step(gradient)
        for layer in self.critic.weights:
            np.clip(layer, -limit, limit, out=layer)
        self._improve(conditions)
        share = 0.01 if 2 * self._steps > self.settings.steps else 1.0
        self._mean = [a + share * (layer - a) for a, layer in zip(self._mean, self.rows.weights, strict=True)]
        self._steps += 1

    def finish(self) -> None:
        """From here on the generator is the mean of those of the later steps."""
        self.rows.weights = self._mean

    def _improve(self, conditions: Conditions | None) -> None:
        """One step of the generator, towards rows that the critic scores higher."""
        made = self.generated(conditions)
        passed = self.critic.forward(made.rows)
        by_row = self.critic.by_rows(self.critic.deltas(passed, np.full_like(passed.output, -1 / len(made.rows))))
        by_score = np.empty_like(by_row)
        for column in self.columns():
            soft, slope = made.rows[:, column], by_row[:, column]
            by_score[:, column] = _HARDNESS * soft * (slope - (soft * slope).sum(axis=1, keepdims=True))  # a given bin: 0
        self._row_steps.step(Network.gradient(made.passed, self.rows.deltas(made.passed, by_score)))

    def generated(self, conditions: Conditions | None = None) -> Generated:
        """A batch of rows, one for each condition where there are any."""
        passed = self._scored(self.settings.batch, conditions)
        scores = _HARDNESS * (passed.output + self.public.gumbel(size=passed.output.shape))
        rows = np.hstack([softmax(scores[:, column]) for column in self.columns()])
        return Generated(passed, rows if conditions is None else self._given(rows, conditions))

    def chances(self, conditions: Conditions | None = None) -> np.ndarray:
        """(draws, bins of all columns) The chances of bins for draws of the generator's noise, one for each condition."""
        scores = self._scored(DRAWS if conditions is None else len(conditions.columns), conditions).output
        chances = np.hstack([softmax(scores[:, column]) for column in self.columns()])
        return chances if conditions is None else self._given(chances, conditions)

    def one_hot(self, bins: list[np.ndarray]) -> np.ndarray:
        """(rows, bins of all columns) 1 where a row has the bin."""
        rows = np.zeros((len(bins[0]), self._ends[-1]))
        for start, digits in zip(self._ends, bins, strict=False):
            rows[np.arange(len(digits)), start + digits] = 1
        return rows

    def shares(self, conditions: Conditions | None = None) -> np.ndarray:
        """(sizes of the columns) The generator's law: the mean of products of columns, over draws of its noise.

        Parameters
        ----------
        conditions : one for every draw.
        """
        chances, law = self.chances(conditions), np.zeros(self.layout.sizes)
        draws, columns = len(chances), [chances[:, column] for column in self.columns()]
        half = len(columns) // 2
        widest = max(math.prod(self.layout.sizes[:half]), math.prod(self.layout.sizes[half:]))
        for chunk in np.array_split(np.arange(draws), max(1, draws * widest // _LAW_CHUNK)):
            law += (products(columns[:half], chunk).T @ products(columns[half:], chunk)).reshape(self.layout.sizes)
        return law / draws

    def columns(self) -> list[slice]:
        """Where each column's bins are among those of all columns."""
        return [slice(start, stop) for start, stop in zip(self._ends[:-1], self._ends[1:], strict=True)]

    def _scored(self, rows: int, conditions: Conditions | None) -> Passed:
        noise = self.public.normal(size=(rows, self.settings.latent))
        if conditions is None:
            return self.rows.forward(noise)
        wanted = np.zeros((rows, self._ends[-1]))
        wanted[np.arange(rows), self._ends[conditions.columns] + conditions.bins] = 1
        return self.rows.forward(np.hstack([noise, wanted]))

    def _given(self, rows: np.ndarray, conditions: Conditions) -> np.ndarray:
        """The same rows, each with exactly the bin that it was given."""
        for number, column in enumerate(self.columns()):
            given = np.flatnonzero(conditions.columns == number)
            rows[given, column] = 0
            rows[given, self._ends[number] + conditions.bins[given]] = 1
        return rows


def modelled(layout: Layout, shares: np.ndarray) -> DenseModel:
    """The model of a law. Raises RejectedRound when there is none: a function of noisy values only."""
    if not (np.isfinite(shares).all() and shares.sum() > 0):
        raise RejectedRound("the networks learned no table")
    return DenseModel(layout=layout, shares=shares / shares.sum())


def softmax(scores: np.ndarray) -> np.ndarray:
    """(rows, bins) along each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def products(columns: list[np.ndarray], chunk: np.ndarray) -> np.ndarray:
    """(draws, product of the sizes) of each draw's shares in all columns, the first column outermost."""
    whole = np.ones((len(chunk), 1))
    for column in columns:
        whole = (whole[:, :, None] * column[chunk][:, None, :]).reshape(len(chunk), -1)
    return whole


def gradient_cells(layout: Layout, critic_width: int) -> int:
    """Numbers that `noisy_gradient` holds at once."""
    return CHUNK * (4 * critic_width + len(layout.sizes))
