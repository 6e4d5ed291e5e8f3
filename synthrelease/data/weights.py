"""Compute weights for the rows of a released table, so that weighted counts equal published totals.

The method is raking (Deming & Stephan 1940). The weight of a cell is its starting weight times one factor for each margin,
truncated at the public floor and cap. The factors of a margin are multiplied by total / weighted count, margin after margin,
until all are met: iterative proportional fitting or, with truncation, the truncated method of Deville & Särndal (1992, case 7
of their table 1). Of all weights within the limits that meet the margins, it finds those that change the starting weights
least, measured by relative entropy. A step never exceeds its total: if a number is multiplied by t > 1 and then truncated, the
result is at most t times the truncated number.

The weights are computed from the released table and published totals alone, so they have no privacy cost. They do not depend on
the order of the rows or cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import added_up, with_merged_bins
from synthrelease.data.schema import Transformation

# The rows of a released table are weighted to published totals of groups of persons (docs/weights.md).

WEIGHT = "weight"
"""The name of the additional column of a released table that contains the weights."""


@dataclass(frozen=True, kw_only=True)
class Margin:
    """Published totals for all combinations of groups of some columns, such as age groups and sex.

    Attributes
    ----------
    labels : the labels of each column's groups, in order.
    into : for each column, the (n_bins,) groups of its bins: atomic bins in a specification, released bins for a table.
    totals : the total for each combination of groups, at least 0; the group of the last column changes fastest.
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
        return np.array(self.totals, dtype=float).reshape(self.shape)

    @property
    def total(self) -> float:
        return math.fsum(self.totals)

    def cell_name(self, cell: int) -> str:
        groups = np.unravel_index(cell, self.shape)
        named = zip(self.columns, self.labels, groups, strict=True)
        return ", ".join(f"{column} {labels[group]}" for column, labels, group in named)

    def on(self, transformation: Transformation) -> Margin:
        """Convert the margin to the bins of a transformation, each of which must lie in one group."""
        into = []
        for column, groups in zip(self.columns, self.into, strict=True):
            of_bin = np.zeros(len(transformation.binning(column)), dtype=np.int64)
            of_bin[list(transformation.binning(column).of_atom)] = groups
            into.append(tuple(of_bin.tolist()))
        return replace(self, into=tuple(into))

    def cells(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the (n,) cell of the margin to which each row or cell belongs, given the (n,) bins of the margin's columns."""
        groups = [np.asarray(into)[columns[column]] for column, into in zip(self.columns, self.into, strict=True)]
        return np.ravel_multi_index(groups, self.shape)

    def joined(self, axis: int, first: int) -> Margin:
        """Return the margin with two neighbouring groups of the column `axis`, `first` and the next, merged."""
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
    """The published totals to which the rows of a released table are weighted, and the limits of the weights.

    Attributes
    ----------
    source : the publication that states the totals.
    margins : the margins; empty if every row keeps its starting weight.
    start : the column whose representative values are the starting weights, or None for equal ones.
    floor, cap : the smallest and the largest weight, relative to the mean weight (total / number of rows).
    tolerance : the largest accepted relative difference between a weighted count and its total.
    collapse : the columns whose neighbouring groups may be merged, in this order.
    fewest_rows : the smallest number of rows of a cell. Cells with fewer are merged with a neighbour if `collapse` allows this.
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
        """Convert the calibration to the bins of a transformation (`Margin.on`)."""
        return replace(self, margins=tuple(margin.on(transformation) for margin in self.margins))


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """Two margins that state different totals for the same group of persons."""

    left: Margin
    right: Margin
    cell: str
    left_total: float
    right_total: float


def disagreements(margins: Sequence[Margin], tolerance: float) -> list[Disagreement]:
    """Return, for each pair of margins, the largest relative difference between their totals, if it exceeds the tolerance.

    Margins are compared on their shared columns, in the finest groups that are unions of groups of both. Without a shared
    column, their overall totals are compared.
    """
    disagreeing = []
    for left, right in combinations(margins, 2):
        shared = [column for column in left.columns if column in right.columns]
        of_left, of_right, labels = _common(left, right, shared)
        larger = np.maximum(of_left, of_right)
        share = np.abs(of_left - of_right) / np.where(larger > 0, larger, 1)
        cell = int(share.argmax())
        if not share.flat[cell] <= tolerance:
            groups = np.unravel_index(cell, of_left.shape)
            name = ", ".join(f"{column} {labels[axis][groups[axis]]}" for axis, column in enumerate(shared))
            pair = float(of_left.flat[cell]), float(of_right.flat[cell])
            disagreeing.append(Disagreement(left=left, right=right, cell=name, left_total=pair[0], right_total=pair[1]))
    return disagreeing


def _common(left: Margin, right: Margin, shared: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
    """Sum the totals of two margins to their shared columns and common groups (see `_finest_common`). Return both arrays, and
    the labels of the groups for each column."""
    tables = [added_up(margin.table, margin.columns, shared) for margin in (left, right)]
    labels = []
    for axis, column in enumerate(shared):
        sides = [margin.columns.index(column) for margin in (left, right)]
        groups = [margin.into[side] for margin, side in zip((left, right), sides, strict=True)]
        common = _finest_common(*groups)
        names: list[str] = [""] * (max(common) + 1)
        for label, group in zip(left.labels[sides[0]], _first_bins(groups[0]), strict=True):
            group_ = common[group]
            names[group_] = f"{names[group_]} or {label}" if names[group_] else label
        labels.append(names)
        for number, of_bin in enumerate(groups):
            into = [common[group] for group in _first_bins(of_bin)]
            tables[number] = with_merged_bins(tables[number], axis, into, len(names))
    return tables[0], tables[1], labels


def _first_bins(into: Sequence[int]) -> list[int]:
    return [into.index(group) for group in range(max(into) + 1)]


def _finest_common(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return the group of each bin in the finest common coarsening of two groupings: 0-9, 10-19, 20+ and 0-14, 15-19, 20+ have
    0-19 and 20+."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_left, n_right = max(left) + 1, max(right) + 1
    shared = coo_array((np.ones(len(left)), (left, np.add(right, n_left))), shape=(n_left + n_right, n_left + n_right))
    _, component = connected_components(shared, directed=False)
    into = component[list(left)].tolist()
    new_group = {group: index for index, group in enumerate(dict.fromkeys(into))}
    return [new_group[group] for group in into]


MOST_CYCLES = 2000
"""Largest number of cycles through all margins. Margins that can be met are met in far fewer cycles."""
CLOSE = 1e-9
"""Relative deviation from the totals at which raking stops. Raking also stops within half the tolerance if a cycle improves the
deviation by less than 1%.
"""
DIGITS = 9
"""Number of significant digits of a weight. On every machine, the sums that determine a weight are accurate to more digits than
this.
"""


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Neighbouring groups of a column, with these labels, that were merged because a cell had too few rows or could not reach
    its total. `margin` is the position of the margin."""

    margin: int
    column: str
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The weights of the cells of a released table, and the results of raking.

    Attributes
    ----------
    of_cells : (n_cells,) the weight of each row of a cell.
    smallest, largest : the smallest and the largest weight.
    design_effect : 1 + cv^2 of the weights over the rows (Kish 1965): the factor by which unequal weights increase the variance
        of a mean of independent rows.
    cycles : number of cycles of raking.
    deviation : the largest difference between a weighted count and its total, as a share of the total.
    joined : the groups that were merged.
    """

    of_cells: np.ndarray
    smallest: float
    largest: float
    design_effect: float
    cycles: int
    deviation: float
    joined: tuple[Joined, ...]


class NotCalibrated(Exception):
    """No weights within the limits meet the totals. The message contains only public numbers."""


def raked(table: Counts, calibration: Calibration, start: np.ndarray | None) -> Weights:
    """Compute the weights of a released table by raking; without margins, the starting weights.

    Parameters
    ----------
    calibration : the totals and limits, on the bins of the table.
    start : (n_bins,) positive representative values of the bins of `calibration.start`, or None for equal starting weights.

    Raises
    ------
    NotCalibrated : if no weights within the limits meet the margins.
    """
    bins = dict(zip(table.layout.columns, table.bins, strict=True))
    if not calibration.margins and calibration.start is not None and start is not None:
        return _weights(start[bins[calibration.start]], table.counts)
    total = calibration.margins[0].total
    limits = calibration.floor * total / table.total, calibration.cap * total / table.total
    scaled = [_scaled(margin, total) for margin in calibration.margins]
    fitted = [_with_enough_rows(margin, bins, table.counts, calibration, limits) for margin in scaled]
    keys = [margin.cells(bins) for margin in fitted]
    if calibration.start is not None and start is not None:
        keys.append(bins[calibration.start])
    kinds, kind_of_cell = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    kind_of_cell = kind_of_cell.ravel()
    rows = np.bincount(kind_of_cell, weights=table.counts)
    begin = np.ones(len(kinds)) if start is None else start[kinds[:, -1]]
    cells = [kinds[:, axis] for axis in range(len(fitted))]
    weights, cycles = _rake(rows, begin, cells, fitted, calibration.tolerance, limits)
    weights = np.array([float(f"{weight:.{DIGITS}g}") for weight in weights.tolist()])
    return replace(
        _weights(weights, rows),
        of_cells=weights[kind_of_cell],
        cycles=cycles,
        deviation=float(max(_deviations(rows, weights, cells, fitted))),
        joined=tuple(
            Joined(margin=number, column=column, labels=labels)
            for number, (given_margin, fitted_margin) in enumerate(zip(calibration.margins, fitted, strict=True))
            for axis, column in enumerate(given_margin.columns)
            for labels in _joined_labels(given_margin, fitted_margin, axis)
        ),
    )


def _weights(weights: np.ndarray, rows: np.ndarray) -> Weights:
    """Collect the (n_cells,) weights of a table with their summary statistics. `rows` are the numbers of rows of the cells."""
    total = math.fsum(rows)
    mean = math.fsum(rows * weights) / total
    return Weights(
        of_cells=weights,
        smallest=float(weights.min()),
        largest=float(weights.max()),
        design_effect=math.fsum(rows * (weights / mean) ** 2) / total,
        cycles=1,
        deviation=0.0,
        joined=(),
    )


def _rake(
    rows: np.ndarray,
    begin: np.ndarray,
    cells: Sequence[np.ndarray],
    margins: Sequence[Margin],
    tolerance: float,
    limits: tuple[float, float],
) -> tuple[np.ndarray, int]:
    """Adjust weights in cycles until the weighted counts meet all totals. Return the weights, 0 in cells whose total is 0, and
    the number of cycles.

    Rows in the same cell of every margin with the same starting weight form a kind.

    Parameters
    ----------
    rows, begin : for each kind, its number of rows and its starting weight.
    cells : for each margin, the (n_kinds,) cells of the kinds.
    limits : the smallest and the largest weight.

    Raises
    ------
    NotCalibrated : if the margins are not met after MOST_CYCLES cycles.
    """
    totals = [margin.table.ravel() for margin in margins]
    counted = np.all([aims[cell] > 0 for cell, aims in zip(cells, totals, strict=True)], axis=0)
    raw = begin * (margins[0].total / math.fsum(rows * begin))

    def cut_off() -> np.ndarray:
        return np.where(counted, np.clip(raw, *limits), 0.0)

    worst = math.inf
    for cycle in range(1, MOST_CYCLES + 1):
        with np.errstate(all="ignore"):
            for cell, aims in zip(cells, totals, strict=True):
                sums = np.bincount(cell, weights=rows * cut_off(), minlength=len(aims))
                raw = raw * np.where((sums > 0) & (aims > 0), aims / sums, 1.0)[cell]
        weights = cut_off()
        deviations = _deviations(rows, weights, cells, margins)
        previous, worst = worst, max(deviations)
        if worst <= CLOSE or (worst <= tolerance / 2 and worst > 0.99 * previous):
            return weights, cycle
    if worst <= tolerance / 2:
        return weights, MOST_CYCLES
    margin = margins[int(np.argmax(deviations))]
    raise NotCalibrated(
        f"after {MOST_CYCLES} cycles of raking, a weighted count of the margin {margin.name} still differs by "
        f"{100 * worst:.3g}% from its total. The rows of this table cannot meet all margins together"
    )


def _deviations(rows: np.ndarray, weights: np.ndarray, cells: Sequence[np.ndarray], margins: Sequence[Margin]) -> list[float]:
    """Return, for each margin, the largest difference between a weighted count and its total, as a share of the total."""
    deviations = []
    for cell, margin in zip(cells, margins, strict=True):
        totals = margin.table.ravel()
        sums = np.bincount(cell, weights=rows * weights, minlength=len(totals))
        shares = np.abs(sums - totals) / np.where(totals > 0, totals, 1.0)
        deviations.append(float(shares.max()) if np.isfinite(shares).all() else float("inf"))
    return deviations


def _with_enough_rows(
    margin: Margin, bins: dict[str, np.ndarray], counts: np.ndarray, calibration: Calibration, limits: tuple[float, float]
) -> Margin:
    """Merge neighbouring groups of a margin until every cell has enough rows and can reach its total with weights within the
    limits.

    Each step takes the first cell that fails, and merges its group of the first column of `collapse` that has groups left with
    the neighbouring group that has fewer rows.

    Raises
    ------
    NotCalibrated : if a cell cannot reach its total, and no groups are left to merge.
    """
    while True:
        totals = margin.table.ravel()
        rows = np.bincount(margin.cells(bins), weights=counts, minlength=len(totals))
        slack = calibration.tolerance * totals
        short = (totals > 0) & ((rows == 0) | (rows * limits[1] < totals - slack))
        long = (totals > 0) & (rows * limits[0] > totals + slack)
        sparse = (totals > 0) & (rows < calibration.fewest_rows)
        axes = [margin.columns.index(name) for name in calibration.collapse if name in margin.columns]
        axis = next((axis for axis in axes if margin.shape[axis] > 1), None)
        faulty = np.flatnonzero(short | long | sparse)
        if axis is not None and len(faulty):
            group = int(np.unravel_index(faulty[0], margin.shape)[axis])
            margin = margin.joined(axis, _neighbour(rows.reshape(margin.shape), axis, group))
            continue
        if short.any() or long.any():
            raise NotCalibrated(_why(margin, int(np.flatnonzero(short | long)[0]), rows, totals, limits))
        return margin


def _neighbour(rows: np.ndarray, axis: int, group: int) -> int:
    """Choose the neighbouring group with fewer rows for merging. Return the smaller index of the two groups."""
    sizes = rows.sum(axis=tuple(other for other in range(rows.ndim) if other != axis))
    if group == 0:
        return 0
    if group == len(sizes) - 1 or sizes[group - 1] <= sizes[group + 1]:
        return group - 1
    return group


def _why(margin: Margin, cell: int, rows: np.ndarray, totals: np.ndarray, limits: tuple[float, float]) -> str:
    name, number = margin.cell_name(cell), int(rows[cell])
    if not number:
        return f"no released row is in {name}, but the margin {margin.name} has a total of {totals[cell]:.9g} for it"
    below = rows[cell] * limits[1] < totals[cell]
    reach = f"at most {number * limits[1]:.9g}" if below else f"at least {number * limits[0]:.9g}"
    reach += " because of the cap" if below else " because of the floor"
    rest = f"its total in the margin {margin.name} is {totals[cell]:.9g}"
    return f"the weights of the {number} released rows in {name} add up to {reach}; {rest}"


def _joined_labels(stated: Margin, fitted: Margin, axis: int) -> list[tuple[str, ...]]:
    members: dict[int, list[str]] = {}
    for group, label in enumerate(stated.labels[axis]):
        members.setdefault(fitted.into[axis][stated.into[axis].index(group)], []).append(label)
    return [tuple(labels) for labels in members.values() if len(labels) > 1]


def _scaled(margin: Margin, total: float) -> Margin:
    return replace(margin, totals=tuple((margin.table.ravel() * (total / margin.total)).tolist()))
