"""Which sub-tables there are of a table of many columns, and the order in which they are summed up: by its columns alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from synthrelease.domain.layout import MOST_AXES, Columns, Layout, Room

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
