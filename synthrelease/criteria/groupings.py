"""Divide rows into groups (by a column, or all rows into one group) for criteria that compare means, quantiles or shares.

Rows without a value of the grouping column are in no group. The module also computes bounds on criterion values from shared
measurements.
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
    """An assignment of rows to groups. The groups are formed from the bins of a column, or all rows are in one group.

    Attributes
    ----------
    name : the name of the column, or an empty string if all rows are in one group.
    column : the index of the column. If all rows are in one group, the index has no meaning.
    into : (n_bins,) the index of the group of each bin, or -1 for a bin in no group.
    labels : the labels of the groups.
    """

    name: str
    column: int
    into: np.ndarray
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def on_atoms(self, transformation: Transformation) -> Grouping:
        """Return the same groups of rows, described by the finest bins of the column (atomic bins) instead of the bins of
        the transformation."""
        return replace(self, into=self.into[transformation.maps[self.column]])

    def where(self, group: int) -> str:
        """Return a description of a group."""
        return f"{words(self.name)}={self.labels[group]}" if self.name else "all rows"


def groupings(by: Iterable[str], overall: bool, transformation: Transformation, setting: Setting) -> list[Grouping]:
    """Return a grouping for every column of `by`. With `overall`, also return the grouping that puts all rows into one group.
    If [groups] contains a column, the groups given there are used.
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
    """Return an (n_bins,) mask of the bins of values. The mask is False for the bin of missing values."""
    return np.arange(len(binning)) < binning.present


def smallest_group(by: Iterable[str], overall: bool, counted: np.ndarray, facts: PublicFacts) -> int:
    """Return the number of released rows in the smallest group.

    Parameters
    ----------
    counted : an (n_cells,) mask of the released cells that are counted.
    """
    table = facts.table.keep(counted)
    sizes = [table.total] if overall else []
    for name in by:
        rows = table.marginal((table.layout.index(name),))
        sizes += [int(rows[group].sum()) for group in _public_groups(name, facts)]
    return min(sizes)


def rows_of_group(columns: tuple[str, ...], inside: np.ndarray, facts: PublicFacts) -> np.ndarray:
    """Return how many released rows of a group are in each bin of the compared column, as an (n_bins,) array. `inside` has
    an axis for each of `columns`. It is 1 for combinations of their bins that are in the group, and 0 otherwise.
    """
    rows = facts.cells(columns).reshape(inside.shape) * inside
    return rows.reshape(-1, inside.shape[-1]).sum(axis=0)


def public_groupings(
    by: Iterable[str], overall: bool, column: str, facts: PublicFacts
) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
    """Yield every group of rows that a criterion compares, such as the rows of women, as a pair (columns, inside): some
    columns, and an array that marks which combinations of their bins are in the group. The function reads no table.

    columns : (`column`,) for the group of all rows, and for groups by `column` itself; otherwise the grouping column and
        `column`.
    inside : an array with an axis for each of these columns. The array is 1.0 for cells whose rows are in the group and have a
        value of `column`, and 0.0 for other cells.
    """
    values = (np.arange(len(facts.by_name[column].labels)) < facts.by_name[column].present).astype(float)
    if overall:
        yield (column,), values
    for name in by:
        for group in _public_groups(name, facts):
            yield ((column,), group * values) if name == column else ((name, column), np.outer(group, values))


def _public_groups(name: str, facts: PublicFacts) -> np.ndarray:
    """Return an (n_groups, n_bins) mask of the released bins of a column that are in each group. Bins of missing values are
    in no group.
    """
    column = facts.by_name[name]
    groups = np.eye(len(column.labels), dtype=bool)
    if name in facts.groups:
        groups = np.array([group.inside for group in facts.groups[name]])
    values = np.arange(len(column.labels)) < column.present
    return (groups & values)[(groups & values).any(axis=1)]


# Bounds of the errors of means, shares and quantiles in groups, from limits of sums that noisy tables give (theory 13.6,
# criteria that measurements answer).


