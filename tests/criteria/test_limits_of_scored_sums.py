"""Limits of original sums from measured sums of scores: against the law of the noise, value by value, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.criteria.measured import Sums, all_limits, half_widths
from synthrelease.data.layout import Layout
from synthrelease.generators.measured_noise import DiscreteLaplace, cube_limit
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, NoisySum, noise_limit

LAYOUT = Layout(columns=("a", "b"), sizes=(3, 2))
COUNTS = np.array([[40, 9], [25, 3], [2, 1]])
N, RISK = 80, 0.05
RARE = np.array([0, 0, 4096])
PRODUCTS = np.array([[0, 4096], [1024, 2048], [2048, 0]])


def measured(
    value: int, steps: np.ndarray, columns: tuple[int, ...], epsilon: str = "2", table: str = "1/100"
) -> NoisyMarginals:
    """A table of both columns with little budget, exact by chance; and a sum."""
    noisy = NoisyMarginal(columns=(0, 1), values=COUNTS, cost=Fraction(table), cells=np.ones_like(COUNTS))
    one = NoisySum(text="sum", columns=columns, scores=steps, value=value, epsilon=Fraction(epsilon), sensitivity=4096)
    return NoisyMarginals(layout=LAYOUT, n=N, tables=(noisy,), sums=(one,))


def possible(columns: tuple[str, ...]) -> np.ndarray:
    return np.ones(math.prod(LAYOUT.sizes["ab".index(name)] for name in columns), dtype=bool)


def limits(sums: Sums, found: NoisyMarginals) -> tuple[list[int], list[int]]:
    (one,) = all_limits({"it": [sums]}, found, possible, RISK)["it"]
    return one.low.tolist(), one.high.tolist()


@pytest.mark.parametrize(
    ("sums", "steps", "columns", "over", "under", "constant"),
    [
        (Sums(columns=("a",), weights=np.array([[0, 0, 1]])), RARE, (0,), 1, 4096, 0),
        (Sums(columns=("a",), weights=np.array([[5, 5, 2]])), RARE, (0,), -3, 4096, 5),
        (Sums(columns=("a", "b"), weights=PRODUCTS[None] // 512 - 3), PRODUCTS, (0, 1), 1, 512, -3),
        (Sums(columns=("b", "a"), weights=PRODUCTS.T[None] // 512), PRODUCTS, (0, 1), 1, 512, 0),
    ],
)
def test_a_sum_lies_within_its_limits_for_all_noise_but_the_risk(
    sums: Sums, steps: np.ndarray, columns: tuple[int, ...], over: int, under: int, constant: int
) -> None:
    """Every value of the noise, with its probability; the limits are those of the noise, and no wider."""
    rows = COUNTS if len(columns) == 2 else COUNTS.sum(axis=1)
    exact = int((steps * rows).sum())
    truth = Fraction(over * exact, under) + constant * N
    assert truth.denominator == 1
    scale = 2048.0
    reach = noise_limit(((DiscreteLaplace(scale), 1, 1),), RISK)
    a = math.exp(-1 / scale)
    noises = np.unique(np.concatenate([np.arange(-reach - 9, -reach + 9), np.arange(reach - 9, reach + 9), [0, 7777, -777]]))
    for noise in noises.tolist():
        (low,), (high,) = limits(sums, measured(exact + noise, steps, columns))
        middle = Fraction(over * (exact + noise), under) + constant * N
        assert (low <= truth <= high) == (abs(noise) <= reach)
        width = Fraction(abs(over) * reach, under)
        assert high <= middle + width
        assert low >= middle - width
    assert 2 * a ** (reach + 1) / (1 + a) <= RISK < 2 * a**reach / (1 + a)


def test_a_rare_bin_that_is_counted_by_itself_is_known_as_a_cell_of_its_table() -> None:
    found = measured(4096 * 3, RARE, (0,))
    low, high = limits(Sums(columns=("a",)), found)
    reach = noise_limit(((DiscreteLaplace(2048.0), 1, 1),), RISK / 3)
    assert (low[2], high[2]) == (max(0, math.ceil(3 - reach / 4096)), math.floor(3 + reach / 4096))
    assert (low[0], high[0]) == (0, N)  # the table's noise is larger than the table
    wide = half_widths(Sums(columns=("a",)), found, possible, RISK / 3)
    assert wide[2] == pytest.approx(reach / 4096)
    assert wide[0] > N


@pytest.mark.parametrize("together", [2, 7])
def test_limits_of_a_sum_that_shares_its_noise_are_those_of_its_entry(together: int) -> None:
    """Wider than of a noise of its own at the epsilon of the group, and narrower than at its share of it."""
    found = measured(4096 * 3, RARE, (0,))
    (alone,) = found.sums
    shared = replace(found, sums=(replace(alone, together=together),))
    apart = replace(found, sums=(replace(alone, epsilon=alone.epsilon / together),))
    widths = [half_widths(Sums(columns=("a",)), each, possible, RISK)[2] for each in (found, shared, apart)]
    assert widths[0] < widths[1] < widths[2]
    assert widths[1] == pytest.approx(cube_limit(together, Fraction(2048), RISK) / 4096)


def test_a_precise_table_is_taken_before_an_imprecise_sum() -> None:
    found = measured(4096 * 70, RARE, (0,), epsilon="1/1000", table="4")
    low, high = limits(Sums(columns=("a",)), found)
    assert low[2] <= 3 <= high[2] < 20


def test_sums_say_nothing_of_other_weights_or_columns_and_nothing_once_their_bins_are_merged() -> None:
    sums = Sums(columns=("a",), weights=np.array([[0, 1, 2]]))
    assert limits(sums, measured(0, RARE, (0,))) == ([0], [2 * N])
    of_both = Sums(columns=("a", "b"), weights=np.arange(6).reshape(1, 3, 2))
    assert limits(of_both, measured(0, RARE, (0,))) == ([0], [5 * N])
    coarse = Layout(columns=("a", "b"), sizes=(2, 2))
    found = measured(4096 * 3, RARE, (0,))
    kept = found.merge(coarse, [np.array([0, 0, 1]), np.array([0, 1])])
    torn = found.merge(coarse, [np.array([0, 1, 1]), np.array([0, 1])])
    assert (kept.sums[0].exact, torn.sums[0].exact) == (True, False)
    assert not torn.merge(coarse, [np.array([0, 1]), np.array([0, 1])]).sums[0].exact
    bins = {"it": [Sums(columns=("a",))]}
    (one,) = all_limits(
        bins, kept, lambda columns: np.ones(2, dtype=bool) if len(columns) == 1 else np.ones(4, dtype=bool), RISK
    )["it"]
    assert one.high[1] < 10
    (one,) = all_limits(
        bins, torn, lambda columns: np.ones(2, dtype=bool) if len(columns) == 1 else np.ones(4, dtype=bool), RISK
    )["it"]
    assert one.high.tolist() == [N, N]
