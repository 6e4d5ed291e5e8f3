"""From a table of categories or codes in the configuration to a `Column`, and groups of them to binnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from synthrelease.data.schema import MAX_BINS, Binning, Column
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.settings.base import EXPECTED, is_label
from synthrelease.settings.columns import ColumnTable, InputTable, outside_of, unlisted_label, unlisted_member, with_unlisted

Bins = Sequence[str] | Mapping[str, list[str]]


class ColumnError(Unexpected):
    """A mistake in a column's table; its place is the field (relative to the table), or "groups"."""

    def __init__(self, place: str, expected: str, found: str | None, suggestion: str | None = None):
        super().__init__(expected, found, suggestion, place=place)


def category(name: str, table: ColumnTable, policy: InputTable, groups: Bins | None) -> Column:
    """A column of categories, whose texts in the file and whose numbers are listed."""
    _absent(table, "in a column of categories", "bounds", "bounds_by", "step", "part", "minus", "format", "codes", "characters")
    if not table.categories:
        raise ColumnError("categories", "at least one category", "none")
    texts = table.categories if isinstance(table.categories, dict) else {label: [label] for label in table.categories}
    labels, values = tuple(texts), {}
    if len(labels) > MAX_BINS:
        raise ColumnError("categories", f"at most {MAX_BINS} categories", f"{len(labels)}")
    if not isinstance(table.categories, dict) and len(labels) != len(table.categories):
        twice = Counter(table.categories).most_common(1)[0][0]
        raise ColumnError("categories", "different categories", f"{twice!r} twice")
    readable("categories", labels)
    for index, (label, spellings) in enumerate(texts.items()):
        if not spellings:
            raise ColumnError("categories", f"at least one text of the file for {label!r}", "an empty list")
        for text in spellings:
            if text in values:
                raise ColumnError("categories", "each text of the file under one category", f"{text!r} under two")
            values[text] = index
    _known("numbers", table.numbers, labels)
    numbers = tuple(table.numbers.get(label) for label in labels)
    return _column(name, table, policy, groups, values, labels, numbers, "categories")


def code(name: str, table: ColumnTable, policy: InputTable, groups: Bins | None) -> Column:
    """A column of codes: from here on one of categories, the labels of its codelist, without an order and without numbers."""
    _absent(table, "in a column of codes", "bounds", "bounds_by", "step", "part", "minus", "format", "categories")
    if table.numbers:
        raise ColumnError("numbers", "no numbers for codes, which are names (kind = 'category' may have some)", "some")
    if table.ordered:
        raise ColumnError("ordered", "it left out: codes have no order (kind = 'category' may have one)", "true")
    if isinstance(table.codes, str):
        raise ColumnError("codes", "a table of codes with their labels, or a file that is there", repr(table.codes))
    if not table.codes:
        raise ColumnError("codes", "a codelist: a table of codes with their labels, or a CSV file", "none")
    labels = tuple(table.codes.values())
    if len(labels) > MAX_BINS:
        raise ColumnError("codes", f"at most {MAX_BINS} codes", f"{len(labels)}")
    readable("codes", labels)
    if len(set(labels)) < len(labels):
        raise ColumnError("codes", "a label of its own for each code", f"{Counter(labels).most_common(1)[0][0]!r} for two")
    if blank := [text for text in table.codes if not text.strip()]:
        raise ColumnError("codes", "codes of at least one character (missing_values may be empty)", repr(blank[0]))
    values = {text: index for index, text in enumerate(table.codes)}
    if table.characters and (long := [text for text in table.codes if len(text) > table.characters]):
        raise ColumnError("codes", f"codes of at most {table.characters} characters, as `characters` says", repr(long[0]))
    return _column(name, table, policy, groups, values, tuple(table.codes), (None,) * len(labels), "codes", labels)


def _absent(table: ColumnTable, where: str, *fields: str) -> None:
    """Raises ColumnError for the first of some settings that the kind of the column does not have."""
    for field in fields:
        if getattr(table, field) is not None:
            raise ColumnError(field, f"no {field} {where}", "some")
    if table.outside == "clip":
        raise ColumnError("outside", "'bin', 'drop' or 'error' (there is no nearest category)", "'clip'")


