"""Which columns are read of roots and of their members: one of members once for all slots where it has the same atomic bins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from synthrelease.domain.dates import DateFormat
from synthrelease.domain.schema import Column, Schema
from synthrelease.linked import Linked


@dataclass(frozen=True, kw_only=True)
class ReadColumns:
    """The columns of a wide record that are read from files.

    Attributes
    ----------
    of_roots : those of roots, without the number of members.
    of_members : those of members.
    places : for each slot, where each of its columns stands among `of_members`.
    """

    of_roots: Schema
    of_members: Schema
    places: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, schema: Schema, linked: Linked) -> ReadColumns:
        """Of the schema of a wide record."""
        columns, known, places = list[Column](), list[Column](), list[tuple[int, ...]]()
        for slot in linked.slots:
            plain = [_but_for_names(schema[name]) for name in slot]
            for name, one in zip(slot, plain, strict=True):
                if one not in known:
                    columns.append(schema[name])
                    known.append(one)
            places.append(tuple(map(known.index, plain)))
        roots = tuple(schema[name] for name in linked.of_roots(schema.names) if name != linked.size)
        return cls(of_roots=Schema(columns=roots), of_members=Schema(columns=tuple(columns)), places=tuple(places))


def dates_in(schema: Schema, source: str) -> DateFormat | None:
    """How the dates of a column of the file are written, where the specification says so."""
    return next((one.dates for one in schema.columns if source in one.sources and one.dates is not None), None)


def _but_for_names(column: Column) -> Column:
    """All that a column is but for its names: two of slots with the same of it give every text the same bin."""
    return replace(column, name="", description="", alternatives={})


def needed_columns(schema: Schema) -> list[str]:
    """The columns of the file that a schema reads."""
    return list(dict.fromkeys(name for column in schema.columns for name in column.sources))
