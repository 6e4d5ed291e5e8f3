"""Define the interface by which criteria read a synthetic table, and the order of cells in systematic sampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from synthrelease.data.counts import Counts, PackedBins, words_of
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Transformation

# `rare_first` orders the cells of a public table so that systematic sampling preserves the totals of rare bins.

RARE = 400
"""A bin is rare if it has fewer rows than this number. With at least this number of rows, the relative standard error of a
total is at most a twentieth.
"""


def rare_first(digits: Sequence[np.ndarray], weights: np.ndarray, rows: float) -> np.ndarray:
    """Return an order of cells, sorted by their rarest bin, then by all their bins, so that cells that share a rare bin are
    adjacent.

    Systematic sampling along this order preserves the totals of rare bins nearly exactly, and otherwise moves rows only between
    similar cells.

    Parameters
    ----------
    digits : per column, (n_cells,) the bin of every cell.
    weights : (n_cells,) the weight of each cell, at least 0.
    rows : the number of rows that all weights together represent.
    """
    sizes = tuple(int(bins.max(initial=0)) + 1 for bins in digits)
    totals = [np.bincount(bins, weights=weights, minlength=size) for bins, size in zip(digits, sizes, strict=True)]
    every = np.concatenate(totals)
    order = np.argsort(every, kind="stable")
    ranks = np.empty(len(every), dtype=np.min_scalar_type(len(every)))
    ranks[order] = np.arange(len(every))  # sorting by total, column and position does not mix bins with equal totals
    ranks[every * rows >= RARE * weights.sum()] = np.iinfo(ranks.dtype).max
    starts = np.cumsum([0, *sizes[:-1]])
    rarest = np.full(len(weights), np.iinfo(ranks.dtype).max, dtype=ranks.dtype)
    for start, size, bins in zip(starts, sizes, digits, strict=True):
        of_bins = ranks[start : start + size]
        if of_bins.min() < np.iinfo(ranks.dtype).max:  # some bin is rare
            np.minimum(rarest, of_bins[bins], out=rarest)
    layout = digits.layout if isinstance(digits, PackedBins) else Layout(columns=("",) * len(digits), sizes=sizes)
    keys = words_of(layout, digits)
    if len(keys) == 1 and (keys[0][1:] >= keys[0][:-1]).all():
        return np.argsort(rarest, kind="stable")  # a radix sort, because the integers are small
    return np.lexsort([*reversed(keys), rarest])


class SyntheticTable(Protocol):
    """A public table of `n` rows: a differentially private output, or public rows. Each distinct row is stored once, on the
    bins of a transformation, with its count."""

    @property
    def transformation(self) -> Transformation: ...

    @property
    def counts(self) -> Counts: ...

    @property
    def n(self) -> int: ...
