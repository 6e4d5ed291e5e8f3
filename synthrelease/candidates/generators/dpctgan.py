"""A conditional DPGAN, after DPCTGAN (Rosenblatt et al. 2020) and CTGAN (Xu et al. 2019): rare bins are asked for on purpose.

In every step one column is the condition: the generator is given a bin of it and makes the rest of the row, and rows of the
table count by their bin in it, so that both sides have it equally often. Which bins are asked for how often is a function of
frequencies that were measured with noise and are part of the charge. Unlike the library's, gradients are
over all rows, not over batches; there are no packs of rows and no extra loss for the condition, since a row has its bin by
construction; and the law of all cells is released, not single draws. docs/generators.md says why the library's is not offered.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from synthrelease.candidates.generators.adversarial import DRAWS, Game, modelled
from synthrelease.candidates.generators.base import Background, Guaranteed
from synthrelease.candidates.generators.dense import DenseModel, plausible_cells
from synthrelease.candidates.generators.dpgan import GradientGenerator
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import GENERATION, Charge, zero_concentrated


class DPCTGAN(GradientGenerator):
    """DPCTGAN: as DPGAN, and rows are made for a bin that is asked for, rare ones more often than they occur.

    Attributes
    ----------
    measured : share of the budget for the frequencies of all bins, in (0, 1). Example: `measured = [0.05, 0.2]`.
    oversampling : a bin is asked for as often as the logarithm of its count says (CTGAN), but within about this factor of how
        often it occurs; its rows count as much more or less, before `clip`. With 1 bins are asked for as often as they occur.
        Example: `oversampling = [1, 2]`, `clip = 2`.

    Examples
    --------
    >>> DPCTGAN(steps=100, batch=100, generator_width=16, latent=4, critic_width=8).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "A conditional GAN (after DPCTGAN, Rosenblatt et al. 2020): two neural networks are trained against each other, one "
        "makes rows with a category that is asked for, the other tells them from the original records; what is learned from "
        "the records, also how frequent the categories are, has noise."
    )
    family: Literal["dpctgan"] = "dpctgan"
    guarantee: ClassVar[Guaranteed] = "zCDP"
    gaussian: ClassVar[bool] = True
    seconds_per_effort: ClassVar[float] = 9e-5
    steps: int = Field(default=300, ge=1, le=100_000)
    generator_rate: float = Field(default=0.002, gt=0, le=0.1)
    measured: Fraction = Field(default=Fraction(1, 10), gt=0, lt=1)
    oversampling: float = Field(default=1.0, ge=1, le=1e3)

    def charge(self, epsilon: Fraction) -> Charge:
        name = f"DPCTGAN: noisy frequencies, and {self.steps} noisy gradients (Xie et al. 2018)"
        return zero_concentrated(GENERATION, epsilon, name)

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Measure the frequencies, then train both networks.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record: rho_1 = `measured` rho for the frequencies
        (`noisy_frequencies`), and (rho - rho_1) / T for the `noisy_gradient` of each of T steps, whose weights are a
        function of the noisy frequencies; adaptive composition (theory 12.7, conditional networks). Everything else
        sees generated rows, noisy frequencies and noisy gradients alone.
        """
        from synthrelease.candidates.generators.adversarial.mechanism import trained_on_conditions

        rho, entropy, layout = charge.curve().rho, private.entropy, private.layout
        first, public = rho * self.measured, private.entropy.generator()
        free, game = plausible_cells(background.plausibility), Game(self, layout, public, conditioned=True)
        learn = partial(
            trained_on_conditions,
            game=game,
            steps=self.steps,
            clip=self.clip,
            first=first,
            part=(rho - first) / self.steps,
            oversampling=self.oversampling,
            entropy=entropy,
            public=public,
        )
        found = private.spend(charge, learn)
        conditions = found.everywhere(DRAWS, public)
        return modelled(layout, found.raked(game.shares(conditions) * free))
