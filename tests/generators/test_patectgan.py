"""Votes of teachers: who belongs to whom, what a record can change, what a fit spends, what the critic learns from votes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import BudgetError
from synthrelease.generators import patectgan_mechanism as dealing
from synthrelease.generators.base import Background
from synthrelease.generators.gan_networks import Network
from synthrelease.generators.gans import PATECTGAN, TABLE_LIMIT, Mirrors, towards
from synthrelease.generators.patectgan_mechanism import NoisyVotes, Pairs, Teachers, noisy_votes
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.curves import zcdp
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.studio.audit.enumeration import Recording
from synthrelease.studio.audit.tiny import World
from tests.helpers.small import layout_of

WORLD = World({"a": 1, "b": 2})
PAIRS = Pairs(WORLD.layout)
SMALL = PATECTGAN(steps=5, batch=20, labels=7, teachers=3, critic_width=3, generator_width=4, latent=2, measured=Fraction(1, 4))
JOINT = PAIRS.places(list(np.unravel_index(np.arange(6), WORLD.layout.sizes)))[1]
"""Where the six cells of the whole table are, between those of a with a and of b with b."""

ALL_CELLS = list(np.unravel_index(np.arange(6), WORLD.layout.sizes))


class Dealt(Recording):
    """Deals rows to the teachers that it is told, one after the other, and writes down among how many."""

    def __init__(self, owners: tuple[int, ...]):
        super().__init__()
        self.owners, self.bounds = list(owners), []

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        self.bounds += bounds.tolist()
        found, self.owners = self.owners[: len(bounds)], self.owners[len(bounds) :]
        return np.array(found)


# --- Who belongs to whom


def parts(table: tuple[int, ...], owners: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """What two teachers have, as counts of pairs, when the rows of the table go to these owners in their order."""
    entropy = Dealt(owners)
    teachers = Teachers.dealt(WORLD.counts(table), PAIRS, 2, entropy)
    assert entropy.bounds == [2] * len(table)  # each row's owner is one uniform draw among all teachers
    return tuple(tuple(line.astype(int).tolist()) for line in teachers.tables[:, JOINT])


def test_each_row_belongs_to_one_teacher_drawn_for_it_alone() -> None:
    """Over all draws, teachers have what they get when rows in any other order are dealt out."""
    for table in [(0, 0, 4), (1, 3, 5), (2, 2, 2)]:
        found = Counter(parts(table, owners) for owners in product(range(2), repeat=3))
        for order in [(0, 1, 2), (2, 0, 1), (1, 2, 0)]:
            slow: Counter[tuple[tuple[int, ...], ...]] = Counter()
            for owners in product(range(2), repeat=3):
                lines = [[0] * 6, [0] * 6]
                for place, owner in zip(order, owners, strict=True):
                    lines[owner][table[place]] += 1
                slow[tuple(tuple(line) for line in lines)] += 1
            assert found == slow


def test_chunks_deal_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table, owners = (0, 0, 1, 3, 3, 3, 5), (1, 0, 1, 1, 0, 0, 1)
    whole = parts(table, owners)
    monkeypatch.setattr(dealing, "TEACHER_CHUNK", 2)
    assert parts(table, owners) == whole


@pytest.mark.parametrize("sizes", [(4,), (2, 3), (2, 3, 4)], ids=str)
def test_pairs_have_places_of_their_own(sizes: tuple[int, ...]) -> None:
    pairs, generator = Pairs(layout_of(*sizes)), np.random.default_rng(0)
    bins = [generator.integers(0, size, 50) for size in sizes]
    teachers = Teachers(pairs, 1)
    teachers.teach(np.zeros(50, dtype=int), bins)
    start = 0
    for a, b in combinations_with_replacement(range(len(sizes)), 2):
        for i in range(sizes[a]):
            for j in range(sizes[b]):
                assert teachers.tables[0, start] == ((bins[a] == i) & (bins[b] == j)).sum()
                start += 1
    assert start == pairs.cells


# --- What a record can change


@pytest.mark.slow
@pytest.mark.parametrize("expected", [0.0, 0.4, 1.5])
def test_no_neighbour_moves_votes_by_more_than_is_paid_for(expected: float) -> None:
    """All pairs of tables of three records, all ways to deal them out: the replaced row has the same owner in both."""
    rho, largest, often = Fraction(1, 3), 0.0, np.full(PAIRS.cells, expected)
    recorder = Recording()
    for shared in WORLD.all_tables(2):
        for owners in product(range(3), repeat=3):
            seen = []
            for last in range(WORLD.layout.n_cells):
                teachers = Teachers(PAIRS, 3)
                cells = np.array([*shared, last])
                teachers.teach(np.array(owners), list(np.unravel_index(cells, WORLD.layout.sizes)))
                noisy_votes(teachers, ALL_CELLS, often, rho, recorder)
                seen.append(recorder.values[-1])
            for one, other in combinations(seen, 2):
                largest = max(largest, float(((one - other) ** 2).sum() / (2 * recorder.scales[-1] ** 2)))
    assert largest <= float(rho)
    assert largest > 0.3 * float(rho)  # a teacher never changes its mind about all cells at once


def test_all_labels_may_change() -> None:
    """The bound is reached: of labels that are all the same row, a teacher turns every one."""
    recorder, rho = Recording(), Fraction(1, 2)
    for cell in (0, 5):
        teachers = Teachers(PAIRS, 1)
        teachers.teach(np.array([0]), list(np.unravel_index([cell], WORLD.layout.sizes)))
        noisy_votes(teachers, [np.zeros(4, dtype=int)] * 2, np.full(PAIRS.cells, 0.5), rho, recorder)
    distance = ((recorder.values[0] - recorder.values[1]) ** 2).sum()
    assert distance == 4
    assert distance / (2 * recorder.scales[0] ** 2) == pytest.approx(float(rho))


def test_a_vote_is_a_teachers_own() -> None:
    """All teachers together vote as each would alone, and as a slow sum says."""
    generator = np.random.default_rng(5)
    layout = layout_of(3, 4, 2)
    pairs = Pairs(layout)
    bins = [generator.integers(0, size, 400) for size in layout.sizes]
    asked = [generator.integers(0, size, 30) for size in layout.sizes]
    teachers, expected = Teachers(pairs, 8), 10 * generator.random(pairs.cells)
    owners = generator.integers(0, 8, 400)
    teachers.teach(owners, bins)
    slow = np.zeros(30, dtype=int)
    for teacher in range(8):
        alone = Teachers(pairs, 1)
        alone.teach(np.zeros((owners == teacher).sum(), dtype=int), [column[owners == teacher] for column in bins])
        own = alone.votes(asked, expected)
        for row in range(30):
            found = 0.0
            for a, b in combinations_with_replacement(range(3), 2):
                often = [both(table[0], a, b) for table in (alone.tables, expected[None])]
                place, surplus = (asked[a][row], asked[b][row]), [0.0, 0.0]
                for i, joint in enumerate(often):
                    product = joint[place[0]].sum() * joint[:, place[1]].sum() / joint.sum()
                    surplus[i] = joint[place] - (product if a != b else 0)
                found += (surplus[0] - surplus[1]) / np.sqrt(often[1][place] + 1)
            assert own[row] == (found > 0)
        slow += own
    assert teachers.votes(asked, expected).tolist() == slow.tolist()


def both(table: np.ndarray, a: int, b: int) -> np.ndarray:
    """The sub-table of two columns of sizes 3, 4 and 2."""
    sizes, start = (3, 4, 2), 0
    for one, other in combinations_with_replacement(range(3), 2):
        stop = start + sizes[one] * sizes[other]
        if (one, other) == (a, b):
            return table[start:stop].reshape(sizes[one], sizes[other])
        start = stop
    raise ValueError((a, b))


# --- What a fit spends


@pytest.mark.parametrize("rho", [Fraction(1, 10), Fraction(3)])
def test_frequencies_and_votes_together_cost_the_rho(rho: Fraction) -> None:
    """Whatever the votes are: squared sensitivity / (2 scale^2) each."""
    recorder, charge = Recording(), SMALL.charge(rho)
    private = PrivateCounts(WORLD.counts([0, 1, 5, 5]), Meter([charge]), recorder)
    SMALL.fit(private, charge, Background(plausibility=Plausibility(layout=WORLD.layout, masks=())))
    frequencies, votes = recorder.scales[:2], recorder.scales[2:]
    assert [len(vector) for vector in recorder.values[2:]] == [SMALL.labels] * SMALL.steps
    first = sum(2 / (2 * scale**2) for scale in frequencies)
    assert 0.999 * float(rho / 4) < first <= float(rho / 4)
    spent = sum(SMALL.labels / (2 * scale**2) for scale in votes)
    assert 0.999 * float(rho * 3 / 4) < spent <= float(rho * 3 / 4)
    assert charge.curve() == zcdp(rho)


# --- What is learned from votes


def test_teachers_of_generated_rows_vote_as_teachers_of_the_same_law() -> None:
    """Where the table has the law of the generated rows, a row's surplus of votes is 0 on average."""
    generator = np.random.default_rng(6)
    layout = layout_of(3, 4)
    pairs, chances = Pairs(layout), np.hstack([generator.dirichlet(np.ones(size), 5) for size in layout.sizes])
    mirrors = Mirrors(pairs, chances, [slice(0, 3), slice(3, 7)], 40.0, generator)
    law = (chances[:, :3, None] * chances[:, None, 3:]).mean(axis=0)
    np.testing.assert_allclose(mirrors.expected[9:21], 40 * law.ravel())
    np.testing.assert_allclose(mirrors.expected[:9].reshape(3, 3), 40 * np.diag(law.sum(axis=1)))
    drawn = np.ravel_multi_index(mirrors.drawn(20_000), layout.sizes)
    np.testing.assert_allclose(np.bincount(drawn, minlength=12) / 20_000, law.ravel(), atol=0.02)
    rows = list(np.unravel_index(generator.choice(12, size=20_000, p=law.ravel()), layout.sizes))
    teachers = Teachers(pairs, 500)
    teachers.teach(generator.integers(0, 500, 20_000), rows)
    cells = list(np.unravel_index(np.arange(12), layout.sizes))
    mirrored = np.mean([mirrors.votes(cells) for _ in range(40)], axis=0)
    np.testing.assert_allclose(teachers.votes(cells, mirrors.expected) / 500, mirrored, atol=0.12)  # five deviations


