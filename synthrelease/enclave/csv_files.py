"""Reading CSV files, also gzip, in pieces.

CSV is read by Python's own `csv`, in strict mode: pandas pads rows that are too short, cuts rows that are too long and cuts
texts at a zero byte, all without a word.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from synthrelease.enclave.texts import Piece, Texts, check_header
from synthrelease.errors import InputError
from synthrelease.toml.tables import InputTable

MAX_LINE = 10_000_000
"""Characters of a record, which may have line ends between quotes."""
MAX_HEADER = 1_000_000
MAX_BLANK_LINES = 1_000_000
"""Blank lines on end: they are no rows, but a few compressed kilobytes hold more than can be read in a day."""
_DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar", ",": "a comma", " ": "a space"}
ENCODINGS = {"utf-8": "UTF-8", "latin-1": "Latin-1", "windows-1252": "Windows-1252", "utf-16": "UTF-16"}
"""Names for messages; Python's names are those of the settings."""
_ZERO_BYTE = 'The file may be UTF-16 (set encoding = "utf-16" under [input]) or not a text file.'
_EXPECTED = "expected a file with a header and rows"


def csv_pieces(
    path: Path, needed: list[str], policy: InputTable, compressed: bool, most_rows: int, most_characters: int
) -> Iterator[Piece]:
    """The pieces of the file, each of at most so many rows and about so many characters. Raises InputError as `pieces`."""
    row, rows, problem, characters = 0, [], None, 0
    try:
        with open_text(path, policy.encoding, compressed) as text:
            lines = _Lines(text, policy.encoding)
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
            row, lines.length = 1, 0
            for record in records:
                if len(record) != len(header):
                    raise _ragged(len(header), len(record))
                rows.append([record[place] for place in places])
                characters += lines.length
                lines.length = 0
                if len(rows) == most_rows or characters > most_characters:
                    yield row, _columns(needed, rows)
                    row, rows, characters = row + len(rows), [], 0
            if rows:
                yield row, _columns(needed, rows)
    except UnicodeError:
        problem = _other_bytes(policy.encoding)
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


def _other_bytes(encoding: str) -> str:
    advice = "Save the file as UTF-8 (in Excel: 'CSV UTF-8'), or set encoding = "
    advice += '"latin-1" or "windows-1252" under [input] in the configuration.'
    return f"expected text in {ENCODINGS[encoding]}, found other bytes. {advice}"


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


def open_text(path: Path, encoding: str, compressed: bool) -> IO[str]:
    """The text of a file, with its line ends as they are. A mark of UTF-8 at its beginning is no part of it."""
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    if compressed:
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding=codec, newline="")
    return path.open("r", encoding=codec, newline="")


class _Lines:
    """The lines of a text with their ends. Refuses what no table holds, before it fills the memory or takes for ever.

    `length` counts the characters of the record that is being read: the reader sets it to 0 after each.
    """

    def __init__(self, text: IO[str], encoding: str):
        self._text = text
        self._encoding = ENCODINGS[encoding]
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
                raise _Unreadable(f"expected text in {self._encoding}, found a zero byte", _ZERO_BYTE)
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