def furthest_mean(limits: Limits, step: float, size: int, target: float, most: float) -> float:
    """Return the largest possible error of the mean of a group, if the number of its original rows and the sum of their
    values are known only within limits. The error is the distance of the resized mean from `target`. A resized mean is the
    sum divided by the number of rows, or by `size` if this is larger.

    Parameters
    ----------
    limits : the limits on the number of rows of the group, and the limits on the sum of the values of these rows, in steps.
    step : the length of a step, in the unit of the values.
    target : the released mean of the group.
    most : the largest possible absolute value of a resized mean.
    size : the minimum size. Smaller groups are padded with 0 up to this size.

    Notes
    -----
    sum / max(rows, size) increases with the sum. As the number of rows grows, the quotient grows if the sum is below 0, and
    otherwise falls. So the extremes are at the corners. Without rows, the sum and the resized mean are 0.
    """
    numbers, sums = (limits.low[0], limits.high[0]), (limits.low[1], limits.high[1])
    corners = [float(total) * step / max(int(rows), size) for rows in numbers for total in sums]
    return max(abs(min(max(corner, -most), most) - target) for corner in corners)


def furthest_share(limits: Limits, hits: int, rows: int) -> float:
    """Return the largest possible error of a share in a group, such as the share of smokers among women, if the original
    counts are known only within limits. The error is |a - p (a + b)| / rows. Here p = hits / rows is the released share.

    Of the original rows of the group, a count for the share and b do not. The result is the maximum over all a and b within
    limits. The expression a - p (a + b) = a (1 - p) - b p is linear in a and b.
    """
    share = hits / rows
    highest = float(limits.high[0]) * (1 - share) - float(limits.low[1]) * share
    lowest = float(limits.low[0]) * (1 - share) - float(limits.high[1]) * share
    return max(highest, -lowest) / rows


def most_beyond(limits: Limits, rows: np.ndarray, quantiles: Sequence[Fraction], within: int) -> Iterator[float]:
    """For every quantile, yield an upper bound on how many original rows too many lie on one side of a window of bins
    around the released quantile. The original counts are known only within limits. Yield NaN if the group has no released
    rows.

    Parameters
    ----------
    limits : the limits on the group's sums in `ConditionalMedian.measured_sums`.
    rows : (n_bins,) the number of rows of the group in each bin, in the table.
    within : the number of bins by which the window extends to either side.
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
    column : the column whose values the criterion compares. Example: `column = "income"`.
    by : the columns to group by, each separately. The groups are the bins of the column. If [groups] has the column, the groups
        are the bins of [groups]. Example: `by = ["age", "sex"]`.
    overall : if true, the criterion also compares all rows together. Example: `overall = false`, `by = ["age"]`.
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
        """Return every group of rows that the criterion compares, such as the rows of women, as a pair (columns, inside):
        some columns, and an array that is 1 for the combinations of their bins that are in the group and 0 for all others.
        """
        return list(public_groupings(self.by, self.overall, self.column, facts))

    def column_mistakes(self, setting: Setting, *, ordered: bool = False) -> list[Mistake]:
        """Return the mistakes in the column and in the grouping columns. With `ordered`, the bins of the column must be
        ordered.
        """
        wrong = [*unknown_columns(setting.schema, "column", [self.column]), *grouping_mistakes(setting, "by", self.by)]
        if ordered and not wrong and not setting.schema[self.column].ordered:
            wrong.append(Mistake("column", f"The bins of {self.column!r} have no order, which this criterion needs"))
        return wrong

    def rows_of_smallest_group(self, n: int, setting: Setting | None) -> int:
        """Return an upper limit on the number of rows in the smallest group, for any table of n rows."""
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
        """Return a description of the groups of rows that the criterion compares, for a sentence to readers."""
        return grouped(self.about.by, self.about.overall, facts)

    def smallest(self, facts: PublicFacts) -> int:
        """Return the size of the smallest group, counting only released rows that have a value of the compared column."""
        bins = facts.table.digits(facts.table.layout.index(self.about.column))
        with_value = bins < facts.by_name[self.about.column].present
        return smallest_group(self.about.by, self.about.overall, with_value, facts)

    def drawn_shares(self, drawing: Drawing, facts: PublicFacts, shares: int) -> float:
        """Return a limit on how much a share of all rows can change because the release uses a random subset of the rows.
        The limit holds at once for `shares` shares in each group, and for the rest of the group beside each share. It is
        wrong with probability at most `drawing.risk`.
        """
        ways = math.prod(drawing.ways.get(name, 1) for name in {self.about.column, *self.about.by})
        return drawing.of_shares(2 * len(self.about.groups_in(facts)) * shares * ways)

    @property
    def asks_single_columns(self) -> bool:
        """Return whether there is only one group, which contains all rows."""
        return not self.about.by

    def guards(self, pair: LostPair) -> bool:
        """Return whether the criterion compares one column of the pair within groups of the other column."""
        return pair.is_one_of(self.about.column, self.about.by)