def test_the_critic_goes_towards_rows_with_a_surplus() -> None:
    critic, rows = Network((5, 4, 1), np.random.default_rng(7)), np.eye(5)
    surplus = np.array([0.9, 0.9, 0.2, 0.0, 0.0])

    def gain() -> float:
        return float((critic.forward(rows).output[:, 0] * (surplus - 0.4)).mean())

    before, gradient = gain(), towards(critic, rows, surplus)
    for layer, slope in zip(critic.weights, gradient, strict=True):
        layer -= 1e-3 * slope
    squared = sum((slope**2).sum() for slope in gradient)
    assert gain() - before == pytest.approx(1e-3 * squared, rel=0.05)


def test_impossible_cells_get_nothing() -> None:
    charge = SMALL.charge(Fraction(1))
    forbidden = np.ones(WORLD.layout.sizes, dtype=bool)
    forbidden[0, 0] = forbidden[1, 2] = False
    rules = Plausibility(layout=WORLD.layout, masks=(Mask(columns=(0, 1), forbidden=forbidden),))
    shares = SMALL.fit(
        PrivateCounts(WORLD.counts([0, 1, 5, 5]), Meter([charge])), charge, Background(plausibility=rules)
    ).shares
    assert (shares[forbidden] == 0).all()
    assert shares.sum() == pytest.approx(1)


