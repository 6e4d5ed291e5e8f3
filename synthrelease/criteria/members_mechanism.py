"""The private half of figures of members: a figure of rows, of the rows that the members of all roots make.

Private: the counts of wide records, of which the rows of members are made, with their own values. Out: an exact figure, for
`criteria.base_mechanism` alone, which adds the noise.

Neighbours replace one root: at most k rows of members less, and k more. A figure that one row less, one more, or another in its
place moves by s at most so moves by k s (theory 3.22, rows of members); clipping to the range of a figure moves it no further.
"""

from __future__ import annotations

from collections.abc import Callable

from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import RowsOnBins


def figure_of_members(
    counts: Counts, rows: RowsOnBins, figure: Callable[[Counts], float], figure_range: tuple[float, float]
) -> float:
    """Return the figure of the rows of members of the wide records."""
    least, most = figure_range
    return min(max(figure(rows.with_own_values(counts)), least), most)
