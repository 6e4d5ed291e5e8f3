"""Whether a private table can be opened, found before the charge: libraries are loaded, and a database is knocked at.

Privacy
-------
No row is read. Of a file the mark that tells its format is looked at, of a database the names of tables and columns: whoever
set it up chose them, and they are there when every table is empty. So nothing depends on a record. The columns of a file are
not looked at here: the first line of one without a header is a row.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from synthrelease.domain.schema import Schema
from synthrelease.enclave import database_files, statistical
from synthrelease.enclave.database_files import SQLITE, duckdb_names, is_duckdb, sqlite_names
from synthrelease.enclave.databases import database_names
from synthrelease.enclave.files import StoredFile
from synthrelease.enclave.reading import needed_columns, start_of
from synthrelease.enclave.source import Source
from synthrelease.enclave.statistical import package_of
from synthrelease.enclave.texts import check_header
from synthrelease.errors import InputError
from synthrelease.toml.columns import InputTable


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
    problem = ""
    try:
        _open(source, policy, list(dict.fromkeys([*needed_columns(schema), *more])))
    except InputError as error:
        problem = str(error)
    if problem:
        raise InputError(f"{source}: {problem} Nothing was spent.")


def _open(source: Source, policy: InputTable, needed: list[str]) -> None:
    table = source.table or policy.table
    if source.is_database:
        check_header(database_names(source.uri, table), needed)
        return
    for file in source.files()[:1]:
        start = start_of(file)
        if isinstance(file, StoredFile):
            continue  # CSV or Parquet, as in a folder; the store's own library has just listed it
        if package := package_of(start):
            _load("pyreadstat", f"files of {package.name}", statistical.MISSING_LIBRARY)
        elif start.startswith(SQLITE):
            check_header(sqlite_names(file, table), needed)
        elif is_duckdb(start):
            _load("duckdb", "DuckDB files", database_files.MISSING_LIBRARY)
            check_header(duckdb_names(file, table), needed)


def _load(library: str, what: str, advice: str) -> None:
    try:
        importlib.import_module(library)
        return
    except ImportError:
        pass  # raised below, so that no cause is attached
    raise InputError(f"expected the library {library} for {what}, found none. {advice}")
