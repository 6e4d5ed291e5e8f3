"""The projection to a minimum count has the six properties of Proposition 11."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.errors import RejectedRound
from synthrelease.generators.projections import MinimumCount
from tests.helpers.small import layout_of

LAYOUT = layout_of(40)
KEEP = st.sampled_from(["random", "spread", "nested"])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=40, max_size=40), st.integers(1, 5), st.integers(0, 1000), KEEP)
def test_proposition_11(counts: list[int], m: int, seed: int, keep: str) -> None:
    before = np.array(counts)
    for k in range(1, m):  # the proposition assumes that m divides k n_k for every k < m
        cells = np.flatnonzero(before == k)
        divisor = math.factorial(m) // math.factorial(k) if keep == "nested" else m  # what Algorithm 4 assumes
        before[cells[: len(cells) % divisor]] = 0
    if not before.any():
        return
    table = Counts(LAYOUT, np.arange(40), before)
    after = MinimumCount(minimum_count=m, keep=keep).project(table, np.random.default_rng(seed)).dense()
    assert np.all((after > 0) <= (before > 0))  # 1: no new record
    for k in range(m + 1, 7):
        assert np.array_equal(after == k, before == k)  # 2: records above m are the same
    assert np.all(after[before == m] == m)  # 3: records at m stay
    assert not np.any((after > 0) & (after < m))  # 4: none below m
    for k in range(1, m):
        if keep != "nested":  # there the mass of all classes is kept together, that of each on average
            assert after[before == k].sum() == k * (before == k).sum()  # 5: the mass of each class is kept
    assert after.sum() == before.sum()  # 6: same size


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=40, max_size=40), st.integers(2, 4), st.integers(0, 1000), KEEP)
def test_any_table_keeps_its_size_and_rows_or_is_rejected(counts: list[int], m: int, seed: int, keep: str) -> None:
    before = np.array(counts)
    table = Counts(LAYOUT, np.arange(40), before)
    try:
        after = MinimumCount(minimum_count=m, keep=keep).project(table, np.random.default_rng(seed)).dense()
    except RejectedRound:
        assert before.max() < m
        assert kept_at_most(before, m) == 0 if keep == "nested" else all(k * (before == k).sum() < m for k in range(1, m))
        return
    assert after.sum() == before.sum()
    assert np.all((after == 0) | (after >= m))
    assert np.all((after > 0) <= (before > 0))


def kept_at_most(counts: np.ndarray, m: int) -> int:
    """How many rare rows Algorithm 4 keeps: the number does not depend on which."""
    kept = 0
    for k in range(1, m):
        kept = k * (kept + int((counts == k).sum())) // (k + 1)
    return kept


class Choosing:
    """Stands for a generator: its n-th choice without replacement is a given subset; how many there are is written down."""

    def __init__(self, subsets: tuple[int, ...] = ()):
        self.subsets, self.ways, self.drawn = subsets, list[int](), 0

    def choice(self, cells: np.ndarray, size: int, replace: bool = True) -> np.ndarray:
        if replace:
            return cells[np.zeros(size, dtype=int)]
        possible = list(combinations(range(len(cells)), size))
        self.ways.append(len(possible))
        number = self.subsets[self.drawn] if self.drawn < len(self.subsets) else 0
        self.drawn += 1
        return cells[list(possible[number])]


@pytest.mark.parametrize(("ones", "twos"), [(6, 3), (6, 0), (2, 2), (4, 3), (5, 1), (0, 3)])
def test_nested_keeps_a_row_of_count_k_with_probability_k_over_m(ones: int, twos: int) -> None:
    """m = 3: every subset of the first step, and every one of the second (Hod & Canetti 2024, Proposition 12)."""
    layout, m = layout_of(ones + twos + 1), 3
    before = np.array([1] * ones + [2] * twos + [7])
    table = Counts(layout, np.arange(len(before)), before)
    project = MinimumCount(minimum_count=m, keep="nested").project
    found = Choosing()
    project(table, found)  # type: ignore[arg-type]
    chances, total, ways = np.zeros(len(before)), 0, found.ways
    assert len(ways) == m - 1
    for subsets in product(*(range(number) for number in ways)):
        after = project(table, Choosing(subsets)).dense()  # type: ignore[arg-type]
        assert after.sum() == before.sum()
        chances += after > 0
        total += 1
    chances /= total
    first, second = ones // 2, 2 * (ones // 2 + twos) // 3
    share = second / max(1, first + twos)
    assert np.allclose(chances[before == 1], share * first / max(1, ones))
    assert np.allclose(chances[before == 2], share)
    if ones % 6 == 0 and twos % 3 == 0:  # m!/k! divides n_k: nothing is rounded
        assert np.allclose(chances[:-1], before[:-1] / m)
        assert after[-1] == 7  # and nothing has to be filled up


def test_which_rows_are_kept_is_random() -> None:
    table = Counts(LAYOUT, np.arange(40))
    project = MinimumCount(minimum_count=2).project
    kept = np.sum([project(table, np.random.default_rng(seed)).dense() > 0 for seed in range(400)], axis=0)
    assert kept.min() > 140  # each row is kept with probability 1/2: 200, standard deviation 10
    assert kept.max() < 260


def test_nothing_to_keep_rejects_the_round() -> None:
    with pytest.raises(RejectedRound):
        MinimumCount(minimum_count=3).project(Counts(LAYOUT, np.array([0, 1])), np.random.default_rng(0))


class Offset:
    """Stands for a generator whose uniform number is known; single rows go to the first kept cell."""

    def __init__(self, offset: float):
        self.offset = offset

    def random(self) -> float:
        return self.offset

    def choice(self, cells: np.ndarray, size: int) -> np.ndarray:
        return cells[np.zeros(size, dtype=int)]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "ones", "twos"), [(2, 8, 0), (2, 7, 0), (3, 6, 9), (3, 10, 5), (4, 12, 6)])
def test_spread_keeps_every_row_with_the_same_probability(m: int, ones: int, twos: int) -> None:
    """All offsets in [0, 1) in steps of 1/2520, which every number of kept rows up to 10 divides: shares are exact."""
    layout = layout_of(4, 6)
    before = np.zeros(24, dtype=int)
    cells = np.random.default_rng(m + ones).permutation(24)
    before[cells[:ones]], before[cells[ones : ones + twos]], before[cells[-1]] = 1, 2, 50
    table = Counts(layout, np.arange(24), before)
    kept = np.zeros(24)
    for step in range(2520):
        after = MinimumCount(minimum_count=m, keep="spread").project(table, Offset((step + 0.5) / 2520)).dense()  # type: ignore[arg-type]
        kept += after > 0
    for k, n_k in ((1, ones), (2, twos)):
        if n_k and k < m:
            np.testing.assert_allclose(kept[before == k] / 2520, (k * n_k // m) / n_k, atol=2 / 2520)


@pytest.mark.parametrize("m", [2, 3])
def test_spread_keeps_the_total_of_the_rarest_bin(m: int) -> None:
    """Its cells stand together, so of each of the m - 1 classes the rows kept are off by less than one, m records each; and
    random keeping is off by more."""
    layout = layout_of(12, 30)
    generator = np.random.default_rng(5)
    digits = np.column_stack([np.tile(np.arange(12), 30), generator.permutation(np.repeat(np.arange(30), 12))])
    before = np.bincount(np.ravel_multi_index(tuple(digits.T), layout.sizes), minlength=360)
    before[before > 2] = 2
    bins = np.arange(360) % 30
    before[(before > 0) & (bins == 0)] = 1  # the rarest bin of all, and its cells are far apart in the table
    for k in range(1, m):  # no rounding: then no single rows are added
        same, surplus = np.flatnonzero((before == k) & (bins != 0)), (before == k).sum() % m
        before[same[:surplus]] = m
    table = Counts(layout, np.arange(360), before)
    totals = np.bincount(bins, weights=before)
    assert totals.argmin() == 0
    assert 0 < totals[0] < np.sort(totals)[1]
    off: dict[str, list[int]] = {}
    for keep in ("spread", "random"):
        projected = [
            MinimumCount(minimum_count=m, keep=keep).project(table, np.random.default_rng(seed)).dense()  # type: ignore[arg-type]
            for seed in range(60)
        ]
        assert {after.sum() for after in projected} == {before.sum()}
        off[keep] = [abs(int(after[bins == 0].sum()) - int(totals[0])) for after in projected]
    assert max(off["spread"]) <= m * (m - 1)
    assert np.mean(np.square(off["random"])) > 2 * np.mean(np.square(off["spread"]))
