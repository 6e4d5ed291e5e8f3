"""Generate data with areas within areas, such as municipalities in regions: measure tables on each level, and draw rows
level by level.

Measurements are made as in `marginals`. The model of the other columns has the largest entropy that matches their tables
and the sums over areas (`maximum_entropy`). Its rows are allotted to the areas of the highest level, and so on downwards
(`nested_model`). The TopDown algorithm of the United States census also works in this way (Abowd et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import Unexpected
from synthrelease.generators.associations import TableNoise, Ties
from synthrelease.generators.base import Background, Generator, Guaranteed
from synthrelease.generators.bayesian_network import BayesianNetwork
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.generators.marginals import GaussianTables, MarginalsGenerator
from synthrelease.generators.maximum_entropy import maximum_entropy
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, divided
from synthrelease.generators.nested_model import AreaTable, NestedModel, combined, levels_of
from synthrelease.privacy.charges import GENERATION, Charge
from synthrelease.privacy.charges import mechanism as pure_charge
from synthrelease.settings.base import Mistake

WITHIN = ">"


class NestedGenerator(MarginalsGenerator):
    """The base class of generators for areas within areas.

    Attributes
    ----------
    areas : the columns of areas, from the largest to the smallest, with ">" between them: the columns of [geography], or a
        single column. Each table may name one of them; a table without areas describes all rows. If the tables of an area
        do not determine an association, that of the larger area is used. Example: `areas = "region > municipality"`.
    wanted : the relative error that you want for an average cell: first for tables of all rows, then for each level. The
        budget is divided so that the sum of the squares of error / wanted is as small as possible. Numbers in front of
        tables multiply their shares, or determine them without `wanted`. Example: `wanted = "0.002 > 0.01 > 0.1"`, `areas =
        "region > municipality"`.
    """

    counts: ClassVar[bool] = False

    areas: str = Field(min_length=1, max_length=1000)
    wanted: str | None = Field(default=None, min_length=1, max_length=200)

    @field_validator("wanted")
    @classmethod
    def _shares_of_a_count(cls, text: str | None) -> str | None:
        try:
            numbers = [] if text is None else [float(part) for part in text.split(WITHIN)]
        except ValueError:
            numbers = [math.nan]
        if not all(1e-9 <= number <= 1e9 for number in numbers):
            raise Unexpected(f"{text!r} is not a list of numbers above 0. Write for example '0.002 > 0.01 > 0.1'")
        return text

    @cached_property
    def chain(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.areas.split(WITHIN))

    def level_of(self, columns: Columns, layout: Layout) -> int:
        names = [layout.columns[column] for column in columns]
        return max((self.chain.index(name) + 1 for name in names if name in self.chain), default=0)

    def shares(self, layout: Layout) -> dict[tuple[int, ...], Fraction]:
        by_terms = super().shares(layout)
        if self.wanted is None:
            return by_terms
        wanted = [float(part) for part in self.wanted.split(WITHIN)]
        cells = {columns: layout.subset(columns).n_cells for columns, share in by_terms.items() if share}
        even = divided(cells, {columns: wanted[self.level_of(columns, layout)] for columns in cells}, self.noise)
        weights = {columns: share * even.get(columns, Fraction(0)) for columns, share in by_terms.items()}
        total = sum(weights.values(), Fraction(0))
        return {columns: weight / total for columns, weight in weights.items()}

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        mistakes = [*self._wrong_areas(layout), *self.unknown(layout)]
        yield from mistakes
        if mistakes:
            return
        ties, lowest = set(tied), layout.index(self.chain[-1])
        for name in self.chain[:-1]:
            if tuple(sorted((layout.index(name), lowest))) not in ties:
                problem = f"No rule assigns each {self.chain[-1]!r} to one {name!r}"
                yield Mistake(field="areas", text=f"{problem}. Add such rules, for example with [geography]")
        yield from self._wrong_tables(layout)
        yield from self._too_large(layout, list(ties))

    def _wrong_areas(self, layout: Layout) -> Iterable[Mistake]:
        if unknown := [name for name in self.chain if name not in layout.columns]:
            problem = f"There is no column {unknown[0]!r}. Name columns of areas, the largest areas first, with > between them"
            yield Mistake(field="areas", text=problem)
        if len(set(self.chain)) < len(self.chain):
            yield Mistake(field="areas", text=f"{self.areas!r} names a column twice. Name each column once")
        if self.wanted is not None and self.wanted.count(WITHIN) != len(self.chain):
            problem = f"{self.wanted!r} must have {len(self.chain) + 1} numbers: one for all rows and one for each level"
            yield Mistake(field="wanted", text=problem)

    def _wrong_tables(self, layout: Layout) -> Iterable[Mistake]:
        levels = [
            [layout.columns[column] for column in columns if layout.columns[column] in self.chain]
            for columns in self.structure(layout)
        ]
        if several := [areas for areas in levels if len(areas) > 1]:
            problem = f"The table '{':'.join(several[0])}' has several columns of areas. A table may have only one"
            yield Mistake(field="tables", text=problem)
            return
        for name in self.chain:
            if [name] not in levels:
                yield Mistake(field="tables", text=f"The table of {name!r} alone is missing. Add it")

    def _too_large(self, layout: Layout, tied: Sequence[tuple[int, ...]]) -> Iterable[Mistake]:
        for name, cells in self._cells_within(layout).items():
            if cells > DENSE_LIMIT:
                problem = f"The tables of {name!r} have {cells:,} cells within an average area of the level above"
                yield Mistake(field="tables", text=f"{problem}. The limit is {DENSE_LIMIT:,}. Name fewer or smaller tables")
        plain, sets = self._apart(layout), self._structure_of_whole(layout)
        sets += [tuple(plain.index(column) for column in columns) for columns in tied if set(columns) <= set(plain)]
        if plain and (cells := JunctionTree.of(layout.subset(plain).sizes, sets).largest) > DENSE_LIMIT:
            problem = f"The tables and the rules together connect {cells:,} cells. The limit is {DENSE_LIMIT:,}"
            yield Mistake(field="tables", text=f"{problem}. Name fewer or smaller tables")

    def _cells_within(self, layout: Layout) -> dict[str, int]:
        """Return, for each column of areas, among how many cells the rows of an average larger area are divided: the number
        of smaller areas in it, times the cells of the other columns in tables of this level or below.
        """
        cells, below, of_below = dict[str, int](), set[int](), 1
        areas = [layout.index(name) for name in self.chain]
        for area, above in zip(reversed(areas), [*reversed(areas[:-1]), None], strict=True):
            below |= {column for columns in self.structure(layout) if area in columns for column in columns} - {area}
            of_below = layout.sizes[area] // (1 if above is None else layout.sizes[above])
            cells[layout.columns[area]] = layout.subset(tuple(sorted(below))).n_cells * max(1, of_below)
        return cells

    def _apart(self, layout: Layout) -> Columns:
        return tuple(column for column, name in enumerate(layout.columns) if name not in self.chain)

    def _structure_of_whole(self, layout: Layout) -> list[Columns]:
        plain = self._apart(layout)
        projected = (tuple(plain.index(column) for column in columns if column in plain) for columns in self.structure(layout))
        return [columns for columns in dict.fromkeys(projected) if columns]

    def model(self, measured: NoisyMarginals, background: Background) -> NestedModel:
        layout, others = measured.layout, self._apart(measured.layout)
        areas, structure = [layout.index(name) for name in self.chain], set(self.structure(layout))
        of_whole, tables = list[AreaTable](), {column: list[AreaTable]() for column in areas}
        for table in measured.tables:
            if table.columns in structure:
                area = next((one for one in table.columns if one in areas), None)
                (of_whole if area is None else tables[area]).append(_by_area(table, area, background.plausibility))
        levels, of_areas = levels_of(areas, tables, background.plausibility)
        whole = None
        if others:
            consistent = [table for table in combined([*of_whole, *of_areas]) if table.columns]
            rules = _among(others, background.plausibility)
            noise = measured.tables[0]
            whole = maximum_entropy(
                NoisyMarginals(
                    layout=rules.layout, n=measured.n, tables=tuple(_marginal(table_, others, noise) for table_ in consistent)
                ),
                self._structure_of_whole(layout),
                rules,
                None if background.prior is None else background.prior.project(others),
                self.prior_weight,
                evenly=self.draw is not None,
            )
        return NestedModel(layout=layout, others=others, whole=whole, levels=levels, n=measured.n)

    def ties(self, layout: Layout) -> Ties:
        """Return the sets of columns whose association the model may contain.

        An area is drawn after the other columns, from the area of the level above and the columns in tables of its level or
        below.
        """
        ties, others = super().ties(layout), set(self._apart(layout))
        drawn_after, below = list[tuple[int, Columns]](), set[int]()
        areas = [layout.index(name) for name in self.chain]
        for above, area in reversed(list(zip([None, *areas], areas, strict=False))):
            below |= {column for columns in ties.measured if area in columns for column in columns} & others
            drawn_after.append((area, (*sorted(below), *(() if above is None else (above,)))))
        return replace(ties, drawn_after=tuple(reversed(drawn_after)))

    def count_noise(self, layout: Layout, charge: Charge) -> Mapping[tuple[int, ...], TableNoise]:
        """Return the noise of each measured table, and the weight of the prior, 0 for tables with areas."""
        noises = super().count_noise(layout, charge)
        return {table: replace(noise, prior=0.0) if self.level_of(table, layout) else noise for table, noise in noises.items()}

    def same_measurements(self, other: Generator) -> bool:
        alike = isinstance(other, NestedGenerator) and (self.chain, self.wanted) == (other.chain, other.wanted)
        return alike and super().same_measurements(other)

    def effort(self, layout: Layout) -> float:
        return float(sum(self._cells_within(layout).values()))

    def seconds(self, layout: Layout, rows: int) -> float:
        seconds, above = 0.2, 1
        for area, cells in zip(map(layout.index, self.chain), reversed(self._cells_within(layout).values()), strict=True):
            seconds += 5e-7 * min(cells * above, 30 * rows) + 5e-7 * rows
            above = layout.sizes[area]
        return seconds

    def grows(self, layout: Layout) -> str:
        return "with the numbers of rows and of cells in the tables of areas"

    def peak_cells(self, layout: Layout) -> int:
        measured = sum(layout.subset(columns).n_cells for columns in self.shares(layout))
        return max(BayesianNetwork.peak_cells(layout), 6 * max(self._cells_within(layout).values()), 80 * measured)


class Nested(NestedGenerator, GaussianTables):
    """For areas within areas, such as towns in regions: measures tables of each level with Gaussian noise, and draws rows
    level by level.

    Examples
    --------
    >>> Nested(areas="region > town", tables="age:sex + region:age + town").guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "Areas within areas: tables of all rows and of each level of areas are measured with Gaussian noise and made to agree. "
        "All rows follow the table of largest entropy that matches these tables, and are allotted to areas level by level "
        "(after the TopDown algorithm of the United States census, Abowd et al. 2022)."
    )
    no_draft: ClassVar[str] = "The areas and their tables depend on the register, so the steward must choose them."
    family: Literal["nested"] = "nested"


