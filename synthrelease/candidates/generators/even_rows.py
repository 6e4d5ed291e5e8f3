"""Whole rows get the bins of a further column evenly: a function of the model and of random numbers, no private data.

A draw for every row by itself adds to the noise of the model's tables what another sample of so many rows would. That is
needless: the rows with the same parents' bins can share out the bins among themselves. A comb of equally spaced teeth with
a random offset is laid over the line of rows, each as long as its chance of the bin (systematic sampling, Madow 1949);
those that hold a tooth get it. On the line the rows with the same parents' bins are neighbours, in a random order, so each
gets the bin with its own chance, and which of them get it tells nothing of their other columns. One bin after another is
given out like this, the last one first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def even_bins(
    conditional: np.ndarray, parents: Sequence[np.ndarray], totals: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bins of cells with whole numbers of rows: (m,) places of the cells, (m,) bins, and (m,) how many rows get them.

    Of the rows that are not given a later bin, every stretch of the line gets a bin as often as its chances say, up to less
    than one row; a bin of share 0 is never given.

    Parameters
    ----------
    conditional : shares, axes (parents..., bins).
    parents : for every parent, (n_cells,) its bins.
    totals : (n_cells,) rows of each cell.
    """
    shares = conditional.reshape(-1, conditional.shape[-1])
    upto = np.cumsum(shares, axis=1)
    # the chance of a bin where no later one is given; the first possible bin takes what is left, as x / x is 1
    given = np.divide(shares, upto, out=np.ones_like(shares), where=upto > 0)
    groups = np.ravel_multi_index(tuple(parents), conditional.shape[:-1]) if parents else np.zeros(len(totals), dtype=np.int64)
    line = generator.permutation(len(totals))
    line = line[np.argsort(generator.permutation(len(shares))[groups[line]], kind="stable")]
    places, bins, counts = [], [], []
    waiting = totals[line]
    for bin_ in range(shares.shape[1] - 1, -1, -1):
        chances = given[groups[line], bin_]
        teeth = np.floor(np.cumsum(chances * waiting) + generator.random()).astype(np.int64)
        rows = np.where(chances < 1, np.minimum(np.diff(teeth, prepend=0), waiting), waiting)  # sums are rounded
        some = rows > 0
        places.append(line[some])
        counts.append(rows[some])
        bins.append(np.full(int(some.sum()), bin_))
        rest = waiting > rows
        line, waiting = line[rest], (waiting - rows)[rest]
    return np.concatenate(places), np.concatenate(bins), np.concatenate(counts)
