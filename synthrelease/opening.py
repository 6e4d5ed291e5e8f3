"""Whether a private table can be opened, found before the charge: libraries are loaded, and a database is knocked at.

Privacy
-------
No row is read, and no file is opened but a database, of which the names of tables and columns are looked at: whoever set it up
chose them, and they are there when every table is empty. So nothing depends on a record. Which library another file needs is
told by its name. Its columns are not looked at: the first line of a file without a header is a row.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from synthrelease.connections.files import StoredFile
from synthrelease.connections.source import Source
from synthrelease.domain.schema import Schema
from synthrelease.enclave import statistical
from synthrelease.enclave.database_files import SQLITE, duckdb_names, is_duckdb, sqlite_names
from synthrelease.enclave.databases import database_names
from synthrelease.enclave.reading import needed_columns, start_of
from synthrelease.enclave.texts import check_header
from synthrelease.errors import InputError
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
    file = source.files()[0]  # of an object store this loads the library that lists it
    ending = "" if isinstance(file, StoredFile) else file.suffix.lower()
    if ending in _PACKAGES:
        _load("pyreadstat", f"files of {_PACKAGES[ending]}", statistical.MISSING_LIBRARY)
    if not isinstance(file, StoredFile) and ending in _DATABASES:
        start = start_of(file)
        if start.startswith(SQLITE):
            check_header(sqlite_names(file, table), needed)
        elif is_duckdb(start):
            check_header(duckdb_names(file, table), needed)


def _load(library: str, what: str, advice: str) -> None:
    try:
        importlib.import_module(library)
        return
    except ImportError:
        pass  # raised below, so that no cause is attached
    raise InputError(f"expected the library {library} for {what}, found none. {advice}")
