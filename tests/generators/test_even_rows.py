"""Bins that rows share out: right on average, nearly exact in every group of rows, and telling nothing of other columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.adaptive import Adaptive
from synthrelease.generators.base import Background
from synthrelease.generators.bayesian_network import BayesianNetwork, Family, even_bins
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals
from synthrelease.generators.nested import Nested
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from tests.helpers.small import layout_of

SHARES = np.array([[[0.2, 0.0, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]], [[0.25, 0.25, 0.25, 0.25], [0.0, 0.7, 0.0, 0.3]]])
LAYOUT = layout_of(*(2,) * 12)


def given_out(shares: np.ndarray, parents: list[np.ndarray], totals: np.ndarray, seed: int) -> np.ndarray:
    """(n_cells, n_bins) how many rows of each cell get each bin."""
    places, bins, counts = even_bins(shares, parents, totals, np.random.default_rng(seed))
    table = np.zeros((len(totals), shares.shape[-1]), dtype=np.int64)
    np.add.at(table, (places, bins), counts)
    return table


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(1, 5)), min_size=1, max_size=40), st.integers(0, 999)
)
def test_every_row_gets_a_possible_bin_and_every_group_its_shares(cells: list[tuple[int, int, int]], seed: int) -> None:
    """In a group each of the B bins is off by less than B: a tooth for each comb that was laid over it."""
    first, second, totals = (np.array(each) for each in zip(*cells, strict=True))
    table = given_out(SHARES, [first, second], totals, seed)
    assert np.array_equal(table.sum(axis=1), totals)
    assert not table[SHARES[first, second] == 0].any()
    for pair in product((0, 1), (0, 1)):
        group = (first == pair[0]) & (second == pair[1])
        assert np.abs(table[group].sum(axis=0) - totals[group].sum() * SHARES[pair]).max() < 4


class Fixed(np.random.Generator):
    """Rows as they stand, and a comb that begins where it is told."""

    def __init__(self, offset: float):
        super().__init__(np.random.PCG64(0))
        self._offset = offset

    def permutation(self, n: int) -> np.ndarray:  # type: ignore[override]
        return np.arange(n)

    def random(self, n: int) -> np.ndarray:  # type: ignore[override]
        return np.full(n, self._offset)


def test_sums_that_are_rounded_lose_no_row() -> None:
    """A third has no exact double: of cells that are sure of their bin a comb may leave out a row, or find one too many."""
    third, sure = [2 / 3, 1 / 3], [0.0, 1.0]
    parents, totals = [np.array([0, 0, 1, 2, 2, 3])], np.array([1, 1, 5, 1, 1, 4])
    for offset in (0.6666666666666669, 0.33333333333333315):
        places, bins, counts = even_bins(np.array([third, sure, third, sure]), parents, totals, Fixed(offset))
        for place in (2, 5):
            assert [*zip(bins[places == place], counts[places == place], strict=True)] == [(1, totals[place])]


def test_the_whole_column_is_nearly_exact_however_many_groups_there_are() -> None:
    """A thousand groups of one row, of two bins: off by less than one row in all, where single draws are off by 15."""
    random = np.random.default_rng(1)
    high = random.random(1000)
    table = given_out(np.column_stack([1 - high, high]), [np.arange(1000)], np.ones(1000, dtype=np.int64), 2)
    assert abs(table[:, 1].sum() - high.sum()) < 1


def test_each_row_gets_its_bin_with_the_chance_that_its_parents_say() -> None:
    parents = [np.array([0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 0])]
    mean = np.mean([given_out(SHARES, parents, np.array([1, 1, 1, 1, 3]), seed) for seed in range(600)], axis=0)
    assert mean == pytest.approx(SHARES[parents[0], parents[1]] * np.array([[1], [1], [1], [1], [3]]), abs=0.12)  # 4 deviations


@pytest.mark.parametrize("groups", [1, 60], ids=["one group", "a group for every row"])
def test_two_columns_on_the_same_parents_are_independent(groups: int) -> None:
    """Of 60 rows half get each; as often together as by chance, 15 on average, and not now all and now none.

    Were the rows in the same order on both lines, either none or all of them would agree. One hypergeometric count has a
    deviation of 1.97, and a law on 0 and 30 alone of 15.
    """
    parents, shares = [np.arange(60) % groups], np.full((groups, 2), 0.5)
    both = []
    for seed in range(150):
        random = np.random.default_rng(seed)
        chosen = []
        for _ in range(2):
            places, bins, _ = even_bins(shares, parents, np.ones(60, dtype=np.int64), random)
            chosen.append(set(places[bins == 1].tolist()))
        both.append(len(chosen[0] & chosen[1]))
    assert np.mean(both) == pytest.approx(15, abs=0.8)
    assert np.std(both) == pytest.approx(1.97, abs=0.5)


def network(*, evenly: bool) -> BayesianNetwork:
    """Twelve columns, each on the one before it; the first is rounded, and all others extend whole rows."""
    step = np.array([[0.97, 0.03], [0.4, 0.6]])
    families = (Family(column=0, parents=(), conditional=np.array([0.9, 0.1])),) + tuple(
        Family(column=column, parents=(column - 1,), conditional=step) for column in range(1, 12)
    )
    return BayesianNetwork(layout=LAYOUT, families=families, evenly=evenly)


def largest_error(made: Counts, model: BayesianNetwork) -> float:
    """Rows, of the tables of neighbouring columns, against the model's own."""
    share, largest = np.array([0.9, 0.1]), 0.0
    for column in range(1, 12):
        table = share[:, None] * model.families[column].conditional
        largest = max(largest, float(np.abs(made.marginal((column - 1, column)) - made.total * table).max()))
        share = table.sum(axis=0)
    return largest


def test_a_models_tables_are_those_of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 5,000 rows whose columns are drawn one by one; an error goes on to the next column, and grows by less than a row."""
    monkeypatch.setattr(BayesianNetwork, "frontier_limit", 1)  # whole rows from the second column on
    errors = {
        evenly: [
            largest_error(network(evenly=evenly).sample(5000, np.random.default_rng(seed)), network(evenly=evenly))
            for seed in range(5)
        ]
        for evenly in (False, True)
    }
    assert max(errors[True]) < 3 < 6 < min(errors[False])


@pytest.mark.parametrize("draw", [None, "evenly"])
def test_a_generator_says_how_the_rows_of_its_model_are_drawn(draw: str | None) -> None:
    layout = layout_of(2, 2)
    table = Counts.of(layout, [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])])
    charge = Adaptive().charge(Fraction(1))
    private = PrivateCounts(table, Meter([charge])).rehearsed(SeededEntropy(1))
    background = Background(plausibility=Plausibility(layout=layout, masks=()))
    adaptive = Adaptive.model_validate({"draw": draw}).fit(private, charge, background)
    measured = NoisyMarginals(layout=layout, n=4, tables=(flat((0, 1), 2, 2),))
    marginals = Marginals.model_validate({"tables": "c0:c1", "draw": draw}).model(measured, background)
    by_area = NoisyMarginals(layout=layout, n=4, tables=(flat((0,), 2), flat((1,), 2)))
    nested = Nested.model_validate({"areas": "c0", "tables": "c0 + c1", "draw": draw}).model(by_area, background).whole
    assert nested is not None
    assert isinstance(marginals, BayesianNetwork)
    assert marginals.evenly == nested.evenly == adaptive.network.evenly == (draw is not None)


def flat(columns: tuple[int, ...], *shape: int) -> NoisyMarginal:
    return NoisyMarginal(columns=columns, values=np.ones(shape, dtype=np.int64), cost=Fraction(1), cells=np.ones(shape))
