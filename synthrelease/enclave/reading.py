"""Read a private table of any format in batches. The first line or the name of the file determines the format.

All values are converted to texts, so the result does not depend on the format: a whole number becomes "3", a date "1990-04-01",
a boolean "True" or "False", and any other number the shortest text that represents it.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from synthrelease.data.misfits import needed_columns
from synthrelease.data.schema import Schema
from synthrelease.enclave.columnar import parquet_batches
from synthrelease.enclave.csv import csv_batches
from synthrelease.enclave.databases import database_batches, duckdb_batches, sqlite_batches
from synthrelease.enclave.fixed_width import fixed_width_batches
from synthrelease.enclave.statistical import package_batches
from synthrelease.enclave.texts import Batch
from synthrelease.errors import InputError
from synthrelease.settings.columns import FORMATS, NEEDED, OTHER_FORMATS, TOO_LONG, InputTable, damaged, utf_16
from synthrelease.sources.formats import FileFormat, Package, first_line, format_of, holds_controls
from synthrelease.sources.source import Source, which_file

ROWS_PER_BATCH = 100_000
VALUES_PER_BATCH = 2**21
"""Largest number of values in a batch, over all columns. A batch of a wide table has fewer rows."""
CHARACTERS_PER_BATCH = 2**25
"""Number of characters after which a batch ends, so that long texts do not fill the memory."""
GZIP = b"\x1f\x8b"
# First bytes of formats that may also be the beginning of a column name, such as PARENT.
_NAMES = (b"PARE", b"FEA1", b"ARROW1", b"BZh")
_BZIP2 = b"1AY&SY"  # The bytes that follow BZh and a digit in a bzip2 file
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def batches(
    source: str | Path | Source, schema: Schema, policy: InputTable, more: Sequence[str] = (), *, only: bool = False
) -> Iterator[Batch]:
    """Yield the rows of a table in batches, in order: the number of the first row, counted from 1, and the needed columns by
    name.

    Blank lines of a CSV file are not rows, unless it has only one column. A batch has at most ROWS_PER_BATCH rows, and about
    VALUES_PER_BATCH values, so memory does not grow with the file.

    Parameters
    ----------
    more : further columns to read.
    only : whether to read only these, and not the columns of the schema.

    Raises
    ------
    InputError : if the file cannot be read, its header lacks a needed column, or a row has more or fewer fields than the
        header. Messages quote the header, but never the content of a row. The caller adds the name of the file.
    """
    source = Source.of(source)
    needed = list(dict.fromkeys([*([] if only else needed_columns(schema)), *more]))
    if source.is_database:
        yield from database_batches(source.uri, source.table or policy.table, needed, _most_rows(needed))
        return
    files = source.files()
    if not source.holds_files():
        yield from file_batches(files[0], needed, policy, source.table)
        return
    check_one_record_type(policy)
    row = 1
    for number, file in enumerate(files, 1):
        problem = None
        try:
            for _, columns in file_batches(file, needed, policy):
                yield row, columns
                row += len(next(iter(columns.values())).codes)
        except InputError as error:
            problem = f"{error} {which_file(number, len(files))}"
        if problem:
            raise InputError(problem)


def check_one_record_type(policy: InputTable) -> None:
    """Raise InputError if the specification of a table in several files has record types."""
    if policy.fixed_width is not None and policy.fixed_width.record_type is not None:
        raise InputError(
            "A fixed-width table with record types must be a single file, but this table has several files. Delete record_type "
            "in [input.fixed_width], or give one file."
        )


def file_batches(file: Path, needed: list[str], policy: InputTable, table: str | None = None) -> Iterator[Batch]:
    """Yield the batches of one file, in order. Raises the errors of `batches`."""
    table = table or policy.table
    start, most_rows = start_of(file), _most_rows(needed)
    if policy.fixed_width is not None:  # even if the first line, which is a row, looks like another format
        yield from fixed_width_batches(file, needed, policy, table, most_rows)
        return
    kind = format_of(file, start)
    if kind is FileFormat.PARQUET:
        yield from whole(parquet_batches(file, needed, most_rows, CHARACTERS_PER_BATCH), "Parquet")
    elif kind is FileFormat.TEXT:
        yield from csv_batches(file, needed, policy, is_compressed(start, policy), most_rows, CHARACTERS_PER_BATCH)
    elif isinstance(kind, Package):
        yield from package_batches(kind, file, needed, policy.encoding, most_rows)
    elif kind is FileFormat.SQLITE:
        yield from sqlite_batches(file, table, needed, most_rows)
    else:
        yield from duckdb_batches(file, table, needed, most_rows)


def whole(read: Iterator[Batch], kind: str) -> Iterator[Batch]:
    """Yield the batches that a library reads. If it fails, raise an InputError that does not depend on rows: messages of
    libraries may quote a value."""
    try:
        yield from read
        return
    except InputError:
        raise
    except MemoryError:
        problem = TOO_LONG
    except Exception:
        problem = damaged(kind)
    raise InputError(problem)


def _most_rows(needed: Sequence[str]) -> int:
    return max(1, min(ROWS_PER_BATCH, VALUES_PER_BATCH // max(1, len(needed))))


def is_compressed(start: bytes, policy: InputTable) -> bool:
    """Return whether a CSV file is compressed with gzip. Raises InputError for another format."""
    if start.startswith(UTF_16):
        raise InputError(utf_16(policy.encoding))
    line = first_line(start)
    for mark, kind in OTHER_FORMATS.items():
        if line.startswith(mark) and (mark not in _NAMES or holds_controls(line) or line[4:10] == _BZIP2):
            raise InputError(f"The file is {kind}. synthrelease reads {FORMATS}.")
    return start.startswith(GZIP)


def start_of(file: Path) -> bytes:
    """Return the first 1,024 bytes of a file, or all of a shorter one. Raises InputError if it is empty or no readable regular
    file: reading from a pipe may never end."""
    start = b""
    try:
        if stat.S_ISREG(file.stat().st_mode):
            with file.open("rb") as opened:
                start = opened.read(1024)
            problem = f"The file is empty. {NEEDED}"
        else:
            problem = "This is a pipe or a device, not a file."
    except FileNotFoundError:
        problem = "There is no such file."
    except PermissionError:
        problem = "Cannot read the file: permission denied."
    except (OSError, ValueError):
        problem = "Cannot open the file."
    if start:
        return start
    raise InputError(problem)
