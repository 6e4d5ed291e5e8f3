"""Limits of sums of noise against the exact law, summed up cell by cell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from synthrelease.measurements.limits import Parts, noise_limit

PARTS: list[Parts] = [
    ((2.0, 1, 1),),
    ((2.0, 1, 5),),
    ((1.5, 3, 2),),
    ((2.0, 1, 3), (0.7, 2, 2)),
    ((5.0, 1, 1), (1.0, 8, 1)),
]


def law(parts: Parts) -> np.ndarray:
    """Probabilities of -m, ..., m of the sum, by convolution: one noise after the other."""
    found = np.ones(1)
    for scale, weight, count in parts:
        reach = math.ceil(45 * scale)
        a = math.exp(-1 / scale)
        one = np.zeros(2 * reach * weight + 1)
        one[::weight] = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1.0))
        for _ in range(count):
            found = np.convolve(found, one)
    return found


def beyond(probabilities: np.ndarray, limit: int) -> float:
    """Pr[|sum| > limit]."""
    middle = len(probabilities) // 2
    return float(probabilities[: middle - limit].sum() + probabilities[middle + limit + 1 :].sum())


@pytest.mark.parametrize("risk", [0.2, 1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_a_limit_holds_at_its_risk_and_no_smaller_one_would(parts: Parts, risk: float) -> None:
    exact, limit = law(parts), noise_limit(parts, risk)
    assert beyond(exact, limit) <= risk
    if risk > 1e-6 or parts[0][1:] == (1, 1) and len(parts) == 1:
        # from the law itself, and not from Markov's inequality: the next smaller value that the sum can have is too small
        smaller = max((value for value in range(limit) if exact[len(exact) // 2 + value] > 1e-15), default=None)
        assert smaller is None or beyond(exact, smaller) > risk - 2e-8


def test_sums_that_fit_on_no_grid_have_a_limit_all_the_same() -> None:
    heavy: Parts = ((300.0, 2000, 50),)
    limit, deviation = noise_limit(heavy, 1e-3), math.sqrt(50 * 2) * 300 * 2000
    assert 3.29 * deviation < limit < 4.3 * deviation  # normal: 3.29; Markov's inequality takes about a sixth more
