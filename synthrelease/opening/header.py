"""The header of a CSV file, whether a row follows it, and whether a gzip file ends: all that is looked at before the charge.

Privacy
-------
A header is no row. It is the first line that is not blank; rows are the records behind it, and files that differ in one of
them have the same header (theory 1.8, reading row by row). So what is decided here is the same for all neighbours:

- of the bytes behind the header one thing alone is asked, whether there is any but line ends: whether the file has a row. The
  number of rows is public. Bytes of rows come along in the block that is read; they are not decoded and decide nothing;
- a header whose last field has an open quote goes on in the next line. Where it ends could depend on a row, so nothing is
  decided about its columns here. Whether its first line is text is decided: this line is no row's;
- a gzip file is unpacked to its end, and what comes out is thrown away. Whatever the rows are, a program that wrote the file to
  its end wrote a whole one: that it is cut is a fact about the copy (threat model, before the charge).
"""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from synthrelease.enclave.csv import MAX_HEADER, check_delimiter, csv_reader, longest_field, open_bytes, text_of
from synthrelease.enclave.texts import check_header
from synthrelease.errors import InputError
from synthrelease.settings import columns as unreadable
from synthrelease.settings.columns import InputTable
from synthrelease.sources.formats import holds_controls
from synthrelease.sources.source import File
from synthrelease.sources.tables import LONGEST_TEXT

_BLOCK = 2**16
_MOST_BYTES = 4 * MAX_HEADER


class _GoesOn(Exception):
    """The header does not end in its first line."""


def has_row(file: File, compressed: bool, needed: Sequence[str], policy: InputTable) -> bool | None:
    """Whether a row follows the header; None where it is not known.

    Raises
    ------
    InputError : for a header that does not fit, and a gzip file that is cut off or damaged.
    """
    problem = ""
    try:
        if compressed and isinstance(file, Path):  # an object store would send it twice
            _unpack(file)
        with open_bytes(file, compressed) as opened:
            return _has_row(opened, list(needed), policy)
    except UnicodeError:
        problem = unreadable.other_bytes(policy.encoding)
    except (OSError, EOFError, zlib.error):
        problem = unreadable.CUT
    except csv.Error as error:
        problem = unreadable.wrong_quotes("field limit" in str(error), LONGEST_TEXT, 0)
    except unreadable.Unreadable as reason:
        problem = reason.in_row(0)
    raise InputError(problem)


def _unpack(path: Path) -> None:
    with gzip.open(path, "rb") as opened:
        while opened.read(2**20):
            pass


def _has_row(opened: IO[bytes], needed: list[str], policy: InputTable) -> bool | None:
    line, behind = _first_line(opened, policy.encoding)
    text = text_of(line, policy.encoding)
    if "\0" in text:
        raise unreadable.zero_byte(policy.encoding)
    if len(text) > MAX_HEADER:
        raise unreadable.endless_header(MAX_HEADER)
    check_delimiter(text, needed, policy.delimiter)
    try:
        with longest_field():
            names = next(csv_reader(_alone(text), policy.delimiter, strict=True))
    except _GoesOn:
        if holds_controls(line.rstrip(b"\r\n")):
            raise unreadable.control_character() from None
        return None
    check_header([name if name in needed else name.strip() for name in names], needed)
    blank = b"\r\n" if len(names) > 1 else b""  # of one column, an empty line is a row
    while not behind.strip(blank):
        if not (behind := opened.read(_BLOCK)):
            return False
        if policy.encoding == "utf-16":
            return None
    return True


def _alone(line: str) -> Iterator[str]:
    """The line, for a reader that is stopped where it asks for another one."""
    yield line
    raise _GoesOn


def _first_line(opened: IO[bytes], encoding: str) -> tuple[bytes, bytes]:
    """The first line that is not blank, in the encoding that `text_of` takes, and the bytes behind it as far as they came."""
    data, ended = b"", False
    while True:
        block = opened.read(_BLOCK)
        data, ended = data + block, not block
        text = _as_utf_8(data, ended) if encoding == "utf-16" else data
        text = text.removeprefix(codecs.BOM_UTF8) if encoding in ("utf-8", "mixed", "utf-16") else text
        lines, place = text.splitlines(keepends=True), 0
        for number, line in enumerate(lines, 1):
            place += len(line)
            whole = ended or line.endswith(b"\n") or number < len(lines)
            if whole and text_of(line, encoding).strip():
                return line, text[place:]
        if ended:
            raise InputError(f"{unreadable.EXPECTED}, found nothing in it.")
        if len(data) > _MOST_BYTES:
            raise unreadable.endless_header(MAX_HEADER)


def _as_utf_8(data: bytes, ended: bool) -> bytes:
    """UTF-16 as UTF-8, in which half a pair stays half a pair: who decodes a line with one finds it there."""
    half = b"\xff" if ended and len(data) % 2 else b""  # a letter that is cut off is no line end
    return codecs.utf_16_decode(data + half, "surrogatepass", ended)[0].encode("utf-8", "surrogatepass")