class NestedPure(NestedGenerator):
    """As "nested", but with Laplace noise, and a guarantee without delta. If there are many tables, they have more noise.

    Examples
    --------
    >>> NestedPure(areas="region > town", tables="age:sex + region:age + town").guarantee
    'pure'
    """

    words: ClassVar[str] = (
        "Areas within areas: tables of all rows and of each level of areas are measured with Laplace noise and made to agree. "
        "All rows follow the table of largest entropy that matches these tables, and are allotted to areas level by level "
        "(after the TopDown algorithm of the United States census, Abowd et al. 2022)."
    )
    no_draft: ClassVar[str] = Nested.no_draft
    family: Literal["nested_pure"] = "nested_pure"
    guarantee: ClassVar[Guaranteed] = "pure"

    def charge(self, epsilon: Fraction) -> Charge:
        return pure_charge(GENERATION, epsilon, "discrete Laplace noise on a fixed set of tables of areas")

    def measure(self, private: PrivateCounts, charge: Charge) -> NoisyMarginals:
        """Measure every table with discrete Laplace noise.

        Privacy
        -------
        The measurements are eps-DP with eps = pure_epsilon(charge); neighbours replace one record. A record is in one area
        of each level, so replacing it moves one row between two cells of each table. The l1 sensitivity of a table is 2, so
        discrete Laplace noise of scale 2 / eps_j makes table j eps_j-DP. The eps_j add up to eps (theory 12.13, areas
        within areas).
        """
        return self._measured_of(private, charge)


