"""How far off areas are: against the covariance of least squares over all areas at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from synthrelease.data.layout import Layout
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace, RoundedGaussian
from synthrelease.generators.measurements import AreaNoise, area_noise, divided

LAYOUT = Layout(columns=("region", "town", "age"), sizes=(3, 12, 5))
"""Four towns in each region."""


@pytest.mark.parametrize("kind", [RoundedGaussian, DiscreteLaplace])
def test_the_noise_of_an_area_is_what_least_squares_over_all_tables_of_its_level_and_below_leave(
    kind: type[CountNoise],
) -> None:
    costs = {(0,): Fraction(1, 50), (0, 2): Fraction(1, 20), (1, 2): Fraction(1, 4), (2,): Fraction(1)}
    variance = {columns: kind.of_table(cost).variance_above for columns, cost in costs.items()}
    cells = np.eye(60).reshape(12, 5, 60)  # unknown: the counts of towns by age
    of_region = cells.reshape(3, 4, 5, 60).sum(axis=1)
    rows = [(of_region.sum(axis=1), variance[0,]), (of_region.reshape(15, 60), variance[0, 2])]
    rows.append((cells.reshape(60, 60), variance[1, 2]))
    precision = sum(design.T @ design / noise for design, noise in rows)
    covariance = np.linalg.inv(precision)
    region, town = area_noise(("region", "town"), LAYOUT, costs, kind)
    first = of_region.sum(axis=1)[0]
    assert region.rows**2 == pytest.approx(first @ covariance @ first, rel=1e-9)
    assert town.rows**2 == pytest.approx(5 * variance[1, 2])
    assert (region.areas, region.cells, region.cell) == (3, 5, pytest.approx(variance[0, 2] ** 0.5))
    assert (town.areas, town.cells, town.cell) == (12, 5, pytest.approx(variance[1, 2] ** 0.5))


def test_in_percent_of_a_mean_area_and_a_mean_cell() -> None:
    text = AreaNoise(column="town", areas=100, rows=20.0, cell=5.0, cells=4).text(50_000)
    assert text == "town: 20.0 rows (4.0% of 500, the mean of an area), 5.0 in a cell (4.0% of 125, the mean of a cell)"


def test_a_level_without_a_table_is_not_told() -> None:
    found = area_noise(("region", "town"), LAYOUT, {(0,): Fraction(1), (2,): Fraction(1)}, RoundedGaussian)
    assert [each.column for each in found] == ["region"]


def test_shares_are_in_the_stated_proportion() -> None:
    cells, wanted = {(0,): 8, (1,): 64}, {(0,): 1.0, (1,): 1.0}
    assert divided(cells, wanted, RoundedGaussian) == {(0,): Fraction(1, 9), (1,): Fraction(8, 9)}
    pure = divided(cells, wanted, DiscreteLaplace)  # 8 to the two thirds: four times as much
    assert pure == {(0,): Fraction(1, 5), (1,): Fraction(4, 5)}
    assert divided(cells, {(0,): 1.0, (1,): 8.0}, RoundedGaussian) == {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}
