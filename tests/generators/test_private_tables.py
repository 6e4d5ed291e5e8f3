"""What an adaptive generator asks of a private table: sensitivities of all neighbours, exact laws, and one budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import ClassVar

import numpy as np
import pytest

from synthrelease.data import marginals as lattice
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.errors import BudgetError
from synthrelease.generators import adaptive_mechanism as mechanism
from synthrelease.generators.adaptive_mechanism import ExactlyGaussian, Gaussian, Laplace, PrivateTables
from synthrelease.generators.clique_tables import CompetingTables
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.studio.audit.enumeration import Recording
from synthrelease.studio.audit.tiny import World

WORLD = World({"a": 1, "b": 2})
TABLES = [(0,), (1,), (0, 1)]
BOTH = pytest.mark.parametrize("kind", [Gaussian, ExactlyGaussian, Laplace])


def neighbours(n: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every pair of tables of n records over six cells that differ in one replaced record."""
    rows = list(product(range(6), repeat=n))
    return [(row, (other, *row[1:])) for row in rows for other in range(6) if other != row[0]]


def asked(*tables: tuple[tuple[int, ...], Sequence[int], int, int]) -> CompetingTables:
    """Columns, expected counts, weight and handicap of each table."""
    columns, expected, weights, handicaps = zip(*tables, strict=True)
    sizes = np.array([len(counts) for counts in expected])
    return CompetingTables(
        columns=columns,
        expected=np.concatenate([np.array(counts, dtype=np.int64) for counts in expected]),
        starts=sizes.cumsum() - sizes,
        sizes=sizes,
        weights=np.array(weights),
        handicaps=np.array(handicaps),
    )


QUESTIONS = asked(((0,), [1, 0], 1, 2), ((1,), [0, 1, 1], 3, 0), ((0, 1), [0, 0, 1, 1, 0, 0], 2, 1))


class Scores(Gaussian):
    """Writes down what a choice would be made of."""

    seen: ClassVar[tuple[list[int], int]]

    @classmethod
    def chosen(cls, scores: Sequence[int], *, sensitivity: int, part: Fraction, entropy: SystemEntropy) -> int:
        cls.seen = list(scores), sensitivity
        return 0


def scores_of(rows: Sequence[int]) -> tuple[list[int], int]:
    Scores(WORLD.counts(rows), Fraction(1), SystemEntropy()).choice(QUESTIONS, Fraction(1))
    return Scores.seen


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_neighbour_moves_a_score_by_more_than_two_weights(n: int) -> None:
    """The largest move is reached, so that the sensitivity is not only safe but right."""
    moves = []
    for left, right in neighbours(n):
        (before, sensitivity), (after, _) = scores_of(left), scores_of(right)
        assert sensitivity == 2 * 3
        moves.append([abs(x - y) for x, y in zip(before, after, strict=True)])
    assert np.max(moves, axis=0).tolist() == [2, 6, 4] if n > 1 else np.max(moves) <= 6


def test_scores_are_weighed_distances_less_the_handicap() -> None:
    """Rows 0, 0, 5: a is (2, 1), b is (2, 0, 1)."""
    assert scores_of([0, 0, 5])[0] == [1 * (1 + 1 - 2), 3 * (2 + 1 + 0), 2 * (2 + 0 + 1 + 1 + 0 + 1 - 1)]


