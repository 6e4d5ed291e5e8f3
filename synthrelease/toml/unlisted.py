"""`outside = "bin"`: the texts that no category and no code lists are a category of their own, or one of the listed.

Which texts are listed is public, so it is a public rule about one value alone, and no row is left out because of a text that
nobody thought of.
"""

from __future__ import annotations

from collections.abc import Mapping

from synthrelease.toml.columns import ColumnTable, InputTable

DEFAULT = "other"


def unlisted_label(table: ColumnTable) -> str | None:
    """The category of the texts that are not listed; None where they have none."""
    if table.outside is None:
        return table.outside_label
    if table.outside != "bin":
        return None
    return DEFAULT if table.outside_label is None else table.outside_label


def outside_of(table: ColumnTable, policy: InputTable) -> str:
    """What a text does that is not listed: "bin", "drop" or "error"; categories have no nearest one."""
    if unlisted_label(table) is not None:
        return "bin"
    return "drop" if policy.outside == "clip" and table.outside is None else table.outside or policy.outside


def unlisted_member(table: ColumnTable) -> str | None:
    """What alternatives call it: the code with that label, if one has it, and the label otherwise."""
    label, codes = unlisted_label(table), table.codes if isinstance(table.codes, Mapping) else {}
    return next((code for code, of_code in codes.items() if of_code == label), label)


def with_unlisted(groups: Mapping[str, list[str]], member: str | None) -> Mapping[str, list[str]]:
    """Groups that hold the unlisted texts, too: in the group of their name, where none lists them."""
    if member is None or any(member in group for group in groups.values()):
        return groups
    return {**groups, member: [*groups.get(member, ()), member]}
