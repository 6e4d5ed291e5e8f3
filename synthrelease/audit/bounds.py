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


def proven_epsilon(left: Hits, right: Hits, error: float) -> float:
    """An epsilon that a mechanism exceeds with confidence 1 - error: ln(lower bound on the left / upper bound on the right).

    Pr[E | left] <= e^eps Pr[E | right] for every event of an eps-DP mechanism. The event must have been fixed before these
    draws. Minus infinity when there was no hit on the left.
    """
    low = float(lower_bounds(np.array([left.hits]), left.draws, error / 2)[0])
    high = float(upper_bounds(np.array([right.hits]), right.draws, error / 2)[0])
    return math.log(low / high) if low > 0 else -math.inf


def draws_to_find(epsilon: float, *, error: float, scale_error: float = 0.1, power: float = 0.999) -> int:
    """Draws on each side after which Laplace noise of too small a scale is found with this probability.

    The best event against noise of scale 0.9/eps is a half line, whose probabilities on the two sides are 1/(1+a) and
    a/(1+a), a = exp(-eps/0.9). The logarithm of a share of hits then has deviation sqrt(a/draws) on one side and
    1/sqrt(a draws) on the other; their difference has to exceed the claim in spite of both bounds and of bad luck.

    Parameters
    ----------
    error : of `proven_epsilon`.
    """
    from scipy.special import ndtri

    true = epsilon / (1 - scale_error)
    small, large = math.exp(-true / 2), math.exp(true / 2)
    deviations = float(ndtri(1 - error / 2)) * (small + large) + float(ndtri(power)) * math.hypot(small, large)
    return math.ceil((deviations / (true - epsilon)) ** 2)
