"""Published totals of groups of persons, which the rows of a released table are weighted to (docs/weights.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from synthrelease.domain.schema import Transformation

WEIGHT = "weight"
"""The further column of a released table that holds the weights."""


@dataclass(frozen=True, kw_only=True)
class Margin:
    """Totals over all combinations of groups of some columns.

    Attributes
    ----------
    columns : their names.
    labels : per column, the label of each group, in the order in which they are neighbours.
    into : per column, (n_bins,) the group of every bin: of the atomic bins in a specification, of the released ones on a table.
    totals : one number of at least 0 for each combination of groups, that of the last column changing fastest.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    into: tuple[tuple[int, ...], ...]
    totals: tuple[float, ...]

    @property
    def name(self) -> str:
        return " by ".join(self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(labels) for labels in self.labels)

    @cached_property
    def table(self) -> np.ndarray:
        """The totals as an array with one axis for each column."""
        return np.array(self.totals, dtype=float).reshape(self.shape)

    @property
    def total(self) -> float:
        return math.fsum(self.totals)

    def cell_name(self, cell: int) -> str:
        """A cell in words: "age 65+, sex F"."""
        places = np.unravel_index(cell, self.shape)
        return ", ".join(
            f"{column} {labels[place]}" for column, labels, place in zip(self.columns, self.labels, places, strict=True)
        )

    def on(self, transformation: Transformation) -> Margin:
        """The same margin on the bins of a transformation, each of which lies in one group of every column."""
        into = []
        for column, groups in zip(self.columns, self.into, strict=True):
            of_bin = np.zeros(len(transformation.binning(column)), dtype=np.int64)
            of_bin[list(transformation.binning(column).of_atom)] = groups
            into.append(tuple(of_bin.tolist()))
        return replace(self, into=tuple(into))

    def cells(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n,) the cell of every row or cell of a table, from the bins of its columns (n,)."""
        groups = [np.asarray(into)[columns[column]] for column, into in zip(self.columns, self.into, strict=True)]
        return np.ravel_multi_index(groups, self.shape)

    def joined(self, axis: int, first: int) -> Margin:
        """The margin with two neighbouring groups of a column, `first` and the next one, made one."""
        labels = list(self.labels[axis])
        labels[first : first + 2] = [f"{labels[first]} or {labels[first + 1]}"]
        into = tuple(group - (group > first) for group in self.into[axis])
        totals = np.add.reduceat(self.table, [place for place in range(self.shape[axis]) if place != first + 1], axis=axis)
        return Margin(
            columns=self.columns,
            labels=(*self.labels[:axis], tuple(labels), *self.labels[axis + 1 :]),
            into=(*self.into[:axis], into, *self.into[axis + 1 :]),
            totals=tuple(totals.ravel().tolist()),
        )


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a released table is weighted to, and within which limits. Everything here is public.

    Attributes
    ----------
    source : which published figures the totals are.
    start : the column whose numbers the weights start from; None where all start equal.
    floor, cap : the least and the largest weight, in mean weights (the total over the number of rows).
    tolerance : by what share a weighted count may differ from its total.
    collapse : columns whose neighbouring groups may be joined, in the order in which they are tried.
    fewest_rows : cells of a margin with fewer rows are joined with a neighbour where `collapse` allows it.
    """

    source: str
    margins: tuple[Margin, ...]
    start: str | None = None
    floor: float = 0.0
    cap: float = 10.0
    tolerance: float = 0.001
    collapse: tuple[str, ...] = ()
    fewest_rows: int = 10

    def on(self, transformation: Transformation) -> Calibration:
        """The same on the bins of a transformation."""
        return replace(self, margins=tuple(margin.on(transformation) for margin in self.margins))


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """Two margins that state different totals of the same persons."""

    left: Margin
    right: Margin
    cell: str
    left_total: float
    right_total: float


def disagreements(margins: Sequence[Margin], tolerance: float) -> list[Disagreement]:
    """For each pair of margins the largest difference in what both say, if it is above the tolerance.

    Both say something about all combinations of the columns that they share, in the finest groups that are made up of whole
    groups of either; without a shared column, about the number of all persons.
    """
    found = []
    for left, right in combinations(margins, 2):
        shared = [column for column in left.columns if column in right.columns]
        mine, theirs, labels = _common(left, right, shared)
        larger = np.maximum(mine, theirs)
        share = np.abs(mine - theirs) / np.where(larger > 0, larger, 1)
        cell = int(share.argmax())
        if not share.flat[cell] <= tolerance:
            places = np.unravel_index(cell, mine.shape)
            name = ", ".join(f"{column} {labels[axis][places[axis]]}" for axis, column in enumerate(shared))
            pair = float(mine.flat[cell]), float(theirs.flat[cell])
            found.append(Disagreement(left=left, right=right, cell=name, left_total=pair[0], right_total=pair[1]))
    return found


def _common(left: Margin, right: Margin, shared: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
    """What two margins say about the columns that they share, on common groups, and the labels of these."""
    tables = []
    for margin in (left, right):
        others = tuple(axis for axis, column in enumerate(margin.columns) if column not in shared)
        kept = [column for column in margin.columns if column in shared]
        tables.append(margin.table.sum(axis=others).transpose([kept.index(column) for column in shared]))
    labels = []
    for axis, column in enumerate(shared):
        sides = [margin.columns.index(column) for margin in (left, right)]
        groups = [margin.into[side] for margin, side in zip((left, right), sides, strict=True)]
        common = _finest_common(*groups)
        names: list[str] = [""] * (max(common) + 1)
        for label, group in zip(left.labels[sides[0]], _first_bins(groups[0]), strict=True):
            place = common[group]
            names[place] = f"{names[place]} or {label}" if names[place] else label
        labels.append(names)
        for number, of_bin in enumerate(groups):
            into = [common[group] for group in _first_bins(of_bin)]
            summed = np.zeros((len(names), *np.moveaxis(tables[number], axis, 0).shape[1:]))
            np.add.at(summed, into, np.moveaxis(tables[number], axis, 0))
            tables[number] = np.moveaxis(summed, 0, axis)
    return tables[0], tables[1], labels


def _first_bins(into: Sequence[int]) -> list[int]:
    """For each group, its first bin."""
    return [into.index(group) for group in range(max(into) + 1)]


def _finest_common(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """(n_bins,) the finest grouping of which each group is made up of whole groups of both."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_left, n_right = max(left) + 1, max(right) + 1
    shared = coo_array((np.ones(len(left)), (left, np.add(right, n_left))), shape=(n_left + n_right, n_left + n_right))
    _, component = connected_components(shared, directed=False)
    into = component[list(left)].tolist()
    places = {group: place for place, group in enumerate(dict.fromkeys(into))}
    return [places[group] for group in into]
