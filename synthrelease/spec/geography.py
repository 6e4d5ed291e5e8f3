"""Check the tables [geography] (nested areas) and [marks] (groups of indicators), and describe them for the command `plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from synthrelease.criteria.base import Setting
from synthrelease.data.schema import Transformation
from synthrelease.errors import closest, listing
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import MeasuringGenerator
from synthrelease.settings.base import NO_NAME
from synthrelease.settings.columns import ColumnTable, unlisted_label
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import YES, GeographyTable, MarksTable, labels_of
from synthrelease.settings.tables import MAX_COLUMNS, MOST_COLUMNS, ReleaseFile

if TYPE_CHECKING:
    from synthrelease.generators.measurements import AreaNoise


@dataclass(frozen=True, kw_only=True)
class Geography:
    """The levels of nested areas in a release, such as regions and municipalities.

    Attributes
    ----------
    chain : the columns of areas, from the largest areas to the smallest.
    areas : the number of areas on each level, in the same order.
    noise : the noise of the counts on each level, for each generator that measures a fixed set of tables.
    """

    chain: tuple[str, ...]
    areas: tuple[int, ...]
    noise: Mapping[str, tuple[AreaNoise, ...]]

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each column of larger areas, such as regions, with the column of the next smaller areas, which determine them."""
        return tuple((above, (column,)) for above, column in pairwise(self.chain))

    def in_words(self, rows: int) -> str:
        levels = " > ".join(f"{name} ({count:,})" for name, count in zip(self.chain, self.areas, strict=True))
        lines = [
            f"Areas: {levels}. Standard deviation of the noise in the number of rows of an area and of one cell, for a file "
            f"of {rows:,} rows (see --rows):"
        ]
        for family, noise in self.noise.items():
            lines += [f"  {family}, {area.text(rows)}" for area in noise]
        return "\n".join(lines if self.noise else [f"Areas: {levels}."])


def build_geography(table: GeographyTable, release: ReleaseFile, binnings: Transformation) -> Geography:
    areas = tuple(len(binnings.binning(name)) for name in table.chain)
    return Geography(chain=table.chain, areas=areas, noise=_noise(table, release, binnings))


def check_geography(table: GeographyTable, release: ReleaseFile, problems: Problems) -> None:
    lowest = release.columns.get(table.column)
    if lowest is None or lowest.kind != "code":
        names = listing(name for name, column in release.columns.items() if column.kind == "code")
        actual = repr(table.column) if lowest is None else f"{table.column!r} of kind {lowest.kind!r}"
        problems.add("geography.column", f"a column of codes ({names})", actual)
        return
    groups = {name: alternative for name, alternative in lowest.alternatives.items() if isinstance(alternative, Mapping)}
    for level in table.levels:
        if level not in groups:
            fault = f"{level!r} is not a level of the codelist of {table.column!r}"
            problems.add("geography.levels", f"{fault}, which has {listing(groups)}" if groups else f"{fault}, which has none")
        elif level in release.columns:
            problems.add("geography.levels", f"There is already a column {level!r}. Give the level another name")
        elif not level.isidentifier():
            problems.add("geography.levels", NO_NAME.format(level))
        elif unusable := [label for label in groups[level] if "'" in label and '"' in label]:
            problems.add("geography.levels", f"The name of an area must not contain both kinds of quotes: {unusable[0]}")
    if any(level not in groups for level in table.levels):
        return
    if lowest.characters is not None:
        problems.add(f"columns.{table.column}.characters", "Delete `characters`: [geography] cannot be combined with it")
    if (label := unlisted_label(lowest)) is not None and label in {*_codes(lowest).values(), *groups[table.levels[0]]}:
        fault = f"{label!r} is also the name of an area. Use another label, because it becomes a separate area on every level"
        problems.add(f"columns.{table.column}.outside_label", fault)
    alternatives = release.transformations.get(table.column, list(lowest.alternatives))
    if len(alternatives) != 1 or alternatives[0] in table.levels:
        advice = "Choose one alternative for the smallest areas, such as ['codes']. Larger areas have separate columns"
        problems.add(
            f"transformations.{table.column}", f"{advice}. The chosen alternatives are {listing(alternatives) or 'none'}"
        )
    for upper, lower in pairwise(table.levels):
        homes = {code: name for name, codes in groups[upper].items() for code in codes}
        for name, codes in groups[lower].items():
            if len({homes.get(code) for code in codes}) > 1:
                fault = f"The {lower} {name!r} is in more than one {upper}. List the levels with the largest areas first"
                problems.add("geography.levels", fault)
                break


def _codes(table: ColumnTable) -> Mapping[str, str]:
    return table.codes if isinstance(table.codes, Mapping) else {}


