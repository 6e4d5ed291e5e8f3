"""The header of a CSV file, whether a row follows it, and whether a gzip file ends: all that is looked at before the charge.

Privacy
-------
A header is no row. It is the first line that is not blank; rows are the records behind it, and files that differ in one of
them have the same header (theory 1.8, reading row by row). So what is decided here is the same for all neighbours:

- of the bytes behind the header one thing alone is asked, whether there is any but line ends: whether the file has a row. The
  number of rows is public. Bytes of rows come along in the block that is read; they are not decoded and decide nothing;
- a header whose quotes are not in pairs in its line goes on in the next one. Where it ends could depend on a row, so nothing is
  decided about it here;
- a gzip file is unpacked to its end, and what comes out is thrown away. Whatever the rows are, a program that wrote the file to
  its end wrote a whole one: that it is cut is a fact about the copy (threat model, before the charge).
"""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from synthrelease.connections.column_types import LONGEST_TEXT
from synthrelease.connections.files import File
from synthrelease.enclave.csv_blocks import open_bytes, text_of
from synthrelease.enclave.csv_files import MAX_HEADER, check_delimiter, csv_reader, longest_field
from synthrelease.enclave.texts import check_header
from synthrelease.errors import InputError
from synthrelease.toml import unreadable
from synthrelease.toml.columns import InputTable

_BLOCK = 2**16
_MOST_BYTES = 4 * MAX_HEADER
_REPLACED = "\ufffd".encode()


def check_csv(file: File, compressed: bool, needed: Sequence[str], policy: InputTable) -> None:
    """Raises InputError for a header that does not fit, a file without a row, and a gzip file that is cut off or damaged."""
    problem = ""
    try:
        if compressed and isinstance(file, Path):  # an object store would send it twice
            _unpack(file)
        with open_bytes(file, compressed) as opened:
            _check_lines(opened, list(needed), policy)
    except UnicodeError:
        problem = unreadable.other_bytes(policy.encoding)
    except (OSError, EOFError, zlib.error):
        problem = unreadable.CUT
    except csv.Error as error:
        problem = unreadable.wrong_quotes("field limit" in str(error), LONGEST_TEXT, 0)
    except unreadable.Unreadable as reason:
        problem = reason.in_row(0)
    if problem:
        raise InputError(problem)


def _unpack(path: Path) -> None:
    with gzip.open(path, "rb") as opened:
        while opened.read(2**20):
            pass


def _check_lines(opened: IO[bytes], needed: list[str], policy: InputTable) -> None:
    line, behind = _first_line(opened, policy.encoding)
    if _REPLACED in line or line.count(b'"') % 2:
        return
    text = text_of(line, policy.encoding)
    if "\0" in text:
        raise unreadable.zero_byte(policy.encoding)
    if len(text) > MAX_HEADER:
        raise unreadable.endless_header(MAX_HEADER)
    check_delimiter(text, needed, policy.delimiter)
    with longest_field():
        names = next(csv_reader([text], policy.delimiter, strict=True))
    check_header([name if name in needed else name.strip() for name in names], needed)
    blank = b"\r\n" if len(names) > 1 else b""  # of one column, an empty line is a row
    while not behind.strip(blank):
        if not (behind := opened.read(_BLOCK)):
            raise InputError(f"{unreadable.EXPECTED}, found a header without a row.")
        if policy.encoding == "utf-16":
            return


def _first_line(opened: IO[bytes], encoding: str) -> tuple[bytes, bytes]:
    """The first line that is not blank, in the encoding that `text_of` takes, and the bytes behind it as far as they came."""
    data, ended = b"", False
    while True:
        block = opened.read(_BLOCK)
        data, ended = data + block, not block
        text = data.decode("utf-16", "replace").encode() if encoding == "utf-16" else data
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
