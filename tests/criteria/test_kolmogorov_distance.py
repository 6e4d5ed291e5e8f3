"""Kolmogorov distances by group: by hand, and against rows one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.criteria import explain
from synthrelease.criteria.base import Fitted
from synthrelease.criteria.facts import PublicCounts
from synthrelease.criteria.shares import KolmogorovDistance
from synthrelease.studio.audit.sweep import criterion
from tests.criteria.test_medians_and_shares import PLAIN, WORLD, query
from tests.helpers.facts import facts_of

codes = st.lists(st.integers(0, 9), min_size=1, max_size=30)  # a in 0..1, b in 0..4


def test_a_distance_by_hand() -> None:
    """Released 0, 0, 2, 4 and original 2, 3, 4, 4, all with a = 1: up to 0 half of the released rows and none of the others."""
    judged = criterion("kolmogorov_distance", column="b", by=["a"], overall=False)
    zero = [0, 1]  # rows with a = 0, the same in both
    found = query(PLAIN, judged, [*zero, 5, 5, 7, 9], 6)
    assert found.figure(PLAIN.counts([*zero, 7, 8, 9, 9])) == pytest.approx(0.5)
    assert found.sensitivity == 1 / 2
    assert found.figure(PLAIN.counts([*zero, 5, 5, 7, 9])) == 0


@settings(max_examples=100, deadline=None)
@given(codes, codes)
def test_distances_within_groups_against_rows(original: list[int], synthetic: list[int]) -> None:
    judged = criterion("kolmogorov_distance", column="b", by=["a"])
    found, worst = query(PLAIN, judged, synthetic, len(original)), 0.0
    for group in ({0}, {1}, {0, 1}):
        released, private = ([code % 5 for code in table if code // 5 in group] for table in (synthetic, original))
        if not released:
            assert found.void
            return
        for t in range(5):
            share = sum(b <= t for b in released) / len(released)
            worst = max(worst, abs(sum((b <= t) - share for b in private)) / len(released))
    assert not found.void
    assert found.figure(PLAIN.counts(original)) == pytest.approx(worst, abs=1e-12)


def test_rows_without_a_value_are_in_no_group() -> None:
    judged = criterion("kolmogorov_distance", column="b", by=["a"])
    first, missing, second = 0, 5, 6  # codes of a and b, where b has six bins
    found = query(WORLD, judged, [first, second, missing], 3)
    assert found.figure(WORLD.counts([first, second, missing])) == 0
    assert found.figure(WORLD.counts([missing, missing, missing])) == 0
    assert query(WORLD, judged, [first, 6 + missing, missing], 3).void


def test_the_worst_bin_is_named() -> None:
    judged = criterion("kolmogorov_distance", column="b", by=["a"])
    candidate, public = PLAIN.candidate([0, 4, 5, 5, 6, 9]), PLAIN.counts([0, 4, 5, 9, 9, 9])
    offender = explain(judged).offender(PublicCounts(counts=public), candidate, PLAIN.setting(judged), Fitted())
    assert str(offender) == "b up to 1 among a=1: 75% in the synthetic table, 25% in the public file"


def test_every_quantile_lies_between_two_released_ones() -> None:
    """What the docstring says of a distance d, over all rows, for all tables of four rows over five values."""
    judged, world = criterion("kolmogorov_distance", column="b"), PLAIN
    released = [0, 1, 1, 3]

    def quantile(values: list[int], share: float) -> int:
        return next((t for t in range(5) if sum(b <= t for b in values) / len(values) >= share - 1e-12), 4)

    for table in ([0, 0, 1, 2], [1, 1, 1, 1], [2, 3, 3, 4], [4, 4, 4, 4], [0, 1, 1, 3]):
        distance = query(world, judged, released, 4).figure(world.counts(table))
        for share in (0.25, 0.5, 0.75, 1.0):
            low, high = quantile(released, share - distance), quantile(released, share + distance)
            assert low <= quantile(table, share) <= high


@pytest.mark.parametrize(("fields", "field"), [({"column": "c"}, "column"), ({"column": "b", "by": ["c"]}, "by")])
def test_columns_that_are_not_there_are_mistakes(fields: dict[str, object], field: str) -> None:
    judged = criterion("kolmogorov_distance", **fields)
    assert [mistake.field for mistake in judged.mistakes(WORLD.setting(judged), {})] == [field]


@pytest.mark.parametrize(
    ("fields", "why"), [({"by": ["b"]}, "cannot be in `by`"), ({"overall": False}, "at least one column in `by`")]
)
def test_what_cannot_be_compared_is_refused(fields: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        criterion("kolmogorov_distance", column="b", **fields)


def test_the_card_says_what_is_compared() -> None:
    judged = KolmogorovDistance(name="b", kind="kolmogorov_distance", column="b", by=("a",), threshold=0.1, epsilon="1")
    facts = facts_of(PLAIN.candidate([0, 4, 5, 9]), PLAIN.setting(judged))
    assert explain(judged).sentence(facts) == (
        "The largest difference between released and original share of rows up to some value of b (Kolmogorov distance), over "
        "groups by a and over all rows. Errors are multiplied by the original and divided by the released size of the group. "
        "Only rows with a value count."
    )
