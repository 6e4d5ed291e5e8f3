"""The private half of a scout: sensitivities of all neighbours of tiny tables, the noise that is asked for, and its order."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.privacy.charges import gaussian, mechanism
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.scouting.scout_mechanism import dependence, frequent_texts, noisy_tables

LAYOUT = Layout(columns=("a", "b", "c"), sizes=(3, 2, 2))
RHO = Fraction(1, 50)
CHARGE = gaussian("tables", RHO, "")
PURE = mechanism("tables", RHO, "")


class Asked(NoNoise):
    """No noise, and the scales that were asked for, of either noise."""

    def __init__(self) -> None:
        self.scales = list[float]()

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.scales.append(scale)
        return super().add_gaussian(values, scale)

    def add_laplace(self, values: np.ndarray, scale: Fraction) -> np.ndarray:
        self.scales.append(float(scale))
        return super().add_laplace(values, scale)


def counts_of(rows: list[tuple[int, ...]]) -> Counts:
    return Counts.of(LAYOUT, list(np.array(rows).T))


CELLS = list(product(range(3), range(2), range(2)))
ROWS = [(0, 0, 1), (0, 0, 1), (1, 1, 0), (2, 0, 0), (1, 1, 1)]
"""Whoever replaces the first of them by any cell has all neighbours of this table, up to names."""


def replaced() -> list[list[tuple[int, ...]]]:
    return [[cell, *ROWS[1:]] for cell in CELLS] + [[*ROWS[:2], cell, *ROWS[3:]] for cell in CELLS]


def test_a_replaced_record_moves_each_table_by_two_in_squares() -> None:
    groups = {0: np.array([0, 0, 1]), 1: np.array([0, 1]), 2: np.array([0, 1])}
    asked = Asked()
    base = noisy_tables(counts_of(ROWS), groups, CHARGE, asked)
    assert [table.tolist() for table in base.values()] == [[4, 1], [3, 2], [2, 3]]
    moved = 0
    for rows in replaced():
        other = noisy_tables(counts_of(rows), groups, CHARGE, NoNoise())
        moved = max(moved, sum(int(((base[column] - other[column]) ** 2).sum()) for column in groups))
    assert moved == 2 * len(groups)
    assert all(scale**2 * 2 * float(RHO) >= moved for scale in asked.scales)
    assert all(scale**2 * 2 * float(RHO) < 1.001 * moved for scale in asked.scales)


def test_without_a_delta_noise_is_made_for_the_l1_distance_of_all_neighbours() -> None:
    groups = {0: np.array([0, 0, 1]), 1: np.array([0, 1]), 2: np.array([0, 1])}
    asked = Asked()
    base = noisy_tables(counts_of(ROWS), groups, PURE, asked)
    moved = max(
        sum(
            int(np.abs(base[column] - table).sum())
            for column, table in noisy_tables(counts_of(rows), groups, PURE, NoNoise()).items()
        )
        for rows in replaced()
    )
    assert moved == 2 * len(groups)
    assert asked.scales == [moved / float(RHO)] * len(groups)
    steps, _ = dependence(counts_of(ROWS), [np.arange(size) for size in LAYOUT.sizes], PURE, asked)
    farthest = max(
        abs(dependence(counts_of(rows), [np.arange(size) for size in LAYOUT.sizes], PURE, NoNoise())[0] - steps)
        for rows in replaced()
    )
    assert 0 < farthest <= asked.scales[-1] * float(RHO) == 6 * len(ROWS) * 3


def test_the_dependence_is_the_mean_distance_from_independence() -> None:
    groups = [np.arange(size) for size in LAYOUT.sizes]
    asked = Asked()
    steps, one = dependence(counts_of(ROWS), groups, CHARGE, asked)
    table, expected = np.array(ROWS), 0.0
    for left, right in combinations(range(3), 2):
        joint = np.zeros((LAYOUT.sizes[left], LAYOUT.sizes[right]))
        np.add.at(joint, (table[:, left], table[:, right]), 1 / len(ROWS))
        expected += np.abs(joint - np.outer(joint.sum(1), joint.sum(0))).sum() / 2
    assert steps / one == pytest.approx(expected / 3)
    independent = [cell for cell in CELLS for _ in range(3)]
    assert dependence(counts_of(independent), groups, CHARGE, NoNoise())[0] == 0
    # the noise is made for what a record moves
    moved = max(abs(dependence(counts_of(rows), groups, CHARGE, NoNoise())[0] - steps) for rows in replaced())
    sensitivity = asked.scales[0] * (2 * float(RHO)) ** 0.5
    assert 0 < moved <= sensitivity
    assert sensitivity == pytest.approx(6 * len(ROWS) * 3)


def test_of_a_large_table_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthrelease.scouting.scout_mechanism.MOST_ROWS", 4)
    _, one = dependence(counts_of(ROWS), [np.arange(size) for size in LAYOUT.sizes], CHARGE, NoNoise())
    assert one == 2 * 4**2 * 3


def test_texts_from_the_threshold_on_and_gaps_are_published() -> None:
    asked = Asked()
    found = frequent_texts({"x": Counter({"b": 9, "a": 9, "c": 4, "": 2}), "y": Counter({"d": 1})}, 5, CHARGE, asked)
    assert found == {"x": {"a": 9, "b": 9, "": 2}, "y": {"": 0}}
    assert list(found["x"]) == ["a", "b", ""]
    assert all(scale**2 * 2 * float(RHO / 2) >= 2 for scale in asked.scales)


def test_the_order_in_which_texts_are_met_has_no_effect() -> None:
    """With noise that depends on the place: texts are sorted before it."""

    class ByPlace(SystemEntropy):
        def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
            return np.asarray(values) + np.arange(len(values))

    texts = {"b": 3, "a": 3, "c": 3}
    orders = [{"x": Counter({text: texts[text] for text in order})} for order in (["a", "b", "c"], ["c", "b", "a"])]
    first, second = (frequent_texts(order, 3, CHARGE, ByPlace()) for order in orders)
    assert list(first["x"].items()) == list(second["x"].items())
