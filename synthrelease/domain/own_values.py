"""Rows on the bins of a transformation that still know their own values: those of the atomic cells they were merged from.

A bin is as wide as a release needs it; the mean of a column is that of the rows' own values, which the bin does not tell. Of a
column that criteria compute with, atomic cells are as narrow as its grid (`Column.step`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from synthrelease.domain.counts import Counts
from synthrelease.domain.schema import Transformation

Found = TypeVar("Found")


class BinnedCounts(Counts):
    """Counts on the bins of a transformation, beside the atomic cells of the same rows.

    Attributes
    ----------
    atoms : the same rows on atomic cells.
    transformation : from these to the bins.
    """

    __slots__ = ("atoms", "transformation", "_kept")
    atoms: Counts
    transformation: Transformation
    _kept: dict[Hashable, Any]

    @classmethod
    def of_atoms(cls, atoms: Counts, transformation: Transformation) -> BinnedCounts:
        """Rows on atomic cells as rows on the bins of a transformation."""
        merged = atoms.merge(transformation.layout, transformation.maps)
        table = cls.__new__(cls)
        table.layout, table.counts, table._words, table._bins = merged.layout, merged.counts, merged._words, merged._bins
        table.atoms, table.transformation, table._kept = atoms, transformation, {}
        return table

    def kept(self, key: Hashable, make: Callable[[], Found]) -> Found:
        """What was made of these rows before under this name, or is made now: a function of the rows and of the name alone."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def atoms_of(table: Counts, transformation: Transformation) -> Counts:
    """The atomic cells of the rows of a table on the bins of a transformation.

    Raises
    ------
    ValueError : for a table that does not know them, unless its bins are the atomic ones.
    """
    if isinstance(table, BinnedCounts):
        return table.atoms
    if all(binning.of_atom == tuple(range(len(binning))) for binning in transformation.binnings):
        return table
    raise ValueError("expected rows that know their own values, found bins alone")
