"""Tables with one axis for each column: added up to some columns or to coarser bins, and spread out from these again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from synthrelease.data.layout import MOST_AXES, Columns, Layout, Room


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


# Which sub-tables there are of a table of many columns, and the order in which they are summed up: by its columns alone.

GROUP_CELLS = 2**18
"""Cells, at most, of the tables that are counted from the cells that occur, where columns are few enough to share one."""
_FEWEST_CELLS = 2**12
_FEW_COLUMNS = 12
Groups = set[int]
"""Groups of columns, by their numbers."""
_Step = tuple[int, Columns]


def column_groups(layout: Layout, together: int, wanted: Room) -> tuple[Columns, ...]:
    """Neighbouring columns put together so that `together` groups have about as many cells as wanted, within limits; at least
    one column each."""
    most = min(GROUP_CELLS, max(_FEWEST_CELLS, wanted))
    return layout.words_within(max(2.0, most ** (1 / together)), most=max(1, MOST_AXES // together))


def are_first_with(chosen: Columns, touched: Groups) -> bool:
    """Whether these groups are the first that hold a table with columns of the `touched` ones: it is met with others too."""
    missing = len(chosen) - len(touched)
    first = [number for number in range(chosen[-1] + 1) if number not in touched][:missing]
    return set(chosen) == touched | set(first)


def bins_in_cells(shape: tuple[int, ...]) -> np.ndarray:
    """(bins of all columns, cells) 1 where a cell of a table of this shape has a bin of a column."""
    bins = np.indices(shape).reshape(len(shape), -1)
    return np.concatenate([of == np.arange(size)[:, None] for of, size in zip(bins, shape, strict=True)]).astype(float)


def steps_down(columns: int, largest: int) -> Iterable[_Step]:
    """Every way down to at most `largest` of so many columns, each once, depth first: how many columns were summed out, and
    what is left."""
    return _few_steps(columns, largest) if columns <= _FEW_COLUMNS else _steps(tuple(range(columns)), largest)


def _steps(left: Columns, largest: int, kept: int = 0, depth: int = 0) -> Iterator[_Step]:
    """Those from these columns on, of which the first `kept` stay."""
    yield depth, left
    if len(left) > 1:
        for out in range(kept, min(len(left) - 1, largest) + 1):
            yield from _steps(left[:out] + left[out + 1 :], largest, out, depth + 1)


@lru_cache(maxsize=64)
def _few_steps(columns: int, largest: int) -> tuple[_Step, ...]:
    """Made once for all tables of few columns: what they are called has no bearing."""
    return tuple(_steps(tuple(range(columns)), largest))
