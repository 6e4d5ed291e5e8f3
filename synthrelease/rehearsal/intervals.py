"""Exact confidence intervals of a probability."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A share of successes with its confidence interval, all in [0, 1]."""

    successes: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.successes / self.trials if self.trials else 0.0


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Estimate:
    """The interval that holds the true probability with at least the given confidence (Clopper & Pearson, 1934).

    Without trials it is [0, 1].
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Estimate(successes=successes, trials=trials, low=low, high=high)
