"""The rows that the members of roots make, counted: of tables on released bins, and of those that know own values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthrelease.domain.counts import Counts
from synthrelease.domain.layout import Layout
from synthrelease.domain.member_rows import MemberRows, Seat, gaps, rows_transformation
from synthrelease.domain.own_values import BinnedCounts, atoms_of
from synthrelease.domain.schema import Transformation


def stacked(
    rows: MemberRows, table: Counts, number: np.ndarray, layout: Layout, bins: Callable[[str, Seat], np.ndarray]
) -> Counts:
    """The rows of all roots of a table.

    Parameters
    ----------
    number : (n_cells,) how many members a root in each cell has.
    layout : of the rows.
    bins : (n_cells,) the bin of a column in the row of a seat, whatever it is where there is none.
    """
    there = [number >= max(seat) for seat in rows.seats]
    digits = [
        np.concatenate([bins(name, seat)[filled] for seat, filled in zip(rows.seats, there, strict=True)])
        for name in rows.names
    ]
    return Counts.of(layout, digits, np.concatenate([table.counts[filled] for filled in there]))


def on_bins(rows: MemberRows, table: Counts, numbers: Mapping[str, Sequence[float | None]]) -> Counts:
    """The rows of a table on released bins.

    Parameters
    ----------
    numbers : for each column of the wide record what stands for its bins.
    """
    place = {name: at for at, name in enumerate(table.layout.columns)}

    def bins(name: str, seat: Seat) -> np.ndarray:
        made = rows.columns(name, seat)
        digits = [table.digits(place[one]) for one in made]
        return digits[0] if len(made) == 1 else gaps(numbers, made)[1][digits[0], digits[1]]

    sizes = dict(zip(table.layout.columns, table.layout.sizes, strict=True))
    number = rows.linked.numbers(table.digits(place[rows.linked.size]))
    return stacked(rows, table, number, rows.layout(sizes, numbers), bins)


@dataclass(frozen=True, kw_only=True)
class RowsOnBins:
    """The rows of members of tables on the bins of a transformation.

    Attributes
    ----------
    wide : the transformation of the wide record.
    own : the columns of the rows whose own values count; all slots have the same atomic bins of them.
    """

    rows: MemberRows
    wide: Transformation
    own: tuple[str, ...] = ()

    @cached_property
    def transformation(self) -> Transformation:
        """Of the rows."""
        return rows_transformation(self.rows, self.wide)

    @cached_property
    def _numbers(self) -> dict[str, tuple[float | None, ...]]:
        return {name: binning.numbers for name, binning in zip(self.wide.schema.names, self.wide.binnings, strict=True)}

    def on_bins(self, table: Counts) -> Counts:
        """The rows of a table on the bins."""
        return on_bins(self.rows, table, self._numbers)

    def with_own_values(self, table: Counts) -> Counts:
        """The rows of a table that knows own values, which they know as well."""
        if not self.own:
            return self.on_bins(table)
        atoms, maps = atoms_of(table, self.wide), self.wide.maps
        layout = self.transformation.schema.layout
        size = self.wide.layout.index(self.rows.linked.size)

        def bins(name: str, seat: Seat) -> np.ndarray:
            (made,) = self.rows.columns(name, seat)
            place = self.wide.layout.index(made)
            digits = atoms.digits(place)
            if name in self.own:
                return digits
            binning = self.transformation.binning(name)
            some = np.array([binning.of_atom.index(one) for one in range(len(binning))])
            return some[maps[place][digits]]

        number = self.rows.linked.numbers(maps[size][atoms.digits(size)])
        return BinnedCounts.of_atoms(stacked(self.rows, atoms, number, layout, bins), self.transformation)
