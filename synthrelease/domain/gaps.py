"""Which missing values of a table are gaps, and which the rules demand.

A survey does not ask everybody everything: who does not work has no occupation, and the rules say so ("no work and occupation
is not missing" never occurs). Such a value is not unknown, and nothing must be filled in there.

The rules demand that a value is missing where every value of its column would break one, whatever stands in the columns that
are still open. What is demanded is then as settled as what was observed, and may settle others: without work there is no
contract, and without a contract no hours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthrelease.domain.counts import Counts
from synthrelease.domain.plausibility import Mask, Plausibility


def gaps_of_cells(table: Counts, missing: Sequence[int | None], plausibility: Plausibility) -> np.ndarray:
    """(n_cells, n_columns) True where a value is missing that the rules do not demand to be missing.

    Parameters
    ----------
    missing : per column, the index of its bin of missing values; None where it has none.
    plausibility : the rules for released rows, on the bins of the table.
    """
    open_ = np.zeros((len(table), len(missing)), dtype=bool)
    for column, gap in enumerate(missing):
        if gap is not None:
            open_[:, column] = table.bins[column] == gap
    settled = True
    while settled:
        settled = False
        for column, gap in enumerate(missing):
            cells = np.flatnonzero(open_[:, column])
            if gap is None or not len(cells):
                continue
            possible = np.ones((len(cells), gap), dtype=bool)  # the missing bin is the last one
            for mask in plausibility.masks:
                if column in mask.columns:
                    possible &= _possible(mask, column, table, cells, open_[cells])[:, :gap]
            demanded = cells[~possible.any(axis=1)]
            open_[demanded, column] = False
            settled |= bool(len(demanded))
    return open_


def _possible(mask: Mask, column: int, table: Counts, cells: np.ndarray, open_: np.ndarray) -> np.ndarray:
    """(n_cells, n_bins) whether a bin of the column is allowed with the settled columns, and some bins of the open ones."""
    axis = mask.columns.index(column)
    others = [each for each in mask.columns if each != column]
    found = np.ones((len(cells), mask.forbidden.shape[axis]), dtype=bool)
    patterns, of_cell = np.unique(open_[:, others], axis=0, return_inverse=True)
    for number, is_open in enumerate(patterns):
        mine = np.flatnonzero(of_cell.ravel() == number)
        wanted = [mask.columns.index(each) for each, free in zip(others, is_open, strict=True) if free]
        allowed = np.asarray((~mask.forbidden).any(axis=tuple(wanted), keepdims=True))
        places = tuple(
            slice(None) if place == axis else np.zeros(len(mine), dtype=np.int64) if place in wanted
            else table.bins[each][cells[mine]].astype(np.int64)
            for place, each in enumerate(mask.columns)
        )  # fmt: skip
        chosen = np.moveaxis(allowed, axis, -1)[tuple(place for place in places if not isinstance(place, slice))]
        found[mine] = chosen
    return found
