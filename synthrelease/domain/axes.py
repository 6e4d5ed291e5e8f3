"""Tables with one axis for each named column: added up to some of their columns, and spread out from these again."""

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
