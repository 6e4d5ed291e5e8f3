"""Iterative proportional fitting, curves through bands and joint distributions, each beside a slow and obvious reference."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from synthrelease.studio.rehearsal.surrogates import (
    GroupSums,
    Units,
    _joint,
    bands_of_cells,
    cell_edges,
    check_moments,
    fit,
    fitted,
    load_facts,
    quantiles,
    shares_of_cells,
    spread,
)

FACTS = Path(__file__).parent / "data" / "labour_force.toml"


def plain_fit(start: np.ndarray, targets: dict[tuple[int, ...], np.ndarray], cycles: int) -> np.ndarray:
    """Deming and Stephan's procedure, cell by cell, for margins over the axes of a table."""
    table = {cell: float(start[cell]) for cell in np.ndindex(start.shape)}
    for _ in range(cycles):
        for axes, target in targets.items():
            sums: dict[tuple[int, ...], float] = {}
            for cell, value in table.items():
                key = tuple(cell[axis] for axis in axes)
                sums[key] = sums.get(key, 0.0) + value
            for cell in table:
                key = tuple(cell[axis] for axis in axes)
                table[cell] *= float(target[key]) / sums[key] if sums[key] else 0.0
    return np.array([table[cell] for cell in np.ndindex(start.shape)]).reshape(start.shape)


def margins_of(shape: tuple[int, ...], targets: dict[tuple[int, ...], np.ndarray]) -> list[GroupSums]:
    margins = []
    for axes, target in targets.items():
        groups = [np.ravel_multi_index([cell[axis] for axis in axes], target.shape) for cell in np.ndindex(shape)]
        margins.append(GroupSums(groups=np.array(groups), target=target.ravel()))
    return margins


