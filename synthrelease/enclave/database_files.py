"""Reading a table of a DuckDB or SQLite file in batches. The file is opened for reading alone, and nothing but it is opened.

DuckDB needs the extra `database`; SQLite comes with Python.
"""

from __future__ import annotations

import codecs
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from operator import methodcaller
from pathlib import Path

from synthrelease.connections.column_types import check_types
from synthrelease.connections.libraries import DATABASE, library
from synthrelease.connections.tables import chosen_table, quoted
from synthrelease.enclave.patience import Stop, patiently
from synthrelease.enclave.sql import ROWS_AT_ONCE, batches_of_batches, batches_of_rows, header_batch
from synthrelease.enclave.texts import NO_VALUE, Batch, check_header
from synthrelease.errors import InputError

SQLITE = b"SQLite format 3\0"
NO_TEXT = "synthrelease.no_text"
"""How Python's decoders are told to read a text with bytes that are no UTF-8 as one that no specification has."""
codecs.register_error(NO_TEXT, lambda error: (NO_VALUE, error.end))  # type: ignore[attr-defined]
_NO_SQLITE = "expected a whole SQLite file with values of less than 32 MB, found one that cannot be read."
_NO_DUCKDB = "expected a whole DuckDB file that no other program is writing, found one that cannot be read."
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


def is_duckdb(start: bytes) -> bool:
    """Whether a file that begins so is one of DuckDB."""
    return start[8:12] == b"DUCK"


def duckdb_batches(path: Path, table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    """The batches of a table, with the needed columns alone; with None for these one batch of all columns, without rows.

    Raises
    ------
    InputError : when the library is not installed, the file cannot be read, or the table or a column is not there.
    """
    return patiently(lambda stop: _duckdb(stop, path, table, needed, most_rows), _NO_DUCKDB)


def _duckdb(stop: Stop, path: Path, table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    duckdb = library("duckdb", "duckdb", "DuckDB files", DATABASE)
    with duckdb.connect(str(path), read_only=True, config=dict(_DUCKDB_SETTINGS)) as connection:
        stop.by(connection.interrupt)
        tables = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database() "
            "ORDER BY ALL"
        ).fetchall()
        catalog = connection.execute("SELECT current_database()").fetchall()[0][0]  # its schemas may have its name
        from_table = quoted(catalog, *chosen_table(table, tables))
        names = connection.sql(f"SELECT * FROM {from_table} LIMIT 0").columns
        if needed is None:
            yield header_batch(names)
            return
        check_header(names, needed)
        reader = connection.sql(f"SELECT {', '.join(map(quoted, needed))} FROM {from_table}").to_arrow_reader(most_rows)
        check_types(reader.schema, needed)
        yield from batches_of_batches(reader, needed, most_rows)


def sqlite_batches(path: Path, table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    """The batches of a table, as `duckdb_batches`. Raises InputError as that, but needs no library."""
    return patiently(lambda stop: _sqlite(stop, path, table, needed, most_rows), _NO_SQLITE)


def _sqlite(stop: Stop, path: Path, table: str | None, needed: Sequence[str] | None, most_rows: int) -> Iterator[Batch]:
    _check_size(path)
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        stop.by(connection.interrupt)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.text_factory = methodcaller("decode", "utf-8", NO_TEXT)
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        tables = connection.execute(
            "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
        ).fetchall()
        from_table = quoted(*chosen_table(table, tables))
        names = [name for name, *_ in connection.execute(f"SELECT * FROM {from_table} LIMIT 0").description]
        if needed is None:
            yield header_batch(names)
            return
        check_header(names, needed)
        rows = connection.execute(f"SELECT {', '.join(map(quoted, needed))} FROM {from_table}")
        size = min(ROWS_AT_ONCE, most_rows)
        yield from batches_of_rows(iter(lambda: rows.fetchmany(size), []), needed, most_rows)


def _check_size(path: Path) -> None:
    """SQLite reads zeros beyond the end of a file; its header says of how many pages of how many bytes it is."""
    with path.open("rb") as file:
        header = file.read(32)
    page, count = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    if path.stat().st_size < (65_536 if page == 1 else page) * count:
        raise InputError(_NO_SQLITE)
