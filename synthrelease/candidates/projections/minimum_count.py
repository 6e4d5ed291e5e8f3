"""Face privacy: no row of the released table occurs fewer than m times (paper, Algorithm 3; theory 7.1, minimum count)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.candidates.projections.base import Projection
from synthrelease.data.counts import Counts
from synthrelease.data.synthetic_table import rare_first
from synthrelease.errors import RejectedRound

_KEPT = {
    "random": "drawn at random",
    "spread": "spread evenly over them, so that rare bins keep their size",
    "nested": "drawn at random in steps, the rarest first",
}


class MinimumCount(Projection):
    """Projection to a table in which every row that occurs, occurs at least `minimum_count` times.

    Attributes
    ----------
    minimum_count : how often each distinct row of the released table occurs at least. Example: `minimum_count = [2, 3]`.
    keep : how the rows to keep are drawn: "random" as in the paper, "spread" at equal distances along an order in which the
        rows of rare bins stand together, which keeps the totals of rare bins, or "nested" in steps, as for the published births
        of 2014. Each row is as likely to be kept each way. Example: `keep = "spread"`.

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
            f"Of the rows that occurred too seldom some were kept, {_KEPT[self.keep]}, and repeated up to the minimum count; "
            "they take the place of the others."
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
        """The projected table, of the same size.

        Of the n_k distinct rows that occur k < m times, floor(k n_k / m) are kept, each m times; rows that
        occur m times or more stay. What the rounding lacks (fewer than m rows for each k) is made up by adding single
        rows to kept cells at random. With `keep = "nested"` the rows kept are drawn in m - 1 steps (theory 7.3, nested minimum
        count). Post-processing of a synthetic table: free.

        Raises
        ------
        RejectedRound : when nothing can be kept (theory 7.1, minimum count).
        """
        m = self.minimum_count
        counts = np.where(table.counts >= m, table.counts, 0)
        if self.keep == "nested":
            counts[nested(table.counts, m, generator)] = m
            return _filled_up(table, counts, generator)
        order = rare_first(table.bins, table.counts, table.total) if self.keep == "spread" else None
        for k in range(1, m):
            cells = np.flatnonzero(table.counts == k) if order is None else order[table.counts[order] == k]
            size = k * len(cells) // m
            if order is None:
                kept = generator.choice(cells, size=size, replace=False)
            else:
                kept = cells[((np.arange(size) + generator.random()) * len(cells) / max(1, size)).astype(np.int64)]
            counts[kept] = m
        return _filled_up(table, counts, generator)


def nested(counts: np.ndarray, minimum_count: int, generator: np.random.Generator) -> np.ndarray:
    """Places of the rare rows that are kept (Hod & Canetti 2024, Algorithm 4, the projection behind the release of 2014).

    R_0 is empty. For k = 1 to m - 1 the rows that occur k times join R_(k-1), and of them all a share of k / (k + 1), rounded
    down, is drawn without replacement: R_k. Rows of R_(m-1) are kept, so one of count k with probability k / (k + 1) x ... x
    (m - 1) / m = k / m, up to the rounding. Step 5 of the text prints the proportion rounded down, which is 0; the proof needs
    the number of rows rounded down.

    Parameters
    ----------
    counts : (n_cells,) how often each row occurs.
    """
    kept = np.zeros(0, dtype=np.int64)
    for k in range(1, minimum_count):
        joined = np.concatenate([kept, np.flatnonzero(counts == k)])
        kept = generator.choice(joined, size=k * len(joined) // (k + 1), replace=False)
    return kept


def _filled_up(table: Counts, counts: np.ndarray, generator: np.random.Generator) -> Counts:
    """The table with these counts, rows that are missing from its size added singly to kept cells at random."""
    missing = table.total - int(counts.sum())
    if missing:
        cells = np.flatnonzero(counts)
        if not len(cells):
            raise RejectedRound("the projection to a minimum count kept no row")
        np.add.at(counts, generator.choice(cells, size=missing), 1)
    return table.with_counts(counts)
