"""Columns that say the same as another one in every row of the public file: one of them is enough."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.drafting.column_draft import ColumnDraft, LeftOut

LEAST = 5
"""Rows in a second bin, at least: of a column that is nearly constant agreement says little."""


def said_twice(columns: Sequence[ColumnDraft], table: Counts) -> dict[str, LeftOut]:
    """Columns that could be told from another one that stays, by its bins, and the other from it; by name.

    A table measured with noise would let rows contradict themselves (a stay of 3 days from Monday to Tuesday), and a mean of
    one by the other is no finding. What is made of dates, or of the first characters of a code, goes first, then the later
    column.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """
    digits = [table.digits(place) for place in range(len(columns))]
    varies = [np.sort(np.bincount(each, weights=table.counts))[-2:][0] >= LEAST for each in digits]
    used = [_used(each) for each in digits]
    found: dict[str, LeftOut] = {}
    for first, second in combinations(range(len(columns)), 2):
        if (
            not (varies[first] and varies[second] and used[first] == used[second])
            or {columns[first].name, columns[second].name} & found.keys()
        ):
            continue
        if _tell_each_other(digits[first], digits[second]):
            derived = columns[first].derived and not columns[second].derived
            gone, kept = (columns[first], columns[second]) if derived else (columns[second], columns[first])
            of_it = f"{gone.name!r}, made of it," if gone.derived else "it"
            found[gone.name] = LeftOut(
                source=gone.source,
                because=f"{of_it} says the same as {kept.name!r} in every row of the public file, in these bins",
            )
    return found


def _tell_each_other(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether every bin of one goes with a single bin of the other, and the reverse."""
    together = np.bincount(one.astype(np.int64) * (int(other.max()) + 1) + other)
    return np.count_nonzero(together) == _used(one) == _used(other)


def _used(digits: np.ndarray) -> int:
    """How many bins occur."""
    return int(np.count_nonzero(np.bincount(digits)))
