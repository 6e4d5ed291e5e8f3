"""Sensitivities by enumeration: every private table of n records, every neighbour, every synthetic table, exact figures.

The enumeration and the second implementation are those of the audit: the figures are taken where the noise would be added, so
they are the figures that a release uses; the sensitivities are those that the noise was calibrated to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.audit.sensitivity import Sweep, criterion, enumerate_sweep
from synthrelease.criteria import Criterion, Fitted
from synthrelease.criteria.functional_mechanism import (
    Design,
    LinearModel,
    Prior,
    least_squares,
    private_least_squares,
)
from synthrelease.criteria.records import records_of_cells
from synthrelease.randomness import NoNoise
from tests.helpers.small import World

TWO_BY_TWO_HIGHS, TWO_BY_THREE_HIGHS, GROUPS = {"a": 1, "b": 1}, {"a": 1, "b": 2}, {"b": ["0", "1-2"]}
TWO_BY_TWO = World(TWO_BY_TWO_HIGHS)
TWO_BY_THREE = World(TWO_BY_THREE_HIGHS, groups=GROUPS)
GUESS = Prior(
    intercept=0.5,
    coefficients=np.array([0.7]),
    centres=np.array([0.4]),
    spreads=np.array([0.5]),
    uncertainty=0.3,
)
# Clipped to [0, 2] this line predicts 2 at a = 0 and 0 at a = 1, the opposite of what some synthetic tables say; unclipped 9
FITTED = LinearModel(intercept=9.0, coefficients=np.array([-9.0]))


def cases() -> Iterator[tuple[int, Sweep]]:
    """(largest number of records, sweep); every bound is attained. These worlds are not those of `synthrelease audit`."""

    def sweep(
        highs: dict[str, int], *criteria: Criterion, fitted: LinearModel | None = None, missing: tuple[str, ...] = ()
    ) -> Sweep:
        groups = {name: values for name, values in GROUPS.items() if highs[name] == 2}
        return Sweep(name=criteria[-1].kind, highs=highs, groups=groups, criteria=criteria, fitted=fitted, missing=missing)

    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("absolute_marginal_error"))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("absolute_marginal_error", largest=1))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("relative_marginal_error", clip=2))
    yield 5, sweep(TWO_BY_TWO_HIGHS, criterion("relative_marginal_error", clip=3))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("weighted_marginal_error", weight="b"))
    yield 4, sweep(TWO_BY_TWO_HIGHS, criterion("weighted_marginal_error", weight="a", largest=1))
    mean = {"column": "a", "by": ["b"], "range": (0, 1)}
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("conditional_mean", size_margin=0, **mean))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("conditional_mean", size_margin=0.4, **mean))
    # groups of two rows: m = 2, and private groups may be shorter
    yield 4, sweep(TWO_BY_TWO_HIGHS, criterion("conditional_mean", size_margin=0, overall=False, **mean))
    narrow = {"column": "b", "by": ["a"], "range": (0.5, 1)}  # the values 0 and 2 lie outside and are clipped
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("conditional_mean", size_margin=0, **narrow))
    faithful = {"exact": ["a"], "within_one_bin": ["b"]}
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("faithfulness", **faithful))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("faithfulness", exact=["a", "b"], within_one_bin=[], at_most=0))
    fit = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}, "fit": "once"}
    partner = criterion("regression_coefficients", **fit)
    prediction = criterion("regression_prediction", coefficients="regression_coefficients", range=(0, 2))
    yield 3, sweep(TWO_BY_THREE_HIGHS, partner, prediction, fitted=FITTED)
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("absolute_marginal_error", tables=["b", "all 2-way"]))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("mean_marginal_error"))
    yield 3, sweep(TWO_BY_TWO_HIGHS, criterion("mean_marginal_error", tables=["a", "all columns"]))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("quantile_marginal_error", quantile=0.6))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("conditional_median", column="b", by=["a"], quantiles=[0.5, 0.9]))
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("conditional_median", column="a", by=["b"]))
    share = {"column": "a", "bins": ["1"], "by": ["b"], "overall": True}
    yield 3, sweep(TWO_BY_THREE_HIGHS, criterion("difference_in_proportions", **share))
    odds = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}
    yield 4, sweep(TWO_BY_TWO_HIGHS, criterion("logistic_regression", positive=["1"], **odds))
    for lacking in ("a", "b"):
        missing = {"missing": (lacking,)}
        yield 2, sweep(TWO_BY_TWO_HIGHS, criterion("absolute_marginal_error"), **missing)
        yield 2, sweep(TWO_BY_TWO_HIGHS, criterion("conditional_mean", size_margin=0.2, **mean), **missing)
        yield 2, sweep(TWO_BY_TWO_HIGHS, criterion("conditional_median", column="b", by=["a"]), **missing)
        yield 2, sweep(TWO_BY_TWO_HIGHS, criterion("difference_in_proportions", **share), **missing)
        yield 2, sweep(TWO_BY_TWO_HIGHS, criterion("faithfulness", exact=["a"], ignored=["b"]), **missing)
        yield 2, sweep(TWO_BY_TWO_HIGHS, criterion("faithfulness", **faithful), **missing)
        yield 2, sweep(TWO_BY_TWO_HIGHS, criterion("regression_one_step", range=(0, 1), **odds), **missing)


def names() -> Iterator[str]:
    """Of the cases, counted within each kind, so that a new kind changes no other's (mutations name some)."""
    seen = Counter[str]()
    for n, sweep in cases():
        seen[sweep.kind] += 1
        yield f"{sweep.kind}-n{n}-case{seen[sweep.kind]}"


