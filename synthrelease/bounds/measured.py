"""What published noisy tables say about the original one: limits of all their sums, together (theory 13.3, measured sums).

A measured table holds R(cell) + z, z independent discrete Laplace noise of scale b = 2 / epsilon. A sum of k such counts is
off by the sum of k noises, whose tail is known exactly for k = 1 and bounded by its moment generating function otherwise,

    Pr[z_1 + ... + z_k >= s] <= exp(-h s) M(h)^k,   M(h) = (1 - a)^2 / ((1 - a e^h)(1 - a e^-h)),   a = e^(-1/b), 0 < h < 1/b.

The sums that are used are fixed beforehand: every cell of every table of some columns of a measured table, and every run of
first bins of a column with an order. Each gets an equal part of the risk, so all limits hold together (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from synthrelease.published import PublishedRelease
from synthrelease.published.measurements import PublishedMeasurement
from synthrelease.published.release import Measurements

_TRIED = 400
"""Values of h that are tried; each gives a valid limit."""

_ROUNDED_UP = 1e-9
"""Relative: the scale of the noise that was drawn is the exact one, rounded up."""


@cache
def sum_limit(scale: float, count: int, risk: float) -> int:
    """A t with Pr[|sum of `count` independent discrete Laplace noises| > t] <= risk.

    Parameters
    ----------
    scale : b of the noise, Pr[z] proportional to exp(-|z| / b).
    risk : above 0, below 1.
    """
    scale = scale * (1 + _ROUNDED_UP)
    a = math.exp(-1 / scale)
    if count == 1:  # Pr[|z| > t] = 2 a^(t+1) / (1 + a)
        return max(0, math.ceil(-scale * math.log(risk * (1 + a) / 2)) - 1)
    h = np.arange(1, _TRIED) / _TRIED / scale
    log_m = 2 * math.log(-math.expm1(-1 / scale)) - np.log(-np.expm1(h - 1 / scale)) - np.log(-np.expm1(-h - 1 / scale))
    return max(0, math.ceil(float(((count * log_m + math.log(2 / risk)) / h).min())) - 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredLimits:
    """All limits that published tables give.

    Attributes
    ----------
    measurements : on the released bins.
    risk : probability, over all noise of the run, that a table is released and one of the limits is wrong.
    each : of each sum.
    n_sums : how many sums there are.
    """

    release: PublishedRelease
    measurements: Measurements
    risk: float
    each: float
    n_sums: int

    @classmethod
    def of(cls, release: PublishedRelease, risk: float, acceptance: float | None) -> MeasuredLimits | None:
        """None where nothing is published, or the search might have measured without end.

        Parameters
        ----------
        acceptance : a lower bound on the probability that a round is accepted, the caller's word, or None.
        """
        times = measured_times(release, acceptance)
        if release.measurements is None or times is None:
            return None
        sums = sum(_n_sums(release, table) for table in release.measurements.tables)
        return cls(release=release, measurements=release.measurements, risk=risk, each=risk / (times * sums), n_sums=sums)

    def cells(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest original counts of the table of these columns, which are in the order of the release; or None."""
        found = [self._around(table, *_sub_table(table, names)) for table in self._with(names)]
        return _narrowest(found)

    def first_bins(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest original numbers of rows in the first 1, 2, ... bins of a column with an order; None if not."""
        present = _in_order(self.release, name)
        if not present:
            return None
        found = []
        for table in self._with([name]):
            values, cells = _sub_table(table, [name])
            found.append(self._around(table, np.cumsum(values)[: present - 1], np.cumsum(cells)[: present - 1]))
        return _narrowest(found)

    def _with(self, names: Sequence[str]) -> Iterator[PublishedMeasurement]:
        return (table for table in self.measurements.tables if set(names) <= set(table.columns))

    def _around(self, table: PublishedMeasurement, values: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts, places = np.unique(cells, return_inverse=True)
        scale = float(2 / table.epsilon)
        limits = np.array([sum_limit(scale, int(count), self.each) if count else 0 for count in counts])[places]
        limits = limits.reshape(cells.shape)
        return np.maximum(0, values - limits), np.minimum(self.release.n_rows, values + limits)

    def in_words(self) -> str:
        """One line for the list of what a bound rests on."""
        scales = [float(2 / table.epsilon) for table in self.measurements.tables]
        widest, narrowest = (sum_limit(scale, 1, self.each) for scale in (max(scales), min(scales)))
        rows = f"{narrowest:,}" if narrowest == widest else f"{narrowest:,} to {widest:,}"
        return (
            f"{len(scales)} published noisy tables: each cell at most {rows} rows off, and so all of {self.n_sums:,} sums of "
            "cells within what their noise allows"
        )


def measured_times(release: PublishedRelease, acceptance: float | None) -> float | None:
    """How often was measured before the release, on average at most; None where nothing is published or nobody knows."""
    found = release.measurements
    if found is None or not found.tables:
        return None
    times = found.times if found.times == 1 or acceptance is None else min(found.times, 1 / acceptance)
    return times if math.isfinite(times) else None


def _sub_table(table: PublishedMeasurement, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Values and numbers of noisy counts, added up over all other columns of a measured table."""
    others = tuple(axis for axis, name in enumerate(table.columns) if name not in names)
    return table.values.sum(axis=others), table.cells.sum(axis=others)


def _narrowest(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray] | None:
    if not found:
        return None
    lows, highs = zip(*found, strict=True)
    return np.max(lows, axis=0).astype(float), np.min(highs, axis=0).astype(float)


def _n_sums(release: PublishedRelease, table: PublishedMeasurement) -> int:
    """Cells of all its sub-tables, and runs of first bins of its columns."""
    sizes = table.values.shape
    subsets = [chosen for width in range(1, len(sizes) + 1) for chosen in combinations(sizes, width)]
    runs = sum(max(0, _in_order(release, name) - 1) for name in table.columns)
    return sum(math.prod(chosen) for chosen in subsets) + runs


def _in_order(release: PublishedRelease, name: str) -> int:
    """How many of the first bins of a column are in order; 0 where they have none."""
    column = release.by_name[name]
    return column.present if column.ordered else 0
