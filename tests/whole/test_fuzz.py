"""Random whole releases of neighbouring files with the same noisy answers: nothing else differs, and known faults are found."""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from itertools import permutations
from random import Random

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.generators import GENERATORS
from tests.whole.fuzz import faults
from tests.whole.fuzz.faults import FAULTS, Fault, hunt
from tests.whole.fuzz.losses import log_probabilities, of_choice, of_laplace
from tests.whole.fuzz.pairs import Leak, coupled_pieces, coupled_subset, replaced
from tests.whole.fuzz.runs import Tally, run
from tests.whole.fuzz.searches import CONCENTRATED, LIBRARIES, NESTED, PURE
from tests.whole.fuzz.specifications import drawn
from tests.whole.fuzz.worlds import World, difference

FIRST = 20_000
"""Seeds of the suite. `make fuzz` draws others, and looks for all faults."""
RARELY_SEEN = {faults.low_ratio_sensitivity, faults.low_step_sensitivity, faults.forgotten_rounding, faults.joined_values}
"""They take some hundred pairs."""
NEAR = {faults.low_score_sensitivity: 20}
"""The seed from which on a fault is looked for that shows seldom, shortly before one that shows it."""


@pytest.mark.slow
def test_neighbouring_files_differ_in_noisy_answers_alone() -> None:
    tally, seed = Tally(), FIRST
    while tally.compared < 40:
        run(seed, tally)
        seed += 1
    assert tally.leaks == {}
    assert tally.accepted > 3  # figures are compared, too


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in RARELY_SEEN], ids=lambda fault: fault.__name__)
def test_known_faults_are_found(fault: Fault) -> None:
    _, found = hunt(fault, 600, first=NEAR.get(fault, 0))
    assert found


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted({*PURE, *CONCENTRATED}))
def test_what_every_generator_tells_is_added_up(family: str) -> None:
    """A loss of 0 means that the fuzzer does not see the noise: it was so for generators that ask several questions."""
    tally, seed = Tally(), FIRST
    while not any(share > 0 for what, share in tally.tight.items() if what == f"generator {family}"):
        run(seed, tally, having=f'family = "{family}"')
        seed += 1
        assert tally.compared < 60
    assert tally.leaks == {}


def test_every_kind_is_drawn() -> None:
    """Where this fails for a new kind: its settings belong into tests/whole/fuzz/searches.py or criteria.py."""
    assert {*PURE, *CONCENTRATED, *NESTED, *LIBRARIES} == set(GENERATORS)
    written = [drawn(Random(seed), linked=seed % 4 == 0) for seed in range(600)]
    kinds = {table["kind"] for each in written for table in tomllib.loads(each.acceptance)["criteria"]}
    assert kinds == set(CRITERIA)


# --- The pieces of the fuzzer


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_the_law_of_a_choice_is_that_of_its_definition(mechanism: str) -> None:
    scores, epsilon = [3, 0, 7, 5], Fraction(3, 2)
    weights = [math.exp(-float(epsilon) * (max(scores) - score) / 4) for score in scores]
    expected = np.zeros(4)
    if mechanism == "exponential":
        expected = np.array(weights) / sum(weights)
    else:  # the first candidate in a random order whose coin shows heads
        for order in permutations(range(4)):
            left = 1 / 24
            for candidate in order:
                expected[candidate] += left * weights[candidate]
                left *= 1 - weights[candidate]
    assert np.exp(log_probabilities(scores, 2, epsilon, mechanism)) == pytest.approx(expected, rel=1e-12)


def test_losses_are_those_of_the_laws() -> None:
    assert of_laplace(np.array([1, 0, -1]), 4.0).epsilon == 0.5
    loss = of_choice([1, 0], [0, 1], sensitivity=1, epsilon=Fraction(1), mechanism="exponential")
    assert loss.epsilon == pytest.approx(0.5)  # each probability moves by the factor e^(1/2) against the other's
    assert loss.rho == pytest.approx(1 / 8)


def test_tables_that_differ_in_more_than_a_row_are_told_apart() -> None:
    a, b, c = (0, 0), (0, 1), (1, 1)
    assert replaced([a, a, b], [b, a, a]) == (None, None)
    assert replaced([a, a, b], [a, c, b]) == (a, c)
    assert replaced([a, a, b], [a, b]) == (a, None)
    assert replaced([a, a, b], [c, c, b]) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "other", [[(0,), (1,), (3,)], [(0,), (1,)], [(0,), (1,), (2,), (3,)]], ids=["replaced", "less", "more"]
)
def test_a_coupled_subset_is_uniform_and_differs_in_one_row(other: list[tuple[int, ...]]) -> None:
    draw = np.random.default_rng(5)
    one = [(0,), (1,), (2,)]
    found: dict[tuple[tuple[int, ...], ...], int] = {}
    for _ in range(6000):
        chosen = [one[place] for place in draw.choice(3, 2, replace=False)]
        coupled = coupled_subset((one, other), chosen, draw)
        assert replaced(chosen, coupled) is not None
        assert len(coupled) == 2
        key = tuple(sorted(coupled))
        found[key] = found.get(key, 0) + 1
    subsets = math.comb(len(other), 2)
    assert len(found) == subsets
    assert all(abs(count - 6000 / subsets) < 5 * math.sqrt(6000 / subsets) for count in found.values())


def test_coupled_pieces_differ_in_one_piece() -> None:
    draw = np.random.default_rng(5)
    pieces = [[(0,), (1,)], [(1,), (2,)]]
    coupled = coupled_pieces(([(0,), (1,), (1,), (2,)], [(0,), (1,), (2,), (3,)]), pieces, draw)
    assert sorted(row for piece in coupled for row in piece) == [(0,), (1,), (2,), (3,)]
    assert sum(sorted(a) != sorted(b) for a, b in zip(pieces, coupled, strict=True)) == 1
    with pytest.raises(Leak):
        coupled_pieces(([(0,), (1,)], [(2,), (3,)]), [[(0,)], [(1,)]], draw)


def test_a_second_world_refuses_what_the_first_did_not_ask() -> None:
    one = World(3)
    first = one.add_laplace(np.array([4, 5]), 2.0)
    same = World(3, one)
    assert (same.add_laplace(np.array([4, 6]), 2.0) == first).all()
    same.check_ended()
    for values, scale in (([4], 2.0), ([4, 5], 2.5)):
        with pytest.raises(Leak):
            World(3, one).add_laplace(np.array(values), scale)
    with pytest.raises(Leak):
        World(3, one).check_ended()


def test_results_are_compared_to_the_last_bit() -> None:
    assert difference((1, {"a": np.array([0.5, np.nan])}), (1, {"a": np.array([0.5, np.nan])})) == ""
    assert difference((1, 2.0), (1, math.nextafter(2.0, 3))) != ""
    assert difference([1, 2], [1]) != ""
