"""Opening a private file: header checks and reading in pieces, for CSV (also gzip) and Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pandas as pd

from synthrelease.errors import InputError, closest, listing
from synthrelease.schema import Schema
from synthrelease.spec_files import InputTable

ROWS_PER_PIECE = 100_000
MAX_HEADER_BYTES = 1_000_000
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_OTHER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PK\x03\x04": "a zip or Excel file"}


def pieces(path: Path, schema: Schema, rules: InputTable) -> Iterator[tuple[int, pd.DataFrame]]:
    """(number of the first row, the needed columns) of each piece of the file, rows counted from 1.

    Raises
    ------
    InputError : when the file cannot be read or its header does not fit; file content is never quoted, header names are.
    """
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        found = "no such file" if isinstance(error, FileNotFoundError) else type(error).__name__
        raise InputError(f"{path}: expected a readable file, found {found}.") from None
    if not start:
        raise InputError(f"{path}: expected a header and rows, found an empty file.")
    for mark, kind in _OTHER_MARKS.items():
        if start.startswith(mark):
            raise InputError(f"{path}: expected CSV in UTF-8 (also gzip) or Parquet, found {kind}.")
    needed = list(dict.fromkeys(column.source for column in schema.columns))
    if start == _PARQUET:
        yield from _parquet(path, needed)
    else:
        yield from _csv(path, needed, rules, compressed=start.startswith(_GZIP))


def _csv(path: Path, needed: list[str], rules: InputTable, compressed: bool) -> Iterator[tuple[int, pd.DataFrame]]:
    problem = None
    row = 1
    try:
        with _open_text(path, compressed) as text:
            header = next(csv.reader([text.readline(MAX_HEADER_BYTES)], delimiter=rules.delimiter), [])
            _check_header(path, header, needed, rules.delimiter)
            reader = pd.read_csv(
                text,
                names=header,
                header=None,
                usecols=needed,
                sep=rules.delimiter,
                dtype=str,
                keep_default_na=False,
                na_filter=False,
                chunksize=ROWS_PER_PIECE,
                index_col=False,
                on_bad_lines="error",
                engine="c",
                low_memory=False,
            )
            for frame in reader:
                yield row, frame
                row += len(frame)
    except UnicodeDecodeError:
        problem = "expected text in UTF-8, found other bytes"
    except (OSError, EOFError, zlib.error):
        problem = "expected a whole file, found one that is cut off, damaged or unreadable"
    except pd.errors.EmptyDataError:
        problem = "expected rows after the header, found none"
    except (pd.errors.ParserError, csv.Error, ValueError):
        problem = f"expected rows with as many fields as the header, found another number or an open quote after row {row}"
    if problem:  # raised here, so that the original message, which may quote a row, is not attached
        raise InputError(f"{path}: {problem}.")


def _open_text(path: Path, compressed: bool) -> IO[str]:
    if compressed:
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding="utf-8-sig", newline="")
    return path.open("r", encoding="utf-8-sig", newline="")


def _parquet(path: Path, needed: list[str]) -> Iterator[tuple[int, pd.DataFrame]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    problem = None
    row = 1
    try:
        with pq.ParquetFile(path) as file:
            _check_header(path, list(file.schema_arrow.names), needed, None)
            for batch in file.iter_batches(batch_size=ROWS_PER_PIECE, columns=needed):
                yield row, _plain(batch.to_pandas())
                row += batch.num_rows
    except (OSError, pa.ArrowException):
        problem = "expected a whole Parquet file, found one that is damaged or unreadable"
    if problem:
        raise InputError(f"{path}: {problem}.")


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Dictionary-encoded (categorical) columns as their plain values."""
    return frame.apply(lambda column: column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column)


def _check_header(path: Path, header: list[str], needed: list[str], delimiter: str | None) -> None:
    """Names in the header are part of the public layout, so they may be shown."""
    if any(header.count(name) > 1 for name in needed):
        twice = next(name for name in needed if header.count(name) > 1)
        raise InputError(f"{path}: expected each column once, found {twice!r} more than once in the header.")
    missing = [name for name in needed if name not in header]
    if not missing:
        return
    if delimiter is not None and len(header) == 1:
        for other, name in ((";", "a semicolon"), ("\t", "a tab"), ("|", "a bar"), (",", "a comma")):
            if set(needed) <= set(next(csv.reader(header, delimiter=other), [])):
                raise InputError(
                    f"{path}: expected columns separated by {delimiter!r}, found {name} between them. "
                    f"Set delimiter = {other!r} under [input] in the configuration."
                )
    guess = closest(missing[0], header)
    raise InputError(
        f"{path}: expected the columns {listing(needed)}, found no {missing[0]!r} in the header."
        + (f" Is it {guess!r}? Set source = {guess!r} for that column." if guess else "")
    )
