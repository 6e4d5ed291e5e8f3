"""[members] against the other settings, and the wide record that it makes of the columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from synthrelease.domain.linked import ABSENT, Linked, slot_name
from synthrelease.domain.rules import RuleError
from synthrelease.errors import listing
from synthrelease.parts.members.table import MembersTable
from synthrelease.specification.categories import ColumnError
from synthrelease.specification.columns import build_column
from synthrelease.specification.part import Building, Surroundings
from synthrelease.toml.columns import ColumnTable, RuleTable
from synthrelease.toml.problems import Problems
from synthrelease.toml.tables import MAX_TABLES, ReleaseFile

_NAME_OR_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"|[^\W\d]\w*(?:\.\w+)?")
"""A text in quotes, or a name, with a level behind a point."""


_WHY = "A member that is there has values, and no other."


class MembersBuilding(Building[MembersTable, Linked]):
    def build(self, table: MembersTable, around: Surroundings, problems: Problems) -> Linked:
        """How the members stand in the record of their root."""
        return table.linked(around.release.input.missing)

    def linked(self, table: MembersTable, release: ReleaseFile) -> Linked:
        """As `build`, before the columns are built."""
        return table.linked(release.input.missing)

    def widened(self, table: MembersTable, release: ReleaseFile, problems: Problems) -> ReleaseFile:
        """The columns of roots, the number of members, and the columns of each member that a root can have.

        Of a slot that no member fills every column has its last bin, and of one that is filled none, but where missing values
        are a bin: a rule for each column says so, which released rows follow exactly.
        """
        self._check(table, release, problems)
        problems.stop()
        linked, policy = self.linked(table, release), release.input.missing
        columns = {**release.columns, table.size: _size(table)}
        rules = [*release.rules]
        for place, slot in enumerate(linked.slots, start=1):
            for name, column in zip(slot, table.columns.values(), strict=True):
                columns[name] = _of_slot(column, name, place, policy)
                rules += _of_absent(table, name, place, (column.missing or policy) == "bin")
            rules += [_of_member(rule, table, place) for rule in table.rules]
        if len(columns) > MAX_TABLES:
            found = (
                f"{len(columns)}: {len(release.columns) + 1} of roots and {table.most} times {len(table.columns)} of members"
            )
            problems.add("members.most", f"at most {MAX_TABLES} columns of a root with its members", found)
        problems.stop()
        return release.model_copy(update={"columns": columns, "rules": rules})

    def _check(self, table: MembersTable, release: ReleaseFile, problems: Problems) -> None:
        if release.unit.key is not None:
            problems.add("unit.key", "none with [members]: a record is a root with all its members", repr(release.unit.key))
        if release.split is not None:
            problems.add("split", "no such table with [members]: record numbers are of rows", "one")
        if release.input.rows == "exact":
            expected = "another way with [members]: the exact number of kept roots tells what members they have"
            problems.add("input.rows", expected, "'exact'")
        if table.least > table.most:
            problems.add("members.least", f"at most {table.most}, as many as are released", str(table.least))
        made = {table.size, *(name for slot in self.linked(table, release).slots for name in slot)}
        if taken := [name for name in release.columns if name in made]:
            expected = f"columns of roots that are not called like those of members ({listing(sorted(made))})"
            problems.add("columns", expected, listing(taken))
        if len(made) != 1 + table.most * len(table.columns):
            problems.add("members.columns", "names that differ with the number of a member behind them", listing(table.columns))
        for name, column in {**release.columns, **table.columns}.items():
            if table.key in (column.source or name, column.minus):
                expected = f"a column that is not released, found that {name!r} is made of it: take that column out"
                problems.add("members.key", expected, repr(table.key))
        for name, column in table.columns.items():
            self._check_column(f"members.columns.{name}", name, column, release, problems)
        taken_by = {name for rule in table.rules for name in _names(rule.never)} - set(table.columns)
        if taken_by:
            problems.add("members.rules", f"columns of members ({listing(table.columns)})", listing(sorted(taken_by)))

    def _check_column(self, path: str, name: str, column: ColumnTable, release: ReleaseFile, problems: Problems) -> None:
        if not name.isidentifier():
            problems.add(path, "a name made of letters, digits and underscores", repr(name))
        if len(column.alternatives) > 1:
            expected = "one list of bins: all members of a root are released in the same bins"
            problems.add(f"{path}.alternatives", expected, str(len(column.alternatives)))
        if column.role is not None:
            problems.add(f"{path}.role", "no role: members have no weights of their own", repr(column.role))
        if isinstance(column.codes, str):
            problems.add(f"{path}.codes", "a table of codes", "the name of a file")
        for field in ("missing", "outside"):
            if (getattr(column, field) or getattr(release.input, field)) == "error":
                expected = "another rule for members: a refused file would tell of a single member what nothing pays for"
                problems.add(f"{path}.{field}", expected, "'error'")
        try:
            build_column(name, column, release.input, [], None)
        except ColumnError as error:
            problems.add_error(f"{path}.{error.place}", error)
        except RuleError as error:  # of no rule
            problems.add_error(path, error)


def _size(table: MembersTable) -> ColumnTable:
    """The number of members of a root; of more than are released it is as many as are."""
    numbers = [str(number) for number in range(table.least, table.most + 1)]
    if table.least == table.most:  # one bin would be no column
        numbers = [str(table.least), str(table.most + 1)]
    return ColumnTable(
        kind="integer",
        description="Number of members" + (f"; {table.most} stands for {table.most} or more" if table.more == "first" else ""),
        source=table.key,
        bounds=(table.least, max(table.most, table.least + 1)),
        missing="drop",
        outside="drop",
        alternatives={"members": numbers},
    )


def _of_slot(column: ColumnTable, name: str, place: int, policy: str) -> ColumnTable:
    """The column of the member at this place: of one that is not there it has the bin of missing values."""
    label = column.missing_label if (column.missing or policy) == "bin" else ABSENT
    plain = name.removesuffix(slot_name("", place))
    update = {
        "source": column.source or plain,
        "missing": "bin",
        "missing_label": label,
        "description": f"{column.description or plain}, of member {place}",
    }
    return column.model_copy(update=update)


def _of_absent(table: MembersTable, name: str, place: int, may_be_missing: bool) -> Iterator[RuleTable]:
    """That a member has values just when it is there; those of one that is there may be missing where that is a bin."""
    never = [f"{table.size} < {place} and not {name} is missing"] if place > table.least else []
    if not may_be_missing:
        never.append(f"{table.size} >= {place} and {name} is missing" if place > table.least else f"{name} is missing")
    if never:
        text = " or ".join(f"({each})" for each in never) if len(never) > 1 else never[0]
        yield RuleTable(never=text, applies_to=("synthetic",), why=_WHY)


def _of_member(rule: RuleTable, table: MembersTable, place: int) -> RuleTable:
    """A rule for a member, of the one at this place."""

    def named(match: re.Match[str]) -> str:
        name, point, level = match[0].partition(".")
        return f"{slot_name(name, place)}{point}{level}" if name in table.columns else match[0]

    return rule.model_copy(update={"never": _NAME_OR_TEXT.sub(named, rule.never)})


def _names(never: str) -> Iterator[str]:
    """What a rule names as columns."""
    for match in _NAME_OR_TEXT.finditer(never):
        if match[0][0] not in "'\"" and match[0] not in ("and", "or", "not", "in", "is", "missing"):
            yield match[0].partition(".")[0]


BUILDING = MembersBuilding()
