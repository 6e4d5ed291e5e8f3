"""How strongly columns hang together, and the tables that a model should be told, against rows of frames."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from synthrelease.domain.counts import Counts
from synthrelease.domain.plausibility import Plausibility
from synthrelease.domain.schema import Layout
from synthrelease.rehearsal.dependence import MODEL_CELLS, strongest_pairs, telling_tables

RANDOM = np.random.default_rng(2)
N = 4000


def table_of(columns: dict[str, np.ndarray], sizes: dict[str, int] | None = None) -> Counts:
    sizes = sizes or {name: int(values.max()) + 1 for name, values in columns.items()}
    layout = Layout(columns=tuple(columns), sizes=tuple(sizes[name] for name in columns))
    return Counts.of(layout, list(columns.values()))


def from_independence(left: np.ndarray, right: np.ndarray) -> float:
    """Rows that would have to change, pair of values by pair of values."""
    rows = 0.0
    for a in set(left.tolist()):
        for b in set(right.tolist()):
            rows += abs(int(((left == a) & (right == b)).sum()) - (left == a).sum() * (right == b).sum() / len(left)) / 2
    return rows


def told_of(table: Counts, epsilon: float) -> tuple[tuple[int, ...], ...]:
    return telling_tables(table, Plausibility(layout=table.layout, masks=()), epsilon).tables


def made() -> dict[str, np.ndarray]:
    a, b = RANDOM.integers(0, 4, N), RANDOM.integers(0, 2, N)
    c = np.where(RANDOM.random(N) < 0.7, a % 3, RANDOM.integers(0, 3, N))
    d = np.where(RANDOM.random(N) < 0.9, b, 1 - b)
    return {"a": a, "b": b, "c": c, "d": d, "alone": RANDOM.integers(0, 3, N)}


def test_pairs_are_ordered_by_the_rows_that_would_have_to_change() -> None:
    columns = made()
    pairs = strongest_pairs(table_of(columns))
    expected = {(x, y): from_independence(columns[x], columns[y]) / N for x, y in combinations(columns, 2)}
    assert {pair.columns: pytest.approx(pair.distance) for pair in pairs} == expected
    assert [pair.distance for pair in pairs] == sorted(expected.values(), reverse=True)
    assert {pairs[0].columns, pairs[1].columns} == {("a", "c"), ("b", "d")}


def test_covered_pairs_are_not_named() -> None:
    pairs = strongest_pairs(table_of(made()), covered=[("c", "a", "alone"), ["d"]])
    assert {pair.columns for pair in pairs} == {
        *combinations(["a", "b", "c", "d", "alone"], 2)
    } - {("a", "c"), ("a", "alone"), ("c", "alone")}  # fmt: skip


def test_columns_that_are_missing_together_do_not_hang_together_by_that() -> None:
    gone = RANDOM.random(N) < 0.5
    x, y = RANDOM.integers(0, 3, N), RANDOM.integers(0, 2, N)
    table = table_of({"x": np.where(gone, 3, x), "y": np.where(gone, 2, y)}, {"x": 4, "y": 3})
    assert strongest_pairs(table)[0].distance > 0.4
    (pair,) = strongest_pairs(table, missing=["x", "y"])
    assert pair.distance == pytest.approx(from_independence(x[~gone], y[~gone]) / N)
    assert pair.distance < 0.05


def test_a_model_is_told_what_hangs_together_and_every_column() -> None:
    columns = made()
    told = told_of(table_of(columns), epsilon=4.0)
    assert {(0, 2), (1, 3)} <= set(told)
    assert {column for table in told for column in table} == set(range(5))
    assert (4,) in told  # nothing is told of it but itself


def test_three_columns_that_only_together_say_something_are_found() -> None:
    """x and y give z up to chance, and each pair of them is weakly dependent only."""
    x, y = RANDOM.integers(0, 2, N), RANDOM.integers(0, 2, N)
    z = np.where(RANDOM.random(N) < 0.3, x, np.where(RANDOM.random(N) < 0.3, y, x ^ y))
    told = told_of(table_of({"x": x, "y": y, "z": z}), epsilon=4.0)
    assert (0, 1, 2) in told


def test_little_budget_or_independent_columns_are_told_column_by_column() -> None:
    assert told_of(table_of(made()), epsilon=0.0005) == ((0,), (1,), (2,), (3,), (4,))
    columns = {name: RANDOM.integers(0, 3, N) for name in "abcd"}
    assert told_of(table_of(columns), epsilon=4.0) == ((0,), (1,), (2,), (3,))


def test_tables_stay_small_enough_for_a_model() -> None:
    base = RANDOM.integers(0, 60, 3 * N)
    columns = {f"c{i}": (base + RANDOM.integers(0, 3, 3 * N)) % 60 for i in range(6)}
    table = table_of(columns)
    told = told_of(table, epsilon=50.0)
    assert all(np.prod([table.layout.sizes[c] for c in columns]) <= MODEL_CELLS for columns in told)
    assert sum(len(columns) > 1 for columns in told) >= 3
