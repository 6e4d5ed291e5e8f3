"""What the criteria about one column have in common that look at it among all rows and in groups of other columns."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from synthrelease.criteria.base import Setting
from synthrelease.criteria.guarding import LostPair
from synthrelease.criteria.members import OfMembers
from synthrelease.data.layout import Layout


class InGroups(OfMembers):
    """A criterion about a column, in groups of others.

    Attributes
    ----------
    column : the column that is looked at. Example: `column = "income"`.
    by : columns to group by, one grouping each, in the bins of [groups] where it has the column.
        Example: `by = ["age", "sex"]`.
    overall : whether all rows together count, too. Example: `overall = false`, `by = ["age"]`.
    """

    column: str
    by: tuple[str, ...] = ()
    overall: bool = True

    @model_validator(mode="after")
    def _has_groups(self) -> Self:
        if not self.by and not self.overall:
            raise ValueError("there must be a group-by column, or overall = true")
        return self

    @property
    def read(self) -> tuple[str, ...]:
        return (self.column, *self.by)

    @property
    def grouped_by(self) -> list[str]:
        """The columns to group by, and "" where all rows are a group."""
        return [*self.by, *([""] if self.overall else [])]

    def rows_of_smallest_group(self, n: int, setting: Setting | None) -> int:
        """How many of n rows the smallest group has at most, whatever the table: the groups of a column share the rows."""
        if setting is None or setting.schema.linked is not None:  # of members there may be more rows than n
            return n
        schema, own = setting.schema, setting.groups
        ways = [[own[name]] if name in own else list(schema[name].alternatives.values()) for name in self.by]
        groups = [min(binning.present for binning in binnings) for binnings in ways]
        return max(1, n // max(groups, default=1))

    def guards(self, pair: LostPair) -> bool:
        """It names the column and those it is grouped by."""
        return pair.is_one_of(self.column, self.by)

    def effort(self, layout: Layout, n: int) -> float:
        return float(min(n, layout.n_cells)) * (len(self.by) + self.overall)
