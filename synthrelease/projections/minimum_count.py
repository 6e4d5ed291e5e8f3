"""Face privacy: no row of the released table occurs fewer than m times (paper, Algorithm 3; theory 7)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from synthrelease.errors import RejectedRound
from synthrelease.projections.base import Projection
from synthrelease.table import Counts


class MinimumCount(Projection):
    """Projection to a table in which every row that occurs, occurs at least `minimum_count` times."""

    kind: Literal["minimum_count"] = "minimum_count"
    minimum_count: int = Field(ge=1, le=1000)

    def project(self, table: Counts, generator: np.random.Generator) -> Counts:
        """The projected table, of the same size.

        Of the n_k distinct rows that occur k < m times, floor(k n_k / m) are kept at random, each m times; rows that
        occur m times or more stay. What the rounding lacks (fewer than m rows for each k) is made up by adding single
        rows to kept cells at random. Post-processing of a synthetic table: free.

        Raises
        ------
        RejectedRound : when nothing can be kept (theory 7).
        """
        m = self.minimum_count
        counts = np.where(table.counts >= m, table.counts, 0)
        for k in range(1, m):
            cells = np.flatnonzero(table.counts == k)
            kept = generator.choice(cells, size=k * len(cells) // m, replace=False)
            counts[kept] = m
        missing = table.total - int(counts.sum())
        if missing:
            cells = np.flatnonzero(counts)
            if not len(cells):
                raise RejectedRound("the projection to a minimum count kept no row")
            np.add.at(counts, generator.choice(cells, size=missing), 1)
        return Counts(table.layout, table.codes, counts)
