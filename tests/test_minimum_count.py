"""The projection to a minimum count has the six properties of Proposition 11."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.errors import RejectedRound
from synthrelease.projections.minimum_count import MinimumCount
from synthrelease.table import Counts
from tests.small import layout_of

LAYOUT = layout_of(40)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=40, max_size=40), st.integers(1, 5), st.integers(0, 1000))
def test_proposition_11(counts: list[int], m: int, seed: int) -> None:
    before = np.array(counts)
    for k in range(1, m):  # the proposition assumes that m divides k n_k for every k < m
        cells = np.flatnonzero(before == k)
        before[cells[: len(cells) % m]] = 0
    if not before.any():
        return
    table = Counts(LAYOUT, np.arange(40), before)
    after = MinimumCount(minimum_count=m).project(table, np.random.default_rng(seed)).dense()
    assert np.all((after > 0) <= (before > 0))  # 1: no new record
    for k in range(m + 1, 7):
        assert np.array_equal(after == k, before == k)  # 2: records above m are the same
    assert np.all(after[before == m] == m)  # 3: records at m stay
    assert not np.any((after > 0) & (after < m))  # 4: none below m
    for k in range(1, m):
        assert after[before == k].sum() == k * (before == k).sum()  # 5: the mass of each class is kept
    assert after.sum() == before.sum()  # 6: same size


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=40, max_size=40), st.integers(2, 4), st.integers(0, 1000))
def test_any_table_keeps_its_size_and_rows_or_is_rejected(counts: list[int], m: int, seed: int) -> None:
    before = np.array(counts)
    table = Counts(LAYOUT, np.arange(40), before)
    try:
        after = MinimumCount(minimum_count=m).project(table, np.random.default_rng(seed)).dense()
    except RejectedRound:
        assert all(k * (before == k).sum() < m for k in range(1, m))
        assert before.max() < m
        return
    assert after.sum() == before.sum()
    assert np.all((after == 0) | (after >= m))
    assert np.all((after > 0) <= (before > 0))


def test_which_rows_are_kept_is_random() -> None:
    table = Counts(LAYOUT, np.arange(40))
    project = MinimumCount(minimum_count=2).project
    kept = np.sum([project(table, np.random.default_rng(seed)).dense() > 0 for seed in range(400)], axis=0)
    assert kept.min() > 140  # each row is kept with probability 1/2: 200, standard deviation 10
    assert kept.max() < 260


def test_nothing_to_keep_rejects_the_round() -> None:
    with pytest.raises(RejectedRound):
        MinimumCount(minimum_count=3).project(Counts(LAYOUT, np.array([0, 1])), np.random.default_rng(0))
