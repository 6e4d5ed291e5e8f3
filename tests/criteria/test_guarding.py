"""A criterion that says it guards a pair refuses the table in which the pair is lost."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from synthrelease.criteria import explain
from synthrelease.criteria.base import Fitted
from synthrelease.criteria.facts import LostPair, Query
from synthrelease.criteria.scoring import JointTest, NobodyPasses, uninformative
from synthrelease.releasing.attempt_costs import doubts
from synthrelease.spec.load import load_spec
from synthrelease.studio.audit.sweep import criterion
from synthrelease.studio.rehearsal.dependence import Pair
from tests.helpers.small import World
from tests.helpers.tiny import write_config

WORLD = World({"a": 1, "b": 1, "c": 1})


def world_tables(share: float) -> tuple[list[int], list[int]]:
    """100 rows in which a is b in a share of the rows, and the same with a and b independent; c is independent in both."""
    tied = [
        4 * a + 2 * b + c
        for a, b, c in product(range(2), repeat=3)
        for _ in range(round(25 * (share if a == b else 1 - share)))
    ]
    free = [4 * a + 2 * b + c for a, b, c in product(range(2), repeat=3) for _ in range(100 // 8)]
    return tied, free + [0, 7, 2, 5]  # 100 rows, half of them in each value of each column


KINDS = [
    ("absolute_marginal_error", {"largest": 2}),
    ("absolute_marginal_error", {"largest": 3}),
    ("absolute_marginal_error", {"tables": ["a:b"]}),
    ("absolute_marginal_error", {"tables": ["all 2-way"]}),
    ("absolute_marginal_error", {"largest": 1}),
    ("absolute_marginal_error", {"tables": ["a:c"]}),
    ("weighted_marginal_error", {"largest": 2, "weight": "a"}),
    ("mean_marginal_error", {"tables": ["a:b"]}),
    ("mean_marginal_error", {"tables": ["all 2-way"]}),
    ("quantile_marginal_error", {"tables": ["b:a"], "quantile": 0.5}),
    ("faithfulness", {"exact": ["a", "b", "c"]}),
    ("faithfulness", {"exact": ["a", "b"], "ignored": ["c"]}),
    ("faithfulness", {"exact": ["a", "c"], "within_one_bin": ["b"]}),
    ("relative_marginal_error", {"clip": 9}),
]


SINGLE = [
    ("absolute_marginal_error", {"largest": 1}, True),
    ("absolute_marginal_error", {"tables": ["a", "b"]}, True),
    ("absolute_marginal_error", {"tables": ["all 1-way"]}, True),
    ("absolute_marginal_error", {"largest": 1, "tables": ["a:b"]}, False),
    ("absolute_marginal_error", {"tables": ["all columns"]}, False),
    ("absolute_marginal_error", {}, False),
    ("mean_marginal_error", {"largest": 1}, True),
    ("mean_marginal_error", {"tables": ["all 2-way"]}, False),
    ("weighted_marginal_error", {"largest": 1, "weight": "a"}, False),
    ("relative_marginal_error", {"clip": 9}, True),
    ("conditional_mean", {"column": "a", "range": [0, 1], "size_margin": 0}, True),
    ("conditional_mean", {"column": "a", "range": [0, 1], "size_margin": 0, "by": ["b"]}, False),
    ("conditional_median", {"column": "a"}, True),
    ("kolmogorov_distance", {"column": "a"}, True),
    ("difference_in_proportions", {"column": "a", "bins": ["1"], "by": ["b"]}, False),
]


@pytest.mark.parametrize(("kind", "settings", "single"), SINGLE, ids=str)
def test_a_figure_of_single_columns_is_met_by_independent_columns_and_no_other_is(
    kind: str, settings: dict[str, object], single: bool
) -> None:
    """The figure of a table with the same columns, independent of each other, is the best one; others see what is lost."""
    judged = criterion(kind, **settings)
    tied, free = world_tables(1.0)
    query = judged.query(100, WORLD.candidate(free), WORLD.setting(judged), Fitted())
    assert isinstance(query, Query)
    assert (query.figure(WORLD.counts(tied)) <= max(judged.best_figure, 0.0)) == single == explain(judged).asks_single_columns


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "settings"), KINDS, ids=str)
@pytest.mark.parametrize("share", [0.6, 0.8, 1.0])
@pytest.mark.parametrize("threshold", [0.01, 0.08, 0.2, 0.4])
def test_what_guards_a_pair_refuses_the_table_that_lost_it(
    kind: str, settings: dict[str, object], share: float, threshold: float
) -> None:
    tied, free = world_tables(share)
    original, lost = WORLD.counts(tied), WORLD.counts(free)
    (pair,) = Pair.of([("a", "b")], original.marginal([0, 1])[None], 100)
    judged = criterion(kind, **{**settings, "threshold": 1 + threshold if kind == "relative_marginal_error" else threshold})
    guards = explain(judged).guards(
        LostPair(columns=frozenset("ab"), distance=pair.distance, largest_cell=pair.largest_cell, n_columns=3)
    )
    query = judged.query(100, WORLD.candidate(free), WORLD.setting(judged), Fitted())
    assert isinstance(query, Query)
    if kind != "weighted_marginal_error":  # whose cells weigh differently: there it is a rule of thumb
        assert not guards or query.figure(original) > judged.threshold
    assert guards <= ("c" not in str(settings.get("tables", "")))
    assert np.array_equal(lost.marginal([2]), original.marginal([2]))


def test_some_criteria_guard_a_pair_and_others_do_not() -> None:
    """So that the test above cannot pass by nobody ever guarding anything."""
    pair = LostPair(columns=frozenset("ab"), distance=0.3, largest_cell=0.15, n_columns=3)
    found = [explain(criterion(kind, **settings, threshold=0.1)).guards(pair) for kind, settings in KINDS[:-1]]
    assert found == [True, True, True, True, False, False, True, True, False, True, True, True, False]
    named = {"column": "a", "by": ["b"], "range": (0, 1), "size_margin": 0}
    assert explain(criterion("conditional_mean", **named)).guards(pair)
    assert explain(criterion("difference_in_proportions", column="b", bins=["1"], by=["a", "c"])).guards(pair)
    assert not explain(criterion("difference_in_proportions", column="c", bins=["1"], by=["a", "b"])).guards(pair)
    line = {"target": "c", "features": ["a"], "representation": {}, "positive": ["1"]}
    assert not explain(criterion("logistic_regression", **line)).guards(pair)
    assert explain(criterion("logistic_regression", **{**line, "target": "b"})).guards(pair)


# --- Whether a criterion can say anything


def said(sensitivity: float | None, joint: JointTest | None = None, **settings: object) -> str:
    judged = criterion("absolute_marginal_error", **settings)
    return " ".join(uninformative(judged, joint, sensitivity))


def test_a_threshold_that_nothing_exceeds_is_told() -> None:
    assert "the threshold is 1, and the value of this criterion is never above 1. So every table passes" in said(
        None, threshold=1
    )
    assert said(None, threshold=0.99) == ""
    assert "So every table passes" in " ".join(
        uninformative(criterion("conditional_mean", column="a", range=(0, 5), size_margin=0, threshold=5), None, None)
    )
    assert not list(uninformative(criterion("face_privacy", minimum_count=2, threshold=0, epsilon=0), None, None))


def test_a_threshold_below_what_a_perfect_table_has_is_told() -> None:
    """The ratio of equal counts is 1, so a threshold of 1 has no room, with a noise of its own or in a joint test."""
    ratio = criterion("relative_marginal_error", clip=4, threshold=1)
    for joint in (None, JointTest(epsilon=Fraction(1), false_acceptance=Fraction(1, 10))):
        (found,) = uninformative(ratio, joint, 0.1)
        assert isinstance(found, NobodyPasses)
        assert (
            "the threshold is 1, and the value of this criterion is never below 1. So not even a perfect table can pass"
            in found
        )


def test_noise_that_decides_by_luck_is_told_with_the_epsilon_that_is_enough() -> None:
    random = np.random.default_rng(1)
    for scale in (0.02, 0.05):  # sensitivity over epsilon, beside a threshold of 0.1
        refused = float((random.laplace(0, scale, 200_000) > 0.1).mean())
        text = said(scale, threshold=0.1)
        assert ("the noise of this criterion is large" in text) == (refused >= 0.05)
        if text:
            assert f"rejected in at least {refused:.0%} of cases" in text
            enough = float(text.split("Choose an epsilon of at least ")[1].split(",")[0])
            assert float((random.laplace(0, scale / enough, 200_000) > 0.1).mean()) == pytest.approx(
                0.05, abs=0.006
            )  # told to two digits


def test_a_margin_of_a_joint_test_that_no_table_can_meet_is_told() -> None:
    joint = JointTest(epsilon=Fraction(1), false_acceptance=Fraction(1, 100))
    step = 1 / joint.margin
    assert "not even a perfect table can pass" in said(0.1001 * step, joint, threshold=0.1)
    assert "is at least 50% of the distance between the best possible value 0 and the threshold" in said(
        0.0501 * step, joint, threshold=0.1
    )
    assert said(0.04 * step, joint, threshold=0.1) == ""


def test_plan_tells_what_can_be_told_without_data(tmp_path: Path) -> None:
    fine = load_spec(write_config(tmp_path))
    assert doubts(fine, 400) == []
    beyond = load_spec(write_config(tmp_path, {"threshold = 0.9": "threshold = 1.5"}))
    assert [name for name, _ in doubts(beyond, 400)] == ["marginals"]
    noisy = load_spec(write_config(tmp_path, {"threshold = 0.9": "threshold = 0.01"}))
    ((name, text),) = doubts(noisy, 400)
    assert (name, "the noise of this criterion is large compared with its threshold" in text) == ("marginals", True)
    assert doubts(noisy, 10_000) == []
