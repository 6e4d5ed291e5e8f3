"""Sums of scores: how they are written, what they come to, the noise that each gets, and that the model matches them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from pydantic import ValidationError

from synthrelease.criteria.measured import measured_line
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import STEPS, Binning, Schema, Transformation
from synthrelease.generators.base import Background
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.maximum_entropy import SumTarget, Target, _Dual, base_potentials, consistent
from synthrelease.generators.measured_noise import MOST_NUMBERS, cube_sd
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, NoisySum
from synthrelease.generators.scored_sums import merged_scores, read_sums
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.spec.load import load_spec
from synthrelease.studio.audit.enumeration import Recording
from tests.helpers.small import World

ROOT = Path(__file__).resolve().parents[2]
LAYOUT = Layout(columns=("a", "b", "c"), sizes=(2, 3, 4))
WORLD = World({"a": 1, "b": 1, "c": 2})
ROWS = [0, 1, 5, 5, 11, 7, 7, 7]


def test_a_formula_is_read_as_it_stands() -> None:
    groups = read_sums("2 c[0 0 0 1] +\n0.5 {b[-1.5..2] : a[0 -1]\n+ c(0..9 - 3)} + {a[0 1] + b[1 2 4]}")
    assert [group.weight for group in groups] == [2, Fraction(1, 2), 1]
    assert [[one.text for one in group.sums] for group in groups] == [
        ["c[0 0 0 1]"],
        ["b[-1.5..2]:a[0 -1]", "c(0..9 - 3)"],
        ["a[0 1]", "b[1 2 4]"],
    ]
    first, second = groups[0].sums[0], groups[1].sums[0]
    assert first.columns(LAYOUT) == (2,)
    assert second.columns(LAYOUT) == (0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a[]",
        "a[1 2",
        "a[1..2..3]",
        "a[0 1]:a[0 1]",
        "-1 a[0 1]",
        "a[1e3 2]",
        "a[0,1]",
        "a[0 1] within 2",
        "a[0 1] within 2..",
        "within 0..1",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a sum of scores or values|names a column twice"):
        read_sums(text)


@pytest.mark.parametrize(
    "text", ["{a[0 1]", "a[0 1]}", "{{a[0 1]}}", "{2 a[0 1] + b[0 1]}", "{}", "{a[0 1]} b[0 1]", "2 {a[0 1] +}"]
)
def test_braces_that_do_not_match_and_weights_within_them_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a sum of scores or values"):
        read_sums(text)


def test_what_cannot_share_a_noise_is_refused() -> None:
    sums = [f"a[0 {place}]" for place in range(1, MOST_NUMBERS + 2)]
    assert len(read_sums(f"{{{' + '.join(sums[1:])}}}")[0].sums) == MOST_NUMBERS
    for text in (f"{{{' + '.join(sums)}}}", "0 {a[0 1] + b[0 1]}", "0 a[0 1]"):
        with pytest.raises(ValueError, match="has weight 0|has more than 100 sums"):
            read_sums(text)


def test_scores_are_the_steps_of_exact_products() -> None:
    ((one,),) = (group.sums for group in read_sums("b[-1.5..2]:a[0.1 -1]"))
    cells = {(a, b): x * y for (a, x), (b, y) in product(enumerate((0.1, -1)), enumerate((-1.5, 0.25, 2)))}
    low, high = min(cells.values()), max(cells.values())
    found = one.scores(LAYOUT)
    assert found.shape == (2, 3)
    for cell, value in cells.items():
        assert found[cell] == pytest.approx((value - low) / (high - low) * STEPS, abs=0.5 + 1e-9)
    assert (found.min(), found.max()) == (0, STEPS)


def test_products_are_clipped_before_they_become_steps() -> None:
    ((one,),) = (group.sums for group in read_sums("3 b[-1.5..2]:a[0.1 -1] within -0.5..1.2"))
    assert one.text == "b[-1.5..2]:a[0.1 -1] within -0.5..1.2"
    cells = {(a, b): x * y for (a, x), (b, y) in product(enumerate((0.1, -1)), enumerate((-1.5, 0.25, 2)))}
    found = one.scores(LAYOUT)
    for cell, value in cells.items():
        assert found[cell] == pytest.approx((min(max(value, -0.5), 1.2) + 0.5) / 1.7 * STEPS, abs=0.5 + 1e-9)
    assert (found.min(), found.max()) == (0, STEPS)


@pytest.mark.parametrize(
    ("sums", "expected"),
    [
        ("d[0 1]", "There is no column 'd'"),
        ("b[0 1]", "3 measured bins, but 'b[0 1]' has 2 numbers. Write one number"),
        ("a[1 1]", "are equal. Write different scores"),
        ("a[0 1]:b[0..0]", "are equal. Write different scores"),
        ("a[0 1] within 2..3", "are equal. Write different scores"),
    ],
)
def test_sums_that_do_not_fit_the_columns_are_mistakes(sums: str, expected: str) -> None:
    (mistake,) = Marginals(tables="a", sums=sums).mistakes(LAYOUT, [])
    assert mistake.field == "sums"
    assert expected in mistake.text


def test_the_same_sum_twice_is_refused() -> None:
    with pytest.raises(ValidationError, match="is named twice"):
        Marginals(tables="a", sums="a[0 1] + 2 a[0 1]")


def test_a_sum_has_the_noise_of_its_widest_scores_over_its_own_epsilon() -> None:
    class OneMore(Recording):
        def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
            return super().add_laplace(values, scale) + 1

    chosen = Marginals(tables="a + 2 b", sums="3 c[0 0 1] + 4 a[-1 1]:b[0 2]")
    layout, entropy, charge = WORLD.layout, OneMore(), chosen.charge(Fraction("0.9"))
    assert chosen.sum_shares(layout) == [Fraction(3, 10), Fraction(4, 10)]
    assert sum(chosen.shares(layout).values()) == Fraction(3, 10)
    found = chosen.measure(WORLD.private(ROWS, [charge], entropy), charge)
    digits = [WORLD.counts(ROWS).digits(column) for column in range(3)]
    rows = WORLD.counts(ROWS).counts
    exact = [STEPS * int(rows[digits[2] == 2].sum()), 0]
    steps = {(0, 0): STEPS // 2, (0, 1): 0, (1, 0): STEPS // 2, (1, 1): STEPS}
    exact[1] = sum(int(count) * steps[int(a), int(b)] for a, b, count in zip(digits[0], digits[1], rows, strict=True))
    assert [one.value for one in found.sums] == [value + 1 for value in exact]
    assert [one.sensitivity for one in found.sums] == [STEPS, STEPS]
    for scale, epsilon in zip(entropy.scales[2:], (Fraction("0.27"), Fraction("0.36")), strict=True):
        assert scale == pytest.approx(float(STEPS / epsilon), rel=1e-9)


def test_sums_of_a_group_share_one_noise_at_the_epsilon_of_the_group() -> None:
    """All of them are handed over at once, with the sensitivity of each and the rate of what the group costs."""
    chosen = Marginals(tables="a", sums="2 {c[0 0 1] + a[-1 1]:b[0 2]} + b[0 1] + {a[0 1] + c[0..1]}")
    entropy, charge = Recording(), chosen.charge(Fraction(1))
    assert chosen.sum_shares(WORLD.layout) == [Fraction(2, 5), Fraction(1, 5), Fraction(1, 5)]
    found = chosen.measure(WORLD.private(ROWS, [charge], entropy), charge).sums
    apart = Marginals(tables="a", sums="c[0 0 1] + a[-1 1]:b[0 2] + b[0 1] + a[0 1] + c[0..1]")
    alone = apart.measure(WORLD.private(ROWS, [charge], Recording()), charge).sums
    assert [one.value for one in found] == [one.value for one in alone]  # nothing is mixed up; this entropy adds nothing
    assert [one.together for one in found] == [2, 2, 1, 2, 2]
    assert [len(values) for values in entropy.values] == [2, 2, 1, 2]
    assert [float(scale) for scale in entropy.scales[1:]] == pytest.approx([STEPS * 2.5, STEPS * 5, STEPS * 5])
    assert found[0].variance == pytest.approx(cube_sd(2, Fraction(5 * STEPS, 2)) ** 2)
    assert found[0].variance < alone[0].variance


def test_the_noise_of_a_group_lies_within_one_radius() -> None:
    """Of eight sums: the law of each (standard deviation), and how the largest is to the root of their squares."""
    sums = " + ".join(f"a[0 1]:b[{score} 1 3]" for score in (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7))
    chosen = Marginals(tables="a", sums=f"9 {{{sums}}}")
    charge = chosen.charge(Fraction(1))
    exact = np.array([one.value for one in chosen.measure(WORLD.private(ROWS, [charge], Recording()), charge).sums])
    noise = []
    for seed in range(400):
        found = chosen.measure(WORLD.private(ROWS, [charge], SeededEntropy(seed)), charge).sums
        noise.append([one.value for one in found] - exact)
    assert np.std(noise) == pytest.approx(cube_sd(8, STEPS / Fraction(9, 10)), rel=0.06)
    assert found[0].variance == pytest.approx(cube_sd(8, STEPS / Fraction(9, 10)) ** 2)
    radii = np.abs(noise).max(axis=1)
    assert radii.mean() == pytest.approx(8 * STEPS / 0.9, rel=0.06)  # of a gamma law of shape 9, largest of 8 uniform ones


def test_sums_belong_to_what_is_measured() -> None:
    chosen = Marginals(tables="a + b", sums="c[0 0 1]")
    assert chosen.same_measurements(Marginals(tables="b + a", sums="c[0 0 1]", prior_weight=7))
    assert not chosen.same_measurements(Marginals(tables="a + b", sums="2 c[0 0 1]"))
    assert not chosen.same_measurements(Marginals(tables="a + b"))
    pair = Marginals(tables="a + b", sums="2 {c[0 0 1] + a[0 1]}")
    assert not pair.same_measurements(Marginals(tables="a + b", sums="c[0 0 1] + a[0 1]"))


def test_scores_of_coarser_bins_are_means() -> None:
    scores = np.array([[0.0, 4.0, 8.0], [2.0, 2.0, 6.0]])
    found = merged_scores(scores, (0, 2), (2, 9, 2), [np.array([0, 1]), np.arange(9), np.array([0, 1, 1])])
    assert found.tolist() == [[0.0, 6.0], [2.0, 4.0]]


@pytest.mark.parametrize("weight", [0.01, 1.0, 1000.0])
def test_the_model_is_the_minimum_that_a_general_optimiser_finds(weight: float) -> None:
    """weight KL(p || uniform) + the misfits of a table and of two sums, over all tables p of 2 x 3 cells."""
    from scipy.optimize import minimize

    n, layout = 500, Layout(columns=("x", "y"), sizes=(2, 3))
    table = NoisyMarginal(columns=(1,), values=np.array([260, 190, 55]), cost=Fraction(1, 2), cells=np.ones(3, dtype=int))
    sums = tuple(
        NoisySum(text="", columns=columns, scores=scores, value=value, epsilon=Fraction(1, 4), sensitivity=10)
        for columns, scores, value in (((0, 1), np.array([[0, 5, 10], [10, 5, 0]]), 3300), ((0,), np.array([0, 10]), 2100))
    )
    measured = NoisyMarginals(layout=layout, n=n, tables=(table,), sums=sums)
    free = Plausibility(layout=layout, masks=())

    def loss(logits: np.ndarray) -> float:
        p = np.exp(logits - logits.max()).reshape(2, 3)
        p /= p.sum()
        misfit = ((n * p.sum(axis=0) - table.values) ** 2 / table.variance()).sum() / 2
        for one in sums:
            mean = (p * one.scores).sum() if one.scores.ndim == 2 else (p.sum(axis=1) * one.scores).sum()
            misfit += (n * mean - one.value) ** 2 / one.variance / 2
        return float(weight * (p * np.log(p * 6)).sum() + misfit)

    best = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-9}).x
    expected = np.exp(best - best.max()) / np.exp(best - best.max()).sum()
    chosen = Marginals(tables="y", sums="x[0 1]:y[0 1 2] + x[0 1]", prior_weight=weight)
    model = chosen.model(measured, Background(plausibility=free))
    found = model.sample(10**6, np.random.default_rng(1)).marginal([0, 1]).ravel() / 10**6
    assert found == pytest.approx(expected, abs=4e-3)  # within a fifth of the noise
    tree = JunctionTree.of(layout.sizes, [(0, 1)])
    dual = _Dual(tree, base_potentials(tree, free, None), measured, weight).solved([np.zeros(3)], np.zeros(2))
    assert dual[0].ravel() == pytest.approx(expected, abs=4e-3)


def test_tables_and_sums_are_made_to_agree_by_least_squares_over_all_tables() -> None:
    """Counts far above 0; the sum is far more certain than the cells that it adds up, and far from them."""
    exact = np.array([[900.0, 700.0, 400.0], [500.0, 800.0, 700.0]])
    noise = np.array([[30.0, -50.0, 20.0], [10.0, -40.0, 60.0]])
    targets = [
        Target(columns=(0, 1), values=exact + noise, variance=np.full((2, 3), 2500.0)),
        Target(columns=(1,), values=exact.sum(axis=0) + 15, variance=np.full(3, 400.0)),
    ]
    scores = np.array([0.0, 0.25, 1.0])
    sums = [
        SumTarget(columns=(1,), scores=scores, value=float(exact.sum(axis=0) @ scores), variance=1.0),
        SumTarget(columns=(2,), scores=np.array([0.0, 1.0]), value=77.0, variance=1.0),  # in no table
    ]
    possible = [np.ones(target.values.shape, dtype=bool) for target in targets]
    found, of_sums = consistent(targets, possible, (2, 3, 2), 4000, sums)
    rows = [np.eye(6) / 50, np.tile(np.eye(3), 2) / 20, np.tile(scores, 2)[None, :], np.full((1, 6), 1e4)]
    values = [targets[0].values.ravel() / 50, targets[1].values / 20, [sums[0].value], [4000 * 1e4]]
    expected = np.linalg.lstsq(np.concatenate(rows), np.concatenate(values), rcond=None)[0]
    assert found[0].ravel() == pytest.approx(expected, abs=0.1)
    assert of_sums == pytest.approx([float(np.tile(scores, 2) @ expected), 77.0], abs=0.05)


@pytest.mark.parametrize(("name", "total"), [("births-frontier", Fraction(7, 10)), ("births-frontier-public", Fraction(1, 2))])
def test_the_configurations_of_the_frontier_cost_what_is_said(name: str, total: Fraction) -> None:
    assert load_spec(ROOT / f"configs/{name}.toml").plan.total.epsilon == total


def test_a_line_takes_correlations_from_sums_as_it_would_from_tables() -> None:
    """Without noise, and with scores that are the numbers or fall where these rise, both lines are the same."""
    numbers = {"a": (1.0, 2.0, 4.0), "y": (0.0, 10.0, 15.0, 40.0)}
    binnings = [
        Binning(name=name, labels=tuple(map(str, values)), numbers=values, of_atom=tuple(range(len(values))))
        for name, values in numbers.items()
    ]
    schema = SimpleNamespace(names=tuple(numbers))
    common = Transformation(schema=cast(Schema, schema), binnings=tuple(binnings))
    counts = np.array([[40, 30, 20, 10], [20, 30, 20, 30], [5, 10, 40, 45]])
    both = NoisyMarginal(columns=(0, 1), values=counts, cost=Fraction(1), cells=np.ones_like(counts))
    single = [
        NoisyMarginal(columns=(axis,), values=counts.sum(axis=1 - axis), cost=Fraction(1), cells=np.ones(size, dtype=int))
        for axis, size in enumerate(counts.shape)
    ]

    def line(tables: list[NoisyMarginal], formula: str | None) -> np.ndarray:
        sums = []
        for (one,) in (group.sums for group in read_sums(formula)) if formula else ():
            scores = one.scores(common.layout)
            value = int((scores * counts).sum())
            sums.append(NoisySum(text="", columns=(0, 1), scores=scores, value=value, epsilon=Fraction(1), sensitivity=STEPS))
        measured = NoisyMarginals(layout=common.layout, n=300, tables=tuple(tables), sums=tuple(sums))
        return measured_line(["a", "y"], binnings, measured, common).coefficients

    expected = line([both], None)
    assert expected[0] > 4
    assert line(single, None) == pytest.approx([0.0])
    assert line(single, "a[-1 0 2]:y[0 1 1.5 4]") == pytest.approx(expected, rel=1e-3)
    assert line(single, "a[1 0 -2]:y[0 1 1.5 4]") == pytest.approx(expected, rel=1e-3)
