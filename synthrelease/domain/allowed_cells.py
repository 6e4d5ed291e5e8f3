"""The cells of a mask that are allowed, in order, without a list of them: a mask of many columns has tens of millions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_BLOCK = 2**16
"""Cells that are listed at once, about."""


class AllowedCells:
    """(n, n_columns) the indices of the entries of a mask that are False, in lexicographic order, as an array is indexed.

    Parameters
    ----------
    forbidden : the mask, an axis for each column.

    Examples
    --------
    >>> found = AllowedCells(np.array([[False, True], [True, False], [False, False]]))
    >>> len(found), found[np.array([3, 0, 1])].tolist()
    (4, [[2, 1], [0, 0], [1, 1]])
    """

    def __init__(self, forbidden: np.ndarray):
        self._forbidden, shape = forbidden, forbidden.shape
        few = (axes for axes in range(forbidden.ndim) if np.prod(shape[axes:], dtype=float) <= _BLOCK)
        self._leading = next(few, forbidden.ndim - 1)
        free = [block.size - np.count_nonzero(block) for _, block in self._blocks()]
        self._ends = np.cumsum(free, dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        order = np.argsort(places, kind="stable")
        wanted = places[order]
        starts = np.searchsorted(wanted, np.concatenate([[0], self._ends]))
        found = np.zeros((len(places), self._forbidden.ndim), dtype=np.int64)
        for number, (leading, block) in enumerate(self._blocks()):
            own = slice(starts[number], starts[number + 1])
            if own.start == own.stop:
                continue
            before = self._ends[number - 1] if number else 0
            cells = np.flatnonzero(~block)[wanted[own] - before]
            found[order[own], : self._leading] = leading
            for axis, bins in enumerate(np.unravel_index(cells, block.shape), start=self._leading):
                found[order[own], axis] = bins
        return found

    def _blocks(self) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
        """Parts of the mask in order, each with the indices of its place."""
        for leading in np.ndindex(self._forbidden.shape[: self._leading]):
            yield leading, self._forbidden[leading]
