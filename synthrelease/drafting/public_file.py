"""Reading a public file of unknown layout: its columns, and how often each text occurs in each."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from synthrelease.domain.schema import Binning, Column, Schema
from synthrelease.enclave.reading import pieces
from synthrelease.errors import InputError
from synthrelease.toml.tables import InputTable

_DELIMITERS = (",", ";", "\t", "|")
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
MAX_TEXTS = 1_000_000
"""Different texts of one column that are told apart; a column with more is no column for a release."""


@dataclass(frozen=True, kw_only=True)
class PublicFile:
    """A public table, column by column.

    Attributes
    ----------
    delimiter : of a CSV file; a comma for Parquet.
    columns : for each column, in the order of the file, how often each text occurs; None stands for a null of Parquet.
    """

    name: str
    delimiter: str
    n_rows: int
    columns: dict[str, Counter[str | None]]


def read_public_file(path: str | Path) -> PublicFile:
    """Read a public CSV (also gzip) or Parquet file.

    Raises
    ------
    InputError : when it cannot be read, has no rows, or names a column twice.
    """
    path = Path(path)
    delimiter, names = _header(path)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated or not names or "" in names:
        found = f"{repeated[0]!r} twice" if repeated else "a column without a name"
        raise InputError(f"{path}: expected a header with different names, found {found}.")
    columns: dict[str, Counter[str | None]] = {name: Counter() for name in names}
    rows = 0
    problem = ""
    try:
        for _, piece in pieces(path, Schema(columns=tuple(map(_column, names))), InputTable(delimiter=delimiter)):
            for name, texts in piece.items():
                used = Counter(texts.codes.tolist())
                columns[name].update({texts.texts[code]: times for code, times in used.items()})
                if len(columns[name]) > MAX_TEXTS:
                    raise InputError(f"column {name!r}: expected at most {MAX_TEXTS} different texts, found more.")
                rows += len(texts.codes) if name == names[0] else 0
    except InputError as error:
        problem = str(error)
    if problem:
        raise InputError(f"{path}: {problem}")
    if not rows:
        raise InputError(f"{path}: expected a header and rows, found no rows.")
    return PublicFile(name=path.name, delimiter=delimiter, n_rows=rows, columns=columns)


def _header(path: Path) -> tuple[str, list[str]]:
    """(delimiter, column names); anything wrong with the file itself is left for `pieces` to explain."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
        if start == _PARQUET:
            import pyarrow.parquet as pq

            return ",", list(pq.read_schema(path).names)
        with gzip.open(path, "rb") if start[:2] == _GZIP else path.open("rb") as binary:
            first = next(filter(str.strip, io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")), "")
    except (OSError, EOFError, UnicodeDecodeError, ValueError):
        return ",", ["?"]
    delimiter = max(_DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
    fields = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True), [])
    return delimiter, [field.strip() for field in fields] or ["?"]


def _column(name: str) -> Column:
    """A column of which only the name in the file matters."""
    nothing = Binning(name="", labels=(), numbers=(), of_atom=())
    return Column(
        name=name,
        kind="category",
        description="",
        unit="",
        source=name,
        part=None,
        bounds=None,
        edges=(),
        values={},
        missing="drop",
        outside="drop",
        ordered=False,
        atoms=nothing,
        alternatives={},
    )
