"""Writing a public table as CSV, gzip-compressed CSV or Parquet, by the file's suffix; never over another file."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from synthrelease.errors import OutputError

SUFFIXES = (".csv", ".csv.gz", ".parquet")
_ROWS = 100_000
"""That are texts at a time."""


def check_table_path(path: str | Path) -> Path:
    """The path, when its suffix is known, nothing is there and its folder exists.

    Raises
    ------
    OutputError : otherwise. Call it before a long draw.
    """
    path = Path(path)
    if not path.name.endswith(SUFFIXES):
        raise OutputError(f"{path}: expected a file that ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    if os.path.lexists(path):
        raise OutputError(f"{path}: expected a file that does not exist yet, found one. Nothing was overwritten.")
    if not os.path.isdir(path.absolute().parent):
        raise OutputError(f"{path}: expected an existing folder to write into, found none.")
    return path


def write_table(table: Mapping[str, np.ndarray], path: str | Path) -> Path:
    """Write a table, (n,) values by column; the file is there as a whole or not at all, and equal tables give equal bytes.

    Raises
    ------
    OutputError : as `check_table_path`, or when the disk cannot be written to.
    """
    path = check_table_path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("xb") as file:
            if path.name.endswith(".parquet"):
                import pyarrow as pa
                import pyarrow.parquet as pq

                pq.write_table(pa.table({name: pa.array(values) for name, values in table.items()}), file)
            elif path.name.endswith(".gz"):
                # neither a name nor a time in the header: they would make equal tables differ
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                    _write_csv(table, packed)
            else:
                _write_csv(table, file)
        check_table_path(path)
        os.rename(temporary, path)
    except OSError as error:
        raise OutputError(f"{path}: the table could not be written ({error.strerror}).") from None
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _write_csv(table: Mapping[str, np.ndarray], file: BinaryIO | gzip.GzipFile) -> None:
    file.write(_lines([table]))
    for first in range(0, len(next(iter(table.values()))), _ROWS):
        file.write(_lines(zip(*(values[first : first + _ROWS].tolist() for values in table.values()), strict=True)))


def _lines(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
