"""Say which values fit no bin, and which columns are read.

Values that fit no bin of their column: which kinds there are, which must not occur, and what is told of a file with some.

All sentences are written before a file is read: none can hold a value, a row or a number of rows. `SOME_ROOTS`,
`TWO_WAYS` and `SAME_NUMBER` have places for two numbers of keys, which `check` alone shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from synthrelease.data.dates import DateFormat
from synthrelease.data.linked import Linked
from synthrelease.data.schema import Column, Schema
from synthrelease.errors import listing

MISSING, OUTSIDE, WRONG = -1, -2, -3
"""In the place of a bin: what has none."""
TOGETHER = "all rows of a person must be seen together."
NO_ROOTS = "no member has the key of a root: the keys of the two files are others, or are written in another way."
SOME_ROOTS = "{} of the {} keys of the members have no row among the roots: a release leaves them out, with all their members."
TWO_WAYS = "{} of the {} keys are written in more than one way, such as 12 and 12.0: each of them counts as one key."
SAME_NUMBER = (
    "{} of the {} keys are the same number as another key, such as 007 and 7, or 1E5 and 100000. A release counts each as a "
    "key of its own. If they belong to one person or record, write them in one way before the release."
)

ADVICE = (
    "Neither the rows, nor their values, nor their number is shown. What this message says comes from the "
    "private file and is not paid for: do not change bounds, bins or categories because of it. What works for any file, and is "
    'so where nothing else is asked for: outside = "clip", "bin" or "drop", missing = "bin" or "drop".'
)
MANY = 10
"""Of a column in which more than one row in so many has no value that fits, `check` tells the steward; and of keys of
members, where more than one in so many has no root."""

MEND = (
    "A release counts such texts as missing values; a public file can be mended, or its texts listed as missing_values. If "
    "every row has one, decimal, delimiter or format may be others."
)


def forbidden_kinds(column: Column) -> Iterator[int]:
    """Yield the kinds of values that a column forbids; the other rows without a bin are excluded."""
    if column.missing == "error":
        yield MISSING
        yield WRONG
    if column.outside != "drop":  # clipped numbers are inside by now
        yield OUTSIDE


def sentences(columns: Sequence[Column], decimal: str) -> dict[tuple[int, int], str]:
    """Return the messages about each column, by its position, where some value is of each kind."""
    kinds = (MISSING, OUTSIDE, WRONG)
    return {(index, kind): _sentence(column, kind, decimal) for index, column in enumerate(columns) for kind in kinds}


def _sentence(column: Column, kind: int, decimal: str) -> str:
    if kind == MISSING:
        expected, instead = "a value in every row", "missing values"
    elif column.kind == "category":
        expected, instead = f"one of the categories {listing(column.values)}", "something else"
    elif kind == OUTSIDE and column.bounds is not None:
        expected, instead = "values within the public bounds {:.15g} to {:.15g}".format(*column.bounds), "other values"
    elif column.dates is not None:
        examples = dict.fromkeys(dates.example for dates in (column.dates, column.minus_dates) if dates is not None)
        expected, instead = f"dates such as {' and '.join(examples)}", "something else"
    else:
        numbers = "whole numbers such as 12" if column.kind == "integer" else f"numbers such as 1{decimal}5"
        expected, instead = numbers, "something else"
    where = f"columns {listing(column.sources)}" if column.minus else f"column {column.source!r}"
    return f"{where}: expected {expected}, found {instead}."


# Which columns are read of roots and of their members: one of members once for all slots where it has the same atomic bins.


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
        """Return the columns that are read for the schema of a wide record."""
        columns, plain_columns, positions = list[Column](), list[Column](), list[tuple[int, ...]]()
        for slot in linked.slots:
            plain = [_but_for_names(schema[name]) for name in slot]
            for name, column in zip(slot, plain, strict=True):
                if column not in plain_columns:
                    columns.append(schema[name])
                    plain_columns.append(column)
            positions.append(tuple(map(plain_columns.index, plain)))
        roots = tuple(schema[name] for name in linked.of_roots(schema.names) if name != linked.size)
        return cls(of_roots=Schema(columns=roots), of_members=Schema(columns=tuple(columns)), places=tuple(positions))


def dates_in(schema: Schema, source: str) -> DateFormat | None:
    """Return how the dates of a column of the file are written, where the specification says so."""
    dated = [column for column in schema.columns if source in column.sources and column.dates is not None]
    return next((column.dates if column.source == source else column.minus_dates for column in dated), None)


def _but_for_names(column: Column) -> Column:
    """Return everything in a column except its names: two columns of slots that agree in it give every text the same bin."""
    return replace(column, name="", description="", alternatives={})


def needed_columns(schema: Schema) -> list[str]:
    """Return the columns of the file that a schema reads."""
    return list(dict.fromkeys(name for column in schema.columns for name in column.sources))
