"""Noise for smooth sensitivity under pure differential privacy (theory 11.5, generalised Cauchy noise).

The density is proportional to 1 / (1 + |x|^gamma). S is a beta-smooth bound on the change of a statistic to any neighbour. S
and the scale of the noise depend on the data: **neither S nor the scale may be published**. With gamma below 2, the mechanism
as printed exceeds its epsilon, and this module refuses it.

The noise is drawn as doubles from a pseudorandom generator. This noise protects nobody and is for public data only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LEAST_GAMMA = 2.0
"""Smallest gamma for which the printed mechanism keeps its epsilon. For a smaller gamma, Merrill 2021, Theorem 2.2.5, is false.
"""


@dataclass(frozen=True, kw_only=True)
class CauchyNoise:
    """The noise in an answer q + (S / alpha) X. S is a beta-smooth bound on the change of q. All attributes follow from epsilon
    and beta, and are public.

    Attributes
    ----------
    gamma : exponent of the density, at least 2. The variance is finite above 3.
    alpha : the scale of the noise is S / alpha; above 0.
    beta : the smoothness that S must have, above 0.

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
                f"gamma must be at least 2, not {self.gamma:.4g}, because noise with heavier tails exceeds the epsilon"
            )
        if not (self.alpha > 0 and self.beta > 0):
            raise ValueError("alpha and beta must be above 0")

    @classmethod
    def printed(cls, epsilon: float, beta: float) -> CauchyNoise:
        """Return the noise as printed in the source: gamma = 1 + epsilon / (2 beta), scale S / beta (Merrill 2021, Corollary
        6.4.3).

        Raises
        ------
        ValueError : for an epsilon below 2 beta, because gamma is then below 2.
        """
        return cls(gamma=1 + epsilon / (2 * beta), alpha=beta, beta=beta)

    @classmethod
    def printed_with_gamma(cls, epsilon: float, gamma: float) -> CauchyNoise:
        """Return the printed noise for a given gamma, with beta = epsilon / (2 (gamma - 1)).

        Raises
        ------
        ValueError : for a gamma below 2, or an epsilon that is not above 0.
        """
        beta = epsilon / (2 * (gamma - 1)) if gamma > 1 else math.nan
        return cls(gamma=gamma, alpha=beta, beta=beta)

    @property
    def epsilon(self) -> float:
        """Return the epsilon of one answer: the cost of shifts by alpha and of changes of the scale by beta (theory 11.5,
        generalised Cauchy noise).
        """
        return self.alpha * slide_cost(self.gamma) + self.beta * (self.gamma - 1)

    @property
    def deviation(self) -> float:
        """Return the standard deviation of the noise for S = 1; infinite for gamma of at most 3."""
        return math.sqrt(variance(self.gamma)) / self.alpha

    def draw(self, smooth_bound: float, generator: np.random.Generator) -> float:
        """Draw noise for a smooth bound S >= 0."""
        return float(smooth_bound / self.alpha * draws(self.gamma, 1, generator)[0])


def slide_cost(gamma: float) -> float:
    """Return the privacy cost of a shift of the noise by its scale: the largest slope of the log-density, (gamma - 1)^(1 -
    1/gamma).
    """
    return (gamma - 1) ** (1 - 1 / gamma)


def variance(gamma: float) -> float:
    """Return the variance of the noise for scale 1: sin(pi / gamma) / sin(3 pi / gamma), which is 1 for gamma = 4. It is
    infinite for gamma of at most 3.
    """
    return math.sin(math.pi / gamma) / math.sin(3 * math.pi / gamma) if gamma > 3 else math.inf


def draws(gamma: float, size: int, generator: np.random.Generator) -> np.ndarray:
    """Draw (size,) numbers from the generalised Cauchy distribution with scale 1: a random sign times (G / G')^(1/gamma). G
    and G' are gamma variates of shapes 1/gamma and 1 - 1/gamma.
    """
    ratio = generator.standard_gamma(1 / gamma, size) / generator.standard_gamma(1 - 1 / gamma, size)
    return generator.choice((-1.0, 1.0), size) * ratio ** (1 / gamma)
