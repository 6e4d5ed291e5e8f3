"""The one-step regression criterion and the sensitivity of prediction errors that follows from the two lines.

Sensitivities by enumeration of all private tables, all neighbours and all synthetic tables of a small domain; values against
ordinary linear algebra on rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.bundle.document import parameters
from synthrelease.bundle.verify_plan import _criterion_problems
from synthrelease.criteria.base import Fitted, Regression, Setting
from synthrelease.criteria.base_mechanism import slack
from synthrelease.criteria.facts import OneNoise, Query
from synthrelease.criteria.functional import LinearModel
from synthrelease.criteria.regressions import RegressionOneStep, RegressionPrediction
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.grids import NoisyFigure
from synthrelease.published.charges import CriterionPart
from tests.helpers.small import World

SMALL = World({"a": 1, "b": 2})
WIDE = World({"a": 1, "b": 3, "c": 4})


def one_step(world: World, range_: tuple[float, float], **fields: object) -> RegressionOneStep:
    *features, target = world.schema.names
    return RegressionOneStep.model_validate(
        {
            "name": "line", "kind": "regression_one_step", "target": target, "features": features, "range": range_,
            "representation": dict.fromkeys(world.schema.names, "single"), "threshold": 1, "epsilon": 1, **fields,
        }
    )  # fmt: skip


def setting(world: World, *criteria: RegressionOneStep | RegressionPrediction, possible: np.ndarray | None = None) -> Setting:
    found = world.setting(*criteria)
    if possible is None:
        return found
    columns = tuple(range(len(world.layout.sizes)))
    mask = Mask(columns=columns, forbidden=~possible.reshape(world.layout.sizes))
    return replace(found, raw=Plausibility(layout=world.layout, masks=(mask,)))


def query(
    world: World,
    synthetic: Sequence[int],
    range_: tuple[float, float],
    n: int | None = None,
    possible: np.ndarray | None = None,
) -> Query:
    judged = one_step(world, range_)
    where = setting(world, judged, possible=possible)
    earlier = Fitted().with_regression("line", judged.prepare(PrivateCounts(world.counts([0]), Meter(())), where))
    return judged.query(n or len(synthetic), world.candidate(synthetic), where, earlier)


# --- Sensitivity


@pytest.mark.slow
@pytest.mark.parametrize("range_", [(0, 2), (0.5, 1.5), (-3, 5)], ids=str)
@pytest.mark.parametrize("n", [2, 3])
def test_no_neighbour_moves_the_figure_by_more_than_its_sensitivity(range_: tuple[float, float], n: int) -> None:
    tables = SMALL.all_tables(n)
    counts = {table: SMALL.counts(table) for table in tables}
    pairs = [(table, other) for table in tables for other in set(SMALL.neighbours(table)) if table < other]
    ratios = []
    for synthetic in tables:
        asked = query(SMALL, synthetic, range_)
        figures = {table: asked.figure(each) for table, each in counts.items()}
        ratios.append(max(abs(figures[table] - figures[other]) for table, other in pairs) / asked.sensitivity)
    assert max(ratios) <= 1 + 1e-9
    assert max(ratios) > 0.9


def test_records_that_the_rules_exclude_are_left_out_of_the_sensitivity_and_no_others() -> None:
    """Without the records far from any line the noise is smaller, and still no table that follows the rules exceeds it."""
    possible = np.array([True, True, False, False, True, True])
    inside = [table for table in SMALL.all_tables(3) if possible[list(table)].all()]
    worst, smaller = 0.0, 0
    for synthetic in SMALL.all_tables(3):
        asked, everywhere = query(SMALL, synthetic, (0, 2), possible=possible), query(SMALL, synthetic, (0, 2))
        figures = {table: asked.figure(SMALL.counts(table)) for table in inside}
        moved = max(
            abs(figures[table] - figures[other]) for table in inside for other in SMALL.neighbours(table) if other in figures
        )
        worst = max(worst, moved / asked.sensitivity)
        smaller += asked.sensitivity < 0.9 * everywhere.sensitivity
    assert 0.9 < worst <= 1 + 1e-9
    assert smaller > 5


# --- Value


def test_the_figure_is_said_to_have_laplace_noise() -> None:
    """`CriterionPart.mechanism` is published; the functional mechanism is that of the private line, which is another charge."""
    assert one_step(SMALL, (0, 1)).mechanism_words == "Laplace"


@pytest.mark.parametrize(
    ("mechanism", "joint", "verified"),
    [("Laplace", False, True), ("functional mechanism", False, True), ("Gaussian", False, False), ("Laplace", True, False)],
)
def test_a_release_that_calls_it_the_functional_mechanism_still_verifies(mechanism: str, joint: bool, verified: bool) -> None:
    """Versions up to 1.1 published that word; where figures share a noise, the one word for that is expected."""
    criterion = one_step(SMALL, (0, 1))
    noise = NoisyFigure(value=0.5, noise_sd=0.1)
    score = replace(criterion.released(Query(figure=lambda counts: 0.0, sensitivity=0.1), noise), mechanism=mechanism)
    part = CriterionPart.of(score, criterion.figure_range, parameters(criterion))
    shared = OneNoise(figures=2, epsilon=Fraction(1)) if joint else None
    problems = [problem for problem in _criterion_problems(part, criterion, shared, joint=joint) if ": mechanism" in problem]
    assert (not problems) is verified


def rows(world: World, codes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    digits = np.column_stack(np.unravel_index(codes, world.layout.sizes)).astype(float)
    return digits[:, :-1], digits[:, -1]


def fit(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Intercept and slopes of the line of least squares."""
    return np.linalg.lstsq(np.column_stack([np.ones(len(target)), features]), target, rcond=None)[0]


