"""The law of the parents in a network against the whole product, and networks that are wider than any array."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.generators import bayesian_network
from synthrelease.generators.base import Background
from synthrelease.generators.bayesian_network import (
    BayesianNetwork,
    Family,
    NoisyTable,
    build_network,
    round_within_rows,
    systematic_rounding,
)
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.privacy.charges import exact
from tests.helpers.small import World, layout_of


def random_network(sizes: list[int], degree: int, seed: int) -> list[Family]:
    generator = np.random.default_rng(seed)
    families = []
    for column, size in enumerate(sizes):
        parents = tuple(sorted(map(int, generator.permutation(column)[:degree])))
        shape = [sizes[parent] for parent in parents]
        table = generator.dirichlet(np.ones(size), int(np.prod(shape, initial=1))).reshape([*shape, size])
        families.append(Family(column=column, parents=parents, conditional=table))
    return families


def parents_law(families: list[Family], parents: tuple[int, ...], sizes: list[int]) -> np.ndarray:
    drawn = bayesian_network.Frontier(sizes=sizes, n=10, cells=1, generator=np.random.default_rng(0))
    return bayesian_network._parent_marginal(families, parents, drawn)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 3), st.integers(0, 10**6), st.integers(1, 63))
def test_the_law_of_parents_is_that_of_the_whole_product(sizes: list[int], degree: int, seed: int, chosen: int) -> None:
    families = random_network(sizes, degree, seed)
    whole = np.ones(sizes)
    for family in families:
        axes = [*family.parents, family.column]
        table = family.conditional.transpose(np.argsort(axes))
        whole = whole * table.reshape([size if column in axes else 1 for column, size in enumerate(sizes)])
    kept = tuple(column for column in range(len(sizes)) if chosen >> column & 1)[::-1]
    expected = whole.sum(axis=tuple(c for c in range(len(sizes)) if c not in kept)).transpose(np.argsort(np.argsort(kept)))
    assert parents_law(families, kept, sizes) == pytest.approx(expected)


def test_a_chain_of_two_hundred_columns_needs_small_tables() -> None:
    """The law of both ends, by multiplying the transition matrices."""
    generator = np.random.default_rng(0)
    steps = [generator.dirichlet(np.ones(3), 3) for _ in range(199)]
    first, product = np.array([0.2, 0.3, 0.5]), np.eye(3)
    families = [Family(column=0, parents=(), conditional=first)]
    for i, step in enumerate(steps):
        families.append(Family(column=i + 1, parents=(i,), conditional=step))
        product = product @ step
    assert parents_law(families, (0, 199), [3] * 200) == pytest.approx(first[:, None] * product)


def test_a_star_of_forty_columns_is_summed_from_its_ends() -> None:
    """Starting with the column in the middle would join all others in one table of 2^40 cells."""
    generator = np.random.default_rng(1)
    middle, rays = np.array([0.3, 0.7]), [generator.dirichlet(np.ones(2), 2) for _ in range(40)]
    families = [Family(column=40, parents=(), conditional=middle)]
    families += [Family(column=i, parents=(40,), conditional=ray) for i, ray in enumerate(rays)]
    assert parents_law(families, (9, 5), [2] * 41) == pytest.approx(rays[9].T @ np.diag(middle) @ rays[5])


def test_parents_that_are_too_many_for_an_exact_law_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of eight columns with and without room for exact tables: parents' shares from 100,000 rows."""
    sizes = [3, 2, 4, 2, 3, 2, 3, 2]
    families = random_network(sizes, 2, 3)
    exact_law, estimate = (
        bayesian_network._parent_marginal(
            families, (7, 2), bayesian_network.Frontier(sizes=sizes, n=10**5, cells=cells, generator=np.random.default_rng(1))
        )
        for cells in (10**6, 200)
    )
    assert estimate == pytest.approx(exact_law, abs=1e-12)  # exact in both cases
    monkeypatch.setattr(bayesian_network, "DENSE_LIMIT", 1)
    for cells, off in ((10**6, 1e-12), (200, 0.01)):  # 0.01: 6 standard deviations of a share of 100,000 independent rows
        drawn = bayesian_network.Frontier(sizes=sizes, n=10**5, cells=cells, generator=np.random.default_rng(1))
        assert bayesian_network._parent_marginal(families, (7, 2), drawn) == pytest.approx(exact_law, abs=off)


@pytest.mark.slow
def test_ninety_columns_beyond_any_code_keep_their_dependence_and_their_zeros() -> None:
    """4^90 cells: each column is its predecessor plus 0 or 1, and parents of six earlier ones make exact laws impossible."""
    d, n = 90, 5000
    layout = layout_of(*[4] * d)
    forbidden = ~(np.eye(4, dtype=bool) | np.roll(np.eye(4, dtype=bool), 1, axis=1))
    rules = Plausibility(layout=layout, masks=tuple(Mask(columns=(i, i + 1), forbidden=forbidden) for i in range(d - 1)))
    generator = np.random.default_rng(2)
    tables = [NoisyTable(columns=(0,), values=np.full(4, n / 4))]
    for column in range(1, d):
        others = tuple(sorted(map(int, generator.permutation(column - 1)[:3])))
        values = generator.laplace(0, 30, [4] * len(others) + [4, 4]) + n / 4 ** (len(others) + 2)
        tables.append(NoisyTable(columns=(*others, column - 1, column), values=values))
    (rows,) = build_network(tables, n, layout, rules, generator).pieces(n, generator)
    assert rows.expected.sum() == n
    assert not any(forbidden[rows.digits[i], rows.digits[i + 1]].any() for i in range(d - 1))
    assert all(set(rows.digits[i]) == set(range(4)) for i in range(d))


class Half:
    """Offsets of exactly 0."""

    def random(self, size: int | None = None) -> object:
        return 0.0 if size is None else np.zeros(size)


def test_a_sum_that_ends_just_below_its_total_leaves_nothing_to_an_impossible_cell() -> None:
    shares = np.array([[0.1] * 10 + [0.0]])  # ten times 0.1 add up to 0.9999999999999999
    assert np.cumsum(shares)[-1] < 1
    assert round_within_rows(shares, np.array([7]), Half())[0, -1] == 0  # type: ignore[arg-type]
    assert round_within_rows(shares, np.array([7]), Half()).sum() == 7  # type: ignore[arg-type]
    expected = np.array([0.1] * 10 + [0.0])
    for n in range(1, 200):
        rounded = systematic_rounding(expected, n, Half())  # type: ignore[arg-type]
        assert rounded[-1] == 0
        assert rounded.sum() == n


def test_a_fit_and_sample_of_sixty_columns_keep_structural_zeros() -> None:
    world = World({f"c{i}": 1 for i in range(60)})
    rows = np.random.default_rng(0).integers(0, 2**60, 400)
    forbidden = np.array([[False, False], [False, True]])
    rules = Plausibility(layout=world.layout, masks=(Mask(columns=(3, 50), forbidden=forbidden),))
    generator = PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(1, 2))
    charge = generator.charge(exact(20))
    model = generator.fit(world.private([int(row) for row in rows], [charge]), charge, Background(plausibility=rules))
    assert isinstance(model, BayesianNetwork)
    sample = model.sample(1000, np.random.default_rng(1))
    assert sample.total == 1000
    together = any({3, 50} <= {*family.parents, family.column} for family in model.families)
    assert not together or not (sample.digits(3) & sample.digits(50)).any()
