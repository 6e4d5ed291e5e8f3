"""The allowed cells of a mask, against a list of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from synthrelease.data.plausibility import AllowedCells


@pytest.mark.parametrize("shape", [(3,), (2, 3), (70, 1000), (5, 3, 2**16 + 1), (2, 3, 4, 9000)])
def test_they_are_those_of_the_list_in_its_order(shape: tuple[int, ...]) -> None:
    """Asked for in any order, and twice."""
    random = np.random.default_rng(1)
    forbidden = random.random(shape) < 0.7
    forbidden[-1] = True
    expected = np.argwhere(~forbidden)
    found = AllowedCells(forbidden)
    assert len(found) == len(expected)
    places = random.integers(0, len(expected), 500) if len(expected) else np.zeros(0, dtype=np.int64)
    assert np.array_equal(found[places], expected[places])


def test_a_part_of_a_mask_and_one_that_allows_nothing() -> None:
    whole = np.random.default_rng(2).random((4, 50, 900)) < 0.5
    part = whole[:, :-1, :-1]
    assert np.array_equal(AllowedCells(part)[np.arange(100)], np.argwhere(~part)[:100])
    assert len(AllowedCells(np.ones((3, 4), dtype=bool))) == 0
