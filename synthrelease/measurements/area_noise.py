"""How far off the tables of areas are, level by level, and the division of a budget that keeps it in proportion. Public."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from synthrelease.data.layout import Layout
from synthrelease.errors import percent
from synthrelease.measurements.noise import CountNoise

Table = TypeVar("Table", bound=Hashable)
"""What a table is named by: the places of its columns, or their names."""

_GRID = 10**6
"""Shares are multiples of about one over this, so that they are exact."""


@dataclass(frozen=True, kw_only=True)
class AreaNoise:
    """What noise leaves of one level.

    Attributes
    ----------
    column : of the areas; the empty text for all of them together.
    areas : how many there are.
    rows : standard deviation of the number of rows of one area, from all tables of the level and of those below.
    cell : that of one count in the most exact table of the level itself, in which there are `cells` for each area.
    """

    column: str
    areas: int
    rows: float
    cell: float
    cells: int

    def text(self, n: int) -> str:
        """In rows, and in percent of an area of mean size."""
        area, cell = n / self.areas, n / (self.areas * self.cells)
        return (
            f"{self.column}: {self.rows:,.1f} rows ({percent(self.rows / area)} of {area:,.0f}, the mean area), "
            f"{self.cell:,.1f} in a cell ({percent(self.cell / cell)} of {cell:,.0f}, the mean one)"
        )


def area_noise(
    chain: Sequence[str], layout: Layout, costs: Mapping[tuple[int, ...], Fraction], noise: type[CountNoise]
) -> tuple[AreaNoise, ...]:
    """Of every level with a table, the largest areas first.

    The number of rows of an area is told by each table of its level, as the sum of its cells, and by those of the level below,
    as the sum over the areas in it; independent figures are weighed by their precision. That the whole number of rows is public
    is left out, which matters for few areas.

    Parameters
    ----------
    chain : the columns of areas, from the largest to the smallest.
    costs : of each table, by its columns: an epsilon, or a rho.
    """
    found, below, of_below = list[AreaNoise](), 0.0, 1
    for name in reversed(chain):
        place = layout.columns.index(name)
        areas = layout.sizes[place]
        precision = below * areas / of_below  # of an area below, to a sum of so many of them
        best: tuple[float, int] | None = None
        for columns, cost in costs.items():
            if place not in columns:
                continue
            law, cells = noise.of_table(cost), math.prod(layout.sizes[column] for column in columns) // areas
            precision += 1 / (law.variance_above * cells)
            best = min(best or (math.inf, 0), (math.sqrt(law.variance_above), cells))
        if precision and best is not None:
            rows = 1 / math.sqrt(precision)
            found.append(AreaNoise(column=name, areas=areas, rows=rows, cell=best[0], cells=best[1]))
        below, of_below = precision, areas
    return tuple(reversed(found))


def power_of(noise: type[CountNoise]) -> float:
    """Budgets are in proportion to this power of cells over what is wanted of them (theory 12.13, areas within areas)."""
    return 1.0 if noise.cost == "rho" else 2 / 3


def divided(cells: Mapping[Table, int], wanted: Mapping[Table, float], noise: type[CountNoise]) -> dict[Table, Fraction]:
    """The shares of a budget with the least sum of squares of (relative error of a mean cell) / (the wanted one).

    A mean cell of a table of c cells has n / c rows. With Gaussian noise of variance 1 / rho_t the sum is that of
    (c_t / (n w_t))^2 / rho_t, least for rho_t in proportion to c_t / w_t; with Laplace noise of variance 8 / eps_t^2 it is
    least for eps_t in proportion to (c_t / w_t)^(2/3) (theory 12.13, areas within areas).

    Parameters
    ----------
    cells, wanted : of every table; all above 0.

    Returns
    -------
    dict
        Exact shares, which add up to 1.
    """
    power = power_of(noise)
    weights = {columns: (count / wanted[columns]) ** power for columns, count in cells.items()}
    largest = max(weights.values())
    whole = {columns: max(1, round(_GRID * weight / largest)) for columns, weight in weights.items()}
    total = sum(whole.values())
    return {columns: Fraction(weight, total) for columns, weight in whole.items()}
