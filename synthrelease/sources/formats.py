"""What a file is, by its name and its first line alone.

Privacy
-------
Everything behind the first line of a text file may be a row, and a row may hold any bytes, the mark of another format too. So a
mark counts only where it stands before the first line end, wherever its format puts it. A mark of letters could be the name of
a column: then a control character must follow in the same line, or the mark is so long that no column is called so.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from pathlib import Path

from synthrelease.sources.flat_tables import FILE, PORTABLE, SAS, SPSS, STATA, STREAM, TRANSPORT, Package
from synthrelease.sources.opened import SQLITE
from synthrelease.sources.source import PARQUET, File

_CONTROLS = frozenset(range(32)) - frozenset(b"\t\r\n")
_DUCKDB_NAMES = (".duckdb", ".ddb", ".db")
_DUCKDB = re.compile(rb".{8}DUCK..\0{6}", re.DOTALL)
"""Eight bytes of a checksum, the mark, and a version, which is a small number of eight bytes."""
_PORTABLE = re.compile(rb"(.{40})?ASCII SPSS PORT FILE {20}", re.DOTALL)
"""Two of five titles of 40 letters, in the first of lines of 80."""
_TRANSPORT = re.compile(rb"HEADER RECORD\*{7}LIB(RARY|V8  ) HEADER RECORD!{7}")
_SAS = bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf"
_STATA = b"<stata_dta><header><release>"


class Kind(Enum):
    """A format that is no statistical package's."""

    TEXT = auto()
    PARQUET = auto()
    ARROW = auto()
    SQLITE = auto()
    DUCKDB = auto()


def first_line(start: bytes) -> bytes:
    """The bytes before the first line end, of which none is a row's."""
    return re.split(rb"[\r\n]", start, maxsplit=1)[0]


def holds_controls(text: bytes) -> bool:
    """Whether it holds a control character other than a tab or a line end."""
    return not _CONTROLS.isdisjoint(text)


def format_of(file: File, start: bytes) -> Kind | Package:
    """The format of a file that begins so; `Kind.TEXT` for whatever is no other one.

    Parameters
    ----------
    start : the first bytes of the file, 1024 of them where it has so many.
    """
    line = first_line(start)
    if line.startswith(PARQUET) and holds_controls(line):
        return Kind.PARQUET
    if not isinstance(file, Path):
        return Kind.TEXT
    if line.startswith((FILE, STREAM)):
        return Kind.ARROW
    if line.startswith(SQLITE):
        return Kind.SQLITE
    if (package := _package_of(line)) is not None:
        return package
    # the checksum of one file in sixteen has a line end: the name of such a file tells what it is
    return Kind.DUCKDB if _DUCKDB.match(line) or file.suffix.lower() in _DUCKDB_NAMES else Kind.TEXT


def _package_of(line: bytes) -> Package | None:
    if line.startswith((b"$FL2@(#)", b"$FL3@(#)")) and holds_controls(line):
        return SPSS
    if _PORTABLE.match(line):
        return PORTABLE
    if _TRANSPORT.match(line):
        return TRANSPORT
    if line.startswith(_SAS):
        return SAS
    older = len(line) > 3 and 104 <= line[0] <= 115 and line[1] in (1, 2) and line[2:4] == b"\1\0"
    return STATA if line.startswith(_STATA) or older else None
