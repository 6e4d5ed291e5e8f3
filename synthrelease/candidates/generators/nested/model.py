"""Rows of the whole are drawn first, and allotted to areas level by level: to regions, in each of them to municipalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synthrelease.candidates.generators.bayesian_network import BayesianNetwork
from synthrelease.candidates.generators.nested.allotting import allotted
from synthrelease.candidates.generators.nested.tree import AreaTable, Level
from synthrelease.data.counts import Counts, EqualRows, words_of
from synthrelease.data.layout import Columns, Layout

_ROWS_AT_ONCE = 2**20
"""Rows that are dealt out to areas at once, about: memory does not grow with the number of rows."""


@dataclass(frozen=True, kw_only=True)
class NestedModel:
    """A model of the columns that are no areas, and the tables of areas.

    Attributes
    ----------
    layout : of all columns.
    others : the columns that are no areas, increasing; columns of tables are these.
    whole : the model of them; None where there are none.
    levels : the largest areas first.
    n : rows of the table that was measured.
    """

    layout: Layout
    others: Columns
    whole: BayesianNetwork | None
    levels: tuple[Level, ...]
    n: int

    @property
    def numbers(self) -> int:
        """How many it holds."""
        return (self.whole.numbers if self.whole else 0) + 2 * sum(
            table.values.size for level in self.levels for table in level.tables
        )

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """n rows; the areas of one level are drawn one after the other."""
        if self.whole is None:
            bins, counts = dict[int, np.ndarray](), np.array([n])
        else:
            drawn = self.whole.sample(n, generator)
            bins, counts = dict(zip(self.others, drawn.bins, strict=True)), drawn.counts
        area = np.zeros(len(counts), dtype=np.int64)
        for level in self.levels:
            rows, area, counts = self._allot(level, area, bins, counts, n / self.n, generator)
            bins = {column: known[rows] for column, known in bins.items()}
            bins[level.column] = area.astype(np.min_scalar_type(self.layout.sizes[level.column] - 1))
        return Counts.of(self.layout, [bins[column] for column in range(len(self.layout.sizes))], counts)

    def _allot(
        self,
        level: Level,
        above: np.ndarray,
        bins: dict[int, np.ndarray],
        counts: np.ndarray,
        scale: float,
        generator: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every new cell the cell that it comes from, its area, and its rows.

        Parameters
        ----------
        above : the area of the level above of every cell.
        """
        core = sorted({column for table in level.tables for column in table.columns})
        keys = [above, *(bins[column] for column in core)]
        layout = Layout(columns=("",) * len(keys), sizes=tuple(int(key.max(initial=0)) + 1 for key in keys))
        groups = EqualRows.of(words_of(layout, keys))  # those of one area above side by side
        first, totals = groups.first, groups.sums(counts)
        larger = np.arange(int(level.home.max()) + 2)
        ends, lies = np.searchsorted(above[first], larger), np.argsort(level.home, kind="stable")
        starts = np.searchsorted(level.home[lies], larger)
        places, into, found = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
        for upper in larger[:-1]:
            some, areas = np.arange(ends[upper], ends[upper + 1]), lies[starts[upper] : starts[upper + 1]]
            if not len(some):
                continue
            whole = allotted(
                [_of(table, areas, core) for table in level.tables],
                [bins[column][first[some]] for column in core],
                [self.layout.sizes[column] for column in core],
                totals[some],
                scale,
                generator,
            )
            at, area = np.nonzero(whole.T)
            places.append(some[at])
            into.append(areas[area])
            found.append(whole[area, at])
        return _dealt(groups, counts, *(np.concatenate(each) for each in (places, into, found)), generator=generator)


def _of(table: AreaTable, areas: np.ndarray, core: Sequence[int]) -> AreaTable:
    """The table of some areas, its columns by their places among those of all tables of the level."""
    columns = tuple(core.index(column) for column in table.columns)
    return AreaTable(columns=columns, values=table.values[areas], variance=table.variance[areas])


def _dealt(
    groups: EqualRows,
    counts: np.ndarray,
    places: np.ndarray,
    areas: np.ndarray,
    rows: np.ndarray,
    *,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which rows of a combination of columns go where is left to chance: these columns are all that the areas tell apart.

    Parameters
    ----------
    groups, counts : which cells have the same combination, and the rows of every cell.
    places, areas, rows : how many rows of a combination each area gets, one combination after the other.

    Returns
    -------
    three arrays
        Of every new cell the cell that it comes from, its area, and its rows.
    """
    ends, largest = np.cumsum(groups.sums(counts)), int(areas.max(initial=0)) + 1
    cuts = np.unique([0, *(np.searchsorted(ends, np.arange(_ROWS_AT_ONCE, ends[-1], _ROWS_AT_ONCE)) + 1), len(ends)])
    starts, entries = np.append(groups.starts, len(counts)), np.searchsorted(places, cuts)
    found = list[tuple[np.ndarray, np.ndarray]]()
    for piece, (first, last) in enumerate(pairwise(cuts.tolist())):
        cells = groups.order[starts[first] : starts[last]]
        combination = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        order = np.repeat(np.arange(len(cells)), counts[cells])
        order = order[np.lexsort([generator.random(len(order)), combination[order]])]
        some = slice(entries[piece], entries[piece + 1])
        to = np.repeat(areas[some], rows[some])
        found.append(np.unique(cells[order] * largest + to, return_counts=True))
    pairs, together = (np.concatenate(each) for each in zip(*found, strict=True))
    return pairs // largest, pairs % largest, together
