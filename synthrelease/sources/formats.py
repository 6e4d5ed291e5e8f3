"""What a file is, by its name and its first line alone.

Privacy
-------
Everything behind the first line of a text file may be a row, and a row may hold any bytes, the mark of another format too. So a
mark counts only where it stands before the first line end, wherever its format puts it. A mark of letters could be the name of
a column: then a control character must follow in the same line, or the mark is so long that no column is called so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from pathlib import Path
from typing import Any

from synthrelease.errors import InputError
from synthrelease.sources.opened import SQLITE
from synthrelease.sources.source import PARQUET
from synthrelease.sources.tables import LONGEST_TEXT

# Recognise the files of other programs by their first bytes: Parquet, Stata, SAS, SPSS.
#
# How long each part of a Parquet file is, and whose, told from what the file says of it. No value stands there.
#
# A text of 1.5 GB takes 46 KB of a packed file. A part in which a column takes more than `MOST_BYTES`, and more than
# `BYTES_PER_ROW` a row, is refused.

MOST_BYTES = 2**27
BYTES_PER_ROW = 256


def check_parquet(metadata: Any, needed: Sequence[str]) -> None:
    """Raise InputError for a column that takes too much memory in a part of its rows, by the facts about a Parquet file."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            part = group.column(index)
            most = max(MOST_BYTES, BYTES_PER_ROW * group.num_rows)
            if part.path_in_schema in needed and part.total_uncompressed_size > most:
                raise InputError(
                    f"column {part.path_in_schema!r}: expected texts of at most {LONGEST_TEXT} characters, most of them short, "
                    f"found a part of the file in which it takes more than {MOST_BYTES // 2**20} MB of memory, and more than "
                    f"{BYTES_PER_ROW} bytes a row."
                )


def rows_within(metadata: Any, most_rows: int, most_bytes: int) -> int:
    """Return the rows per batch of a Parquet file, limited in rows, and in bytes where the file states them."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=0.0)
    return int(max(1, min(most_rows, most_bytes / max(1.0, size))))


# The files of Stata, SAS and SPSS, without a look at one: how each is read, and the formats of its dates.


@dataclass(frozen=True, kw_only=True)
class Package:
    """A file of a statistical package: how to read it, the unit of its dates, and the letters that mark missing values.

    Attributes
    ----------
    name : for messages.
    parser : of pyreadstat.
    origin : what a date of 0 stands for.
    dates, moments, times : patterns of the formats of dates, of dates with a time, and of times of day.
    day, tick : in what dates are counted, and moments and times.
    letters : of values that are missing for a reason, in columns of numbers.
    block : bytes of which a whole file holds a whole number: it may not tell how many rows it has.
    """

    name: str
    parser: str
    origin: datetime = datetime(1960, 1, 1)
    dates: str
    moments: str
    times: str
    day: timedelta = timedelta(days=1)
    tick: timedelta = timedelta(seconds=1)
    letters: str = ""
    block: int = 1


STATA = Package(
    name="Stata", parser="dta", dates="%-?t?d.*", moments="%-?t[cC](?!HH).*", times="%-?t[cC]HH.*",
    tick=timedelta(milliseconds=1), letters="abcdefghijklmnopqrstuvwxyz",
)  # fmt: skip

SAS = Package(
    name="SAS", parser="sas7bdat", letters="_ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    dates=(
        r"(DATE|DAY|DDMMYY[BCDNPS]?|MMDDYY[BCDNPS]?|YYMMDD[BCDNPS]?|MMYY[CDNPS]?|YYMM[CDNPS]?|YYQR?[CDNPS]?|MONYY|MONNAME|MONTH|"
        r"YEAR|QTRR?|WEEKDAY|DOWNAME|JULIAN|JULDAY|WEEKDAT[EX]|WORDDAT[EX]|NLDATE|E8601DA|B8601DA|IS8601DA|DTDATE)\d*(\.\d*)?"
    ),
    moments=r"(DATETIME|DATEAMPM|MDYAMPM|NLDATM|E8601D[TNZ]|B8601D[TNZ]|IS8601D[TNZ])\d*(\.\d*)?",
    times=r"(TIME|TIMEAMPM|TOD|HHMM|E8601TM|B8601TM|IS8601TM)\d*(\.\d*)?",
)  # fmt: skip

TRANSPORT = replace(SAS, name="SAS transport", parser="xport", block=80)

SPSS = Package(
    name="SPSS", parser="sav/zsav", origin=datetime(1582, 10, 14), day=timedelta(seconds=1),
    dates=r"(DATE|ADATE|EDATE|JDATE|SDATE|QYR|MOYR|WKYR)\d*", moments=r"(DATETIME|YMDHMS)\d*(\.\d*)?", times=r"TIME\d*(\.\d*)?",
)  # fmt: skip

PORTABLE = replace(SPSS, name="SPSS portable", parser="por")


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
    SQLITE = auto()
    DUCKDB = auto()


def first_line(start: bytes) -> bytes:
    """Return the bytes before the first line end; none of them belongs to a row."""
    return re.split(rb"[\r\n]", start, maxsplit=1)[0]


def holds_controls(text: bytes) -> bool:
    """Return whether a text has a control character other than a tab or a line end."""
    return not _CONTROLS.isdisjoint(text)


def format_of(file: Path, start: bytes) -> Kind | Package:
    """Return the format of a file that begins so; `Kind.TEXT` for whatever is no other one.

    Parameters
    ----------
    start : the first bytes of the file, 1024 of them where it has so many.
    """
    line = first_line(start)
    if line.startswith(PARQUET) and holds_controls(line):
        return Kind.PARQUET
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
