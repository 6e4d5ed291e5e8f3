"""The table [marks]: groups of columns that say yes or no, each of which gets a column with the number of marks in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, field_validator

from synthrelease.errors import Unexpected
from synthrelease.settings.base import SpecTable
from synthrelease.settings.columns import ColumnTable, RuleTable

WHY = "The number of marks is that of the row."
YES = ("1", "yes", "y", "true", "t")
"""Categories that are a mark, in capitals, too, where the configuration does not say which ones are."""


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The groups of a release.

    Attributes
    ----------
    groups : by the column with the number of marks, each column that it counts with its released categories that are a mark.
    """

    groups: Mapping[str, Mapping[str, tuple[str, ...]]]


class NumberColumn(ColumnTable):
    """The column of a group.

    Attributes
    ----------
    marks : of each column of the group the released categories that are a mark.
    """

    marks: dict[str, tuple[str, ...]]

    @property
    def counts(self) -> Mapping[str, tuple[str, ...]]:
        return self.marks


class MarksTable(SpecTable):
    """[marks]: columns of categories that say whether a row has a mark, in groups of marks that come together. Each group gets
    a column of the record with the number of marks in the row, which is released, and tables may be measured of it: it keeps
    how marks come together where each pair of them is in too few rows. The number is a function of the same row, so it costs
    nothing by itself, and released rows have just as many marks. A missing value is no mark.

    Attributes
    ----------
    groups : by the name of the new column, the columns of its group.
        Example: `groups = { heart = ["infarct", "failure", "stroke"], lung = ["asthma", "copd"] }`.
    most : the number that stands for itself and all above, in the last bin of each new column. Example: `most = 3`.
    yes : of a column the released category, or the categories, that are a mark; of a column that is not named it is the one
        that is called 1, yes, y, true or t, in small or capital letters.
        Example: `yes = { alive = ["no"], infarct = ["acute", "old"] }`.
    """

    groups: dict[str, list[str]] = Field(min_length=1, max_length=100)
    most: int = Field(default=3, ge=1, le=20)
    yes: dict[str, list[str]] = Field(default_factory=dict)

    @field_validator("groups")
    @classmethod
    def _names_and_columns(cls, groups: dict[str, list[str]]) -> dict[str, list[str]]:
        for name, columns in groups.items():
            if not name.isidentifier() or name in {"and", "or", "not", "in", "is", "missing", "count"}:
                raise Unexpected("names of columns made of letters, digits and underscores", repr(name))
            if not 2 <= len(set(columns)) == len(columns) <= 100:
                raise Unexpected("from 2 to 100 different columns in each group", f"{len(set(columns))} in {name!r}")
        return groups

    def marks_of(self, name: str, table: ColumnTable) -> tuple[str, ...]:
        """The categories of a column that are a mark; none where nobody can tell."""
        if name in self.yes:
            return tuple(self.yes[name])
        found = tuple(label for label in labels_of(table) if label.lower() in YES)
        return found if len(found) == 1 else ()

    def widened(
        self, columns: Mapping[str, ColumnTable], rules: Sequence[RuleTable], missing: str
    ) -> tuple[dict[str, ColumnTable], list[RuleTable]]:
        """The record with the number of marks of each group, behind all other columns, and a rule for each that says so."""
        wide, all_rules = dict(columns), [*rules]
        for name, group in self.groups.items():
            marks = {one: self.marks_of(one, columns[one]) for one in group}
            wide[name] = _number(marks, self.most)
            parts = [_is_marked(one, marks[one], (columns[one].missing or missing) == "bin") for one in group]
            rule = RuleTable(never=name, applies_to=("synthetic",), why=WHY)
            all_rules.append(rule.model_copy(update={"never": f"count({', '.join(parts)}) != {name}"}))
        return wide, all_rules


def labels_of(table: ColumnTable) -> list[str]:
    """The released categories of a column that its table lists."""
    return list(table.codes.values()) if isinstance(table.codes, Mapping) else list(table.categories or ())


def _number(marks: Mapping[str, tuple[str, ...]], most: int) -> NumberColumn:
    bins = [*map(str, range(min(most, len(marks)))), f">={most}" if most < len(marks) else str(len(marks))]
    return NumberColumn(
        kind="integer",
        description=f"Number of marks in {', '.join(marks)}",
        bounds=(0, len(marks)),
        missing="drop",
        outside="drop",
        alternatives={"coarse": bins},
        marks=dict(marks),
    )


def _is_marked(column: str, marks: Sequence[str], may_be_missing: bool) -> str:
    """That a row has the mark; false, and not unknown, where the value is missing."""
    text = f"{column} in [{', '.join(map(_quoted, marks))}]" if len(marks) > 1 else f"{column} == {_quoted(marks[0])}"
    return f"{text} and not {column} is missing" if may_be_missing else text


def _quoted(label: str) -> str:
    return f'"{label}"' if "'" in label else f"'{label}'"


TABLE = MarksTable
