"""Permutation swapping: the paper's table, its invariants, its law by enumeration, and that no release can use it."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from synthrelease.candidates.generators import GENERATORS
from synthrelease.domain.counts import Counts
from synthrelease.errors import SpecError
from synthrelease.rehearsal.swapping import PermutationSwapping, derangement, nominal_epsilon
from synthrelease.specification.spec import load_spec
from tests.helpers.small import layout_of
from tests.helpers.tiny import write_config

MASSACHUSETTS = 264_331
"""All two-person households of the state in 1940: the largest stratum (Bailie et al. 2023)."""


@pytest.mark.parametrize(("rate", "published"), [("0.01", "17.08"), ("0.05", "15.43"), ("0.10", "14.68"), ("0.50", "12.48")])
def test_the_table_of_the_paper(rate: str, published: str) -> None:
    assert f"{nominal_epsilon(Fraction(rate), MASSACHUSETTS):.2f}" == published


@pytest.mark.parametrize(
    ("largest", "at_5", "at_50"), [(13680081, "19.38", "16.43"), (853003, "16.60", "13.66"), (11691, "12.31", "9.37")]
)
def test_the_table_of_the_2020_census(largest: int, at_5: str, at_50: str) -> None:
    """Another table of the same paper."""
    assert f"{nominal_epsilon(Fraction(1, 20), largest):.2f}" == at_5
    assert f"{nominal_epsilon(Fraction(1, 2), largest):.2f}" == at_50


Table = tuple[int, ...]


def law(variable: Table, rate: float) -> dict[tuple[tuple[int, int], ...], float]:
    """Output law of swapping one stratum whose records are told apart by a held column 0, 1, 2, ...; exact."""
    n, found = len(variable), defaultdict(float)
    selections = [mask for mask in product((0, 1), repeat=n) if sum(mask) != 1]
    chance = {mask: rate ** sum(mask) * (1 - rate) ** (n - sum(mask)) for mask in selections}
    for mask in selections:
        chosen = [i for i in range(n) if mask[i]]
        moves = [order for order in permutations(chosen) if all(a != b for a, b in zip(chosen, order, strict=True))]
        for order in moves:
            values = list(variable)
            for target, source in zip(chosen, order, strict=True):
                values[target] = variable[source]
            found[tuple(enumerate(values))] += chance[mask] / sum(chance.values()) / len(moves)
    return found


@pytest.mark.parametrize("rate", ["0.1", "0.5", "0.8"])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_nominal_epsilon_bounds_neighbours_that_agree_on_the_invariants(n: int, rate: str) -> None:
    """Neighbours exchange the values of two records, which is a distance of two changed records."""
    epsilon, worst = nominal_epsilon(Fraction(rate), n), 0.0
    variable = tuple(range(n))
    for a in range(n):
        for b in range(a):
            other = list(variable)
            other[a], other[b] = other[b], other[a]
            first, second = law(variable, float(rate)), law(tuple(other), float(rate))
            assert set(first) == set(second)  # every permutation deranges the records that it moves
            worst = max([worst, *(abs(math.log(first[out] / second[out])) for out in first)])
    assert worst <= 2 * epsilon * (1 + 1e-12)
    if rate == "0.8":
        assert worst == pytest.approx(2 * epsilon)  # the case of a rate above a half is needed, and is reached


def test_swapping_has_the_law_of_the_enumeration() -> None:
    rows = [(i, value) for i, value in enumerate((0, 1, 2, 2))]
    layout = layout_of(4, 3)
    table = Counts(layout, np.array([layout.sizes[1] * a + b for a, b in rows]))
    swapping, generator = PermutationSwapping(key=(), variable=1, rate=Fraction(2, 5)), np.random.default_rng(5)
    expected = law((0, 1, 2, 2), 0.4)
    draws = 8000
    counts: dict[tuple[tuple[int, int], ...], int] = defaultdict(int)
    for _ in range(draws):
        counts[tuple(sorted(map(tuple, swapping.swap(table, generator).expand().tolist())))] += 1  # type: ignore[arg-type]
    assert set(counts) <= set(expected)
    outputs = sorted(expected)
    observed = [counts[out] for out in outputs]
    assert stats.chisquare(observed, [draws * expected[out] for out in outputs]).pvalue > 1e-6


@pytest.mark.parametrize("rate", ["0.05", "0.5"])
def test_both_invariants_are_kept_and_the_rest_is_not(rate: str) -> None:
    layout, generator = layout_of(3, 4, 5), np.random.default_rng(2)
    table = Counts(layout, generator.choice(60, 900, p=generator.dirichlet(np.ones(60))))
    swapping = PermutationSwapping(key=(0,), variable=2, rate=Fraction(rate))
    swapped = swapping.swap(table, generator)
    assert np.array_equal(swapped.marginal([0, 1]), table.marginal([0, 1]))  # all but the swap variable
    assert np.array_equal(swapped.marginal([0, 2]), table.marginal([0, 2]))  # key by swap variable
    assert not np.array_equal(swapped.marginal([1, 2]), table.marginal([1, 2]))
    assert swapping.largest_stratum(table) == table.marginal([0]).max()
    assert swapping.nominal_epsilon(table) == nominal_epsilon(Fraction(rate), int(table.marginal([0]).max()))


def test_a_stratum_of_one_record_is_left_alone() -> None:
    table = Counts(layout_of(3, 2), np.array([0, 3, 4]))
    swapped = PermutationSwapping(key=(0,), variable=1, rate=Fraction(99, 100)).swap(table, np.random.default_rng(0))
    assert np.array_equal(swapped.dense(), table.dense())


@pytest.mark.parametrize("n", [2, 3, 4])
def test_derangements_are_uniform(n: int) -> None:
    generator, draws = np.random.default_rng(1), 4000
    found: dict[tuple[int, ...], int] = defaultdict(int)
    for _ in range(draws):
        found[tuple(derangement(n, generator))] += 1
    possible = [order for order in permutations(range(n)) if all(i != j for i, j in enumerate(order))]
    assert set(found) == set(possible)
    assert len(possible) == 1 or stats.chisquare([found[order] for order in possible]).pvalue > 1e-6


def test_a_release_refuses_swapping(tmp_path: Path) -> None:
    """Its guarantee holds subject to its invariants, and does not compose with any other."""
    assert not any("swap" in family for family in GENERATORS)
    for family in ("permutation_swapping", "swapping"):
        with pytest.raises(SpecError, match=r"permutation swapping is for public data alone"):
            load_spec(write_config(tmp_path, {'family = "privbayes"': f'family = "{family}"'}))


@pytest.mark.parametrize(
    "wrong", [{"rate": Fraction(0)}, {"rate": Fraction(1)}, {"variable": 0}], ids=["rate 0", "rate 1", "variable in key"]
)
def test_impossible_swaps_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="swap"):
        PermutationSwapping(**{"key": (0,), "variable": 1, "rate": Fraction(1, 2), **wrong})  # type: ignore[arg-type]
