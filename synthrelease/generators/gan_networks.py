"""Implement the networks and training steps that dpgan, dpctgan and patectgan share. No code in this module sees private
data.

A generator network turns noise, and a condition if there is one, into rows. A critic network scores rows. `Game` contains
both, and takes gradients of the critic to which noise was already added. All later steps are post-processing:

- the final generator is the mean over later steps (Yazici et al. 2019);
- a condition is one bin of one column; the row has this bin, and the generator makes the other columns;
- the released rows come from the whole learned distribution, a mixture of products of columns with one for each draw of
  noise, rounded systematically, with exact zeros for impossible cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from synthrelease.data.layout import Layout
from synthrelease.errors import RejectedRound
from synthrelease.generators.base import Generator, Guaranteed
from synthrelease.generators.counting_queries import CELL_LIMIT, DenseModel
from synthrelease.settings.base import Mistake

# A small feed-forward network on rows of bins, with the norm of every row's gradient, and the optimiser Adam.

LEAK = 0.2
"""Slope of the activation below 0."""

Weights = list[np.ndarray]


@dataclass(frozen=True)
class Passed:
    """What a forward pass leaves for the backward pass: the (rows, in) inputs of each layer, and the (rows, out) output."""

    inputs: list[np.ndarray]
    output: np.ndarray


class Network:
    """A network of linear layers with leaky rectifiers between them.

    Parameters
    ----------
    sizes : the widths of all layers.
    generator : a public generator that draws the first weights (He et al. 2015).

    Attributes
    ----------
    weights : per layer an array (in + 1, out); the last row is the bias.
    """

    def __init__(self, sizes: Sequence[int], generator: np.random.Generator):
        self.weights: Weights = [
            np.vstack([generator.normal(0, np.sqrt(2 / fan_in), (fan_in, out)), np.zeros(out)])
            for fan_in, out in itertools.pairwise(sizes)
        ]

    def forward(self, rows: np.ndarray) -> Passed:
        inputs, values = [], rows
        for layer, weights in enumerate(self.weights):
            if layer:
                values = np.where(values > 0, values, LEAK * values)
            inputs.append(values)
            values = values @ weights[:-1] + weights[-1]
        return Passed(inputs, values)

    def deltas(self, passed: Passed, of_output: np.ndarray) -> list[np.ndarray]:
        back = [of_output]
        for layer in range(len(self.weights) - 1, 0, -1):
            delta = back[0] @ self.weights[layer][:-1].T
            # the output of a rectifier is positive exactly if its input is positive
            back.insert(0, np.where(passed.inputs[layer] > 0, delta, LEAK * delta))
        return back

    def by_rows(self, deltas: Sequence[np.ndarray]) -> np.ndarray:
        return deltas[0] @ self.weights[0][:-1].T

    def sum_of_rows(self, rows: np.ndarray, share: Callable[[np.ndarray], np.ndarray]) -> Weights:
        """Return the gradient of the output for the weights of each layer, summed over rows.

        Each row's gradient is first multiplied by `share` of its norm, for example to clip it.
        """
        passed = self.forward(rows)
        deltas = self.deltas(passed, np.ones_like(passed.output))
        shares = share(self.row_norms(passed, deltas))[:, None]
        return self.gradient(passed, [shares * delta for delta in deltas])

    @staticmethod
    def gradient(passed: Passed, deltas: Sequence[np.ndarray]) -> Weights:
        return [np.vstack([inputs.T @ delta, delta.sum(axis=0)]) for inputs, delta in zip(passed.inputs, deltas, strict=True)]

    @staticmethod
    def row_norms(passed: Passed, deltas: Sequence[np.ndarray]) -> np.ndarray:
        """Return the (rows,) l2 norms of the gradients of single rows for all weights.

        In a layer, a row's gradient is the outer product of its inputs (with a 1 for the bias) and its delta, so the
        squared norm is the product of theirs (Goodfellow 2015, "Efficient per-example gradient computations").
        """
        squares = [
            (1 + np.square(inputs).sum(axis=1)) * np.square(delta).sum(axis=1)
            for inputs, delta in zip(passed.inputs, deltas, strict=True)
        ]
        return np.sqrt(np.sum(squares, axis=0))


class Adam:
    """The optimiser Adam (Kingma & Ba 2015), without momentum. With momentum, a game between two networks diverges."""

    def __init__(self, weights: Weights, rate: float, decays: tuple[float, float] = (0.0, 0.9)):
        self._weights, self._rate, self._decays, self._steps = weights, rate, decays, 0
        self._means = [np.zeros_like(layer) for layer in weights]
        self._squares = [np.zeros_like(layer) for layer in weights]

    def step(self, gradient: Weights) -> None:
        self._steps += 1
        (first, second), t = self._decays, self._steps
        for weights, slope, mean, square in zip(self._weights, gradient, self._means, self._squares, strict=True):
            mean += (1 - first) * (slope - mean)
            square += (1 - second) * (slope**2 - square)
            weights -= self._rate * (mean / (1 - first**t)) / (np.sqrt(square / (1 - second**t)) + 1e-8)


DRAWS = 4096
"""Number of draws of the generator's noise over which the generator's distribution is averaged."""

CHUNK = 2**13
"""Number of rows that pass through the critic at once. The bound on rounding errors in `noisy_gradient` depends on this number.
"""
_LAW_CHUNK = 2**21  # Number of cells of products of columns that are held in memory at once

# Generated rows are softmax(5 (scores + Gumbel noise)) in each column: nearly one bin, as in CTGAN (Xu et al. 2019).
_HARDNESS = 5.0


class AdversarialGenerator(Generator):
    """The hyperparameters of the two networks: a generator, which makes rows, and a critic, which scores them.

    Attributes
    ----------
    steps : the number of training steps of the critic, each at an equal part of the budget. The generator takes one step
        after each. Example: `steps = [300, 1000]`.
    batch : the number of rows that the generator makes in a step. Example: `batch = 500`.
    weight_limit : the largest absolute value of the critic's weights (Wasserstein GAN; Arjovsky, Chintala & Bottou 2017).
        Example: `weight_limit = 0.05`.
    critic_width : the number of units of the critic's hidden layer. Example: `critic_width = 64`.
    generator_width : the number of units of each of the generator's two hidden layers. Example: `generator_width = 256`.
    latent : how many random numbers the generator gets to make one row. Example: `latent = 16`.
    critic_rate : the learning rate of the critic (Adam). Example: `critic_rate = 0.002`.
    generator_rate : the learning rate of the generator (Adam). Example: `generator_rate = 0.001`.
    """

    guarantee: ClassVar[Guaranteed] = "zCDP"
    gaussian: ClassVar[bool] = True
    no_draft: ClassVar[str] = "The networks of this generator need tuning in a rehearsal, so a draft does not use them."
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
            problem = (
                f"The table has {layout.n_cells:,} cells. {self.family!r} models all cells at once, at most {CELL_LIMIT:,}"
            )
            text = f"{problem}. Choose wider bins or another family. The columns with the most bins are {layout.largest()}"
            yield Mistake(field="family", text=text)

    def effort(self, layout: Layout) -> float:
        return float(self.steps * (self.batch + self.critic_width + self.generator_width))

    def peak_cells(self, layout: Layout) -> int:
        width, critic, rows = sum(layout.sizes), self.critic_width, self.generator_width
        weights = 6 * ((width + 2) * critic + (self.latent + rows + 2 * width) * rows)
        generated = self.batch * (4 * width + 6 * rows + self.latent + 3 * critic)
        law = 4 * layout.n_cells + DRAWS * (3 * width + 2 * rows) + 2 * _LAW_CHUNK
        return weights + max(self.private_cells(layout) + generated, law)

    def private_cells(self, layout: Layout) -> int:
        """Return the memory, in numbers, needed while the private rows are used."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """One condition for each row to be generated: a column and one of its bins, as (rows,) arrays."""

    columns: np.ndarray
    bins: np.ndarray


@dataclass(frozen=True)
class Generated:
    """Generated rows, as a (batch, bins of all columns) array with values near 0 or 1, and their forward pass."""

    passed: Passed
    rows: np.ndarray


class Game:
    """The generator and critic networks on the bins of a layout, with their training steps. The only input from the private
    table is a differentially private gradient for each step.

    Parameters
    ----------
    generator : the public random generator that draws weights, noise and rows.
    conditioned : whether rows are generated from conditions.
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
        """Initialise the generator so that its columns are nearly independent and have these frequencies of bins (> 0)."""
        last = self.rows.weights[-1]
        last[:-1] *= 0.1
        last[-1] = np.log(np.concatenate(frequencies))

    def step(self, gradient: Weights, conditions: Conditions | None = None) -> None:
        limit = self.settings.weight_limit
        self._critic_steps.step(gradient)
        for layer in self.critic.weights:
            np.clip(layer, -limit, limit, out=layer)
        self._improve(conditions)
        share = 0.01 if 2 * self._steps > self.settings.steps else 1.0
        self._mean = [a + share * (layer - a) for a, layer in zip(self._mean, self.rows.weights, strict=True)]
        self._steps += 1

    def finish(self) -> None:
        self.rows.weights = self._mean

    def _improve(self, conditions: Conditions | None) -> None:
        generated = self.generated(conditions)
        passed = self.critic.forward(generated.rows)
        by_row = self.critic.by_rows(self.critic.deltas(passed, np.full_like(passed.output, -1 / len(generated.rows))))
        by_score = np.empty_like(by_row)
        for column in self.columns():
            soft, slope = generated.rows[:, column], by_row[:, column]
            by_score[:, column] = _HARDNESS * soft * (slope - (soft * slope).sum(axis=1, keepdims=True))  # a given bin: 0
        self._row_steps.step(Network.gradient(generated.passed, self.rows.deltas(generated.passed, by_score)))

    def generated(self, conditions: Conditions | None = None) -> Generated:
        passed = self._scored(self.settings.batch, conditions)
        scores = _HARDNESS * (passed.output + self.public.gumbel(size=passed.output.shape))
        rows = np.hstack([softmax(scores[:, column]) for column in self.columns()])
        return Generated(passed, rows if conditions is None else self._given(rows, conditions))

    def chances(self, conditions: Conditions | None = None) -> np.ndarray:
        """Return the (draws, bins) probabilities of the bins of all columns, for several draws of the noise or for each
        condition.
        """
        scores = self._scored(DRAWS if conditions is None else len(conditions.columns), conditions).output
        chances = np.hstack([softmax(scores[:, column]) for column in self.columns()])
        return chances if conditions is None else self._given(chances, conditions)

    def one_hot(self, bins: list[np.ndarray]) -> np.ndarray:
        rows = np.zeros((len(bins[0]), self._ends[-1]))
        for start, digits in zip(self._ends, bins, strict=False):
            rows[np.arange(len(digits)), start + digits] = 1
        return rows

    def shares(self, conditions: Conditions | None = None) -> np.ndarray:
        """Return the generator's distribution, with one axis per column: the mean over draws of the product of the columns'
        distributions.
        """
        chances, law = self.chances(conditions), np.zeros(self.layout.sizes)
        draws, columns = len(chances), [chances[:, column] for column in self.columns()]
        half = len(columns) // 2
        widest = max(math.prod(self.layout.sizes[:half]), math.prod(self.layout.sizes[half:]))
        for chunk in np.array_split(np.arange(draws), max(1, draws * widest // _LAW_CHUNK)):
            law += (products(columns[:half], chunk).T @ products(columns[half:], chunk)).reshape(self.layout.sizes)
        return law / draws

    def columns(self) -> list[slice]:
        return [slice(start, stop) for start, stop in zip(self._ends[:-1], self._ends[1:], strict=True)]

    def _scored(self, rows: int, conditions: Conditions | None) -> Passed:
        noise = self.public.normal(size=(rows, self.settings.latent))
        if conditions is None:
            return self.rows.forward(noise)
        one_hot = np.zeros((rows, self._ends[-1]))
        one_hot[np.arange(rows), self._ends[conditions.columns] + conditions.bins] = 1
        return self.rows.forward(np.hstack([noise, one_hot]))

    def _given(self, rows: np.ndarray, conditions: Conditions) -> np.ndarray:
        """Set the bin of every row's condition, in place, and return the rows."""
        for number, column in enumerate(self.columns()):
            rows_given = np.flatnonzero(conditions.columns == number)
            rows[rows_given, column] = 0
            rows[rows_given, self._ends[number] + conditions.bins[rows_given]] = 1
        return rows


def modelled(layout: Layout, shares: np.ndarray) -> DenseModel:
    """Return a model of the table with these shares. Raises RejectedRound if they are no probability distribution, which
    depends on noisy values only.
    """
    if not (np.isfinite(shares).all() and shares.sum() > 0):
        raise RejectedRound("the networks learned no table")
    return DenseModel(layout=layout, shares=shares / shares.sum())


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def products(columns: list[np.ndarray], chunk: np.ndarray) -> np.ndarray:
    """Multiply the columns' distributions for each draw. Return a (draws, product of the numbers of bins) array; the first
    column varies slowest.
    """
    whole = np.ones((len(chunk), 1))
    for column in columns:
        whole = (whole[:, :, None] * column[chunk][:, None, :]).reshape(len(chunk), -1)
    return whole


def gradient_cells(layout: Layout, critic_width: int) -> int:
    return CHUNK * (4 * critic_width + len(layout.sizes))


# Conditions of generated rows are drawn from frequencies that were measured with noise, as part of the charge.
#
# DPCTGAN and PATECTGAN of smartnoise-synth draw conditions from the exact frequencies without a charge.

_SWEEPS = 20


@dataclass(frozen=True, kw_only=True)
class RowWeights:
    """The public weights of rows, by their bin in one column: a positive value for each bin."""

    column: int
    weights: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Frequencies:
    """The noisy, public frequencies of bins: for each column, shares above 0 that sum to 1."""

    columns: tuple[np.ndarray, ...]

    def by_logarithm(self, column: int, n: int, most: float) -> np.ndarray:
        """Return shares of the bins of a column in proportion to the logarithms of their counts among n rows, as in CTGAN
        (Xu et al. 2019), so that rare bins are drawn more often.

        Before normalisation, every share is within a factor of `most` (at least 1) of its frequency.
        """
        frequency = self.columns[column]
        logarithms = np.log1p(n * frequency)
        wanted = np.clip(logarithms / logarithms.sum(), frequency / most, frequency * most)
        return wanted / wanted.sum()

    def everywhere(self, rows: int, public: np.random.Generator) -> Conditions:
        columns, bins = np.arange(rows) % len(self.columns), np.zeros(rows, dtype=np.int64)
        for column, shares in enumerate(self.columns):
            rows_of_column = np.flatnonzero(columns == column)
            bins[rows_of_column] = public.choice(len(shares), size=len(rows_of_column), p=shares)
        return Conditions(columns=columns, bins=bins)

    def raked(self, shares: np.ndarray) -> np.ndarray:
        """Rake a table of shares to the measured frequencies of every column (Deming & Stephan 1940). Zeros remain. This is
        post-processing.
        """
        for _ in range(_SWEEPS):
            for column, frequency in enumerate(self.columns):
                others = tuple(axis for axis in range(shares.ndim) if axis != column)
                sums = shares.sum(axis=others)
                factors = np.divide(frequency, sums, out=np.zeros_like(frequency), where=sums > 0)
                shares = shares * factors.reshape([-1 if axis == column else 1 for axis in range(shares.ndim)])
        return shares


def on_one(column: int, shares: np.ndarray, rows: int, public: np.random.Generator) -> Conditions:
    return Conditions(columns=np.full(rows, column), bins=public.choice(len(shares), size=rows, p=shares))
