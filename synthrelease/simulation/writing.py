"""Writing a public table as CSV, gzip-compressed CSV or Parquet, by the file's suffix; never over another file."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pandas as pd

from synthrelease.errors import OutputError

SUFFIXES = (".csv", ".csv.gz", ".parquet")


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


def write_table(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table; the file is there as a whole or not at all, and equal tables give equal bytes.

    Raises
    ------
    OutputError : as `check_table_path`, or when the disk cannot be written to.
    """
    path = check_table_path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("xb") as file:
            if path.name.endswith(".parquet"):
                frame.to_parquet(file, index=False)
            elif path.name.endswith(".gz"):
                # neither a name nor a time in the header: they would make equal tables differ
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                    frame.to_csv(packed, index=False, lineterminator="\n")
            else:
                frame.to_csv(file, index=False, lineterminator="\n")
        check_table_path(path)
        os.rename(temporary, path)
    except OSError as error:
        raise OutputError(f"{path}: the table could not be written ({error.strerror}).") from None
    finally:
        temporary.unlink(missing_ok=True)
    return path