def slow_figure(world: World, private: Sequence[int], synthetic: Sequence[int], range_: tuple[float, float]) -> float:
    """|| A_S^-1 X'r / n ||_1 over the slopes, row by row, with the intercept as a column of ones."""
    there, target = rows(world, synthetic)
    here, truth = rows(world, private)
    line = fit(there, target)
    centres, spreads = there.mean(axis=0), there.std(axis=0)
    standard = [np.column_stack([np.ones(len(each)), (each - centres) / spreads]) for each in (there, here)]
    residual = truth - np.clip(line[0] + here @ line[1:], *range_)
    step = np.linalg.solve(standard[0].T @ standard[0] / len(target), standard[1].T @ residual / len(truth))
    return float(np.abs(step[1:]).sum())


def drawn(seed: int, n: int) -> tuple[list[int], list[int]]:
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.ones(WIDE.layout.n_cells), 2)
    return [int(c) for c in generator.choice(40, n, p=shares[0])], [int(c) for c in generator.choice(40, n, p=shares[1])]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), range_=st.sampled_from([(0.0, 4.0), (1.0, 2.5), (-50.0, 50.0)]))
def test_the_figure_is_one_newton_step(seed: int, range_: tuple[float, float]) -> None:
    private, synthetic = drawn(seed, 60)
    asked = query(WIDE, synthetic, range_)
    assert not asked.void
    assert asked.figure(WIDE.counts(private)) == pytest.approx(slow_figure(WIDE, private, synthetic, range_), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_with_the_same_features_it_is_the_distance_of_the_slopes(seed: int) -> None:
    """The private rows have the features of the synthetic ones and other targets: then A_R = A_S, and one step is enough."""
    _, synthetic = drawn(seed, 60)
    targets = np.random.default_rng(seed + 1).integers(0, 5, 60)
    private = [code // 5 * 5 + int(target) for code, target in zip(synthetic, targets, strict=True)]
    (there, y), (here, z) = rows(WIDE, synthetic), rows(WIDE, private)
    distance = np.abs((fit(here, z) - fit(there, y))[1:] * there.std(axis=0)).sum()
    assert query(WIDE, synthetic, (-50, 50)).figure(WIDE.counts(private)) == pytest.approx(distance, rel=1e-9, abs=1e-12)


def test_the_same_table_has_distance_0() -> None:
    _, synthetic = drawn(1, 60)
    assert query(WIDE, synthetic, (-50, 50)).figure(WIDE.counts(synthetic)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("synthetic", "void"),
    [([0] * 9, True), ([0, 5, 10] * 3, True), ([0, 25] * 4, True), ([0, 25, 6], False)],
    ids=["one point", "a feature without spread", "a feature that follows from the other", "determined"],
)
def test_a_line_that_the_candidate_does_not_determine_never_passes(synthetic: list[int], void: bool) -> None:
    judged, asked = one_step(WIDE, (0, 4)), query(WIDE, synthetic, (0, 4))
    assert asked.void == void
    assert (slack(WIDE.counts(synthetic), judged.threshold, asked) == -np.inf) == void
    assert asked.sensitivity > 0
    assert np.isfinite(asked.figure(WIDE.counts([39] * 9)))


def test_the_private_line_is_fitted_just_when_it_has_a_budget() -> None:
    without, with_one = one_step(SMALL, (0, 2)), one_step(SMALL, (0, 2), fit_epsilon="0.3", epsilon="0.2")
    assert without.once() == ()
    (fit_charge,) = with_one.once()
    assert fit_charge.epsilon == Fraction("0.3")
    assert with_one.per_score()[0].epsilon == Fraction("0.2")
    private = PrivateCounts(SMALL.counts([0, 4, 5] * 200), Meter([fit_charge]))
    prepared = with_one.prepare(private, SMALL.setting(with_one))
    assert isinstance(prepared, Regression)
    assert np.isfinite(prepared.fitted.coefficients).all()
    with pytest.raises(LookupError, match="private fit is missing"):
        _ = without.prepare(PrivateCounts(SMALL.counts([0]), Meter(())), SMALL.setting(without)).fitted


# --- Prediction errors: the bound that follows from the two lines

LINES = [LinearModel(intercept=9.0, coefficients=np.array([-9.0])), LinearModel(intercept=0.7, coefficients=np.array([0.4]))]


def prediction(synthetic: Sequence[int], line: LinearModel, bound: str, possible: np.ndarray | None = None) -> Query:
    partner = one_step(SMALL, (0, 2))
    judged = RegressionPrediction.model_validate(
        {"name": "error", "kind": "regression_prediction", "coefficients": "line", "range": (0, 2), "bound": bound,
         "threshold": 1, "epsilon": 1}
    )  # fmt: skip
    where = setting(SMALL, partner, judged, possible=possible)
    prepared = partner.prepare(PrivateCounts(SMALL.counts([0]), Meter(())), where)
    return judged.query(3, SMALL.candidate(synthetic), where, Fitted(regressions={"line": replace(prepared, model=line)}))


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES, ids=["opposite", "near"])
@pytest.mark.parametrize("excluded", [None, 2])
def test_the_bound_of_the_two_lines_holds_is_attained_and_never_above_that_of_the_range(
    line: LinearModel, excluded: int | None
) -> None:
    possible = None if excluded is None else np.arange(6) != excluded
    inside = {table: SMALL.counts(table) for table in SMALL.all_tables(3) if excluded not in table}
    pairs = [(table, other) for table in inside for other in SMALL.neighbours(table) if other in inside]
    ratios, smaller = [], 0
    for synthetic in SMALL.all_tables(3):
        lines, range_ = (prediction(synthetic, line, bound, possible) for bound in ("lines", "range"))
        assert lines.sensitivity <= range_.sensitivity * (1 + 1e-12)
        assert range_.sensitivity == pytest.approx(2 * 2 / 3)
        smaller += lines.sensitivity < 0.8 * range_.sensitivity
        figures = {table: lines.figure(counts) for table, counts in inside.items()}
        assert figures == {table: range_.figure(counts) for table, counts in inside.items()}
        ratios.append(max(abs(figures[table] - figures[other]) for table, other in pairs) / lines.sensitivity)
    assert max(ratios) <= 1 + 1e-9
    assert max(ratios) > 0.99
    assert smaller > 5


def test_equal_lines_still_get_a_little_noise() -> None:
    """A sensitivity of 0 could not be drawn."""
    synthetic = [0, 1, 4, 5]
    features, target = rows(SMALL, synthetic)
    intercept, slope = fit(features, target)
    found = prediction(synthetic, LinearModel(intercept=float(intercept), coefficients=np.array([slope])), "lines")
    assert 0 < found.sensitivity < 1e-5
