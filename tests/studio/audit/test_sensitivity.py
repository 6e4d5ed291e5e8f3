"""Sensitivities by enumeration. Here a slice of it; `synthrelease audit --part sensitivity` enumerates the whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synthrelease.criteria import base_mechanism as asking
from synthrelease.criteria import faithfulness_mechanism as matching
from synthrelease.criteria import groupings
from synthrelease.criteria import groupings_mechanism as groups_of_rows
from synthrelease.criteria import marginals as weighted_marginals
from synthrelease.criteria import marginals_mechanism as small_tables
from synthrelease.criteria import records_mechanism as regressions
from synthrelease.criteria import regressions as regression_prediction
from synthrelease.criteria import shares as proportions
from synthrelease.criteria.functional import least_squares
from synthrelease.criteria.marginals import MeanMarginalError
from synthrelease.criteria.records_mechanism import moments, real_moments, records_of_cells
from synthrelease.criteria.scoring import fitted_before, scores_of
from synthrelease.data.plausibility import Plausibility
from synthrelease.generators.base import Background
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.privacy import noise as randomness
from synthrelease.studio.audit import enumeration as sensitivity
from synthrelease.studio.audit import model_sensitivity
from synthrelease.studio.audit.enumeration import MOST_RECORDS, CodeFigures, Recording, enumerate_sweep, neighbour_pairs, sweeps
from synthrelease.studio.audit.model_sensitivity import enumerate_models
from synthrelease.studio.audit.sweep import Sweep, criterion
from synthrelease.studio.audit.tiny import World
from tests.criteria.test_sensitivity import triples
from tests.helpers.furthest import FURTHEST

SWEEPS = {sweep.name: sweep for sweep in sweeps()}


def test_the_whole_enumeration_has_more_than_ten_million_triples() -> None:
    sizes = {name: len(sweep.world.cells) for name, sweep in SWEEPS.items() if sweep.linked is None}
    assert sum(triples(cells, MOST_RECORDS) for cells in sizes.values()) > 10**7


def test_neighbours_are_all_pairs_that_differ_in_one_record() -> None:
    world = World({"a": 1, "b": 2})
    codes = world.all_tables(3)
    first, second = neighbour_pairs(world.dense(codes))
    pairs = {frozenset((codes[i], codes[j])) for i, j in zip(first, second, strict=True)}
    assert pairs == {frozenset((table, other)) for table in codes for other in world.neighbours(table)}
    assert len(pairs) == len(first)


def narrower(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same with half the sensitivity."""
    return lambda value, *, sensitivity, **more: function(value, sensitivity=sensitivity / 2, **more)


