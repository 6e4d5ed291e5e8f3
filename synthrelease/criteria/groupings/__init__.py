"""Groups of rows that a criterion looks at one by one: the groups of a column, or all rows.

Rows without a value of the grouping column are in no group of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.criteria.base import Setting
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.wording import words
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Binning, Transformation


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """One way to group rows.

    Attributes
    ----------
    name : the column; empty where all rows are one group.
    column : its index; any column where all rows are one group.
    into : (n_bins,) the group of every bin; -1 for rows in none.
    labels : of the groups.
    """

    name: str
    column: int
    into: np.ndarray
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def on_atoms(self, transformation: Transformation) -> Grouping:
        """The same of atomic cells."""
        return replace(self, into=self.into[transformation.maps[self.column]])

    def where(self, group: int) -> str:
        """A group in words."""
        return f"{words(self.name)}={self.labels[group]}" if self.name else "all rows"


def groupings(by: Iterable[str], overall: bool, transformation: Transformation, setting: Setting) -> list[Grouping]:
    """A grouping for every column of `by`, in the bins of [groups] where it has some, and one of all rows."""
    layout, found = transformation.layout, []
    for name in by:
        binning = transformation.binning(name)
        coarser = setting.groups.get(name, binning)
        into = np.where(present(binning), binning.map_to(coarser), -1)
        found.append(Grouping(name=name, column=layout.index(name), into=into, labels=coarser.labels[: coarser.present]))
    if overall:
        everything = np.zeros(layout.sizes[0], dtype=np.int64)
        found.append(Grouping(name="", column=0, into=everything, labels=("all rows",)))
    return found


def present(binning: Binning) -> np.ndarray:
    """(n_bins,) whether a bin holds values: False for the bin of missing values."""
    return np.arange(len(binning)) < binning.present


def quantile_bins(table: Counts, grouping: Grouping, column: int, present: int, q: Fraction) -> np.ndarray:
    """(n_groups,) the lowest bin at or below which at least a share q of a group's rows with a value lies; -1 without rows."""
    bins, groups = table.digits(column), grouping.into[table.digits(grouping.column)]
    counted = np.flatnonzero((groups >= 0) & (bins < present))
    order = counted[np.lexsort((bins[counted], groups[counted]))]
    ends = np.searchsorted(groups[order], np.arange(len(grouping) + 1))
    found = np.full(len(grouping), -1, dtype=np.int64)
    for group, (start, stop) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        if start < stop:
            reached = np.cumsum(table.counts[order[start:stop]])
            found[group] = bins[order[start + int(np.searchsorted(reached, math.ceil(q * int(reached[-1]))))]]
    return found


def public_sizes(name: str, column: str, facts: PublicFacts) -> list[int]:
    """Released rows with a value of `column` in every group of a column `name`; of all rows together where `name` is empty."""
    table, present = facts.table, facts.by_name[column].present
    return group_sizes(name, table.digits(table.layout.index(column)) < present, facts)


def group_sizes(name: str, which: np.ndarray, facts: PublicFacts) -> list[int]:
    """Of the released cells that are told, (n_cells,), the rows in every group of a column `name`; all where that is empty."""
    table = facts.table.keep(which)
    if not name:
        return [table.total]
    place = table.layout.index(name)
    rows = np.bincount(table.digits(place), weights=table.counts, minlength=table.layout.sizes[place])
    return [int(rows[group].sum()) for group in _public_groups(name, facts)]


def tables_of_groups(
    by: Iterable[str], overall: bool, column: str, facts: PublicFacts
) -> Iterator[tuple[tuple[str, ...], np.ndarray, np.ndarray]]:
    """Every group as (columns, inside, rows) on the released table: what linear facts about it are made of.

    columns : the one that is looked at, alone for all rows, otherwise after the column of the group.
    inside : an axis for each of them, 1.0 where a row of the group has a value of `column`, else 0.0.
    rows : (n_bins,) released rows of the group in the bins of `column`.
    """
    for columns, inside in public_groupings([name for name in by if name != column], overall, column, facts):
        yield columns, inside, rows_of_group(columns, inside, facts)


def rows_of_group(columns: tuple[str, ...], inside: np.ndarray, facts: PublicFacts) -> np.ndarray:
    """(n_bins,) released rows of a group of `public_groupings` in the bins of the column that is looked at."""
    rows = facts.cells(columns).reshape(inside.shape) * inside
    return rows.reshape(-1, inside.shape[-1]).sum(axis=0)


def public_groupings(
    by: Iterable[str], overall: bool, column: str, facts: PublicFacts
) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
    """Every group as (columns, inside), as in `tables_of_groups`; no table is needed.

    A group of the column itself has the one axis of that column.
    """
    values = (np.arange(len(facts.by_name[column].labels)) < facts.by_name[column].present).astype(float)
    if overall:
        yield (column,), values
    for name in by:
        for group in _public_groups(name, facts):
            yield ((column,), group * values) if name == column else ((name, column), np.outer(group, values))


def _public_groups(name: str, facts: PublicFacts) -> np.ndarray:
    """(n_groups, n_bins) which released bins lie in each group of a column; those of missing values in none."""
    column = facts.by_name[name]
    groups = (
        np.array([one.inside for one in facts.groups[name]]) if name in facts.groups else np.eye(len(column.labels), dtype=bool)
    )
    values = np.arange(len(column.labels)) < column.present
    return (groups & values)[(groups & values).any(axis=1)]
