"""Read the needed columns of a table of a database (opened by `sources.opened`) in batches, with a single SELECT statement.

Messages of the libraries are never shown, because they may contain a value, or the URI with its password.
"""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.enclave.columnar import batches_of_batches, column_texts
from synthrelease.enclave.stoppable import stoppable_batches
from synthrelease.enclave.texts import (
    NO_VALUE,
    Batch,
    Numbered,
    Texts,
    check_header,
    decimal_text,
    float_text,
    too_long,
    whole_text,
)
from synthrelease.sources.opened import (
    NO_CONNECTION,
    NO_DUCKDB,
    NO_SQLITE,
    Stop,
    opened_by_sqlalchemy,
    opened_duckdb,
    opened_sqlite,
)
from synthrelease.sources.tables import LONGEST_TEXT, check_database_type, check_types

# Code for all databases: rows, as Arrow batches or Python values, become texts.

ROWS_AT_ONCE = 10_000
"""Number of rows that a database returns together as Python objects."""


def texts_of_database(name: str, column: Any) -> Texts:
    """Convert an Arrow column of a database to texts, timestamps with a time zone in UTC."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, tz="UTC"))
    return column_texts(name, column)


def batches_of_rows(batches: Iterable[Sequence[Sequence[Any]]], needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    """Convert rows of Python values to batches of texts by column, with about `most_rows` rows each."""
    row, n_rows, columns = 1, 0, [_Column(name) for name in needed]
    for batch in batches:
        for column, values in zip(columns, zip(*batch, strict=True), strict=True):
            column.add(values)
        n_rows += len(batch)
        if n_rows + len(batch) > most_rows:
            yield row, {column.name: column.texts() for column in columns}
            row, n_rows, columns = row + n_rows, 0, [_Column(name) for name in needed]
    if n_rows:
        yield row, {column.name: column.texts() for column in columns}


class _Column:
    """Converts a column of Python values to texts, and lists each text once, or twice if only some of its values are typed (see
    `Texts.typed`).

    Texts are cached only for types in `_SAME_TEXT`, whose equal values have equal texts, separately for each type, because
    True, 1 and 1.0 are equal in Python. Some decimals cannot be compared, and equal timestamps may have different offsets.
    """

    _SAME_TEXT = (str, int, float, bool, date)

    def __init__(self, name: str):
        self.name = name
        self._texts = Numbered[tuple[str | None, bool]]()
        self._known: dict[type, Callable[[Any], int]] = {kind: cache(self._number_of) for kind in self._SAME_TEXT}
        self._codes = array("q")

    def add(self, values: Sequence[Any]) -> None:
        kinds = set(map(type, values)) - {type(None)}
        if len(kinds) == 1 and (remembered := self._known.get(next(iter(kinds)))) is not None:  # None equals no other value
            self._codes.extend(map(remembered, values))
        else:
            self._codes.extend(map(self._place, values))

    def _place(self, value: Any) -> int:
        remembered = self._known.get(type(value))
        return self._number_of(value) if remembered is None else remembered(value)

    def _number_of(self, value: Any) -> int:
        text = value_text(value)
        if text is not None and len(text) > LONGEST_TEXT:
            raise too_long(self.name)
        return self._texts[text, not isinstance(value, str)]

    def texts(self) -> Texts:
        texts, typed = zip(*self._texts, strict=True) if self._texts else ((), ())
        return Texts(texts=texts, codes=np.array(self._codes, dtype=np.int64), typed=np.array(typed, dtype=bool))


def value_text(value: Any) -> str | None:
    """Convert a value of a database to text: timestamps in UTC, and durations below a day as a time of day."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, int):
        return whole_text(value)
    if isinstance(value, Decimal):
        return decimal_text(str(value))
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return _utc(value)
    if isinstance(value, timedelta):  # MariaDB gives a time of day in this form
        return str((datetime.min + value).time()) if timedelta(0) <= value < timedelta(days=1) else NO_VALUE
    return str(value) if isinstance(value, (date, time)) or type(value).__name__ == "UUID" else NO_VALUE


def _utc(moment: datetime) -> str:
    try:
        return str(moment.astimezone(UTC))
    except OverflowError:  # the date is before the year 1
        return NO_VALUE


NO_TEXT = "synthrelease.no_text"
"""Name of the error handler for a text with bytes that are not UTF-8. The handler replaces the text by another text, which no
specification contains.
"""
codecs.register_error(NO_TEXT, lambda error: (NO_VALUE, error.end))  # type: ignore[attr-defined]
_BROKEN = "Reading the table failed before its last row. Try again, or export the table to a Parquet or CSV file."


def database_batches(uri: str, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    """Yield the batches of a table in a database that is given by a URI.

    Raises
    ------
    InputError : if a library is missing, the database does not answer, or the table or a needed column does not exist.
    """
    return stoppable_batches(lambda stop: _sqlalchemy(stop, uri, table, needed, most_rows), NO_CONNECTION, _BROKEN)


def duckdb_batches(path: Path, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    return stoppable_batches(lambda stop: _duckdb(stop, path, table, needed, most_rows), NO_DUCKDB)


def sqlite_batches(path: Path, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    return stoppable_batches(lambda stop: _sqlite(stop, path, table, needed, most_rows), NO_SQLITE)


def _sqlalchemy(stop: Stop, uri: str, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    with opened_by_sqlalchemy(uri, table) as opened:
        check_header(opened.names, needed)
        for name in needed:
            check_database_type(name, opened.types[name])
        at_once = {"stream_results": True, "yield_per": min(ROWS_AT_ONCE, most_rows)}
        with opened.connection.connect().execution_options(**at_once) as connection:
            stop.by(lambda: _interrupt(connection.connection.dbapi_connection))
            yield from batches_of_rows(connection.execute(opened.select(needed)).partitions(), needed, most_rows)


def _interrupt(connection: Any) -> None:
    for name in ("cancel", "interrupt"):
        getattr(connection, name, lambda: None)()


def _duckdb(stop: Stop, path: Path, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    with opened_duckdb(path, table, stop.by) as opened:
        check_header(opened.names, needed)
        reader = opened.connection.sql(opened.select(needed)).to_arrow_reader(most_rows)
        check_types(reader.schema, needed)
        yield from batches_of_batches(reader, needed, most_rows, texts_of_database)


def _sqlite(stop: Stop, path: Path, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    with opened_sqlite(path, table, stop.by) as opened:
        check_header(opened.names, needed)
        opened.connection.text_factory = methodcaller("decode", "utf-8", NO_TEXT)
        rows, size = opened.connection.execute(opened.select(needed)), min(ROWS_AT_ONCE, most_rows)
        yield from batches_of_rows(iter(lambda: rows.fetchmany(size), []), needed, most_rows)
