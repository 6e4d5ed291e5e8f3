"""From a table of categories in the configuration to a `Column`, and groups of categories to binnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from synthrelease.domain.bins import MAX_BINS
from synthrelease.domain.schema import Binning, Column
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.spreadsheets import is_executable
from synthrelease.toml.tables import ColumnTable, InputTable

Bins = Sequence[str] | Mapping[str, list[str]]


class ColumnError(Unexpected):
    """A mistake in a column's table; its place is the field (relative to the table), or "groups"."""

    def __init__(self, place: str, expected: str, found: str | None, suggestion: str | None = None):
        super().__init__(expected, found, suggestion, place=place)


def category(name: str, table: ColumnTable, policy: InputTable, groups: Bins | None) -> Column:
    for field in ("bounds", "part"):
        if getattr(table, field) is not None:
            raise ColumnError(field, f"no {field} in a column of categories", "some")
    if table.outside == "clip":
        raise ColumnError("outside", "'drop' or 'error' (there is no nearest category)", "'clip'")
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
    atoms = Binning(name="atoms", labels=labels, numbers=numbers, of_atom=tuple(range(len(labels))))
    alternatives = {key: grouping(f"alternatives.{key}", key, bins, labels) for key, bins in table.alternatives.items()}
    if not alternatives:
        alternatives = {"categories": Binning(name="categories", labels=labels, numbers=numbers, of_atom=atoms.of_atom)}
    if groups is not None:
        grouping("groups", "groups", groups, labels)
    return Column(
        name=name,
        kind="category",
        description=table.description,
        unit=table.unit,
        source=table.source or name,
        part=table.part,
        bounds=None,
        edges=(),
        values=values,
        missing=table.missing or policy.missing,
        outside="error" if policy.outside == "clip" and not table.outside else table.outside or policy.outside,
        ordered=bool(table.ordered),
        atoms=atoms,
        alternatives=alternatives,
        missing_values=table.missing_values,
    )


def grouping(field: str, name: str, bins: Bins, labels: tuple[str, ...]) -> Binning:
    """{"low": ["none", "primary"], ...}: every category in exactly one group."""
    if not isinstance(bins, Mapping):
        raise ColumnError(field, "a table of groups with their categories", "a list")
    readable(field, bins)
    members = [(label, index) for index, group in enumerate(bins.values()) for label in group]
    named = Counter(label for label, _ in members)
    _known(field, named, labels)
    wrong = [label for label in labels if named[label] != 1]
    if wrong:
        found = f"{wrong[0]!r} in {'two' if named[wrong[0]] else 'none'}"
        raise ColumnError(field, f"every category ({listing(labels)}) in exactly one group", found)
    into = dict(members)
    return Binning(
        name=name,
        labels=tuple(bins),
        numbers=tuple(None for _ in bins),
        of_atom=tuple(into[label] for label in labels),
    )


def _known(field: str, names: Collection[str], labels: Collection[str]) -> None:
    known = frozenset(labels)
    for name in names:
        if name not in known:
            raise ColumnError(field, f"categories of the column ({listing(labels)})", repr(name), closest(name, labels))


def readable(field: str, labels: Collection[str]) -> None:
    for label in labels:
        if is_executable(label) or not label.strip() or len(label) > 200 or len((label + " ").splitlines()) > 1:
            expected = (
                "labels of one line and 1 to 200 characters that no spreadsheet executes (= + - @ start a formula, also after "
                ", ; | and quotes)"
            )
            raise ColumnError(field, expected, repr(label))
