"""Tiny made-up worlds: a schema with its setting, tables of a few records over it, and all their neighbours."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np

from synthrelease.criteria.base import Criterion, Setting
from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Column, Schema, Transformation
from synthrelease.enclave.door import PrivateCounts, PrivateRows
from synthrelease.generators.candidate import Candidate
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.generators.projections import MinimumCount
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Charge, Meter
from synthrelease.privacy.noise import SYSTEM, SystemEntropy
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column, group_binning


def integer_column(name: str, low: int, high: int, groups: Sequence[str] | None = None, *, missing: bool = False) -> Column:
    """A column of whole numbers with one bin for each, and one for missing values where there can be such."""
    alternatives: dict[str, list[str] | dict[str, list[str]]] = {"single": [f"{low}..{high}"]}
    policy: Literal["bin", "error"] = "bin" if missing else "error"
    table = ColumnTable(kind="integer", bounds=(low, high), alternatives=alternatives, missing=policy)
    return build_column(name, table, InputTable(), [], groups)


class World:
    """Integer columns from 0 to a highest value with single-value bins, no rules, and any criteria.

    Columns named `missing` have one more bin, the last, for records without a value. A cell's code counts all combinations of
    values, the last column varying fastest.

    Parameters
    ----------
    linked : how columns are those of a root and its members; then records are those of such roots alone.
    """

    def __init__(
        self,
        highs: Mapping[str, int],
        groups: Mapping[str, list[str]] | None = None,
        missing: Collection[str] = (),
        linked: Linked | None = None,
    ):
        groups, self.missing, self.linked = groups or {}, frozenset(missing), linked
        self.schema = Schema(
            columns=tuple(
                integer_column(name, 0, high, groups.get(name), missing=name in self.missing) for name, high in highs.items()
            ),
            linked=linked,
        )
        self.transformation = Transformation(
            schema=self.schema, binnings=tuple(column.alternatives["single"] for column in self.schema.columns)
        )
        self.layout = self.transformation.layout
        self.groups = {name: group_binning(self.schema[name], bins) for name, bins in groups.items()}

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """The cells that a record can be in."""
        every = range(self.layout.n_cells)
        return tuple(every) if self.linked is None else tuple(cell for cell in every if self._fits(self.linked, cell))

    def _fits(self, linked: Linked, cell: int) -> bool:
        """Whether just the slots that the number of members fills have values, in columns where every member has one."""
        bins = dict(zip(self.layout.columns, np.unravel_index(cell, self.layout.sizes), strict=True))
        last = {name: size - 1 for name, size in zip(self.layout.columns, self.layout.sizes, strict=True)}
        number = int(bins[linked.size]) + linked.least
        return all(
            (bins[name] < last[name] or plain not in linked.whole) if place < number else bins[name] == last[name]
            for place, slot in enumerate(linked.slots)
            for name, plain in zip(slot, linked.names, strict=True)
        )

    def setting(self, *criteria: Criterion) -> Setting:
        return Setting(
            schema=self.schema,
            groups=self.groups,
            raw=Plausibility(layout=self.schema.layout, masks=()),
            transformations=(self.transformation,),
            criteria={criterion.name: criterion for criterion in criteria},
        )

    def counts(self, codes: Sequence[int]) -> Counts:
        return Counts(self.layout, np.array(codes, dtype=np.int64))

    def private(self, codes: Sequence[int], charges: Sequence[Charge], entropy: SystemEntropy = SYSTEM) -> PrivateCounts:
        """A table of made-up records behind the door that private tables have."""
        return PrivateCounts(self.counts(codes), Meter(charges), entropy)

    def rows(self, codes: Sequence[int], n_file: int, entropy: SystemEntropy) -> PrivateRows:
        """The kept rows of a made-up file of `n_file` rows."""
        return PrivateRows(self.counts(codes), n_file, entropy)

    def candidate(self, codes: Sequence[int]) -> Candidate:
        configuration = Configuration(
            transformation=self.transformation,
            generator=PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(1, 2)),
            projection=MinimumCount(minimum_count=1),
        )
        return Candidate(configuration=configuration, counts=self.counts(codes))

    def dense(self, tables: Sequence[Sequence[int]]) -> np.ndarray:
        """(n_tables, n_cells) counts of tables given by their codes."""
        return np.array([np.bincount(table, minlength=self.layout.n_cells) for table in tables])

    def all_tables(self, n: int) -> list[tuple[int, ...]]:
        """Every multiset of n cells."""
        return list(combinations_with_replacement(self.cells, n))

    def neighbours(self, table: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every table that differs in one replaced record."""
        for place in range(len(table)):
            for cell in self.cells:
                if cell != table[place]:
                    yield tuple(sorted((*table[:place], cell, *table[place + 1 :])))
