"""Gaps ignored, imputed, or a bin of their own, on made-up incomes: four of the runs of `make sources`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.helpers.donors import Record, largest_change_slowly, table_of
from tests.reproduction.experiments import CELLS, LARGEST, SCHEME, ignoring, imputed, imputed_exactly, incomes, missing_as_a_bin

EPSILON = 6 * math.log(2)


@pytest.fixture(scope="module")
def errors() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(12)
    found: dict[str, list[float]] = {"ignored": [], "exact": [], "imputed": [], "bin": [], "gaps": []}
    for _ in range(4):
        table, mean = incomes(generator)
        found["ignored"].append(ignoring(table, EPSILON, generator) - mean)
        found["exact"].append(imputed_exactly(table) - mean)
        found["imputed"].append(imputed(table, "add or remove", generator) - mean)
        found["bin"].append(missing_as_a_bin(table, EPSILON, generator) - mean)
        found["gaps"].append(float(table.gaps.mean()))
    return {name: np.array(values) for name, values in found.items()}


def test_ignoring_gaps_is_off_a_hundred_times_more_than_imputing(errors: dict[str, np.ndarray]) -> None:
    assert 0.26 < errors["gaps"].mean() < 0.3
    assert np.all(errors["ignored"] < -50)  # incomes are told the less, the higher they are
    assert np.mean(errors["ignored"] ** 2) > 100 * np.mean(errors["imputed"] ** 2)


def test_a_missing_bin_is_no_worse_and_answers_everything(errors: dict[str, np.ndarray]) -> None:
    assert np.mean(errors["bin"] ** 2) <= np.mean(errors["imputed"] ** 2)


def test_the_imputed_mean_has_no_bias_to_speak_of(errors: dict[str, np.ndarray]) -> None:
    exact = errors["exact"]
    assert abs(exact.mean()) < 4 * exact.std(ddof=1) / math.sqrt(len(exact))


def test_the_largest_change_is_exact_on_the_cells_of_the_comparison() -> None:
    """A thin table, in which most cells have no donor, and every cell counts."""
    generator = np.random.default_rng(8)
    records = [
        Record(int(cell), float(label), None if generator.random() < 0.8 else 100.0)
        for label, cell in enumerate(generator.choice(len(CELLS), 9))
    ]
    assert SCHEME.largest_change(table_of(records)) == largest_change_slowly(frozenset(records), SCHEME.order, 1) > 2
    assert SCHEME.default == LARGEST / 2