@pytest.mark.parametrize(("weight", "handicap"), [(3 * 2**61, 0), (10**12, 2**63 // 10**12), (10**12, 10**25), (10**25, 1)])
def test_scores_of_any_weight_and_handicap_do_not_overflow(weight: int, handicap: int) -> None:
    """Weights 1 and 0.333333333333 are the whole numbers 10^12 and 333333333333. Neighbours must not differ by 2^64."""
    questions = replace(QUESTIONS, weights=np.array([1, weight, 2]), handicaps=np.array([0, handicap, 1]))
    for rows, distance in (([0, 0, 5], 3), ([0, 5, 5], 3), ([0, 0, 0], 5)):
        Scores(WORLD.counts(rows), Fraction(1), SystemEntropy()).choice(questions, Fraction(1))
        assert Scores.seen[0][1] == weight * (distance - handicap)
        assert Scores.seen[1] == 2 * weight


@BOTH
@pytest.mark.parametrize("columns", TABLES)
def test_no_neighbour_moves_a_table_by_more_than_two_counts(kind: type[PrivateTables], columns: tuple[int, ...]) -> None:
    """2 in the l1 norm, and 2 in the squared l2 norm: not the 4 of two steps of adding and removing. Both are reached."""
    l1, squared = set(), set()
    for left, right in neighbours(2):
        values = []
        for rows in (left, right):
            recorder = Recording()
            kind(WORLD.counts(rows), Fraction(1), recorder).table(columns, Fraction(1, 3))
            (noised,), (scale,) = recorder.values, recorder.scales
            assert Fraction(scale) >= 6 if kind is Laplace else Fraction(scale) ** 2 >= 3  # 2 / (2 rho) at rho = 1/3
            values.append(noised)
        change = values[0] - values[1]
        l1.add(int(np.abs(change).sum()))
        squared.add(int((change**2).sum()))
    assert max(l1) == max(squared) == 2


@BOTH
def test_parts_add_up_to_the_budget_exactly_and_not_further(kind: type[PrivateTables]) -> None:
    private = kind(WORLD.counts([0, 5]), Fraction(1), SystemEntropy())
    for part in (Fraction(1, 3), Fraction(1, 7)):
        private.table((0,), part)
        private.choice(QUESTIONS, part)
    assert private.left == 1 - 2 * Fraction(10, 21)
    for bad in (private.left + Fraction(1, 10**30), Fraction(0), Fraction(-1)):
        with pytest.raises(BudgetError):
            private.table((0,), bad)
        with pytest.raises(BudgetError):
            private.choice(QUESTIONS, bad)
    private.table((0,), private.left)
    assert private.left == 0
    with pytest.raises(BudgetError):
        private.table((0,), Fraction(1, 10**30))


@pytest.mark.parametrize(("kind", "epsilon"), [(Gaussian, 2.0), (ExactlyGaussian, 2 * math.log(0.6914625 / 0.3085375))])
def test_a_choice_gets_the_epsilon_that_its_part_pays_for(
    kind: type[PrivateTables], epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = list[Fraction]()
    monkeypatch.setattr(mechanism, "choose", lambda scores, *, epsilon, **_: given.append(epsilon) or 0)
    kind(WORLD.counts([0, 5]), Fraction(1), SystemEntropy()).choice(QUESTIONS, Fraction(1, 2))
    assert float(given[0]) == pytest.approx(epsilon, rel=1e-6)


def slow_exponential(scores: Sequence[int], rate: float) -> np.ndarray:
    weights = np.array([math.exp(rate * (score - max(scores))) for score in scores])
    return weights / weights.sum()


def slow_permute_and_flip(scores: Sequence[int], rate: float) -> np.ndarray:
    """McKenna & Sheldon 2020: p_r = p * sum over sets of the others of (-1)^size / (size + 1) * their product."""
    heads = [math.exp(rate * (score - max(scores))) for score in scores]
    found = []
    for r, mine in enumerate(heads):
        others = [p for i, p in enumerate(heads) if i != r]
        terms = [(-1) ** k / (k + 1) * math.prod(chosen) for k in range(len(heads)) for chosen in combinations(others, k)]
        found.append(mine * sum(terms))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "law"), [(Gaussian, slow_exponential), (ExactlyGaussian, slow_exponential), (Laplace, slow_permute_and_flip)]
)
def test_a_choice_has_the_law_of_its_mechanism(kind: type[PrivateTables], law: object) -> None:
    """At a part of 1/2 the epsilon is 2 for the exponential mechanism (epsilon^2 / 8) and 1/2 for permute-and-flip.

    In a Gaussian budget mu is 1, and the epsilon 2 ln(p / (1 - p)), p = Pr[N < 1 / 2] = 0.69146: 1.6140.
    """
    rows, draws = [0, 0, 5, 4], 3000
    scores, sensitivity = scores_of(rows)
    epsilon = {Gaussian: 2.0, ExactlyGaussian: 2 * math.log(0.6914625 / 0.3085375), Laplace: 0.5}[kind]
    expected = law(scores, epsilon / (2 * sensitivity))  # type: ignore[operator]
    counts = WORLD.counts(rows)
    found = np.bincount(
        [kind(counts, Fraction(1), SystemEntropy()).choice(QUESTIONS, Fraction(1, 2)) for _ in range(draws)], minlength=3
    )
    assert expected.sum() == pytest.approx(1)
    assert np.ptp(expected) > 0.1
    # five standard deviations in each of three frequencies: wrong by chance in fewer than one run of 500,000;
    # twice the epsilon is 20, 18 and 10 of them off
    assert (np.abs(found / draws - expected) < 5 * np.sqrt(expected * (1 - expected) / draws)).all()


@BOTH
def test_the_stated_variance_is_that_of_the_noise_or_a_little_more(kind: type[PrivateTables]) -> None:
    part, size = Fraction(1, 50), 4000
    wide = World({"a": size - 1})
    noise = kind(wide.counts([0]), Fraction(1), SystemEntropy()).table((0,), part)
    assert noise.var() == pytest.approx(kind.variance(part), rel=0.2)
    assert np.abs(noise).mean() == pytest.approx(kind.mean_error * math.sqrt(kind.variance(part)), rel=0.1)


def test_after_merging_the_tables_are_those_of_the_groups() -> None:
    recorder = Recording()
    private = Gaussian(WORLD.counts([0, 1, 5]), Fraction(1), recorder)
    grouped = World({"a": 1, "b": 1}).layout
    private.merge(grouped, [np.array([0, 1]), np.array([0, 1, 1])])
    private.table((0, 1), Fraction(1, 2))
    assert recorder.values[0].tolist() == [1, 1, 0, 1]


def test_tables_that_compete_are_counted_once_and_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty columns, more pairs than a lattice keeps tables: the distances are those of counts made by hand, and a second
    choice, after another answer, counts no row again."""
    random = np.random.default_rng(3)
    sizes = [int(size) for size in random.integers(2, 5, 50)]
    world = Layout(columns=tuple(f"c{place}" for place in range(50)), sizes=tuple(sizes))
    rows = [random.integers(0, size, 300) for size in sizes]
    pairs = list(combinations(range(50), 2))
    assert len(pairs) > lattice.KEPT_TABLES
    questions = asked(*((pair, [1] * math.prod(sizes[one] for one in pair), 1, 0) for pair in pairs))
    by_hand = []
    for one, other in pairs:
        counts = np.zeros((sizes[one], sizes[other]), dtype=np.int64)
        np.add.at(counts, (rows[one], rows[other]), 1)
        by_hand.append(int(np.abs(counts - 1).sum()))
    private = Scores(Counts.of(world, rows), Fraction(1), SystemEntropy())
    private.choice(questions, Fraction(1, 4))
    assert Scores.seen[0] == by_hand
    monkeypatch.setattr(lattice, "table_of", None)
    private.table(pairs[7], Fraction(1, 4))
    private.choice(questions, Fraction(1, 4))
    assert Scores.seen[0] == by_hand


def test_a_choice_among_the_rest_of_the_tables_has_their_scores() -> None:
    """The scores of the last choice are kept until the bins are merged, and never those of other tables."""
    private, rows = Scores(WORLD.counts([0, 0, 5]), Fraction(1), SystemEntropy()), scores_of([0, 0, 5])[0]
    for places in ((0, 1, 2), (2, 0), (0,), (0, 1, 1)):
        private.choice(QUESTIONS.some(np.array(places)), Fraction(1, 10))
        assert Scores.seen[0] == [rows[place] for place in places]
    private.merge(World({"a": 1, "b": 2}).layout, [np.array([0, 0]), np.arange(3)])
    private.choice(QUESTIONS.some(np.array([0])), Fraction(1, 10))
    assert Scores.seen[0] == [2 + 0 - 2]


@pytest.mark.parametrize("cells", [1, 5, 2**18])
def test_scores_do_not_depend_on_how_many_cells_are_subtracted_together(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "_TOGETHER", cells)
    assert scores_of([0, 0, 5])[0] == [1 * (1 + 1 - 2), 3 * (2 + 1 + 0), 2 * (2 + 0 + 1 + 1 + 0 + 1 - 1)]


def test_what_has_no_room_is_counted_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "KEPT_CELLS", 2)
    private = Scores(WORLD.counts([0, 0, 5]), Fraction(1), SystemEntropy())
    private.choice(QUESTIONS, Fraction(1, 4))
    assert list(private._held) == [(0,)]
    assert Scores.seen[0] == scores_of([0, 0, 5])[0]
