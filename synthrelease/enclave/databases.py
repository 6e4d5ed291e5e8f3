"""Reading an open table of a database (`connections.opened`) in batches.

The statement is one SELECT of the needed columns; nothing that a library says is shown, because it may hold the URI with its
password, or a value.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from contextlib import closing
from operator import methodcaller
from pathlib import Path
from typing import Any

from synthrelease.enclave.arrow import batches_of_batches
from synthrelease.enclave.patience import patiently
from synthrelease.enclave.sql import ROWS_AT_ONCE, batches_of_rows, texts_of_database
from synthrelease.enclave.texts import NO_VALUE, Batch, check_header
from synthrelease.sources.opened import (
    NO_CONNECTION,
    NO_DUCKDB,
    NO_SQLITE,
    Stop,
    opened_by_adbc,
    opened_by_sqlalchemy,
    opened_duckdb,
    opened_sqlite,
)
from synthrelease.sources.source import ADBC
from synthrelease.sources.tables import check_database_type, check_types

NO_TEXT = "synthrelease.no_text"
"""How Python's decoders are told to read a text with bytes that are no UTF-8 as one that no specification has."""
codecs.register_error(NO_TEXT, lambda error: (NO_VALUE, error.end))  # type: ignore[attr-defined]
_BROKEN = "expected a table that can be read to its end, found one that cannot."


def database_batches(uri: str, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    """The batches of a table behind a URI, with the needed columns alone.

    Raises
    ------
    InputError : when a library is not installed, the database does not answer, or the table or a column is not there.
    """
    read = _adbc if ADBC.fullmatch(uri) else _sqlalchemy
    return patiently(lambda stop: read(stop, uri, table, needed, most_rows), NO_CONNECTION, _BROKEN)


def duckdb_batches(path: Path, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    """The same of a DuckDB file."""
    return patiently(lambda stop: _duckdb(stop, path, table, needed, most_rows), NO_DUCKDB)


def sqlite_batches(path: Path, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    """The same of a SQLite file, without a library."""
    return patiently(lambda stop: _sqlite(stop, path, table, needed, most_rows), NO_SQLITE)


def _adbc(stop: Stop, uri: str, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    with opened_by_adbc(uri, table) as opened, closing(opened.connection.cursor()) as cursor:
        check_header(opened.names, needed)
        stop.by(cursor.adbc_cancel)
        cursor.execute(opened.select(needed))
        reader = cursor.fetch_record_batch()
        check_types(reader.schema, needed)
        yield from batches_of_batches(reader, needed, most_rows, texts_of_database)


def _sqlalchemy(stop: Stop, uri: str, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    with opened_by_sqlalchemy(uri, table) as opened:
        check_header(opened.names, needed)
        for each in needed:
            check_database_type(each, opened.types[each])
        at_once = {"stream_results": True, "yield_per": min(ROWS_AT_ONCE, most_rows)}
        with opened.connection.connect().execution_options(**at_once) as connection:
            stop.by(lambda: _interrupt(connection.connection.dbapi_connection))
            yield from batches_of_rows(connection.execute(opened.select(needed)).partitions(), needed, most_rows)


def _interrupt(connection: Any) -> None:
    """Tell a driver to stop, in the words of those that can."""
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
