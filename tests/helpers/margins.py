"""Margins and calibrations written down in a line, for tests of weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.weights import Calibration, Margin
from tests.helpers.small import layout_of


def margin(totals: Any, groups: Mapping[str, Sequence[int]]) -> Margin:
    """Totals as an array, and for each column the group of every bin; groups are called after their column: "c0/1"."""
    table = np.asarray(totals, dtype=float)
    return Margin(
        columns=tuple(groups),
        labels=tuple(tuple(f"{name}/{group}" for group in range(max(into) + 1)) for name, into in groups.items()),
        into=tuple(tuple(into) for into in groups.values()),
        totals=tuple(table.ravel().tolist()),
    )


def calibration(*margins: Margin, **settings: Any) -> Calibration:
    return Calibration(source="a yearbook", margins=margins, **{"cap": 1e6, **settings})


def table_of(cells: Any) -> Counts:
    """The table with these counts, an array with one axis for each column c0, c1, ..."""
    array = np.asarray(cells)
    codes = np.repeat(np.arange(array.size), array.ravel())
    return Counts(layout_of(*array.shape), codes)


def weighted(table: Counts, weights: np.ndarray) -> np.ndarray:
    """The weighted counts of all cells, as an array: row by row, without any function of the program but `expand`."""
    found = np.zeros(table.layout.sizes)
    for row, weight in zip(table.expand(), np.repeat(weights, table.counts), strict=True):
        found[tuple(row)] += weight
    return found


def sums_by_group(array: np.ndarray, names: Sequence[str], groups: Mapping[str, Sequence[int]]) -> np.ndarray:
    """Cell by cell, the sums of an array over the groups of some of its columns."""
    found = np.zeros([max(into) + 1 for into in groups.values()])
    for places in product(*(range(size) for size in array.shape)):
        at = dict(zip(names, places, strict=True))
        found[tuple(into[at[name]] for name, into in groups.items())] += array[places]
    return found
