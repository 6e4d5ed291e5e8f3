"""Define projections, which change a candidate before the criteria are computed, so that no released row is too rare.

See theory 7.1, minimum count, and theory 7.2, frequent combinations. To add a projection, write a class with its settings,
and add a line to `PROJECTIONS`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.data.counts import Counts
from synthrelease.data.synthetic_table import rare_first
from synthrelease.errors import RejectedRound, so_many
from synthrelease.settings.base import SpecTable

# Every projection changes a synthetic table and preserves its number of rows.


class Projection(SpecTable):
    """The base class of projections. An object has the validated settings from the configuration file.

    A new projection needs one file with a subclass, one line in `PROJECTIONS`, and examples (tests/examples). The subclass
    describes itself in words, states the count that it guarantees, and says whether `init` drafts it.
    tests/test_contracts.py checks this.

    Attributes
    ----------
    kind : the kind of the projection, which determines its settings.
    """

    draft: ClassVar[Mapping[str, object]] = {}
    """Settings that `init` writes into a draft, by key; empty if `init` drafts no such projection."""

    no_draft: ClassVar[str] = ""
    """The reason why `init` drafts no such projection."""

    kind: str

    @property
    def sentence(self) -> str:
        raise NotImplementedError

    @property
    def in_short(self) -> str:
        """Return a short description of a projected table, such as "each row at least 2 times"."""
        raise NotImplementedError

    @property
    def asked_count(self) -> int:
        """Return the minimum count that the settings demand of each row, or of each combination of few columns."""
        raise NotImplementedError

    @property
    def promised_count(self) -> int:
        """Return how often every row of a projected table occurs at least."""
        raise NotImplementedError

    def project(self, table: Counts, generator: np.random.Generator) -> Counts:
        """Return the projected table, with the same number of rows. It is post-processing, without a privacy cost.

        Raises
        ------
        RejectedRound : if the projection is not possible.
        """
        raise NotImplementedError


# Stricter face privacy: no combination of bins of a few columns is rare (theory 7.2, frequent combinations).

MOST_CHOICES = 5_000
"""Largest number of column sets that are checked repeatedly. It allows all triples of 31 columns, or all pairs of 100 columns.
"""


class FrequentCombinations(Projection):
    """Changes the table so that every combination of bins of any `columns` columns occurs at least `minimum_count` times,
    or not at all.

    Attributes
    ----------
    columns : the number of columns of a combination. Combinations of fewer columns are then also frequent. With many
        columns, few rows remain, so try this in a rehearsal. Example: `columns = 2`.
    minimum_count : how often a combination must occur, if it occurs at all. Example: `minimum_count = 5`.

    Examples
    --------
    >>> FrequentCombinations(kind="frequent_combinations", columns=2, minimum_count=3).in_short
    'each combination of 2 columns at least 3 times'
    """

    no_draft: ClassVar[str] = "The steward must decide how rare a combination of few columns may be; `init` drafts whole rows."
    kind: Literal["frequent_combinations"] = "frequent_combinations"
    columns: int = Field(ge=1)
    minimum_count: int = Field(ge=1, le=1000)

    @property
    def sentence(self) -> str:
        return (
            f"Rows with a combination of any {self.columns} columns that occurred fewer than {self.minimum_count} times were "
            "left out, repeatedly, until there were none. Further copies of the other rows, drawn at random, replace them."
        )

    @property
    def in_short(self) -> str:
        return f"each combination of {so_many(self.columns, 'column')} at least {so_many(self.minimum_count, 'time')}"

    @property
    def asked_count(self) -> int:
        return self.minimum_count

    @property
    def promised_count(self) -> int:
        return 1

    def project(self, table: Counts, generator: np.random.Generator) -> Counts:
        """Return the projected table, with the same number of rows.

        Rows with a combination that occurs fewer than `minimum_count` times are dropped, again and again, until none is
        rare. The result is the largest sub-table without rare combinations. Rows drawn from it with replacement then fill
        the table up to the original number. This is post-processing of a synthetic table, without a privacy cost.

        Raises
        ------
        RejectedRound : if no row is left, or if there are more than `MOST_CHOICES` column sets to check.
        """
        width = len(table.layout.sizes)
        chosen = min(self.columns, width)
        if math.comb(width, chosen) > MOST_CHOICES:
            raise RejectedRound(f"the projection checks at most {MOST_CHOICES:,} sets of columns")
        left, rare = table, True
        while rare and len(left):
            frequent = np.ones(len(left), dtype=bool)
            for columns in combinations(range(width), chosen):
                frequent &= _occurrences(left, columns) >= self.minimum_count
            left, rare = left.keep(frequent), not frequent.all()
        if not len(left):
            raise RejectedRound("the projection to frequent combinations kept no row")
        missing = table.total - left.total
        counts = left.counts + generator.multinomial(missing, left.counts / left.total)
        return left.with_counts(counts)


def _occurrences(table: Counts, columns: tuple[int, ...]) -> np.ndarray:
    parts = table.project(columns)
    cells = parts.find([table.bins[column] for column in columns])
    return parts.counts[cells]


# Face privacy: no row of the released table occurs fewer than m times (paper, Algorithm 3; theory 7.1, minimum count).

_KEPT = {
    "random": "drawn at random",
    "spread": "spread evenly over them, so that rare bins keep their size",
    "nested": "drawn at random in steps, the rarest first",
}


class MinimumCount(Projection):
    """Changes the table so that every distinct row occurs at least `minimum_count` times, or not at all.

    Attributes
    ----------
    minimum_count : how often a distinct row of the released table must occur, if it occurs at all. Example: `minimum_count
        = [2, 3]`.
    keep : how the distinct rows to keep are selected. All methods keep a row with the same probability. "random" selects
        independently, as in the paper. "spread" sorts rows with rare bins together and takes rows at equal distances, which
        preserves the totals of rare bins. "nested" selects in steps, as for the published births of 2014. Example: `keep =
        "spread"`.

    Examples
    --------
    >>> MinimumCount(kind="minimum_count", minimum_count=2).in_short
    'each row at least 2 times'
    """

    draft: ClassVar[Mapping[str, object]] = {"minimum_count": 2}
    kind: Literal["minimum_count"] = "minimum_count"
    minimum_count: int = Field(ge=1, le=1000)
    keep: Literal["random", "spread", "nested"] = "random"

    @property
    def sentence(self) -> str:
        return (
            f"Some of the rows that occurred too seldom were kept, {_KEPT[self.keep]}, and repeated up to the minimum count; "
            "they replace the other rare rows."
        )

    @property
    def in_short(self) -> str:
        return "no minimum count" if self.minimum_count == 1 else f"each row at least {self.minimum_count} times"

    @property
    def asked_count(self) -> int:
        return self.minimum_count

    @property
    def promised_count(self) -> int:
        return self.minimum_count

    def project(self, table: Counts, generator: np.random.Generator) -> Counts:
        """Return the projected table, with the same number of rows.

        Of the n_k distinct rows that occur k < m times, floor(k n_k / m) are kept, each m times. Rows that occur m times or
        more do not change. The rows that rounding leaves missing are added as random copies of kept rows. With `keep =
        "nested"` the kept rows are drawn in m - 1 steps (theory 7.3, nested minimum count). This is post-processing of a
        synthetic table, without a privacy cost.

        Raises
        ------
        RejectedRound : if no row can be kept (theory 7.1, minimum count).
        """
        if (m := self.minimum_count) == 1:
            return table
        counts = np.where(table.counts >= m, table.counts, 0)
        if self.keep == "nested":
            counts[nested(table.counts, m, generator)] = m
            return _filled_up(table, counts, generator)
        order = rare_first(table.bins, table.counts, table.total) if self.keep == "spread" else None
        for k in range(1, m):
            cells = np.flatnonzero(table.counts == k) if order is None else order[table.counts[order] == k]
            size = k * len(cells) // m
            if order is None:
                chosen = generator.choice(cells, size=size, replace=False)
            else:
                chosen = cells[((np.arange(size) + generator.random()) * len(cells) / max(1, size)).astype(np.int64)]
            counts[chosen] = m
        return _filled_up(table, counts, generator)


def nested(counts: np.ndarray, minimum_count: int, generator: np.random.Generator) -> np.ndarray:
    """Return the indices of the rare rows, with counts below m = `minimum_count`, that are kept (Hod & Canetti 2024,
    Algorithm 4, the projection of the release of 2014). A row of count k is kept with probability about k / m.

    R_0 is empty. For k = 1 to m - 1, add the rows that occur k times to R_(k-1), and draw a share of k / (k + 1) of them
    without replacement, rounded down; these are R_k. The rows in R_(m-1) are kept. So a row of count k is kept with
    probability k / (k + 1) x ... x (m - 1) / m = k / m, up to rounding. Step 5 of the paper rounds the proportion down,
    which would give 0, but its proof needs the number rounded down.

    Parameters
    ----------
    counts : (n_cells,) the number of times that each row occurs.
    """
    chosen = np.zeros(0, dtype=np.int64)
    for k in range(1, minimum_count):
        joined = np.concatenate([chosen, np.flatnonzero(counts == k)])
        chosen = generator.choice(joined, size=k * len(joined) // (k + 1), replace=False)
    return chosen


def _filled_up(table: Counts, counts: np.ndarray, generator: np.random.Generator) -> Counts:
    """Set the rows to these counts, and fill the table up to its old number of rows with random copies of kept rows."""
    missing = table.total - int(counts.sum())
    if missing:
        cells = np.flatnonzero(counts)
        if not len(cells):
            raise RejectedRound("the projection to a minimum count kept no row")
        np.add.at(counts, generator.choice(cells, size=missing), 1)
    return table.with_counts(counts)


PROJECTIONS: Mapping[str, type[Projection]] = {"minimum_count": MinimumCount, "frequent_combinations": FrequentCombinations}
"""The projections, by the kind in the configuration."""


def published_projection(settings: Mapping[str, Any]) -> Projection | None:
    """Return the projection of a published configuration, or None for an unknown kind.

    Raises
    ------
    ValidationError (a ValueError) : if the settings are invalid for this kind.
    """
    model = PROJECTIONS.get(str(settings.get("kind", "")))
    return None if model is None else model.model_validate(settings)
