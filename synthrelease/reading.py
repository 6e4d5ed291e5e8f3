"""Opening a private file: header checks and reading in pieces, for CSV (also gzip) and Parquet.

Both formats arrive as texts, so that one table is read the same from either: a number or date of Parquet as its shortest
text, a boolean as "True" or "False". CSV is read by Python's own `csv`, in strict mode: pandas pads rows that are too
short, cuts rows that are too long and cuts texts at a zero byte, all without a word.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from synthrelease.errors import InputError, closest, listing
from synthrelease.schema import Schema
from synthrelease.spec_files import InputTable

ROWS_PER_PIECE = 100_000
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
_TYPE_NAME = re.compile("[a-z0-9_]+")
_NO_VALUE = "\0"
"""What no specification and no CSV file can hold stands for a value that Python cannot express."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Texts:
    """One column of one piece: its distinct texts and which of them each row holds. Private; the repr shows nothing.

    Attributes
    ----------
    texts : (n_texts,) the texts; None stands for a null of Parquet. Some may occur twice, or in no row.
    codes : (n_rows,) the index into `texts` of each row.
    """

    texts: Sequence[str | None]
    codes: np.ndarray


Piece = tuple[int, Mapping[str, Texts]]
"""The number of the first row, counted from 1, and the needed columns by name."""


def pieces(path: Path, schema: Schema, rules: InputTable) -> Iterator[Piece]:
    """The pieces of the file, in order.

    Blank lines of a CSV file are not rows. A piece has at most ROWS_PER_PIECE rows, so memory does not grow with the file.

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
        yield from _parquet(path, needed)
    else:
        yield from _csv(path, needed, rules, compressed=start.startswith(_GZIP))


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


def _csv(path: Path, needed: list[str], rules: InputTable, compressed: bool) -> Iterator[Piece]:
    row, rows, problem, characters = 0, [], None, 0
    try:
        with _open_text(path, compressed) as text:
            lines = _Lines(text)
            first = next(filter(str.strip, lines), "")
            lines.check_header()
            _check_delimiter(first, needed, rules.delimiter)
            records = filter(None, _reader(chain([first], lines), rules.delimiter, strict=True))
            header = [name if name in needed else name.strip() for name in next(records, [])]
            lines.check_header()
            _check_header(header, needed)
            places = [header.index(name) for name in needed]
            row, lines.length = 1, 0
            for record in records:
                if len(record) != len(header):
                    raise _ragged(len(header), len(record))
                rows.append([record[place] for place in places])
                characters += lines.length
                lines.length = 0
                if len(rows) == ROWS_PER_PIECE or characters > CHARACTERS_PER_PIECE:
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


def _parquet(path: Path, needed: list[str]) -> Iterator[Piece]:
    import pyarrow.parquet as pq

    row, problem = 1, None
    try:
        schema = pq.read_schema(path)
        _check_header(schema.names, needed)
        for name in needed:
            _check_type(name, schema.field(name).type)
        # as dictionaries, in which a long text that many rows share stands once
        with pq.ParquetFile(path, read_dictionary=[name for name in needed if _is_text(schema.field(name).type)]) as file:
            for batch in file.iter_batches(batch_size=_rows_per_batch(file.metadata), columns=needed):
                yield row, {name: _as_texts(batch.column(name)) for name in needed}
                row += batch.num_rows
    except InputError:
        raise
    except MemoryError:
        problem = "expected rows that fit into the memory of this machine, found longer ones."
    except Exception:  # a damaged file makes the library fail in many ways
        problem = "expected a whole Parquet file, found one that is cut off, damaged or unreadable."
    if problem:
        raise InputError(problem)


def _rows_per_batch(metadata: Any) -> int:
    """ROWS_PER_PIECE, or fewer where rows are long."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=0.0)
    return int(max(1, min(ROWS_PER_PIECE, CHARACTERS_PER_PIECE / max(1.0, size))))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _check_type(name: str, kind: Any) -> None:
    from pyarrow import types

    values = kind.value_type if types.is_dictionary(kind) else kind
    plain = (
        types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_string, types.is_large_string,
        types.is_string_view, types.is_date, types.is_timestamp, types.is_null,
    )  # fmt: skip
    if not any(accepts(values) for accepts in plain):
        shown = _TYPE_NAME.match(str(kind))  # what follows may hold names of fields
        found = f"the Parquet type {shown[0] if shown else 'of an extension'}"
        raise InputError(f"column {name!r}: expected numbers, texts, booleans or dates, found {found}.")
    if types.is_timestamp(values) and values.tz is not None and not _can_be_read(values):
        raise InputError(
            f"column {name!r}: expected dates without a time zone, or in one that this machine knows, found another one. "
            "Write the dates as texts such as 2014-12-31."
        )


def _can_be_read(kind: Any) -> bool:
    import pyarrow as pa

    try:
        pa.scalar(0, kind).as_py()
    except Exception:  # whatever the libraries of time zones raise
        return False
    return True


def _as_texts(array: Any) -> Texts:
    """A column of Parquet as texts; nulls and NaN as None."""
    from pyarrow import types

    if types.is_float16(array.type):  # which pyarrow cannot encode
        numbers, codes = np.unique(array.to_numpy(zero_copy_only=False), return_inverse=True)
        return Texts(texts=_float_texts(numbers), codes=codes.astype(np.int64))
    encoded = array.dictionary_encode()
    values = encoded.dictionary
    if types.is_floating(values.type):
        texts = _float_texts(values.to_numpy(zero_copy_only=False))
    else:
        texts = [_as_text(value) for value in values]
    codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Texts(texts=[*texts, None], codes=codes)


def _float_texts(values: np.ndarray) -> list[str | None]:
    """As numpy scalars, for the shortest text in their own precision."""
    return [None if np.isnan(value) else str(value) for value in values]


def _as_text(scalar: Any) -> str | None:
    try:
        value = scalar.as_py()
    except Exception:  # a date beyond the year 9999, for example
        return _NO_VALUE
    return None if value is None else str(value)


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


def _check_header(header: list[str], needed: list[str]) -> None:
    """Every needed column once. A file without a header starts with a person's row: only what is surely a name is shown."""
    for name in needed:
        if header.count(name) > 1:
            raise InputError(f"expected each column once, found {name!r} more than once in the header.")
    missing = [name for name in needed if name not in header]
    if not missing:
        return
    none = len(missing) == len(needed)
    same = next((name for name in header if name.casefold() == missing[0].casefold()), None)
    guess = same or (None if none else closest(missing[0], header))
    if guess:
        advice = f"Is it {guess!r}? Then set source = {guess!r} for the column {missing[0]!r} in the configuration."
    elif none:
        advice = "Is the first line a header?"
    else:
        advice = "Set source for a column that has another name in the file."
    found = "none of them" if none else f"no {listing(missing)}"
    raise InputError(f"expected the columns {listing(needed)}, found {found} in the header. {advice}")
