"""MWEM (Hardt, Ligett & McSherry, NIPS 2012), native, on cell counts: pure differential privacy.

The version of smartnoise-synth 1.0.8 learns the bounds of its histogram from the private rows, and draws a query again, up to
ten times, when it was measured before, which its guarantee does not cover (docs/generators.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Literal

from synthrelease.candidates.generators.base import Background, Guaranteed
from synthrelease.candidates.generators.counting_queries import CountingQuery, Shares
from synthrelease.candidates.generators.counting_queries.family import CountingQueries
from synthrelease.candidates.generators.dense import DenseModel
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import GENERATION, Charge, mechanism
from synthrelease.privacy.plan import pure_epsilon


class MWEM(CountingQueries):
    """MWEM: multiplicative weights, corrected by cells that the exponential mechanism chooses.

    Examples
    --------
    >>> MWEM(queries=30, iterations=30, inner_updates=60).guarantee
    'pure'
    """

    words: ClassVar[str] = (
        "MWEM (Hardt, Ligett and McSherry, NIPS 2012): again and again the count that the model gets most wrong is chosen "
        "privately and measured with noise, and the model is corrected by multiplicative weights."
    )
    family: Literal["mwem"] = "mwem"
    guarantee: ClassVar[Guaranteed] = "pure"

    def charge(self, epsilon: Fraction) -> Charge:
        return mechanism(GENERATION, epsilon, f"MWEM: {self.iterations} choices and counts (Hardt, Ligett & McSherry 2012)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Choose, measure and correct.

        Privacy
        -------
        eps-DP, neighbours replace one record: each of T iterations spends eps / (2 T) on an exponential mechanism and as much
        on a discrete Laplace count, both of sensitivity 1 (`counting_queries.mechanism`); adaptive composition.
        """
        from synthrelease.candidates.generators.counting_queries.mechanism import PaperLaplace

        return self._fit(private, charge, background, PaperLaplace, pure_epsilon(charge) / (2 * self.iterations), weighed)


def weighed(model: Shares, query: CountingQuery, share: float) -> None:
    """Multiply the cells of a query by exp((measured - answered) / 2), in shares (Figure 1 there)."""
    model.multiply(query, math.exp((min(max(share, 0.0), 1.0) - model.of(query)) / 2))
