"""[geography] against the columns, and what the tables of each level can tell, for the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from synthrelease.data.schema import Transformation
from synthrelease.errors import listing
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import MeasuringGenerator
from synthrelease.generators.measurements import AreaNoise, area_noise
from synthrelease.settings.columns import ColumnTable, unlisted_label
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import GeographyTable
from synthrelease.settings.tables import ReleaseFile


@dataclass(frozen=True, kw_only=True)
class Geography:
    """The levels of a release.

    Attributes
    ----------
    chain : the columns of areas, from the largest to the smallest.
    areas : how many each has.
    noise : what it leaves of each level, for each generator that measures a fixed set of tables.
    """

    chain: tuple[str, ...]
    areas: tuple[int, ...]
    noise: Mapping[str, tuple[AreaNoise, ...]]

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """An area lies in one area of the level above."""
        return tuple((above, (column,)) for above, column in pairwise(self.chain))

    def in_words(self, rows: int) -> str:
        """Return how many areas each level has, and what noise leaves of the number of rows in one of them."""
        levels = " > ".join(f"{name} ({count:,})" for name, count in zip(self.chain, self.areas, strict=True))
        lines = [
            f"Areas: {levels}. One standard deviation of the noise in the number of rows of an area, and in one cell, of a "
            f"file of {rows:,} rows (--rows says how many):"
        ]
        for family, noise in self.noise.items():
            lines += [f"  {family}, {each.text(rows)}" for each in noise]
        return "\n".join(lines if self.noise else [f"Areas: {levels}."])


def build_geography(table: GeographyTable, release: ReleaseFile, binnings: Transformation) -> Geography:
    """Return the levels with their numbers of areas in `binnings`, and the noise of what is measured of each."""
    areas = tuple(len(binnings.binning(name)) for name in table.chain)
    return Geography(chain=table.chain, areas=areas, noise=_noise(table, release, binnings))


def check_geography(table: GeographyTable, release: ReleaseFile, problems: Problems) -> None:
    """Add a problem for what is wrong with the codelist and its levels, before columns are made of them."""
    lowest = release.columns.get(table.column)
    if lowest is None or lowest.kind != "code":
        known = listing(name for name, each in release.columns.items() if each.kind == "code")
        found = repr(table.column) if lowest is None else f"{table.column!r} of kind {lowest.kind!r}"
        problems.add("geography.column", f"a column of codes ({known})", found)
        return
    groups = {name: each for name, each in lowest.alternatives.items() if isinstance(each, Mapping)}
    for level in table.levels:
        if level not in groups:
            expected = f"levels of the codelist of {table.column!r} ({listing(groups)})"
            problems.add("geography.levels", expected, repr(level))
        elif level in release.columns:
            problems.add("geography.levels", "levels that are no columns yet", repr(level))
        elif not level.isidentifier():
            problems.add("geography.levels", "names made of letters, digits and underscores", repr(level))
        elif unusable := [label for label in groups[level] if "'" in label and '"' in label]:
            problems.add("geography.levels", "areas that have no two kinds of quotes in their names", repr(unusable[0]))
    if any(level not in groups for level in table.levels):
        return
    if lowest.characters is not None:
        problems.add(f"columns.{table.column}.characters", "none with [geography]", str(lowest.characters))
    if (label := unlisted_label(lowest)) is not None and label in {*_codes(lowest).values(), *groups[table.levels[0]]}:
        expected = "an outside_label that is no area's, because it is an area of its own on every level"
        problems.add(f"columns.{table.column}.outside_label", expected, repr(label))
    drawn = release.transformations.get(table.column, list(lowest.alternatives))
    if len(drawn) != 1 or drawn[0] in table.levels:
        expected = "one way to release the smallest areas, such as ['codes']: larger ones have a column of their own"
        problems.add(f"transformations.{table.column}", expected, listing(drawn))
    for upper, lower in pairwise(table.levels):
        homes = {code: name for name, codes in groups[upper].items() for code in codes}
        for name, codes in groups[lower].items():
            if len({homes.get(code) for code in codes}) > 1:
                problems.add("geography.levels", f"each {lower} in one {upper}, the largest areas first", repr(name))
                break


def _codes(table: ColumnTable) -> Mapping[str, str]:
    return table.codes if isinstance(table.codes, Mapping) else {}


def _noise(table: GeographyTable, release: ReleaseFile, binnings: Transformation) -> dict[str, tuple[AreaNoise, ...]]:
    """Of every family that measures a fixed set of tables and that the budget is stated for; of one with lists of
    hyperparameters by the first of each."""
    families, found = [GENERATORS[str(stated["family"])] for stated in release.generators], dict[str, tuple[AreaNoise, ...]]()
    pure = all(family.guarantee == "pure" for family in families)
    for family, stated in zip(families, release.generators, strict=True):
        if not issubclass(family, MeasuringGenerator) or (family.guarantee == "pure") != pure:
            continue
        generator = family.model_validate({key: each[0] if isinstance(each, list) else each for key, each in stated.items()})
        part = generator.part(generator.charge(release.budget.generation))
        costs = generator.measured_tables(binnings.layout, part)
        found[generator.family] = area_noise(table.chain, binnings.layout, costs, generator.noise)
    return found
