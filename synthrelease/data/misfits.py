"""Prepare the messages about values that belong to no bin of their column, and determine which columns are read.

All messages are prepared before a file is read, so none can reveal a value, a row or a number of rows. Only `check` fills in
the two numbers of keys in `SOME_ROOTS`, `TWO_WAYS` and `SAME_NUMBER`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from synthrelease.data.dates import DateFormat
from synthrelease.data.linked import Linked
from synthrelease.data.schema import Column, Schema
from synthrelease.errors import listing

MISSING, OUTSIDE, WRONG = -1, -2, -3
"""Codes for values that belong to no bin: a missing value, a value outside the bounds or categories, and a text that is not a
number or date.
"""
TOGETHER = "because all rows of a person must be read together."
NO_ROOTS = "No member has the key of a root. The two files have different keys, or write the keys differently."
SOME_ROOTS = "Keys of members that no root has: {:,} of {:,}. A release excludes all members with these keys."
TWO_WAYS = "Keys that are written in more than one way, such as 12 and 12.0: {:,} of {:,}. A release counts each of them once."
SAME_NUMBER = (
    "Keys that are the same number as another key, such as 007 and 7, or 1E5 and 100000: {:,} of {:,}. A release counts each "
    "of them as a separate key. If such keys belong to one person or record, write them in one way before the release."
)

ADVICE = (
    "This message shows no rows, no values and no number of rows. If the file is private, the privacy budget does not cover "
    "the message. So do not change bounds, bins or categories because of it. With these settings, every file fits: outside = "
    '"clip", "bin" or "drop", missing = "bin" or "drop".'
)
MANY = 10
"""`check` reports a column if more than one row in `MANY` has a value that belongs to no bin. It reports the keys of members if
more than one member in `MANY` has no root.
"""

MEND = (
    "A release counts such texts as missing values. Correct the public file, or list these texts as missing_values. If every "
    "row has such a text, check the settings decimal, delimiter and format."
)


def forbidden_kinds(column: Column) -> Iterator[int]:
    """Yield the kinds of values that are errors in a column: MISSING, OUTSIDE, and WRONG (texts that are not a number or date).

    Without WRONG, such a text counts as a missing value. Rows with any other value without a bin are excluded.
    """
    if column.missing == "error":
        yield MISSING
        yield WRONG
    if column.outside != "drop":  # if values are clipped, none is outside the bounds
        yield OUTSIDE


def sentences(columns: Sequence[Column], decimal: str) -> dict[tuple[int, int], str]:
    """Return a message, such as "Column 'age' has missing values.", for each column (by position) and kind of value without a
    bin."""
    kinds = (MISSING, OUTSIDE, WRONG)
    return {(index, kind): _sentence(column, kind, decimal) for index, column in enumerate(columns) for kind in kinds}


def _sentence(column: Column, kind: int, decimal: str) -> str:
    if kind == MISSING:
        fault = "missing values"
    elif column.kind == "category":
        fault = f"values other than the categories {listing(column.values)}"
    elif kind == OUTSIDE and column.bounds is not None:
        values = "differences" if column.minus else "values"
        fault = "{} outside the public bounds {:.15g} to {:.15g}".format(values, *column.bounds)
    elif column.dates is not None:
        examples = dict.fromkeys(dates.example for dates in (column.dates, column.minus_dates) if dates is not None)
        fault = f"values that are not dates such as {' and '.join(examples)}"
    else:
        numbers = "whole numbers such as 12" if column.kind == "integer" else f"numbers such as 1{decimal}5"
        fault = f"values that are not {numbers}"
    where = f"Columns {listing(column.sources)} have" if column.minus else f"Column {column.source!r} has"
    return f"{where} {fault}."


# A column of members is read once for all slots that have the same atomic bins.


@dataclass(frozen=True, kw_only=True)
class ReadColumns:
    """The columns that are read from the files of roots and of members. `places` are, for each slot, the positions of its
    columns in `of_members`."""

    of_roots: Schema
    of_members: Schema
    places: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, schema: Schema, linked: Linked) -> ReadColumns:
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
    """Return the format of the dates in a column of the file, or None."""
    dated = [column for column in schema.columns if source in column.sources and column.dates is not None]
    return next((column.dates if column.source == source else column.minus_dates for column in dated), None)


def _but_for_names(column: Column) -> Column:
    """Return a column without its name, description and alternatives: columns with the same bin for every text become equal."""
    return replace(column, name="", description="", alternatives={})


def needed_columns(schema: Schema) -> list[str]:
    return list(dict.fromkeys(name for column in schema.columns for name in column.sources))
