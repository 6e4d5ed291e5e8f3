"""Check [members], which links a second table to the first, such as persons to households, and describe it in words."""

from __future__ import annotations

import re

from synthrelease.data.linked import FIRST, OTHER, Linked
from synthrelease.data.rules import RuleError
from synthrelease.data.schema import Schema
from synthrelease.errors import listing
from synthrelease.settings.base import NO_NAME
from synthrelease.settings.columns import ColumnTable, RuleTable
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import MembersTable
from synthrelease.settings.tables import MAX_COLUMNS, MOST_COLUMNS, ReleaseFile
from synthrelease.settings.wide import CONNECTIVES, COUNT, around_counts, counts, words_in, words_of
from synthrelease.spec.columns import ColumnError, build_column
from synthrelease.spec.record import without_key

_PROTECTED = (
    "Members: a record is a row of the first table (a root, such as a household) with all its members, in any number. Epsilon "
    "covers any change of one record, of one member or of all members. A person in several roots is protected with epsilon "
    "times the number of these roots. A move from one root to another is protected with twice epsilon. The number of roots is "
    "published, so a move that changes this number is not protected: a move to a root that was not in the file, or a move of "
    "the last row of a root."
)


def members_in_words(schema: Schema, linked: Linked) -> str:
    """Return sentences on how roots and their members are protected, and which members are used if a root has too many.

    This choice depends only on the rows of the same root, so the guarantee holds for any order (theory 1.10, roots with
    their members). If members are sorted by a released column, its statistics describe only the first members.
    """
    protected = _PROTECTED + f" All {without_key(linked.missing_keys)} are excluded." * bool(linked.missing_keys)
    if linked.more == "drop":
        return f"{protected} The release excludes a root with more than {linked.most} members."
    if linked.order:
        sources = {source for column in schema.columns for source in column.sources}
        released = [name for name in linked.order if name in sources]
        chosen = f"the first {linked.most}, ordered by {listing(linked.order)} (ties by their released values)"
        lean = "towards roots with few members"
        if released:
            lean += f", and statistics of {listing(released)} in the release describe only the first members"
    else:
        chosen = f"the {linked.most} whose released values come first, because [members] states no order"
        lean = "towards these values"
    return (
        f"{protected} Of a root with more than {linked.most} members, the release uses {chosen}. Statistics of members are "
        f"biased {lean}."
    )


def check_members(table: MembersTable, release: ReleaseFile, problems: Problems) -> None:
    """Check the columns and rules of members, before roots and members become one record."""
    _check(table, release, problems)
    wide = len(release.columns) + 1 + table.most * len(table.columns)
    if wide > MAX_COLUMNS:
        parts = f"{len(release.columns) + 1} of roots and {table.most} times {len(table.columns)} of members"
        problems.add("members.most", f"There are {wide:,} columns: {parts}. {MOST_COLUMNS}")


def _check(table: MembersTable, release: ReleaseFile, problems: Problems) -> None:
    if release.unit.key is not None:
        problems.add("unit.key", "Delete `key`: with [members], a record is a root with all its members")
    if release.split is not None:
        problems.add("split", "[split] cannot be combined with [members], because a record number identifies a row, not a root")
    if release.input.rows == "exact":
        why = "because the exact number of used roots reveals facts about their members"
        problems.add("input.rows", f"rows = 'exact' cannot be combined with [members], {why}")
    if table.least > table.most:
        problems.add("members.least", f"at most {table.most}, the number of released members", str(table.least))
    names_made = {table.size, *(name for slot in table.members_with(release.input.missing).slots for name in slot)}
    if taken := [name for name in release.columns if name in names_made]:
        fault = f"Rename {listing(taken)}: the program makes columns with the same names for members"
        problems.add("columns", f"{fault} ({listing(sorted(names_made))})")
    if len(names_made) != 1 + table.most * len(table.columns):
        fault = "The names of the columns must still differ after a number is added to each"
        problems.add("members.columns", f"{fault}: {listing(table.columns)}")
    for name, column in {**release.columns, **table.columns}.items():
        if table.key in (column.source or name, column.minus):
            fault = f"The key {table.key!r} must not be released. Remove the column {name!r}, which reads it"
            problems.add("members.key", fault)
    if table.key in {*release.columns, *names_made, *table.columns}:
        fault = f"There is already a column {table.key!r}. The first column of the released files gets the name of the key"
        problems.add("members.key", fault)
    for name, column in table.columns.items():
        _check_column(f"members.columns.{name}", name, column, release, problems)
    for index, rule in enumerate(table.rules):
        _check_rule(f"members.rules[{index}].never", rule, table, release, problems)
    for word, member in ((FIRST, "the first member"), (OTHER, "another member")):
        if (name := word.rstrip(".")) in table.columns:
            fault = f"{name!r} cannot be the name of a column, because {word}NAME in a rule means NAME of {member}"
            problems.add("members.columns", fault)


