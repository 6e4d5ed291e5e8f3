"""Generators with a known fault, claimed to be right: their conversations must tell more than the claim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from synthrelease.audit.loss_cases import LossCase, adaptive_case, loss_cases
from synthrelease.data.layout import Columns
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.adaptive import Adaptive, AdaptiveModel, AdaptivePure
from synthrelease.generators.adaptive_mechanism import Gaussian, Laplace
from synthrelease.generators.base import Background
from synthrelease.privacy.charges import Charge
from synthrelease.privacy.noise import rounded_gaussian


def faulty_losses() -> Iterator[LossCase]:
    """Every case at twice its epsilon or mu, and faults of a mechanism."""
    for case in loss_cases(Fraction(2)):
        yield replace(case, name=f"{case.name}, half of the noise", faulty=True, conversations=3)
    for fault in (_CountedOnce(), _FreeChoices(), _WithoutNoise()):
        yield replace(adaptive_case(fault), name=fault.fault, faulty=True, conversations=3)


class _CountedOnce(Adaptive):
    fault: ClassVar[str] = "a moved record counted once"

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        class CountedOnceTables(Gaussian):
            def _noisy(self, values: np.ndarray, part: Fraction) -> np.ndarray:
                return rounded_gaussian(values, squared_sensitivity=1, rho=part, entropy=self._entropy)

        return self._fit(private, charge, background, CountedOnceTables, charge.curve().rho)


class _FreeChoices(AdaptivePure):
    fault: ClassVar[str] = "choices that nobody pays for"

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        class FreeChoiceTables(Laplace):
            def table(self, columns: Columns, part: Fraction) -> np.ndarray:
                """The table after a choice gets the whole part of its round, a tenth of which was the choice's."""
                self._take(part)
                exact, whole = self._exact.get(columns), part / Fraction(9, 10) if len(columns) > 1 else part
                return self._noisy(exact.ravel(), whole).reshape(exact.shape)

        return self._fit(private, charge, background, FreeChoiceTables, charge.epsilon)


class _WithoutNoise(Adaptive):
    fault: ClassVar[str] = "the last look at the columns without noise"

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        class BareTables(Gaussian):
            def bins(self, column: int, part: Fraction) -> np.ndarray:
                self._take(part)
                return self._bins.get((column,))

        return self._fit(private, charge, background, BareTables, charge.curve().rho)
