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


def draws_to_find(more: float, less: float, claim: float, *, error: float, power: float = 0.999) -> int:
    """Draws on each side after which an event is found to be above a claim with this probability.

    The logarithm of a share of hits has deviation sqrt((1 - p) / (p draws)) about; the difference of two has to exceed the
    claim in spite of both bounds and of bad luck.

    Parameters
    ----------
    more, less : the probabilities of the event on the two sides, ln(more / less) > claim.
    error : of `proven_epsilon`.
    """
    from scipy.special import ndtri

    first, second = (math.sqrt((1 - p) / p) for p in (more, less))
    deviations = float(ndtri(1 - error / 2)) * (first + second) + float(ndtri(power)) * math.hypot(first, second)
    return math.ceil((deviations / (math.log(more / less) - claim)) ** 2)
