"""Whether a private table can be opened, found before the charge: libraries are loaded, and a database is knocked at.

Privacy
-------
No row is read, and no file is opened but a database, of which the names of tables and columns are looked at: whoever set it up
chose them, and they are there when every table is empty. So nothing depends on a record. Which library another file needs is
told by its name. Its columns are not looked at: the first line of a file without a header is a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from synthrelease.connections.drivers import ADBC
from synthrelease.connections.files import PARQUET
from synthrelease.connections.flat_tables import FILE, STREAM, opened_feather
from synthrelease.connections.opened import (
    NO_CONNECTION,
    NO_DUCKDB,
    NO_SQLITE,
    SQLITE,
    OpenTable,
    Stop,
    is_duckdb,
    opened_by_adbc,
    opened_by_sqlalchemy,
    opened_duckdb,
    opened_sqlite,
)
from synthrelease.connections.source import Source
from synthrelease.domain.read_columns import ReadColumns, needed_columns
from synthrelease.domain.schema import Schema
from synthrelease.enclave.patience import patiently
from synthrelease.enclave.reading import is_compressed, start_of
from synthrelease.enclave.statistical import package_of, read_package
from synthrelease.enclave.texts import check_header
from synthrelease.errors import InputError
from synthrelease.libraries import library
from synthrelease.protection import told_of
from synthrelease.toml import unreadable
from synthrelease.toml.columns import InputTable

_PACKAGES = {".dta": "Stata", ".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".sas7bdat": "SAS", ".xpt": "SAS"}
_DATABASES = (".db", ".db3", ".ddb", ".duckdb", ".sqlite", ".sqlite3")
"""Endings of names."""


def check_opens(source: Source, schema: Schema, policy: InputTable, more: Sequence[str] = ()) -> None:
    """Load what opening the table takes, and look for table and columns of a database.

    Parameters
    ----------
    more : columns beside those of the schema.

    Raises
    ------
    InputError : when a library is missing, the file cannot be opened, or the database does not answer or has no such table or
        column.
    """
    needed = list(dict.fromkeys([*needed_columns(schema), *more]))
    told_of(lambda: _open(source, policy, needed), f"{source}: ", " Nothing was spent.")


def _open(source: Source, policy: InputTable, needed: list[str]) -> None:
    file = None if source.is_database else source.files()[0]  # of an object store this loads the library that lists it
    ending = file.suffix.lower() if isinstance(file, Path) else ""
    if ending in _PACKAGES:
        library("pyreadstat", "pyreadstat", f"files of {_PACKAGES[ending]}", "formats")
    start = start_of(file) if file is not None and ending in _DATABASES else b""
    if file is None or start.startswith(SQLITE) or is_duckdb(start):
        check_header(column_names(source, policy) or [], needed)


def column_names(source: Source, policy: InputTable) -> list[str] | None:
    """The columns of a file that tells them, in order; None for CSV. Of databases, and of public files alone: a header may be a
    person's row.

    Raises
    ------
    InputError : as `enclave.reading.batches`.
    """
    table = source.table or policy.table
    if source.is_database:
        by_uri = opened_by_adbc if ADBC.fullmatch(source.uri) else opened_by_sqlalchemy
        return _names(lambda stop: by_uri(source.uri, table), NO_CONNECTION)
    file = source.files()[0]
    start, problem = start_of(file), ""
    if isinstance(file, Path) and start.startswith(SQLITE):
        return _names(lambda stop: opened_sqlite(file, table, stop.by), NO_SQLITE)
    if isinstance(file, Path) and is_duckdb(start):
        return _names(lambda stop: opened_duckdb(file, table, stop.by), NO_DUCKDB)
    if isinstance(file, Path) and (package := package_of(start)):
        return list(read_package(package, file, policy.encoding, metadataonly=True)[1].column_names)
    try:
        if start.startswith(PARQUET):
            import pyarrow.parquet as pq

            with file.open("rb") as opened:
                return list(pq.read_schema(opened).names)
        if isinstance(file, Path) and start.startswith((FILE, STREAM)):
            return list(opened_feather(file).schema.names)
    except InputError:
        raise
    except Exception:  # a damaged file makes the library fail in many ways
        problem = unreadable.damaged("Parquet" if start.startswith(PARQUET) else "Feather")
    if problem:
        raise InputError(problem)
    if isinstance(file, Path):
        is_compressed(start, policy)
    return None


def _names(opened: Callable[[Stop], AbstractContextManager[OpenTable]], unopened: str) -> list[str]:
    """The columns of a table, by a database that is stopped where it does not answer."""

    def names(stop: Stop) -> Iterator[list[str]]:
        with opened(stop) as found:
            yield found.names

    return next(patiently(names, unopened))


def tables_to_read(schema: Schema, source: Source) -> Iterator[tuple[Source, Schema, list[str]]]:
    """The files that are read, each with the columns of the schema that are read from it, and others."""
    linked = schema.linked
    if linked is None:
        yield source, schema, []
        return
    read = ReadColumns.of(schema, linked)
    more = [linked.key, *linked.order, *([linked.reference[0]] if linked.reference else [])]
    if source.members is None:
        yield source, Schema(columns=read.of_roots.columns + read.of_members.columns), more
    else:
        yield replace(source, members=None), read.of_roots, [linked.key]
        yield source.members, read.of_members, more
