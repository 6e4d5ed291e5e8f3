"""The public facts about a release that a criterion's sentence, its sensitivity and its use in bounds may rest on.

They are made from release.json by `bundle.public`, and from a loaded release by `published.facts`; a criterion cannot tell.
`criteria` holds criteria; which kind one is, a criterion that builds on another finds out by its class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import PublishedColumn


@dataclass(frozen=True, kw_only=True)
class Group:
    """A group of released bins of a column: its label, and (n_bins,) which bins lie in it."""

    label: str
    inside: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """What is public about a released table.

    Attributes
    ----------
    n : its number of rows.
    groups : what the acceptance file groups the bins of columns to, by column.
    criteria : the criteria that can be read, by name.
    counts : the released table; None where only words are asked for.
    raw : the rules for private rows on the released bins; None where they are not asked for.
    linked : how members stand in the record of their root; None where rows have no members.
    """

    n: int
    columns: tuple[PublishedColumn, ...]
    groups: Mapping[str, tuple[Group, ...]]
    criteria: Mapping[str, object]
    counts: Counts | None = None
    raw: Plausibility | None = None
    linked: Linked | None = None

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        return {column.name: column for column in self.columns}

    def unit(self, name: str) -> str:
        """The unit of a column, empty where it has none."""
        return self.by_name[name].unit if name in self.by_name else ""

    def grid_of(self, names: Iterable[str]) -> str:
        """What the grids of some columns do to their values, in words; empty where every value is on its grid."""
        columns = [self.by_name[name] for name in names if name in self.by_name]
        coarse = [each for each in columns if each.step and not (each.kind == "integer" and each.step == 1)]
        found = [f"{each.name.replace('_', ' ')} to the nearest {each.step:g} {each.unit}" for each in coarse]
        return "".join(f", {text.rstrip()}" for text in found)

    @property
    def table(self) -> Counts:
        """The released table. Raises LookupError where these facts do not hold it."""
        if self.counts is None:
            raise LookupError("the released table is not among these facts")
        return self.counts

    def cells(self, names: tuple[str, ...]) -> np.ndarray:
        """(n_cells,) counts over the product of the released bins of these columns, the last one varying fastest."""
        return self.table.marginal([self.table.layout.index(name) for name in names]).ravel()

    def of_values(self, cells: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
        """The entries of `cells` or `possible` for bins that hold values, without those of missing values."""
        shape = [len(self.by_name[name].labels) for name in names]
        return cells.reshape(shape)[tuple(slice(self.by_name[name].present) for name in names)].ravel()

    def rows_with_values(self, names: tuple[str, ...]) -> int:
        """Released rows that have a value in all of these columns."""
        bins = {name: self.table.digits(self.table.layout.index(name)) for name in names}
        valued = np.all([bins[name] < self.by_name[name].present for name in names], axis=0)
        return int(self.table.counts[valued].sum())

    def possible(self, names: tuple[str, ...]) -> np.ndarray:
        """(n_cells,) over the product of the released bins: False where the raw rules exclude every record of the cell."""
        if self.raw is None:
            raise LookupError("the rules for private rows are not among these facts")
        return ~self.raw.structural_zeros([self.raw.layout.index(name) for name in names]).ravel()
