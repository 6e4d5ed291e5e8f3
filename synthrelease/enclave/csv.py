"""Read CSV files, also compressed with gzip, in batches.

Python's `csv` module in strict mode defines how a file is parsed: pandas silently pads short rows, cuts long rows, and cuts
texts at a zero byte. The fast reader (`PlainReader`) accepts only lines that `csv` parses in the same way.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from synthrelease.data.ahead import Ahead
from synthrelease.enclave.columnar import StringTexts, whole_array
from synthrelease.enclave.texts import Batch, Texts, check_header
from synthrelease.errors import InputError
from synthrelease.settings.columns import (
    CUT,
    DELIMITERS,
    NEEDED,
    InputTable,
    Unreadable,
    endless,
    endless_header,
    other_bytes,
    other_delimiter,
    ragged,
    wrong_quotes,
    zero_byte,
)
from synthrelease.sources.tables import LONGEST_TEXT

# The bytes of a CSV file in blocks of whole lines, and their text.
#
# In these encodings a line end is never part of a character, so each block can be decoded independently, in any thread.

_MOST_BYTES = 4  # Largest number of bytes of a character in UTF-8
STRAY_LETTERS = "synthrelease.stray_letters"
"""Name of an error handler: with it, Python's decoders read bytes that are not UTF-8 as Windows-1252."""


