"""Medians and proportions against loops over rows, and what they mean for a reader."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.criteria import explain
from synthrelease.criteria.base import Criterion, Fitted
from synthrelease.criteria.facts import PublicCounts, Query
from synthrelease.studio.audit.sweep import criterion
from tests.helpers.small import World

WORLD = World({"a": 1, "b": 4}, missing=("b",))
PLAIN = World({"a": 1, "b": 4})
codes = st.lists(st.integers(0, PLAIN.layout.n_cells - 1), min_size=1, max_size=15)


def query(world: World, judged: Criterion, synthetic: Sequence[int], n: int) -> Query:
    found = judged.query(n, world.candidate(synthetic), world.setting(judged), Fitted())
    assert isinstance(found, Query)
    return found


def quantiles(values: list[int], q: float) -> set[int]:
    """All x with at most a share q of the values below and at most 1 - q above."""
    n = len(values)
    return {
        x for x in range(5) if sum(v < x for v in values) <= q * n + 1e-9 and sum(v > x for v in values) <= (1 - q) * n + 1e-9
    }


@settings(max_examples=150, deadline=None)
@given(codes, codes, st.sampled_from([0.25, 0.5, 0.9]), st.integers(0, 2))
def test_the_figure_is_at_most_zero_just_when_every_original_quantile_reaches_into_the_window(
    original: list[int], synthetic: list[int], q: float, within: int
) -> None:
    judged = criterion("conditional_median", column="b", overall=True, within=within, quantiles=[q])
    values, released = ([code % 5 for code in table] for table in (original, synthetic))
    t = min(quantiles(released, q))
    inside = any(abs(x - t) <= within for x in quantiles(values, q))
    figure = query(PLAIN, judged, synthetic, len(original)).figure(PLAIN.counts(original))
    assert (figure <= 1e-12) == inside


def test_a_median_by_groups_by_hand() -> None:
    """In group 1 the released median is bin 3; of the five original rows there, four lie below bin 2 and 2.5 might."""
    judged = criterion("conditional_median", column="b", by=["a"], overall=False, within=1)
    synthetic = [0, 0, 8, 8, 8]
    original = [0, 0, 5, 5, 6, 6, 9]
    found = query(PLAIN, judged, synthetic, 7)
    assert found.figure(PLAIN.counts(original)) == pytest.approx((4 - 2.5) / 7)
    assert not found.void
    offender = explain(judged).offender(
        PublicCounts(counts=PLAIN.counts(original)), PLAIN.candidate(synthetic), PLAIN.setting(judged), Fitted()
    )
    assert str(offender) == "b, quantile 0.5, a=1: 3 in the synthetic table, 1 in the public file"


def test_rows_without_a_value_are_in_no_group_and_a_group_of_such_rows_is_void() -> None:
    judged = criterion("conditional_median", column="b", by=["a"])
    missing, first, second = 5, 0, 6  # codes of a and b, where b has six bins
    found = query(WORLD, judged, [first, second, missing], 3)
    assert not found.void
    assert found.figure(WORLD.counts([missing, missing, missing])) == 0
    assert query(WORLD, judged, [first, 6 + missing, missing], 3).void


def test_an_error_of_a_share_by_hand() -> None:
    """Released: 2 of 4 in group 1; original: 5 of 6, so 6 (5/6 - 1/2) / 4. In a group of the right size, the error itself."""
    judged = criterion("difference_in_proportions", column="b", bins=["3", "4"], by=["a"])
    found = query(PLAIN, judged, [0, 0, 5, 5, 8, 9], 6)
    assert found.figure(PLAIN.counts([5, 8, 8, 9, 9, 9])) == pytest.approx(6 * (5 / 6 - 1 / 2) / 4)
    assert found.sensitivity == 1 / 2
    same = query(PLAIN, judged, [0, 0, 5, 5, 8, 9], 6).figure(PLAIN.counts([0, 0, 5, 8, 8, 9]))
    assert same == pytest.approx(3 / 4 - 2 / 4)


@settings(max_examples=150, deadline=None)
@given(codes, codes)
def test_shares_within_groups_against_rows(original: list[int], synthetic: list[int]) -> None:
    judged = criterion("difference_in_proportions", column="b", bins=["1", "2"], by=["a"], overall=True)
    found, worst = query(PLAIN, judged, synthetic, len(original)), 0.0
    for group in ({0}, {1}, {0, 1}):
        released, private = ([code % 5 in (1, 2) for code in t if code // 5 in group] for t in (synthetic, original))
        if not released:
            assert found.void
            return
        share = sum(released) / len(released)
        worst = max(worst, abs(sum(hit - share for hit in private)) / len(released))
    assert not found.void
    assert found.figure(PLAIN.counts(original)) == pytest.approx(worst, abs=1e-12)


def test_the_worst_share_is_named() -> None:
    judged = criterion("difference_in_proportions", column="b", bins=["4"], by=["a"])
    candidate, public = PLAIN.candidate([0, 4, 5, 5, 5, 9]), PLAIN.counts([0, 4, 5, 9, 9, 9])
    offender = explain(judged).offender(PublicCounts(counts=public), candidate, PLAIN.setting(judged), Fitted())
    assert str(offender) == "b=4 among a=1: 25% in the synthetic table, 75% in the public file"


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("conditional_median", {"column": "c"}, "column"),
        ("conditional_median", {"column": "b", "by": ["c"]}, "by"),
        ("difference_in_proportions", {"column": "c", "bins": ["1"], "by": ["a"]}, "column"),
        ("difference_in_proportions", {"column": "b", "bins": ["missing"], "by": ["a"]}, "bins"),
        ("difference_in_proportions", {"column": "b", "bins": ["0", "1", "2", "3", "4"], "by": ["a"]}, "bins"),
    ],
)
def test_mistakes_name_the_field(kind: str, fields: dict[str, object], field: str) -> None:
    judged = criterion(kind, **fields)
    assert [mistake.field for mistake in judged.mistakes(WORLD.setting(judged), {})] == [field]


@pytest.mark.parametrize("quantiles", [[0], [1], [0.12345], [math.nan], []])
def test_quantiles_are_few_and_inside(quantiles: list[float]) -> None:
    with pytest.raises(ValueError, match="quantiles"):
        criterion("conditional_median", column="b", quantiles=quantiles)


def test_a_median_of_a_large_table_is_exact() -> None:
    """Counts beyond what a float times a share would tell apart."""
    judged = criterion("conditional_median", column="b", quantiles=[0.3])
    world, n = PLAIN, 10**9
    found = query(world, judged, [2] * 10, n)
    counts = world.counts([0, 2]).with_counts(np.array([3 * 10**8 + 1, 7 * 10**8 - 1]))
    assert found.figure(counts) == pytest.approx(1 / n, rel=1e-12)