def _check_rule(path: str, rule: RuleTable, table: MembersTable, release: ReleaseFile, problems: Problems) -> None:
    words = words_of(rule) - set(CONNECTIVES)
    prefixed = {word for word in words if word.startswith((FIRST, OTHER))}
    unprefixed = {word.partition(".")[0] for word in words - prefixed}
    names = [*table.columns, *(f"{FIRST}{name}" for name in table.columns), *(f"{OTHER}{name}" for name in table.columns)]
    names += [table.size, *release.columns]
    wrong = sorted(unprefixed - {table.size, *table.columns, *release.columns})
    wrong += sorted(word for word in prefixed if word.split(".")[1] not in table.columns)
    if wrong:
        fault = f"The rule names {listing(wrong)}, which neither members nor roots have"
        problems.add(path, f"{fault}. It may name {listing(names)}")
    elif not unprefixed & set(table.columns):
        fault = f"The rule names no column of a member ({listing(table.columns)})"
        problems.add(path, f"{fault}. Write a rule about roots alone under [[rules]]")
    if counts(rule):
        _check_counts(path, rule, table, problems)
    if prefixed and table.most == 1:
        problems.add(path, "The rule names the first or another member, so `most` must be at least 2. It is 1")


def _check_counts(path: str, rule: RuleTable, table: MembersTable, problems: Problems) -> None:
    pieces, counted = around_counts(rule.never)
    outside, inside = set[str]().union(*map(words_in, pieces)), set[str]().union(*map(words_in, counted))
    if COUNT in inside or any(word.startswith(OTHER) for word in inside):
        problems.add(path, "A condition inside count(...) must not contain other.NAME or another count(...)")
    if outside_names := sorted({word.partition(".")[0] for word in outside} & set(table.columns)):
        problems.add(path, f"Write columns of members only inside count(...) or as first.NAME: {listing(outside_names)}")
    if any(re.search(r"\bnot\b(?!\s+missing)", piece) for piece in pieces):
        problems.add(path, "The word `not` cannot be before count(...). Use another comparison")
    fewer = any(re.match(r"\s*(<|==|!=)", piece) for piece in pieces[1:])
    if fewer and table.least == table.most and table.more == "first":
        why = "because every root may have more members than are released"
        problems.add(path, f"Compare count(...) only with > or >=, {why}")


def _check_column(path: str, name: str, column: ColumnTable, release: ReleaseFile, problems: Problems) -> None:
    if not name.isidentifier():
        problems.add(path, NO_NAME.format(name))
    if len(column.alternatives) > 1:
        why = "because all members of a root are released in the same bins"
        problems.add(f"{path}.alternatives", f"Write only one list of bins, {why}")
    if column.role is not None:
        problems.add(f"{path}.role", "Delete `role`: a release has no weights for members")
    if isinstance(column.codes, str):
        problems.add(f"{path}.codes", "Write a table of codes, not the name of a file")
        return
    for field in ("missing", "outside"):
        if (getattr(column, field) or getattr(release.input, field)) == "error":
            why = "because a refused file would reveal a fact about a member that no epsilon covers"
            problems.add(f"{path}.{field}", f"Members cannot have {field} = 'error', {why}")
    try:
        build_column(name, column, release.input, [], None)
    except ColumnError as error:
        problems.add_error(f"{path}.{error.place}", error)
    except RuleError as error:  # a mistake in bins, although there is no rule here
        problems.add_error(path, error)
