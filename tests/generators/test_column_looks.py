"""How the budget for columns is shared out: before the rounds by size, after them where rare bins need it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.generators.adaptive import column_shares, expected_bins, last_shares, look_again
from synthrelease.generators.adaptive_mechanism import Gaussian, Laplace, PrivateTables
from synthrelease.studio.audit.enumeration import Recording
from tests.helpers.small import layout_of

SIZES = (3, 4, 2, 3)


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(1, 10**6), min_size=1, max_size=20))
def test_shares_of_columns_add_up_to_one(sizes: list[int]) -> None:
    shares = column_shares(sizes)
    assert sum(shares) == 1
    assert min(shares) > 0


def test_the_last_look_makes_the_worst_relative_error_as_small_as_it_can() -> None:
    """Beside every way to share out the 24 parts among three columns; a bin that is empty draws no more than it can use."""
    expected, variances = (
        [np.array([164.0, 9000.0]), np.array([280.0, 600.0]), np.array([4000.0, 5000.0])],
        [2000.0, 700.0, 900.0],
    )

    def variance_of(share: Fraction) -> float:
        return 500.0 / float(share)

    def worst(shares: Sequence[Fraction]) -> float:
        precisions = [1 / v + (1 / variance_of(share) if share else 0) for v, share in zip(variances, shares, strict=True)]
        return max(1 / math.sqrt(p) / counts.min() for p, counts in zip(precisions, expected, strict=True))

    found = last_shares(expected, variances, variance_of)
    every = [(Fraction(a, 24), Fraction(b, 24), Fraction(24 - a - b, 24)) for a in range(25) for b in range(25 - a)]
    assert sum(found) == 1
    assert worst(found) == pytest.approx(min(worst(shares) for shares in every))
    assert found[2] == 0
    empty = [np.array([0.0, 9000.0]), *expected[1:]]
    assert last_shares(empty, variances, variance_of) == last_shares(
        [np.array([2 * math.sqrt(500.0)]), *empty[1:]], variances, variance_of
    )


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_the_last_look_spends_what_is_left_and_averages_by_precision(kind: type[PrivateTables]) -> None:
    """Also after bins were merged it sees the bins. Without noise it returns the counts where it looked, or nears them."""
    table = Counts.of(layout_of(*SIZES), [np.arange(60) % size for size in SIZES])
    private = kind(table, Fraction(1, 2), Recording())
    private.merge(layout_of(1, 1, 1, 1), [np.zeros(size, dtype=np.int64) for size in SIZES])
    known, variances = [np.zeros(size) for size in SIZES], [10.0, 40.0, 40.0, 40.0]
    expected = [np.full(size, 10.0 if column == 2 else 1e6) for column, size in enumerate(SIZES)]
    found = look_again(private, known, variances, expected)
    assert private.left == 0
    shares = last_shares(expected, variances, lambda share: kind.variance(share / 2))
    assert shares == [0, 0, 1, 0]
    added = kind.variance(Fraction(1, 2))
    assert found[2][1] == pytest.approx(1 / (1 / 40 + 1 / added))
    assert found[2][0].tolist() == pytest.approx((table.marginal((2,)) * 40 / (40 + added)).tolist())
    assert all(found[column] == (known[column], variances[column]) for column in (0, 1, 3))


def test_expected_bins_are_the_models_where_it_knows_them() -> None:
    (found,) = expected_bins([np.array([50.0, 7.0])], [np.array([0, 1, 0])], [np.array([30.0, 9.0, -2.0])])
    assert found.tolist() == [30, 7, -2]
