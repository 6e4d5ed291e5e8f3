"""What swapping a public table costs and keeps, for stakeholders: twice the nominal epsilon first, then what is exact."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.errors import listing
from synthrelease.rehearsal.baselines.swapping import PermutationSwapping


@dataclass(frozen=True, kw_only=True)
class TableDeviation:
    """How far a table of some columns is off.

    Attributes
    ----------
    columns : their names.
    wrong_share : the share of records that would have to change cells, (1/2n) sum |r - s| (total variation).
    """

    columns: tuple[str, ...]
    wrong_share: float


@dataclass(frozen=True, kw_only=True)
class SwapReport:
    """Swapping of one public table.

    Attributes
    ----------
    pairwise_epsilon : twice the nominal epsilon, the number that stands beside a release's (theory 10.1, permutation swapping).
    nominal_epsilon : for each record that differs.
    largest_stratum : b; it is published with the invariants.
    exact : the largest tables that are published exactly, by the names of their columns.
    errors : of all tables of at most so many columns as were asked for that are not exact.
    """

    pairwise_epsilon: float
    nominal_epsilon: float
    largest_stratum: int
    exact: tuple[tuple[str, ...], ...]
    errors: tuple[TableDeviation, ...]

    @classmethod
    def of(cls, original: Counts, swapped: Counts, swapping: PermutationSwapping, largest: int = 2) -> SwapReport:
        """Parameters: the public table, what came of it, and of how many columns a compared table is at most."""
        names = original.layout.columns
        everything = range(len(names))
        held = tuple(column for column in everything if column not in swapping.variables)
        exact = (held, tuple(sorted((*swapping.key, *swapping.variables))))
        looked_at = [
            columns
            for size in range(1, largest + 1)
            for columns in combinations(everything, size)
            if not swapping.keeps(columns)
        ]
        return cls(
            pairwise_epsilon=swapping.pairwise_epsilon(original),
            nominal_epsilon=swapping.nominal_epsilon(original),
            largest_stratum=swapping.largest_stratum(original),
            exact=tuple(tuple(names[column] for column in columns) for columns in exact),
            errors=tuple(
                TableDeviation(
                    columns=tuple(names[column] for column in columns),
                    wrong_share=_wrong_share(original.project(columns), swapped.project(columns)),
                )
                for columns in looked_at
            ),
        )

    def lines(self) -> tuple[str, ...]:
        """In words, the number to compare with a release's epsilon first."""
        worst = max(self.errors, key=lambda error: error.wrong_share, default=None)
        return (
            f"no guarantee like a release's: epsilon {self.pairwise_epsilon:.2f} between the closest tables that agree on all "
            f"that is published exactly (2 x the nominal {self.nominal_epsilon:.2f} for each record; largest stratum "
            f"{self.largest_stratum}, itself published)",
            *(f"published exactly: the table of {listing(columns)}" for columns in self.exact),
            *(
                ()
                if worst is None
                else (f"most wrong of the others: {listing(worst.columns)}, {worst.wrong_share:.2%} of the records",)
            ),
        )


def _wrong_share(original: Counts, other: Counts) -> float:
    """(1/2n) sum over the cells of either table of |r - s|."""
    both = original + other
    at = [table.find(both.bins) for table in (original, other)]
    counts = [np.where(place >= 0, table.counts[place], 0) for place, table in zip(at, (original, other), strict=True)]
    return float(np.abs(counts[0] - counts[1]).sum()) / (2 * original.total)