def _column(
    name: str,
    table: ColumnTable,
    policy: InputTable,
    groups: Bins | None,
    values: Mapping[str, int],
    members: tuple[str, ...],
    numbers: tuple[float | None, ...],
    each: Literal["categories", "codes"],
    labels: tuple[str, ...] | None = None,
) -> Column:
    """A column whose alternatives group `members`, the names of its atoms in the specification.

    Parameters
    ----------
    values : text of the file -> atom.
    each : the name of the alternative in which every atom is a bin, unless others are listed.
    labels : of the atoms in the release; `members` itself where it is None.
    """
    labels = members if labels is None else labels
    unlisted, member = _unlisted(table, labels, members), unlisted_member(table)
    if unlisted is not None and unlisted not in labels:
        members, labels, numbers = (*members, unlisted), (*labels, unlisted), (*numbers, None)
    atoms = Binning(name="atoms", labels=labels, numbers=numbers, of_atom=tuple(range(len(labels))))
    alternatives = {
        key: grouping(f"alternatives.{key}", key, bins, members, each, unlisted=member)
        for key, bins in table.alternatives.items()
    }
    if not alternatives:
        alternatives = {each: replace(atoms, name=each)}
    if groups is not None:
        grouping("groups", "groups", groups, labels, unlisted=unlisted)
    return Column(
        name=name,
        kind="category",
        description=table.description,
        unit=table.unit,
        source=table.source or name,
        part=None,
        bounds=None,
        edges=(),
        values=values,
        missing=table.missing or policy.missing,
        characters=table.characters,
        outside_label=unlisted or "",
        outside=outside_of(table, policy),
        ordered=bool(table.ordered),
        atoms=atoms,
        alternatives=alternatives,
        missing_values=table.missing_values,
    )


def _unlisted(table: ColumnTable, labels: Sequence[str], members: Sequence[str]) -> str | None:
    """The label of the texts that are not listed, if they have one; raises ColumnError for one that cannot be used."""
    label = unlisted_label(table)
    if label is None or label in labels:
        return label
    readable("outside_label", [label])
    if table.ordered:
        raise ColumnError("outside_label", "one of the ordered categories (a new one would have a neighbour)", repr(label))
    if label in members:
        raise ColumnError("outside_label", "a label that is not the code of another one", repr(label))
    return label


def grouping(
    field: str,
    name: str,
    bins: Bins,
    labels: tuple[str, ...],
    what: str = "categories",
    *,
    unlisted: str | None = None,
) -> Binning:
    """{"low": ["none", "primary"], ...}: every category (or code: `what` they are) in exactly one group.

    Parameters
    ----------
    unlisted : the one of texts that are not listed, which groups need not name; None where there is none.
    """
    if not isinstance(bins, Mapping):
        raise ColumnError(field, f"a table of groups with their {what}", "a list")
    bins = with_unlisted(bins, unlisted)
    readable(field, bins)
    members = [(label, index) for index, group in enumerate(bins.values()) for label in group]
    named = Counter(label for label, _ in members)
    _known(field, named, labels, what)
    wrong = [label for label in labels if named[label] != 1]
    if wrong:
        found = f"{wrong[0]!r} in {'two' if named[wrong[0]] else 'none'}"
        raise ColumnError(field, f"each of the {what} ({listing(labels)}) in exactly one group", found)
    into = dict(members)
    return Binning(
        name=name,
        labels=tuple(bins),
        numbers=tuple(None for _ in bins),
        of_atom=tuple(into[label] for label in labels),
    )


def _known(field: str, names: Collection[str], labels: Collection[str], what: str = "categories") -> None:
    known = frozenset(labels)
    for name in names:
        if name not in known:
            raise ColumnError(field, f"{what} of the column ({listing(labels)})", repr(name), closest(name, labels))


def readable(field: str, labels: Collection[str]) -> None:
    """Raises ColumnError for the first label that cannot be written into a table."""
    for label in labels:
        if not is_label(label):
            raise ColumnError(field, EXPECTED, repr(label))
