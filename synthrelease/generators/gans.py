"""Define three families of generative adversarial networks on cell counts: dpgan, dpctgan and patectgan.

docs/generators.md states why these families do not use libraries. A generator network turns noise into rows, and a critic
distinguishes them from rows of the table; they are trained against each other (`gan_networks`). The critic learns from the
table only through noisy gradients, or noisy votes.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.data.layout import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.base import Background
from synthrelease.generators.counting_queries import DenseModel, plausible_cells
from synthrelease.generators.gan_networks import (
    DRAWS,
    AdversarialGenerator,
    Conditions,
    Game,
    Network,
    RowWeights,
    Weights,
    gradient_cells,
    modelled,
    on_one,
)
from synthrelease.privacy.charges import GENERATION, Charge, zero_concentrated
from synthrelease.settings.base import Mistake

if TYPE_CHECKING:
    from synthrelease.generators.adversarial_mechanism import NoisyGradients
    from synthrelease.generators.patectgan_mechanism import Pairs

# DPGAN, a generative adversarial network whose critic is trained privately (Xie, Lin, Wang, Wang & Zhou 2018), on cell counts.
#
# Only the critic's gradient over the table's rows is private (`adversarial_mechanism`).


class GradientGenerator(AdversarialGenerator):
    """The base class of generative adversarial networks whose critic (which scores rows) is trained with noisy gradients.

    Attributes
    ----------
    clip : the largest l2 norm of a row's gradient, to which longer gradients are shortened. Example: `clip = [0.1, 1, 5]`.
    """

    clip: float = Field(default=1.0, ge=1e-3, le=1e3)

    def _train(
        self,
        game: Game,
        rows: NoisyGradients,
        part: Fraction,
        n: int,
        conditions: Conditions | None = None,
        row_weights: RowWeights | None = None,
    ) -> None:
        """Train both networks for one step, at the cost of `part` of rho."""
        from synthrelease.generators.adversarial_mechanism import clipped_shares

        towards = rows.gradient(game.critic, self.clip, part, row_weights)
        generated = game.generated(conditions).rows
        away = game.critic.sum_of_rows(generated, partial(clipped_shares, clip=self.clip))
        game.step([b / len(generated) - a / n for a, b in zip(towards, away, strict=True)], conditions)

    def private_cells(self, layout: Layout) -> int:
        return gradient_cells(layout, self.critic_width)


class DPGAN(GradientGenerator):
    """A generative adversarial network whose critic is trained with noisy gradients.

    Examples
    --------
    >>> DPGAN(steps=100, batch=100, generator_width=16, latent=4, critic_width=8, generator_rate=0.003).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "DPGAN (Xie, Lin, Wang, Wang and Zhou 2018): two neural networks are trained against each other. One makes rows, the "
        "other distinguishes these rows from original records. The training of the second network has noise."
    )
    family: Literal["dpgan"] = "dpgan"
    seconds_per_effort: ClassVar[float] = 8.5e-5

    def charge(self, epsilon: Fraction) -> Charge:
        return zero_concentrated(GENERATION, epsilon, f"DPGAN: {self.steps} noisy gradients (Xie et al. 2018)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Train the two networks with noisy gradients, and return the learned model.

        Privacy
        -------
        A fit is rho-zero-concentrated; neighbours replace one record. Each of T steps spends rho / T on one
        `noisy_gradient`, and the costs add up (adaptive composition). Everything else is post-processing.
        """
        from synthrelease.generators.adversarial_mechanism import closed_rows

        rho, layout = charge.curve().rho, private.layout
        free, game = plausible_cells(background.plausibility), Game(self, layout, private.entropy.generator())
        rows = private.spend(charge, partial(closed_rows, budget=rho, entropy=private.entropy))
        for _ in range(self.steps):
            self._train(game, rows, rho / self.steps, private.n)
        game.finish()
        return modelled(layout, game.shares() * free)


# A conditional DPGAN, after DPCTGAN (Rosenblatt et al. 2020) and CTGAN (Xu et al. 2019), requests rare bins more often.
#
# In every step one column is the condition: the generator gets a bin of this column and makes the rest of the row. The rows of
# the table are weighted by their bin, so that generated rows and rows of the table have each bin equally often. How often each
# bin is requested depends on frequencies that were measured with noise, as part of the charge. There are three differences from
# the library. Gradients are over all rows, not over batches. There are no packs of rows and no extra loss for the condition,
# because a row has its bin by construction. The released rows follow the distribution over all cells, not single draws.


class DPCTGAN(GradientGenerator):
    """A DPGAN that generates each row for a requested bin. In training, it requests rare bins more often than they occur.

    Attributes
    ----------
    measured : the share of the budget for the frequencies of all bins, between 0 and 1. Example: `measured = [0.05, 0.2]`.
    oversampling : the largest ratio between the share of a bin in the requests and its share in the rows. Up to this ratio,
        requests are proportional to the logarithm of the bin's count, as in CTGAN. The rows of the bin get the ratio as
        weight, before `clip`. With 1, bins are requested as often as they occur. Example: `oversampling = [1, 2]`, `clip =
        2`.

    Examples
    --------
    >>> DPCTGAN(steps=100, batch=100, generator_width=16, latent=4, critic_width=8).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "A conditional GAN (after DPCTGAN, Rosenblatt et al. 2020): two neural networks are trained against each other. One "
        "makes rows with a requested category, the other distinguishes these rows from original records. The training of the "
        "second network and the frequencies of the categories have noise."
    )
    family: Literal["dpctgan"] = "dpctgan"
    seconds_per_effort: ClassVar[float] = 9e-5
    steps: int = Field(default=300, ge=1, le=100_000)
    generator_rate: float = Field(default=0.002, gt=0, le=0.1)
    measured: Fraction = Field(default=Fraction(1, 10), gt=0, lt=1)
    oversampling: float = Field(default=1.0, ge=1, le=1e3)

    def charge(self, epsilon: Fraction) -> Charge:
        name = f"DPCTGAN: noisy frequencies, and {self.steps} noisy gradients (Xie et al. 2018)"
        return zero_concentrated(GENERATION, epsilon, name)

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Measure the frequencies of bins, train the two networks with noisy gradients, and return the learned model.

        Privacy
        -------
        A fit is rho-zero-concentrated; neighbours replace one record. The frequencies cost rho_1 = `measured` rho
        (`noisy_frequencies`). The `noisy_gradient` of each of T steps costs (rho - rho_1) / T, and its weights are a
        function of the noisy frequencies. The costs add up by adaptive composition (theory 12.7, conditional networks).
        Everything else is post-processing.
        """
        from synthrelease.generators.adversarial_mechanism import closed_rows

        rho, layout, public = charge.curve().rho, private.layout, private.entropy.generator()
        first, free = rho * self.measured, plausible_cells(background.plausibility)
        game = Game(self, layout, public, conditioned=True)

        # Measure the frequencies.
        rows = private.spend(charge, partial(closed_rows, budget=rho, entropy=private.entropy))
        frequencies = rows.frequencies(first)
        game.start(frequencies.columns)

        # Train the two networks, with conditions on one column after the other.
        for step in range(self.steps):
            column = step % len(layout.sizes)
            wanted = frequencies.by_logarithm(column, private.n, self.oversampling)
            weights = RowWeights(column=column, weights=wanted / frequencies.columns[column])
            conditions = on_one(column, wanted, self.batch, public)
            self._train(game, rows, (rho - first) / self.steps, private.n, conditions, weights)
        game.finish()
        return modelled(layout, frequencies.raked(game.shares(frequencies.everywhere(DRAWS, public)) * free))


# A conditional GAN whose critic learns from noisy votes of teachers, after PATE-GAN (Jordon et al. 2019) and PATECTGAN.
#
# In every step, teachers on disjoint parts of the table vote which of some generated rows are real (`patectgan_mechanism`). The
# privacy cost of noisy votes does not depend on their values. The critic, which is called the student in PATE-GAN, uses only
# generated rows and noisy votes, and the generator uses only the critic. Votes are numbers, not thresholded labels, and the
# released rows follow the distribution over all cells, not single draws.

TABLE_LIMIT = 2**26
"""Largest number of counts of all teachers together (256 MiB of memory). Preparing the votes takes twice as much memory."""

_DRAWS = 2000  # Number of draws of the generator's noise with which teachers compare their rows

# Number of additional teachers with generated rows. Their votes are subtracted, because approval by such a teacher does not
# indicate a real row.
_MIRRORS = 64


class PATECTGAN(AdversarialGenerator):
    """A DPCTGAN whose critic learns from the noisy votes of teachers, each with its own part of the rows.

    Attributes
    ----------
    teachers : the number of teachers. Each private row belongs to one teacher. Example: `teachers = [300, 1000]`.
    labels : the number of generated rows on which the teachers vote in each step. Example: `labels = 100`.
    measured : the share of the budget for the frequencies of all bins, between 0 and 1. Example: `measured = [0.05, 0.2]`.

    Examples
    --------
    >>> PATECTGAN(steps=60, batch=50, generator_width=16, latent=4, critic_width=8, teachers=50, labels=40).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "A conditional GAN that learns from votes (after PATE-GAN, Jordon et al. 2019): many teachers, each with "
        "a different part of the original records, vote on the rows that look real. A neural network learns from the votes to "
        "make such rows. The votes and the frequencies of the categories have noise."
    )
    family: Literal["patectgan"] = "patectgan"
    seconds_per_effort: ClassVar[float] = 1.8e-5
    steps: int = Field(default=300, ge=1, le=100_000)
    batch: int = Field(default=500, ge=1, le=100_000)
    generator_rate: float = Field(default=0.002, gt=0, le=0.1)
    teachers: int = Field(default=1000, ge=1, le=100_000)
    labels: int = Field(default=200, ge=1, le=100_000)
    measured: Fraction = Field(default=Fraction(1, 10), gt=0, lt=1)

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        from synthrelease.generators.patectgan_mechanism import Pairs

        yield from super().mistakes(layout, tied)
        cells = self.teachers * Pairs(layout).cells
        if cells > TABLE_LIMIT:
            problem = f"The teachers need {cells:,} counts for the tables of all pairs of columns. The limit is {TABLE_LIMIT:,}"
            text = f"{problem}. Use fewer teachers or wider bins. The columns with the most bins are {layout.largest()}"
            yield Mistake(field="teachers", text=text)

    def charge(self, epsilon: Fraction) -> Charge:
        name = f"PATECTGAN: noisy frequencies, and noisy votes on {self.steps * self.labels} rows (Papernot et al. 2018)"
        return zero_concentrated(GENERATION, epsilon, name)

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Measure the frequencies, assign the rows to teachers, train the networks with noisy votes, and return the model.

        Privacy
        -------
        A fit is rho-zero-concentrated; neighbours replace one record. The frequencies cost rho_1 = `measured` rho
        (`noisy_frequencies`). Given the assignment of rows to teachers, the `noisy_votes` of each of T steps cost (rho -
        rho_1) / T. The costs add up by adaptive composition. The guarantee also holds for the mean over all assignments
        (theory 12.8, votes of teachers). Everything else is post-processing.
        """
        from synthrelease.generators.patectgan_mechanism import Pairs, dealt_out

        rho, entropy, layout = charge.curve().rho, private.entropy, private.layout
        first, public, pairs = rho * self.measured, entropy.generator(), Pairs(layout)
        free, game = plausible_cells(background.plausibility), Game(self, layout, public, conditioned=True)

        # Measure the frequencies, and assign the rows to teachers.
        opened = partial(dealt_out, budget=rho, entropy=entropy, first=first, pairs=pairs, teachers=self.teachers)
        teachers = private.spend(charge, opened)
        frequencies = teachers.frequencies
        game.start(frequencies.columns)

        # Repeat: teachers vote on generated rows, and the two networks are trained with the noisy votes.
        for _ in range(self.steps):
            chances = game.chances(frequencies.everywhere(_DRAWS, public))
            mirrors = Mirrors(pairs, chances, game.columns(), private.n / self.teachers, public)
            rows = mirrors.drawn(self.labels)
            votes = teachers.votes(rows, mirrors.expected, (rho - first) / self.steps)
            surplus = votes / self.teachers - mirrors.votes(rows)
            game.step(towards(game.critic, game.one_hot(rows), surplus), frequencies.everywhere(self.batch, public))
        game.finish()
        return modelled(layout, frequencies.raked(game.shares(frequencies.everywhere(DRAWS, public)) * free))

    def effort(self, layout: Layout) -> float:
        from synthrelease.generators.patectgan_mechanism import Pairs

        votes = self.labels * self.teachers * len(Pairs(layout)) / 10_000
        return float(self.steps * (self.batch + _DRAWS + self.critic_width + self.generator_width + votes))

    def seconds(self, layout: Layout, rows: int) -> float:
        from synthrelease.generators.patectgan_mechanism import Pairs

        dealt = rows + self.steps * rows / self.teachers * _MIRRORS
        return super().seconds(layout, rows) + dealt * len(Pairs(layout)) * 3e-8

    def private_cells(self, layout: Layout) -> int:
        from synthrelease.generators.patectgan_mechanism import TEACHER_CHUNK, Pairs

        pairs = Pairs(layout)
        dealt = TEACHER_CHUNK * (2 * len(pairs) + 2 * len(layout.sizes) + 4)
        return (self.teachers + _MIRRORS) * (3 * pairs.cells // 2 + self.labels) + dealt + 3 * _DRAWS * sum(layout.sizes)


class Mirrors:
    """Teachers with generated instead of private rows. The noisy votes of private teachers are compared with their votes,
    to show where generated rows differ from private rows.

    Parameters
    ----------
    chances : (draws, bins of all columns) probabilities of bins. Columns are independent within a draw.
    rows : mean number of rows of a teacher.
    """

    def __init__(self, pairs: Pairs, chances: np.ndarray, columns: list[slice], rows: float, public: np.random.Generator):
        self._pairs, self._rows, self._public = pairs, rows, public
        self._limits = [np.cumsum(chances[:, column], axis=1) for column in columns]
        self.expected = rows * shares_of(pairs, [chances[:, column] for column in columns])

    def drawn(self, rows: int) -> list[np.ndarray]:
        chosen = self._public.integers(len(self._limits[0]), size=rows)
        bins = []
        for limits in self._limits:
            tried = self._public.random((rows, 1)) * limits[chosen, -1:]
            bins.append(np.minimum((tried >= limits[chosen]).sum(axis=1), limits.shape[1] - 1))
        return bins

    def votes(self, rows: list[np.ndarray]) -> np.ndarray:
        """Return the (rows,) shares of these teachers that vote that a row is real."""
        from synthrelease.generators.patectgan_mechanism import TEACHER_CHUNK, Teachers

        taken, mirrors = round(self._rows * _MIRRORS), Teachers(self._pairs, _MIRRORS)
        for start in range(0, taken, TEACHER_CHUNK):
            bins = self.drawn(min(TEACHER_CHUNK, taken - start))
            mirrors.teach(self._public.integers(_MIRRORS, size=len(bins[0])), bins)
        return mirrors.votes(rows, self.expected) / _MIRRORS


def shares_of(pairs: Pairs, chances: list[np.ndarray]) -> np.ndarray:
    """Return the shares of rows in each combination of bins of two columns, for all pairs in one (cells,) array. Columns of
    `chances` (draws, bins) are independent within a draw.
    """
    joint = [np.diag(chances[a].sum(axis=0)) if a == b else chances[a].T @ chances[b] for a, b in pairs.columns]
    return np.concatenate([table.ravel() for table in joint]) / len(chances[0])


def towards(critic: Network, rows: np.ndarray, surplus: np.ndarray) -> Weights:
    """Return the gradient for a step of the critic towards rows with an above-average `surplus`: votes of private teachers
    minus votes of teachers with generated rows.
    """
    passed = critic.forward(rows)
    return Network.gradient(passed, critic.deltas(passed, (surplus.mean() - surplus)[:, None] / len(rows)))