def sums_over(table: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_that_of_the_slow_procedure(seed: int) -> None:
    random = np.random.default_rng(seed)
    truth, start = random.dirichlet(np.ones(24)).reshape(2, 3, 4), random.random((2, 3, 4))
    targets = {axes: sums_over(truth, axes) for axes in [(0, 2), (1,), (1, 2)]}
    found = fit(start.ravel(), margins_of(start.shape, targets)).reshape(start.shape)
    assert found == pytest.approx(plain_fit(start, targets, 400), abs=1e-10)
    for axes, target in targets.items():
        assert sums_over(found, axes) == pytest.approx(target, abs=1e-9)


def test_the_fit_keeps_the_odds_ratios_of_the_start() -> None:
    """Scaling rows and columns cannot change them: this is what makes the result the nearest one in relative entropy."""
    start = np.array([[4.0, 1.0], [2.0, 3.0]])
    targets = {(0,): np.array([0.3, 0.7]), (1,): np.array([0.6, 0.4])}
    found = fit(start.ravel(), margins_of((2, 2), targets)).reshape(2, 2)
    assert found[0, 0] * found[1, 1] / (found[0, 1] * found[1, 0]) == pytest.approx(6.0)


def test_a_cell_of_zero_stays_zero_and_the_margins_are_still_met() -> None:
    targets = {(0,): np.array([0.5, 0.5]), (1,): np.array([0.7, 0.3])}
    found = fit(np.array([1.0, 1.0, 1.0, 0.0]), margins_of((2, 2), targets))
    assert found == pytest.approx([0.2, 0.3, 0.5, 0.0])


def test_margins_that_disagree_are_met_halfway() -> None:
    margins = [GroupSums(groups=np.array([0, 1]), target=np.array(target)) for target in ([0.5, 0.5], [0.6, 0.4])]
    assert fit(np.array([0.1, 0.9]), margins) == pytest.approx([0.55, 0.45])


def test_the_joint_distribution_is_the_sum_over_all_combinations_of_cells() -> None:
    facts = load_facts(FACTS)
    network = fitted(facts)
    parents = ("status", "education")
    groups = (np.array([0, 1, 1]), np.array([0, 0, 1]))
    ages, educations, statuses = (network.families[name] for name in ("age", "education", "status"))
    slow = np.zeros((2, 2))
    for age, education, status in itertools.product(range(3), range(3), range(3)):
        share = ages.shares[age] * educations.shares[educations.groups[0][age], education]
        places = [
            group[{"age": age, "education": education}[name]]
            for name, group in zip(statuses.parents, statuses.groups, strict=True)
        ]
        slow[groups[0][status], groups[1][education]] += share * statuses.shares[(*places, status)]
    assert _joint(network.families, parents, groups) == pytest.approx(slow, abs=1e-12)
    assert slow.sum() == pytest.approx(1.0)


def test_columns_follow_their_givens_and_otherwise_the_file() -> None:
    order = ["interview", "age", "education", "status", "hours", "income", "tired"]
    assert list(fitted(load_facts(FACTS)).families) == order


def test_every_published_share_holds_in_the_fitted_distribution() -> None:
    """The tables of the file agree exactly, so the fit must meet each of them: here status given education."""
    network = fitted(load_facts(FACTS))
    found = _joint(network.families, ("education", "status"), (np.arange(3), np.arange(3)))
    thousands = np.array([[97.65, 13.95, 120.9], [283.65, 21.045, 152.805], [234.7, 10.505, 64.795]])
    assert found == pytest.approx(thousands / 1000, abs=1e-9)


UNITS = Units(kind="integer", first=0, stop=40)


@pytest.mark.parametrize("interpolated", [False, True])
def test_bands_keep_their_shares_when_they_are_spread_over_cells(interpolated: bool) -> None:
    bands = UNITS.bands(["<5", "5-9", "10-29", "30-39"])
    edges = cell_edges(UNITS, [*bands, *UNITS.bands(["12-33"])], interpolated=interpolated)
    shares = np.array([[0.1, 0.4, 0.5, 0.0], [0.0, 0.2, 0.2, 0.6]])
    cells = spread(shares, bands, edges, interpolated=interpolated)
    assert (cells >= 0).all()
    assert cells @ np.eye(4)[bands_of_cells(bands, edges)] == pytest.approx(shares, abs=1e-12)


def test_a_band_is_spread_evenly_over_its_units() -> None:
    bands = UNITS.bands(["0-9", "10-39"])
    edges = cell_edges(UNITS, [*bands, *UNITS.bands(["<13"])], interpolated=False)
    assert list(edges) == [0, 10, 13, 40]
    assert spread(np.array([0.4, 0.6]), bands, edges, interpolated=False) == pytest.approx([0.4, 0.06, 0.54])


def test_an_interpolated_curve_rises_through_rising_bands_without_their_steps() -> None:
    bands, shares = UNITS.bands(["0-9", "10-19", "20-29", "30-39"]), np.array([0.1, 0.2, 0.3, 0.4])
    edges = cell_edges(UNITS, bands, interpolated=True)
    cells = spread(shares, bands, edges, interpolated=True)
    assert len(cells) == 40
    assert (np.diff(cells) > -1e-12).all()
    assert np.diff(cells).max() < 0.004  # an even spread would jump by 0.01 from band to band


@pytest.mark.slow
def test_the_stretched_beta_has_the_published_mean_and_spread() -> None:
    units = Units(kind="real", first=0, stop=980, scale=10)
    orders = (np.arange(200_000) + 0.5) / 200_000
    for mean, deviation in [(37.2, 10.5), (1.5, 3.0), (95.0, 4.0)]:
        drawn = quantiles(units, np.broadcast_to([mean, deviation], (200_000, 2)), orders) / 10
        assert drawn.min() >= 0
        assert drawn.max() <= 97.9  # the upper bound of real numbers is open
        assert drawn.mean() == pytest.approx(mean, abs=0.05)  # rounding to one decimal moves each by at most 0.05
        assert drawn.std() == pytest.approx(deviation, abs=0.05)


def test_a_mean_of_real_numbers_may_come_as_near_to_the_open_end_as_it_likes() -> None:
    check_moments(Units(kind="real", first=0, stop=980, scale=10), 97.95, 0.01)
    with pytest.raises(ValueError, match="is not between the bounds 0 and 98"):
        check_moments(Units(kind="real", first=0, stop=980, scale=10), 98.0, 0.01)


def test_cells_of_a_column_of_means_have_the_shares_that_its_quantiles_give() -> None:
    units = Units(kind="integer", first=10, stop=51)
    moments, edges = np.array([30.0, 8.0]), np.array([10, 20, 30, 31, 51])
    drawn = quantiles(units, np.broadcast_to(moments, (100_000, 2)), (np.arange(100_000) + 0.5) / 100_000)
    counted = np.histogram(drawn, bins=edges - 0.5)[0] / 100_000
    assert shares_of_cells(units, moments, edges) == pytest.approx(counted, abs=2e-5)
