"""Numbers of records, within the ranges that a criterion states."""

from __future__ import annotations

import math

import numpy as np
import pytest

from synthrelease.criteria.functional import LinearModel
from synthrelease.criteria.records import clipped
from synthrelease.criteria.records_mechanism import absolute_errors, exact_sum


def test_numbers_beyond_a_range_are_its_ends() -> None:
    numbers = np.array([-1.0, 0.5, 9.0])
    assert clipped("x", numbers, {"x": (0.0, 1.0)}).tolist() == [0.0, 0.5, 1.0]
    assert clipped("y", numbers, {"x": (0.0, 1.0)}).tolist() == numbers.tolist()


def test_errors_are_those_of_predictions_and_targets_within_the_range() -> None:
    """Predictions 1, 4 and 7 count as 2, 4 and 6, targets -5, 50 and 4 as 2, 6 and 4."""
    records = np.array([[0.0, -5.0], [1.0, 50.0], [2.0, 4.0]])
    line = LinearModel(intercept=1.0, coefficients=np.array([3.0]))
    assert absolute_errors(records, line, 2.0, 6.0).tolist() == [0.0, 2.0, 2.0]


SPREADS = {"like": 0, "some": 8, "far": 40, "all": 290}


@pytest.mark.parametrize("digits", SPREADS.values(), ids=SPREADS)
@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_an_exact_sum_is_the_sum_of_fractions(n: int, digits: int) -> None:
    """As Python's own sum that is rounded once, also where numbers cancel and where one is tiny beside another."""
    random = np.random.default_rng(n + digits)
    for _ in range(5):
        numbers = random.normal(size=n) * 10.0 ** random.integers(-digits, digits + 1, n)
        numbers = random.permutation(np.concatenate([numbers, -numbers[: n // 2], numbers[:1] * 2.0**-52, [5e-324] * (n % 3)]))
        assert float(exact_sum(numbers)) == math.fsum(numbers.tolist())


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_sum_with_a_number_that_is_not_finite_is_no_number(number: float) -> None:
    assert math.isnan(exact_sum(np.array([1.0, number])))
