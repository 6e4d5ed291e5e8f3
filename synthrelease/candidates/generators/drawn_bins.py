"""Bins of single rows, each by a draw of its own from public shares. All of it is post-processing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_DRAWN_TOGETHER = 2**14
"""Single rows, which stay close to the processor."""
_PARTS = 2**8
"""Parts of [0, 1), at most, of which each the bin is looked up; a power of 2, so that the part of a number is exact."""


def draw_bins(conditional: np.ndarray, parents: Sequence[np.ndarray], n: int, generator: np.random.Generator) -> np.ndarray:
    """(n,) a bin for each of n rows, drawn by the shares that its parents' bins have; a bin of share 0 is never drawn.

    A bin never falls while the number that is drawn grows. So most of equal parts of [0, 1) have one bin from end to end, which
    is known before anything is drawn (Chen & Asmussen's guide table); only in the others is it searched for.

    Parameters
    ----------
    conditional : shares, axes (parents..., bins).
    parents : for every parent, (n,) its bins.
    """
    drawing = _Drawing(conditional.reshape(-1, conditional.shape[-1]), n)
    drawn, bins = generator.random(n), np.empty(n, dtype=drawing.kind)
    for start in range(0, n, _DRAWN_TOGETHER):
        some = slice(start, start + _DRAWN_TOGETHER)
        rows = np.zeros(len(bins[some]), dtype=np.int64)
        for parent, size in zip(parents, conditional.shape, strict=False):
            rows *= size
            rows += parent[some]
        bins[some] = drawing.bins(rows, drawn[some])
    return bins


class _Drawing:
    """Bins by shares, from numbers in [0, 1).

    Parameters
    ----------
    shares : (rows, bins) of each law; they need not add up to 1.
    n : how many numbers there will be, about.
    """

    def __init__(self, shares: np.ndarray, n: int):
        n_rows, size = shares.shape
        ends = np.cumsum(shares, axis=1)
        self._totals, self._last = ends[:, -1].copy(), size - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
        self._halvings = (size - 1).bit_length()
        inner = np.full((n_rows, 2**self._halvings), np.inf)
        inner[:, : size - 1] = ends[:, :-1]
        self._inner, self.kind = inner.ravel(), np.min_scalar_type(size)
        self._parts, self._unknown = 1 << (min(_PARTS, 1 + n // (8 * n_rows)).bit_length() - 1), size
        starts = np.arange(self._parts) / self._parts
        rows = np.repeat(np.arange(n_rows), self._parts)
        first = self._searched(rows, np.tile(starts, n_rows))
        last = self._searched(rows, np.tile(np.nextafter(starts + 1 / self._parts, 0), n_rows))
        self._guide = np.where(first == last, first, self._unknown).astype(self.kind)

    def bins(self, rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """(n,) the bins of these laws for these numbers."""
        found: np.ndarray = self._guide.take(rows * self._parts + (drawn * self._parts).astype(np.int64))
        left = np.flatnonzero(found == self._unknown)
        found[left] = self._searched(rows.take(left), drawn.take(left))
        return found

    def _searched(self, rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        aims, first = drawn * self._totals.take(rows), rows << self._halvings
        places = first.copy()
        for step in (1 << halving for halving in reversed(range(self._halvings))):
            # how many ends lie at or below the aim, by halves
            places += np.multiply(aims >= self._inner.take(places + (step - 1)), step, dtype=np.int64)
        return np.minimum(places - first, self._last.take(rows))  # a product rounded up to the end leads to no bin of 0
