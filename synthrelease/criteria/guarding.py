"""What happens to a table when two of its columns lose what ties them together, and who would notice.

A rehearsal asks it of every pair of columns, so that nobody finds out after a release that "diabetes : hospital" was looked at
by no criterion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LostPair:
    """Two columns as they would be if they were independent, with the right shares each.

    Attributes
    ----------
    columns : their names.
    distance : how far their table would then be off: total variation, a share of the rows.
    largest_cell : how far its worst cell would be off, as a share of the rows.
    n_columns : of the whole table.
    """

    columns: frozenset[str]
    distance: float
    largest_cell: float
    n_columns: int

    def is_one_of(self, column: str, others: Iterable[str]) -> bool:
        """Whether the pair is this column and one of the others."""
        return column in self.columns and any(self.columns == {column, other} for other in others)
