"""Reading CSV files, also gzip, in batches.

Python's own `csv`, in strict mode, decides what a file says: pandas pads rows that are too short, cuts rows that are too long
and cuts texts at a zero byte, all without a word. Lines that can be read in one way only are read faster (`plain_csv`).
"""

from __future__ import annotations

import csv
import io
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain

from synthrelease.enclave.ahead import Ahead
from synthrelease.enclave.csv_blocks import Blocks, text_of, utf_8_of
from synthrelease.enclave.plain_csv import PlainReader
from synthrelease.enclave.texts import Batch, Texts, check_header
from synthrelease.errors import InputError
from synthrelease.settings import columns as unreadable
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import File
from synthrelease.sources.tables import LONGEST_TEXT

MAX_LINE = 10_000_000
"""Characters of a record, which may have line ends between quotes."""
MAX_HEADER = 1_000_000
MAX_BLANK_LINES = 1_000_000
"""Blank lines on end: they are no rows, but a few compressed kilobytes hold more than can be read in a day."""
BLOCK = 2**22
"""Bytes that are looked at together, so that plain lines are read fast and other lines one by one."""
_FIRST = 2**16
"""Bytes that are looked at together where lines are surely needed one by one: for the header."""


def csv_batches(
    file: File, needed: list[str], policy: InputTable, compressed: bool, most_rows: int, most_characters: int
) -> Iterator[Batch]:
    """The batches of the file, each of at most so many rows and about so many characters. Raises InputError as `batches`."""
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
            places = [header.index(name) for name in needed]
            row, lines.length = 1, 0
            lines.give_back()
            plain_lines = PlainReader(policy.delimiter, len(header), places, min(MAX_LINE, LONGEST_TEXT))

            def plainly(block: bytes) -> list[Texts] | None:
                return plain_lines.columns(utf_8_of(block, policy.encoding))

            with Ahead(plainly, lambda: blocks.next(size) or None) as ahead:
                plain = True
                while found := ahead.next(plain):
                    first_row, (block, columns) = row, found
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
                                    raise unreadable.ragged(len(header), len(record))
                                collected.append(record)
                                row, lines.length = row + 1, 0
                                if not lines.waiting:
                                    break
                        columns = [Texts.of([record[place] for record in collected]) for place in places]
                    for start in range(0, row - first_row, most_rows):
                        part = slice(start, start + most_rows)
                        cut = [Texts(texts=each.texts, codes=each.codes[part]) for each in columns]
                        yield first_row + start, dict(zip(needed, cut, strict=True))
    except UnicodeError:
        problem = unreadable.other_bytes(policy.encoding)
    except (OSError, EOFError, zlib.error):
        problem = unreadable.CUT
    except csv.Error as error:
        problem = unreadable.wrong_quotes("field limit" in str(error), LONGEST_TEXT, row)
    except unreadable.Unreadable as reason:
        problem = reason.in_row(row)
    if problem:  # raised here, so that the original error, which may quote a row, is not attached
        raise InputError(problem)


def csv_reader(lines: Iterable[str], delimiter: str, strict: bool) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != " ")


@contextmanager
def longest_field() -> Iterator[None]:
    """`csv` refuses a longer field by a number of the whole process, which other libraries set as well."""
    before = csv.field_size_limit(LONGEST_TEXT)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class _Lines:
    """The lines of a text with their ends. Refuses what no table holds, before it fills the memory or takes for ever.

    `waiting` are the lines of the blocks that were begun, as far as they have not come. `length` counts the characters of the
    record that is being read, and `blank` the blank lines on end: the reader sets them to 0 after each record, and after lines
    that it did not take from here.
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
                raise unreadable.zero_byte(self._encoding)
            if self.length >= MAX_LINE:
                raise unreadable.endless(f"rows of less than {MAX_LINE} characters")
            if self.blank > MAX_BLANK_LINES:
                raise unreadable.endless("rows", f"more than {MAX_BLANK_LINES} blank lines")
            yield line

    def put_back(self, block: bytes) -> None:
        """Have the lines of a block come one by one."""
        self._block, self.waiting = block, deque(io.StringIO(text_of(block, self._encoding), newline=""))

    def give_back(self) -> None:
        """Hand the lines that have not come to whoever reads blocks."""
        lines = self._block.splitlines(keepends=True)
        self._blocks.put_back(b"".join(lines[len(lines) - len(self.waiting) :]))
        self.waiting.clear()

    def check_header(self) -> None:
        if self.length > MAX_HEADER:
            raise unreadable.endless_header(MAX_HEADER)


def check_delimiter(first: str, needed: list[str], delimiter: str) -> None:
    """The first line holds the needed columns with the delimiter of the specification, or with none of the usual ones."""
    if not first:
        raise InputError(f"{unreadable.EXPECTED}, found nothing in it.")
    for other in (delimiter, *unreadable.DELIMITERS):
        if set(needed) <= {field.strip() for field in next(csv_reader([first], other, strict=False), [])}:
            if other == delimiter:
                return
            raise InputError(unreadable.other_delimiter(delimiter, other))
