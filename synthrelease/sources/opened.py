"""A table of a database, opened for reading alone and for nothing but itself, without a look at a row.

Which table it is and what its columns are called follows from what the database says of itself (`tables`). Its rows are read
by whoever has it open. DuckDB and servers need the extra `database`; SQLite comes with Python.
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
    f"expected a database that answers, found none. Are the server, the database, {USER} and {PASSWORD} right, and may this "
    "user read the table?"
)
NO_SQLITE = "expected a whole SQLite file with values of less than 32 MB, found one that cannot be read."
NO_DUCKDB = "expected a whole DuckDB file that no other program is writing, found one that cannot be read."
_DUCKDB_SETTINGS = {
    # no other file, no network, no extension, nothing of the rows on a disk, no variable of this program as a table
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "python_enable_replacements": "false",
    "preserve_insertion_order": "false",
    "lock_configuration": "true",
}
LONGEST_VALUE = 2**25
"""Bytes of one value in SQLite."""

Told = Callable[[Callable[[], object]], None]
"""Receives, from another thread, the function that stops the library."""


class Stop:
    """A flag that reading should stop, and the way to tell a library."""

    def __init__(self) -> None:
        self._asked, self._ways = threading.Event(), list[Callable[[], object]]()

    def by(self, way: Callable[[], object]) -> None:
        """Have this called, from another thread, when reading is to stop."""
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
            with suppress(Exception):  # of a connection that is closed by now
                way()


@dataclass(frozen=True, kw_only=True)
class OpenTable:
    """An open table.

    Attributes
    ----------
    connection : of the library; of SQLAlchemy its engine.
    names : of the columns.
    select : gives the one statement, of some columns of all rows.
    types : of the columns, where the database tells them before the statement.
    has_row : asks whether a table has a row; None for a view, which computes its rows.
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
def opened_duckdb(path: Path, table: str | None, stop: Told) -> Iterator[OpenTable]:
    """Open a table of a DuckDB file. Raises InputError where there is no such table or no library."""
    duckdb = library("duckdb", "duckdb", "DuckDB files", "database")
    with duckdb.connect(str(path), read_only=True, config=dict(_DUCKDB_SETTINGS)) as connection:
        stop(connection.interrupt)
        tables = connection.execute(
            "SELECT table_schema, table_name, table_type FROM information_schema.tables "
            "WHERE table_catalog = current_database() ORDER BY ALL"
        ).fetchall()
        catalog = connection.execute("SELECT current_database()").fetchall()[0][0]  # its schemas may have its name
        schema, name = chosen_table(table, [row[:2] for row in tables])
        chosen = quoted(catalog, schema, name)
        columns = connection.sql(f"SELECT * FROM {chosen} LIMIT 0")  # which is not run
        types = dict(zip(columns.columns, (kind.id for kind in columns.types), strict=True))
        stored = (schema, name, "BASE TABLE") in tables
        has_row = _asking(connection, chosen) if stored else None
        yield OpenTable(connection=connection, names=columns.columns, select=_selecting(chosen), types=types, has_row=has_row)


@contextmanager
def opened_sqlite(path: Path, table: str | None, stop: Told) -> Iterator[OpenTable]:
    """Open a table of a SQLite file. Raises InputError where there is no such table, or the file is cut off."""
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
        # what a view selects from may be computed even for no row, and a value could make it fail
        columns = connection.execute("SELECT name FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1", (name, schema))
        names = [column for (column,) in columns]
        has_row = _asking(connection, chosen) if (schema, name, 1) in tables else None
        yield OpenTable(connection=connection, names=names, select=_selecting(chosen), has_row=has_row)


def _check_size(path: Path) -> None:
    """SQLite reads zeros beyond the end of a file; its header says of how many pages of how many bytes it is."""
    with path.open("rb") as file:
        header = file.read(32)
    page, count = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    if path.stat().st_size < (65_536 if page == 1 else page) * count:
        raise InputError(NO_SQLITE)


@contextmanager
def opened_by_sqlalchemy(uri: str, table: str | None) -> Iterator[OpenTable]:
    """Open a table of a database by SQLAlchemy. Raises InputError as the others."""
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
