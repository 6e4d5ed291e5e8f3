"""DPGAN, a generative adversarial network whose critic is trained privately (Xie, Lin, Wang, Wang & Zhou 2018), on cell counts.

A generator network turns noise into rows, a critic network tells rows of the table from generated ones, and each is trained
against the other. Only the critic's gradient over the table's rows is private (`adversarial.mechanism`); the rest is
`adversarial`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from synthrelease.candidates.generators.adversarial import AdversarialGenerator, Game, gradient_cells, modelled
from synthrelease.candidates.generators.base import Background, Guaranteed
from synthrelease.candidates.generators.dense import DenseModel, plausible_cells
from synthrelease.data.layout import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import GENERATION, Charge, zero_concentrated


class GradientGenerator(AdversarialGenerator):
    """Networks of which the critic is trained with noisy gradients.

    Attributes
    ----------
    clip : the gradient of a row is shortened to this length, where it is longer. Example: `clip = [0.1, 1, 5]`.
    """

    clip: float = Field(default=1.0, ge=1e-3, le=1e3)

    def private_cells(self, layout: Layout) -> int:
        return gradient_cells(layout, self.critic_width)


class DPGAN(GradientGenerator):
    """DPGAN: a generative adversarial network whose critic is trained with noisy gradients.

    Examples
    --------
    >>> DPGAN(steps=100, batch=100, generator_width=16, latent=4, critic_width=8, generator_rate=0.003).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "DPGAN (Xie, Lin, Wang, Wang and Zhou 2018): two neural networks are trained against each other, one makes rows, the "
        "other tells them from the original records; what the second one learns from the records has noise."
    )
    family: Literal["dpgan"] = "dpgan"
    guarantee: ClassVar[Guaranteed] = "zCDP"
    gaussian: ClassVar[bool] = True
    seconds_per_effort: ClassVar[float] = 8.5e-5

    def charge(self, epsilon: Fraction) -> Charge:
        return zero_concentrated(GENERATION, epsilon, f"DPGAN: {self.steps} noisy gradients (Xie et al. 2018)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Train both networks.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record: each of T steps spends rho / T on one `noisy_gradient`; adaptive
        composition. Everything else sees generated rows and noisy gradients alone.
        """
        from synthrelease.candidates.generators.adversarial.mechanism import trained

        entropy, layout, part = private.entropy, private.layout, charge.curve().rho / self.steps
        free, game = plausible_cells(background.plausibility), Game(self, layout, private.entropy.generator())
        private.spend(charge, partial(trained, game=game, steps=self.steps, clip=self.clip, part=part, entropy=entropy))
        return modelled(layout, game.shares() * free)
