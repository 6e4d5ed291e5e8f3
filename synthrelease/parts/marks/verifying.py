"""Every row has as many marks as its column says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import MarksPart, NumberPart
from synthrelease.published.verify.part import KnownFiles, Verifying

if TYPE_CHECKING:
    from synthrelease.spec.marks import Marks


class MarksVerifying(Verifying[Any, MarksPart]):
    def asked(self, value: Marks, part: MarksPart, document: ReleaseDocument) -> Iterator[str]:
        """The same groups of the same columns, with the marks that the specification states."""
        wanted = {name: {one: list(labels) for one, labels in marks.items()} for name, marks in value.groups.items()}
        if {group.column: group.marks for group in part.groups} != wanted:
            yield "marks: expected the groups and marks of the specification, found others"

    def found(self, part: MarksPart, known: KnownFiles) -> str:
        """How many rows have a mark of each group."""
        counts = known.table.counts
        told = []
        for group in part.groups:
            rows = counts.marginal([counts.layout.columns.index(group.column)])
            told.append(f"{int(rows[1:].sum()):,} in {group.column}")
        return f"rows with a mark: {', '.join(told)}; every row has as many marks as it says"

    def problems(self, document: ReleaseDocument, part: MarksPart, known: KnownFiles) -> Iterator[str]:
        """Count the marks of every row, and compare."""
        columns = {column.name: column for column in document.columns}
        for group in part.groups:
            if missing := [name for name in (group.column, *group.marks) if name not in columns]:
                yield f"marks: expected a column {missing[0]!r} in the table, found none"
            elif columns[group.column].kind != "integer" or columns[group.column].missing == "bin":
                yield f"marks: expected whole numbers in {group.column!r}, found something else"
            else:
                yield from _miscounted(group, document, known)


def _miscounted(group: NumberPart, document: ReleaseDocument, known: KnownFiles) -> Iterator[str]:
    counts = known.table.counts
    places = {column.name: place for place, column in enumerate(document.columns)}
    number = np.zeros(len(counts), dtype=np.int64)
    for name, labels in group.marks.items():
        held = [set(one.categories or ()) for one in document.columns[places[name]].bins]
        if any(categories & set(labels) and not categories <= set(labels) for categories in held):
            yield f"marks: expected bins of {name!r} that hold marks alone or none, found others"
            return
        number += np.array([bool(categories & set(labels)) for categories in held])[counts.digits(places[name])]
    edges = [one.edges for one in document.columns[places[group.column]].bins]
    low, high = (np.array(ends)[counts.digits(places[group.column])] for ends in zip(*edges, strict=True))
    if wrong := int(counts.counts[(number < low) | (number >= high)].sum()):
        yield f"marks: expected rows with as many marks as {group.column!r} says, found {wrong} others"


VERIFYING = MarksVerifying()
