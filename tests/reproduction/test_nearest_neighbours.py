"""Nearest-neighbour imputation: donors and L_1 against the definition, the facts by enumeration, and what breaks them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.helpers.donors import Dataset, Record, changed_slowly, donors_slowly, largest_change_slowly, subsets, table_of
from tests.reproduction.imputation import GappedTable, NearestNeighbours, order_by_distance

LINE = order_by_distance(np.array([[0], [1], [3], [7]]))
UNIVERSE = [Record(0, 2, 1.0), Record(1, 5, 0.0), Record(3, 4, 1.0), Record(1, 1, 1.0),
            Record(0, 3, None), Record(1, 6, None), Record(2, 7, None)]  # fmt: skip
DATASETS = list(subsets(UNIVERSE))


def scheme(order: np.ndarray, k: int, default: float = 0.0) -> NearestNeighbours:
    return NearestNeighbours(order=order, k=k, default=default)


def drawn(generator: np.random.Generator, cells: int, records: int) -> Dataset:
    labels = generator.permutation(records) + 1
    return frozenset(
        Record(int(generator.integers(cells)), float(label), None if generator.random() < 0.6 else float(generator.integers(4)))
        for label in labels
    )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_donors_and_values_are_those_of_the_definition(k: int) -> None:
    generator = np.random.default_rng(k)
    for _ in range(25):
        order = order_by_distance(generator.integers(0, 6, (5, 2)))
        dataset = drawn(generator, 5, int(generator.integers(1, 14)))
        table, slow = table_of(dataset), donors_slowly(dataset, order, k)
        listed = sorted(dataset, key=lambda record: record.label)
        found, values = scheme(order, k, 7.0).donors(table), scheme(order, k, 7.0).imputed(table)
        for record, donors in zip([record for record in listed if record.value is None], found, strict=True):
            assert {listed[place] for place in donors if place >= 0} == slow[record]
        for record, value in zip(listed, values, strict=True):
            of = [donor.value for donor in slow[record]] if record.value is None else [record.value]
            assert value == pytest.approx(np.mean(of) if of else 7.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_largest_change_is_that_of_all_single_steps(k: int) -> None:
    generator = np.random.default_rng(10 + k)
    for _ in range(18):
        order = order_by_distance(generator.integers(0, 6, (4, 2)))
        dataset = drawn(generator, 4, int(generator.integers(0, 11)))
        assert scheme(order, k).largest_change(table_of(dataset)) == largest_change_slowly(dataset, order, k)


def changes(k: int, donors: Callable[..., dict] = donors_slowly) -> np.ndarray:
    """(128, 128) |c(D, D')| for all pairs of datasets of the universe."""
    of = [donors(dataset, LINE, k) for dataset in DATASETS]
    found = np.zeros((len(of), len(of)), dtype=int)
    for i, first in enumerate(of):
        for j in range(i):
            found[i, j] = found[j, i] = changed_slowly(first, of[j])
    return found


def distances() -> np.ndarray:
    numbers = np.arange(len(DATASETS))
    return np.array([[bin(i ^ j).count("1") for j in numbers] for i in numbers])


def facts_hold(change: np.ndarray, allowed: np.ndarray) -> bool:
    """L_l <= l L_1, and L_1(D') <= 2 L_1(D) for neighbours, among the allowed datasets alone."""
    distance = distances()[np.ix_(allowed, allowed)]
    change = change[np.ix_(allowed, allowed)]
    largest = {steps: np.where(distance == steps, change, 0).max(axis=1) for steps in range(1, len(UNIVERSE) + 1)}
    linear = all(np.all(largest[steps] <= steps * largest[1]) for steps in largest)
    smooth = all(largest[1][j] <= 2 * largest[1][i] for i, j in zip(*np.nonzero(distance == 1), strict=True))
    return bool(linear and smooth)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_facts_hold_where_every_record_may_be_taken_out(k: int) -> None:
    assert facts_hold(changes(k), np.arange(len(DATASETS)))


def test_the_facts_fail_where_every_dataset_needs_a_complete_record() -> None:
    """One donor of three, and a possible donor who is nearer to none: L_1 = 1 and L_2 = 3, by replacing the donor."""
    allowed = np.array([i for i, dataset in enumerate(DATASETS) if any(record.value is not None for record in dataset)])
    assert not facts_hold(changes(1), allowed)


def even_allotment(dataset: Dataset, order: np.ndarray, k: int) -> dict[Record, frozenset[Record]]:
    """Incomplete records shared out evenly, one by one, to the complete records of the nearest cell: no fixed order."""
    complete = [record for record in dataset if record.value is not None]
    found: dict[Record, frozenset[Record]] = {}
    for number, record in enumerate(sorted((each for each in dataset if each.value is None), key=lambda each: each.label)):
        nearest = min((list(order[record.cell]).index(other.cell) for other in complete), default=None)
        of_cell = sorted(other for other in complete if list(order[record.cell]).index(other.cell) == nearest)
        found[record] = frozenset([of_cell[number % len(of_cell)]] if of_cell else [])
    return found


def test_an_even_allotment_breaks_the_bound_by_donees() -> None:
    """When one of three donors of two records each goes, more than its two donees change: all are shared out anew."""
    donors = [Record(0, label, 1.0) for label in (1, 2, 3)]
    takers = [Record(0, label, None) for label in range(4, 10)]
    before = frozenset([*donors, *takers])
    moved = changed_slowly(even_allotment(before, LINE, 1), even_allotment(before - {donors[0]}, LINE, 1))
    fixed = changed_slowly(donors_slowly(before, LINE, 1), donors_slowly(before - {donors[0]}, LINE, 1))
    assert sum(donors[0] in each for each in even_allotment(before, LINE, 1).values()) == 2
    assert moved > 2
    assert fixed == sum(donors[0] in each for each in donors_slowly(before, LINE, 1).values())


def test_the_greedy_way_misses_two_steps() -> None:
    """A record between two donors of three each moves four (L_1 = 4), and then one; taking both donors out moves six (L_2)."""
    order = order_by_distance(np.arange(41)[:, None])
    grey = [Record(10, 0.1, 0.0), Record(30, 0.2, 0.0)]
    takers = [Record(place, 1 + place, None) for place in (6, 17, 18, 22, 23, 35)]
    dataset = frozenset([*grey, *takers, Record(0, 0.3, 1.0)])
    assert scheme(order, 1).largest_change(table_of(dataset)) == 4
    before = donors_slowly(dataset, order, 1)
    middle = dataset | {Record(20, 0.4, 1.0)}
    gained = {record for record, donors in donors_slowly(middle, order, 1).items() if donors != before[record]}
    assert len(gained) == 4
    assert scheme(order, 1).largest_change(table_of(middle - gained)) == 1
    assert changed_slowly(before, donors_slowly(dataset - set(grey), order, 1)) == 6


def test_a_new_place_can_win_three_groups_that_are_far_from_each_other() -> None:
    """So pairs of groups that are near each other bound nothing: every cell has to be looked at."""
    points = np.array([[0, 0], [6, 0], [-3, 5], [-3, -5], [14, 0], [-7, 12], [-7, -12]])
    order = order_by_distance(points)
    takers = [Record(cell, 10 * cell + i, None) for cell in (1, 2, 3) for i in range(4)]
    donors = [Record(cell, cell / 10, 1.0) for cell in (4, 5, 6)]  # each group has a donor of its own, farther than the middle
    assert scheme(order, 1).largest_change(table_of([*takers, *donors])) == 12
    apart = np.linalg.norm(points[1:4, None] - points[None, 1:4], axis=2)
    assert apart[apart > 0].min() > np.linalg.norm(points[1:4], axis=1).max()
    alone = [each for each in takers if each.cell == 1]
    assert scheme(order, 1).largest_change(table_of([*alone, *donors])) == 4


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cells": np.zeros(3, int)}, "a cell, a label and a value"),
        ({"labels": np.array([1, 1])}, "two records have the same label"),
        ({"values": np.array([1, np.inf])}, "a value is infinite"),
    ],
)
def test_impossible_tables_are_refused(fields: dict[str, np.ndarray], message: str) -> None:
    table = {"cells": np.zeros(2, int), "labels": np.array([1, 2]), "values": np.array([1.0, np.nan])}
    with pytest.raises(ValueError, match=message):
        GappedTable(**(table | fields))


def test_impossible_schemes_are_refused() -> None:
    with pytest.raises(ValueError, match="every cell once"):
        scheme(np.array([[0, 0], [1, 0]]), 1)
    with pytest.raises(ValueError, match="at least one donor"):
        scheme(LINE, 0)
    with pytest.raises(ValueError, match="whole numbers"):
        order_by_distance(np.array([[0.5]]))