def _by_area(table: NoisyMarginal, area: int | None, plausibility: Plausibility) -> AreaTable:
    """Return a measured table with areas as the first axis; without areas, all rows are one area."""
    is_empty = plausibility.structural_zeros(table.columns)
    values, variance = np.where(is_empty, 0.0, table.values), np.where(is_empty, 0.0, table.variance())
    if area is None:
        return AreaTable(columns=table.columns, values=values[None], variance=variance[None])
    axis = table.columns.index(area)
    columns = tuple(column for column in table.columns if column != area)
    return AreaTable(columns=columns, values=np.moveaxis(values, axis, 0), variance=np.moveaxis(variance, axis, 0))


def _marginal(table: AreaTable, plain: Columns, like: NoisyMarginal) -> NoisyMarginal:
    """Convert a table of the whole to a `NoisyMarginal`. A cell known to be empty gets the stated noise of a measured cell."""
    cells = np.where(table.variance[0] > 0, table.variance[0] / like.noise.variance_above, 1.0)
    columns = tuple(plain.index(column) for column in table.columns)
    return NoisyMarginal(columns=columns, values=table.values[0], cost=like.cost, cells=cells, kind=like.kind)


def _among(columns: Columns, plausibility: Plausibility) -> Plausibility:
    masks = (mask for mask in plausibility.masks if set(mask.columns) <= set(columns))
    places = ((tuple(columns.index(column) for column in mask.columns), mask) for mask in masks)
    own_masks = tuple(replace(mask, columns=own_columns) for own_columns, mask in places)
    return Plausibility(layout=plausibility.layout.subset(columns), masks=own_masks)
