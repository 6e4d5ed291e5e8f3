"""A private file is opened, its header checked, and read in pieces: CSV (also gzip) and Parquet.

Both formats arrive as texts, so that one table is read the same from either: a number or date of Parquet as its shortest
text, a boolean as "True" or "False". CSV is read by Python's own `csv`, in strict mode: pandas pads rows that are too
short, cuts rows that are too long and cuts texts at a zero byte, all without a word.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from synthrelease.domain.schema import Schema
from synthrelease.enclave.parquet import parquet_pieces
from synthrelease.enclave.texts import Piece, Texts, check_header
from synthrelease.errors import InputError
from synthrelease.toml.tables import InputTable

ROWS_PER_PIECE = 100_000
FIELDS_PER_PIECE = 600_000
"""A piece of a wide file has fewer rows, so that its texts stay near the processor."""
CHARACTERS_PER_PIECE = 2**25
"""A piece ends after so many characters, too, so that long texts do not fill the memory."""
MAX_LINE = 10_000_000
"""Characters of a record, which may have line ends between quotes."""
MAX_HEADER = 1_000_000
MAX_BLANK_LINES = 1_000_000
"""Blank lines on end: they are no rows, but a few compressed kilobytes hold more than can be read in a day."""
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_OTHER_MARKS = {
    b"\xff\xfe": "UTF-16 text", b"\xfe\xff": "UTF-16 text", b"PK\x03\x04": "a zip or Excel file",
    b"\xd0\xcf\x11\xe0": "an Excel file", b"$FL": "an SPSS file", b"<stata_": "a Stata file",
    b"PARE": "an encrypted Parquet file", b"BZh": "a bzip2 file", b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
}  # fmt: skip
_DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar", ",": "a comma", " ": "a space"}
_EXPECTED = "expected a file with a header and rows"


def pieces(path: Path, schema: Schema, policy: InputTable) -> Iterator[Piece]:
    """The pieces of the file, in order.

    Blank lines of a CSV file are not rows, unless it has one column, where each is a row with an empty cell. A piece has at
    most ROWS_PER_PIECE rows, so memory does not grow with the file.

    Raises
    ------
    InputError : when the file cannot be read, its header does not fit, or a row has not as many fields as the header.
        The content of a row is never quoted; names from the header are. The caller adds the name of the file.
    """
    start = _start(path)
    for mark, kind in _OTHER_MARKS.items():
        if start.startswith(mark):
            raise InputError(f"expected CSV in UTF-8 (also gzip) or Parquet, found {kind}.")
    needed = list(dict.fromkeys(column.source for column in schema.columns))
    if start.startswith(_PARQUET):
        yield from parquet_pieces(path, needed, ROWS_PER_PIECE, CHARACTERS_PER_PIECE)
    else:
        yield from _csv(path, needed, policy, compressed=start.startswith(_GZIP))


def _start(path: Path) -> bytes:
    """The first bytes of the file, at least one. Only regular files are opened: a pipe may have nobody at its other end."""
    start = b""
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            with path.open("rb") as file:
                start = file.read(8)
            found = "an empty file"
        else:
            found = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
    except FileNotFoundError:
        found = "no such file"
    except PermissionError:
        found = "a file without permission to read it"
    except (OSError, ValueError):
        found = "something that cannot be opened"
    if start:
        return start
    raise InputError(f"{_EXPECTED}, found {found}.")


def _csv(path: Path, needed: list[str], policy: InputTable, compressed: bool) -> Iterator[Piece]:
    row, rows, problem, characters = 0, [], None, 0
    try:
        with _open_text(path, compressed) as text:
            lines = _Lines(text)
            first = next(filter(str.strip, lines), "")
            lines.check_header()
            _check_delimiter(first, needed, policy.delimiter)
            reader = _reader(chain([first], lines), policy.delimiter, strict=True)
            header = [name if name in needed else name.strip() for name in next(filter(None, reader), [])]
            # in a file of one column an empty line is a row with an empty cell: how many rows there are must not depend on it
            records = (record or [""] for record in reader) if len(header) == 1 else filter(None, reader)
            lines.check_header()
            check_header(header, needed)
            places = [header.index(name) for name in needed]
            whole = places == list(range(len(header)))
            most = max(1, min(ROWS_PER_PIECE, FIELDS_PER_PIECE // len(needed)))
            row, lines.length = 1, 0
            for record in records:
                if len(record) != len(header):
                    raise _ragged(len(header), len(record))
                rows.append(record if whole else [record[place] for place in places])
                characters += lines.length
                lines.length = 0
                if len(rows) == most or characters > CHARACTERS_PER_PIECE:
                    yield row, _columns(needed, rows)
                    row, rows, characters = row + len(rows), [], 0
            if rows:
                yield row, _columns(needed, rows)
    except UnicodeDecodeError:
        problem = "expected text in UTF-8, found other bytes. Save the file as UTF-8 (in Excel: 'CSV UTF-8')."
    except (OSError, EOFError, zlib.error):
        problem = "expected a whole file, found one that is cut off, damaged or unreadable."
    except csv.Error:
        problem = (
            "expected quotes in pairs around a field, found a quote that is not closed, text after a closing quote, or a "
            f"very long field in {_place(row + len(rows))}."
        )
    except _Unreadable as reason:
        problem = f"{reason} in {_place(row + len(rows))}. {reason.advice}"
    if problem:  # raised here, so that the original error, which may quote a row, is not attached
        raise InputError(problem)


def _place(row: int) -> str:
    return f"data row {row} (the header and blank lines are not counted)" if row else "the header"


def _reader(lines: Iterable[str], delimiter: str, strict: bool) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != " ")


class _Unreadable(Exception):
    """A line of CSV that cannot be read: what was expected and found, without values, and what to do."""

    def __init__(self, reason: str, advice: str):
        super().__init__(reason)
        self.advice = advice


def _ragged(expected: int, found: int) -> _Unreadable:
    advice = (
        "The file may be cut off there, or a line break inside a field needs quotes around the field."
        if found < expected
        else "A field with a delimiter inside needs quotes around it. If every row ends with a delimiter, or starts with a "
        "row number, the header needs a name for that column too."
    )
    return _Unreadable(f"expected {expected} fields, as in the header, found {found}", advice)


def _open_text(path: Path, compressed: bool) -> IO[str]:
    if compressed:
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding="utf-8-sig", newline="")
    return path.open("r", encoding="utf-8-sig", newline="")


class _Lines:
    """The lines of a text with their ends. Refuses what no table holds, before it fills the memory or takes for ever.

    `length` counts the characters of the record that is being read: the reader sets it to 0 after each.
    """

    def __init__(self, text: IO[str]):
        self._text = text
        self._lines = self._checked()
        self.length = 0

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _checked(self) -> Iterator[str]:
        blank = 0
        while line := self._text.readline(MAX_LINE):
            self.length += len(line)
            blank = blank + 1 if line.isspace() else 0
            if "\0" in line:
                raise _Unreadable("expected text in UTF-8, found a zero byte", "The file may be UTF-16 or not a text file.")
            if self.length >= MAX_LINE:
                raise _Unreadable(f"expected rows of less than {MAX_LINE} characters, found more", "Is it a text file?")
            if blank > MAX_BLANK_LINES:
                raise _Unreadable(f"expected rows, found more than {MAX_BLANK_LINES} blank lines", "Is it a text file?")
            yield line

    def check_header(self) -> None:
        if self.length > MAX_HEADER:
            raise _Unreadable(f"expected a header of at most {MAX_HEADER} characters, found more", "Is it a text file?")


def _columns(needed: Sequence[str], rows: Iterable[Sequence[str]]) -> dict[str, Texts]:
    return {name: _distinct(values) for name, values in zip(needed, zip(*rows, strict=True), strict=True)}


def _distinct(values: Sequence[str]) -> Texts:
    seen: dict[str, int] = {}
    codes = np.fromiter((seen.setdefault(value, len(seen)) for value in values), dtype=np.int64, count=len(values))
    return Texts(texts=list(seen), codes=codes)


def _check_delimiter(first: str, needed: list[str], delimiter: str) -> None:
    """The first line holds the needed columns with the delimiter of the specification, or with none of the usual ones."""
    if not first:
        raise InputError(f"{_EXPECTED}, found nothing in it.")
    for other, name in [(delimiter, ""), *_DELIMITERS.items()]:
        if set(needed) <= {field.strip() for field in next(_reader([first], other, strict=False), [])}:
            if other == delimiter:
                return
            raise InputError(
                f"expected columns separated by {delimiter!r}, found {name} between them. "
                f"Set delimiter = {json.dumps(other)} under [input] in the configuration."
            )
