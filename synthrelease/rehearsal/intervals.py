"""Confidence intervals of a probability, and of a mean of figures in [0, 1], that hold for any number of trials.

`Looks` are intervals that may say themselves, on the way, that enough was tried.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_EARLY = 0.3
"""Share of the probability to miss that is kept for the early looks."""
_STAKES = (1.0, 0.5, 0.25)
"""Shares of the capital that are put on every figure (`narrow_mean`)."""


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


def narrow_mean(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """As `bounded_mean`, and much narrower where the figures hardly differ; wider for those that are 0 or 1.

    A capital of 1 is put on the figures x_t, a share b of it on each, as if the mean of their expectations M_t were m: it
    becomes W_b = prod_t (1 - b + b x_t / m). Where that is so, E[W_b] = prod_t (1 - b + b M_t / m) is at most 1, since a
    product of numbers is at most the power of their mean. So W, the mean of W_b over some b, is 2 / (1 - level) or more with at
    most half of the probability to miss (Markov). W falls with m: the lower end is where it crosses, and the upper end that of
    1 - x_t. After Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (2023), with fixed stakes.
    """
    if not values:
        return 0.0, 1.0
    times, most = sorted(Counter(values).items()), 2 / (1 - level)
    return _lower_by_bets(tuple(times), most), 1 - _lower_by_bets(tuple((1 - value, many) for value, many in times), most)


@lru_cache(maxsize=4096)  # a race looks at the same figures in every stage
def _lower_by_bets(times: tuple[tuple[float, int], ...], most: float) -> float:
    """The smallest mean m at which bets win less than this, rounded down; figures, and how often each is there."""

    def won(mean: float) -> float:
        logs = (math.fsum(many * _log(1 - stake + stake * value / mean) for value, many in times) for stake in _STAKES)
        return math.fsum(math.exp(min(each, 700.0)) for each in logs) / len(_STAKES)

    mean = math.fsum(many * value for value, many in times) / sum(many for _, many in times)
    low, high = 0.0, min(1.0, mean)  # at the mean itself nobody wins
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and won(middle) >= most else (low, middle)
    return low


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


@dataclass(frozen=True, kw_only=True)
class Looks:
    """Intervals of a mean that are looked at after a quarter, after half and after all of the planned figures.

    The first that is narrow enough may be the last: any of them misses with at most the probability that the level leaves
    (Boole), so that whichever is stated holds with this confidence.

    Attributes
    ----------
    planned : figures, at most.
    level : of confidence, in (0, 1).
    """

    planned: int
    level: float = 0.95

    @property
    def after(self) -> tuple[int, ...]:
        """Numbers of figures."""
        return tuple(sorted({-(-self.planned // 4), -(-self.planned // 2), self.planned}))

    def mean(self, values: Sequence[float]) -> tuple[float, float]:
        """The interval after so many figures."""
        miss = 1 - self.level
        if len(values) >= self.planned:
            return bounded_mean(values, 1 - (1 - _EARLY) * miss)
        return narrow_mean(values, 1 - _EARLY * miss / 2)


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
