"""The table [geography]: a column of codes of the smallest areas, and the levels of its codelist that have columns, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from synthrelease.errors import Unexpected
from synthrelease.settings.base import SpecTable
from synthrelease.settings.columns import ColumnTable, RuleTable, unlisted_label

if TYPE_CHECKING:
    from synthrelease.generators.measurements import AreaNoise

WHY = "An area lies in one area of the level above."


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


class GeographyTable(SpecTable):
    """[geography]: areas that lie within one another. Each named level of the codelist of the smallest areas becomes a column
    of the record, a public function of the same text of the file, and a rule says that released rows follow it exactly. The
    generator family "nested" measures tables of each level and draws rows level by level.

    Attributes
    ----------
    column : the column of codes of the smallest areas, whose codelist has levels. Example: `column = "municipality"`.
    levels : the levels of that codelist that get a column of their own, of their name, the largest areas first.
        Example: `levels = ["region"]`.
    """

    column: str = Field(min_length=1)
    levels: list[str] = Field(min_length=1, max_length=5)

    @field_validator("levels")
    @classmethod
    def _different(cls, levels: list[str]) -> list[str]:
        if len(set(levels)) < len(levels):
            raise Unexpected("different levels", "one of them twice")
        return levels

    @property
    def chain(self) -> tuple[str, ...]:
        """The columns of areas, from the largest to the smallest."""
        return (*self.levels, self.column)

    def widened(
        self, columns: Mapping[str, ColumnTable], rules: Sequence[RuleTable], missing: str
    ) -> tuple[dict[str, ColumnTable], list[RuleTable]]:
        """The record with a column for each level, before that of the smallest areas, and the rules that tie them to it."""
        wide: dict[str, ColumnTable] = {}
        for name, table in columns.items():
            if name == self.column:
                wide |= {level: _of_level(name, table, level) for level in self.levels}
            wide[name] = table
        lowest = columns[self.column]
        may_be_missing = (lowest.missing or missing) == "bin"
        tied = (rule for level in self.levels for rule in _tied(level, self.column, lowest, may_be_missing))
        return wide, [*rules, *tied]


def _of_level(name: str, table: ColumnTable, level: str) -> ColumnTable:
    """The column of a level: what the file has as the code of an area counts as the group that the codelist gives it."""
    kept = ("missing", "missing_label", "missing_values", "outside", "outside_label")
    return ColumnTable(
        kind="category",
        description=f"{table.description or name}: {level}",
        source=table.source or name,
        categories=table.alternatives[level],
        **{field: getattr(table, field) for field in kept if getattr(table, field)},
    )


def _tied(level: str, column: str, table: ColumnTable, may_be_missing: bool) -> Iterator[RuleTable]:
    """That every one of the smallest areas is in one area of the level: a rule for each of these."""
    codes, unlisted = table.codes if isinstance(table.codes, Mapping) else {}, unlisted_label(table)
    listed = table.alternatives[level]
    of_level = listed if isinstance(listed, Mapping) else {}
    groups = {name: [codes.get(code, code) for code in members] for name, members in of_level.items()}
    groups |= {} if unlisted is None else {unlisted: [unlisted]}
    joined = {name: ", ".join(map(_quoted, inside)) for name, inside in groups.items()}
    never = [f"{level} == {_quoted(name)} and not {column} in [{inside}]" for name, inside in joined.items()]
    if may_be_missing:
        never += [f"{one} is missing and not {other} is missing" for one, other in ((level, column), (column, level))]
    rule = RuleTable(never=level, applies_to=("synthetic",), why=WHY)
    return (rule.model_copy(update={"never": text}) for text in never)  # longer than one that somebody writes


def _quoted(label: str) -> str:
    return f'"{label}"' if "'" in label else f"'{label}'"


TABLE = GeographyTable
