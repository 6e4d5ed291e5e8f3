"""The table [members]: a second file, linked by a key, whose rows belong to the rows of the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field, field_validator

from synthrelease.data.linked import Linked, slot_name
from synthrelease.errors import Unexpected
from synthrelease.parts.members.wide import wide_record
from synthrelease.settings.base import SpecTable
from synthrelease.settings.columns import ColumnTable, RuleTable

MOST_MEMBERS = 50


class MembersTable(SpecTable):
    """[members]: the members of each row of the private file (persons of a household, visits of a patient), which stand in a
    second file, or in the one file that carries the columns of their root. What is protected is a root with all its members.
    `release --members FILE` names the second file.

    Attributes
    ----------
    key : the column of both files that says to which root a member belongs. It is used for this alone; the released files have
        new numbers under its name. Example: `key = "household"`.
    most : members of a root that are released, at most. Every one more makes the record wider. Example: `most = 6`.
    least : a root with fewer members is left out. Example: `least = 1`.
    more : of a root with more members, "first" releases the first ones in the order below, and "drop" leaves the root out with
        all of them. Example: `more = "drop"`.
    order : columns of the members' file by which the members of a root are ordered: numbers by size, dates by time, other texts
        by their first letters, rows without a value last. Members that agree in them are ordered by what is released; the
        order of the file has no effect. Example: `order = ["number"]`.
    reference : a column of the members' file, with the text of the members who come before all others, such as a household's
        reference person. Example: `reference = { relation = "reference person" }`.
    size : how the released column with the number of members is called. Example: `size = "persons"`.
    columns : the columns of a member, as [columns.NAME]; each has one list of bins. In criteria and queries the column NAME of
        the first member is NAME_1, that of the second NAME_2, and so on.
        Example: `columns.age = { kind = "integer", bounds = [0, 99] }`.
    rules : what must never occur in a member, as [[rules]]: a root with such a member is left out. A rule may name columns of
        the root as well, and as first.NAME those of the first member (it is then about all others) or as other.NAME those of
        another one (about every two members), compare whole numbers (`age > first.age - 12`), and count members
        (`count(relation == 'spouse') > 1`, `count(age < 18) > children`).
        Example: `rules = [{ never = "relation == 'spouse' and other.relation == 'spouse'" }]`.
    """

    key: str = Field(min_length=1)
    most: int = Field(ge=1, le=MOST_MEMBERS)
    least: int = Field(default=0, ge=0, le=MOST_MEMBERS)
    more: Literal["first", "drop"] = "first"
    order: list[str] = Field(default=[], max_length=20)
    reference: dict[str, str] = Field(default_factory=dict, max_length=1)
    size: str = "members"
    columns: dict[str, ColumnTable] = Field(min_length=1, max_length=100)
    rules: list[RuleTable] = Field(default=[], max_length=50)

    @field_validator("size")
    @classmethod
    def _a_name(cls, size: str) -> str:
        if not size.isidentifier():
            raise Unexpected("a column name made of letters, digits and underscores", repr(size))
        return size

    def widened(
        self, columns: Mapping[str, ColumnTable], rules: Sequence[RuleTable], missing: str
    ) -> tuple[dict[str, ColumnTable], list[RuleTable]]:
        """Columns and rules of the wide record."""
        return wide_record(self, columns, rules, missing)

    def members_with(self, missing: str) -> Linked:
        """How members stand in the record of their root; `missing` is what missing values do where a column does not say it."""
        return Linked(
            key=self.key,
            size=self.size,
            names=tuple(self.columns),
            slots=tuple(tuple(slot_name(name, place) for name in self.columns) for place in range(1, self.most + 1)),
            whole=frozenset(name for name, column in self.columns.items() if (column.missing or missing) != "bin"),
            least=self.least,
            more=self.more,
            order=tuple(self.order),
            reference=next(iter(self.reference.items()), None),
        )


TABLE = MembersTable
