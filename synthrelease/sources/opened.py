"""Open a table of a DuckDB or SQLite file or of a database server read-only. No row is read.

The names of the table and its columns are looked up in the catalogue of the database (module `tables`). DuckDB and database
servers need the extra `database`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from operator import methodcaller
from pathlib import Path
from typing import Any

from synthrelease.errors import InputError
from synthrelease.resources import library
from synthrelease.sources.source import PASSWORD, USER
from synthrelease.sources.tables import chosen_table, engine_of, quoted, sql_tables

SQLITE = b"SQLite format 3\0"
NO_CONNECTION = (
    f"Cannot connect to the database. Check the server, the name of the database, {USER} and {PASSWORD}, and whether this "
    "user may read the table."
)
NO_SQLITE = "The SQLite file cannot be read. It may be incomplete or damaged, or contain a value of 32 MB or more."
NO_DUCKDB = "The DuckDB file cannot be read. It may be incomplete or damaged, or another program may be writing to it."
_DUCKDB_SETTINGS = {
    # DuckDB may not open other files, use the network, load extensions, write rows to disk, or read Python variables as tables
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "python_enable_replacements": "false",
    "preserve_insertion_order": "false",
    "lock_configuration": "true",
}
LONGEST_VALUE = 2**25
"""The largest size of one value in SQLite, in bytes."""

OnStop = Callable[[Callable[[], object]], None]
"""A function such as `Stop.by`. Its argument is the function with which a library interrupts a query."""


class Stop:
    """Allows another thread to stop the reading of a table, by interrupting the libraries that read."""

    def __init__(self) -> None:
        self._asked, self._ways = threading.Event(), list[Callable[[], object]]()

    def by(self, way: Callable[[], object]) -> None:
        """Register a function that is called when a stop is requested, or now if it was requested before."""
        self._ways.append(way)
        if self._asked.is_set():
            self._tell()

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    def ask(self) -> None:
        self._asked.set()
        self._tell()

    def _tell(self) -> None:
        for way in list(self._ways):
            with suppress(Exception):  # the connection may be closed by now
                way()


@dataclass(frozen=True, kw_only=True)
class OpenTable:
    """An open table of a database.

    Attributes
    ----------
    connection : the connection of DuckDB or SQLite, or the engine of SQLAlchemy.
    select : a function that returns the SELECT statement for all rows of these columns.
    types : the type of each column, by name; empty if none are declared.
    has_row : a function that returns whether the table has a row; None for a view, whose rows would have to be computed.
    """

    connection: Any
    names: list[str]
    select: Callable[[Sequence[str]], Any]
    types: Mapping[str, Any] = field(default_factory=dict)
    has_row: Callable[[], bool] | None = None


def _selecting(table: str) -> Callable[[Sequence[str]], str]:
    return lambda needed: f"SELECT {', '.join(map(quoted, needed))} FROM {table}"


def _asking(connection: Any, table: str) -> Callable[[], bool]:
    return lambda: bool(connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall())


@contextmanager
def opened_duckdb(path: Path, table: str | None, stop: OnStop) -> Iterator[OpenTable]:
    """Open a table of a DuckDB file. Raises InputError if the table does not exist or DuckDB is not installed."""
    duckdb = library("duckdb", "duckdb", "DuckDB files", "database")
    with duckdb.connect(str(path), read_only=True, config=dict(_DUCKDB_SETTINGS)) as connection:
        stop(connection.interrupt)
        tables = connection.execute(
            "SELECT table_schema, table_name, table_type FROM information_schema.tables "
            "WHERE table_catalog = current_database() ORDER BY ALL"
        ).fetchall()
        catalog = connection.execute("SELECT current_database()").fetchall()[0][0]  # a schema may have the same name
        schema, name = chosen_table(table, [row[:2] for row in tables])
        chosen = quoted(catalog, schema, name)
        columns = connection.sql(f"SELECT * FROM {chosen} LIMIT 0")  # DuckDB only plans this statement and does not run it
        types = dict(zip(columns.columns, (kind.id for kind in columns.types), strict=True))
        stored = (schema, name, "BASE TABLE") in tables
        has_row = _asking(connection, chosen) if stored else None
        yield OpenTable(connection=connection, names=columns.columns, select=_selecting(chosen), types=types, has_row=has_row)


@contextmanager
def opened_sqlite(path: Path, table: str | None, stop: OnStop) -> Iterator[OpenTable]:
    """Open a table of a SQLite file. Raises InputError if the table does not exist or the file is incomplete."""
    _check_size(path)
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        stop(connection.interrupt)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.text_factory = methodcaller("decode", "utf-8", "replace")
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        tables = connection.execute(
            "SELECT 'main', name, type = 'table' AND rootpage > 0 FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
        ).fetchall()
        schema, name = chosen_table(table, [row[:2] for row in tables])
        chosen = quoted(schema, name)
        # a query of the view may compute its rows even with LIMIT 0, and a value could make it fail; so the catalogue is asked
        columns = connection.execute("SELECT name FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1", (name, schema))
        names = [column for (column,) in columns]
        has_row = _asking(connection, chosen) if (schema, name, 1) in tables else None
        yield OpenTable(connection=connection, names=names, select=_selecting(chosen), has_row=has_row)


def _check_size(path: Path) -> None:
    """Raise InputError if a SQLite file is shorter than its header states. Beyond the end, SQLite would read zeros."""
    with path.open("rb") as file:
        header = file.read(32)
    page, count = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    if path.stat().st_size < (65_536 if page == 1 else page) * count:
        raise InputError(NO_SQLITE)


@contextmanager
def opened_by_sqlalchemy(uri: str, table: str | None) -> Iterator[OpenTable]:
    """Open a table of a database with SQLAlchemy.

    Raises
    ------
    InputError : if the table does not exist, the URI names no database, or the dialect or its driver is not installed.
    """
    engine = engine_of(uri)
    try:
        import sqlalchemy as sql

        inspector = sql.inspect(engine)
        schema, name = chosen_table(table, sql_tables(inspector, table))
        types = {column["name"]: column["type"] for column in inspector.get_columns(name, schema=schema or None)}
        source = sql.table(sql.quoted_name(name, quote=True), schema=sql.quoted_name(schema, quote=True) if schema else None)

        def select(needed: Sequence[str]) -> Any:
            exact: list[Any] = [sql.column(sql.quoted_name(column, quote=True)) for column in needed]
            return sql.select(*exact).select_from(source)

        def has_row() -> bool:
            with engine.connect() as connection:
                return connection.execute(sql.select(sql.literal_column("1")).select_from(source).limit(1)).first() is not None

        stored = name in inspector.get_table_names(schema=schema or None)
        yield OpenTable(connection=engine, names=list(types), select=select, types=types, has_row=has_row if stored else None)
    finally:
        engine.dispose()
