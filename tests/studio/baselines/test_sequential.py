"""Classical sequential synthesis: groups by brute force, what tables and regressions keep, rules, and gaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.studio.baselines.base import ConditionalTable, draw_weighted, least_rows
from synthrelease.studio.baselines.sequential import saturated
from tests.helpers.small import layout_of

RANDOM = np.random.default_rng


def no_rules(table: Counts) -> Plausibility:
    return Plausibility(layout=table.layout, masks=())


def finest(x: np.ndarray, rows: Sequence[np.ndarray], at: Sequence[int], size: int, least: int) -> np.ndarray:
    """The frequencies of x among the records with the same first predictors, as many as leave `least` records."""
    inside = np.ones(len(x), dtype=bool)
    for z, value in zip(rows, at, strict=True):
        finer = inside & (z == value)
        if finer.sum() < least:
            break
        inside = finer
    return np.bincount(x[inside], minlength=size)


def test_groups_are_those_of_a_search() -> None:
    random = RANDOM(1)
    x = random.integers(0, 4, 300)
    rows = [random.integers(0, 3, 300), (random.random(300) < 0.1).astype(np.int64), random.integers(0, 5, 300)]
    known = ConditionalTable.of(x, 4, rows, [3, 2, 5], least=20)
    new = [np.array([0, 1, 2, 2, 0]), np.array([0, 1, 0, 1, 1]), np.array([4, 0, 2, 3, 1])]
    groups = known.groups(new, 5)
    assert len(set(groups)) > 2
    for row, group in enumerate(groups):
        expected = finest(x, rows, [z[row] for z in new], 4, 20)
        assert (known.counts[group] == expected).all()


def test_values_are_drawn_from_smoothed_counts() -> None:
    """A Dirichlet prior of 1/2 for each bin: the mean of its posterior, by scipy, also of a bin that no record has."""
    x, z = np.repeat([0, 1, 1, 2], [30, 10, 25, 35]), np.repeat([0, 0, 1, 1], [30, 10, 25, 35])
    known = ConditionalTable.of(x, 4, [z], [2])
    where = np.repeat([0, 1], 40_000)
    drawn = known.draw(known.groups([where], 80_000), RANDOM(2))
    for group, counts in enumerate([[30, 10, 0, 0], [0, 25, 35, 0]]):
        found = np.bincount(drawn[where == group], minlength=4)
        expected = stats.dirichlet(np.array(counts) + 0.5).mean()
        assert stats.chisquare(found, 40_000 * expected).pvalue > 1e-6
        plain = np.bincount(known.draw(np.full(40_000, known.groups([np.array([group])], 1)[0]), RANDOM(3), 0.0), minlength=4)
        occurs = np.array(counts) > 0
        assert (plain[~occurs] == 0).all()
        assert stats.chisquare(plain[occurs], 40_000 * np.array(counts)[occurs] / sum(counts)).pvalue > 1e-6


def test_a_group_has_ten_rows_for_each_that_the_prior_weighs() -> None:
    assert [least_rows(size) for size in (2, 4, 5, 32, 600)] == [20, 20, 25, 160, 3000]
    assert least_rows(600, 0.0) == 20


def test_weights_multiply_the_shares_of_the_group() -> None:
    x, z = np.repeat([0, 1, 1, 2], [30, 10, 25, 35]), np.repeat([0, 0, 1, 1], [30, 10, 25, 35])
    known = ConditionalTable.of(x, 3, [z], [2])
    where = np.repeat([0, 1], 20_000)
    shares = known.counts / known.counts.sum(axis=1, keepdims=True)
    told = np.array([0.0, 0.5, 0.1])
    some = draw_weighted(shares, known.groups([where], 40_000), lambda part: np.tile(told, (len(where[part]), 1)), RANDOM(3))
    both = np.array([0.0, 25 * 0.5, 35 * 0.1])
    assert np.bincount(some[where == 1], minlength=3) / 20_000 == pytest.approx(both / both.sum(), abs=0.02)
    assert set(some[where == 0]) == {1}


def test_saturated_tables_keep_ties_and_rules() -> None:
    random = RANDOM(4)
    x = random.integers(0, 3, 3000)
    y = np.where(random.random(3000) < 0.8, x, random.integers(0, 3, 3000))
    table = Counts.of(layout_of(3, 3), [x, y])
    forbidden = np.zeros((3, 3), dtype=bool)
    forbidden[0, 2] = True
    rules = Plausibility(layout=table.layout, masks=(Mask(columns=(0, 1), forbidden=forbidden),))
    made = saturated(table, {0: (), 1: (0,)}, rules, random)
    assert made.total == 3000
    assert made.marginal([0, 1])[0, 2] == 0
    kept = rules.filter(table).marginal([0, 1])
    assert np.abs(made.marginal([0, 1]) / 3000 - kept / kept.sum()).max() < 0.04
