"""MWEM and PEP: what they ask, what they spend, and their corrections against slow references."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import BudgetError, RejectedRound
from synthrelease.generators import adaptive_mechanism as mechanism
from synthrelease.generators.adaptive_mechanism import Laplace, PrivateTables
from synthrelease.generators.base import Background, Generator
from synthrelease.generators.counting_queries import CELL_LIMIT, CountingQuery, DenseModel, QueryPool, Shares, plausible_cells
from synthrelease.generators.counting_queries_mechanism import QueryAnswers, exact_answers
from synthrelease.generators.mwem_pep import MWEM, PEP
from synthrelease.privacy.charges import Meter, zero_concentrated
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.plan import pure_epsilon
from synthrelease.studio.audit.tiny import World
from tests.helpers.small import layout_of

WORLD = World({"a": 1, "b": 2, "c": 3})
FREE = np.ones(WORLD.layout.sizes)


def pool_of(queries: int, marginal: int = 3, seed: int = 0) -> QueryPool:
    return QueryPool(WORLD.layout, queries, marginal, np.random.default_rng(seed))


def all_queries(pool: QueryPool) -> list[CountingQuery]:
    return [pool.query(number) for number in range(len(pool))]


# --- The pool


@pytest.mark.parametrize(("queries", "marginal", "size"), [(9, 3, 9), (1000, 1, 9), (1000, 2, 35), (1000, 6, 59), (20, 3, 20)])
def test_the_pool_holds_small_tables_first(queries: int, marginal: int, size: int) -> None:
    """9 cells of one column, 26 of two, 24 of three."""
    pool = pool_of(queries, marginal)
    found = all_queries(pool)
    assert len(pool) == len(set(found)) == size
    assert sorted(len(query.columns) for query in found)[:9] == [1] * 9
    for query in found:
        assert all(0 <= bin_ < WORLD.layout.sizes[c] for c, bin_ in zip(query.columns, query.place, strict=True))
    if size == 59:
        assert {query.columns for query in found} == {c for k in (1, 2, 3) for c in combinations(range(3), k)}
    with pytest.raises(IndexError):
        pool.query(size)


def test_answers_of_the_pool_are_those_of_rows() -> None:
    rows = WORLD.counts([int(code) for code in np.random.default_rng(1).integers(0, 24, 50)])
    pool, expanded = pool_of(40), rows.expand()
    expected = [int((expanded[:, list(query.columns)] == list(query.place)).all(axis=1).sum()) for query in all_queries(pool)]
    assert exact_answers(rows, pool).tolist() == expected
    model = Shares(rows.dense().reshape(WORLD.layout.sizes).astype(float))
    assert pool.shares(model) == pytest.approx(np.array(expected) / 50)


# --- The model


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), factors=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_corrections_by_slices_are_those_of_the_whole_table(seed: int, factors: list[float]) -> None:
    generator = np.random.default_rng(seed)
    free = generator.integers(0, 2, WORLD.layout.sizes).astype(float)
    free.flat[0] = 1
    model, slow, queries = Shares(free), free / free.sum(), all_queries(pool_of(59))
    for factor in factors:
        query = queries[int(generator.integers(len(queries)))]
        inside = np.ones(WORLD.layout.sizes, dtype=bool)
        for column, bin_ in zip(query.columns, query.place, strict=True):
            inside &= np.indices(WORLD.layout.sizes)[column] == bin_
        assert model.of(query) == pytest.approx(slow[inside].sum(), rel=1e-9, abs=1e-12)
        model.multiply(query, factor)
        slow = np.where(inside, slow * factor, slow)
        slow /= slow.sum()
    for columns in ((0,), (1, 2), (0, 1, 2)):
        others = tuple(axis for axis in range(3) if axis not in columns)
        np.testing.assert_allclose(model.marginal(columns), slow.sum(axis=others), rtol=1e-9, atol=1e-14)
    assert ((model.cells > 0) == (free > 0)).all()


@given(share=st.floats(-0.5, 1.5), seed=st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_a_projection_gives_the_measured_answer_and_is_the_nearest_table(share: float, seed: int) -> None:
    """Nearest in Kullback-Leibler divergence: inside and outside of the query, all ratios of cells stay as they were."""
    generator = np.random.default_rng(seed)
    model = Shares(generator.random(WORLD.layout.sizes) + 0.01)
    before, query = model.cells.copy(), CountingQuery(columns=(1,), place=(2,))
    model.project(query, share)
    assert model.of(query) == pytest.approx(min(max(share, 1e-9), 1 - 1e-9), rel=1e-6)
    ratio = model.cells / model.total / before
    for inside in (ratio[:, 2, :], np.delete(ratio, 2, axis=1)):
        assert inside == pytest.approx(np.full_like(inside, inside.flat[0]), rel=1e-9)


def test_multiplicative_weights_move_by_half_the_error() -> None:
    model, query = Shares(FREE), CountingQuery(columns=(0,), place=(1,))
    model.weigh(query, 0.9)
    factor = math.exp((0.9 - 0.5) / 2)
    assert model.of(query) == pytest.approx(0.5 * factor / (0.5 * factor + 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("update", [Shares.weigh, Shares.project])
@pytest.mark.parametrize("share", [-1e6, -1.0, 0.0, 1.0, 2.0, 1e6])
def test_corrections_are_total(update: Callable[[Shares, CountingQuery, float], None], share: float) -> None:
    free = np.zeros(WORLD.layout.sizes)
    free[0, 0, 0] = free[1, 2, 3] = 1
    model = Shares(free)
    for _ in range(50):
        for query in all_queries(pool_of(59)):
            update(model, query, share)
    assert np.isfinite(model.marginal((0,))).all()
    assert model.marginal((0,)).sum() == pytest.approx(1)


class ExactSteps(PrivateTables):
    """The largest error, and the count as it is."""

    @staticmethod
    def noisy(values: np.ndarray, **_: object) -> np.ndarray:
        return values

    @classmethod
    def chosen(cls, scores: Sequence[int], **_: object) -> int:
        return int(np.argmax(scores))


def test_a_model_with_all_answers_is_the_table() -> None:
    """Without noise, asking everything: the closed form is the table itself."""
    rows = WORLD.counts([int(code) for code in np.random.default_rng(4).choice(24, 400, p=np.arange(24, 0, -1) / 300)])
    generator = PEP(queries=200, iterations=200, inner_updates=59)
    charge, background = generator.charge(Fraction(1)), Background(plausibility=Plausibility(layout=WORLD.layout, masks=()))
    private = PrivateCounts(rows, Meter([charge]))
    model = generator._fit(private, charge, background, ExactSteps, Fraction(1))
    assert np.abs(model.shares.ravel() * 400 - rows.dense()).max() < 1


# --- What is spent


class Bill(SystemEntropy):
    """Writes down the scale of every noise."""

    def __init__(self) -> None:
        self.laplace: list[float] = []
        self.gaussian: list[float] = []

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.laplace += [scale] * len(values)
        return super().add_laplace(values, scale)

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.gaussian += [scale] * len(values)
        return super().add_gaussian(values, scale)


def spent(generator: Generator, budget: Fraction, monkeypatch: pytest.MonkeyPatch):
    """Scales of noise, and (epsilon, sensitivity, scores) of every choice in a fit."""
    choices: list[tuple[Fraction, int, Sequence[int]]] = []

    def choose(scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, mechanism: str, entropy: SystemEntropy) -> int:
        assert mechanism == "exponential"
        choices.append((epsilon, sensitivity, scores))
        return int(np.argmax(scores))

    monkeypatch.setattr(mechanism, "choose", choose)
    bill, charge = Bill(), generator.charge(budget)
    rows = WORLD.counts([int(code) for code in np.random.default_rng(2).integers(0, 24, 60)])
    background = Background(plausibility=Plausibility(layout=WORLD.layout, masks=()))
    generator.fit(PrivateCounts(rows, Meter([charge]), bill), charge, background)
    return bill, choices


def test_mwem_spends_its_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    bill, choices = spent(MWEM(queries=40, iterations=20), Fraction(3), monkeypatch)
    assert len(bill.laplace) == len(choices) == 20
    assert {sensitivity for _, sensitivity, _ in choices} == {1}
    assert all(type(score) is int for _, _, scores in choices for score in scores)
    assert sum(epsilon for epsilon, _, _ in choices) + sum(1 / Fraction(scale) for scale in bill.laplace) == pytest.approx(3)
    assert not bill.gaussian


def test_pep_spends_its_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    """epsilon^2 / 8 for a choice, 1 / (2 scale^2) for a count."""
    bill, choices = spent(PEP(queries=40, iterations=20), Fraction(1, 10), monkeypatch)
    total = sum(epsilon**2 / 8 for epsilon, _, _ in choices) + sum(1 / (2 * Fraction(scale) ** 2) for scale in bill.gaussian)
    assert Fraction(1, 10) * Fraction(999_999, 1_000_000) < total <= Fraction(1, 10)
    assert len(bill.gaussian) == len(choices) == 20
    assert not bill.laplace


def test_an_error_moves_by_at_most_one_when_a_record_is_replaced() -> None:
    """All pairs of neighbours of three records in six cells, against models that differ: errors and counts."""
    world = World({"a": 1, "b": 2})
    pool = QueryPool(world.layout, 100, 2, np.random.default_rng(0))
    for seed in range(5):
        model = Shares(np.random.default_rng(seed).random(world.layout.sizes))
        wanted = np.rint(3 * pool.shares(model)).astype(int)
        for table in world.all_tables(3):
            mine = exact_answers(world.counts(table), pool)
            for neighbour in world.neighbours(table):
                other = exact_answers(world.counts(neighbour), pool)
                assert np.abs(mine - other).max() <= 1
                assert np.abs(np.abs(mine - wanted) - np.abs(other - wanted)).max() <= 1


def test_a_zero_concentrated_charge_pays_for_the_pure_epsilon_below_it() -> None:
    for rho in (Fraction(1, 10), Fraction(2), Fraction(1, 7)):
        epsilon = pure_epsilon(zero_concentrated("g", rho, ""))
        assert 0 <= rho - epsilon**2 / 2 < Fraction(1, 10**9)
    with pytest.raises(BudgetError, match="cannot pay for a mechanism that satisfies pure"):
        pure_epsilon(zero_concentrated("g", Fraction(1, 10**30), ""))


# --- Mistakes


def test_fewer_queries_than_iterations_are_refused() -> None:
    with pytest.raises(ValueError, match=r"There are 100 iterations but only 64 queries"):
        MWEM(queries=64, iterations=100)


def test_a_table_that_is_too_large_is_a_mistake() -> None:
    large = layout_of(128, 128, 129)
    assert large.n_cells > CELL_LIMIT
    (mistake,) = MWEM(queries=9, iterations=1).mistakes(large, [])
    assert f"at most {CELL_LIMIT:,} cells" in mistake.text
    assert list(PEP(queries=9, iterations=1).mistakes(WORLD.layout, [])) == []


def test_without_a_plausible_cell_the_round_is_rejected() -> None:
    nothing = Plausibility(layout=WORLD.layout, masks=(Mask(columns=(0,), forbidden=np.ones(2, dtype=bool)),))
    with pytest.raises(RejectedRound, match="no plausible cell"):
        plausible_cells(nothing)


def test_rows_of_a_dense_model_are_its_shares_up_to_one() -> None:
    shares = np.random.default_rng(5).random(WORLD.layout.sizes)
    shares[0, 1] = 0
    table = DenseModel(layout=WORLD.layout, shares=shares).sample(10_000, np.random.default_rng(0))
    assert np.abs(table.dense() - 10_000 * shares.ravel() / shares.sum()).max() < 1 + 1e-9
    assert not table.dense().reshape(shares.shape)[0, 1].any()


def test_choices_and_counts_take_their_parts_and_none_is_given_beyond_the_budget() -> None:
    pool = pool_of(9)
    answers = QueryAnswers(WORLD.counts([0, 1, 5]), Fraction(1), SystemEntropy(), pool, Laplace)
    answers.worst(np.zeros(len(pool), dtype=np.int64), Fraction(1, 4))
    assert answers.left == Fraction(3, 4)
    answers.count(0, Fraction(3, 4))
    assert answers.left == 0
    with pytest.raises(BudgetError):
        answers.count(0, Fraction(1, 1000))
    with pytest.raises(BudgetError):
        answers.worst(np.zeros(len(pool), dtype=np.int64), Fraction(1, 1000))
