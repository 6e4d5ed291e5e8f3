"""How much likelier an answer can be in one of two worlds than in the other: the loss of one draw, from its exact law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

_NODES = 200
"""Of the quadrature: it is exact for polynomials of a degree below 400, so for permute-and-flip among as many candidates."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Of one draw, the worst over its answers.

    Attributes
    ----------
    epsilon : pure; infinite for Gaussian noise on different values.
    rho : zero-concentrated.
    """

    epsilon: float = 0.0
    rho: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(epsilon=self.epsilon + other.epsilon, rho=self.rho + other.rho)


def of_laplace(change: np.ndarray, scale: float) -> Loss:
    """Of discrete Laplace noise on integers that differ by `change`."""
    epsilon = float(np.abs(change).sum()) / scale
    return Loss(epsilon=epsilon, rho=epsilon**2 / 2)


def of_gaussian(change: np.ndarray, scale: float) -> Loss:
    squared = float((change.astype(float) ** 2).sum())
    return Loss(epsilon=float("inf") if squared else 0.0, rho=squared / (2 * scale**2))


def of_choice(one: Sequence[int], other: Sequence[int], *, sensitivity: int, epsilon: Fraction, mechanism: str) -> Loss:
    """Of a private choice whose candidates have these scores in the two worlds."""
    ratios = log_probabilities(one, sensitivity, epsilon, mechanism) - log_probabilities(other, sensitivity, epsilon, mechanism)
    worst = float(np.abs(ratios).max())
    # the exponential mechanism has a bounded range (Cesar & Rogers 2021, Lemma 4)
    rho = float(ratios.max() - ratios.min()) ** 2 / 8 if mechanism == "exponential" else worst**2 / 2
    return Loss(epsilon=worst, rho=rho)


def log_probabilities(scores: Sequence[int], sensitivity: int, epsilon: Fraction, mechanism: str) -> np.ndarray:
    """(candidates,) the logarithm of each candidate's probability, in floating point."""
    best = max(scores)
    exponents = np.array([float(-(best - score) * Fraction(epsilon) / (2 * sensitivity)) for score in scores])
    if mechanism == "exponential":
        return exponents - np.log(np.exp(exponents).sum())
    if len(scores) >= 2 * _NODES:
        raise ValueError(f"expected fewer than {2 * _NODES} candidates, found {len(scores)}")
    # candidate i is taken when its coin shows heads and no candidate before it does; in uniformly random order that is
    # w_i * (integral over t from 0 to 1 of the product over j != i of 1 - t w_j)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    tails = np.log1p(-np.outer((nodes + 1) / 2, np.exp(exponents)))
    others = np.exp(tails.sum(axis=1, keepdims=True) - tails)
    return exponents + np.log((others * (weights / 2)[:, None]).sum(axis=0))
