"""No pair of tables has a figure beyond the one that a criterion calls its worst: `plan` refuses files by it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from synthrelease.cli.specifying import check, plan
from synthrelease.criteria.scoring import none_can_fail
from synthrelease.errors import SpecError
from synthrelease.publish import publish
from synthrelease.spec.requests import ReleaseRequest
from synthrelease.studio.audit.enumeration import sweeps
from synthrelease.studio.audit.exact import exact_figures
from synthrelease.studio.audit.sweep import Sweep, criterion
from tests.helpers.tiny import write_config, write_data

KNOWN = [each for each in sweeps() if not each.joint and each.linked is None and math.isfinite(each.criteria[-1].worst_figure)]
KINDS = sorted({each.kind for each in KNOWN})
ATTAINED = {"conditional_median": 0.75}
"""The share of the worst figure that is attained where it is not all: beyond the quantile 1/4 lie at most 3/4 of the rows."""
EVERY_TABLE = {"threshold = 0.9": "threshold = 1"}


def largest(sweep: Sweep) -> float:
    """The largest figure of all pairs of tables of two records, as a share of the worst."""
    world, judged = sweep.world, sweep.criteria[-1]
    tables = world.dense(world.all_tables(2))
    figures = [exact_figures(judged, world, tables, each, sweep.fitted).values.max() for each in tables]
    return float(max(figures)) / judged.worst_figure


@pytest.mark.parametrize("kind", KINDS)
def test_no_pair_of_tables_exceeds_the_worst_figure_and_some_pair_attains_it(kind: str) -> None:
    found = max(largest(sweep) for sweep in KNOWN if sweep.kind == kind)
    assert found == pytest.approx(ATTAINED.get(kind, 1), rel=1e-12)


def test_kinds_with_a_worst_figure() -> None:
    """Where a group's original size may be any multiple of its released one, no figure is the worst."""
    assert KINDS == [
        "absolute_marginal_error",
        "conditional_mean",
        "conditional_median",
        "faithfulness",
        "mean_marginal_error",
        "quantile_marginal_error",
        "relative_marginal_error",
    ]


def test_one_criterion_that_can_fail_is_enough() -> None:
    loose, strict = (criterion("absolute_marginal_error", name=str(each), threshold=each) for each in (1, 0.99))
    face = criterion("face_privacy", minimum_count=2, threshold=0, epsilon=0)
    assert none_can_fail([loose, face]) == (
        "'1' with a threshold of 1 (worst value: 1); 'face_privacy', which uses released rows only"
    )
    assert none_can_fail([face])
    assert none_can_fail([loose, strict, face]) == ""
    assert none_can_fail([criterion("kolmogorov_distance", column="a", threshold=1)]) == ""


def test_plan_check_and_release_refuse_criteria_that_every_table_meets(tmp_path: Path) -> None:
    config, data = write_config(tmp_path, EVERY_TABLE), write_data(tmp_path)
    request = ReleaseRequest(config=config, data=data, out=tmp_path / "out")
    message = (
        "At least one criterion must be able to reject a table. .* its threshold must be below its largest possible value. "
        "The criteria are 'marginals' with a threshold of 1 "
    )
    for refused in (lambda: plan(config), lambda: check(config), lambda: publish(request)):
        with pytest.raises(SpecError, match=message) as caught:
            refused()
        assert caught.value.exit_code == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["acceptance.toml", "coins.csv", "coins.toml"]
