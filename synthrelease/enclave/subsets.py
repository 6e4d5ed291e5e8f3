"""Uniformly random subsets of the rows behind counts, drawn exactly.

Number the rows 0 to K - 1, cell by cell, draw distinct numbers, count the cells they fall into: no probability is computed, so
nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.privacy.noise import SYSTEM, SystemEntropy

_AT_ONCE = 2**20
"""Numbers that are drawn at once, for the memory."""

_FEW = 64
"""Below one number in so many rows the numbers are kept themselves, 8 bytes each; from there on a byte marks every row."""


def uniform_subset(table: Counts, size: int, entropy: SystemEntropy = SYSTEM) -> Counts:
    """A uniformly random set of `size` rows of a table, without replacement.

    Parameters
    ----------
    size : from 0 to the number of rows.

    Raises
    ------
    ValueError : for another size.

    Notes
    -----
    The smaller of the subset and its complement is drawn: the complement of a uniform subset is one. Numbers are drawn
    independently and uniformly, and the first `size` different ones are kept: given those before, the next different one is
    uniform over the rest, so every set of that size is equally likely. Memory is at most a byte for each row.
    """
    rows = table.total
    if not 0 <= size <= rows:
        raise ValueError("a subset has at least 0 rows and at most those of the table")
    return table.with_counts(_drawn(table, size, entropy))


def random_pieces(table: Counts, sizes: Sequence[int], entropy: SystemEntropy = SYSTEM) -> tuple[Counts, ...]:
    """The rows of a table, put into a uniformly random order and cut into pieces of these sizes, in exact law.

    Parameters
    ----------
    sizes : as of `PrivateCounts.split`, which checks them.

    Notes
    -----
    The first piece of a random order is a uniform subset, and given it the second is one of the rest, and so on (theory 11.11,
    counts of random pieces). The last piece is what is left.
    """
    found, left = [], table
    for size in sizes[:-1]:
        drawn = _drawn(left, size, entropy)
        found.append(left.with_counts(drawn))
        left = left.with_counts(left.counts - drawn)
    return (*found, left)


def _drawn(table: Counts, size: int, entropy: SystemEntropy) -> np.ndarray:
    """(n_cells,) how many rows of each cell are in a uniform subset."""
    rows = table.total
    few = min(size, rows - size)
    ends, drawn = np.cumsum(table.counts), np.zeros(len(table), dtype=np.int64)
    for numbers in _numbers(rows, few, entropy):
        if len(numbers):
            first = np.searchsorted(ends, numbers[0], side="right")
            found = np.bincount(np.searchsorted(ends, numbers, side="right") - first)
            drawn[first : first + len(found)] += found
    return drawn if 2 * size <= rows else table.counts - drawn


def _numbers(rows: int, few: int, entropy: SystemEntropy) -> Iterator[np.ndarray]:
    """The numbers of the rows of a uniform subset, rising, in batches."""
    if _FEW * few <= rows:
        yield _distinct(rows, few, entropy)
        return
    marked = _marked(rows, few, entropy)
    for start in range(0, rows, _AT_ONCE):
        yield start + np.flatnonzero(marked[start : start + _AT_ONCE])


def _distinct(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """(size,) different numbers below `bound`, in rising order, size <= bound / 2; every set of them is equally likely.

    At most as many numbers are drawn at once as are still missing, so all different ones are kept.
    """
    taken = np.empty(0, dtype=np.int64)
    while missing := size - len(taken):
        taken = np.union1d(taken, entropy.picks(np.full(min(missing, _AT_ONCE), bound)))
    return taken


def _marked(bound: int, size: int, entropy: SystemEntropy) -> np.ndarray:
    """(bound,) True at the places of such numbers, in the memory that many of them need."""
    taken, missing = np.zeros(bound, dtype=bool), size
    while missing:
        taken[entropy.picks(np.full(min(missing, _AT_ONCE), bound))] = True
        missing = size - int(np.count_nonzero(taken))
    return taken
