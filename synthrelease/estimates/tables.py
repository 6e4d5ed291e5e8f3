"""Unbiased estimates of sums over the original rows, from all published noisy tables that hold their columns.

Where several tables do, each cell of the query gets the mean of their values, weighted by the inverse of their variances; then
the cells are moved to add up to n, which is known, each in proportion to its variance. Weights depend on what is public: the
scales of the noise, the rules and the query. So every estimate is the true sum plus a known weighted sum of noises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from synthrelease.bounds.conditions import excluded
from synthrelease.errors import InputError, listing
from synthrelease.estimates.laws import Noises
from synthrelease.published import PublishedColumn, PublishedRelease

_MAX_CELLS = 1_000_000
"""Of the table of a query's columns."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisySums:
    """Estimates of k sums over the original rows.

    Attributes
    ----------
    values : (k,) estimates.
    weights : (k, n_cells) weights of the noises of all published cells in their errors.
    """

    values: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class _Table:
    columns: tuple[str, ...]
    values: np.ndarray
    variances: np.ndarray
    """Of each cell; 0 where a rule leaves no row in it."""
    start: int
    """Where its cells begin among all published ones."""


class NoisyTables:
    """The published noisy tables of a release."""

    def __init__(self, release: PublishedRelease):
        published = release.measurements.tables if release.measurements else ()
        if not published:
            raise InputError(
                "expected a release with published noisy tables (measurements.json), found one without: its rows alone do not "
                "say how far off they are. `synthrelease bound` gives the range that the released figures allow."
            )
        self.release = release
        rules = [rule.never for rule in release.rules if "raw" in rule.applies_to]
        self.tables: list[_Table] = []
        scales, counts, start = [], [], 0
        for table in published:
            columns = tuple(release.by_name[name] for name in table.columns)
            empty = np.zeros(table.values.shape, dtype=bool)
            for mask in filter(lambda found: found is not None, (excluded(rule, columns) for rule in rules)):
                empty |= mask
            count = np.where(empty, 0, table.cells)
            scale = np.full(count.shape, float(2 / table.epsilon))
            variances = Noises(scale=scale, count=count).variances
            values = np.where(empty, 0, table.values).astype(float)
            self.tables.append(_Table(columns=table.columns, values=values, variances=variances, start=start))
            scales.append(scale.ravel())
            counts.append(count.ravel())
            start += count.size
        self.noises = Noises(scale=np.concatenate(scales), count=np.concatenate(counts))

    def columns(self, names: Iterable[str]) -> tuple[PublishedColumn, ...]:
        """Columns by name, in the order of the release."""
        wanted = set(names)
        found = tuple(column for column in self.release.schema if column.name in wanted)
        cells = math.prod(len(column.labels) for column in found)
        if cells > _MAX_CELLS:
            raise InputError(f"expected columns with at most {_MAX_CELLS:,} combinations of bins, found {cells:,}.")
        return found

    def holds(self, names: Iterable[str]) -> bool:
        """Whether one table holds these columns."""
        return any(set(names) <= set(table.columns) for table in self.tables)

    def number(self, names: Iterable[str]) -> int:
        """How many tables hold these columns."""
        return sum(set(names) <= set(table.columns) for table in self.tables)

    def sums(self, names: Iterable[str], figures: np.ndarray) -> NoisySums:
        """Estimates of sum figure(cell) * R(cell) over the cells of some columns.

        Parameters
        ----------
        figures : (k, n_cells) weights of the cells of these columns, in the order of the release.

        Raises
        ------
        InputError : where no table holds the columns together.
        """
        columns = self.columns(names)
        wanted = [column.name for column in columns]
        tables = [table for table in self.tables if set(wanted) <= set(table.columns)]
        if not tables:
            measured = listing([" x ".join(table.columns) for table in self.tables], 40)
            raise InputError(
                f"expected columns that one published noisy table holds together, found {' x '.join(wanted)}; the tables are "
                f"{measured}. `synthrelease bound` gives the range that the released figures allow."
            )
        added = [_added_up(table, wanted) for table in tables]
        with np.errstate(divide="ignore"):
            precisions = np.array([1 / variances for _, variances in added])
        known = ~np.isfinite(precisions).all(axis=0)  # no row can be in such a cell
        precisions = np.where(known, 0.0, precisions)
        variances = np.where(known, 0.0, 1 / np.where(known, 1.0, precisions.sum(axis=0)))
        shares = precisions * variances
        cells = (shares * np.array([values for values, _ in added])).sum(axis=0)
        moved = (figures @ variances) / variances.sum() if variances.any() else np.zeros(len(figures))
        centred = np.where(known, 0.0, figures - moved[:, None])
        weights = np.zeros((len(figures), len(self.noises.count)))
        for table, share in zip(tables, shares, strict=True):
            others = tuple(axis for axis, name in enumerate(table.columns) if name not in wanted)
            shape = [len(column.labels) for column in columns]
            spread = np.expand_dims((centred * share).reshape(-1, *shape), tuple(axis + 1 for axis in others))
            whole = np.broadcast_to(spread, (len(figures), *table.values.shape)) * (table.variances > 0)
            weights[:, table.start : table.start + table.values.size] = whole.reshape(len(figures), -1)
        return NoisySums(values=centred @ cells + moved * self.release.n_rows, weights=weights)


def _added_up(table: _Table, wanted: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Values and variances of the sub-table of some columns, each (n_cells,)."""
    others = tuple(axis for axis, name in enumerate(table.columns) if name not in wanted)
    return table.values.sum(axis=others).ravel(), table.variances.sum(axis=others).ravel()
