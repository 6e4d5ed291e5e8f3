"""The maximum-entropy fit against its optimality conditions, theorems and mbi, on domains small enough to list.

The problem is convex, so a table that meets the conditions of a minimum is the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.errors import RejectedRound
from synthrelease.generators import maximum_entropy as module
from synthrelease.generators.bayesian_network import BayesianNetwork
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.generators.maximum_entropy import maximum_entropy, warm_starts
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals
from tests.helpers.small import layout_of

EXACT = Fraction(100)
"""An epsilon at which the noise is far below a record."""

PRECISION = 1e-4


def law(network: BayesianNetwork) -> np.ndarray:
    """The probability of every cell of the domain, multiplied up family by family."""
    found = np.ones(network.layout.sizes)
    for cell in product(*map(range, network.layout.sizes)):
        for family in network.families:
            found[cell] *= family.conditional[(*(cell[parent] for parent in family.parents), cell[family.column])]
    return found


def margin(table: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    return table.sum(axis=tuple(c for c in range(table.ndim) if c not in columns))


def measurement(layout: Layout, n: int, tables: dict[Columns, np.ndarray], epsilon: Fraction) -> NoisyMarginals:
    return NoisyMarginals(
        layout=layout,
        n=n,
        tables=tuple(
            NoisyMarginal(columns=columns, values=np.rint(values).astype(np.int64), cost=epsilon,
                          cells=np.ones(values.shape, dtype=np.int64))
            for columns, values in tables.items()
        ),
    )  # fmt: skip


def measured(table: np.ndarray, sets: Sequence[Columns], epsilon: Fraction, seed: int | None = None) -> NoisyMarginals:
    """Marginals of a table of counts, with the noise of `epsilon` when there is a seed."""
    generator = np.random.default_rng(seed)
    tables = {}
    for columns in sets:
        exact = margin(table, columns)
        tables[columns] = exact + (generator.laplace(0, 2 / float(epsilon), exact.shape) if seed is not None else 0)
    return measurement(layout_of(*table.shape), int(table.sum()), tables, epsilon)


def free(layout: Layout) -> Plausibility:
    return Plausibility(layout=layout, masks=())


def table_of(seed: int, sizes: tuple[int, ...], n: int = 1000) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.multinomial(n, generator.dirichlet(np.full(int(np.prod(sizes)), 0.7))).reshape(sizes)


def as_counts(table: np.ndarray) -> Counts:
    return Counts(layout_of(*table.shape), np.arange(table.size), table.ravel())


def objective_slopes(
    found: np.ndarray, start: np.ndarray, given: NoisyMarginals, weight: float, possible: np.ndarray
) -> np.ndarray:
    """Slope of the penalised objective in every possible cell, in units of the weight.

    weight * KL(p || start) + sum (n p(cell) - y)^2 / (2 variance), Laplace noise of scale 2 / epsilon having the variance
    8 / epsilon^2. At the minimum over tables of mass 1 all slopes are equal; how unequal they may be says `allowed`.
    """
    slope = np.log(found, where=possible, out=np.zeros_like(found)) - np.log(start, where=possible, out=np.zeros_like(found))
    for table in given.tables:
        excess = given.n * margin(found, table.columns) - table.values
        shape = [size if c in table.columns else 1 for c, size in enumerate(found.shape)]
        slope = slope + (given.n * excess * float(table.cost) ** 2 / 8 / weight).reshape(shape)
    return slope[possible]


def allowed(given: NoisyMarginals, weight: float) -> float:
    """Each table may be off by PRECISION noise deviations in each cell, up or down; a slope adds one cell of each table."""
    return 2 * sum(PRECISION * given.n * float(table.cost) / np.sqrt(8) / weight for table in given.tables)


SIZES = (2, 3, 2)
PAIRS = [(0, 1), (1, 2), (2,)]


@pytest.fixture
def precise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits nearly to the end by L-BFGS alone, so that they can be compared with the exact minimum."""
    monkeypatch.setattr(module, "_SWEEPS", 0)
    monkeypatch.setattr(module, "_PRECISION", PRECISION)
    monkeypatch.setattr(module, "_FINEST", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weight", [3.0, 30.0])
def test_the_fit_meets_the_conditions_of_the_minimum(seed: int, weight: float) -> None:
    """From the uniform table, over plausible cells; the measured tables disagree with each other through their noise."""
    layout = layout_of(*SIZES)
    forbidden = np.zeros((2, 3), dtype=bool)
    forbidden[seed % 2, seed % 3] = True
    rules = Plausibility(layout=layout, masks=(Mask(columns=(0, 1), forbidden=forbidden),))
    possible = np.broadcast_to(~forbidden[:, :, None], SIZES)
    given = measured(table_of(seed, SIZES), PAIRS, Fraction(1, 2), seed)
    found = law(maximum_entropy(given, PAIRS, rules, None, weight))
    assert np.array_equal(found > 0, possible)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    slopes = objective_slopes(found, np.full(SIZES, 1 / possible.sum()), given, weight, possible)
    assert np.ptp(slopes) <= allowed(given, weight)
    assert allowed(given, weight) < 0.05 * np.abs(slopes - np.log(found[possible] * possible.sum())).max()


@pytest.mark.slow
@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("seed", range(4))
def test_the_fit_from_a_prior_meets_the_conditions_of_the_minimum(seed: int) -> None:
    """One clique of all columns takes the whole prior: 0.999 of it, and 0.001 even over all cells, also those it lacks."""
    public = table_of(seed + 50, SIZES, 40)
    assert (public == 0).any()
    start = 0.999 * public / public.sum() + 0.001 / public.size
    given = measured(table_of(seed, SIZES), PAIRS, Fraction(1, 2), seed)
    found = law(maximum_entropy(given, [*PAIRS, (0, 1, 2)], free(given.layout), as_counts(public), 20.0))
    assert np.ptp(objective_slopes(found, start, given, 20.0, np.ones(SIZES, dtype=bool))) <= allowed(given, 20.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_at_the_usual_precision_the_fit_is_a_fifth_of_the_noise_from_the_minimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With H the curvature and R the diagonal of ridges, a gradient g moves the marginals by H (H + R)^-1 g, and
    || R^-1/2 H (H + R)^-1 g || <= || R^-1/2 g ||: the distances in noise deviations have the mean square of the gradient's.
    """
    given = measured(table_of(seed, (3, 3, 2), 5000), [(0, 1), (1, 2), (0,)], Fraction(1, 5), seed)
    structure = [table.columns for table in given.tables]
    usual = law(maximum_entropy(given, structure, free(given.layout), None, 30.0))
    monkeypatch.setattr(module, "_SWEEPS", 0)
    monkeypatch.setattr(module, "_PRECISION", PRECISION)
    monkeypatch.setattr(module, "_FINEST", 0.0)
    best = law(maximum_entropy(given, structure, free(given.layout), None, 30.0))
    distances = np.concatenate([given.n * (margin(usual, each) - margin(best, each)).ravel() for each in structure])
    assert np.sqrt(np.mean(distances**2)) <= (0.2 + PRECISION) * np.sqrt(8) * 5
    assert np.abs(distances).max() > 0  # so the two precisions are two


@pytest.mark.parametrize("with_prior", [False, True])
def test_value_and_gradient_of_the_dual_agree(with_prior: bool) -> None:
    """The gradient against differences of the value."""
    given = measured(table_of(3, SIZES), PAIRS, Fraction(1, 2), 3)
    tree = JunctionTree.of(SIZES, PAIRS)
    base = module.base_potentials(tree, free(given.layout), as_counts(table_of(9, SIZES, 30)) if with_prior else None)
    problem = module._Dual(tree, base, given, 20.0)
    at = np.random.default_rng(0).normal(0, 0.5, len(problem.target))
    gradient = problem(at)[1].copy()
    for index, step in enumerate(np.eye(len(at)) * 1e-5):
        assert gradient[index] == pytest.approx((problem(at + step)[0] - problem(at - step)[0]) / 2e-5, abs=1e-7)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_families_multiply_to_the_shares_of_the_cliques(seed: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = tuple(generator.integers(1, 4, 5))
    tree = JunctionTree.of(sizes, [(0, 1), (1, 2), (1, 3), (0, 3)] if seed % 2 else [(0, 1, 2, 3), (3, 4)])
    potentials = [generator.normal(0, 2, [sizes[c] for c in clique]) for clique in tree.cliques]
    potentials[0][(0,) * potentials[0].ndim] = -np.inf
    total, beliefs = tree.calibrate(potentials)
    if not np.isfinite(total):
        return
    shares = [np.exp(belief) for belief in beliefs]
    layout = layout_of(*map(int, sizes))
    families = tuple(module.families_of(tree, shares))
    assert sorted(family.column for family in families) == list(range(5))
    found = law(BayesianNetwork(layout=layout, families=families))
    for clique, share in zip(tree.cliques, shares, strict=True):
        np.testing.assert_allclose(margin(found, clique), share, atol=1e-12)


def test_exact_marginals_are_reproduced_and_nothing_else_is_assumed() -> None:
    """Two tables that share a column: given it, the others are independent (the closed form of largest entropy)."""
    table = table_of(1, (3, 2, 3), 30_000)
    given = measured(table, [(0, 1), (1, 2)], EXACT)
    found = law(maximum_entropy(given, [(0, 1), (1, 2)], free(given.layout), None, 1e-3))
    p = table / table.sum()
    left, right = margin(p, (0, 1)), margin(p, (1, 2))
    np.testing.assert_allclose(found, left[:, :, None] * right[None] / margin(p, (1,))[None, :, None], atol=1e-6)


def test_without_a_table_of_both_columns_they_are_independent() -> None:
    table = table_of(2, (3, 4), 10_000)
    given = measured(table, [(0,), (1,)], EXACT)
    found = law(maximum_entropy(given, [(0,), (1,)], free(given.layout), None, 1e-3))
    p = table / table.sum()
    np.testing.assert_allclose(found, np.outer(margin(p, (0,)), margin(p, (1,))), atol=1e-6)


@pytest.mark.slow
def test_it_agrees_with_mbi() -> None:
    """mbi 1.1 fits the same tables by least squares; a cycle, so that no closed form exists. Little ridge, little noise."""
    mbi = pytest.importorskip("mbi")
    table = table_of(5, (2, 3, 2), 20_000) + 50
    sets = [(0, 1), (1, 2), (0, 2)]
    given = measured(table, sets, EXACT)
    ours = law(maximum_entropy(given, sets, free(given.layout), None, 1e-3))
    names = "abc"
    loss = [
        mbi.LinearMeasurement(given.tables[i].values.ravel().astype(float), tuple(names[c] for c in columns), stddev=1.0)
        for i, columns in enumerate(sets)
    ]
    theirs = mbi.estimation.lbfgs(mbi.Domain(list(names), [2, 3, 2]), loss, known_total=float(given.n))
    np.testing.assert_allclose(ours, np.asarray(theirs.project(tuple(names)).values) / given.n, atol=2e-5)


def test_impossible_cells_are_exact_zeros_however_large_their_noisy_count() -> None:
    """The rule ties columns together that no table measures; the counts of its cells are noise and nothing else."""
    table = table_of(4, SIZES)
    forbidden = np.zeros((2, 2), dtype=bool)
    forbidden[1, 0] = True
    tables = {(0, 1): margin(table, (0, 1)) + 40.0, (2,): margin(table, (2,)) - 40.0}
    given = measurement(layout_of(*SIZES), 1000, tables, Fraction(1, 50))
    rules = Plausibility(layout=given.layout, masks=(Mask(columns=(0, 2), forbidden=forbidden),))
    network = maximum_entropy(given, [(0, 1), (2,)], rules, as_counts(table), 10.0)
    found = law(network)
    assert np.array_equal(found == 0, np.broadcast_to(forbidden[:, None, :], SIZES))
    assert found.sum() == pytest.approx(1)
    assert not rules.forbidden(network.sample(5000, np.random.default_rng(0)).bins).any()


def test_a_measured_table_whose_cells_are_all_but_one_impossible_is_no_trouble() -> None:
    forbidden = np.ones((2, 3), dtype=bool)
    forbidden[1, 2] = False
    given = measured(table_of(4, SIZES), PAIRS, Fraction(1, 100), 4)
    rules = Plausibility(layout=given.layout, masks=(Mask(columns=(0, 1), forbidden=forbidden),))
    found = law(maximum_entropy(given, PAIRS, rules, None, 10.0))
    assert margin(found, (0, 1))[1, 2] == pytest.approx(1)


def test_rules_without_a_plausible_cell_reject_the_round() -> None:
    given = measured(table_of(4, SIZES), PAIRS, Fraction(1))
    rules = Plausibility(layout=given.layout, masks=(Mask(columns=(0, 1), forbidden=np.ones((2, 3), dtype=bool)),))
    with pytest.raises(RejectedRound, match="no plausible cell"):
        maximum_entropy(given, PAIRS, rules, None, 10.0)


def test_a_prior_of_huge_weight_is_the_model_and_one_of_small_weight_gives_way() -> None:
    """The prior says the opposite of the private table; it enters through its marginals on the cliques."""
    table = table_of(6, SIZES, 5000) + 20
    public = np.ascontiguousarray(table[::-1, ::-1])
    given = measured(table, PAIRS, Fraction(1), 6)
    smooth = 0.999 * public / public.sum() + 0.001 / public.size
    heavy, light = (law(maximum_entropy(given, PAIRS, free(given.layout), as_counts(public), w)) for w in (1e12, 1e-2))
    for columns in ((0, 1), (1, 2)):
        np.testing.assert_allclose(margin(heavy, columns), margin(smooth, columns), atol=1e-4)
        # noise of scale 2 has the deviation 2.8 per cell: 20 is far more, and the prior is off by hundreds
        assert np.abs(given.n * margin(light, columns) - margin(table, columns)).max() < 20
        assert np.abs(margin(public, columns) - margin(table, columns)).max() > 200


def test_a_table_of_weight_0_keeps_the_dependence_of_the_prior() -> None:
    """Measured are single columns only: every odds ratio of the model is that of the (smoothed) prior."""
    public = np.array([[900, 40, 10], [30, 800, 220]])
    table = np.array([[100, 300, 100], [200, 100, 200]])
    given = measured(table, [(0,), (1,)], EXACT)
    found = law(maximum_entropy(given, [(0,), (1,), (0, 1)], free(given.layout), as_counts(public), 1e-2))
    for column in (0, 1):
        np.testing.assert_allclose(margin(found, (column,)), margin(table, (column,)) / 1000, atol=1e-4)
    start = 0.999 * public / public.sum() + 0.001 / public.size
    odds = [(p[0, 0] * p[1, 1] / p[0, 1] / p[1, 0], p[0, 1] * p[1, 2] / p[0, 2] / p[1, 1]) for p in (found, start)]
    np.testing.assert_allclose(odds[0], odds[1], rtol=1e-6)
    assert odds[0][0] > 100
    apart = law(maximum_entropy(given, [(0,), (1,)], free(given.layout), as_counts(public), 1e-2))
    np.testing.assert_allclose(apart, np.outer(margin(apart, (0,)), margin(apart, (1,))), atol=1e-12)


def test_the_data_fill_what_the_public_table_lacks() -> None:
    public, table = np.array([500, 0, 500]), np.array([100, 800, 100])
    given = measured(table, [(0,)], Fraction(1))
    found = law(maximum_entropy(given, [(0,)], free(given.layout), as_counts(public), 1.0))
    assert found[1] == pytest.approx(0.8, abs=0.01)


def test_a_cell_that_the_private_table_lacks_costs_more_where_the_noise_is_smaller() -> None:
    """Two measurements of one table that disagree are weighed by their precision: 1 to 100 at epsilons 1 and 10."""
    values = {(0,): np.array([300.0, 700.0])}
    first, second = measurement(layout_of(2), 1000, values, Fraction(1)), measurement(
        layout_of(2), 1000, {(0,): np.array([500.0, 500.0])}, Fraction(10)
    )  # fmt: skip
    both = NoisyMarginals(layout=first.layout, n=1000, tables=first.tables + second.tables)
    found = law(maximum_entropy(both, [(0,)], free(first.layout), None, 1e-4))
    assert 1000 * found[0] == pytest.approx((300 + 100 * 500) / 101, abs=0.5)


def test_a_fit_that_does_not_converge_rejects_the_round(monkeypatch: pytest.MonkeyPatch) -> None:
    given = measured(table_of(7, SIZES), PAIRS, Fraction(1), 7)
    maximum_entropy(given, PAIRS, free(given.layout), None, 10.0)
    monkeypatch.setattr(module, "_SWEEPS", 0)
    monkeypatch.setattr(module, "_MOST_STEPS", 1)
    with pytest.raises(RejectedRound, match="did not converge"):
        maximum_entropy(given, PAIRS, free(given.layout), None, 10.0)


def test_a_fit_that_begins_at_the_last_one_is_the_same_in_fewer_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are within a fifth of the noise of the one minimum; other tables begin at zeros."""
    sizes, sets = (5, 6, 5, 4), [(0, 1), (1, 2), (0, 2), (2, 3)]
    table, swept = table_of(3, sizes, 50_000), [0]
    sweep = module.ProportionalFit.sweep

    def counted(fit: module.ProportionalFit, tolerances: Sequence[np.ndarray]) -> float:
        swept[0] += 1
        return sweep(fit, tolerances)

    monkeypatch.setattr(module.ProportionalFit, "sweep", counted)
    rules, found, sweeps = free(layout_of(*sizes)), list[np.ndarray](), list[int]()

    def fitted(seed: int, tables: Sequence[Columns]) -> None:
        swept[0] = 0
        found.append(law(maximum_entropy(measured(table, tables, Fraction(1, 2), seed), [(0, 1, 2), (2, 3)], rules, None, 1.0)))
        sweeps.append(swept[0])

    fitted(2, sets)
    with warm_starts():
        for seed, tables in ((1, sets), (2, sets), (2, sets[:3])):
            fitted(seed, tables)
    fitted(2, sets)
    assert sweeps[2] < sweeps[1]
    assert sweeps[0] == sweeps[4]  # nothing stays after the block
    for columns in sets:
        assert 50_000 * np.abs(margin(found[0] - found[2], columns)).max() < 4  # of noise of a deviation of 5.7
    assert np.array_equal(found[0], found[4])


def test_what_is_not_a_number_has_not_converged() -> None:
    given = measured(table_of(7, SIZES), PAIRS, Fraction(1), 7)
    tree = JunctionTree.of(SIZES, PAIRS)
    problem = module._Dual(tree, module.base_potentials(tree, free(given.layout), None), given, 10.0)
    flat = np.zeros(len(problem.target))
    assert problem.converged(flat)
    flat[0] = np.nan
    assert not problem.converged(flat)


def forbidding(columns: Columns, forbidden: np.ndarray) -> Mask:
    return Mask(columns=columns, forbidden=forbidden)


@pytest.mark.parametrize("seed", range(5))
def test_a_model_restricted_to_cells_has_the_law_of_the_whole_model_among_them(seed: int) -> None:
    sets = [(0, 1), (1, 2), (2, 3), (0, 3)]
    noisy = measured(table_of(seed, (3, 2, 4, 2)), sets, Fraction(1), seed)
    rules = Plausibility(layout=noisy.layout, masks=(forbidding((1, 2), np.arange(8).reshape(2, 4) == 5),))
    outside = forbidding((0, 2), np.random.default_rng(seed).random((3, 4)) < 0.6)
    structure = [*sets, outside.columns]
    whole = law(maximum_entropy(noisy, structure, rules, None, 10.0))
    among = np.where(outside.forbidden[:, None, :, None], 0.0, whole)
    restricted = law(maximum_entropy(noisy, structure, rules, None, 10.0, given=outside))
    np.testing.assert_allclose(restricted, among / among.sum(), atol=1e-12)


def test_a_model_without_a_row_in_the_cells_that_are_left_is_refused() -> None:
    noisy = measured(table_of(1, (2, 3)), [(0, 1)], EXACT)
    rules = Plausibility(layout=noisy.layout, masks=(forbidding((0,), np.array([True, False])),))
    with pytest.raises(RejectedRound, match="no row"):
        maximum_entropy(noisy, [(0, 1)], rules, None, 10.0, given=forbidding((0,), np.array([False, True])))
