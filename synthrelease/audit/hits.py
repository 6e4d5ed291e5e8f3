"""What counts of hits prove about epsilon: Clopper-Pearson bounds, and how many draws a wrong scale takes to be found."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Hits:
    """How often an event happened in independent draws."""

    hits: int
    draws: int


def lower_bounds(hits: np.ndarray, draws: int, error: float) -> np.ndarray:
    """One-sided lower bounds of probabilities, each too high with probability at most `error` (Clopper & Pearson 1934).

    Parameters
    ----------
    hits : (k,) numbers in [0, draws]; they need not be whole, which is used to look ahead.
    """
    from scipy.special import betaincinv

    hits = np.asarray(hits, dtype=float)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), draws - hits + 1, error), 0.0)


def upper_bounds(hits: np.ndarray, draws: int, error: float) -> np.ndarray:
    """One-sided upper bounds of probabilities, each too low with probability at most `error`."""
    return 1.0 - lower_bounds(draws - np.asarray(hits, dtype=float), draws, error)


def shown_by(low: np.ndarray, high: np.ndarray, *, gaussian: bool) -> np.ndarray:
    """The epsilon, or the mu, of events that have at least one probability on the left and at most another on the right.

    Pr[E | left] <= e^eps Pr[E | right] for every event of an eps-DP mechanism. Of a mu-Gaussian one the quantile of N(0, 1) at
    Pr[E | left] is at most mu above that at Pr[E | right] (Dong, Roth & Su 2022, Definition 2.6).
    """
    from scipy.special import ndtri

    if gaussian:
        return np.where(low > 0, ndtri(np.clip(low, 1e-300, 1)) - ndtri(np.clip(high, 1e-300, 1)), -np.inf)
    return np.log(np.maximum(low, 1e-300)) - np.log(high)


def proven(left: Hits, right: Hits, error: float, *, gaussian: bool = False) -> float:
    """An epsilon, or a mu, that a mechanism exceeds with confidence 1 - error, from bounds of both probabilities.

    The event must have been fixed before these draws. Minus infinity when there was no hit on the left.
    """
    low = lower_bounds(np.array([left.hits]), left.draws, error / 2)
    high = upper_bounds(np.array([right.hits]), right.draws, error / 2)
    return float(shown_by(low, high, gaussian=gaussian)[0]) if low[0] > 0 else -math.inf


def draws_to_find(more: float, less: float, claim: float, *, error: float, power: float = 0.999) -> int:
    """Draws on each side after which an event is found to be above a claim with this probability.

    The logarithm of a share of hits has deviation sqrt((1 - p) / (p draws)) about; the difference of two has to exceed the
    claim in spite of both bounds and of bad luck.

    Parameters
    ----------
    more, less : the probabilities of the event on the two sides, ln(more / less) > claim.
    error : of `proven`.
    """
    from scipy.special import ndtri

    first, second = (math.sqrt((1 - p) / p) for p in (more, less))
    deviations = float(ndtri(1 - error / 2)) * (first + second) + float(ndtri(power)) * math.hypot(first, second)
    return math.ceil((deviations / (math.log(more / less) - claim)) ** 2)
