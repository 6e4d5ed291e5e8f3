"""Add the columns and rules of the optional tables [members], [geography] (larger areas) and [marks] (groups of indicators) to
a record.

With [members], a record contains a root (a row of the first table, such as a household) and all its members (rows of the second
table, such as persons).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

from synthrelease.data.linked import ABSENT, FIRST, NAME_OR_TEXT, OTHER, in_slot, is_count, of_member, slot_name
from synthrelease.data.schema import label_of_set
from synthrelease.settings.columns import ColumnTable, RuleTable, unlisted_label
from synthrelease.settings.options import GeographyTable, MarksTable, MembersTable

COUNT = "count("
CONNECTIVES = ("and", "or", "not", "in", "is", "missing", COUNT)
_PARENTHESIS = re.compile(r"'[^']*'|\"[^\"]*\"|[()]")
# Pattern of the comparison after a count.
_AGAINST = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*((?:first\.)?[^\W\d]\w*(?:\s*[+-]\s*\d+)?|-?\d+(?:\.\d+)?)")
_WHY = "Only existing members have values."


def with_members(
    table: MembersTable, columns: Mapping[str, ColumnTable], rules: Sequence[RuleTable], missing: str
) -> tuple[dict[str, ColumnTable], list[RuleTable]]:
    """Return the columns and rules of a record that contains a root and all its members.

    For each possible member, the record has a slot: a copy of the members' columns. In a slot without a member, all values are
    in the bin of missing values, the last bin of each column. Otherwise a value may be in this bin only if missing values of
    the column have their own bin. A rule for each column enforces this in all released rows.

    Parameters
    ----------
    columns, rules : the columns and rules of the roots.
    missing : the setting `missing` of [input], the default for columns.
    """
    wide, all_rules = {**columns, table.size: _size(table)}, [*rules]
    if table.least == table.most:
        all_rules.append(RuleTable(never=f"{table.size} > {table.most}", why="Every root has this number of members."))
    for slot in range(1, table.most + 1):
        for plain, column in table.columns.items():
            name = slot_name(plain, slot)
            wide[name] = _of_slot(column, plain, slot, missing)
            all_rules += _of_absent(table.size, table.least, name, slot, (column.missing or missing) == "bin")
        for rule in table.rules:
            if not of_two(rule) and not counts(rule) and (slot > 1 or not of_others(rule)):
                all_rules.append(_of_member(rule, table, slot))
    for rule in table.rules:
        all_rules += [_counted(rule, table)] if counts(rule) else _of_every_two(rule, table) if of_two(rule) else []
    return wide, all_rules


def _size(table: MembersTable) -> ColumnTable:
    """Return the column with the number of members of a root, up to the maximum number of released members."""
    numbers = [str(number) for number in range(table.least, table.most + 1)]
    if table.least == table.most:  # a column needs two bins, so a rule forbids the second one
        numbers = [str(table.least), str(table.most + 1)]
    return ColumnTable(
        kind="integer",
        description="Number of members" + (f"; {table.most} stands for {table.most} or more" if table.more == "first" else ""),
        source=table.key,
        bounds=(table.least, max(table.most, table.least + 1)),
        missing="drop",
        outside="drop",
        alternatives={"coarse": numbers},
    )


def _of_slot(column: ColumnTable, plain: str, slot: int, missing: str) -> ColumnTable:
    """Return the column of one member, such as age_2, in the bin of missing values if there is no such member."""
    label = column.missing_label if (column.missing or missing) == "bin" else ABSENT
    update = {
        "source": column.source or plain,
        "missing": "bin",
        "missing_label": label,
        "description": f"{column.description or plain}{of_member(slot)}",
    }
    return column.model_copy(update=update)


def _of_absent(size: str, least: int, name: str, slot: int, may_be_missing: bool) -> Iterator[RuleTable]:
    """Yield a rule for the column of one member, which forbids values without this member, and missing values of an existing
    member unless they have their own bin."""
    never = [f"{size} < {slot} and not {name} is missing"] if slot > least else []
    if not may_be_missing:
        never.append(f"{size} >= {slot} and {name} is missing" if slot > least else f"{name} is missing")
    if never:
        text = " or ".join(f"({condition})" for condition in never) if len(never) > 1 else never[0]
        yield RuleTable(never=text, applies_to=("synthetic",), why=_WHY)


def words_of(rule: RuleTable) -> set[str]:
    """Return the words in a rule, without texts in quotes. `first.age` and `other.age` are columns of another member."""
    return words_in(rule.never)


def words_in(text: str) -> set[str]:
    matches = (match for match in NAME_OR_TEXT.finditer(text) if match[0][0] not in "'\"")
    return {COUNT if is_count(match) else match[0] for match in matches}


def counts(rule: RuleTable) -> bool:
    """Return whether a rule counts members, and so applies to a root together with all its members."""
    return COUNT in words_of(rule)


def around_counts(text: str) -> tuple[list[str], list[str]]:
    """Split the text of a rule at each `count(...)` into the texts between them and the conditions in the parentheses."""
    pieces, counted, at = list[str](), list[str](), 0
    for match in NAME_OR_TEXT.finditer(text):
        if match.start() < at or not is_count(match):
            continue
        depth = 0
        for parenthesis in _PARENTHESIS.finditer(text, match.end()):
            depth += {"(": 1, ")": -1}.get(parenthesis[0], 0)
            if not depth:
                break
        end = parenthesis.start() if not depth else len(text)  # an unclosed parenthesis is reported when the rule is parsed
        pieces.append(text[at : match.start()])
        counted.append(text[match.end() : end].lstrip()[1:])
        at = min(end + 1, len(text))
    return [*pieces, text[at:]], counted


def _counted(rule: RuleTable, table: MembersTable) -> RuleTable:
    """Rewrite a rule that counts members, such as "count(age < 18) > 3", for whole records: each count lists the condition for
    every member.

    With more = "first", a root with `most` members in the record may have more in the file. For such a root, a comparison that
    holds only for small counts, such as `count(...) < 2`, is false.
    """
    (text, *rests), counted = around_counts(rule.never)
    text = in_slot(text, table.columns, 1)
    for condition, rest in zip(counted, rests, strict=True):
        first = 2 if any(word.startswith(FIRST) for word in words_in(condition)) else 1
        of_each = [
            f"{table.size} >= {slot} and ({in_slot(condition, table.columns, slot)})"
            if slot > table.least
            else in_slot(condition, table.columns, slot)
            for slot in range(first, table.most + 1)
        ]
        number, against = f"count({', '.join(of_each)})", _AGAINST.match(rest)
        if against is None or table.more == "drop":
            text += number + in_slot(rest, table.columns, 1)
            continue
        operator, value = against[1], in_slot(against[2], table.columns, 1)
        fewer = {"!=": "<"}.get(operator, operator)
        comparison = f"{number} {operator} {value}" if operator in (">", ">=") else ""
        comparison = comparison or f"({table.size} < {table.most} and {number} {fewer} {value})"
        comparison = f"({number} > {value} or {comparison})" if operator == "!=" else comparison
        text += comparison + in_slot(rest[against.end() :], table.columns, 1)
    return rule.model_copy(update={"never": text})


def of_others(rule: RuleTable) -> bool:
    """Return whether a rule names columns of the first member."""
    return any(word.startswith(FIRST) for word in words_of(rule))


def of_two(rule: RuleTable) -> bool:
    """Return whether a rule names columns of another member."""
    return any(word.startswith(OTHER) for word in words_of(rule))


def _of_every_two(rule: RuleTable, table: MembersTable) -> Iterator[RuleTable]:
    """Yield a rule about two members, written out for every ordered pair. If it names the first member, pairs that start with
    this member are skipped; a pair with the same conditions in both orders has only one rule."""
    distinct: set[frozenset[str]] = set()
    for slot, second in permutations(range(1, table.most + 1), 2):
        if slot == 1 and of_others(rule):
            continue
        applied = _of_member(rule, table, slot, second)
        is_divided = not words_of(rule) & {"or", "not"}
        conditions = frozenset(applied.never.split(" and ") if is_divided else [applied.never])
        if conditions not in distinct:  # for two members with the same conditions, one order is enough
            distinct.add(conditions)
            yield applied


def _of_member(rule: RuleTable, table: MembersTable, slot: int, other: int | None = None) -> RuleTable:
    """Return a rule about members, written for the member in a slot and, if given, another: `age` becomes age_2. It does not
    apply to an empty slot.

    There, comparisons are unknown, so a rule whose conditions are joined only by `and` is never true. Other rules get a
    condition on the number of members, because a condition on the root, on the first member or on missing values could make
    them true.
    """
    words = words_of(rule)
    never, needed = in_slot(rule.never, table.columns, slot, other), max(slot, other or 0)
    of_more = not {word.partition(".")[0] for word in words} <= {*table.columns, *CONNECTIVES}
    if needed > table.least and ("missing" in words or (of_more and words & {"or", "not"})):
        never = f"{table.size} >= {needed} and ({never})"
    return rule.model_copy(update={"never": never})


# Columns of larger areas, with a rule for each area.

AREAS_WHY = "An area lies in one area of the level above."


def with_levels(
    table: GeographyTable, columns: Mapping[str, ColumnTable], rules: Sequence[RuleTable], missing: str
) -> tuple[dict[str, ColumnTable], list[RuleTable]]:
    """Return all columns and rules, with a column for each level of larger areas, before the column of the smallest areas, and
    the rules that connect the levels."""
    wide: dict[str, ColumnTable] = {}
    for name, column in columns.items():
        if name == table.column:
            wide |= {level: _of_level(name, column, level) for level in table.levels}
        wide[name] = column
    lowest = columns[table.column]
    may_be_missing = (lowest.missing or missing) == "bin"
    tied = (rule for level in table.levels for rule in _tied(level, table.column, lowest, may_be_missing))
    return wide, [*rules, *tied]


def _of_level(name: str, table: ColumnTable, level: str) -> ColumnTable:
    """Return the column of a level, with groups of codes as its categories."""
    fields = ("missing", "missing_label", "missing_values", "outside", "outside_label")
    return ColumnTable(
        kind="category",
        description=f"{table.description or name}: {level}",
        source=table.source or name,
        categories=table.alternatives[level],
        **{field: getattr(table, field) for field in fields if getattr(table, field)},
    )


def _tied(level: str, column: str, table: ColumnTable, may_be_missing: bool) -> Iterator[RuleTable]:
    """Yield a rule for each area of a level, so that this area contains the smallest area of the row."""
    codes, unlisted = table.codes if isinstance(table.codes, Mapping) else {}, unlisted_label(table)
    listed = table.alternatives[level]
    of_level = listed if isinstance(listed, Mapping) else {}
    groups = {name: [codes.get(code, code) for code in members] for name, members in of_level.items()}
    groups |= {} if unlisted is None else {unlisted: [unlisted]}
    joined = {name: ", ".join(map(_quoted, inside)) for name, inside in groups.items()}
    never = [f"{level} == {_quoted(name)} and not {column} in [{inside}]" for name, inside in joined.items()]
    if may_be_missing:
        never += [f"{first} is missing and not {second} is missing" for first, second in ((level, column), (column, level))]
    rule = RuleTable(never=level, applies_to=("synthetic",), why=AREAS_WHY)
    return (rule.model_copy(update={"never": text}) for text in never)  # unvalidated: it may be longer than a written rule


def _quoted(label: str) -> str:
    return f'"{label}"' if "'" in label else f"'{label}'"


# Columns with the names of the indicators of a row, each with rules for it.

MARKS_WHY = "The number of indicators is computed from the row."


class IndicatorColumn(ColumnTable):
    """A column whose category lists the indicators, such as diagnoses, that apply to a row.

    Attributes
    ----------
    marks : for each column of the group, the released categories that mean that the indicator applies.
    """

    marks: dict[str, tuple[str, ...]]

    @property
    def counts(self) -> Mapping[str, tuple[str, ...]]:
        return self.marks


def with_indicators(
    table: MarksTable, columns: Mapping[str, ColumnTable], rules: Sequence[RuleTable], missing: str
) -> tuple[dict[str, ColumnTable], list[RuleTable]]:
    """Return all columns and rules, with a new column for each group of indicators, which lists those that apply, and its
    rules."""
    wide, all_rules = dict(columns), [*rules]
    for name, group in table.groups.items():
        marks = {column: table.marks_of(column, columns[column]) for column in group}
        marked = {column: _is_marked(column, marks[column], (columns[column].missing or missing) == "bin") for column in group}
        number = f"count({', '.join(marked.values())})"
        wide[name], sets = _which(marks, table.most)
        never = list(_rules_of_sets(name, marked, sets))
        never += [f"{name} in ['{_or_more(table.most)}'] and {number} < {table.most}"] if table.most <= len(group) else []
        rule = RuleTable(never=name, applies_to=("synthetic",), why=MARKS_WHY)
        all_rules += [rule.model_copy(update={"never": text}) for text in never]
    return wide, all_rules


def _which(marks: Mapping[str, tuple[str, ...]], most: int) -> tuple[IndicatorColumn, dict[str, tuple[str, ...]]]:
    """Return a column that lists the indicators that apply, with categories such as "infarct + stroke", and the indicators of
    each category except a last one such as "3 or more"."""
    sizes = range(min(most, len(marks) + 1))
    sets = {label_of_set(those): those for size in sizes for those in combinations(marks, size)}
    column = IndicatorColumn(
        kind="category",
        description=f"Indicators that apply, out of {', '.join(marks)}",
        missing="drop",
        outside="drop",
        categories=[*sets, *([_or_more(most)] if most <= len(marks) else [])],
        marks=dict(marks),
    )
    return column, sets


def _or_more(most: int) -> str:
    return f"{most} or more"


def _rules_of_sets(name: str, marked: Mapping[str, str], sets: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield a rule for each indicator: it applies if the category of the row lists it, and not if the category lists only
    others or none."""
    for column, condition in marked.items():
        holding = ", ".join(_quoted(label) for label, those in sets.items() if column in those)
        lacking = ", ".join(_quoted(label) for label, those in sets.items() if column not in those)
        never = f"({condition}) and {name} in [{lacking}]"
        yield f"{never} or not ({condition}) and {name} in [{holding}]" if holding else never


def _is_marked(column: str, marks: Sequence[str], may_be_missing: bool) -> str:
    """Return, as the text of a rule, the condition that an indicator applies to a row, false for a missing value."""
    text = f"{column} in [{', '.join(map(_quoted, marks))}]" if len(marks) > 1 else f"{column} == {_quoted(marks[0])}"
    return f"{text} and not {column} is missing" if may_be_missing else text
