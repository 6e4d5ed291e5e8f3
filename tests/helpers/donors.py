"""k nearest neighbours by the definition, record by record: the slow reference of `rehearsal.baselines.nearest_neighbours`.

A record is (cell, label, value), value None where it is missing. A dataset is a frozenset of records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tests.reproduction.imputation import GappedTable


class Record(NamedTuple):
    cell: int
    label: float
    value: float | None


Dataset = frozenset[Record]


def table_of(records: Iterable[Record]) -> GappedTable:
    listed = sorted(records, key=lambda record: record.label)
    return GappedTable(
        cells=np.array([record.cell for record in listed], dtype=np.int64),
        labels=np.array([record.label for record in listed], dtype=float),
        values=np.array([np.nan if record.value is None else record.value for record in listed]),
    )


def donors_slowly(dataset: Dataset, order: np.ndarray, k: int) -> dict[Record, frozenset[Record]]:
    """The donors of every incomplete record: the first k complete ones by (place of the cell, labels round the circle)."""
    ranks = {
        cell: {other: place for place, other in enumerate(order[cell].tolist())} for cell in {each.cell for each in dataset}
    }

    def far(record: Record, other: Record) -> tuple[int, bool, float]:
        return ranks[record.cell][other.cell], other.label < record.label, other.label

    complete = [record for record in dataset if record.value is not None]
    return {
        record: frozenset(sorted(complete, key=lambda other, own=record: far(own, other))[:k])  # type: ignore[misc]
        for record in dataset
        if record.value is None
    }


def changed_slowly(before: dict[Record, frozenset[Record]], after: dict[Record, frozenset[Record]]) -> int:
    """Incomplete records in one of two datasets alone, or with other donors."""
    return sum(before.get(record) != after.get(record) for record in before.keys() | after.keys())


def largest_change_slowly(dataset: Dataset, order: np.ndarray, k: int) -> int:
    """Add a complete record at every cell and between any two labels, or take one out; an added incomplete one counts 1."""
    labels = sorted(record.label for record in dataset)
    places = [(low + high) / 2 for low, high in zip([-9.5, *labels], [*labels, 99.5], strict=True)]
    added = (dataset | {Record(cell, place, 0.0)} for cell in range(len(order)) for place in places)
    taken = (dataset - {record} for record in dataset)
    before = donors_slowly(dataset, order, k)
    return max([1, *(changed_slowly(before, donors_slowly(other, order, k)) for each in (added, taken) for other in each)])


def subsets(universe: list[Record]) -> Iterator[Dataset]:
    for number in range(2 ** len(universe)):
        yield frozenset(record for i, record in enumerate(universe) if number >> i & 1)