FAULTS: dict[str, tuple[str, object, str, Any]] = {
    "the sensitivity is halved": (
        "absolute, 2 x 2, all tables", asking, "laplace_figure", narrower(randomness.laplace_figure)),
    "the ratio is not clipped": (
        "relative, 2 x 2, clip 1.75", small_tables, "largest_ratio",
        lambda r, s, clip: float(np.maximum((r + 1) / (s + 1), (s + 1) / (r + 1)).max())),
    "weights count without their largest": (
        "weighted by b, 2 x 3, all tables", weighted_marginals, "HEAVIEST", 2**19),
    "groups are not filled up": (
        "mean of b by a, groups alone, 2 x 3", groups_of_rows, "resized_means",
        lambda counts, sums, sizes: sums / np.maximum(counts, 1)),
    "the largest matching is not found": (
        "faithfulness, one of both near, 3 x 2", matching, "maximum_matching",
        lambda left, right, steps: int(left.counts[0] == right.counts[0])),
    "cells that one side lacks are dropped": (
        "absolute, 2 x 2, all tables", small_tables, "largest_difference",
        lambda left, right, largest, named: max(
            (abs(int(left.dense()[code] - right.dense()[code])) for code in np.intersect1d(left.codes, right.codes)),
            default=0)),
    "the line of the synthetic table is forgotten": (
        "prediction, rising line, 2 x 3", regression_prediction, "least_squares",
        lambda records: least_squares(replace(records, counts=np.ones_like(records.counts)))),
    "half of what a record moves is paid for": (
        "one step, 2 x 3", asking, "laplace_figure", narrower(randomness.laplace_figure)),
    "the joint test adds half its noise": (
        "joint test, ratios, 2 x 3", asking, "laplace_figure", narrower(randomness.laplace_figure)),
    "records inside are counted in shares of the synthetic count": (
        "joint test, ratios, 2 x 3", small_tables, "records_inside",
        lambda r, s, threshold: float(np.minimum(threshold * s - r, r - s / threshold).min())),
    "half of all tables are averaged over": (
        "mean of tables, 2 x 3", MeanMarginalError, "n_tables", lambda self, layout: 1),
    "rows above the window are not counted": (
        "median of b by a, 2 x 3", groups_of_rows, "sizes",
        lambda *given, right=groups_of_rows.sizes: right(*given) * 2),
    "half of what a row adds to a share is paid for": (
        "proportion of b by a, 2 x 3", asking, "laplace_figure", narrower(randomness.laplace_figure)),
    "rows that lack a value are taken for rows without the condition": (
        "proportion of b by a, with missing values, 2 x 2", proportions, "groupings",
        lambda *given: [replace(found, into=np.maximum(found.into, 0)) for found in groupings.groupings(*given)]),
    "the largest gap is taken for the distance of the gaps": (
        "prediction by lines, rising line, 2 x 3", regression_prediction, "_gaps",
        lambda *public, right=regression_prediction._gaps: (np.full_like(right(*public)[0], 0.0), right(*public)[1])),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_enumeration_notices(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, module, function, wrong = FAULTS[fault]
    monkeypatch.setattr(module, function, wrong)
    assert not all(enumerate_sweep(SWEEPS[name], records).sound for records in (2, 3))  # three where two do not show it


def test_violations_are_counted_in_the_codes_integers_and_in_exact_fractions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the noise in the code alone, then half the bound in the proof alone: each is a violation in many triples."""
    sweep = SWEEPS["absolute, 2 x 2, all tables"]
    with monkeypatch.context() as patch:
        patch.setattr(asking, "laplace_figure", narrower(randomness.laplace_figure))
        code = enumerate_sweep(sweep, 2).violations
    right = sensitivity.exact_figures
    monkeypatch.setattr(sensitivity, "exact_figures", lambda *given: replace(found := right(*given), bound=found.bound / 2))
    proof = enumerate_sweep(sweep, 2).violations
    assert code == proof > 100


@pytest.mark.parametrize("fault", ["bound", "figure"])
def test_the_first_table_is_shown_with_what_it_should_have_been(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: beside a synthetic record in the first cell, a private one there has the value 0 and one elsewhere 1."""
    sweep, right = SWEEPS["absolute, 2 x 2, all tables"], sensitivity.exact_figures
    assert enumerate_sweep(sweep, 1).first == ""
    wrong = {"bound": lambda found: {"bound": found.bound / 2}, "figure": lambda found: {"numerators": 3 * found.numerators}}
    monkeypatch.setattr(sensitivity, "exact_figures", lambda *given: replace(found := right(*given), **wrong[fault](found)))
    synthetic, second = "for the synthetic table [0 0]", "second formula"
    assert enumerate_sweep(sweep, 1).first.startswith(
        {
            "bound": f"{synthetic}, [0 0] has the value 0 ({second}: 0), [0 1] has the value 1 ({second}: 1), "
            f"the sensitivity is 1 ({second}: 0.5)",
            "figure": f"{synthetic}, [0 0] has the value 0 ({second}: 0), [0 1] has the value 1 ({second}: 3)",
        }[fault]
    )


def test_the_code_and_the_second_implementation_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure that is too small by one grid step in 8,000 is a disagreement, though it moves by no more than its bound."""
    right = randomness.laplace_figure
    monkeypatch.setattr(asking, "laplace_figure", lambda value, **more: right(value * (1 - 2**-12), **more))
    found = enumerate_sweep(SWEEPS["absolute, 2 x 2, all tables"], 2)
    assert found.disagreements > 0
    assert found.violations == 0


@pytest.mark.slow
def test_a_bound_that_is_claimed_tight_must_be_attained() -> None:
    sweep = SWEEPS["prediction, rising line, 2 x 3"]
    loose = Sweep(**{**vars(sweep), "tight": True})
    assert enumerate_sweep(sweep, 2).sound
    assert not enumerate_sweep(loose, 2).sound
    assert enumerate_sweep(loose, 2).violations == 0


def test_a_sensitivity_that_depends_on_the_private_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = randomness.laplace_figure
    monkeypatch.setattr(
        asking, "laplace_figure", lambda value, *, sensitivity, **more: right(value, sensitivity=sensitivity + value, **more)
    )
    with pytest.raises(ValueError, match="must have one value and the same public sensitivity"):
        enumerate_sweep(SWEEPS["absolute, 2 x 2, all tables"], 2)


# --- What models measure


@pytest.mark.slow
def test_scores_tables_and_moments_move_by_at_most_their_sensitivity() -> None:
    found = list(enumerate_models(3))
    assert all(part.sound for part in found)
    largest = {part.kind: max(other.largest for other in found if other.kind == part.kind) for part in found}
    assert largest["PrivBayes"] == 1  # its joint tables
    assert largest["marginals"] == 1
    assert Fraction(1, 2) < largest["functional mechanism"] < 1
    assert sum(part.triples for part in found) > 4_000


@pytest.mark.parametrize(
    ("kind", "module", "function", "wrong"),
    [
        ("PrivBayes: structure score", model_sensitivity, "score_sensitivity", lambda n: 2 * n + 1),
        ("PrivBayes: structure score", model_sensitivity, "dependence_score", lambda joint, n: 9 * n * int(joint.flat[0])),
        ("functional mechanism", regressions, "moments",
         lambda rows, design: np.rint(real_moments(rows, design) * design.scales * (1 + rows[:, :1])).astype(np.int64)),
    ],
)  # fmt: skip
def test_the_enumeration_of_models_notices(
    kind: str, module: object, function: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, function, wrong)
    assert any(not part.sound for part in enumerate_models(3, lambda _, name: kind in name))


def test_a_fit_adds_noise_to_the_tables_that_are_enumerated() -> None:
    """What `PrivBayes.fit` hands to the noise are the joint tables of its network, for the noise of 2 d counts."""
    world, recorder, epsilon = World({"a": 1, "b": 2}), Recording(), Fraction(4)
    generator = PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(1, 2))
    charge, free = generator.charge(epsilon), Background(plausibility=Plausibility(layout=world.layout, masks=()))
    for table in world.all_tables(3)[::5]:
        network = generator.fit(world.private(table, [charge], recorder), charge, free)
        counts = world.dense([table]).reshape(world.layout.sizes)
        expected = []
        for family in network.families:
            axes = (*family.parents, family.column)
            summed = counts.sum(axis=tuple(axis for axis in range(2) if axis not in axes))
            expected += summed.transpose(np.argsort(np.argsort(axes))).ravel().tolist()
        assert recorder.values[-1].tolist() == expected
        assert recorder.scales[-1] == 2.0  # 2 d = 4 counts, half of epsilon 4


@pytest.mark.slow
@pytest.mark.parametrize("fit", ["once", "every_round"])
def test_the_criterion_adds_noise_to_the_moments_that_are_enumerated(fit: str) -> None:
    """Before the loop or in a round: the moments of the private table, and noise for the design's sensitivity."""
    world, recorder = World({"a": 1, "b": 2}), Recording()
    line = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}, "fit": fit}
    scored = criterion("regression_coefficients", **line)
    setting = world.setting(scored)
    design = scored.design(setting, np.ones(world.layout.n_cells, dtype=bool))  # type: ignore[attr-defined]
    for table in world.all_tables(2):
        private = world.private(table, scored.once(), recorder)
        earlier = fitted_before([scored], private, setting)
        scores_of([scored], private.with_plan(scored.per_score()), world.candidate((0, 5)), setting, earlier)
        records = records_of_cells(np.bincount(table, minlength=world.layout.n_cells), design.numbers)
        assert recorder.values.pop().tolist() == (records.counts @ moments(records.values, design)).tolist()
        assert recorder.scales.pop() == float(design.sensitivity)
        assert recorder.values == []


