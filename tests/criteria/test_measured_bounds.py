"""What shared noisy tables say about criteria: no original table within the limits has a larger figure, and limits cover."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion, Fitted, MeasuredAnswers
from synthrelease.criteria.facts import ANSWERED, PublicFacts
from synthrelease.criteria.functional import least_squares
from synthrelease.criteria.measured import Limits, Sums, all_limits, half_widths, measured_line
from synthrelease.criteria.records_mechanism import records_of_cells
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals
from synthrelease.privacy.noise import discrete_laplace
from synthrelease.studio.audit.exact import exact_figures
from synthrelease.studio.audit.worlds import SWEEPS
from tests.helpers.small import World

WORLD = World({"a": 1, "b": 2}, groups={"b": ["0", "1-2"]})
GAPS = World({"a": 1, "b": 1}, missing=("b",))


def answered(kind: str, **fields: object) -> Criterion:
    return CRITERIA[kind].model_validate(
        {"name": kind, "kind": kind, "threshold": 0.4, "answered_by": "measurements", **fields}
    )


NAMED: list[tuple[World, Criterion]] = [
    (WORLD, answered("absolute_marginal_error")),
    (WORLD, answered("absolute_marginal_error", largest=1)),
    (WORLD, answered("relative_marginal_error", threshold=1.4, clip=9)),
    (WORLD, answered("mean_marginal_error")),
    (WORLD, answered("quantile_marginal_error", quantile=0.6)),
    (WORLD, answered("conditional_mean", column="a", by=["b"], range=(0, 1), size_margin=0)),
    (WORLD, answered("conditional_mean", column="b", by=["a"], range=(0.5, 2), size_margin=0.4)),
    (WORLD, answered("conditional_mean", column="b", by=["b"], range=(0, 2), size_margin=0)),
    (WORLD, answered("conditional_median", column="b", by=["a"], quantiles=[0.25, 0.5])),
    (WORLD, answered("conditional_median", column="b", within=1)),
    (WORLD, answered("difference_in_proportions", column="b", bins=["1-2"], by=["a"])),
    (GAPS, answered("conditional_mean", column="b", by=["a"], range=(0, 1), size_margin=0)),
    (GAPS, answered("conditional_median", column="b", by=["a"])),
    (GAPS, answered("difference_in_proportions", column="b", bins=["1"], by=["a"], overall=False)),
]
LINES = {"regression_coefficients", "regression_prediction", "logistic_regression"}  # what is known of them is tested below
CASES = NAMED + [
    (sweep.world, sweep.criteria[-1].model_copy(update={"answered_by": "measurements", "epsilon": 0}))
    for kind in CRITERIA
    if not CRITERIA[kind].no_measured_bound and kind not in LINES | {criterion.kind for _, criterion in NAMED}
    for sweep in SWEEPS.get(kind, ())
    if sweep.linked is None  # measurements answer nothing about members
]
"""World and criterion: some by hand, and all of a further kind."""


def tables_of(world: World, dense: np.ndarray, sums: Sums) -> np.ndarray:
    """(n_tables, n_sums) the exact sums of some tables."""
    names = world.layout.columns
    shaped = dense.reshape(len(dense), *world.layout.sizes)
    found = shaped.sum(axis=tuple(1 + axis for axis, name in enumerate(names) if name not in sums.columns))
    left = [name for name in names if name in sums.columns]
    found = found.transpose([0, *(1 + left.index(name) for name in sums.columns)]).reshape(len(dense), -1)
    return found if sums.weights is None else found @ sums.weights.reshape(len(sums.weights), -1).T


def limits_around(exact: np.ndarray, sums: Sums, below: int, above: int) -> Limits:
    """Counts are never limited by less than 0, as in a release."""
    return Limits(low=exact - below if sums.weights is not None else np.maximum(exact - below, 0), high=exact + above)


@pytest.mark.parametrize(("world", "criterion"), CASES, ids=lambda each: getattr(each, "kind", ""))
def test_no_original_table_within_the_limits_has_a_larger_figure(world: World, criterion: Criterion) -> None:
    """All original tables of four records against some released ones, for limits around some tables."""
    setting, n = world.setting(criterion), 4
    every = world.all_tables(n)
    dense = world.dense(every)
    sums = criterion.measured_sums(setting.facts(world.transformation))
    exact = [tables_of(world, dense, one) for one in sums]
    generator, reached = np.random.default_rng(1), 0.0
    for place in generator.integers(len(every), size=10):
        released = every[place]
        facts = setting.facts(world.transformation, world.counts(released))
        figures = exact_figures(criterion, world, dense, dense[place], None)
        for centre, below, above in ((place, 1, 0), (generator.integers(len(every)), 1, 2), (place, 0, 0)):
            limits = [limits_around(one[centre], each, below, above) for one, each in zip(exact, sums, strict=True)]
            inside = np.all(
                [((one >= each.low) & (one <= each.high)).all(axis=1) for one, each in zip(exact, limits, strict=True)], axis=0
            )
            assert inside[centre]
            bound, largest = criterion.measured_bound(limits, facts), float(figures.values[inside].max())
            if figures.void:
                assert math.isnan(bound)
                continue
            assert bound >= largest - 1e-12
            if below == above == 0:  # what is known exactly is bounded by itself, but for the grid of numbers
                assert bound <= largest + 2e-3
            reached = max(reached, largest / bound if bound > 0 else 1.0)
    assert reached > 0.99  # some bound is attained


def test_limits_of_slopes_hold_for_lines_by_least_squares() -> None:
    world = World({"x": 2, "w": 1, "y": 3})
    line = {"target": "y", "features": ["x", "w"], "representation": dict.fromkeys("xwy", "single")}
    criterion = answered("regression_coefficients", **line)
    setting = world.setting(criterion)
    sums = criterion.measured_sums(setting.facts(world.transformation))
    numbers = tuple(np.arange(size, dtype=float) for size in (3, 2, 4))
    generator, narrow = np.random.default_rng(3), 0
    for width in (0, 500, 2000, 4000, 600_000) * 5:
        original, released = generator.integers(24, size=(2, 300))
        released[100:] = original[100:]
        (theirs, _), (ours, spreads) = (
            least_squares(records_of_cells(np.bincount(rows, minlength=24), numbers)) for rows in (original, released)
        )
        distance = float(np.abs((theirs.coefficients - ours.coefficients) * spreads).sum())
        dense = np.bincount(original, minlength=24)[None]
        below = [int(generator.integers(width + 1)) for _ in sums]
        limits = [
            limits_around(tables_of(world, dense, one)[0], one, down, width - down)
            for one, down in zip(sums, below, strict=True)
        ]
        bound = criterion.measured_bound(limits, setting.facts(world.transformation, world.counts(released.tolist())))
        assert bound >= distance - 1e-9
        if width == 0:
            assert bound <= distance + 0.02
        narrow += math.isfinite(bound)
        assert width < 600_000 or bound == math.inf  # nothing is known of the slopes
    assert narrow == 20


def measured(layout: Layout, tables: Sequence[tuple[tuple[int, ...], np.ndarray, Fraction]], n: int) -> NoisyMarginals:
    return NoisyMarginals(
        layout=layout,
        n=n,
        tables=tuple(
            NoisyMarginal(columns=columns, values=values, cost=epsilon, cells=np.ones_like(values))
            for columns, values, epsilon in tables
        ),
    )


def drawn(values: np.ndarray, epsilon: Fraction) -> np.ndarray:
    return discrete_laplace(values.ravel(), sensitivity=2, epsilon=epsilon).reshape(values.shape)


def everywhere(layout: Layout) -> Any:
    return lambda names: np.ones(math.prod(layout.sizes[layout.index(name)] for name in names), dtype=bool)


@pytest.mark.parametrize("risk", [0.3, 0.05])
def test_limits_cover_with_at_least_their_confidence_every_noise_enumerated(risk: float) -> None:
    """A table of two cells, its noise from -15 to 15 in each: Pr[all limits hold], the tails counted as misses."""
    layout, original, reach, epsilon = Layout(columns=("c",), sizes=(2,)), np.array([30, 90]), 15, Fraction(2)
    asked = {"cells": [Sums(columns=("c",))], "weighted": [Sums(columns=("c",), weights=np.array([[3, -1]]))]}
    truth, a, covered = {"cells": original, "weighted": np.array([3 * 30 - 90])}, math.exp(-float(epsilon) / 2), 0.0
    for noise in product(range(-reach, reach + 1), repeat=2):
        found = all_limits(asked, measured(layout, [((0,), original + noise, epsilon)], 120), everywhere(layout), risk)
        holds = all(
            ((each.low <= truth[name]) & (truth[name] <= each.high)).all() for name, limits in found.items() for each in limits
        )
        covered += holds * math.prod((1 - a) / (1 + a) * a ** abs(z) for z in noise)
    assert covered >= 1 - risk
    assert covered <= 1 - risk / 8  # and not for nothing: limits of twice the width would cover far more


@pytest.mark.slow
def test_limits_of_several_tables_cover_by_simulation() -> None:
    """Cells of three overlapping tables, their margins and a weighted sum, combined: 400 measurements with the real noise."""
    layout, generator = Layout(columns=("a", "b", "c"), sizes=(2, 3, 4)), np.random.default_rng(5)
    table = generator.integers(0, 40, size=(2, 3, 4))
    epsilons = {(0, 1): Fraction(1, 2), (1, 2): Fraction(1, 3), (1,): Fraction(1, 5)}
    exact = {columns: table.sum(axis=tuple(axis for axis in range(3) if axis not in columns)) for columns in epsilons}
    asked = {
        "all": [Sums(columns=("b",)), Sums(columns=("b", "a")), Sums(columns=("c", "b"), weights=table[:1].swapaxes(1, 2))]
    }
    truth = [table.sum(axis=(0, 2)), table.sum(axis=2).T.ravel(), np.array([(table[0] * table.sum(axis=0)).sum()])]
    held, runs, risk = 0, 400, 0.2
    for _ in range(runs):
        noisy = [(columns, drawn(values, epsilons[columns]), epsilons[columns]) for columns, values in exact.items()]
        found = all_limits(asked, measured(layout, noisy, int(table.sum())), everywhere(layout), risk)["all"]
        held += all(((each.low <= sums) & (sums <= each.high)).all() for each, sums in zip(found, truth, strict=True))
    assert held >= runs * (1 - risk)  # expected: about 0.85 of them
    assert held < runs  # a limit that never fails is too wide


def test_a_sum_from_two_tables_is_known_better_than_from_either() -> None:
    layout = Layout(columns=("a", "b"), sizes=(2, 2))
    values, half = np.full((2, 2), 50), Fraction(1, 2)
    tables = [((0, 1), values, half), ((0,), values.sum(axis=1), half)]
    both, pair, single = (
        half_widths(Sums(columns=("a",)), measured(layout, chosen, 200), everywhere(layout), 1e-3)[0]
        for chosen in (tables, tables[:1], tables[1:])
    )
    assert both < min(pair, single)


def test_the_width_of_a_sum_from_two_tables_is_that_of_the_sum_of_their_noise() -> None:
    """Two tables that hold the same cells: their mean is within t / 2, t the exact limit of the sum of two noises."""
    layout, values, epsilon, risk = Layout(columns=("a", "b"), sizes=(2, 1)), np.array([50, 50]), Fraction(1, 2), 0.05
    tables = [((0, 1), values[:, None], epsilon), ((0,), values, epsilon)]
    asked = Sums(columns=("a",), weights=np.array([[1, 0]]))
    found = all_limits({"": [asked]}, measured(layout, tables, 100), everywhere(layout), risk)[""][0]
    stop, steps = np.exp(-float(epsilon) / 2), np.abs(np.arange(-400, 401))
    one = (1 - stop) / (1 + stop) * stop**steps
    two = np.convolve(one, one)
    at = np.abs(np.arange(len(two)) - len(two) // 2)
    limit = next(t for t in range(400) if two[at > t].sum() <= risk)
    assert (found.low[0], found.high[0]) == (50 - limit // 2, 50 + limit // 2)


def test_cells_that_the_rules_exclude_have_no_noise() -> None:
    layout = Layout(columns=("a", "b"), sizes=(2, 2))
    noisy = measured(layout, [((0, 1), np.array([[50, 70], [90, 40]]), Fraction(1, 2))], 250)
    allowed = lambda names: np.array([True, False, True, True]) if names == ("a", "b") else np.ones(2, dtype=bool)  # noqa: E731
    sums = Sums(columns=("a",), weights=np.array([[1, 0]]))
    found = all_limits({"": [sums]}, noisy, allowed, 0.1)[""][0]
    free = all_limits({"": [sums]}, noisy, everywhere(layout), 0.1)[""][0]
    assert found.high[0] + found.low[0] == 2 * 50  # and not 50 + 70
    assert found.high[0] - found.low[0] < free.high[0] - free.low[0]


def test_noise_beyond_its_limits_leaves_everything_open() -> None:
    layout = Layout(columns=("a",), sizes=(2,))
    noisy = measured(layout, [((0,), np.array([-500, 700]), Fraction(4))], 12)
    found = all_limits({"": [Sums(columns=("a",))]}, noisy, everywhere(layout), 0.1)[""][0]
    assert (found.low == 0).all()
    assert (found.high == 12).all()


def test_an_answer_looks_at_measurements_and_candidate_alone() -> None:
    """Its score has no noise and no epsilon, does not open the private table, and follows the measurements."""
    criterion = answered("absolute_marginal_error", threshold=0.5)
    setting, original = WORLD.setting(criterion), [0, 0, 1, 2, 5, 5] * 20
    candidate = WORLD.candidate([0, 0, 1, 2, 4, 5] * 20)

    def score(values: np.ndarray) -> Any:
        noisy = measured(WORLD.layout, [((0, 1), values, Fraction(50))], 120)
        answers = MeasuredAnswers(measured=noisy, common=WORLD.transformation, risk=Fraction(1, 100), transformations=1)
        private = WORLD.private([0] * 120, [])  # another table, and no charge: neither matters
        return criterion.score(private, candidate, setting, Fitted(answers=answers))

    found = score(WORLD.counts(original).dense().reshape(2, 3))
    assert (found.epsilon, found.sensitivity, found.noise_sd, found.mechanism) == (0, None, None, ANSWERED)
    assert criterion.per_score() == criterion.once() == ()
    assert found.passed
    assert 20 / 120 < found.value < 22 / 120  # one cell is 20 rows off, and the noise at most one
    assert not score(WORLD.counts([5] * 120).dense().reshape(2, 3)).passed


def test_what_a_sum_is_does_not_depend_on_any_table() -> None:
    """`measured_sums` is asked without a table: one that read it would fail."""
    facts = WORLD.setting().facts(WORLD.transformation)
    with pytest.raises(LookupError):
        _ = facts.table
    for world, criterion in CASES:
        assert criterion.measured_sums(world.setting(criterion).facts(world.transformation))


@pytest.mark.parametrize("kind", sorted(CRITERIA))
def test_every_kind_is_answered_or_says_why_not(kind: str) -> None:
    answerable = CRITERIA[kind].measured_bound is not Criterion.measured_bound
    inherited = kind in ("regression_one_step",)  # a figure of its own, which pairs do not determine
    assert (answerable and not inherited) != bool(CRITERIA[kind].no_measured_bound)


def test_facts_of_a_candidate_have_its_groups() -> None:
    facts: PublicFacts = WORLD.setting().facts(WORLD.transformation, Counts(WORLD.layout, np.array([0, 5])))
    assert [group.inside for group in facts.groups["b"]] == [(True, False, False), (False, True, True)]


def test_the_line_of_measurements_without_noise_is_that_of_least_squares() -> None:
    """Where all pairs are measured; a pair that is not counts as uncorrelated, and the line is another one."""
    world = World({"x": 2, "w": 2, "y": 3})
    generator = np.random.default_rng(2)
    x, w = generator.integers(3, size=(2, 500))
    rows = np.ravel_multi_index((x, np.minimum(w, x), (x + w) // 2), (3, 3, 4))
    counts, names = world.counts(rows.tolist()), ("x", "w", "y")
    binnings = [world.transformation.binning(name) for name in names]
    exact, _ = least_squares(records_of_cells(counts.dense(), [np.arange(k, dtype=float) for k in (3, 3, 4)]))

    def line(*pairs: tuple[int, int]) -> Any:
        tables = [(pair, counts.marginal(list(pair)), Fraction(1)) for pair in pairs]
        return measured_line(names, binnings, measured(world.layout, tables, 500), world.transformation)

    found = line((0, 1), (0, 2), (1, 2))
    assert found.coefficients == pytest.approx(exact.coefficients, abs=1e-6)
    assert found.intercept == pytest.approx(exact.intercept, abs=1e-6)
    assert line((0, 2), (1, 2)).coefficients != pytest.approx(exact.coefficients, abs=0.05)