def _stray_letters(error: UnicodeError) -> tuple[str, int]:
    """Return the Windows-1252 characters for bytes that are not valid UTF-8, and the position after them.

    The bytes never include a line end, so each row is read independently of other rows.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    stray = error.object[error.start : error.end]
    return "".join(_WINDOWS.get(byte, chr(byte)) for byte in stray), error.end


_WINDOWS = {byte: bytes([byte]).decode("windows-1252") for byte in range(256) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
codecs.register_error(STRAY_LETTERS, _stray_letters)


def open_text(file: Path, encoding: str, compressed: bool) -> io.TextIOWrapper:
    """Open a file as text. Line ends stay unchanged, and a UTF-8 byte order mark is removed."""
    codec = "utf-8-sig" if encoding in ("utf-8", "mixed") else encoding
    return io.TextIOWrapper(open_bytes(file, compressed), encoding=codec, errors=_errors(encoding), newline="")


def open_bytes(file: Path, compressed: bool) -> IO[bytes]:
    if not compressed:
        return file.open("rb")
    return gzip.open(file, "rb")  # type: ignore[return-value]


def _errors(encoding: str) -> str:
    return STRAY_LETTERS if encoding == "mixed" else "strict"


def text_of(block: bytes, encoding: str) -> str:
    """Decode whole lines. Raises UnicodeError."""
    return block.decode("utf-8" if encoding == "mixed" else encoding, _errors(encoding))


def utf_8_of(block: bytes, encoding: str) -> bytes:
    """Convert whole lines to UTF-8. Raises UnicodeError."""
    if block.isascii():
        return block
    text = text_of(block, encoding)
    return block if encoding == "utf-8" else text.encode()


class Blocks:
    """Reads a file in blocks of whole lines. After a failed read, every further read raises the same error.

    Parameters
    ----------
    longest : the number of characters after which a line may be cut.
    old_macs : whether lines may end with a carriage return alone if the file has no line feed.
    """

    def __init__(self, file: Path, compressed: bool, encoding: str, longest: int, *, old_macs: bool = True):
        self._old_macs = old_macs
        self._file = open_bytes(file, compressed)
        self._most = _MOST_BYTES * longest + _MOST_BYTES
        self._first = io.BytesIO()
        self._failure: Exception | None = None
        if encoding in ("utf-8", "mixed") and (start := self._read(len(codecs.BOM_UTF8))) != codecs.BOM_UTF8:
            self.put_back(start)

    def close(self) -> None:
        self._file.close()

    def next(self, size: int) -> bytes:
        """Return whole lines of about `size` bytes in total, or nothing at the end of the file. Read errors are not caught."""
        block = self._read(size)
        if block.endswith(b"\n") or not block:
            return block
        if not self._old_macs or b"\n" in block or b"\r" not in block[:-1]:
            block += self._readline()
            if block.endswith(b"\n") or not (following := self._read(1)):
                return block
            self.put_back(following)
        if not self._old_macs:
            return block
        if cut := block.rfind(b"\r", 0, len(block) - 1) + 1:  # lines of old Macs
            self.put_back(block[cut:])
            return block[:cut]
        return _without_half_a_letter(block)

    def put_back(self, data: bytes) -> None:
        """Put bytes back, so that the next read returns them first."""
        self._first = io.BytesIO(data + self._first.read())

    def _read(self, size: int) -> bytes:
        data = self._first.read(size)
        return data + self._attempt(self._file.read, size - len(data)) if len(data) < size else data

    def _readline(self) -> bytes:
        line = self._first.readline()
        return line if line.endswith(b"\n") else line + self._attempt(self._file.readline, self._most)

    def _attempt(self, read: Callable[[int], bytes], size: int) -> bytes:
        if self._failure is None:
            try:
                return read(size)
            except Exception as error:
                self._failure = error
        raise self._failure


def _without_half_a_letter(block: bytes) -> bytes:
    """Return the bytes without a UTF-8 character at their end that may be incomplete."""
    end = len(block)
    while end and block[end - 1] & 0xC0 == 0x80:
        end -= 1
    return block[: max(end - 1, 0)]


# Lines of CSV in which nothing can be read in two ways, read several times faster than by Python's `csv`.
#
# pyarrow's reader is fast, but accepts files that `csv` in strict mode refuses: zero bytes, text after a closing quote, a quote
# that is never closed. So pyarrow gets only lines for which both readers must give the same fields; the positions of quotes and
# line ends show this beforehand. `csv` reads all other lines, and all lines that pyarrow refuses. The `csv` reader says what is
# wrong with these lines.

_DELIMITERS = ",;\t|"
_NEWLINE, _RETURN, _QUOTE, _SPACE = b'\n\r" '
_MARK = "\ufeff".encode()


class PlainReader:
    """A fast reader for plain lines, which `csv`, in strict mode and with spaces after delimiters skipped, would certainly
    parse as one row of `width` fields.

    A plain line has at least two columns and no zero byte, is not blank, and ends with LF or CR LF. Quotes occur only around
    whole fields that end in the same line and do not begin with a space. All values remain texts.

    Parameters
    ----------
    width, places : the number of columns, and the indices of those to read.
    longest : the smallest length in bytes at which `csv` might refuse a line.
    """

    def __init__(self, delimiter: str, width: int, places: Sequence[int], longest: int):
        self._delimiter, self._longest = delimiter, longest
        self._names = [str(index) for index in range(width)]
        self._places = [self._names[index] for index in places]

    def columns(self, data: bytes) -> list[Texts] | None:
        """Return the requested columns of whole lines in UTF-8, or None if any line is not plain."""
        if len(self._names) < 2 or self._delimiter not in _DELIMITERS or b"\0" in data or data.startswith(_MARK):
            return None
        if not _lines_are_short(data, self._longest) or (b"\r" in data and not _returns_are_plain(data)):
            return None
        if b'"' in data and not _quotes_are_plain(np.frombuffer(data, dtype=np.uint8), ord(self._delimiter)):
            return None
        table = self._table(data)
        if table is None or table.num_rows != data.count(b"\n") + (not data.endswith(b"\n")):  # blank lines are left out
            return None
        return [_texts(table.column(name).chunk(0)) for name in self._places]  # one block, one chunk

    def _table(self, data: bytes) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        try:
            return csv.read_csv(
                pa.py_buffer(data),
                read_options=csv.ReadOptions(column_names=self._names, block_size=len(data) + 1, use_threads=False),
                parse_options=csv.ParseOptions(delimiter=self._delimiter, quote_char='"' if b'"' in data else False),
                convert_options=csv.ConvertOptions(
                    include_columns=self._places, column_types=dict.fromkeys(self._places, pa.string()), check_utf8=False
                ),
            )
        except pa.ArrowException:  # for example a row of another length; `csv` will report it
            return None


def _texts(array: Any) -> Texts:
    encoded = array.dictionary_encode()
    return Texts(texts=StringTexts(encoded.dictionary, strip=" "), codes=whole_array(encoded.indices))


def _lines_are_short(data: bytes, longest: int) -> bool:
    """Return whether every block of `longest` / 2 bytes contains a line end, so that every line is shorter than `longest`
    bytes."""
    half = max(longest // 2, 1)
    return all(data.find(b"\n", start, start + half) >= 0 for start in range(0, len(data) - half + 1, half))


def _returns_are_plain(data: bytes) -> bool:
    """Return whether every CR is followed by an LF, and no line is empty."""
    return data[:1] != b"\r" and b"\n\r\n" not in data and data.count(b"\r") == data.count(b"\r\n")


def _quotes_are_plain(values: np.ndarray, delimiter: int) -> bool:
    """Return whether all quotes occur in pairs around whole fields, each within one line."""
    quotes = np.flatnonzero(values == _QUOTE)
    if len(quotes) % 2:
        return False
    first, last = quotes[::2], quotes[1::2]
    ends = np.flatnonzero(values == _NEWLINE)
    around = np.concatenate([[_NEWLINE], values, [_NEWLINE]])  # the byte before position i is at i, the byte after it at i + 2
    return bool(
        np.isin(around[first], (delimiter, _NEWLINE)).all()
        and np.isin(around[last + 2], (delimiter, _NEWLINE, _RETURN)).all()
        and (around[first + 2] != _SPACE).all()
        and (np.searchsorted(ends, first) == np.searchsorted(ends, last)).all()
    )


MAX_LINE = 10_000_000
"""Largest number of characters of a record, which may contain line ends between quotes."""
MAX_HEADER = 1_000_000
MAX_BLANK_LINES = 1_000_000
"""Largest number of consecutive blank lines. Otherwise a few compressed kilobytes could contain more blank lines than the
program can read in a day.
"""
BLOCK = 2**22
"""Bytes of a block. Plain lines of a block are read fast, and other lines one by one."""
_FIRST = 2**16  # Bytes of the first block, for the header, which is read line by line


def csv_batches(
    file: Path, needed: list[str], policy: InputTable, compressed: bool, most_rows: int, most_characters: int
) -> Iterator[Batch]:
    """Yield the batches of a CSV file, with at most `most_rows` rows and about `most_characters` characters each.

    Raises
    ------
    InputError : as in `reading.batches`.
    """
    row, problem = 0, None
    size = min(most_characters, BLOCK)
    try:
        with closing(Blocks(file, compressed, policy.encoding, MAX_LINE)) as blocks:
            lines = _Lines(blocks, policy.encoding, size)
            first = next(filter(str.strip, lines), "")
            lines.check_header()
            check_delimiter(first, needed, policy.delimiter)
            reader = csv_reader(chain([first], lines), policy.delimiter, strict=True)
            with longest_field():
                names = next(filter(None, reader), [])
            header = [name if name in needed else name.strip() for name in names]
            # in a file of one column an empty line is a row with an empty cell: how many rows there are must not depend on it
            records = (record or [""] for record in reader) if len(header) == 1 else filter(None, reader)
            lines.check_header()
            check_header(header, needed)
            indices = [header.index(name) for name in needed]
            row, lines.length = 1, 0
            lines.give_back()
            plain_lines = PlainReader(policy.delimiter, len(header), indices, min(MAX_LINE, LONGEST_TEXT))

            def plainly(block: bytes) -> list[Texts] | None:
                return plain_lines.columns(utf_8_of(block, policy.encoding))

            with Ahead(plainly, lambda: blocks.next(size) or None) as ahead:
                plain = True
                while done := ahead.next(plain):
                    first_row, (block, columns) = row, done
                    plain = columns is not None
                    if columns is not None:
                        lines.blank = 0
                        row += len(columns[0].codes)
                    else:
                        blocks.put_back(b"".join(ahead.forget()))
                        lines.put_back(block)
                        collected = list[list[str]]()
                        with longest_field():
                            for record in records:
                                if len(record) != len(header):
                                    raise ragged(len(header), len(record))
                                collected.append(record)
                                row, lines.length = row + 1, 0
                                if not lines.waiting:
                                    break
                        columns = [Texts.of([record[index] for record in collected]) for index in indices]
                    for start in range(0, row - first_row, most_rows):
                        part = slice(start, start + most_rows)
                        cut = [Texts(texts=texts.texts, codes=texts.codes[part]) for texts in columns]
                        yield first_row + start, dict(zip(needed, cut, strict=True))
    except UnicodeError:
        problem = other_bytes(policy.encoding)
    except (OSError, EOFError, zlib.error):
        problem = CUT
    except csv.Error as error:
        problem = wrong_quotes("field limit" in str(error), LONGEST_TEXT, row)
    except Unreadable as reason:
        problem = reason.in_row(row)
    if problem:  # raised here, so that the original error, which may quote a row, is not attached
        raise InputError(problem)


def csv_reader(lines: Iterable[str], delimiter: str, strict: bool) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != " ")


@contextmanager
def longest_field() -> Iterator[None]:
    """Limit the fields that the `csv` module reads, in the whole process, to the longest allowed text, until the context
    ends."""
    limit = csv.field_size_limit(LONGEST_TEXT)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


class _Lines:
    """Iterates over the lines of a file, with their line ends. A line that is too long is refused before it fills the memory.

    `waiting` contains the unread lines of the current block, `length` the number of characters of the current record so far,
    and `blank` the number of consecutive blank lines. The reader sets `length` to 0 after each record, and `blank` after plain
    lines.
    """

    def __init__(self, blocks: Blocks, encoding: str, size: int):
        self._blocks = blocks
        self._encoding = encoding
        self._size = min(size, _FIRST)
        self._block = b""
        self.waiting = deque[str]()
        self.blank = 0
        self.length = 0

    def __iter__(self) -> Iterator[str]:
        while True:
            if not self.waiting:
                self.put_back(self._blocks.next(self._size))
            if not self.waiting:
                return
            line = self.waiting.popleft()
            self.length += len(line)
            self.blank = self.blank + 1 if line.isspace() else 0
            if "\0" in line:
                raise zero_byte(self._encoding)
            if self.length >= MAX_LINE:
                raise endless(f"has {MAX_LINE:,} characters or more")
            if self.blank > MAX_BLANK_LINES:
                raise endless(f"comes after more than {MAX_BLANK_LINES:,} blank lines")
            yield line

    def put_back(self, block: bytes) -> None:
        self._block, self.waiting = block, deque(io.StringIO(text_of(block, self._encoding), newline=""))

    def give_back(self) -> None:
        """Put the unread lines back into the reader of blocks."""
        lines = self._block.splitlines(keepends=True)
        self._blocks.put_back(b"".join(lines[len(lines) - len(self.waiting) :]))
        self.waiting.clear()

    def check_header(self) -> None:
        if self.length > MAX_HEADER:
            raise endless_header(MAX_HEADER)


def check_delimiter(first: str, needed: list[str], delimiter: str) -> None:
    """Check that no other usual delimiter splits the first line into the needed columns if the specified one does not.

    Raises
    ------
    InputError : if another delimiter does so, or if the file is empty.
    """
    if not first:
        raise InputError(f"The file contains no text. {NEEDED}")
    for other in (delimiter, *DELIMITERS):
        if set(needed) <= {field.strip() for field in next(csv_reader([first], other, strict=False), [])}:
            if other == delimiter:
                return
            raise InputError(other_delimiter(delimiter, other))
