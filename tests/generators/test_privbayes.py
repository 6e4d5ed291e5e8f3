"""PrivBayes: sensitivities by enumeration, parent sets by brute force, and the network against tables whose truth is known."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.marginals import lattice
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.errors import PrivateFailure
from synthrelease.generators import privbayes
from synthrelease.generators import privbayes_mechanism as mechanism
from synthrelease.generators.base import Background
from synthrelease.generators.bayesian_network import (
    BayesianNetwork,
    Family,
    Frontier,
    NoisyTable,
    agree,
    build_network,
    draw_bins,
    nearest_on_simplex,
    nearest_with_margins,
    round_within_rows,
    systematic_rounding,
)
from synthrelease.generators.privbayes import PrivBayes, competing_sets
from synthrelease.generators.privbayes_mechanism import dependence_score, score_sensitivity
from synthrelease.privacy.charges import exact
from synthrelease.studio.audit.enumeration import Recording
from tests.helpers.small import World, layout_of

pytestmark = pytest.mark.slow


def no_rules(layout) -> Plausibility:
    return Plausibility(layout=layout, masks=())


@pytest.mark.parametrize(("parents", "n"), [(2, 4), (2, 5), (3, 4)])
def test_score_moves_by_at_most_its_sensitivity(parents: int, n: int) -> None:
    """Every table of n records over (parent, column) and every neighbour; the score is the definition, times 2 n^2."""
    world = World({"p": parents - 1, "x": 1})
    scores = {}
    for table in world.all_tables(n):
        joint = np.bincount(table, minlength=2 * parents).reshape(parents, 2)
        probability = joint / n
        independent = probability.sum(axis=1, keepdims=True) * probability.sum(axis=0)
        scores[table] = dependence_score(joint, n)
        assert scores[table] == pytest.approx(2 * n**2 * 0.5 * np.abs(probability - independent).sum())
    steps = [abs(scores[t] - scores[other]) for t in scores for other in world.neighbours(t)]
    assert max(steps) <= score_sensitivity(n)
    assert max(steps) > 0.4 * score_sensitivity(n)


@pytest.mark.parametrize(("n", "first", "second"), [(100, 9, 9), (1000, 41, 30)])
def test_score_comes_close_to_its_sensitivity_with_three_bins(n: int, first: int, second: int) -> None:
    """The bound of 6 n + 4 cannot be lowered by much: a record that is alone in its row and column moves next to others."""
    table = np.array([[first, 0, n - 1 - first - second], [0, 0, second], [0, 1, 0]])
    neighbour = table.copy()
    neighbour[2, 1] -= 1
    neighbour[1, 0] += 1
    step = abs(dependence_score(table, n) - dependence_score(neighbour, n))
    assert 0.92 * score_sensitivity(n) < step <= score_sensitivity(n)


def test_tables_change_by_two_per_table_when_a_record_is_replaced() -> None:
    """All neighbours: the l1 distance of all measured cells is at most the sensitivity that the noise is drawn for."""
    world = World({"a": 1, "b": 2})
    network = [((), 0), ((0,), 1)]
    worst, seen = 0, Recording()
    for table in world.all_tables(3):
        for neighbour in world.neighbours(table):
            for rows in (table, neighbour):
                mechanism._measure(lattice(world.counts(rows)), network, Fraction(1), seen)
            (values, other), sensitivity = seen.values[-2:], seen.scales[-1]  # at epsilon 1 the scale is the sensitivity
            worst = max(worst, int(np.abs(values - other).sum()))
            assert worst <= sensitivity
    assert worst == sensitivity == 4


def test_measured_tables_carry_noise_of_twice_their_number_over_epsilon() -> None:
    """Three tables of 2 + 6 + 4 cells at epsilon 2: each cell has its own Laplace noise of scale 2 * 3 / 2."""
    world = World({"a": 1, "b": 2, "c": 1})
    network = [((), 0), ((0,), 1), ((0,), 2)]
    marginals = lattice(world.counts([0, 5, 7] * 20))
    exact_cells = np.concatenate([marginals.get(columns).ravel() for columns in ((0,), (0, 1), (0, 2))])
    draws = np.array(
        [
            np.concatenate([table.values.ravel() for table in mechanism._measure(marginals, network, Fraction(2))])
            for _ in range(400)
        ]
    )
    noise = draws - exact_cells
    # 4800 draws of deviation 3 sqrt 2: the sample deviation has a relative error of 1.12 / sqrt(4800), 1.6%
    assert noise.std() == pytest.approx(3 * np.sqrt(2), rel=0.08)
    assert np.abs(noise.mean(axis=0)).max() < 6 * 3 * np.sqrt(2) / np.sqrt(400)
    correlations = np.corrcoef(noise.T)[np.triu_indices(12, k=1)]
    assert np.abs(correlations).max() < 0.35  # 7 standard deviations


class FromTheFirst(Recording):
    """Orders the columns as they stand."""

    def pick(self, n_choices: int) -> int:
        return 0


def test_the_budget_is_split_between_structure_and_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """d - 1 choices of eps1 / (d - 1) each and one measurement of eps2 make the whole charge; theta's bound uses eps2."""
    world = World({"a": 1, "b": 2, "c": 1})
    spent: list[Fraction] = []
    bounds: list[float] = []

    def choose(scores: list[int], *, sensitivity: int, epsilon: Fraction, mechanism: str, entropy: object) -> int:
        assert sensitivity == 6 * 60 + 4
        spent.append(epsilon)
        return 0

    def sets(sizes: list[int], placed: list[int], bound: float, most: int, limit: int) -> list[tuple[int, ...]]:
        bounds.append(bound)
        return competing_sets(sizes, placed, bound, most, limit)

    monkeypatch.setattr(mechanism, "choose", choose)
    monkeypatch.setattr(privbayes, "competing_sets", sets)
    generator = PrivBayes(flavour="theta", theta=2, epsilon_split=Fraction(1, 4))
    charge = generator.charge(exact(4))
    entropy = FromTheFirst()
    private = world.private([0, 5, 7] * 20, [charge], entropy)
    generator.fit(private, charge, Background(plausibility=no_rules(world.layout)))
    assert spent == [Fraction(1, 2)] * 2
    assert entropy.scales == [2 * 3 / 3]  # three tables at epsilon 3
    # n eps2 / (2 d theta) = 60 * 3 / (2 * 3 * 2) = 15 cells, over the 3 cells of column b, the first candidate
    assert bounds[0] == pytest.approx(15 / 3)


