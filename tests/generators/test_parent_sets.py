"""Parent sets by brute force, and the public choice among too many of them."""

from __future__ import annotations

import math
import time
from itertools import combinations, combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.generators.privbayes import competing_sets, maximal_sets


def brute_force_parent_sets(sizes: list[int], placed: list[int], bound: float, most: int) -> set[tuple[int, ...]]:
    fits = lambda s: math.prod(sizes[i] for i in s) <= bound  # noqa: E731
    subsets = [s for k in range(most + 1) for s in combinations(sorted(placed), k) if k == 0 or fits(s)]
    return {s for s in subsets if not any(set(s) < set(t) for t in subsets)}


SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=6)
BOUNDS = st.floats(0.5, 2000) | st.integers(0, 40).map(float)


@settings(max_examples=200, deadline=None)
@given(SIZES, BOUNDS, st.integers(0, 6), st.integers(0, 63))
def test_parent_sets_are_all_the_maximal_ones(sizes: list[int], bound: float, most: int, chosen: int) -> None:
    placed = [column for column in range(len(sizes)) if chosen >> column & 1]
    found = list(maximal_sets(sizes, placed[::-1], bound, most))
    assert len(found) == len(set(found))
    assert set(found) == brute_force_parent_sets(sizes, placed, bound, min(most, len(sizes)))


@pytest.mark.slow
@pytest.mark.parametrize("most", [2, 4])
def test_parent_sets_of_four_columns_are_the_maximal_ones_at_every_bound(most: int) -> None:
    for sizes in combinations_with_replacement(range(1, 7), 4):
        for bound in range(41):
            found = list(maximal_sets(sizes, range(4), bound, most))
            assert len(found) == len(set(found))
            assert set(found) == brute_force_parent_sets(list(sizes), list(range(4)), bound, most)


@settings(max_examples=200, deadline=None)
@given(SIZES, BOUNDS, st.integers(0, 6), st.integers(1, 8))
def test_what_competes_is_all_maximal_sets_or_as_many_of_them_as_may(
    sizes: list[int], bound: float, most: int, limit: int
) -> None:
    placed = list(range(len(sizes)))
    every = brute_force_parent_sets(sizes, placed, bound, min(most, len(sizes)))
    found = competing_sets(sizes, placed, bound, most, limit)
    assert len(found) == len(set(found))
    assert set(found) == every if len(every) <= limit else set(found) <= every
    assert 1 <= len(found) <= limit
    assert found == competing_sets(sizes, placed, bound, most, limit)


def test_the_choice_among_too_many_covers_the_columns_and_mostly_stays_when_one_more_is_placed() -> None:
    sizes = [2] * 60
    few, more = (competing_sets(sizes, range(n), 64, 60, 100) for n in (40, 41))
    assert len(few) == len(more) == 100
    assert min(sum(column in chosen for chosen in few) for column in range(40)) >= 3  # 15 on average
    assert len(set(few) & set(more)) >= 70  # 6 of 41 columns are in a set


@pytest.mark.parametrize("sizes", [[2, 3, 4, 5, 6, 7, 8, 9, 10] * 2, [4] * 18])
def test_eighteen_columns_take_no_look_at_all_subsets(sizes: list[int]) -> None:
    """A quarter of a million subsets took 0.7 s; the maximal ones take less than a millisecond, 50 with room for others."""
    started = time.process_time()
    for _ in range(10):
        list(maximal_sets(sizes, range(18), 40, 18))
    assert time.process_time() - started < 0.5
