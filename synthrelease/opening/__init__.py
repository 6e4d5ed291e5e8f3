"""Whether a private table can be read, found before the charge: its libraries, what it is, its columns, and whether it ends.

Privacy
-------
No row is looked at. What is looked at is the public part of a table (theory 1.8, reading row by row): its format, by its first
bytes; the names and types of its columns, which a database, a Parquet file or a file of SAS tells and a CSV file has in its
header (`header`); whether it has a row at all; and whether a gzip file ends, or a Parquet file, whose columns stand at its end.
Files that differ in a row agree in all this, so that no answer depends on a record, however often it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from synthrelease.connections.column_types import check_type
from synthrelease.connections.drivers import ADBC
from synthrelease.connections.files import PARQUET, File, which_file
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
from synthrelease.opening.header import check_csv
from synthrelease.protection import told_of
from synthrelease.toml import unreadable
from synthrelease.toml.columns import InputTable

_PACKAGES = {".dta": "Stata", ".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".sas7bdat": "SAS", ".xpt": "SAS"}
"""Endings of names."""


def check_opens(source: Source, schema: Schema, policy: InputTable, more: Sequence[str] = ()) -> None:
    """Load what opening the table takes, and look at what it is: its format, its columns, whether it ends.

    Parameters
    ----------
    more : columns beside those of the schema.

    Raises
    ------
    InputError : when a library is missing, a file is none that can be read or lacks a column, or the database does not
        answer or has no such table or column.
    """
    needed = list(dict.fromkeys([*needed_columns(schema), *more]))
    told_of(lambda: _open(source, policy, needed), f"{source}: ", " Nothing was spent.")


def _open(source: Source, policy: InputTable, needed: list[str]) -> None:
    if source.is_database:
        check_header(column_names(source, policy) or [], needed)
        return
    files, several, problem = source.files(), source.holds_files(), ""
    for number, file in enumerate(files if source.path else files[:1], 1):  # of an object store one: each takes a while
        try:
            _check_file(file, policy, source.table or policy.table, needed)
        except InputError as error:
            problem = f"{error} {which_file(number, len(files))}" if several else str(error)
        if problem:
            raise InputError(problem)


def _check_file(file: File, policy: InputTable, table: str | None, needed: list[str]) -> None:
    ending = file.suffix.lower() if isinstance(file, Path) else ""
    if ending in _PACKAGES:
        library("pyreadstat", "pyreadstat", f"files of {_PACKAGES[ending]}", "formats")
    start = start_of(file)
    declared = _declared(file, start, policy, table)
    if declared is None:
        check_csv(file, is_compressed(start, policy), needed, policy)
        return
    check_header(declared.names, needed)
    for name in needed:
        if name in declared.types:
            check_type(name, declared.types[name], declared.format)
    if declared.n_rows == 0:
        raise InputError(f"{unreadable.EXPECTED}, found a header without a row.")


@dataclass(frozen=True, kw_only=True)
class DeclaredTable:
    """What a file or a database says of its table: the columns, of some formats their types, and the number of rows."""

    names: list[str]
    types: Mapping[str, Any] = field(default_factory=dict)
    format: str = ""
    n_rows: int | None = None


def column_names(source: Source, policy: InputTable) -> list[str] | None:
    """The columns of a table that tells them, in order; None for CSV.

    Raises
    ------
    InputError : as `enclave.reading.batches`.
    """
    table = source.table or policy.table
    if source.is_database:
        by_uri = opened_by_adbc if ADBC.fullmatch(source.uri) else opened_by_sqlalchemy
        return _names(lambda stop: by_uri(source.uri, table), NO_CONNECTION)
    file = source.files()[0]
    start = start_of(file)
    declared = _declared(file, start, policy, table)
    if declared is None and isinstance(file, Path):
        is_compressed(start, policy)
    return None if declared is None else declared.names


def _declared(file: File, start: bytes, policy: InputTable, table: str | None) -> DeclaredTable | None:
    """What a file says of its table; None for CSV, which says nothing. Raises InputError for a file that is cut or damaged."""
    if isinstance(file, Path) and start.startswith(SQLITE):
        return DeclaredTable(names=_names(lambda stop: opened_sqlite(file, table, stop.by), NO_SQLITE))
    if isinstance(file, Path) and is_duckdb(start):
        return DeclaredTable(names=_names(lambda stop: opened_duckdb(file, table, stop.by), NO_DUCKDB))
    if isinstance(file, Path) and (package := package_of(start)):
        facts = read_package(package, file, policy.encoding, metadataonly=True)[1]
        return DeclaredTable(names=list(facts.column_names), n_rows=facts.number_rows)
    problem = ""
    try:
        if start.startswith(PARQUET):
            import pyarrow.parquet as pq

            with file.open("rb") as opened, pq.ParquetFile(opened) as parquet:
                return _of_arrow(parquet.schema_arrow, "Parquet", parquet.metadata.num_rows)
        if isinstance(file, Path) and start.startswith((FILE, STREAM)):
            return _of_arrow(opened_feather(file).schema, "Arrow")
    except Exception:  # a damaged file makes the library fail in many ways
        problem = unreadable.damaged("Parquet" if start.startswith(PARQUET) else "Feather")
    if problem:
        raise InputError(problem)
    return None


def _of_arrow(schema: Any, kind: str, n_rows: int | None = None) -> DeclaredTable:
    types = {each.name: each.type for each in schema}
    return DeclaredTable(names=list(schema.names), types=types, format=kind, n_rows=n_rows)


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
