"""Rules that name a level of a column: `occupation.major == 'Managers'` stands for the four occupations of that group.

They are written out before anything else sees them: release.json, `verify` and everybody who reads a rule find the labels of
the codes, and need no codelist to know what it says.

    column.level == 'group'            column in ['label', ...]
    column.level != 'group'            not column in ['label', ...]
    column.level in ['group', ...]     column in ['label', ...]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from synthrelease.data.rules import RuleError
from synthrelease.errors import closest, listing
from synthrelease.settings.columns import ColumnTable, unlisted_member, with_unlisted

_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_PLACE = re.compile(rf"(?P<text>{_QUOTED})|(?P<column>[A-Za-z_]\w*)\s*\.\s*(?P<level>[A-Za-z_]\w*)")
_ASKED = re.compile(rf"\s*(?:(?P<operator>==|!=)\s*(?P<one>{_QUOTED})|in\s*\[\s*(?P<many>{_QUOTED}(?:\s*,\s*{_QUOTED})*)\s*\])")


def with_levels_written_out(rule: str, columns: Mapping[str, ColumnTable]) -> str:
    """The rule with labels in the place of groups; as it is where it names no level.

    Raises
    ------
    RuleError : for a column without that level, a group that is not in it, or another comparison than ==, != and in.
    """
    parts, at = [], 0
    while place := _PLACE.search(rule, at):
        parts.append(rule[at : place.start()])
        at = place.end()
        if place["text"]:
            parts.append(place["text"])
            continue
        asked = _ASKED.match(rule, at)
        name = f"{place['column']}.{place['level']}"
        groups = _groups(place["column"], place["level"], columns)
        if asked is None:
            raise RuleError(f"== or != or in, and groups of {name!r} in quotes", repr(rule[at : at + 20].strip()))
        at = asked.end()
        wanted = [text[1:-1] for text in re.findall(_QUOTED, asked["one"] or asked["many"])]
        for group in wanted:
            if group not in groups:
                raise RuleError(f"a group of {name!r} ({listing(groups)})", repr(group), closest(group, groups))
        labels = dict.fromkeys(label for group in wanted for label in groups[group])
        negation = "not " if asked["operator"] == "!=" else ""
        parts.append(f"{negation}{place['column']} in [{', '.join(_quoted(labels))}]")
    return "".join([*parts, rule[at:]])


def _groups(name: str, level: str, columns: Mapping[str, ColumnTable]) -> dict[str, list[str]]:
    """The labels in each group of a level."""
    table = columns.get(name)
    if table is None:
        raise RuleError(f"a column ({listing(columns)})", repr(name), closest(name, columns))
    levels = {known: groups for known, groups in (table.alternatives or {}).items() if isinstance(groups, Mapping)}
    if level not in levels:
        expected = f"a level of {name!r} ({listing(levels)})" if levels else f"a column with levels before '.{level}'"
        raise RuleError(expected, repr(level if levels else name), closest(level, levels))
    codes = table.codes if isinstance(table.codes, Mapping) else {}
    groups = with_unlisted(levels[level], unlisted_member(table))
    return {group: [codes.get(member, member) for member in members] for group, members in groups.items()}


def _quoted(labels: Iterable[str]) -> Iterable[str]:
    for label in labels:
        if "'" in label and '"' in label:
            raise RuleError("labels that have no two kinds of quotes", repr(label))
        yield f'"{label}"' if "'" in label else f"'{label}'"
