"""The nominal epsilon of swapping, its least value, and the rates that a budget allows (theory 10.1, permutation swapping).

The nominal epsilon is a rate: the log-probability of an output changes by at most epsilon for each record that differs. Two
tables with the same invariants differ in two records or more, as a value that changes needs another that changes back. So what
swapping hides from each other is up to **twice the nominal epsilon** apart (`pairwise_epsilon`), and this is the number to
hold beside the epsilon of a release, whose neighbours differ in one record.
"""

from __future__ import annotations

import math
from fractions import Fraction

CLOSEST = 2
"""Records in which the closest two tables with the same invariants differ."""


def nominal_epsilon(rate: Fraction | float, largest_stratum: int) -> float:
    """ln(b + 1) - ln o with the odds o = p / (1 - p); for p above 1/2, ln o where that is more (Bailie, Gong & Meng 2023).

    Parameters
    ----------
    rate : p in (0, 1). largest_stratum : b >= 1, the size of the largest stratum of the table that is swapped. It is a fact of
    the data, which may be used
        because the sizes of strata are published exactly anyway.
    """
    if not (0 < rate < 1 and largest_stratum >= 1):
        raise ValueError("a nominal epsilon needs a swap rate in (0, 1) and a stratum of at least one record")
    log_odds = math.log(rate / (1 - rate))
    return max(log_odds, math.log(largest_stratum + 1) - log_odds)


def pairwise_epsilon(rate: Fraction | float, largest_stratum: int) -> float:
    """Twice the nominal epsilon: what the closest tables that swapping hides from each other can be apart.

    For rates above 1/2 at which ln o is the larger term it is reached: no smaller number is true.
    """
    return CLOSEST * nominal_epsilon(rate, largest_stratum)


def least_epsilon(largest_stratum: int) -> float:
    """The smallest nominal epsilon of any rate, ln(b + 1) / 2, which is that of `best_rate`."""
    if largest_stratum < 1:
        raise ValueError("a nominal epsilon needs a stratum of at least one record")
    return math.log(largest_stratum + 1) / 2


def best_rate(largest_stratum: int) -> float:
    """The rate with the smallest nominal epsilon: odds of sqrt(b + 1), so nearly every record is selected."""
    odds = math.exp(least_epsilon(largest_stratum))
    return odds / (1 + odds)


def rates_for(epsilon: float, largest_stratum: int) -> tuple[float, float]:
    """The lower and the higher rate whose nominal epsilon is this one: odds (b + 1) e^-epsilon and e^epsilon.

    Raises
    ------
    ValueError : for an epsilon below the least one, or not finite.
    """
    least = least_epsilon(largest_stratum)
    if not (least <= epsilon < math.inf):
        raise ValueError(
            f"expected a nominal epsilon of at least {least:.4f}, the least with strata of {largest_stratum} records, "
            f"found {epsilon:g}"
        )
    return _rate(math.log(largest_stratum + 1) - epsilon), _rate(epsilon)


def _rate(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))
