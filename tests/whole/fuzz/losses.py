"""The worst loss of one draw, from its exact law: how much likelier an answer can be in one of two worlds than in the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.studio.audit.losses import log_shares


@dataclass(frozen=True, kw_only=True)
class WorstLoss:
    """Of one draw, the worst over its answers.

    Attributes
    ----------
    epsilon : pure; infinite for Gaussian noise on different values.
    rho : zero-concentrated.
    """

    epsilon: float = 0.0
    rho: float = 0.0

    def __add__(self, other: WorstLoss) -> WorstLoss:
        return WorstLoss(epsilon=self.epsilon + other.epsilon, rho=self.rho + other.rho)


def of_laplace(change: np.ndarray, scale: float) -> WorstLoss:
    """Of discrete Laplace noise on integers that differ by `change`."""
    epsilon = float(np.abs(change).sum()) / scale
    return WorstLoss(epsilon=epsilon, rho=epsilon**2 / 2)


def of_gaussian(change: np.ndarray, scale: float) -> WorstLoss:
    squared = float((change.astype(float) ** 2).sum())
    return WorstLoss(epsilon=float("inf") if squared else 0.0, rho=squared / (2 * scale**2))


def of_choice(one: Sequence[int], other: Sequence[int], *, sensitivity: int, epsilon: Fraction, mechanism: str) -> WorstLoss:
    """Of a private choice whose candidates have these scores in the two worlds."""
    ratios = log_probabilities(one, sensitivity, epsilon, mechanism) - log_probabilities(other, sensitivity, epsilon, mechanism)
    worst = float(np.abs(ratios).max())
    # the exponential mechanism has a bounded range (Cesar & Rogers 2021, Lemma 4)
    rho = float(ratios.max() - ratios.min()) ** 2 / 8 if mechanism == "exponential" else worst**2 / 2
    return WorstLoss(epsilon=worst, rho=rho)


def log_probabilities(scores: Sequence[int], sensitivity: int, epsilon: Fraction, mechanism: str) -> np.ndarray:
    """(candidates,) the logarithm of each candidate's probability, in floating point."""
    best = max(scores)
    return log_shares([best - score for score in scores], Fraction(epsilon) / (2 * sensitivity), mechanism)
