"""Margins: agreement between them, and groups that are joined."""

from __future__ import annotations

import numpy as np
import pytest

from synthrelease.data.weights import disagreements
from tests.helpers.margins import margin, sums_by_group

POPULATION = np.random.default_rng(3).random((4, 3, 2)) * 1000
NAMES = ["c0", "c1", "c2"]
GROUPS = [
    {"c0": [0, 1, 1, 2]},
    {"c0": [0, 0, 1, 2], "c1": [0, 1, 2]},
    {"c1": [0, 1, 1], "c2": [0, 1]},
    {"c2": [0, 1], "c0": [0, 1, 2, 3]},
]


def of_population(groups: dict[str, list[int]], population: np.ndarray = POPULATION):
    return margin(sums_by_group(population, NAMES, groups), groups)


def test_margins_of_one_population_agree_whatever_their_groups() -> None:
    assert disagreements([of_population(groups) for groups in GROUPS], 1e-9) == []


@pytest.mark.parametrize("changed", range(len(GROUPS)))
@pytest.mark.parametrize("cell", [0, -1])
def test_a_total_that_is_changed_disagrees_with_every_other_margin(changed: int, cell: int) -> None:
    """Also with margins that share no column: the number of persons is another one."""
    margins = [of_population(groups) for groups in GROUPS]
    totals = list(margins[changed].totals)
    totals[cell] += 50
    margins[changed] = margin(np.reshape(totals, margins[changed].shape), GROUPS[changed])
    found = disagreements(margins, 1e-9)
    assert len(found) == 3
    assert all(abs(one.left_total - one.right_total) == pytest.approx(50) for one in found)
    assert disagreements(margins, 0.5) == []


def test_persons_moved_between_groups_disagree_only_where_both_margins_see_it() -> None:
    """c0 has the groups {0}, {1, 2}, {3} in one margin and {0, 1}, {2}, {3} in the other: both see {0, 1, 2} and {3}."""
    first, second = of_population(GROUPS[0]), of_population(GROUPS[1])
    unseen = [first.totals[0] + 30, first.totals[1] - 30, first.totals[2]]
    seen = [first.totals[0] + 30, first.totals[1], first.totals[2] - 30]
    assert disagreements([margin(unseen, GROUPS[0]), second], 1e-9) == []
    (one,) = disagreements([margin(seen, GROUPS[0]), second], 1e-9)
    assert one.cell in ("c0 c0/0 or c0/1", "c0 c0/2")


def test_joining_groups_adds_their_totals_and_keeps_the_others() -> None:
    before = of_population(GROUPS[1])
    after = before.joined(0, 1)
    assert after.labels[0] == ("c0/0", "c0/1 or c0/2")
    assert after.into[0] == (0, 0, 1, 1)
    assert np.allclose(after.table, [before.table[0], before.table[1] + before.table[2]])
    assert np.allclose(
        before.joined(1, 0).table, np.stack([before.table[:, 0] + before.table[:, 1], before.table[:, 2]], axis=1)
    )


def test_the_cells_of_a_table_are_found_by_the_groups_of_their_bins() -> None:
    found = of_population(GROUPS[3])
    bins = {"c0": np.array([0, 3, 2]), "c1": np.array([1, 1, 0]), "c2": np.array([0, 1, 1])}
    assert found.cells(bins).tolist() == [0, 7, 6]
    assert found.cell_name(6) == "c2 c2/1, c0 c0/2"
