"""The conditional networks: frequencies and conditions, what a fit spends, what rows are made for a condition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.adversarial_mechanism import noisy_frequencies
from synthrelease.generators.base import Background
from synthrelease.generators.gan_networks import Conditions, Frequencies, Game, on_one
from synthrelease.generators.gans import DPCTGAN
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.curves import zcdp
from synthrelease.privacy.grids import noise_grid
from synthrelease.studio.audit.enumeration import Recording
from synthrelease.studio.audit.tiny import World
from tests.helpers.small import layout_of

WORLD = World({"a": 1, "b": 2})
SMALL = DPCTGAN(steps=5, batch=20, critic_width=3, generator_width=4, latent=2, measured=Fraction(1, 4), clip=2)
RULES_FREE = Plausibility(layout=WORLD.layout, masks=())
FREQUENCIES = Frequencies(columns=(np.array([0.9, 0.1]), np.array([0.25, 0.5, 0.25])))


# --- Frequencies


def test_no_neighbour_moves_frequencies_by_more_than_is_paid_for() -> None:
    """All pairs of neighbours of three records: two counts of each column move, and that is reached."""
    rho, moved, largest = Fraction(1, 3), {}, 0.0
    for table in WORLD.all_tables(3):
        recorder = Recording()
        noisy_frequencies(WORLD.counts(table), rho, recorder)
        moved[table] = recorder.values
        scales = recorder.scales
    for table in WORLD.all_tables(3):
        for neighbour in WORLD.neighbours(table):
            other = moved[tuple(sorted(neighbour))]
            spent = sum(((a - b) ** 2).sum() / (2 * scale**2) for a, b, scale in zip(moved[table], other, scales, strict=True))
            assert spent <= float(rho)
            largest = max(largest, spent)
    assert largest > 0.999 * float(rho)


def test_frequencies_are_shares_of_noisy_counts_of_at_least_one_row() -> None:
    found = noisy_frequencies(WORLD.counts([0, 0, 1, 1, 1, 1]), Fraction(1), Recording())  # b is never 2, a never 1
    np.testing.assert_allclose(found.columns[0], [6 / 7, 1 / 7])
    np.testing.assert_allclose(found.columns[1], [2 / 7, 4 / 7, 1 / 7])


def test_bins_are_asked_for_by_logarithms_up_to_the_oversampling() -> None:
    np.testing.assert_allclose(FREQUENCIES.by_logarithm(0, 1000, 1.0), [0.9, 0.1])
    logarithms = np.log([901, 101])
    np.testing.assert_allclose(FREQUENCIES.by_logarithm(0, 1000, 100.0), logarithms / logarithms.sum())
    share = logarithms[0] / logarithms.sum()  # between 0.9 / 2 and 0.9 * 2; that of the other bin is above 0.1 * 2
    np.testing.assert_allclose(FREQUENCIES.by_logarithm(0, 1000, 2.0), np.array([share, 0.2]) / (share + 0.2))
    lowest = np.array([0.9 / 1.2, 0.1 * 1.2])
    np.testing.assert_allclose(FREQUENCIES.by_logarithm(0, 1000, 1.2), lowest / lowest.sum())


def test_conditions_are_as_frequent_as_measured_and_on_all_columns_alike() -> None:
    drawn = FREQUENCIES.everywhere(20_000, np.random.default_rng(1))
    assert np.bincount(drawn.columns).tolist() == [10_000, 10_000]
    for column, shares in enumerate(FREQUENCIES.columns):
        found = np.bincount(drawn.bins[drawn.columns == column]) / 10_000
        np.testing.assert_allclose(found, shares, atol=0.025)  # five standard deviations
    one = on_one(1, np.array([0.0, 0.0, 1.0]), 4, np.random.default_rng(1))
    assert (one.columns.tolist(), one.bins.tolist()) == ([1] * 4, [2] * 4)


def test_a_raked_law_has_the_measured_frequencies_and_keeps_zeros_and_odds() -> None:
    law = np.random.default_rng(2).random((2, 3))
    raked = FREQUENCIES.raked(law)
    np.testing.assert_allclose(raked.sum(axis=1), [0.9, 0.1], rtol=1e-6)
    np.testing.assert_allclose(raked.sum(axis=0), [0.25, 0.5, 0.25], rtol=1e-6)
    odds = [table[0, 0] * table[1, 2] / table[0, 2] / table[1, 0] for table in (law, raked)]
    assert odds[0] == pytest.approx(odds[1])
    law[0, 1], law[1, :] = 0, 0  # a bin of the first column is impossible altogether
    found = FREQUENCIES.raked(law)
    assert np.isfinite(found).all()
    assert (found[law == 0] == 0).all()


# --- Conditional rows


def test_every_row_has_the_bin_that_it_was_given() -> None:
    game = Game(SMALL, WORLD.layout, np.random.default_rng(3), conditioned=True)
    wanted = Conditions(columns=np.array([0, 1, 1, 0]), bins=np.array([1, 2, 0, 0]))
    game.settings = SMALL.model_copy(update={"batch": 4})
    rows, chances = game.generated(wanted).rows, game.chances(wanted)
    for i, (column, bin_) in enumerate(zip(wanted.columns, wanted.bins, strict=True)):
        assert rows[i, game.columns()[column]].tolist() == [float(b == bin_) for b in range(WORLD.layout.sizes[column])]
        assert chances[i, game.columns()[column]].tolist() == rows[i, game.columns()[column]].tolist()
    np.testing.assert_allclose(rows[:, game.columns()[0]].sum(axis=1), 1)
    assert game.one_hot([np.array([1]), np.array([2])]).tolist() == [[0, 1, 0, 0, 1]]
    law = game.shares(Conditions(columns=np.zeros(5, dtype=int), bins=np.ones(5, dtype=int)))
    assert law[0].sum() == 0
    assert law.sum() == pytest.approx(1)


def test_the_generator_knows_its_condition() -> None:
    """Another condition on one column gives other chances in the other column, with the same noise."""
    found = []
    for bin_ in (0, 1):
        game = Game(SMALL, WORLD.layout, np.random.default_rng(4), conditioned=True)
        found.append(game.shares(Conditions(columns=np.zeros(50, dtype=int), bins=np.full(50, bin_)))[bin_])
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_an_untrained_generator_makes_independent_columns_of_the_measured_frequencies() -> None:
    game = Game(DPCTGAN(), WORLD.layout, np.random.default_rng(5), conditioned=True)
    game.start(FREQUENCIES.columns)
    law = game.shares(Conditions(columns=np.zeros(4000, dtype=int), bins=np.arange(4000) % 2))
    np.testing.assert_allclose(law, 0.5 * np.array([[1], [1]]) * FREQUENCIES.columns[1], atol=0.06)


# --- What a fit spends


@pytest.mark.parametrize("rho", [Fraction(1, 10), Fraction(3)])
def test_frequencies_and_gradients_together_cost_the_rho(rho: Fraction) -> None:
    """squared sensitivity / (2 scale^2) each; the tests of both say that the sensitivities are right."""
    recorder, charge = Recording(), SMALL.charge(rho)
    private = PrivateCounts(WORLD.counts([0, 1, 5, 5]), Meter([charge]), recorder)
    SMALL.fit(private, charge, Background(plausibility=RULES_FREE))
    frequencies, gradients = recorder.scales[:2], recorder.scales[2:]
    assert len(gradients) == SMALL.steps
    sensitivity = 2 * SMALL.clip / noise_grid(SMALL.clip).step + math.sqrt(len(recorder.values[-1]))
    first = sum(2 / (2 * scale**2) for scale in frequencies)
    assert 0.999 * float(rho / 4) < first <= float(rho / 4)
    spent = sum(sensitivity**2 / (2 * scale**2) for scale in gradients)
    assert 0.998 * float(rho * 3 / 4) < spent <= float(rho * 3 / 4)
    assert charge.curve() == zcdp(rho)


def test_rows_count_by_how_much_more_often_they_are_asked_for() -> None:
    """Ten rows of a rare bin, asked for twice as often as they occur: their gradients count twice."""
    generator = SMALL.model_copy(update={"steps": 2, "oversampling": 2.0, "clip": 1000.0})
    recorder, charge = Recording(), generator.charge(Fraction(10**6))
    counts = Counts(layout_of(2), np.arange(2), np.array([9990, 10]))
    generator.fit(
        PrivateCounts(counts, Meter([charge]), recorder),
        charge,
        Background(plausibility=Plausibility(layout=counts.layout, masks=())),
    )
    wanted = Frequencies(columns=(np.array([0.999, 0.001]),)).by_logarithm(0, 10_000, 2.0)
    weights = wanted / [0.999, 0.001]
    assert weights[1] > 2 * weights[0]
    last_bias = recorder.values[1][-1] * noise_grid(1000.0).step  # every row's gradient by the last bias is its weight
    assert last_bias == pytest.approx((weights * counts.counts).sum(), rel=1e-3)


# --- What it learns


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


@pytest.mark.slow
def test_it_learns_columns_that_depend_on_each_other() -> None:
    """Two columns are nearly equal: independent columns would be 0.4 away in total variation."""
    counts = Counts(layout_of(2, 2), np.arange(4), np.array([4500, 500, 500, 4500]))
    generator = DPCTGAN(
        steps=800, batch=200, critic_width=16, generator_width=32, latent=8, generator_rate=0.002, weight_limit=0.1
    )
    charge = generator.charge(Fraction(1))
    rules = Plausibility(layout=counts.layout, masks=())
    model = generator.fit(PrivateCounts(counts, Meter([charge])), charge, Background(plausibility=rules))
    assert np.abs(model.shares.ravel() - counts.dense() / 10_000).sum() / 2 < 0.15
