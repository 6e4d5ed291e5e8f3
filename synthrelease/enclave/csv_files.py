"""Reading CSV files, also gzip, in pieces.

Python's own `csv`, in strict mode, decides what a file says: pandas pads rows that are too short, cuts rows that are too long
and cuts texts at a zero byte, all without a word. Lines that can be read in one way only are read faster (`plain_csv`).
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from synthrelease.enclave.plain_csv import plain_columns
from synthrelease.enclave.texts import Collected, Piece, Texts, check_header
from synthrelease.errors import InputError
from synthrelease.toml.tables import InputTable

MAX_LINE = 10_000_000
"""Characters of a record, which may have line ends between quotes."""
MAX_HEADER = 1_000_000
MAX_BLANK_LINES = 1_000_000
"""Blank lines on end: they are no rows, but a few compressed kilobytes hold more than can be read in a day."""
BLOCK = 2**23
"""Characters that are looked at together, so that plain lines are read fast and other lines one by one."""
_DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar", ",": "a comma", " ": "a space"}
ENCODINGS = {
    "utf-8": "UTF-8",
    "latin-1": "Latin-1",
    "windows-1252": "Windows-1252",
    "utf-16": "UTF-16",
    "mixed": "UTF-8 and Windows-1252",
}
"""Names for messages; Python's names are those of the settings."""
_ZERO_BYTE = 'The file may be UTF-16 (set encoding = "utf-16" under [input]) or not a text file.'
_EXPECTED = "expected a file with a header and rows"


def csv_pieces(
    path: Path, needed: list[str], policy: InputTable, compressed: bool, most_rows: int, most_characters: int
) -> Iterator[Piece]:
    """The pieces of the file, each of at most so many rows and about so many characters. Raises InputError as `pieces`."""
    row, problem = 0, None
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
            while block := lines.block(min(most_characters, BLOCK)):
                first_row = row
                columns = plain_columns(block, policy.delimiter, len(header), places, min(MAX_LINE, csv.field_size_limit()))
                if columns is not None:
                    lines.blank = 0
                    row += len(columns[0].codes)
                else:
                    lines.put_back(block)
                    collected = Collected[str](places)
                    for record in records:
                        if len(record) != len(header):
                            raise _ragged(len(header), len(record))
                        collected.add(record)
                        row, lines.length = row + 1, 0
                        if lines.are_used_up():
                            break
                    columns = [Texts(texts=texts, codes=codes) for texts, codes in collected.columns()]
                for start in range(0, row - first_row, most_rows):
                    part = slice(start, start + most_rows)
                    cut = [Texts(texts=each.texts, codes=each.codes[part]) for each in columns]
                    yield first_row + start, dict(zip(needed, cut, strict=True))
    except UnicodeError:
        problem = _other_bytes(policy.encoding)
    except (OSError, EOFError, zlib.error):
        problem = "expected a whole file, found one that is cut off, damaged or unreadable."
    except csv.Error:
        problem = (
            "expected quotes in pairs around a field, found a quote that is not closed, text after a closing quote, or a "
            f"very long field in {_place(row)}."
        )
    except _Unreadable as reason:
        problem = f"{reason} in {_place(row)}. {reason.advice}"
    if problem:  # raised here, so that the original error, which may quote a row, is not attached
        raise InputError(problem)


def _other_bytes(encoding: str) -> str:
    advice = "Save the file as UTF-8 (in Excel: 'CSV UTF-8'), or set encoding = "
    advice += '"latin-1", "windows-1252" or "mixed" under [input] in the configuration.'
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


def open_text(path: Path, encoding: str, compressed: bool) -> io.TextIOWrapper:
    """The text of a file, with its line ends as they are. A mark of UTF-8 at its beginning is no part of it."""
    codec = "utf-8-sig" if encoding in ("utf-8", "mixed") else encoding
    errors = STRAY_LETTERS if encoding == "mixed" else "strict"
    if compressed:
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding=codec, errors=errors, newline="")
    return io.TextIOWrapper(path.open("rb"), encoding=codec, errors=errors, newline="")


STRAY_LETTERS = "synthrelease.stray_letters"
"""How Python's decoders are told to read bytes that are no UTF-8 as Windows-1252."""


def _stray_letters(error: UnicodeError) -> tuple[str, int]:
    """The letters of bytes that are no UTF-8, and where to go on. A line end is never among them: each row is read alone."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    stray = error.object[error.start : error.end]
    return "".join(_WINDOWS.get(byte, chr(byte)) for byte in stray), error.end


_WINDOWS = {byte: bytes([byte]).decode("windows-1252") for byte in range(256) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
codecs.register_error(STRAY_LETTERS, _stray_letters)


class _Lines:
    """The lines of a text with their ends. Refuses what no table holds, before it fills the memory or takes for ever.

    `length` counts the characters of the record that is being read, and `blank` the blank lines on end: the reader sets them
    to 0 after each record, and after lines that it did not take from here.
    """

    def __init__(self, text: IO[str], encoding: str):
        self._text = text
        self._encoding = ENCODINGS[encoding]
        self._waiting: Iterator[str] = iter(())
        self._left = 0
        self.blank = 0
        self.length = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._next():
            self.length += len(line)
            self.blank = self.blank + 1 if line.isspace() else 0
            if "\0" in line:
                raise _Unreadable(f"expected text in {self._encoding}, found a zero byte", _ZERO_BYTE)
            if self.length >= MAX_LINE:
                raise _Unreadable(f"expected rows of less than {MAX_LINE} characters, found more", "Is it a text file?")
            if self.blank > MAX_BLANK_LINES:
                raise _Unreadable(f"expected rows, found more than {MAX_BLANK_LINES} blank lines", "Is it a text file?")
            yield line

    def _next(self) -> str:
        if self._left:
            self._left -= 1
            return next(self._waiting)
        return self._text.readline(MAX_LINE)

    def block(self, characters: int) -> str:
        """About so many characters of the text, up to the end of a line; empty at the end of the text."""
        begun = self._text.read(characters)
        return begun + self._text.readline(MAX_LINE) if begun else begun

    def put_back(self, block: str) -> None:
        """Have the lines of a block come one by one."""
        lines = io.StringIO(block, newline="").readlines()
        self._waiting, self._left = iter(lines), len(lines)

    def are_used_up(self) -> bool:
        """Whether all lines that were put back have come."""
        return not self._left

    def check_header(self) -> None:
        if self.length > MAX_HEADER:
            raise _Unreadable(f"expected a header of at most {MAX_HEADER} characters, found more", "Is it a text file?")


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
