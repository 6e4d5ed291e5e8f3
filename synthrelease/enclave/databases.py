"""Reading a table of a database that a URI names, in batches: by SQLAlchemy, or by an ADBC driver. Needs the extra `database`.

A URI that begins with `adbc+` is read by ADBC: `adbc+postgresql://server/registry` by the package adbc-driver-postgresql. Every
other one is SQLAlchemy's. The statement is one SELECT of the needed columns; nothing that a library says is shown, because it
may hold the URI with its password, or a value.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, time
from decimal import Decimal
from types import ModuleType
from typing import Any

from synthrelease.connections.drivers import ADBC
from synthrelease.connections.source import PASSWORD, USER
from synthrelease.enclave.database_files import MISSING_LIBRARY
from synthrelease.enclave.patience import Stop, patiently
from synthrelease.enclave.sql import (
    ROWS_AT_ONCE,
    batches_of_batches,
    batches_of_rows,
    check_types,
    chosen_table,
    header_batch,
    quoted,
)
from synthrelease.enclave.texts import Batch, check_header
from synthrelease.errors import InputError

_NO_CONNECTION = (
    f"expected a database that answers, found none. Are the server, the database, {USER} and {PASSWORD} right, and may this "
    "user read the table?"
)
_BROKEN = "expected a table that can be read to its end, found one that cannot."
_VALUES = (bool, int, float, str, Decimal, date, time)


def database_names(uri: str, table: str | None) -> list[str]:
    """The columns of the table. Raises InputError as `database_batches`."""
    return list(next(patiently(lambda stop: _read(stop, uri, table, None, 1)))[1])


def database_batches(uri: str, table: str | None, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    """The batches of a table, with the needed columns alone.

    Raises
    ------
    InputError : when a library is not installed, the database does not answer, or the table or a column is not there.
    """
    yield from patiently(lambda stop: _read(stop, uri, table, needed, most_rows))


def _read(stop: Stop, uri: str, table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    found = ADBC.fullmatch(uri)
    began, problem = False, ""
    try:
        parts = _adbc(stop, found, table, needed, most_rows) if found else _sqlalchemy(stop, uri, table, needed, most_rows)
        for part in parts:
            began = True
            yield part
    except InputError:
        raise
    except MemoryError:
        problem = "expected rows that fit into the memory of this machine, found longer ones."
    except Exception:
        problem = _BROKEN if began else _NO_CONNECTION
    if problem:
        raise InputError(problem)


# --- SQLAlchemy


def _sqlalchemy(stop: Stop, uri: str, table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    engine = _engine(uri)
    try:
        import sqlalchemy as sql

        inspector = sql.inspect(engine)
        schema, name = chosen_table(table, _tables(inspector, table))
        columns = {each["name"]: each["type"] for each in inspector.get_columns(name, schema=schema or None)}
        if needed is None:
            yield header_batch(columns)
            return
        check_header(list(columns), needed)
        for each in needed:
            _check_column(each, columns[each])
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


def _library() -> ModuleType:
    try:
        import sqlalchemy
    except ImportError:
        sqlalchemy = None  # type: ignore[assignment]
    if sqlalchemy is None:
        raise InputError(f"expected the library sqlalchemy for this database, found none. {MISSING_LIBRARY}")
    return sqlalchemy


def _with_login(uri: str, user: str | None, password: str | None) -> Any:
    url = _library().make_url(uri)
    return url if user is None and password is None else url.set(username=user, password=password)


def _engine(uri: str) -> Any:
    sqlalchemy, lacks = _library(), False
    try:
        return sqlalchemy.create_engine(_with_login(uri, *_credentials()), hide_parameters=True)
    except (ImportError, sqlalchemy.exc.NoSuchModuleError):  # of the dialect, or of its driver
        lacks = True
    except Exception:
        lacks = False
    kind = re.split(r"[^A-Za-z0-9_+]", uri)[0]
    if lacks:
        raise InputError(f"expected the libraries of SQLAlchemy for {kind!r}, found none. Install its dialect and driver.")
    raise InputError("expected the URI of a database such as postgresql://server/registry, found something else.")


def _tables(inspector: Any, asked: str | None) -> list[tuple[str, str]]:
    """(schema, name) of the tables and views of the default schema, and the one that was asked for in another."""
    schema, _, name = (asked or "").rpartition(".")
    if schema and (inspector.has_table(name, schema=schema) or name in inspector.get_view_names(schema)):
        return [(schema, name)]
    names = [*inspector.get_table_names(), *inspector.get_view_names()]
    return [("", each) for each in sorted(names)]


def _check_column(name: str, kind: Any) -> None:
    try:
        of_python = kind.python_type
    except NotImplementedError:
        of_python = type(None)
    untold = type(kind).__name__ in ("NullType", "YEAR")  # of a type that nobody told each value is looked at
    if not (untold or issubclass(of_python, _VALUES) or of_python.__name__ == "UUID"):
        found = f"the database type {type(kind).__name__}"
        raise InputError(f"column {name!r}: expected numbers, texts, booleans, dates or times, found {found}.")


# --- ADBC


def _adbc(stop: Stop, found: re.Match[str], table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    driver = found["driver"].lower()
    try:
        library = importlib.import_module(f"adbc_driver_{driver}.dbapi")
    except ImportError:
        library = None  # type: ignore[assignment]
    if library is None:
        raise InputError(f"expected the library adbc-driver-{driver} for this database, found none. {MISSING_LIBRARY}")
    uri, options = _adbc_login(driver, f"{driver}{found['rest']}")
    with closing(library.connect(uri, **options)) as connection:
        schema, name = chosen_table(table, _adbc_tables(connection))
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


def _adbc_login(driver: str, uri: str) -> tuple[str, dict[str, Any]]:
    """(URI, further arguments) with user and password where the driver takes them: PostgreSQL in the URI, others as options."""
    user, password = _credentials()
    if driver == "postgresql" and (user or password):
        return _with_login(uri, user, password).render_as_string(hide_password=False), {}
    given: Mapping[str, str | None] = {"username": user, "password": password}
    return uri, {"db_kwargs": {name: value for name, value in given.items() if value is not None}}


def _adbc_tables(connection: Any) -> list[tuple[str, str]]:
    catalogs = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
    here = connection.adbc_current_catalog if len(catalogs) > 1 else None
    return sorted(
        (schema["db_schema_name"] or "", table["table_name"])
        for catalog in catalogs
        if here is None or catalog["catalog_name"] == here
        for schema in catalog["catalog_db_schemas"] or ()
        if schema["db_schema_name"] not in ("information_schema", "pg_catalog")
        for table in schema["db_schema_tables"] or ()
    )


def _credentials() -> tuple[str | None, str | None]:
    return os.environ.get(USER), os.environ.get(PASSWORD)
