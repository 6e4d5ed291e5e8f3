"""Count the rows of the table of members (such as all persons of the households), given a wide table of roots."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.members import MemberRows, Seat, gaps, rows_transformation
from synthrelease.data.schema import Transformation

# A bin is as wide as a release needs it, but the mean of a column needs the exact values of the rows, which the bin does not
# show. So `BinnedCounts` contains the atomic cells and the bins. If criteria compute with a column, its atomic cells are as
# narrow as the column's grid (`Column.step`).

Result = TypeVar("Result")


class BinnedCounts(Counts):
    """Counts of rows on the bins of a transformation, with the counts of the same rows on atomic (the finest) cells,
    `atoms`."""

    __slots__ = ("_cache", "atoms", "transformation")
    atoms: Counts
    transformation: Transformation
    _cache: dict[Hashable, Any]

    @classmethod
    def of_atoms(cls, atoms: Counts, transformation: Transformation) -> BinnedCounts:
        merged = atoms.merge(transformation.layout, transformation.maps)
        table = cls.__new__(cls)
        table.layout, table.counts, table._words, table._bins = merged.layout, merged.counts, merged._words, merged._bins
        table.atoms, table.transformation, table._cache = atoms, transformation, {}
        return table

    def cached(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return the result stored with this key, or compute it with `make` and store it. It must depend only on these rows and
        the key."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


def cached_if_binned(table: Counts, key: Hashable, make: Callable[[], Result]) -> Result:
    """Return the result of `make()`, cached by a `BinnedCounts`."""
    return table.cached(key, make) if isinstance(table, BinnedCounts) else make()


def atoms_of(table: Counts, transformation: Transformation) -> Counts:
    """Return the counts on atomic cells of a table that has the bins of a transformation.

    Raises
    ------
    ValueError : if the table is not a `BinnedCounts`, and its bins are not the atomic bins.
    """
    if isinstance(table, BinnedCounts):
        return table.atoms
    if all(binning.of_atom == tuple(range(len(binning))) for binning in transformation.binnings):
        return table
    raise ValueError("expected counts with atomic cells, found only bins")


def stacked(
    rows: MemberRows, table: Counts, number: np.ndarray, layout: Layout, bins: Callable[[str, Seat], np.ndarray]
) -> Counts:
    """Count the rows that all roots make in a table of members.

    Parameters
    ----------
    number : (n_cells,) the number of members that a root in each cell has.
    bins : a function of a column and a position, which returns the (n_cells,) bins of the members there; any bin if a root has
        none.
    """
    filled_by_seat = [number >= max(seat) for seat in rows.seats]
    seats = [*zip(rows.seats, filled_by_seat, strict=True)]
    digits = [np.concatenate([bins(name, seat)[filled] for seat, filled in seats]) for name in rows.names]
    return Counts.of(layout, digits, np.concatenate([table.counts[filled] for filled in filled_by_seat]))


def on_bins(rows: MemberRows, table: Counts, numbers: Mapping[str, Sequence[float | None]]) -> Counts:
    """Count the rows that the roots of a wide table make in a table of members, on released bins. `numbers` are the
    representative values of the bins of the wide record."""
    place_of = {name: at for at, name in enumerate(table.layout.columns)}

    def bins(name: str, seat: Seat) -> np.ndarray:
        sources = rows.columns(name, seat)
        digits = [table.digits(place_of[source]) for source in sources]
        return digits[0] if len(sources) == 1 else gaps(numbers, sources)[1][digits[0], digits[1]]

    sizes = dict(zip(table.layout.columns, table.layout.sizes, strict=True))
    number = rows.linked.numbers(table.digits(place_of[rows.linked.size]))
    return stacked(rows, table, number, rows.layout(sizes, numbers), bins)


@dataclass(frozen=True, kw_only=True)
class RowsOnBins:
    """Counts the rows of members in wide tables with the bins of the transformation `wide`.

    Attributes
    ----------
    own : the columns whose exact values are counted, with the same atomic bins in all slots.
    """

    rows: MemberRows
    wide: Transformation
    own: tuple[str, ...] = ()

    @cached_property
    def transformation(self) -> Transformation:
        return rows_transformation(self.rows, self.wide)

    @cached_property
    def _numbers(self) -> dict[str, tuple[float | None, ...]]:
        return {name: binning.numbers for name, binning in zip(self.wide.schema.names, self.wide.binnings, strict=True)}

    def on_bins(self, table: Counts) -> Counts:
        return on_bins(self.rows, table, self._numbers)

    def with_own_values(self, table: Counts) -> Counts:
        """Count the members' rows on bins and, if there are columns `own`, also on atomic cells."""
        if not self.own:
            return self.on_bins(table)
        atoms, maps = atoms_of(table, self.wide), self.wide.maps
        layout = self.transformation.schema.layout
        size = self.wide.layout.index(self.rows.linked.size)

        def bins(name: str, seat: Seat) -> np.ndarray:
            (source,) = self.rows.columns(name, seat)
            column = self.wide.layout.index(source)
            digits = atoms.digits(column)
            if name in self.own:
                return digits
            binning = self.transformation.binning(name)
            some = np.array([binning.of_atom.index(bin_) for bin_ in range(len(binning))])
            return some[maps[column][digits]]

        number = self.rows.linked.numbers(maps[size][atoms.digits(size)])
        return BinnedCounts.of_atoms(stacked(self.rows, atoms, number, layout, bins), self.transformation)