@pytest.mark.parametrize(
    "fields", [{"flavour": "theta"}, {"flavour": "degree", "theta": 4}, {"flavour": "theta", "theta": 4, "degree": 2}]
)
def test_each_flavour_needs_its_own_parameter(fields: dict[str, object]) -> None:
    needed, other = ("theta", "degree") if fields["flavour"] == "theta" else ("degree", "theta")
    with pytest.raises(ValueError, match=f"With flavour = '{needed}', set {needed} and do not set {other}"):
        PrivBayes(epsilon_split=Fraction(1, 2), **fields)  # type: ignore[arg-type]


def known_joint() -> np.ndarray:
    """A joint distribution over (2, 3, 2) in which the last column depends on the middle one only."""
    first = np.array([0.3, 0.7])
    middle = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    last = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    return first[:, None, None] * middle[:, :, None] * last[None]


def known_network(limit: int | None = None) -> BayesianNetwork:
    joint = known_joint()
    layout = layout_of(2, 3, 2)
    families = (
        Family(column=1, parents=(), conditional=joint.sum(axis=(0, 2))),
        Family(column=2, parents=(1,), conditional=joint.sum(axis=0) / joint.sum(axis=(0, 2))[:, None]),
        Family(column=0, parents=(1,), conditional=(joint.sum(axis=2) / joint.sum(axis=(0, 2))).T),
    )
    return BayesianNetwork(layout=layout, families=families)


