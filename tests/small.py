"""Tiny public worlds for tests: a schema, its setting, and private tables over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np

from synthrelease.candidate import Candidate
from synthrelease.columns import build_column, group_binning
from synthrelease.configuration import Configuration
from synthrelease.constraints import Plausibility
from synthrelease.criteria import Criterion, Setting
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.privacy import Charge
from synthrelease.private import Meter, PrivateCounts
from synthrelease.projections.minimum_count import MinimumCount
from synthrelease.schema import Layout, Schema, Transformation
from synthrelease.spec_files import ColumnTable, InputTable
from synthrelease.table import Counts


def integer_column(name: str, low: int, high: int, groups: Sequence[str] | None = None):
    table = ColumnTable(kind="integer", bounds=(low, high), alternatives={"single": [f"{low}..{high}"]})
    return build_column(name, table, InputTable(), [], groups)


class World:
    """Two or more integer columns with single-value bins, no rules, and any criteria."""

    def __init__(self, highs: Mapping[str, int], groups: Mapping[str, list[str]] | None = None):
        groups = groups or {}
        self.schema = Schema(columns=tuple(integer_column(name, 0, high, groups.get(name)) for name, high in highs.items()))
        self.transformation = Transformation(
            schema=self.schema, binnings=tuple(column.alternatives["single"] for column in self.schema.columns)
        )
        self.layout = self.transformation.layout
        self.groups = {name: group_binning(self.schema[name], bins) for name, bins in groups.items()}

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

    def private(self, codes: Sequence[int], charges: Sequence[Charge]) -> PrivateCounts:
        return PrivateCounts(self.counts(codes), Meter(charges))

    def candidate(self, codes: Sequence[int]) -> Candidate:
        configuration = Configuration(
            transformation=self.transformation,
            generator=PrivBayes(flavour="degree", degree=1, epsilon_split=0.5),
            projection=MinimumCount(minimum_count=1),
        )
        return Candidate(configuration=configuration, counts=self.counts(codes))

    def all_tables(self, n: int) -> list[tuple[int, ...]]:
        """Every multiset of n cells."""
        return list(combinations_with_replacement(range(self.layout.n_cells), n))

    def neighbours(self, table: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every table that differs in one replaced record."""
        for place in range(len(table)):
            for cell in range(self.layout.n_cells):
                if cell != table[place]:
                    yield tuple(sorted((*table[:place], cell, *table[place + 1 :])))


def layout_of(*sizes: int) -> Layout:
    return Layout(columns=tuple(f"c{i}" for i in range(len(sizes))), sizes=sizes)