def test_too_many_teachers_for_wide_columns_are_a_mistake() -> None:
    generator = PATECTGAN(teachers=100_000)
    (mistake,) = generator.mistakes(layout_of(60, 60), [])
    assert mistake.field == "teachers"
    assert f"The limit is {TABLE_LIMIT:,}." in mistake.text
    assert list(SMALL.mistakes(WORLD.layout, [])) == []


@pytest.mark.slow
def test_it_learns_columns_that_depend_on_each_other() -> None:
    """Two columns are nearly equal: independent columns would be 0.4 away in total variation. One fit in some dozens collapses,
    as adversarial training does; three in a row do not.
    """
    counts = Counts(layout_of(2, 2), np.arange(4), np.array([4500, 500, 500, 4500]))
    generator = PATECTGAN(
        steps=800, batch=200, labels=100, teachers=300, critic_width=16, generator_width=32, latent=8, generator_rate=0.002,
        weight_limit=0.1,
    )  # fmt: skip
    charge = generator.charge(Fraction(1))
    rules = Plausibility(layout=counts.layout, masks=())

    def distance() -> float:
        model = generator.fit(PrivateCounts(counts, Meter([charge])), charge, Background(plausibility=rules))
        return float(np.abs(model.shares.ravel() - counts.dense() / 10_000).sum() / 2)

    assert any(distance() < 0.2 for _ in range(3))


def test_frequencies_and_votes_take_their_parts_and_none_is_given_beyond_the_budget() -> None:
    teachers = NoisyVotes(WORLD.counts([0, 1, 5]), Fraction(1), SystemEntropy(), Fraction(1, 4), PAIRS, 2)
    assert teachers.left == Fraction(3, 4)
    rows, expected = [np.zeros(3, dtype=np.int64)] * 2, np.ones(PAIRS.cells)
    teachers.votes(rows, expected, Fraction(3, 4))
    assert teachers.left == 0
    with pytest.raises(BudgetError):
        teachers.votes(rows, expected, Fraction(1, 1000))
