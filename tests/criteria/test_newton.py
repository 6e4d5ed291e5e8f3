"""Newton's method: it ends at the maximum, takes no step that lowers the value, and says where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from synthrelease.criteria.records import NewtonResult, maximum


def small(step: np.ndarray, _: NewtonResult) -> bool:
    return bool(np.abs(step).max() < 1e-10)


def far_off(x: np.ndarray) -> float:
    """Concave with its maximum at 0, where full steps from 2 on lead further and further away."""
    return float(-np.log(np.cosh(x[0])))


def slopes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return -np.tanh(x), 1 / np.cosh(x)[:, None] ** 2


def test_steps_that_lead_away_are_halved() -> None:
    seen: list[float] = []

    def derivatives(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(far_off(x))
        return slopes(x)

    found = maximum(far_off, derivatives, np.array([2.0]), small=small, most_steps=50)
    assert found is not None
    assert found.reached
    assert found.at[0] == pytest.approx(0, abs=1e-9)
    assert seen == sorted(seen)
    assert len(seen) > 4


def test_a_search_that_ends_early_says_so_and_where_it_stands() -> None:
    found = maximum(far_off, slopes, np.array([1.0]), small=small, most_steps=1)
    assert found is not None
    assert not found.reached
    assert found.gradient == pytest.approx(-np.tanh(found.at))
    assert abs(found.at[0]) < 1


def test_without_information_there_is_no_maximum() -> None:
    def flat(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([1.0, 1.0]), np.ones((2, 2))

    assert maximum(lambda x: float(x.sum()), flat, np.zeros(2), small=small, most_steps=9) is None
