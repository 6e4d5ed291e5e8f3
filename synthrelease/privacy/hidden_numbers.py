"""Draw the stop coin and the hidden number of rounds of a private selection, exactly, from the operating system's entropy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from synthrelease.privacy.noise import SYSTEM
from synthrelease.privacy.samplers import TruncatedNegativeBinomial, inverted


def coin(probability: Fraction) -> bool:
    """Return True with exactly this probability."""
    return SYSTEM.pick(probability.denominator) < probability.numerator


def from_finite_law(law: Sequence[tuple[int, Fraction]]) -> int:
    """Draw a number exactly from pairs (number, probability). Raises ValueError unless the probabilities are at least 0 and add
    up to 1."""
    parts = math.lcm(*(probability.denominator for _, probability in law))
    shares = [probability * parts for _, probability in law]
    if sum(shares) != parts or min(shares) < 0:
        raise ValueError("the probabilities are impossible: expected probabilities of at least 0 that sum to 1")
    left = SYSTEM.pick(parts)
    for (number, _), share in zip(law, shares, strict=True):
        if left < share:
            return number
        left -= int(share)
    raise AssertionError("the shares add up to all parts")


def truncated_negative_binomial(shape: Fraction, stop_probability: Fraction) -> int:
    """Draw the secret number of rounds K >= 1 of a private selection, exactly, from a truncated negative binomial distribution
    (Papernot & Steinke 2022, Definition 1).

    Parameters
    ----------
    shape : eta > -1; 1 is the geometric distribution, 0 the logarithmic distribution.
    stop_probability : gamma in (0, 1).

    Returns
    -------
    K with exactly Pr[K = k] = (1 - gamma)^k / (gamma^-eta - 1) * prod_{l < k} (l + eta) / (l + 1), drawn by inversion with as
    many uniform bits as K needs (theory 9.10, hidden number by inversion).
    """
    if not (shape > -1 and 0 < stop_probability < 1):
        raise ValueError("a truncated negative binomial law needs a shape above -1 and a stop probability in (0, 1)")
    return 1 + inverted(
        TruncatedNegativeBinomial(shape=shape, stop_probability=stop_probability), lambda bits: SYSTEM.pick(1 << bits)
    )
