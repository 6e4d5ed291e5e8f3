"""Stricter face privacy: no combination of bins of any few columns occurs seldom (theory 7.2, frequent combinations)."""

from __future__ import annotations

import math
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.candidates.projections.base import Projection
from synthrelease.data.counts import Counts
from synthrelease.errors import RejectedRound, so_many

MOST_CHOICES = 5_000
"""Choices of columns that are looked at again and again: all of three of 31 columns, or of two of 100."""


class FrequentCombinations(Projection):
    """Projection to a table in which every combination of bins of any `columns` columns that occurs, occurs often enough.

    Attributes
    ----------
    columns : of so many columns at a time; combinations of fewer are then no rarer. With many columns few rows are left: try it
        in a rehearsal. Example: `columns = 2`.
    minimum_count : how often each combination that occurs must occur at least. Example: `minimum_count = 5`.

    Examples
    --------
    >>> FrequentCombinations(kind="frequent_combinations", columns=2, minimum_count=3).in_short
    'each combination of 2 columns at least 3 times'
    """

    no_draft: ClassVar[str] = "How rare a combination of few columns may look is a decision; whole rows are what is drafted."
    kind: Literal["frequent_combinations"] = "frequent_combinations"
    columns: int = Field(ge=1)
    minimum_count: int = Field(ge=1, le=1000)

    @property
    def sentence(self) -> str:
        return (
            f"Rows with a combination of any {self.columns} columns that occurred fewer than {self.minimum_count} times were "
            "left out, again and again until there were none; further copies of the others, drawn at random, take their place."
        )

    @property
    def in_short(self) -> str:
        return f"each combination of {so_many(self.columns, 'column')} at least {so_many(self.minimum_count, 'time')}"

    @property
    def asked_count(self) -> int:
        return self.minimum_count

    @property
    def promised_count(self) -> int:
        """A whole row may occur once where all its combinations of few columns are frequent."""
        return 1

    def project(self, table: Counts, generator: np.random.Generator) -> Counts:
        """The projected table, of the same size.

        Rows whose rarest combination occurs fewer than `minimum_count` times are dropped, which makes others rarer; so again,
        until none is rare. Each pass drops a row or is the last. The largest table of such rows is left: a row that a pass
        drops can be in no table of the kind. Then rows are drawn from those left, with replacement, up to the number of rows,
        which makes no combination rarer. Post-processing of a synthetic table: free.

        Raises
        ------
        RejectedRound : when no row is left, or there are too many choices of columns to look at.
        """
        width = len(table.layout.sizes)
        chosen = min(self.columns, width)
        if math.comb(width, chosen) > MOST_CHOICES:
            raise RejectedRound(f"the projection looks at no more than {MOST_CHOICES} choices of columns")
        left, rare = table, True
        while rare and len(left):
            kept = np.ones(len(left), dtype=bool)
            for columns in combinations(range(width), chosen):
                kept &= _occurrences(left, columns) >= self.minimum_count
            left, rare = left.keep(kept), not kept.all()
        if not len(left):
            raise RejectedRound("the projection to frequent combinations kept no row")
        missing = table.total - left.total
        counts = left.counts + generator.multinomial(missing, left.counts / left.total)
        return left.with_counts(counts)


def _occurrences(table: Counts, columns: tuple[int, ...]) -> np.ndarray:
    """(n_cells,) how many rows have the same bins of these columns as each cell."""
    parts = table.project(columns)
    places = parts.find([table.bins[column] for column in columns])
    return parts.counts[places]
