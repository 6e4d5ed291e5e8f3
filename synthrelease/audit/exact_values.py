"""What the second implementations of figures share: exact figures as whole numbers, and cells of tiny worlds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.audit.worlds import World

SMALLEST = Fraction(1, 2**20)
"""Least sensitivity of a figure that a candidate may make constant, as a share of the whole range."""


@dataclass(frozen=True)
class ExactFigures:
    """Figures of all tables against one synthetic table: numerators (n_tables,) int64 over one denominator.

    `bound` is the sensitivity that theory 3, acceptance criteria, proves, as a fraction. Figures and bound are in units of
    `unit`, where that is not
    a fraction (a standard deviation). `void`: no private table passes, whatever the figure.
    """

    numerators: np.ndarray
    denominator: int
    bound: Fraction
    unit: float = 1.0
    void: bool = False

    @property
    def values(self) -> np.ndarray:
        return self.numerators / self.denominator * self.unit


def digits(world: World) -> np.ndarray:
    """(n_cells, n_columns) the value of every column in every cell."""
    return np.stack(np.unravel_index(np.arange(world.layout.n_cells), world.layout.sizes), axis=1)


def members(world: World, column: str, values: np.ndarray, *, grouped: bool = True) -> list[np.ndarray]:
    """For every group of a column: (n_cells,) 1 for its cells."""
    of_value = values[:, world.layout.index(column)]
    if grouped and column in world.groups:
        of_value = np.array(world.groups[column].of_atom)[of_value]
    return [(of_value == group).astype(np.int64) for group in range(int(of_value.max()) + 1)]


def valued_cells(world: World, columns: Iterable[str], values: np.ndarray) -> np.ndarray:
    """(n_cells,) 1 for cells with a value in all of these columns: the last bin of a column that may lack one holds none."""
    found = np.ones(len(values), dtype=np.int64)
    for column in columns:
        place = world.layout.index(column)
        if column in world.missing:
            found *= values[:, place] < world.layout.sizes[place] - 1
    return found
