"""A synthetic table as criteria look at it, whatever it was made by: a candidate of a round, a copy, or made-up rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from synthrelease.data.counts import Counts, words_of
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Transformation

# An order of the cells of a public table in which systematic sampling keeps the totals of rare bins.

RARE = 400
"""Rows of a bin from which on its total needs no care: drawn by chance it is off by a twentieth."""


def rare_first(digits: Sequence[np.ndarray], weights: np.ndarray, rows: float) -> np.ndarray:
    """Return an order of cells in which the cells of a rare bin are adjacent: by the rarest bin of each, then by their bins.

    Were cells of two bins to alternate, every second place would be one of them: sampling at equal distances could take all of
    one bin and none of the other.

    Sampling at equal distances along it (systematic sampling) keeps the totals of rare bins nearly exact. Cells of frequent
    bins alone stand in the order of their bins, so that those that are alike trade rows.

    Parameters
    ----------
    digits : per column, (n_cells,) the bin of every cell.
    weights : (n_cells,) how much of each cell there is.
    rows : how many rows all of it is.
    """
    sizes = tuple(int(bins.max(initial=0)) + 1 for bins in digits)
    totals = [np.bincount(bins, weights=weights, minlength=size) for bins, size in zip(digits, sizes, strict=True)]
    every = np.concatenate(totals)
    order = np.argsort(every, kind="stable")
    ranks = np.empty(len(every), dtype=np.min_scalar_type(len(every)))
    ranks[order] = np.arange(len(every))  # of a bin: by its total, its column, its place; two bins of one total must not mix
    ranks[every * rows >= RARE * weights.sum()] = np.iinfo(ranks.dtype).max
    starts = np.cumsum([0, *sizes[:-1]])
    rarest = np.full(len(weights), np.iinfo(ranks.dtype).max, dtype=ranks.dtype)
    for start, size, bins in zip(starts, sizes, digits, strict=True):
        np.minimum(rarest, ranks[start : start + size][bins], out=rarest)
    keys = words_of(Layout(columns=("",) * len(digits), sizes=sizes), digits)
    if len(keys) == 1 and (keys[0][1:] >= keys[0][:-1]).all():
        return np.argsort(rarest, kind="stable")  # of small integers: a radix sort
    return np.lexsort([*reversed(keys), rarest])


class SyntheticTable(Protocol):
    """Distinct rows over the bins of a transformation. Differentially private already, or of public rows: public.

    Attributes
    ----------
    transformation : the binning of every column.
    counts : of the rows, over the layout of the transformation.
    n : the number of rows.
    """

    @property
    def transformation(self) -> Transformation: ...

    @property
    def counts(self) -> Counts: ...

    @property
    def n(self) -> int: ...
