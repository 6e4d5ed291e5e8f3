"""Check that a private table can be read, before the budget is charged: its libraries, format and columns, and whether it
is complete.

Privacy
-------
The checks read no row. They use the public part of a table (theory 1.8, reading row by row): its format (from the name of
the file and the bytes before its first line end, `sources.formats`), the names and types of its columns, whether all files
together have a row, and whether a gzip or Parquet file is complete. The checks do not query a view for rows. All these
facts are the same for two files that differ in one row, so no result depends on a record, even if the checks are repeated
often.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from synthrelease.data.misfits import ReadColumns, needed_columns
from synthrelease.data.schema import Schema
from synthrelease.enclave.csv import MAX_HEADER, check_delimiter, csv_reader, longest_field, open_bytes, text_of
from synthrelease.enclave.fixed_width import is_packed
from synthrelease.enclave.reading import check_one_record_type, is_compressed, start_of
from synthrelease.enclave.statistical import dates_of, read_package
from synthrelease.enclave.stoppable import stoppable_batches
from synthrelease.enclave.texts import check_header
from synthrelease.errors import InputError
from synthrelease.privacy.protection import told_of
from synthrelease.resources import library
from synthrelease.settings.columns import (
    CUT,
    NEEDED,
    InputTable,
    Unreadable,
    control_character,
    damaged,
    endless_header,
    other_bytes,
    wrong_quotes,
    zero_byte,
)
from synthrelease.sources.formats import FileFormat, Package, format_of, holds_controls
from synthrelease.sources.opened import (
    NO_CONNECTION,
    NO_DUCKDB,
    NO_SQLITE,
    OpenTable,
    Stop,
    opened_by_sqlalchemy,
    opened_duckdb,
    opened_sqlite,
)
from synthrelease.sources.source import Source, which_file
from synthrelease.sources.tables import LONGEST_TEXT, check_is_number, check_type

# The header of a CSV file, whether a row follows it, and whether a gzip file is complete: all that is read before the charge.
#
# Privacy
# -------
# A header is no row. It is the first line that is not blank; rows are the records behind it, and files that differ in one of
# them have the same header (theory 1.8, reading row by row). So all results here are the same for all neighbours:
#
# - the bytes after the header are only checked for anything but line ends, that is, whether the file has a row. The number
#   of rows is public. Other bytes of rows in the block are not decoded and decide nothing;
# - a header whose last field has an open quote continues in the next line. Its end could depend on a row, so its columns
#   are not checked here. Its first line must be text, because this line belongs to no row;
# - a gzip file is unpacked to its end, and the content is discarded. A program that wrote the file to its end wrote a complete
#   file, whatever the rows are. So a cut is a fact about the copy (threat model, before the charge).

_BLOCK = 2**16
_MOST_BYTES = 4 * MAX_HEADER


class _GoesOn(Exception):
    """Raised if the header of a CSV file does not end in its first line."""


def has_row(file: Path, compressed: bool, needed: Sequence[str], policy: InputTable) -> bool | None:
    """Return whether a row follows the header of a CSV file, or None if this cannot be determined.

    Raises
    ------
    InputError : if the header does not fit, or if a gzip file is incomplete or damaged.
    """
    problem = ""
    try:
        if compressed:
            _unpack(file)
        if policy.fixed_width is not None:  # the first line is a row
            return None
        with open_bytes(file, compressed) as opened:
            return _has_row(opened, list(needed), policy)
    except UnicodeError:
        problem = other_bytes(policy.encoding)
    except (OSError, EOFError, zlib.error):
        problem = CUT
    except csv.Error as error:
        problem = wrong_quotes("field limit" in str(error), LONGEST_TEXT, 0)
    except Unreadable as reason:
        problem = reason.in_row(0)
    raise InputError(problem)


def _unpack(path: Path) -> None:
    """Read a gzip file to its end, which raises an error if the file is incomplete or damaged."""
    with gzip.open(path, "rb") as opened:
        while opened.read(2**20):
            pass


def _has_row(opened: IO[bytes], needed: list[str], policy: InputTable) -> bool | None:
    line, behind = _first_line(opened, policy.encoding)
    text = text_of(line, policy.encoding)
    if "\0" in text:
        raise zero_byte(policy.encoding)
    if len(text) > MAX_HEADER:
        raise endless_header(MAX_HEADER)
    check_delimiter(text, needed, policy.delimiter)
    try:
        with longest_field():
            names = next(csv_reader(_alone(text), policy.delimiter, strict=True))
    except _GoesOn:
        if holds_controls(line.rstrip(b"\r\n")):
            raise control_character() from None
        return None
    check_header([name if name in needed else name.strip() for name in names], needed)
    blank = b"\r\n" if len(names) > 1 else b""  # of one column, an empty line is a row
    while not behind.strip(blank):
        if not (behind := opened.read(_BLOCK)):
            return False
    return True


def _alone(line: str) -> Iterator[str]:
    """Yield a single line. Raise `_GoesOn` if the CSV reader requests a second line."""
    yield line
    raise _GoesOn


def _first_line(opened: IO[bytes], encoding: str) -> tuple[bytes, bytes]:
    """Return the first line that is not blank, as bytes for `text_of`, and the bytes that were read after it."""
    data, ended = b"", False
    while True:
        block = opened.read(_BLOCK)
        data, ended = data + block, not block
        text = data.removeprefix(codecs.BOM_UTF8) if encoding in ("utf-8", "mixed") else data
        lines, behind = text.splitlines(keepends=True), 0
        for number, line in enumerate(lines, 1):
            behind += len(line)
            whole = ended or line.endswith(b"\n") or number < len(lines)
            if whole and text_of(line, encoding).strip():
                return line, text[behind:]
        if ended:
            raise InputError(f"The file contains no text. {NEEDED}")
        if len(data) > _MOST_BYTES:
            raise endless_header(MAX_HEADER)


# Names of the statistical packages, by the endings of their files.
_PACKAGES = {".dta": "Stata", ".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".sas7bdat": "SAS", ".xpt": "SAS"}


def check_opens(
    source: Source, schema: Schema, policy: InputTable, more: Sequence[str] = (), *, rows_are_public: bool = True
) -> None:
    """Check the libraries, the format and the columns of a table, and whether it is complete.

    Parameters
    ----------
    more : further columns to read, in addition to the columns of the schema.
    rows_are_public : whether a message may say that the table has no row. False for roots and members in two files, because
        only the number of roots is public (theory 1.10, roots with their members).

    Raises
    ------
    InputError : if a library is missing, if a file cannot be read or lacks a needed column, or if the database does not
        answer or lacks the table or a needed column.
    """
    needed = list(dict.fromkeys([*needed_columns(schema), *more]))
    told_of(lambda: _open(source, schema, policy, needed, rows_are_public), f"{source}: ", " Nothing was spent.")


def _open(source: Source, schema: Schema, policy: InputTable, needed: list[str], rows_are_public: bool) -> None:
    if source.is_database:
        rows_of_files = [_check_declared(_of_uri(source, policy), schema, needed)]
    else:
        rows_of_files = _check_files(source, schema, policy, needed)
    # checked over all files together, because the file in which a row stands is a property of the row
    if rows_are_public and all(has_row is False for has_row in rows_of_files):
        raise InputError(f"The file has a header, but no rows. {NEEDED}")


def _check_files(source: Source, schema: Schema, policy: InputTable, needed: list[str]) -> list[bool | None]:
    files, several, problem, rows_of_files = source.files(), source.holds_files(), "", list[bool | None]()
    if several:
        check_one_record_type(policy)
    for number, file in enumerate(files, 1):
        try:
            rows_of_files.append(_check_file(file, schema, policy, source.table or policy.table, needed))
        except InputError as error:
            problem = f"{error} {which_file(number, len(files))}" if several else str(error)
        if problem:
            raise InputError(problem)
    return rows_of_files


def _check_file(file: Path, schema: Schema, policy: InputTable, table: str | None, needed: list[str]) -> bool | None:
    ending = file.suffix.lower()
    if ending in _PACKAGES:
        library("pyreadstat", "pyreadstat", f"files of {_PACKAGES[ending]}", "formats")
    start = start_of(file)
    if policy.fixed_width is not None:
        check_header(list(policy.fixed_width.table_of(needed, table)[1]), needed)
        return has_row(file, is_packed(file), needed, policy)
    declared = _declared(file, start, policy, table)
    if declared is None:
        return has_row(file, is_compressed(start, policy), needed, policy)
    return _check_declared(declared, schema, needed)


@dataclass(frozen=True, kw_only=True)
class DeclaredTable:
    """What a table declares: the names of its columns, in some formats their types, and whether it has a row (None if
    unknown).
    """

    names: list[str]
    types: Mapping[str, Any] = field(default_factory=dict)
    format: str = ""
    has_row: bool | None = None


def _check_declared(declared: DeclaredTable, schema: Schema, needed: list[str]) -> bool | None:
    """Check the names and types of the needed columns, and return whether the table has a row, or None."""
    check_header(declared.names, needed)
    for name in needed:
        if name in declared.types:
            check_type(name, declared.types[name], declared.format)
    for column in schema.columns:
        dates = column.part is not None or column.minus is not None
        for name in column.sources:
            if column.kind != "category" and name in declared.types:
                check_is_number(name, declared.types[name], declared.format, dates=dates)
    return declared.has_row


def column_names(source: Source, policy: InputTable) -> list[str] | None:
    """Return the names of the columns in order, or None for CSV, which does not declare them.

    Raises
    ------
    InputError : as in `enclave.reading.batches`.
    """
    table = source.table or policy.table
    if policy.fixed_width is not None:
        return list(policy.fixed_width.table_of([], table)[1])
    if source.is_database:
        return _of_uri(source, policy).names
    file = source.files()[0]
    start = start_of(file)
    declared = _declared(file, start, policy, table)
    if declared is None:
        is_compressed(start, policy)
    return None if declared is None else declared.names


def _of_uri(source: Source, policy: InputTable) -> DeclaredTable:
    return _of_database(lambda stop: opened_by_sqlalchemy(source.uri, source.table or policy.table), NO_CONNECTION)


def _declared(file: Path, start: bytes, policy: InputTable, table: str | None) -> DeclaredTable | None:
    """Return what a file declares about its table, or None for CSV. A damaged file raises an InputError."""
    kind, problem = format_of(file, start), ""
    try:
        if kind is FileFormat.PARQUET:
            import pyarrow.parquet as pq

            # a footer may contain the longest text of each column
            with file.open("rb") as opened, pq.ParquetFile(opened, thrift_string_size_limit=2**31 - 1) as parquet:
                return _of_arrow(parquet.schema_arrow, "Parquet", parquet.metadata.num_rows > 0)
    except Exception:  # a damaged file makes the library fail in many ways
        problem = damaged("Parquet")
    if problem:
        raise InputError(problem)
    if kind is FileFormat.TEXT:
        return None
    if isinstance(kind, Package):
        import pyarrow as pa

        facts = read_package(kind, file, policy.encoding, metadataonly=True)[1]
        dates = dict.fromkeys(dates_of(kind, facts), pa.date32())
        has_row = None if facts.number_rows is None else facts.number_rows > 0
        return DeclaredTable(names=list(facts.column_names), types=dates, format=kind.name, has_row=has_row)
    if kind is FileFormat.SQLITE:
        return _of_database(lambda stop: opened_sqlite(file, table, stop.by), NO_SQLITE)
    return _of_database(lambda stop: opened_duckdb(file, table, stop.by), NO_DUCKDB, _types_of_duckdb)


def _of_arrow(schema: Any, kind: str, has_row: bool | None) -> DeclaredTable:
    types = {field.name: field.type for field in schema}
    return DeclaredTable(names=list(schema.names), types=types, format=kind, has_row=has_row)


def _types_of_duckdb(names: Mapping[str, str]) -> dict[str, Any]:
    """Return the Arrow types of the columns whose DuckDB type is checked before the budget is charged."""
    import pyarrow as pa

    arrow_types = {
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "list": pa.list_(pa.null()),
        "struct": pa.struct([]),
    }
    arrow_types |= {kind: pa.timestamp("us") for kind in names.values() if kind.startswith("timestamp")}
    return {name: arrow_types[kind] for name, kind in names.items() if kind in arrow_types}


def _of_database(
    opened: Callable[[Stop], AbstractContextManager[OpenTable]],
    unopened: str,
    types_of: Callable[[Mapping[str, str]], dict[str, Any]] = lambda names: {},
) -> DeclaredTable:
    """Return what a database says about a stored table. A query without an answer is stopped."""

    def declared(stop: Stop) -> Iterator[DeclaredTable]:
        with opened(stop) as table:
            yield DeclaredTable(names=table.names, types=types_of(table.types), format="DuckDB", has_row=_asked(table))

    return next(stoppable_batches(declared, unopened))


def _asked(table: OpenTable) -> bool | None:
    """Return whether a stored table has a row, or None for a view, whose computation may fail or never end."""
    if table.has_row is None:
        return None
    try:
        return table.has_row()
    except Exception:  # a damaged page is found later, when its rows are read
        return None


def tables_to_read(schema: Schema, source: Source) -> Iterator[tuple[Source, Schema, list[str]]]:
    """Yield the source, the schema and the further columns (such as keys) of each table to read."""
    linked = schema.linked
    if linked is None:
        yield source, schema, []
        return
    read = ReadColumns.of(schema, linked)
    beside = [linked.key, *linked.order, *([linked.reference[0]] if linked.reference else [])]
    if source.members is None:
        yield source, Schema(columns=read.of_roots.columns + read.of_members.columns), beside
    else:
        yield replace(source, members=None), read.of_roots, [linked.key]
        yield source.members, read.of_members, beside
