"""The words for a file that cannot be read as [input] says: what was expected and found, never a value, and what to do."""

from __future__ import annotations

import json
from collections.abc import Sequence

from synthrelease.errors import listing
from synthrelease.toml.columns import ENCODINGS

EXPECTED = "expected a file with a header and rows"
CUT = "expected a whole file, found one that is cut off, damaged or unreadable."
TOO_LONG = "expected rows that fit into the memory of this machine, found longer ones."
FORMATS = "CSV (also gzip), Parquet, Feather, Stata, SAS, SPSS, a DuckDB or an SQLite database"
OTHER_FORMATS = {
    b"PK\x03\x04": "a zip or Excel file", b"\xd0\xcf\x11\xe0": "an Excel file", b"PARE": "an encrypted Parquet file",
    b"FEA1": "a Feather file of version 1", b"BZh": "a bzip2 file", b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
}  # fmt: skip
"""By their first bytes."""
DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar", ",": "a comma", " ": "a space"}


class Unreadable(Exception):
    """A line of CSV that cannot be read."""

    def __init__(self, expected: str, found: str, advice: str):
        super().__init__(f"expected {expected}, found {found}")
        self._advice = advice

    def in_row(self, row: int) -> str:
        return f"{self} in {_place(row)}. {self._advice}"


def endless(expected: str, found: str = "more") -> Unreadable:
    return Unreadable(expected, found, "Is it a text file?")


def endless_header(longest: int) -> Unreadable:
    return endless(f"a header of at most {longest} characters")


def zero_byte(encoding: str) -> Unreadable:
    advice = 'The file may be UTF-16 (set encoding = "utf-16" under [input]) or not a text file.'
    return Unreadable(f"text in {ENCODINGS[encoding]}", "a zero byte", advice)


def control_character() -> Unreadable:
    return Unreadable("a header of letters", "a control character", "Is it a text file? It may be packed or encrypted.")


def ragged(expected: int, found: int) -> Unreadable:
    """A row with another number of fields than the header."""
    advice = (
        "The file may be cut off there, or a line break inside a field needs quotes around the field."
        if found < expected
        else "A field with a delimiter inside needs quotes around it. If every row ends with a delimiter, or starts with a "
        "row number, the header needs a name for that column too."
    )
    return Unreadable(f"{expected} fields, as in the header", str(found), advice)


def wrong_quotes(long: bool, longest: int, row: int) -> str:
    """Whether they are unlike pairs, or perhaps a field is `long`."""
    if long:
        expected = f"expected quotes in pairs and at most {longest} characters in a field"
        return f"{expected}, found a quote that is not closed or a longer field in {_place(row)}."
    expected = "expected quotes in pairs around a field"
    return f"{expected}, found a quote that is not closed or text after a closing quote in {_place(row)}."


def damaged(kind: str) -> str:
    return f"expected a whole {kind} file, found one that is cut off, damaged or unreadable."


def utf_16(encoding: str) -> str:
    advice = 'Set encoding = "utf-16" under [input] in the configuration.'
    return f"expected CSV in {ENCODINGS[encoding]}, found UTF-16 text. {advice}"


def missing_columns(needed: Sequence[str], missing: Sequence[str], guess: str | None) -> str:
    """Some of the needed columns are not in a header, and perhaps the first of them under another name."""
    if guess:
        advice = f"Is it {guess!r}? Then set source = {guess!r} for the column {missing[0]!r} in the configuration."
    elif len(missing) == len(needed):
        advice = "Is the first line a header?"
    else:
        advice = "Set source for a column that has another name in the file."
    found = "none of them" if len(missing) == len(needed) else f"no {listing(missing)}"
    return f"expected the columns {listing(needed)}, found {found} in the header. {advice}"


def other_bytes(encoding: str) -> str:
    """What to do about letters in another encoding than the one that is set."""
    shown = {"windows-1255": '"windows-1255" (Hebrew)'}
    *others, last = (shown.get(name, f'"{name}"') for name in ENCODINGS if name not in ("utf-16", encoding))
    advice = f"Save the file as UTF-8 (in Excel: 'CSV UTF-8'), or set encoding = {', '.join(others)} or {last} under [input]"
    return f"expected text in {ENCODINGS[encoding]}, found other bytes. {advice} in the configuration."


def other_delimiter(expected: str, found: str) -> str:
    return (
        f"expected columns separated by {expected!r}, found {DELIMITERS[found]} between them. "
        f"Set delimiter = {json.dumps(found)} under [input] in the configuration."
    )


def _place(row: int) -> str:
    return f"data row {row} (the header and blank lines are not counted)" if row else "the header"