@pytest.mark.parametrize(
    ("records", "sweep"), [pytest.param(n, sweep, id=name) for name, (n, sweep) in zip(names(), cases(), strict=True)]
)
def test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity(records: int, sweep: Sweep) -> None:
    """In the integers that get the noise and in the audit's exact fractions, which the code's figures also equal."""
    found = enumerate_sweep(sweep, records)
    assert found.sound
    assert found.largest == 1


def test_cells_missing_from_one_side_count() -> None:
    """A private cell that the synthetic table lacks is an error of its whole count, and the other way round."""
    scored = criterion("absolute_marginal_error")
    score = lambda original, synthetic: scored.score(  # noqa: E731
        TWO_BY_TWO.private(original, scored.per_score()), TWO_BY_TWO.candidate(synthetic), TWO_BY_TWO.setting(scored), Fitted()
    )
    large = 40_000  # noise of scale 1/n is then far below the distances looked at
    assert score([0] * large, [3] * large).value == pytest.approx(1.0, abs=0.01)
    assert score([3] * large, [0] * large).value == pytest.approx(1.0, abs=0.01)
    assert score([0] * (large // 2) + [3] * (large // 2), [0] * large).value == pytest.approx(0.5, abs=0.01)


def test_moments_of_records_that_may_lack_a_column() -> None:
    """They add nothing, and how many do not is one of the sums; the line is that of the records with both columns."""
    world = World({"a": 1, "b": 2}, missing=("a", "b"))
    judged = criterion("regression_coefficients", target="b", features=["a"], representation={"a": "single", "b": "single"})
    design = judged.design(world.setting(judged), np.ones(6, dtype=bool))
    columns = judged.regression_columns(world.setting(judged))
    sums = {}
    for table in world.all_tables(2):
        cells = columns.original(world.counts(table), world.transformation)
        moments = private_least_squares(design, cells, Fraction(1), NoNoise())
        sums[table] = np.rint(moments.sums * design.scales).astype(int)
        assert moments.sums[0] == pytest.approx(cells.rows)
    distances = {(table, other): np.abs(sums[table] - sums[other]).sum() for table in sums for other in world.neighbours(table)}
    assert max(distances.values()) <= design.sensitivity
    assert max(distances.values()) > 0.5 * design.sensitivity
    table = [0, 1, 4, 4, 5, 6, 3, 7, 11, 11, 2]  # codes of a and b, of 3 and 4 bins; two records or more lack each column
    cells = columns.original(world.counts(table), world.transformation)
    line = private_least_squares(design, cells, Fraction(1), NoNoise()).solve(len(table))
    plain, _ = least_squares(cells)
    assert line.intercept == pytest.approx(plain.intercept, abs=1e-3)
    assert line.coefficients == pytest.approx(plain.coefficients, abs=1e-3)


@pytest.mark.parametrize("prior", [None, GUESS], ids=["none", "guess"])
def test_moments_of_the_functional_mechanism(prior: Prior | None) -> None:
    """The l1 distance of the moment sums of neighbours, exact integers, never exceeds the sensitivity; it comes close."""
    design = Design.of((np.arange(2.0), np.arange(3.0)), np.ones(6, dtype=bool), prior)
    sums = {}
    for table in TWO_BY_THREE.all_tables(3):
        moments = private_least_squares(
            design, records_of_cells(np.bincount(table, minlength=6), design.numbers), Fraction(1), NoNoise()
        )
        sums[table] = np.rint(moments.sums * design.scales).astype(int)
    distances = [np.abs(sums[table] - sums[other]).sum() for table in sums for other in TWO_BY_THREE.neighbours(table)]
    assert max(distances) <= design.sensitivity
    assert max(distances) > 0.5 * design.sensitivity


def test_the_sensitivity_scans_every_possible_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the largest record, found cell by cell; the domain is looked at in pieces, and the largest may be anywhere."""
    from synthrelease.criteria import functional_mechanism

    monkeypatch.setattr(functional_mechanism, "_BATCH", 5)
    generator, largest_cells = np.random.default_rng(0), set()
    for _ in range(40):
        prior = Prior(
            intercept=generator.uniform(-1, 4),
            coefficients=generator.uniform(-2, 2, 2),
            centres=generator.uniform(0, 2, 2),
            spreads=generator.uniform(0.5, 2, 2),
            uncertainty=generator.uniform(0.1, 1),
        )
        possible = generator.random(24) < 0.8
        design = Design.of((np.arange(2.0), np.arange(3.0), np.arange(4.0)), possible, prior)
        every = records_of_cells(np.ones(24, dtype=np.int64), design.numbers).values
        sizes = {cell: int(np.abs(design.moments(every[[cell]])).sum()) for cell in np.flatnonzero(possible)}
        assert design.sensitivity == 2 * max(sizes.values())
        largest_cells.add(max(sizes, key=lambda cell: sizes[cell]))
    assert len(largest_cells) >= 4


def test_impossible_cells_may_be_left_out_of_the_sensitivity() -> None:
    """Cells that the raw rules exclude are in no private table: the noise on the first moment is smaller without them."""
    everywhere = Design.of((np.arange(2.0), np.arange(3.0)), np.ones(6, dtype=bool), None)
    inside = Design.of((np.arange(2.0), np.arange(3.0)), np.array([False, True, False, False, True, False]), None)
    scaled = np.abs(inside.moments(np.array([[0.0, 1.0], [1.0, 1.0]]))).sum(axis=1)
    assert inside.sensitivity == 2 * scaled.max()
    assert inside.sensitivity / inside.scales[0] < everywhere.sensitivity / everywhere.scales[0]
