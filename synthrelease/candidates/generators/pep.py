"""PEP, private entropy projection (Liu, Vietri & Wu, NeurIPS 2021, Section 4.1): zero-concentrated, on cell counts.

The model is the table of largest entropy that gives the measured answers, found by projecting onto one answer at a time.
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
from synthrelease.privacy.charges import GENERATION, Charge, zero_concentrated

_SMALLEST = 1e-9
"""Shares are projected onto this much at least, and as much below 1: a cell that is 0 could never come back."""

_LARGEST = 100.0
"""Of the logarithm of a correction: more would overflow. A cell of so small a share comes back in steps."""


class PEP(CountingQueries):
    """PEP: private entropy projection, corrected by cells that a zero-concentrated choice finds.

    Examples
    --------
    >>> PEP(queries=30, iterations=20).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "Private entropy projection (Liu, Vietri and Wu, NeurIPS 2021): again and again the count that the model gets most "
        "wrong is chosen privately and measured with noise; the model is the table of largest entropy with the measured "
        "counts."
    )
    family: Literal["pep"] = "pep"
    guarantee: ClassVar[Guaranteed] = "zCDP"

    def charge(self, epsilon: Fraction) -> Charge:
        return zero_concentrated(GENERATION, epsilon, f"PEP: {self.iterations} choices and counts (Liu, Vietri & Wu 2021)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Choose, measure and project.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record: each of T iterations spends rho / (2 T) on an exponential
        mechanism of epsilon_0 = sqrt(8 rho / (2 T)), rounded down, which is epsilon_0^2 / 8 zero-concentrated because it has
        bounded range (Cesar & Rogers 2021, Lemma 4), and rho / (2 T) on a count with rounded Gaussian noise; both have
        sensitivity 1 (`counting_queries.mechanism`); adaptive composition.
        """
        from synthrelease.candidates.generators.adaptive.mechanism import Gaussian

        rho = charge.curve().rho
        return self._fit(private, charge, background, Gaussian, rho / (2 * self.iterations), projected)


def projected(model: Shares, query: CountingQuery, share: float) -> None:
    """The nearest table, in Kullback-Leibler divergence, that gives this answer: Lemma 1 there."""
    now, wanted = model.of(query), min(max(share, _SMALLEST), 1 - _SMALLEST)
    if 0 < now < 1:
        odds = math.log(wanted) - math.log(now) + math.log1p(-now) - math.log1p(-wanted)
        model.multiply(query, math.exp(min(odds, _LARGEST)))
