"""Raking: weights of the rows of a released table with which it has published totals (Deming & Stephan 1940).

The weight of a cell is its starting weight times one factor for each margin, cut off at the public floor and cap. A margin's
factors are multiplied by total / weighted count, margin after margin, until all are met. With nothing cut off that is iterative
proportional fitting; with limits it is the truncated method of Deville & Särndal (1992, case 7 of their table 1): the smallest
change of the starting weights, as a relative entropy, that meets the margins within the limits. A step never goes beyond its
total, because the cut-off weight of t times a number, t above 1, is at most t times its cut-off weight.

All of this is a function of the released table and of published figures: it costs no privacy. Rows of the same combination of
groups and start have the same weight. These combinations are sorted, so the sums do not depend on the order of rows or cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.domain.counts import Counts
from synthrelease.domain.margins import Calibration, Margin

MOST_CYCLES = 2000
"""Cycles through all margins before raking is given up: what can be met is met in far fewer."""
CLOSE = 1e-9
"""A deviation from the totals at which raking has arrived; it also ends within the tolerance once it gains nothing more."""
DIGITS = 9
"""Significant digits of a weight: the sums behind it are exact to more on every machine."""


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Neighbouring groups of a column that one margin took together, because too few rows were in a cell."""

    margin: int
    column: str
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The weights of a table and what raking came to.

    Attributes
    ----------
    of_cells : (n_cells,) the weight of a row of each cell of the table, in the order of its cells.
    smallest, largest : of any row.
    design_effect : 1 + cv^2 of the weights over the rows (Kish 1965): by what factor unequal weights raise the variance of a
        mean of independent rows.
    cycles : how often all margins were gone through.
    deviation : the largest difference between a weighted count and its total, as a share of the total.
    joined : the groups that were taken together.
    """

    of_cells: np.ndarray
    smallest: float
    largest: float
    design_effect: float
    cycles: int
    deviation: float
    joined: tuple[Joined, ...]


class NotCalibrated(Exception):
    """The table cannot have the totals within the limits; the message says why, from public figures alone."""


def raked(table: Counts, calibration: Calibration, start: np.ndarray | None) -> Weights:
    """The weights of a released table.

    Parameters
    ----------
    calibration : on the bins of the table.
    start : (n_bins,) positive numbers of the bins of `calibration.start`; None where all weights start equal.

    Raises
    ------
    NotCalibrated : when the margins cannot be met.
    """
    bins = dict(zip(table.layout.columns, table.bins, strict=True))
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
    cells = [kinds[:, place] for place in range(len(fitted))]
    weights, cycles = _rake(rows, begin, cells, fitted, calibration.tolerance, limits)
    weights = np.array([float(f"{weight:.{DIGITS}g}") for weight in weights.tolist()])
    mean = math.fsum(rows * weights) / table.total
    return Weights(
        of_cells=weights[kind_of_cell],
        smallest=float(weights.min()),
        largest=float(weights.max()),
        design_effect=math.fsum(rows * (weights / mean) ** 2) / table.total,
        cycles=cycles,
        deviation=float(max(_deviations(rows, weights, cells, fitted))),
        joined=tuple(
            Joined(margin=number, column=column, labels=labels)
            for number, (before, after) in enumerate(zip(calibration.margins, fitted, strict=True))
            for axis, column in enumerate(before.columns)
            for labels in _joined_labels(before, after, axis)
        ),
    )


def _rake(
    rows: np.ndarray,
    begin: np.ndarray,
    cells: Sequence[np.ndarray],
    margins: Sequence[Margin],
    tolerance: float,
    limits: tuple[float, float],
) -> tuple[np.ndarray, int]:
    """(n_kinds,) weights of the kinds of rows, and the number of cycles. What is in a cell with a total of 0 weighs 0."""
    totals = [margin.table.ravel() for margin in margins]
    counted = np.all([wanted[cell] > 0 for cell, wanted in zip(cells, totals, strict=True)], axis=0)
    raw = begin * (margins[0].total / math.fsum(rows * begin))

    def cut_off() -> np.ndarray:
        return np.where(counted, np.clip(raw, *limits), 0.0)

    worst = math.inf
    for cycle in range(1, MOST_CYCLES + 1):
        with np.errstate(all="ignore"):
            for cell, wanted in zip(cells, totals, strict=True):
                sums = np.bincount(cell, weights=rows * cut_off(), minlength=len(wanted))
                raw = raw * np.where((sums > 0) & (wanted > 0), wanted / sums, 1.0)[cell]
        weights = cut_off()
        deviations = _deviations(rows, weights, cells, margins)
        before, worst = worst, max(deviations)
        if worst <= CLOSE or (worst <= tolerance / 2 and worst > 0.99 * before):
            return weights, cycle
    if worst <= tolerance / 2:
        return weights, MOST_CYCLES
    margin = margins[int(np.argmax(deviations))]
    raise NotCalibrated(
        f"after {MOST_CYCLES} cycles of raking a weighted count of the margin {margin.name} still differed by "
        f"{100 * worst:.3g}% from its total: with the rows of this table the margins cannot be met together"
    )


def _deviations(rows: np.ndarray, weights: np.ndarray, cells: Sequence[np.ndarray], margins: Sequence[Margin]) -> list[float]:
    """Per margin, the largest difference between a weighted count and its total, as a share of it."""
    found = []
    for cell, margin in zip(cells, margins, strict=True):
        wanted = margin.table.ravel()
        sums = np.bincount(cell, weights=rows * weights, minlength=len(wanted))
        shares = np.abs(sums - wanted) / np.where(wanted > 0, wanted, 1.0)
        found.append(float(shares.max()) if np.isfinite(shares).all() else float("inf"))
    return found


def _with_enough_rows(
    margin: Margin,
    bins: dict[str, np.ndarray],
    counts: np.ndarray,
    calibration: Calibration,
    limits: tuple[float, float],
) -> Margin:
    """The margin with neighbouring groups joined until every cell has rows enough, and can reach its total within the limits.

    The first such cell is joined along the first column of `collapse` that has more than one group left, with the neighbour
    that has fewer rows; as whole groups, so that what is left is a product of groups.

    Raises
    ------
    NotCalibrated : for a cell that cannot reach its total, with no column left to join along.
    """
    while True:
        wanted = margin.table.ravel()
        rows = np.bincount(margin.cells(bins), weights=counts, minlength=len(wanted))
        slack = calibration.tolerance * wanted
        short = (wanted > 0) & ((rows == 0) | (rows * limits[1] < wanted - slack))
        long = (wanted > 0) & (rows * limits[0] > wanted + slack)
        sparse = (wanted > 0) & (rows < calibration.fewest_rows)
        axes = [margin.columns.index(name) for name in calibration.collapse if name in margin.columns]
        axis = next((axis for axis in axes if margin.shape[axis] > 1), None)
        faulty = np.flatnonzero(short | long | sparse)
        if axis is not None and len(faulty):
            group = int(np.unravel_index(faulty[0], margin.shape)[axis])
            margin = margin.joined(axis, _neighbour(rows.reshape(margin.shape), axis, group))
            continue
        if short.any() or long.any():
            raise NotCalibrated(_why(margin, int(np.flatnonzero(short | long)[0]), rows, wanted, limits))
        return margin


def _neighbour(rows: np.ndarray, axis: int, group: int) -> int:
    """The lower of the two groups to join: the group with the one beside it that has fewer rows."""
    sizes = rows.sum(axis=tuple(other for other in range(rows.ndim) if other != axis))
    if group == 0:
        return 0
    if group == len(sizes) - 1 or sizes[group - 1] <= sizes[group + 1]:
        return group - 1
    return group


def _why(margin: Margin, cell: int, rows: np.ndarray, wanted: np.ndarray, limits: tuple[float, float]) -> str:
    """Why a cell cannot reach its total."""
    place, number = margin.cell_name(cell), int(rows[cell])
    if not number:
        return f"no released row is in {place}, which has a total of {wanted[cell]:.9g} in the margin {margin.name}"
    below = rows[cell] * limits[1] < wanted[cell]
    reach = f"at most {number * limits[1]:.9g}, by the cap" if below else f"at least {number * limits[0]:.9g}, by the floor"
    rest = f"its total in the margin {margin.name} is {wanted[cell]:.9g}"
    return f"the {number} released rows in {place} can stand for {reach}; {rest}"


def _joined_labels(before: Margin, after: Margin, axis: int) -> list[tuple[str, ...]]:
    """The groups of a column that were taken together, in order."""
    members: dict[int, list[str]] = {}
    for group, label in enumerate(before.labels[axis]):
        members.setdefault(after.into[axis][before.into[axis].index(group)], []).append(label)
    return [tuple(labels) for labels in members.values() if len(labels) > 1]


def _scaled(margin: Margin, total: float) -> Margin:
    """The margin with its totals scaled to another sum: published totals that agree may do so up to the tolerance alone."""
    return replace(margin, totals=tuple((margin.table.ravel() * (total / margin.total)).tolist()))
