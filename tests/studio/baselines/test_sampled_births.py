"""Who answered less often: what inverse rates miss, and weighting afterwards does not.

tests/benchmarks/post_stratification.py has 400 runs.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.helpers.sampled_births import QUESTIONS, UNDER_25, births, by_calibration, by_known_total, by_rate, by_thesis, sample

EVERYBODY, _, YOUNG = QUESTIONS
RUNS = 24


@pytest.fixture(scope="module")
def errors() -> dict[str, np.ndarray]:
    """Relative errors of the number of light births, with mothers under 25 asked half as often."""
    generator = np.random.default_rng(4)
    found: dict[str, list[float]] = {"thesis": [], "calibrated": [], "rate": [], "known": []}
    for _ in range(RUNS):
        answered = sample(generator, biased=True)
        found["calibrated"].append(by_calibration(answered, QUESTIONS[:1], Fraction(5), generator)[0])
        found["thesis"].append(by_thesis(answered, EVERYBODY, 5, "replace one", generator))
        found["rate"].append(by_rate(answered, EVERYBODY, 5, generator))
        found["known"].append(by_known_total(answered, EVERYBODY, 5, generator))
    return {name: np.array(values) / EVERYBODY.truth - 1 for name, values in found.items()}


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def test_inverse_rates_miss_half_of_those_who_were_asked_half_as_often(errors: dict[str, np.ndarray]) -> None:
    young = YOUNG.truth / EVERYBODY.truth
    assert 0.2 < young < 0.35
    assert abs(errors["rate"].mean() + young / 2) < 4 * standard_error(errors["rate"])


def test_weights_correct_it(errors: dict[str, np.ndarray]) -> None:
    for name in ("calibrated", "thesis"):
        assert abs(errors[name].mean()) < 3 * standard_error(errors[name])
    corrected = (1 + errors["calibrated"]) / (1 + errors["rate"])
    assert corrected.mean() == pytest.approx(1 / (1 - YOUNG.truth / EVERYBODY.truth / 2), rel=0.03)
    assert abs(errors["known"].mean()) > abs(errors["calibrated"].mean())


def test_the_sample_is_the_one_that_is_described() -> None:
    drawn = sample(np.random.default_rng(1), biased=True).sum(axis=(1, 2)) / births().sum(axis=(1, 2))
    assert np.allclose(drawn[:UNDER_25], 0.05, atol=0.01)
    assert np.allclose(drawn[UNDER_25:], 0.1, atol=0.01)
