"""Numbers of records, within the ranges that a criterion states."""

from __future__ import annotations

import numpy as np

from synthrelease.criteria.functional import LinearModel
from synthrelease.criteria.records import clipped
from synthrelease.criteria.records_mechanism import absolute_errors


def test_numbers_beyond_a_range_are_its_ends() -> None:
    numbers = np.array([-1.0, 0.5, 9.0])
    assert clipped("x", numbers, {"x": (0.0, 1.0)}).tolist() == [0.0, 0.5, 1.0]
    assert clipped("y", numbers, {"x": (0.0, 1.0)}).tolist() == numbers.tolist()


def test_errors_are_those_of_predictions_and_targets_within_the_range() -> None:
    """Predictions 1, 4 and 7 count as 2, 4 and 6, targets -5, 50 and 4 as 2, 6 and 4."""
    records = np.array([[0.0, -5.0], [1.0, 50.0], [2.0, 4.0]])
    line = LinearModel(intercept=1.0, coefficients=np.array([3.0]))
    assert absolute_errors(records, line, 2.0, 6.0).tolist() == [0.0, 2.0, 2.0]
