"""Sums of the own values of rows: against plain sums over the rows, between neighbours, and in whole specifications."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from synthrelease.data.schema import STEPS
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import Unexpected
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.measurements import NoisySum
from synthrelease.generators.own_totals import own_total
from synthrelease.generators.scored_sums import ScoredSum, own_values_of
from synthrelease.privacy.charges import GENERATION, Meter, mechanism
from synthrelease.privacy.public_entropy import NoNoise
from tests.criteria.test_own_values import BINS, SCHEMA, X_NUMBERS, Y_NUMBERS, original

SUMS = "x(1..3 - 2):y(2..8 - 4) + 2 y(0..9) + x[0 1]:y(1..9 - 5) within -3..3 + y[0 0 1]"


def measured(rows: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """Value of every sum without noise, in the units of its product, and the least that a row adds."""
    found = []
    for one, text in zip(_sums_of(rows), Marginals(tables="x", sums=SUMS).scored_sums, strict=True):
        low, high = text.ends if text.own_values_of else (0.0, 1.0)
        found.append((low * len(rows) + one.value * (high - low) / STEPS, (high - low) / STEPS))
    return found


def test_a_sum_of_own_values_is_that_of_the_rows() -> None:
    generator = np.random.default_rng(0)
    rows = list(zip(generator.integers(0, 4, 60).tolist(), generator.integers(0, 10, 60).tolist(), strict=True))
    plain = [
        sum((np.clip(x, 1, 3) - 2) * (np.clip(y, 2, 8) - 4) for x, y in rows),
        sum(y for _, y in rows),
        sum(float(np.clip((x >= 2) * (np.clip(y, 1, 9) - 5), -3, 3)) for x, y in rows),
        sum(y > 4 for _, y in rows),
    ]
    for (value, step), exact in zip(measured(rows), plain, strict=True):
        assert value == pytest.approx(exact, abs=step * len(rows) / 2 + 1e-9)


def test_sums_of_own_values_leave_out_rows_that_are_counted_apart() -> None:
    """Rows of the second bin of x apart: sums are those of the other rows, whose number the count tells."""
    generator = np.random.default_rng(0)
    rows = list(zip(generator.integers(0, 4, 60).tolist(), generator.integers(0, 10, 60).tolist(), strict=True))
    chosen = Marginals(tables="x", sums=SUMS, rare_bins="x[0 1]")
    charge = chosen.charge(Fraction(1))
    private = PrivateCounts(original(rows).atoms, Meter([charge])).rehearsed(NoNoise()).on(BINS)
    found = chosen.measure(private, charge)
    others = [(x, y) for x, y in rows if x < 2]
    assert found.n == len(others)
    assert [one.value for one in found.sums] == [one.value for one in _sums_of(others)]


def _sums_of(rows: list[tuple[int, int]]) -> tuple[NoisySum, ...]:
    generator = Marginals(tables="x", sums=SUMS)
    charge = generator.charge(Fraction(1))
    private = PrivateCounts(original(rows).atoms, Meter([charge])).rehearsed(NoNoise()).on(BINS)
    return generator.measure(private, charge).sums


def test_no_row_moves_a_sum_of_own_values_by_more_than_its_steps() -> None:
    """Every row alone: its step is a whole number from 0 to STEPS, and both ends occur where limits are reached."""
    for text in ("x(1..3 - 2):y(2..8 - 4)", "y(2..8)", "x[0 1]:y(1..9 - 5) within -3..3", "x(0..3):y(0..9)"):
        one = ScoredSum.of(text)
        public = (one.columns(BINS.layout), one.own_steps(BINS), one.ends)
        steps = [own_total(original([cell]).atoms, *public) for cell in product(range(4), range(10))]
        assert min(steps) == 0
        assert max(steps) == STEPS


def test_a_row_of_the_model_adds_what_the_numbers_of_its_bins_lead_to() -> None:
    one = ScoredSum.of("x(1..3 - 2):y(2..8 - 4)")
    low, high = one.ends
    products = np.outer(np.clip(X_NUMBERS, 1, 3) - 2, np.clip(Y_NUMBERS, 2, 8) - 4)
    assert one.scores(BINS.layout) * (high - low) / STEPS + low == pytest.approx(products)


def test_the_columns_of_own_values_are_known_before_anything_else_is() -> None:
    assert own_values_of(SUMS) == {"x", "y"}
    assert own_values_of("age[1 2]:income[0..9]") == set()
    assert {name for one in Marginals(tables="x", sums=SUMS).scored_sums for name in one.own_values_of} == {"x", "y"}


@pytest.mark.parametrize("text", ["x(3..1)", "x(1..1)", "x(1 2)", "x(0..3 - )", "x(..3)"])
def test_limits_that_are_none_are_told(text: str) -> None:
    with pytest.raises(Unexpected, match="is not a sum of scores or values"):
        ScoredSum.of(text)


def test_bins_alone_are_refused() -> None:
    """A table that does not know its own values cannot be summed: the failure is the enclave's, without a cause."""
    generator = Marginals(tables="x", sums=SUMS)
    charge = mechanism(GENERATION, Fraction(1), "discrete Laplace noise on a fixed set of marginals")
    bare = PrivateCounts(original([(0, 0)]).project([0, 1]), Meter([charge]))
    with pytest.raises(Exception, match=r"private|stopped|failed"):
        generator.measure(bare, charge)
    assert SCHEMA.layout.sizes == (4, 10)
