"""Divide rows into groups for criteria that compare means, quantiles or shares, and bound their values from shared
measurements.

Rows without a value of the grouping column are in no group.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from synthrelease.criteria.base import Setting
from synthrelease.criteria.columns import grouping_mistakes, unknown_columns
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import LostPair, PublicFacts, grouped, words
from synthrelease.criteria.measured import Limits
from synthrelease.criteria.members import OfMembers
from synthrelease.data.schema import Binning, Transformation
from synthrelease.errors import Unexpected
from synthrelease.settings.base import AboutColumn, AmongColumns, Mistake

if TYPE_CHECKING:
    from synthrelease.generators.drawing import Drawing


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """An assignment of rows to groups by the bins of a column, or of all rows to one group (with the name "").

    Attributes
    ----------
    into : (n_bins,) the index of the group of each bin, or -1 for a bin in no group.
    """

    name: str
    column: int
    into: np.ndarray
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def on_atoms(self, transformation: Transformation) -> Grouping:
        return replace(self, into=self.into[transformation.maps[self.column]])

    def where(self, group: int) -> str:
        return f"{words(self.name)}={self.labels[group]}" if self.name else "all rows"


def groupings(by: Iterable[str], overall: bool, transformation: Transformation, setting: Setting) -> list[Grouping]:
    """Return a grouping for every column of `by` and, with `overall`, one group of all rows. Groups in [groups] replace
    bins.
    """
    layout, ways = transformation.layout, []
    for name in by:
        binning = transformation.binning(name)
        coarser = setting.groups.get(name, binning)
        into = np.where(present(binning), binning.map_to(coarser), -1)
        ways.append(Grouping(name=name, column=layout.index(name), into=into, labels=coarser.labels[: coarser.present]))
    if overall:
        everything = np.zeros(layout.sizes[0], dtype=np.int64)
        ways.append(Grouping(name="", column=0, into=everything, labels=("all rows",)))
    return ways


def present(binning: Binning) -> np.ndarray:
    """Return an (n_bins,) mask, False for the bin of missing values."""
    return np.arange(len(binning)) < binning.present


def smallest_group(by: Iterable[str], overall: bool, counted: np.ndarray, facts: PublicFacts) -> int:
    """Return the number of released rows in the smallest group, among the (n_cells,) `counted` cells."""
    table = facts.table.keep(counted)
    sizes = [table.total] if overall else []
    for name in by:
        rows = table.marginal((table.layout.index(name),))
        sizes += [int(rows[group].sum()) for group in _public_groups(name, facts)]
    return min(sizes)


def rows_of_group(columns: tuple[str, ...], inside: np.ndarray, facts: PublicFacts) -> np.ndarray:
    """Return the (n_bins,) released rows of a group in each bin of the compared column. `inside` is 1 for combinations of
    bins of `columns` in the group, else 0.
    """
    rows = facts.cells(columns).reshape(inside.shape) * inside
    return rows.reshape(-1, inside.shape[-1]).sum(axis=0)


def public_groupings(
    by: Iterable[str], overall: bool, column: str, facts: PublicFacts
) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
    """Yield every group of rows that a criterion compares, as a pair (columns, inside). No table is read.

    `columns` is (`column`,) for the group of all rows and for groups by `column` itself, otherwise the grouping column and
    `column`. `inside` has one axis per column: 1.0 for cells of the group with a value of `column`, else 0.0.
    """
    values = (np.arange(len(facts.by_name[column].labels)) < facts.by_name[column].present).astype(float)
    if overall:
        yield (column,), values
    for name in by:
        for group in _public_groups(name, facts):
            yield ((column,), group * values) if name == column else ((name, column), np.outer(group, values))


def _public_groups(name: str, facts: PublicFacts) -> np.ndarray:
    """Return an (n_groups, n_bins) mask of the released bins of each group. Bins of missing values are in no group."""
    column = facts.by_name[name]
    groups = np.eye(len(column.labels), dtype=bool)
    if name in facts.groups:
        groups = np.array([group.inside for group in facts.groups[name]])
    values = np.arange(len(column.labels)) < column.present
    return (groups & values)[(groups & values).any(axis=1)]


# Bounds of the errors of means, shares and quantiles in groups, from limits of sums that noisy tables give (theory 13.6,
# criteria that measurements answer).


def furthest_mean(limits: Limits, step: float, size: int, target: float, most: float) -> float:
    """Return the largest possible error of a group's mean: the distance of the resized mean from `target`, if the original
    numbers are known only within limits.

    A resized mean is the sum divided by the number of rows, or by `size` if this is larger.

    Parameters
    ----------
    limits : the limits on the number of rows of the group, and on the sum of their values in steps.
    target : the released mean of the group.
    most : the largest absolute value of a resized mean.

    Notes
    -----
    sum / max(rows, size) increases with the sum, and is monotone in the number of rows. So the extremes are at the corners.
    """
    numbers, sums = (limits.low[0], limits.high[0]), (limits.low[1], limits.high[1])
    corners = [float(total) * step / max(int(rows), size) for rows in numbers for total in sums]
    return max(abs(min(max(corner, -most), most) - target) for corner in corners)


def furthest_share(limits: Limits, hits: int, rows: int) -> float:
    """Return the largest possible error |a - p (a + b)| / rows of a share in a group, over all original counts a (for the
    share) and b (the others) within limits. Here p = hits / rows is the released share.
    """
    share = hits / rows
    highest = float(limits.high[0]) * (1 - share) - float(limits.low[1]) * share
    lowest = float(limits.low[0]) * (1 - share) - float(limits.high[1]) * share
    return max(highest, -lowest) / rows


def most_beyond(limits: Limits, rows: np.ndarray, quantiles: Sequence[Fraction], within: int) -> Iterator[float]:
    """For every quantile, yield an upper bound on the excess of original rows on one side of the window of bins around the
    released quantile, given limits. NaN for a group without released rows.

    Parameters
    ----------
    limits : the limits on the group's sums in `ConditionalMedian.measured_sums`.
    rows : (n_bins,) the released rows of the group.
    within : the bins of the window on either side of the quantile.
    """
    high = limits.high.reshape(len(quantiles), 2, -1)
    reached, last = np.cumsum(rows.astype(np.int64)), high.shape[-1] - 1
    for q, (below, above) in zip(quantiles, high, strict=True):
        if not reached[-1]:
            yield math.nan
            continue
        middle = int(np.searchsorted(reached, math.ceil(q * int(reached[-1]))))
        first, end = max(middle - within + 1, 0), min(middle + within + 1, last)
        yield max(int(below[first]), int(above[end])) / q.denominator


class InGroups(OfMembers):
    """The base class of criteria that compare a column within groups of rows.

    Attributes
    ----------
    column : the compared column. Example: `column = "income"`.
    by : the columns to group by, each separately. The groups are the column's bins of [groups] or, without these, its own
        bins. Example: `by = ["age", "sex"]`.
    overall : if true, all rows are also compared. Example: `overall = false`, `by = ["age"]`.
    """

    column: AboutColumn
    by: AmongColumns = ()
    overall: bool = True

    def contradictions(self) -> Iterator[str | Unexpected]:
        if not self.by and not self.overall:
            yield "Name at least one column in `by`, or set overall = true"

    @property
    def read(self) -> tuple[str, ...]:
        return (self.column, *self.by)

    def groups_in(self, facts: PublicFacts) -> list[tuple[tuple[str, ...], np.ndarray]]:
        return list(public_groupings(self.by, self.overall, self.column, facts))

    def column_mistakes(self, setting: Setting, *, ordered: bool = False) -> list[Mistake]:
        """Return the mistakes in the compared and the grouping columns. With `ordered`, the compared bins must be ordered."""
        wrong = [*unknown_columns(setting.schema, "column", [self.column]), *grouping_mistakes(setting, "by", self.by)]
        if ordered and not wrong and not setting.schema[self.column].ordered:
            wrong.append(Mistake("column", f"The bins of {self.column!r} have no order, which this criterion needs"))
        return wrong

    def rows_of_smallest_group(self, n: int, setting: Setting | None) -> int:
        """Return an upper limit on the rows of the smallest group, for any table of n rows."""
        if setting is None or setting.schema.linked is not None:  # a group may have more than n members
            return n
        schema, own = setting.schema, setting.groups
        ways = [[own[name]] if name in own else list(schema[name].alternatives.values()) for name in self.by]
        groups = [min(binning.present for binning in binnings) for binnings in ways]
        return max(1, n // max(groups, default=1))


Grouped = TypeVar("Grouped", bound=InGroups)


class InGroupsExplained(Explanation[Grouped]):
    """Explain a criterion that compares a column within groups of rows."""

    def over(self, facts: PublicFacts) -> str:
        return grouped(self.about.by, self.about.overall, facts)

    def smallest(self, facts: PublicFacts) -> int:
        bins = facts.table.digits(facts.table.layout.index(self.about.column))
        with_value = bins < facts.by_name[self.about.column].present
        return smallest_group(self.about.by, self.about.overall, with_value, facts)

    def drawn_shares(self, drawing: Drawing, facts: PublicFacts, shares: int) -> float:
        """Return a limit on how much shares of all rows change because the release uses a random subset of the rows.

        It holds at once for `shares` shares in each group and for the rest of the group, except with probability at most
        `drawing.risk`.
        """
        ways = math.prod(drawing.ways.get(name, 1) for name in {self.about.column, *self.about.by})
        return drawing.of_shares(2 * len(self.about.groups_in(facts)) * shares * ways)

    @property
    def asks_single_columns(self) -> bool:
        return not self.about.by

    def guards(self, pair: LostPair) -> bool:
        return pair.is_one_of(self.about.column, self.about.by)
