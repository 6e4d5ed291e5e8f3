"""Noise for smooth sensitivity under pure differential privacy (theory 11.5, generalised Cauchy noise).

The density is proportional to 1 / (1 + |x|^gamma). A beta-smooth bound S of how far a figure moves to any neighbour is a fact
of the data, and so is the scale of the noise that is made of it: **neither S nor the scale may be published**. With gamma
below 2 the printed mechanism does not keep its promise; this module refuses it.

Drawn by doubles from a generator that is handed over: it protects nobody, and is for public data alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

LEAST_GAMMA = 2.0
"""Below, the printed mechanism passes its epsilon (Merrill 2021, Theorem 2.2.5, is false there)."""


@dataclass(frozen=True, kw_only=True)
class CauchyNoise:
    """q + (S / alpha) X, for any beta-smooth bound S. What is in here follows from epsilon and beta: it is public.

    Attributes
    ----------
    gamma : exponent of the density, at least 2; the variance is finite above 3.
    alpha : S / alpha is the scale, > 0.
    beta : the smoothness that S must have, > 0.

    Raises
    ------
    ValueError : for a gamma below 2.
    """

    gamma: float
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not self.gamma >= LEAST_GAMMA:
            raise ValueError(
                f"expected a gamma of at least 2, found {self.gamma:.4g}: with heavier tails the mechanism passes its epsilon"
            )
        if not (self.alpha > 0 and self.beta > 0):
            raise ValueError("expected an alpha and a beta above 0")

    @classmethod
    def printed(cls, epsilon: float, beta: float) -> CauchyNoise:
        """As the sources have it: gamma = 1 + epsilon / (2 beta), scale S / beta (Merrill 2021, Corollary 6.4.3).

        Raises
        ------
        ValueError : for an epsilon below 2 beta, where gamma is below 2.
        """
        return cls(gamma=1 + epsilon / (2 * beta), alpha=beta, beta=beta)

    @classmethod
    def printed_with_gamma(cls, epsilon: float, gamma: float) -> CauchyNoise:
        """The same with a gamma, and the beta that goes with it: epsilon / (2 (gamma - 1)).

        Raises
        ------
        ValueError : for a gamma below 2, or an epsilon that is not above 0.
        """
        beta = epsilon / (2 * (gamma - 1)) if gamma > 1 else math.nan
        return cls(gamma=gamma, alpha=beta, beta=beta)

    @classmethod
    def with_gamma(cls, epsilon: float, beta: float, gamma: float) -> CauchyNoise:
        """The smallest scale that a gamma allows: alpha = (epsilon - beta (gamma - 1)) / (gamma - 1)^(1 - 1/gamma).

        Raises
        ------
        ValueError : for a gamma below 2, or one that leaves nothing of epsilon.
        """
        if epsilon <= beta * (gamma - 1):
            raise ValueError(
                f"expected an epsilon above beta (gamma - 1) = {beta * (gamma - 1):.4g}, which the scale costs, "
                f"found {epsilon:g}"
            )
        return cls(gamma=gamma, alpha=(epsilon - beta * (gamma - 1)) / slide_cost(gamma), beta=beta)

    @classmethod
    def least_deviation(cls, epsilon: float, beta: float) -> CauchyNoise:
        """The gamma with the smallest standard deviation, and the smallest scale that it allows.

        Raises
        ------
        ValueError : for an epsilon of 2 beta or less, at which no gamma has a finite variance.
        """
        if not epsilon > 2 * beta:
            raise ValueError(f"expected an epsilon above 2 beta = {2 * beta:.4g} for a finite variance, found {epsilon:g}")
        most = 1 + epsilon / beta
        found = optimize.minimize_scalar(
            lambda gamma: cls.with_gamma(epsilon, beta, gamma).deviation,
            bounds=(3 + 1e-9 * (most - 3), most - 1e-9 * (most - 3)),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return cls.with_gamma(epsilon, beta, float(found.x))

    @property
    def epsilon(self) -> float:
        """What one answer costs: alpha slides and beta dilations (theory 11.5, generalised Cauchy noise)."""
        return self.alpha * slide_cost(self.gamma) + self.beta * (self.gamma - 1)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise for S = 1; infinite for gamma of at most 3."""
        return math.sqrt(variance(self.gamma)) / self.alpha

    def draw(self, smooth_bound: float, generator: np.random.Generator) -> float:
        """One number of noise for a smooth bound S >= 0."""
        return float(smooth_bound / self.alpha * draws(self.gamma, 1, generator)[0])


def slide_cost(gamma: float) -> float:
    """(gamma - 1)^(1 - 1/gamma): the largest slope of the log-density, so what a shift by the scale costs."""
    return (gamma - 1) ** (1 - 1 / gamma)


def variance(gamma: float) -> float:
    """sin(pi / gamma) / sin(3 pi / gamma), infinite for gamma of at most 3; 1 for gamma = 4."""
    return math.sin(math.pi / gamma) / math.sin(3 * math.pi / gamma) if gamma > 3 else math.inf


def draws(gamma: float, size: int, generator: np.random.Generator) -> np.ndarray:
    """(size,) numbers of this law: a random sign times (G / G')^(1/gamma), gamma variates of shapes 1/gamma and 1 - 1/gamma."""
    ratio = generator.standard_gamma(1 / gamma, size) / generator.standard_gamma(1 - 1 / gamma, size)
    return generator.choice((-1.0, 1.0), size) * ratio ** (1 / gamma)
