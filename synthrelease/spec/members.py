"""Check the table [members], which links a second table to the first, such as persons to households. Also state in words which
members of a root the release uses.
"""

from __future__ import annotations

import re

from synthrelease.data.linked import FIRST, OTHER, Linked
from synthrelease.data.rules import RuleError
from synthrelease.data.schema import Schema
from synthrelease.errors import listing
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
    """Return sentences that say how roots and their members are protected, and which members are used if a root has too many.

    The choice of members is a function of the root's own rows, so the guarantee holds for any order (theory 1.10, roots with
    their members). Members may be ordered by released values. Statistics of these columns then describe only the first
    members.
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
    """Add a problem for each mistake in the columns and rules of members. Call this function before roots and members become
    wide records.
    """
    _check(table, release, problems)
    wide = len(release.columns) + 1 + table.most * len(table.columns)
    if wide > MAX_COLUMNS:
        actual = f"{wide} columns: {len(release.columns) + 1} of roots and {table.most} times {len(table.columns)} of members"
        problems.add("members.most", f"{MOST_COLUMNS}; columns of roots and of members count", actual)


def _check(table: MembersTable, release: ReleaseFile, problems: Problems) -> None:
    if release.unit.key is not None:
        problems.add("unit.key", "no key, because with [members] a record is a root with all members", repr(release.unit.key))
    if release.split is not None:
        problems.add("split", "no [split] together with [members], because record numbers belong to rows", "one")
    if release.input.rows == "exact":
        expected = "another value with [members], because the exact number of used roots reveals facts about their members"
        problems.add("input.rows", expected, "'exact'")
    if table.least > table.most:
        problems.add("members.least", f"at most {table.most}, the number of released members", str(table.least))
    names_made = {table.size, *(name for slot in table.members_with(release.input.missing).slots for name in slot)}
    if taken := [name for name in release.columns if name in names_made]:
        expected = f"columns of roots whose names differ from the columns made for members ({listing(sorted(names_made))})"
        problems.add("columns", expected, listing(taken))
    if len(names_made) != 1 + table.most * len(table.columns):
        problems.add("members.columns", "names that still differ when a number is added to each", listing(table.columns))
    for name, column in {**release.columns, **table.columns}.items():
        if table.key in (column.source or name, column.minus):
            expected = f"a column that no released column uses; remove {name!r}, which uses it"
            problems.add("members.key", expected, repr(table.key))
    if table.key in {*release.columns, *names_made, *table.columns}:
        expected = "a name that no other column has, because the first column of the released files gets this name"
        problems.add("members.key", expected, f"a second column called {table.key!r}")
    for name, column in table.columns.items():
        _check_column(f"members.columns.{name}", name, column, release, problems)
    for index, rule in enumerate(table.rules):
        _check_rule(f"members.rules[{index}].never", rule, table, release, problems)
    for word, member in ((FIRST, "the first member"), (OTHER, "another member")):
        if (name := word.rstrip(".")) in table.columns:
            problems.add("members.columns", f"another name, because {word}NAME in a rule means NAME of {member}", repr(name))


def _check_rule(path: str, rule: RuleTable, table: MembersTable, release: ReleaseFile, problems: Problems) -> None:
    words = words_of(rule) - set(CONNECTIVES)
    prefixed = {word for word in words if word.startswith((FIRST, OTHER))}
    unprefixed = {word.partition(".")[0] for word in words - prefixed}
    names = [*table.columns, *(f"{FIRST}{name}" for name in table.columns), *(f"{OTHER}{name}" for name in table.columns)]
    names += [table.size, *release.columns]
    wrong = sorted(unprefixed - {table.size, *table.columns, *release.columns})
    wrong += sorted(word for word in prefixed if word.split(".")[1] not in table.columns)
    if wrong:
        problems.add(path, f"columns of members, of first or other members, or of roots ({listing(names)})", listing(wrong))
    elif not unprefixed & set(table.columns):
        problems.add(
            path, f"a column of a member ({listing(table.columns)}); a rule about roots alone belongs under [[rules]]", "none"
        )
    if counts(rule):
        _check_counts(path, rule, table, problems)
    if prefixed and table.most == 1:
        problems.add(path, "at least 2 released members (most), because a rule names the first or another member", "most = 1")


def _check_counts(path: str, rule: RuleTable, table: MembersTable, problems: Problems) -> None:
    pieces, counted = around_counts(rule.never)
    outside, inside = set[str]().union(*map(words_in, pieces)), set[str]().union(*map(words_in, counted))
    if COUNT in inside or any(word.startswith(OTHER) for word in inside):
        problems.add(path, "a condition on one member or the first member inside count(...)", "another member, or a count")
    if outside_names := sorted({word.partition(".")[0] for word in outside} & set(table.columns)):
        problems.add(path, "columns of members only inside count(...) or as first.NAME", listing(outside_names))
    if any(re.search(r"\bnot\b(?!\s+missing)", piece) for piece in pieces):
        problems.add(path, "no `not` around count(...); use another comparison", "'not'")
    fewer = any(re.match(r"\s*(<|==|!=)", piece) for piece in pieces[1:])
    if fewer and table.least == table.most and table.more == "first":
        expected = "count(...) > or >=, because every root may have more members than are released"
        problems.add(path, expected, "a comparison with <, == or !=")


def _check_column(path: str, name: str, column: ColumnTable, release: ReleaseFile, problems: Problems) -> None:
    if not name.isidentifier():
        problems.add(path, "a name made of letters, digits and underscores", repr(name))
    if len(column.alternatives) > 1:
        expected = "one list of bins, because all members of a root are released in the same bins"
        problems.add(f"{path}.alternatives", expected, str(len(column.alternatives)))
    if column.role is not None:
        problems.add(f"{path}.role", "no role, because a release has no weights for members", repr(column.role))
    if isinstance(column.codes, str):
        problems.add(f"{path}.codes", "a table of codes", "the name of a file")
    for field in ("missing", "outside"):
        if (getattr(column, field) or getattr(release.input, field)) == "error":
            expected = "another setting for members: a refused file reveals a fact about a member that no epsilon covers"
            problems.add(f"{path}.{field}", expected, "'error'")
    try:
        build_column(name, column, release.input, [], None)
    except ColumnError as error:
        problems.add_error(f"{path}.{error.place}", error)
    except RuleError as error:  # a mistake in bins, although there is no rule here
        problems.add_error(path, error)
