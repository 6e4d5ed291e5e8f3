"""Reading a table of a database that a URI names, in batches: by SQLAlchemy, or by an ADBC driver. Needs the extra `database`.

A URI that begins with `adbc+` is read by ADBC: `adbc+postgresql://server/registry` by the package adbc-driver-postgresql. Every
other one is SQLAlchemy's. The statement is one SELECT of the needed columns; nothing that a library says is shown, because it
may hold the URI with its password, or a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from synthrelease.connections.column_types import check_database_type, check_types
from synthrelease.connections.drivers import ADBC
from synthrelease.connections.libraries import DATABASE, library
from synthrelease.connections.source import PASSWORD, USER
from synthrelease.connections.tables import adbc_login, adbc_tables, chosen_table, engine_of, quoted, sql_tables
from synthrelease.enclave.patience import Stop, patiently
from synthrelease.enclave.sql import ROWS_AT_ONCE, batches_of_batches, batches_of_rows, header_batch
from synthrelease.enclave.texts import Batch, check_header

_NO_CONNECTION = (
    f"expected a database that answers, found none. Are the server, the database, {USER} and {PASSWORD} right, and may this "
    "user read the table?"
)
_BROKEN = "expected a table that can be read to its end, found one that cannot."


def database_batches(uri: str, table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    """The batches of a table, with the needed columns alone; with None for these one batch of all columns, without rows.

    Raises
    ------
    InputError : when a library is not installed, the database does not answer, or the table or a column is not there.
    """
    found = ADBC.fullmatch(uri)
    if found is None:
        return patiently(lambda stop: _sqlalchemy(stop, uri, table, needed, most_rows), _NO_CONNECTION, _BROKEN)
    return patiently(lambda stop: _adbc(stop, found, table, needed, most_rows), _NO_CONNECTION, _BROKEN)


def _sqlalchemy(stop: Stop, uri: str, table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    engine = engine_of(uri)
    try:
        import sqlalchemy as sql

        inspector = sql.inspect(engine)
        schema, name = chosen_table(table, sql_tables(inspector, table))
        columns = {each["name"]: each["type"] for each in inspector.get_columns(name, schema=schema or None)}
        if needed is None:
            yield header_batch(columns)
            return
        check_header(list(columns), needed)
        for each in needed:
            check_database_type(each, columns[each])
        exact: list[Any] = [sql.column(sql.quoted_name(each, quote=True)) for each in needed]
        source = sql.table(sql.quoted_name(name, quote=True), schema=sql.quoted_name(schema, quote=True) if schema else None)
        with engine.connect().execution_options(stream_results=True, yield_per=min(ROWS_AT_ONCE, most_rows)) as connection:
            stop.by(lambda: _interrupt(connection.connection.dbapi_connection))
            rows = connection.execute(sql.select(*exact).select_from(source))
            yield from batches_of_rows(rows.partitions(), needed, most_rows)
    finally:
        engine.dispose()


def _interrupt(connection: Any) -> None:
    """Tell a driver to stop, in the words of those that can."""
    for name in ("cancel", "interrupt"):
        getattr(connection, name, lambda: None)()


def _adbc(stop: Stop, found: re.Match[str], table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    driver = found["driver"].lower()
    adbc = library(f"adbc_driver_{driver}.dbapi", f"adbc-driver-{driver}", "this database", DATABASE)
    uri, options = adbc_login(driver, f"{driver}{found['rest']}")
    with closing(adbc.connect(uri, **options)) as connection:
        schema, name = chosen_table(table, adbc_tables(connection))
        source = quoted(schema, name) if schema else quoted(name)
        names = connection.adbc_get_table_schema(name, db_schema_filter=schema or None).names
        if needed is None:
            yield header_batch(names)
            return
        check_header(names, needed)
        with closing(connection.cursor()) as cursor:
            stop.by(cursor.adbc_cancel)
            cursor.execute(f"SELECT {', '.join(map(quoted, needed))} FROM {source}")
            reader = cursor.fetch_record_batch()
            check_types(reader.schema, needed)
            yield from batches_of_batches(reader, needed, most_rows)
