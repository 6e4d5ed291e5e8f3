"""Recognise the format of a file (text, Parquet, SQLite, DuckDB, Stata, SAS, SPSS) from its name and its first line.

Privacy
-------
Everything after the first line of a text file may be a row, and may contain any bytes, including the signature of another
format. So only the first line is searched for a signature. A signature of letters could also be the name of a column: it needs
a control character in the same line, or must be longer than any name of a column.
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

# The metadata of a Parquet file state the size of each column in each row group, and contain no value of a row.
#
# A text of 1.5 GB takes only 46 KB in a compressed file. So a row group is refused if a column takes more than `MOST_BYTES` in
# it, and more than `BYTES_PER_ROW` bytes a row.

MOST_BYTES = 2**27
BYTES_PER_ROW = 256


def check_parquet(metadata: Any, needed: Sequence[str]) -> None:
    """Raise InputError if, by the metadata of a Parquet file, a needed column would take too much memory."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            part = group.column(index)
            most = max(MOST_BYTES, BYTES_PER_ROW * group.num_rows)
            if part.path_in_schema in needed and part.total_uncompressed_size > most:
                raise InputError(
                    f"column {part.path_in_schema!r}: The texts are too long. In a part of the file, this column needs more "
                    f"than {MOST_BYTES // 2**20} MB of memory, and more than {BYTES_PER_ROW} bytes for each row. A text "
                    f"may have at most {LONGEST_TEXT:,} characters, and most texts must be short."
                )


def rows_within(metadata: Any, most_rows: int, most_bytes: int) -> int:
    """Return how many rows of a Parquet file to read in one batch: at least 1, at most `most_rows`, and about `most_bytes`
    bytes."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=0.0)
    return int(max(1, min(most_rows, most_bytes / max(1.0, size))))


# Description of the formats of Stata, SAS and SPSS: the reader of each, and the formats of its dates. No file is read here.


@dataclass(frozen=True, kw_only=True)
class Package:
    """The file format of a statistical package: its reader, the unit of its dates, and its codes for missing values.

    Attributes
    ----------
    name : the name for messages.
    parser : the suffix of the pyreadstat function that reads the format.
    origin : the moment that the number 0 represents.
    dates, moments, times : patterns of the display formats of dates, of dates with a time, and of times of day.
    day : the unit of dates.
    tick : the unit of dates with a time and of times of day.
    letters : letters of special missing values, such as .a in Stata.
    block : the block size in bytes, of which the size of a complete file is a multiple.
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
# A DuckDB file begins with a checksum of eight bytes, the signature, and a version, which is a small number of eight bytes.
_DUCKDB = re.compile(rb".{8}DUCK..\0{6}", re.DOTALL)
# The first line of a portable SPSS file has 80 characters: two titles of 40 characters each, with this signature.
_PORTABLE = re.compile(rb"(.{40})?ASCII SPSS PORT FILE {20}", re.DOTALL)
_TRANSPORT = re.compile(rb"HEADER RECORD\*{7}LIB(RARY|V8  ) HEADER RECORD!{7}")
_SAS = bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf"
_STATA = b"<stata_dta><header><release>"


class FileFormat(Enum):
    """The file formats that are not formats of a statistical package."""

    TEXT = auto()
    PARQUET = auto()
    SQLITE = auto()
    DUCKDB = auto()


def first_line(start: bytes) -> bytes:
    """Return the bytes before the first line end. If a text file has a header, they do not belong to a row."""
    return re.split(rb"[\r\n]", start, maxsplit=1)[0]


def holds_controls(text: bytes) -> bool:
    """Return whether the bytes contain a control character other than a tab or a line end."""
    return not _CONTROLS.isdisjoint(text)


def format_of(file: Path, start: bytes) -> FileFormat | Package:
    """Return the format of a file, `FileFormat.TEXT` if no other is recognised.

    Parameters
    ----------
    file : its name determines the format if the first line does not.
    start : the first 1,024 bytes of the file, or all bytes of a shorter file.
    """
    line = first_line(start)
    if line.startswith(PARQUET) and holds_controls(line):
        return FileFormat.PARQUET
    if line.startswith(SQLITE):
        return FileFormat.SQLITE
    if (package := _package_of(line)) is not None:
        return package
    # the checksum of about one DuckDB file in sixteen contains a line end; such a file is recognised by its name
    return FileFormat.DUCKDB if _DUCKDB.match(line) or file.suffix.lower() in _DUCKDB_NAMES else FileFormat.TEXT


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
