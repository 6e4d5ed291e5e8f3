"""A family is the distribution of one column within every combination of its parents: the columns its tables show it by.

A family is fitted to all tables of its column at once. For this it needs the joint distribution of all parents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from synthrelease.errors import Problem, SpecError
from synthrelease.simulation.bands import bands_of_cells, spread
from synthrelease.simulation.loading import CheckedFacts
from synthrelease.simulation.proportional import GroupSums, fit
from synthrelease.simulation.published import PublishedFigures

_NEVER = 1e-12
"""A combination of given bands that is rarer than this does not occur, and no figure for it can be met or missed."""


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The given columns of a family, each in the common refinement of the bands that the family's tables give it.

    Attributes
    ----------
    of_cells : for each parent, (n_cells of the parent,) the group of each of its cells.
    rows : for each table, index arrays, one for each given column, that broadcast to (n_groups, ...) and pick the row of the
        table for every combination of groups.
    """

    of_cells: tuple[np.ndarray, ...]
    rows: tuple[tuple[np.ndarray, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_groups, ...) how many groups each parent has."""
        return tuple(int(group.max()) + 1 for group in self.of_cells)

    def row_numbers(self, table: int, sizes: Sequence[int]) -> np.ndarray:
        """(n_combinations,) the number of the table's row for every combination of groups."""
        number: Any = 0
        for row, size in zip(self.rows[table], sizes, strict=True):
            number = number * size + row
        return np.broadcast_to(number, self.shape).ravel()


def parent_groups(tables: Sequence[PublishedFigures], parents: Sequence[str], edges: Mapping[str, np.ndarray]) -> Groups:
    """The groups of the parents: two cells are in one when every table has them in one band."""
    of_cells: list[np.ndarray] = []
    bands: dict[tuple[str, str], np.ndarray] = {}
    for number, parent in enumerate(parents):
        using = [table for table in tables if parent in table.given]
        by_table = [bands_of_cells(table.given_bands[table.given.index(parent)], edges[parent]) for table in using]
        found, group = np.unique(np.array(by_table), axis=1, return_inverse=True)
        of_cells.append(group.ravel())
        shape = [-1 if other == number else 1 for other in range(len(parents))]
        bands |= {(table.path, parent): band.reshape(shape) for table, band in zip(using, found, strict=True)}
    rows = tuple(tuple(bands[table.path, given] for given in table.given) for table in tables)
    return Groups(of_cells=tuple(of_cells), rows=rows)


def fitted_moments(table: PublishedFigures, groups: Groups, joint: np.ndarray) -> np.ndarray:
    """(n_groups, ..., 2) mean and standard deviation for every combination of groups, whose shares are `joint`."""
    figures = table.filled(_row_shares(table, groups.row_numbers(0, table.figures.shape[:-1]), joint))
    return np.broadcast_to(figures[groups.rows[0]], (*groups.shape, 2))


def fitted_shares(facts: CheckedFacts, column: str, groups: Groups, joint: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Shares of a column's cells given its parents that meet all its tables.

    The start takes the table with most bands and spreads these over their cells; fitting then meets every table and the
    parents' joint distribution. Rows that a table lacks are filled by its rule and fitted first, but they are no facts:
    a second fit asks for the published rows alone.

    Parameters
    ----------
    joint : (n_groups, ...) share of each combination of groups.
    edges : (n_cells + 1,) where the column's cells start.

    Returns
    -------
    (n_groups, ..., n_cells) summing to 1 over the last axis.

    Raises
    ------
    SpecError : when a figure of a table is missed by more than the tolerance.
    """
    tables = facts.shares[column]
    interpolated = facts.columns[column].within == "interpolated"
    shape = (*groups.shape, len(edges) - 1)
    filled: list[np.ndarray] = []
    assumed, published = [], []
    for number, table in enumerate(tables):
        rows = groups.row_numbers(number, table.figures.shape[:-1])
        weights = _row_shares(table, rows, joint)
        filled.append(table.filled(weights))
        cells = (rows[:, None] * len(table.bands) + bands_of_cells(table.bands, edges)).ravel()
        assumed.append(GroupSums(groups=cells, target=(filled[-1] * weights[..., None]).ravel()))
        published.append(GroupSums(groups=cells, target=(table.figures * weights[..., None]).ravel()))
    finest = max(range(len(tables)), key=lambda number: (len(tables[number].bands), tables[number].figures.size))
    start = spread(filled[finest], tables[finest].bands, edges, interpolated=interpolated)[groups.rows[finest]]
    start = np.broadcast_to(start, shape)
    given = GroupSums(groups=np.repeat(np.arange(joint.size), shape[-1]), target=joint.ravel())
    found = fit((start * joint[..., None]).ravel(), _each_with(given, assumed))
    if any(np.isnan(table.figures).any() for table in tables):
        found = fit(found, _each_with(given, published))
    found = found.reshape(shape)
    totals = found.sum(axis=-1, keepdims=True)
    shares = np.divide(found, totals, out=np.array(start), where=totals > _NEVER)
    _check_agreement(facts, column, published, shares * joint[..., None])
    return shares


def _each_with(given: GroupSums, margins: Sequence[GroupSums]) -> list[GroupSums]:
    """The parents' joint distribution after every table, so that all tables weigh the same when they disagree."""
    return [step for margin in margins for step in (margin, given)]


def _row_shares(table: PublishedFigures, rows: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """(n_given_bands, ...) how common each row of a table is."""
    sizes = table.figures.shape[:-1]
    return np.bincount(rows, joint.ravel(), minlength=prod(sizes)).reshape(sizes)


def _check_agreement(facts: CheckedFacts, column: str, margins: Sequence[GroupSums], found: np.ndarray) -> None:
    """Raise SpecError when a published figure, as a share of its row, is missed by more than the tolerance."""
    tables = facts.shares[column]
    worst: tuple[float, str, str] = (facts.tolerance, "", "")
    for table, margin in zip(tables, margins, strict=True):
        sums = margin.of(found.ravel()).reshape(table.figures.shape)
        weights = sums.sum(axis=-1, keepdims=True)
        shares = np.divide(sums, weights, out=np.full(sums.shape, np.nan), where=weights > _NEVER)
        missed = np.nan_to_num(np.abs(shares - table.figures))
        place = np.unravel_index(missed.argmax(), missed.shape)
        if missed[place] > worst[0]:
            row = [bands[i].label for bands, i in zip(table.given_bands, place[:-1], strict=True)]
            where = f" of the row {' and '.join(map(repr, row))}" if row else ""
            figures = f"{table.figures[place]:.4g}, where the best fit has {shares[place]:.4g}"
            worst = float(missed[place]), table.path, f"{table.bands[place[-1]].label!r}{where} is {figures}"
    if worst[1]:
        others = " and ".join(table.path for table in tables if table.path != worst[1])
        expected = f"shares that agree with {others} to within the tolerance of {facts.tolerance:g}"
        raise SpecError([Problem(file=facts.file, path=worst[1], expected=expected, found=f"a contradiction: {worst[2]}")])