@pytest.mark.parametrize("limit", [2**22, 4, 1])
def test_samples_follow_the_joint_distribution(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the frontier is rounded early: the joint, not only the marginals (the trap of group-wise rounding)."""
    monkeypatch.setattr(BayesianNetwork, "frontier_limit", limit)
    n, repeats = 50, 400
    total = np.zeros(12)
    generator = np.random.default_rng(5)
    for _ in range(repeats):
        sample = known_network().sample(n, generator)
        assert sample.total == n
        total += sample.dense()
    expected = known_joint().ravel() * n * repeats
    # each repeat's cell is within 1 of its expectation or multinomial; 5 standard deviations of the latter
    assert np.all(np.abs(total - expected) < 5 * np.sqrt(expected))


def test_columns_that_are_independent_stay_independent_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one record per cell and whole-row rounding, two fair columns must agree half of the time, not always."""
    monkeypatch.setattr(BayesianNetwork, "frontier_limit", 1)
    layout = layout_of(2, 2)
    half = np.array([0.5, 0.5])
    network = BayesianNetwork(
        layout=layout, families=(Family(column=0, parents=(), conditional=half), Family(column=1, parents=(), conditional=half))
    )
    agreeing = sum(network.sample(1, np.random.default_rng(seed)).codes[0] in (0, 3) for seed in range(2000))
    assert abs(agreeing - 1000) < 5 * np.sqrt(500)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0, 50), min_size=1, max_size=12).filter(lambda x: sum(x) > 0.1), st.integers(1, 200), st.integers(0, 9)
)
def test_systematic_rounding_sums_to_n_and_is_off_by_less_than_one(expected: list[float], n: int, seed: int) -> None:
    scaled = np.array(expected) * n / sum(expected)
    rounded = systematic_rounding(np.array(expected), n, np.random.default_rng(seed))
    assert rounded.sum() == n
    assert np.all(rounded >= 0)
    assert np.all(np.abs(rounded - scaled) < 1 + 1e-6)


def test_rounding_is_right_on_average() -> None:
    generator = np.random.default_rng(2)
    expected = np.array([0.2, 1.5, 0.05, 2.25])
    mean = np.mean([systematic_rounding(expected, 4, generator) for _ in range(8000)], axis=0)
    assert mean == pytest.approx(expected, abs=0.03)  # sd of a mean of 0/1 draws: 0.0056
    shares = np.array([[0.5, 0.5], [0.1, 0.9]])
    rows = np.mean([round_within_rows(shares, np.array([1, 3]), generator) for _ in range(8000)], axis=0)
    assert rows == pytest.approx(shares * np.array([[1], [3]]), abs=0.03)


