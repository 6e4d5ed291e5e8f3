"""Tables with one axis for each column: added up to some columns or to coarser bins, and spread out from these again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def added_up(table: np.ndarray, columns: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """The sums of a table over all columns but some.

    Parameters
    ----------
    columns : of the axes of `table`.
    names : some of them, in the order that the result has.
    """
    kept = [name for name in columns if name in names]
    others = tuple(axis for axis, name in enumerate(columns) if name not in names)
    return np.asarray(table.sum(axis=others).transpose([kept.index(name) for name in names]))


def with_merged_bins(table: np.ndarray, axis: int, into: Sequence[int] | np.ndarray, size: int) -> np.ndarray:
    """The sums of a table over coarser bins of one axis, in the type of the table.

    Parameters
    ----------
    into : which of the `size` bins each bin of the axis goes to; several may go to one.
    """
    merged = np.zeros((*table.shape[:axis], size, *table.shape[axis + 1 :]), dtype=table.dtype)
    np.add.at(np.moveaxis(merged, axis, 0), np.asarray(into), np.moveaxis(table, axis, 0))
    return merged


def spread_out(part: np.ndarray, names: Sequence[str], columns: Sequence[str], shape: Sequence[int]) -> np.ndarray:
    """A table over some columns, with the same value in every bin of the others; a read-only view.

    Parameters
    ----------
    names : the columns of `part`, some of `columns`. Axes of `part` before them are kept as they are, as the first ones.
    columns, shape : all columns of the result, and their sizes.
    """
    before = part.ndim - len(names)
    kept = [name for name in columns if name in names]
    own = part.transpose([*range(before), *(before + names.index(name) for name in kept)])
    own = np.expand_dims(own, tuple(before + axis for axis, name in enumerate(columns) if name not in names))
    return np.broadcast_to(own, (*part.shape[:before], *shape))
