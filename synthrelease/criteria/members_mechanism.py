"""The private half of criteria about members: turn wide records into rows of members, and compute a criterion value from these
rows.

Private: the counts of wide records, and the rows of members made from them, with exact values. Out: an exact criterion value,
only for `criteria.base_mechanism`, which adds the noise.

Neighbours replace one root. This removes at most k rows of members and adds at most k rows. If the criterion value moves by at
most s when one row is removed, added or replaced, it moves by at most k s when one root is replaced (theory 3.22, rows of
members). Clipping to the possible range does not raise this sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable

from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import RowsOnBins


def figure_of_members(
    counts: Counts, rows: RowsOnBins, figure: Callable[[Counts], float], figure_range: tuple[float, float]
) -> float:
    least, most = figure_range
    return min(max(figure(rows.with_own_values(counts)), least), most)
