"""Raking: closed forms, theorems, and a slow fit on the full array beside the fast one."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.weights import NotCalibrated, raked
from tests.helpers.margins import calibration, margin, sums_by_group, table_of, weighted
from tests.helpers.small import layout_of

AGE, SEX = {"c0": [0, 1, 2]}, {"c1": [0, 1]}
TABLE = table_of([[10, 30], [25, 15], [60, 60]])


def test_with_one_margin_a_weight_is_the_total_over_the_rows() -> None:
    found = raked(TABLE, calibration(margin([1000, 500, 1500], AGE)), None)
    assert np.allclose(found.of_cells, np.repeat([1000 / 40, 500 / 40, 1500 / 120], 2), rtol=1e-8)
    assert found.cycles == 1
    assert not found.joined


def test_two_margins_are_met_and_every_odds_ratio_stays() -> None:
    found = raked(TABLE, calibration(margin([1000, 500, 1500], AGE), margin([1800, 1200], SEX)), None)
    cells, counts = weighted(TABLE, found.of_cells), TABLE.dense().reshape(3, 2)
    assert np.allclose(cells.sum(axis=1), [1000, 500, 1500], rtol=1e-7)
    assert np.allclose(cells.sum(axis=0), [1800, 1200], rtol=1e-7)
    odds = [array[:-1, 0] * array[1:, 1] / (array[:-1, 1] * array[1:, 0]) for array in (cells, counts)]
    assert np.allclose(odds[0], odds[1], rtol=1e-7)


def fitted_slowly(counts: np.ndarray, margins: list[tuple[np.ndarray, dict[str, list[int]]]], cycles: int) -> np.ndarray:
    """Iterative proportional fitting on the full array of counts, cell by cell: the weighted counts."""
    names, cells = [f"c{axis}" for axis in range(counts.ndim)], counts.astype(float)
    for _ in range(cycles):
        for totals, groups in margins:
            factors = totals / sums_by_group(cells, names, groups)
            for places in product(*(range(size) for size in counts.shape)):
                at = dict(zip(names, places, strict=True))
                cells[places] *= factors[tuple(into[at[name]] for name, into in groups.items())]
    return cells


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_three_margins_of_groups_give_what_a_slow_fit_of_the_full_array_gives(seed: int) -> None:
    generator = np.random.default_rng(seed)
    counts, wanted = generator.integers(1, 30, (3, 2, 4)), generator.random((3, 2, 4)) * 1000
    names = ["c0", "c1", "c2"]
    groups = [{"c0": [0, 1, 1], "c1": [0, 1]}, {"c2": [0, 0, 1, 2]}, {"c1": [0, 1], "c2": [0, 1, 1, 1]}]
    margins = [(sums_by_group(wanted, names, of), of) for of in groups]
    table = table_of(counts)
    found = raked(table, calibration(*(margin(totals, of) for totals, of in margins)), None)
    cells = weighted(table, found.of_cells)
    assert np.allclose(cells, fitted_slowly(counts, margins, 300), rtol=1e-6)
    for totals, of in margins:
        assert np.allclose(sums_by_group(cells, names, of), totals, rtol=1e-6)


def test_cells_without_rows_stay_empty_and_groups_with_a_total_of_0_weigh_0() -> None:
    table = table_of([[10, 0], [25, 15], [0, 60]])
    found = raked(table, calibration(margin([1000, 0, 1500], AGE), margin([1000, 1500], SEX), floor=0.01), None)
    cells = weighted(table, found.of_cells)
    assert np.allclose(cells, [[1000, 0], [0, 0], [0, 1500]], rtol=1e-7)
    assert found.smallest == 0


def test_weights_do_not_depend_on_the_order_of_the_rows() -> None:
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 24, 5000)
    asked = calibration(
        margin([1e4, 3e4, 2e4], AGE), margin([2.5e4, 3.5e4], SEX), margin([1e4, 2e4, 3e4], {"c2": [0, 1, 2, 2]})
    )
    sizes = layout_of(3, 2, 4)
    first, second = (raked(Counts(sizes, rows), asked, None) for rows in (codes, generator.permutation(codes)))
    assert first.of_cells.tobytes() == second.of_cells.tobytes()


def test_the_figures_are_those_of_the_rows() -> None:
    found = raked(TABLE, calibration(margin([1000, 500, 1500], AGE), margin([1800, 1200], SEX)), None)
    rows = np.repeat(found.of_cells, TABLE.counts)
    assert (found.smallest, found.largest) == (rows.min(), rows.max())
    assert found.design_effect == pytest.approx(1 + rows.var() / rows.mean() ** 2, rel=1e-12)
    assert found.deviation < 1e-7


def test_a_start_sets_the_proportions_inside_a_margin_and_its_scale_does_not_matter() -> None:
    asked = calibration(margin([1000, 500, 1500], AGE), start="c1")
    found = raked(TABLE, asked, np.array([2.0, 6.0]))
    cells = weighted(TABLE, found.of_cells) / TABLE.dense().reshape(3, 2)
    assert np.allclose(cells[:, 1] / cells[:, 0], 3, rtol=1e-7)
    assert np.allclose(weighted(TABLE, found.of_cells).sum(axis=1), [1000, 500, 1500], rtol=1e-7)
    assert np.allclose(raked(TABLE, asked, np.array([20.0, 60.0])).of_cells, found.of_cells, rtol=1e-8)


def test_margins_that_state_other_sums_are_scaled_to_the_first() -> None:
    asked = calibration(margin([1000, 500, 1500], AGE), margin([1801, 1201], SEX))
    cells = weighted(TABLE, raked(TABLE, asked, None).of_cells)
    assert np.allclose(cells.sum(axis=0), np.array([1801, 1201]) * 3000 / 3002, rtol=1e-7)


def test_a_cap_and_a_floor_hold_and_the_rest_is_still_a_product_of_factors() -> None:
    """Deville & Saerndal's truncated method: a weight between the limits is the product of its factors, one at the cap has a
    product above it, one at the floor below."""
    table = table_of([[35, 34, 23, 51], [27, 46, 16, 23], [5, 37, 5, 15], [55, 13, 26, 32]])
    rows, columns = np.array([2653, 1938, 1584, 3206]), np.array([2700, 2600, 1322, 2759])
    totals = (margin(rows, {"c0": [0, 1, 2, 3]}), margin(columns, {"c1": [0, 1, 2, 3]}))
    mean = rows.sum() / table.total
    low, high = 0.8 * mean, 1.3 * mean
    free = raked(table, calibration(*totals), None)
    assert free.smallest < low
    assert free.largest > high
    found = raked(table, calibration(*totals, floor=0.8, cap=1.3), None)
    assert np.allclose(weighted(table, found.of_cells).sum(axis=1), rows, rtol=1e-6)
    assert np.allclose(weighted(table, found.of_cells).sum(axis=0), columns, rtol=1e-6)
    weights = found.of_cells
    at_floor, at_cap = weights <= low * (1 + 1e-7), weights >= high * (1 - 1e-7)
    assert (at_floor.sum(), at_cap.sum()) == (3, 2)
    assert np.allclose(weights[at_floor], low, rtol=1e-8)
    assert np.allclose(weights[at_cap], high, rtol=1e-8)
    inside = ~(at_floor | at_cap)
    design = np.concatenate([np.repeat(np.eye(4), 4, axis=0), np.tile(np.eye(4), (4, 1))], axis=1)
    factors, *_ = np.linalg.lstsq(design[inside], np.log(weights[inside]), rcond=None)
    products = np.exp(design @ factors)
    assert np.allclose(products[inside], weights[inside], rtol=1e-5)
    assert (products[at_cap] > high).all()
    assert (products[at_floor] < low).all()


@pytest.mark.parametrize(
    ("cells", "settings", "says"),
    [
        ([[0, 0], [25, 15], [60, 60]], {}, r"^no released row is in c0 c0/0, but the margin c0 has a total of 1000 for it$"),
        (
            [[1, 2], [25, 15], [60, 60]],
            {"cap": 10},
            r"^the weights of the 3 released rows in c0 c0/0 add up to at most 552.1\d* because of the cap",
        ),
        (
            [[10, 30], [250, 150], [60, 60]],
            {"floor": 0.5},
            r"^the weights of the 400 released rows in c0 c0/1 .* at least 1071.4\d* because of the floor",
        ),
        (
            [[40, 0], [0, 40], [0, 120]],
            {},
            r"^after \d+ cycles .* of the margin c0 still differs by .*cannot meet all margins together$",
        ),
    ],
)
def test_margins_that_cannot_be_met_are_told(cells: list[list[int]], settings: dict[str, float], says: str) -> None:
    with pytest.raises(NotCalibrated, match=says):
        raked(table_of(cells), calibration(margin([1000, 500, 1500], AGE), margin([1800, 1200], SEX), **settings), None)


def test_sparse_groups_are_joined_with_the_smaller_neighbour_as_whole_slices() -> None:
    """c0 has the groups of 100, 4, 30, 0 rows: the second joins the third, then the fourth joins what has become of them."""
    table = table_of([[50, 50], [2, 2], [20, 10], [0, 0], [80, 20]])
    ages = {"c0": [0, 1, 2, 3, 4]}
    asked = calibration(margin([900, 100, 200, 50, 750], ages), collapse=("c1", "c0"), fewest_rows=10)
    found = raked(table, asked, None)
    assert [(one.margin, one.column, one.labels) for one in found.joined] == [(0, "c0", ("c0/1", "c0/2", "c0/3"))]
    cells = weighted(table, found.of_cells)
    assert np.allclose(cells.sum(axis=1)[[0, 4]], [900, 750], rtol=1e-7)
    assert cells[1:4].sum() == pytest.approx(350, rel=1e-7)


def test_groups_are_joined_along_the_first_column_that_can_be() -> None:
    table = table_of([[50, 50], [0, 40], [30, 10]])
    both = margin(np.full((3, 2), 100.0), {**AGE, **SEX})
    by_age, by_sex = (raked(table, calibration(both, collapse=order), None) for order in (("c0", "c1"), ("c1", "c0")))
    assert [(one.column, one.labels) for one in by_age.joined] == [("c0", ("c0/1", "c0/2"))]
    assert [(one.column, one.labels) for one in by_sex.joined] == [("c1", ("c1/0", "c1/1"))]
    with pytest.raises(NotCalibrated, match="no released row is in c0 c0/1, c1 c1/0"):
        raked(table, calibration(both), None)


def test_a_margin_joined_to_one_group_still_has_its_sum() -> None:
    table = table_of([[3, 2], [1, 1]])
    found = raked(table, calibration(margin([60, 40], {"c0": [0, 1]}), collapse=("c0",), fewest_rows=10), None)
    assert math.isclose(weighted(table, found.of_cells).sum(), 100, rel_tol=1e-7)
    assert np.ptp(found.of_cells) == 0
