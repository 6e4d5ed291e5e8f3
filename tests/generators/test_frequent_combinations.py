"""The projection to frequent combinations: the largest table of rows that are nowhere rare, by brute force."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.criteria.base import Fitted
from synthrelease.criteria.facts import Score
from synthrelease.data.counts import Counts
from synthrelease.errors import RejectedRound
from synthrelease.generators.projections import FrequentCombinations
from synthrelease.studio.audit.sweep import criterion
from tests.helpers.small import World, layout_of

WORLD = World({"a": 1, "b": 2, "c": 1})
tables = st.lists(st.integers(0, WORLD.layout.n_cells - 1), min_size=1, max_size=30)


def rare(rows: list[tuple[int, ...]], columns: int, minimum: int) -> bool:
    seen = Counter((c, tuple(row[i] for i in c)) for row in rows for c in combinations(range(3), columns))
    return any(times < minimum for times in seen.values())


def largest(rows: list[tuple[int, ...]], columns: int, minimum: int) -> set[tuple[int, ...]]:
    """Of all sets of distinct rows, all copies of which are not rare together, the union: it is one of them."""
    distinct, found = sorted(set(rows)), set[tuple[int, ...]]()
    for size in range(1, len(distinct) + 1):
        for chosen in combinations(distinct, size):
            if not rare([row for row in rows if row in chosen], columns, minimum):
                found |= set(chosen)
    return found


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(1, 3), st.integers(1, 4), st.integers(0, 99))
def test_the_largest_table_without_rare_combinations_is_kept_and_filled_up(
    codes: list[int], columns: int, minimum: int, seed: int
) -> None:
    counts = WORLD.counts(codes)
    wanted = largest([tuple(row) for row in counts.expand().tolist()], columns, minimum)
    projection = FrequentCombinations(columns=columns, minimum_count=minimum)
    if not wanted:
        with pytest.raises(RejectedRound):
            projection.project(counts, np.random.default_rng(seed))
        return
    found = projection.project(counts, np.random.default_rng(seed))
    rows = [tuple(row) for row in found.expand().tolist()]
    assert set(rows) == wanted
    assert found.total == len(codes)
    assert not rare(rows, columns, minimum)
    judged = criterion("face_privacy", columns=columns, minimum_count=minimum, threshold=0, epsilon=0)
    score = judged.query(len(codes), WORLD.candidate(found.codes.repeat(found.counts)), WORLD.setting(), Fitted())
    assert isinstance(score, Score)
    assert score.passed


def test_rows_that_others_made_frequent_are_dropped_in_turn() -> None:
    """(0, 0) leans on (0, 1), which is rare in its second column: the second pass drops what the first one left rare."""
    layout = layout_of(3, 3)
    table = Counts.of(layout, [np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2])], np.array([1, 1, 1, 4]))
    projection = FrequentCombinations(columns=1, minimum_count=2)
    assert projection.project(table, np.random.default_rng(0)).expand().tolist() == [[2, 2]] * 7


def test_wide_tables_are_projected_and_too_many_choices_rejected() -> None:
    layout, generator = layout_of(*[3] * 60), np.random.default_rng(1)
    table = Counts.of(layout, list(np.minimum(generator.integers(0, 4, (2_000, 60)), 2).T))
    pairs = FrequentCombinations(columns=2, minimum_count=5)
    assert pairs.project(table, generator).total == 2_000
    with pytest.raises(RejectedRound, match="at most 5,000 sets of columns"):
        pairs.model_copy(update={"columns": 3}).project(table, generator)