def _noise(table: GeographyTable, release: ReleaseFile, binnings: Transformation) -> dict[str, tuple[AreaNoise, ...]]:
    """Return the noise in the counts of areas on each level, for each generator that measures fixed tables.

    Generators with another privacy definition than the budget are left out. Of a list of values, the first is used.
    """
    from synthrelease.generators.measurements import AreaNoise, area_noise  # here, because few configurations have areas

    families = [GENERATORS[str(settings["family"])] for settings in release.generators]
    noise = dict[str, tuple[AreaNoise, ...]]()
    pure = all(family.guarantee == "pure" for family in families)
    for family, settings in zip(families, release.generators, strict=True):
        if not issubclass(family, MeasuringGenerator) or (family.guarantee == "pure") != pure:
            continue
        first = {key: listed[0] if isinstance(listed, list) else listed for key, listed in settings.items()}
        generator = family.model_validate(first)
        part = generator.part(generator.charge(release.budget.generation))
        costs = generator.measured_tables(binnings.layout, part)
        noise[generator.family] = area_noise(table.chain, binnings.layout, costs, generator.noise)
    return noise


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The columns of a release that list the indicators that apply to a row.

    Attributes
    ----------
    groups : for each such column, the columns of its indicators, each with the categories that mean that the indicator
        applies.
    """

    groups: Mapping[str, Mapping[str, tuple[str, ...]]]

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((name, tuple(columns)) for name, columns in self.groups.items())

    def in_words(self) -> str:
        groups = "; ".join(f"{name} of {len(columns)} columns" for name, columns in self.groups.items())
        return f"Columns of indicators: {groups}. A table with such a column costs as much as any other table."


def build_marks(table: MarksTable, release: ReleaseFile, setting: Setting, problems: Problems) -> Marks:
    """Return the columns that list indicators, and add a problem if a bin mixes categories with and without the indicator."""
    for column in setting.schema.columns:
        for name, marks in (column.counts or {}).items():
            binnings = (transformation.binning(name) for transformation in setting.transformations)
            for binning in {binning.name: binning for binning in binnings}.values():
                marked = {into for atom, into in enumerate(binning.of_atom) if atom in marks}
                mixed = [into for atom, into in enumerate(binning.of_atom) if atom not in marks and into in marked]
                if mixed:
                    fault = f"The bin {binning.labels[mixed[0]]!r} merges categories with and without the indicator"
                    why = f"Each bin must say whether the indicator applies, because {column.name!r} lists it"
                    problems.add(f"transformations.{name}", f"{fault}. {why}")
    for index, generator in enumerate(release.generators):
        if not GENERATORS[str(generator["family"])].counts:
            able = listing(name for name, family in GENERATORS.items() if family.counts)
            fault = f"The family {generator['family']!r} cannot follow rules that count, which [marks] needs"
            problems.add(f"generators[{index}].family", f"{fault}. Use one of {able}")
    columns = release.columns
    return Marks(groups={name: columns[name].counts or {} for name in table.groups})


def check_marks(table: MarksTable, release: ReleaseFile, problems: Problems) -> None:
    if release.linked is not None:
        problems.add("marks", "[marks] cannot be combined with [members]")
    if len(release.columns) + len(table.groups) > MAX_COLUMNS:
        columns = f"There are {len(release.columns)} columns and {len(table.groups)} columns of groups"
        problems.add("marks.groups", f"{columns}. {MOST_COLUMNS}")
    members = dict.fromkeys(name for columns in table.groups.values() for name in columns)
    for name in table.groups:
        if name in release.columns:
            problems.add(f"marks.groups.{name}", f"There is already a column {name!r}. Use another name for the group")
    for name in table.yes:
        if name not in members:
            problems.add(f"marks.yes.{name}", f"{name!r} is not a column of a group", suggestion=closest(name, members))
    for name in members:
        _check_marks(name, table, release, problems)


def _check_marks(name: str, marks_table: MarksTable, release: ReleaseFile, problems: Problems) -> None:
    column = release.columns.get(name)
    if column is None or column.kind not in ("category", "code") or isinstance(column.codes, str):
        listed = [other for other, table in release.columns.items() if table.kind in ("category", "code")]
        actual = repr(name) if column is None else f"{name!r} of kind {column.kind!r}"
        problems.add("marks.groups", f"columns of categories or codes ({listing(listed)})", actual, closest(name, listed))
        return
    labels = [*labels_of(column), *(label for label in [unlisted_label(column)] if label is not None)]
    marks = list(dict.fromkeys(marks_table.marks_of(name, column)))
    if not marks:
        fault = f"Name the categories of {name!r} for which the indicator applies"
        problems.add("marks.yes", f"{fault}. They are unclear, because not exactly one category is among {listing(YES)}")
    elif strange := [label for label in marks if label not in labels]:
        problems.add(f"marks.yes.{name}", f"{strange[0]!r} is not a category of {name!r}: {listing(labels)}")
    elif len(marks) == len(set(labels)):
        problems.add(f"marks.yes.{name}", f"For at least one category of {name!r}, the indicator must not apply")
    elif unusable := [label for label in marks if "'" in label and '"' in label]:
        problems.add(f"marks.yes.{name}", f"The name of a category must not contain both kinds of quotes: {unusable[0]}")
