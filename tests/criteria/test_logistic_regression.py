"""One Newton step of a logistic regression: against scikit-learn's fits, and where a table determines none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from synthrelease.criteria.base import Fitted
from synthrelease.criteria.facts import Query
from synthrelease.criteria.logistic_regression import _Steps
from synthrelease.criteria.records_mechanism import records_of_cells
from synthrelease.studio.audit.sweep import criterion
from tests.helpers.small import World

WORLD = World({"x": 3, "z": 2, "y": 2})
SINGLE = {"x": "single", "z": "single", "y": "single"}
ODDS = criterion("logistic_regression", target="y", positive=["1", "2"], features=["x", "z"], representation=SINGLE)


def table(seed: int, n: int, *, slope: float) -> np.ndarray:
    """(n, 3) rows in which the odds of y rise with x."""
    generator = np.random.default_rng(seed)
    x, z = generator.integers(0, 4, n), generator.integers(0, 3, n)
    hit = generator.random(n) < 1 / (1 + np.exp(-(slope * (x - 1.5) - 0.4 * z)))
    return np.stack([x, z, np.where(hit, generator.integers(1, 3, n), 0)], axis=1)


def codes(rows: np.ndarray) -> list[int]:
    return np.ravel_multi_index(tuple(rows.T), WORLD.layout.sizes).tolist()


def slopes(rows: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Of a fit without penalty, per standard deviation of each feature."""
    library = pytest.importorskip("sklearn.linear_model", reason="needs the extra audit")
    fit = library.LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(rows[:, :2], rows[:, 2] > 0)
    return fit.coef_[0] * spreads


def asked(original: np.ndarray, synthetic: np.ndarray) -> tuple[Query, float]:
    found = ODDS.query(len(original), WORLD.candidate(codes(synthetic)), WORLD.setting(ODDS), Fitted())
    assert isinstance(found, Query)
    return found, found.figure(WORLD.counts(codes(original)))


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_of_the_synthetic_rows_is_that_of_scikit_learn(seed: int) -> None:
    rows = table(seed, 400, slope=0.8)
    steps = _Steps.of(
        records_of_cells(WORLD.counts(codes(rows)).dense(), [np.arange(4.0), np.arange(3.0), np.array([0.0, 1.0, 1.0])])
    )
    assert steps.slopes == pytest.approx(slopes(rows, rows[:, :2].std(axis=0)), abs=1e-5)
    assert not steps.void


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_one_step_leads_to_the_fit_of_the_original_rows_when_the_tables_are_near(seed: int) -> None:
    """And is 0 for the very rows. The largest of the slopes, per standard deviation of the synthetic feature."""
    original, synthetic = table(seed, 60_000, slope=0.8), table(100 + seed, 60_000, slope=0.9)
    query, figure = asked(original, synthetic)
    spreads = synthetic[:, :2].std(axis=0)
    distance = np.abs(slopes(original, spreads) - slopes(synthetic, spreads))
    assert figure == pytest.approx(distance.max(), rel=0.15)
    assert figure > 0.05
    assert query.figure(WORLD.counts(codes(synthetic))) < 1e-8
    assert query.sensitivity < 1e-3


def test_no_record_moves_the_figure_by_more_than_the_sensitivity_and_some_nearly_does() -> None:
    """Against every record replaced by every other one, in a table of two features."""
    original, synthetic = table(1, 60, slope=0.5), table(2, 60, slope=0.7)
    query, figure = asked(original, synthetic)
    changes = []
    for place in range(0, 60, 3):
        for cell in range(WORLD.layout.n_cells):
            other = original.copy()
            other[place] = np.unravel_index(cell, WORLD.layout.sizes)
            changes.append(abs(query.figure(WORLD.counts(codes(other))) - figure))
    assert 0.5 * query.sensitivity < max(changes) <= query.sensitivity


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[0, 0, 0]] * 5 + [[3, 2, 1]] * 5),  # the outcome is known from the features
        np.array([[0, 0, 0], [1, 1, 1], [2, 2, 0], [3, 1, 2]] * 3)[:, [0, 0, 2]] % [4, 3, 3],
        np.array([[0, 1, 0], [1, 1, 1], [2, 1, 0], [3, 1, 2]] * 3),  # a feature without spread
        np.array([[0, 1, 0], [1, 2, 0], [2, 0, 0]] * 3),  # nobody is positive
    ],
    ids=["separated", "separated by two", "no spread", "no outcome"],
)
def test_a_candidate_that_determines_no_fit_fails_and_is_paid_for(rows: np.ndarray) -> None:
    query, figure = asked(table(1, len(rows), slope=0.5), rows)
    assert query.void
    assert math.isfinite(figure)
    assert 0 < query.sensitivity < 1
    private = WORLD.private(codes(rows), ODDS.per_score())
    assert math.isnan(ODDS.score(private, WORLD.candidate(codes(rows)), WORLD.setting(ODDS), Fitted()).value)


def test_rows_that_lack_a_column_are_left_out_of_both_tables() -> None:
    """The figure of tables with such rows is that of the tables without them."""
    world = World({"x": 3, "z": 2, "y": 2}, missing=("x", "y"))
    original, synthetic = table(3, 200, slope=0.5), table(4, 200, slope=0.9)
    _, alone = asked(original, synthetic)
    missing = np.array([[4, 1, 1], [4, 0, 3], [2, 1, 3]] * 20)
    both = [np.concatenate([rows, missing]) for rows in (original, synthetic)]
    left, right = (np.ravel_multi_index(tuple(rows.T), world.layout.sizes).tolist() for rows in both)
    query = ODDS.query(260, world.candidate(right), world.setting(ODDS), Fitted())
    assert isinstance(query, Query)
    assert query.figure(world.counts(left)) == pytest.approx(alone, rel=1e-9)


def test_what_is_wrong_with_its_table() -> None:
    def wrong(**fields: object) -> list[str]:
        judged = ODDS.model_copy(update=fields)
        return [mistake.field for mistake in judged.mistakes(WORLD.setting(judged), {})]

    assert wrong() == []
    assert wrong(target="w") == ["target"]
    assert wrong(positive=("9",)) == ["positive"]
    assert wrong(positive=("0", "1", "2")) == ["positive"]
    assert wrong(representation={"x": "single", "z": "single"}) == ["representation.y"]
    with pytest.raises(ValueError, match="different columns"):
        criterion("logistic_regression", target="x", positive=["1"], features=["x"], representation=SINGLE)