def test_whole_rows_are_divided_in_blocks_as_all_at_once_in_the_memory_that_the_plan_reckons_with() -> None:
    """Two columns of many bins: a number for every cell and bin took 9,950 MB at 20,000 bins, and the plan said 408."""
    size, n = 3000, 9000
    layout = Layout(columns=("a", "b"), sizes=(size, size))
    shares = np.random.default_rng(1).dirichlet(np.ones(size), 2)
    families = tuple(Family(column=column, parents=(), conditional=each) for column, each in enumerate(shares))
    network = BayesianNetwork(layout=layout, families=families)
    tracemalloc.start()
    (rows,) = network.pieces(n, np.random.default_rng(2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * BayesianNetwork.divided_cells(layout) + 200 * n
    assert BayesianNetwork.divided_cells(layout) < BayesianNetwork.peak_cells(layout)

    frontier = Frontier(sizes=layout.sizes, n=n, cells=network.most_cells(2), generator=(same := np.random.default_rng(2)))
    frontier.extend(families[:1])
    frontier.finish()
    several = np.flatnonzero(frontier.expected > 1)
    draw_bins(shares[1], [], int((frontier.expected == 1).sum()), same)
    totals = frontier.expected[several].astype(np.int64)
    expected = round_within_rows(np.tile(shares[1], (len(several), 1)), totals, same)
    found = np.zeros((size, size), dtype=np.int64)
    np.add.at(found, (rows.digits[0], rows.digits[1]), rows.expected.astype(np.int64))
    assert len(several) * size > 10 * 2**18
    assert np.array_equal(found[frontier.digits[0][several]], expected)
    assert found.sum() == n


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-20, 20), min_size=2, max_size=6), st.floats(0.5, 30))
def test_nearest_vector_on_the_simplex(values: list[float], total: float) -> None:
    """Against scipy's general solver."""
    found = nearest_on_simplex(np.array(values), total, np.ones(len(values), dtype=bool))
    solved = optimize.minimize(
        lambda x: ((x - values) ** 2).sum(),
        np.full(len(values), total / len(values)),
        bounds=[(0, None)] * len(values),
        constraints={"type": "eq", "fun": lambda x: x.sum() - total},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.sum() == pytest.approx(total)
    assert ((found - values) ** 2).sum() <= solved.fun + 1e-4


def test_cells_that_are_not_allowed_get_nothing() -> None:
    found = nearest_on_simplex(np.array([9.0, 1.0, 1.0]), 4.0, np.array([False, True, True]))
    assert list(found) == [0.0, 2.0, 2.0]


def test_projection_meets_both_margins() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(3, 6, size=(6, 4))
    rows, columns = generator.uniform(1, 5, 6), generator.uniform(1, 5, 4)
    columns *= rows.sum() / columns.sum()
    found = nearest_with_margins(values, rows, columns, np.ones((6, 4), dtype=bool))
    assert np.all(found >= 0)
    assert found.sum(axis=1) == pytest.approx(rows)
    assert found.sum(axis=0) == pytest.approx(columns, abs=0.2)


def test_tables_agree_on_what_they_share_and_precise_ones_count_more() -> None:
    """Two tables share column 0; one spreads it over 2 cells, the other over 6: weights 3 to 1 (precision 1/2, 1/6)."""
    small = NoisyTable(columns=(1, 0), values=np.array([[3.0, 1.0], [3.0, 1.0]]))
    large = NoisyTable(columns=(0, 2), values=np.full((2, 6), 8 / 12))
    agreed = agree([small, large], [np.ones((2, 2), dtype=bool), np.ones((2, 6), dtype=bool)], 8)
    margins = [agreed[0].values.sum(axis=0), agreed[1].values.sum(axis=1)]
    assert margins[0] == pytest.approx(margins[1])
    assert margins[0] == pytest.approx([(3 * 6 + 4) / 4, (3 * 2 + 4) / 4])
    assert agreed[0].values.sum() == pytest.approx(8)


def test_a_network_from_exact_tables_gives_back_the_joint() -> None:
    """Without noise, and with a structure that fits, consistency and projection change nothing."""
    joint, n = known_joint(), 1000
    layout = layout_of(2, 3, 2)
    tables = [
        NoisyTable(columns=(1,), values=n * joint.sum(axis=(0, 2))),
        NoisyTable(columns=(1, 2), values=n * joint.sum(axis=0)),
        NoisyTable(columns=(1, 0), values=n * joint.sum(axis=2).T),
    ]
    network = build_network(tables, n, layout, no_rules(layout), np.random.default_rng(9))
    sample = network.sample(10**6, np.random.default_rng(0)).dense() / 10**6
    assert sample == pytest.approx(joint.ravel(), abs=1e-5)


def test_structural_zeros_get_no_rows() -> None:
    layout = layout_of(2, 3)
    forbidden = np.array([[False, True, False], [False, False, True]])
    rules = Plausibility(layout=layout, masks=(Mask(columns=(0, 1), forbidden=forbidden),))
    noisy = [
        NoisyTable(columns=(0,), values=np.array([40.0, 60.0])),
        NoisyTable(columns=(0, 1), values=np.array([[10.0, 30.0, 5.0], [20.0, 30.0, 25.0]])),
    ]
    sample = (
        build_network(noisy, 100, layout, rules, np.random.default_rng(9))
        .sample(1000, np.random.default_rng(0))
        .dense()
        .reshape(2, 3)
    )
    assert np.all(sample[forbidden] == 0)
    assert np.all(sample[~forbidden] > 0)


def test_wildly_noisy_tables_still_give_a_network() -> None:
    """Total: whatever the noise, there is a model or a rejected round, never another failure."""
    generator = np.random.default_rng(1)
    layout = layout_of(2, 3, 2)
    for _ in range(30):
        tables = [
            NoisyTable(columns=(1,), values=generator.laplace(0, 1e4, 3)),
            NoisyTable(columns=(1, 2), values=generator.laplace(0, 1e4, (3, 2))),
            NoisyTable(columns=(1, 2, 0), values=generator.laplace(0, 1e4, (3, 2, 2))),
        ]
        assert build_network(tables, 50, layout, no_rules(layout), np.random.default_rng(9)).sample(50, generator).total == 50


@pytest.mark.parametrize("fields", [{"flavour": "theta", "theta": 1.0}, {"flavour": "degree", "degree": 2}])
def test_whole_fit_on_a_known_table(fields: dict[str, object]) -> None:
    """At a large budget the model's joint is close to the original's; n rows; nothing outside the layout."""
    world = World({"a": 1, "b": 2, "c": 1})
    rows = np.random.default_rng(3).choice(12, size=20_000, p=known_joint().ravel())
    generator = PrivBayes(epsilon_split=Fraction(1, 2), **fields)  # type: ignore[arg-type]
    charge = generator.charge(exact(100))
    model = generator.fit(world.private(list(rows), [charge]), charge, Background(plausibility=no_rules(world.layout)))
    sample = model.sample(20_000, np.random.default_rng(4))
    assert sample.total == 20_000
    original = Counts(world.layout, rows).dense()
    assert np.abs(sample.dense() - original).max() < 0.01 * 20_000


def test_the_first_column_is_uniform_and_the_structure_covers_all_columns() -> None:
    world = World({"a": 1, "b": 1, "c": 1})
    marginals = lattice(world.counts([0, 1, 2, 7] * 5))
    sets = lambda column, placed: [()]  # noqa: E731
    firsts = Counter()
    for _ in range(300):
        network = mechanism._choose_structure(marginals, 20, sets, Fraction(1), "permute_and_flip")
        assert sorted(column for _, column in network) == [0, 1, 2]
        firsts[network[0][1]] += 1
    assert min(firsts.values()) > 60  # 100 each; 40 is 4.9 standard deviations


def test_the_same_pairs_compete_for_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that have nothing in common, the same choices: how many pairs compete may depend on nothing else, limit or not."""
    world = World({"a": 1, "b": 2, "c": 1, "d": 1, "e": 1})
    competed: list[list[int]] = []

    def choose(scores: list[int], **_: object) -> int:
        competed[-1].append(len(scores))
        return len(scores) // 2

    monkeypatch.setattr(mechanism, "choose", choose)
    for limit in (2048, 6):
        monkeypatch.setattr(privbayes, "MOST_PAIRS", limit)
        competed.clear()
        for rows in ([0] * 40, [47] * 40, list(range(40)), [0, 47] * 20, [5] * 13 + [6] * 27):
            competed.append([])
            generator = PrivBayes(flavour="degree", degree=2, epsilon_split=Fraction(1, 2))
            charge = generator.charge(exact(4))
            private = world.private(rows, [charge], FromTheFirst())
            generator.fit(private, charge, Background(plausibility=no_rules(world.layout)))
        assert all(each == competed[0] for each in competed)
        assert max(competed[0]) <= limit


def test_a_failing_structure_choice_is_opaque(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World({"a": 1, "b": 1})
    monkeypatch.setattr(mechanism, "choose", lambda *args, **kwargs: 1 // 0)
    generator = PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(1, 2))
    charge = generator.charge(exact(1))
    with pytest.raises(PrivateFailure):
        generator.fit(world.private([0, 1], [charge]), charge, Background(plausibility=no_rules(world.layout)))
