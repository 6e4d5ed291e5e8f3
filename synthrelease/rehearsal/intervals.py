"""Confidence intervals of a probability, and of a mean of figures in [0, 1], that hold for any number of trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ShareEstimate:
    """A share of successes with its confidence interval, all in [0, 1]."""

    successes: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.successes / self.trials if self.trials else 0.0


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> ShareEstimate:
    """The interval that holds the true probability with at least the given confidence (Clopper & Pearson, 1934).

    Without trials it is [0, 1].
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return ShareEstimate(successes=successes, trials=trials, low=low, high=high)


def bounded_mean(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """An interval that holds the mean of the expectations of independent figures in [0, 1] with at least this confidence.

    Hoeffding (1963, Theorem 1): with m the mean of n such figures and M that of their expectations, Pr[m <= x] <= exp(-n kl(x,
    M)) for x <= M, kl the divergence of two coins, and the same upwards. The ends are the M at which this is (1 - level) / 2.
    It asks nothing of the law of the figures, so it is a little wider than Clopper and Pearson's for those that are 0 or 1.
    """
    if not values:
        return 0.0, 1.0
    mean = min(1.0, max(0.0, math.fsum(values) / len(values)))
    most = math.log(2 / (1 - level)) / len(values)
    return 1 - _further(1 - mean, most), _further(mean, most)


def _further(mean: float, most: float) -> float:
    """The largest M >= mean with kl(mean, M) <= most, rounded up."""
    low, high = mean, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _divergence(mean, middle) <= most else (low, middle)
    return high


def _divergence(first: float, second: float) -> float:
    """kl of two coins; 0 log 0 = 0."""
    if not 0 < second < 1:
        return 0.0 if first == second else math.inf
    heads = first * math.log(first / second) if first > 0 else 0.0
    tails = (1 - first) * math.log((1 - first) / (1 - second)) if first < 1 else 0.0
    return heads + tails