# --- The tables that the statistical audit uses


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["absolute, 2 x 3, all tables", "mean of b by a, clipped, 2 x 3", "prediction, flat line, 2 x 3"]
)
def test_the_audited_neighbours_are_the_furthest(name: str) -> None:
    """No neighbours of three records, beside no synthetic table, are further apart in units of the noise."""
    sweep, tables = SWEEPS[name], FURTHEST[name]
    world = sweep.world
    codes = world.all_tables(len(tables.synthetic))
    first, second = neighbour_pairs(world.dense(codes))
    scorer = CodeFigures(sweep, world)
    privates = [scorer.behind_the_door(table) for table in codes]

    def furthest(synthetic: tuple[int, ...]) -> tuple[float, set[frozenset[tuple[int, ...]]]]:
        figures = scorer.figures(privates, synthetic)
        changes = np.abs(figures.steps[first] - figures.steps[second]) / figures.allowed_steps
        top = np.flatnonzero(changes == changes.max())
        return float(changes.max()), {frozenset((codes[first[i]], codes[second[i]])) for i in top}

    largest, pairs = furthest(tables.synthetic)
    assert frozenset((tables.left, tables.right)) in pairs
    assert largest >= max(furthest(synthetic)[0] for synthetic in codes[::5])


def test_every_audited_pair_differs_in_one_record() -> None:
    assert FURTHEST.keys() <= SWEEPS.keys()
    for tables in FURTHEST.values():
        assert 3 <= len(tables.left) == len(tables.right) == len(tables.synthetic) <= 4
        assert tables.right in set(World(SWEEPS["absolute, 6, all tables"].highs).neighbours(tuple(sorted(tables.left))))


def test_the_recorder_adds_nothing() -> None:
    recorder = Recording()
    assert recorder.add_laplace(np.array([3, -4]), 7.0).tolist() == [3, -4]
    assert recorder.scales == [7.0]
