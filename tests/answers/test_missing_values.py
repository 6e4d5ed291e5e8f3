"""Bounds where values are missing: no table that the figures allow is outside, means run over the rows that have a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from synthrelease.answers.bounds import bound
from synthrelease.data.schema import PublishedColumn
from synthrelease.published import PublishedRelease
from tests.helpers.published import integer_column, published, score

pytestmark = pytest.mark.slow

Row = tuple[int, int]
Table = tuple[Row, ...]


def with_missing(column: PublishedColumn) -> PublishedColumn:
    n = len(column.labels)
    return replace(column, labels=(*column.labels, "missing"), numbers=(*column.numbers, None), missing=n)


A, B = with_missing(integer_column("a", [0, 1, 2])), with_missing(integer_column("b", [0, 1, 2]))
GONE = 2
"""The missing bin of either column."""
CELLS = list(product(range(3), range(3)))
SYNTHETIC = [(0, 0), (0, 1), (0, GONE), (1, 1), (1, 1), (GONE, 0)]
N = len(SYNTHETIC)


def absolute_error(table: Table) -> float:
    wheres = [[(0, a)] for a in range(3)] + [[(1, b)] for b in range(3)] + [[(0, a), (1, b)] for a, b in CELLS]

    def share(rows: Table, where: list[tuple[int, int]]) -> float:
        return sum(all(row[place] == value for place, value in where) for row in rows) / len(rows)

    return max(abs(share(table, where) - share(tuple(SYNTHETIC), where)) for where in wheres)


def mean_error(table: Table) -> float:
    """Of b in the groups of a and overall, over the rows that have b and, in a group, a; small ones are filled up with 1/2."""
    worst = 0.0
    for group in ({0}, {1}, {0, 1, GONE}):
        numbers, others = ([b for a, b in rows if a in group and b != GONE] for rows in (table, SYNTHETIC))
        size = max(1, len(others) - math.ceil(0.2 * len(table)))
        numbers += [0.5] * (size - len(numbers))
        worst = max(worst, abs(sum(numbers) / len(numbers) - sum(others) / len(others)))
    return worst


def release_with(**limits: float) -> PublishedRelease:
    mean = {"column": "b", "by": ["a"], "overall": True, "range": [0, 1], "size_margin": 0.2}
    made = {"absolute": ("absolute_marginal_error", {}), "mean": ("conditional_mean", mean)}
    figures = [(score(name, made[name][0], value, threshold=900), made[name][1]) for name, value in limits.items()]
    return published([A, B], np.array(SYNTHETIC), figures)


LIMITS = [{"absolute": 0.34}, {"absolute": 0.5, "mean": 0.3}, {"mean": 0.3}]
MEETS: dict[str, Callable[[int, int], bool]] = {
    "": lambda a, b: True,
    "a == 0": lambda a, b: a == 0,
    "not a == 0": lambda a, b: a == 1,
    "b is missing": lambda a, b: b == GONE,
    "a == 1 and b is not missing": lambda a, b: a == 1 and b != GONE,
    "a == 1 or not b == 1": lambda a, b: a == 1 or b == 0,
}


@cache
def allowed(limits: tuple[tuple[str, float], ...]) -> list[Table]:
    """All tables of so many rows whose errors are within the limits."""
    checks = {"absolute": absolute_error, "mean": mean_error}
    tables = combinations_with_replacement(CELLS, N)
    return [table for table in tables if all(checks[name](table) <= limit + 1e-9 for name, limit in limits)]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("mean", [False, True], ids=["count", "mean"])
@pytest.mark.parametrize("query", MEETS)
def test_no_table_that_the_figures_allow_is_outside_the_bound(limits: dict[str, float], mean: bool, query: str) -> None:
    if not mean and not query or mean and query == "b is missing":
        return
    found = bound(release_with(**limits), query, mean="b" if mean else None)
    rows = [row for row in SYNTHETIC if MEETS[query](*row)]
    known = [b for _, b in rows if b != GONE]
    assert found.answer == pytest.approx(sum(known) / len(known) if mean else len(rows))
    reached = []
    for table in allowed(tuple(limits.items())):
        met = [row for row in table if MEETS[query](*row)]
        numbers = [b for _, b in met if b != GONE]
        if not mean or numbers:
            reached.append(sum(numbers) / len(numbers) if mean else len(met))
    assert len(reached) > 10
    assert found.low - 1e-6 <= min(reached)
    assert max(reached) <= found.high + 1e-6
    if limits == {"absolute": 0.34} and not mean:
        assert (found.low, found.high) == pytest.approx((min(reached), max(reached)), abs=1)
