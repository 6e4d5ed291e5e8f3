"""How much likelier an answer can be in one of two worlds than in the other: the loss of one draw, from its exact law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

_NODES = 200
"""Of the quadrature: it is exact for polynomials of a degree below 400, so for permute-and-flip among as many candidates."""
_COARSE = 64
"""Scale from which on rounding takes less than a part in 10,000 of a mean loss."""


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


def mean_of_gaussian(change: np.ndarray, scale: float) -> float:
    """The mean loss of rounded Gaussian noise on integers that differ by `change`: the mean of ln(p / q) under p.

    That of continuous noise, change^2 / (2 scale^2) for each, is a little more: rounding is post-processing.
    """
    from scipy.special import ndtr

    found, reach = 0.0, math.ceil(8 * scale)
    for moved, times in zip(*np.unique(np.abs(change), return_counts=True), strict=True):
        if scale > _COARSE:
            found += int(times) * float(moved) ** 2 / (2 * scale**2)
        elif moved:
            ends = np.arange(-reach, reach + int(moved) + 1) - 0.5
            masses = [np.diff(ndtr((ends - shift) / scale)) for shift in (0, int(moved))]
            kept = (masses[0] > 0) & (masses[1] > 0)
            found += int(times) * float((masses[0] * np.log(masses[0] / masses[1], where=kept, out=np.zeros(len(kept)))).sum())
    return found


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


def log_shares(losses: Sequence[int], rate: Fraction, mechanism: str) -> np.ndarray:
    """The same for candidates that lie so far below the best, a loss of 1 by the factor exp(-rate) less likely."""
    exponents = np.array([float(-loss * rate) for loss in losses])
    if mechanism == "exponential":
        return exponents - np.log(np.exp(exponents).sum())
    if len(losses) >= 2 * _NODES:
        raise ValueError(f"expected fewer than {2 * _NODES} candidates, found {len(losses)}")
    # candidate i is taken when its coin shows heads and no candidate before it does; in uniformly random order that is
    # w_i * (integral over t from 0 to 1 of the product over j != i of 1 - t w_j)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    tails = np.log1p(-np.outer((nodes + 1) / 2, np.exp(exponents)))
    others = np.exp(tails.sum(axis=1, keepdims=True) - tails)
    return exponents + np.log((others * (weights / 2)[:, None]).sum(axis=0))
