"""Generators with a known fault, claimed to be right: their conversations must tell more than the claim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from synthrelease.accounting.charges import Charge
from synthrelease.audit.loss_cases import LossCase, adaptive_case, loss_cases
from synthrelease.candidates.generators import Background
from synthrelease.candidates.generators.adaptive import Adaptive, AdaptiveModel
from synthrelease.candidates.generators.adaptive.mechanism import Gaussian
from synthrelease.candidates.generators.junction_tree import Columns
from synthrelease.enclave.door import PrivateCounts
from synthrelease.randomness import rounded_gaussian


def faulty_losses() -> Iterator[LossCase]:
    """Every case at twice its epsilon or mu, and faults of a mechanism."""
    for case in loss_cases(Fraction(1, 2)):
        yield replace(case, name=f"{case.name}, half of the noise".removeprefix(", "), faulty=True, conversations=3)
    for fault in (_CountedOnce(), _FreeChoices(), _WithoutNoise()):
        yield replace(adaptive_case(fault), name=fault.fault, faulty=True, conversations=5)


class _Faulty(Adaptive):
    fault: ClassVar[str]
    kind: ClassVar[type[Gaussian]]

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        return self._fit(private, charge, background, self.kind, charge.curve().rho)


class _CountedOnce(_Faulty):
    fault = "a moved record counted once"

    class kind(Gaussian):  # noqa: N801
        def _noisy(self, values: np.ndarray, part: Fraction) -> np.ndarray:
            return rounded_gaussian(values, squared_sensitivity=1, rho=part, entropy=self._entropy)


class _FreeChoices(_Faulty):
    fault = "choices that nobody pays for"

    class kind(Gaussian):  # noqa: N801
        def table(self, columns: Columns, part: Fraction) -> np.ndarray:
            """The table after a choice gets the whole part of the round, of which a tenth was the choice's."""
            self._take(part)
            exact = self._exact.get(columns)
            return self._noisy(exact.ravel(), part / Fraction(9, 10) if len(columns) > 1 else part).reshape(exact.shape)


class _WithoutNoise(_Faulty):
    fault = "the last look at the columns without noise"

    class kind(Gaussian):  # noqa: N801
        def bins(self, column: int, part: Fraction) -> np.ndarray:
            self._take(part)
            return self._bins.get((column,))
