"""Read fixed-width files, without header and delimiters: each column has fixed positions in the line.

Privacy
-------
Every line is read independently of the others: its values are the characters at public positions, empty at the end of a short
line. An empty line is also a row, so the number of rows does not depend on the content of a row. In a hierarchical file, the
lines of one record type form the table.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from synthrelease.enclave.csv import BLOCK, MAX_LINE, Blocks, text_of
from synthrelease.enclave.texts import Batch, Texts, check_header
from synthrelease.errors import InputError, listing
from synthrelease.settings.columns import CUT, InputTable, Position, Unreadable, endless, other_bytes

_RECORD = ""  # Key of the record type among the names of columns. No name of a column is empty.
# Number of characters of lines that are cut into cells at once. Such lines take 16 MB if some characters are not ASCII.
_CHARACTERS = 2**22
_DIGITS = re.compile(r"([+-]?)(\d+)", re.ASCII)
_BLANKS = b" \t\r\0\x1a"  # Characters of a blank line, including the end-of-file character of DOS


def fixed_width_batches(
    file: Path, needed: Sequence[str], policy: InputTable, table: str | None, most_rows: int
) -> Iterator[Batch]:
    """Yield the batches of a fixed-width file, with at most `most_rows` rows each.

    Raises
    ------
    InputError : as in `reading.batches`, and for a record type that [input.fixed_width] does not list.
    """
    layout = policy.fixed_width
    if layout is None:
        raise ValueError("[input] has no positions")
    record, positions = layout.table_of(needed, table)
    check_header(list(positions), needed)
    fields: dict[str, Position] = {name: positions[name] for name in needed}
    fields |= {_RECORD: layout.record_type} if layout.record_type else {}
    # A table of cells is as wide as the last position, even if all lines are short, because the content of rows must not decide
    # the memory.
    at_once = max(1, min(most_rows, _CHARACTERS // max(position[1] for position in fields.values())))
    row, problem = 1, None
    try:
        # "latin-1": as bytes, without reading the first bytes
        with closing(Blocks(file, is_packed(file), "latin-1", MAX_LINE, old_macs=False)) as blocks:
            while lines := blocks.next(BLOCK).split(b"\n"):
                if not lines[-1]:
                    lines.pop()
                if not lines:
                    break
                if max(map(len, lines)) >= MAX_LINE:
                    raise endless(f"has {MAX_LINE:,} characters or more")
                if layout.record_type is not None:
                    lines = [line for line in lines if line.strip(_BLANKS)]
                for first in range(0, len(lines), at_once):
                    columns = _columns(lines[first : first + at_once], fields, policy)
                    if types := columns.pop(_RECORD, None):
                        columns = _of_type(record, types, columns, list(layout.records))
                    yield row, columns
                    row += len(columns[needed[0]].codes)
    except UnicodeError:
        problem = other_bytes(policy.encoding)
    except (OSError, EOFError, zlib.error):
        problem = CUT
    except Unreadable as reason:
        problem = reason.in_row(row)
    if problem:  # raised here, so that the original error, which may quote a row, is not attached
        raise InputError(problem)


def is_packed(file: Path) -> bool:
    """Return whether the file has the name of a gzip file. Its first bytes belong to a row and are not read."""
    return file.name.endswith(".gz")


def _columns(lines: list[bytes], positions: dict[str, Position], policy: InputTable) -> dict[str, Texts]:
    """Return the values by column. `positions` are [first, last] or [first, last, decimals], counted from 1."""
    import pyarrow as pa

    letters = policy.encoding in ("utf-8", "mixed") and not all(line.isascii() for line in lines)
    rows = [text_of(line, policy.encoding).removeprefix("\ufeff") for line in lines] if letters else lines
    size, width = 4 if letters else 1, max(position[1] for position in positions.values())
    held = np.array(rows, dtype=f"{'U' if letters else 'S'}{width}").view(np.uint8).reshape(len(lines), width * size)
    columns = {}
    for name, (first, last, *decimals) in positions.items():
        cells = np.ascontiguousarray(held[:, (first - 1) * size : last * size])
        array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(cells.shape[1]), len(lines), [None, pa.py_buffer(cells)])
        encoded = array.dictionary_encode()
        different = encoded.dictionary.to_pylist()
        decoded = [cell.decode("utf-32-le") if letters else text_of(cell, policy.encoding) for cell in different]
        texts = [text.replace("\0", " ").strip() for text in decoded]
        if decimals and decimals[0]:
            texts = [with_point(text, decimals[0], policy.decimal) for text in texts]
        columns[name] = Texts(texts=texts, codes=encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
    return columns


def with_point(text: str, decimals: int, point: str) -> str:
    """Insert the implied decimal point into a number without a point: 12.34 for 001234 with two decimals."""
    if not (match := _DIGITS.fullmatch(text)):
        return text
    digits = match[2].lstrip("0").zfill(decimals + 1)
    return f"{match[1]}{digits[:-decimals]}{point}{digits[-decimals:]}"


def _of_type(record: str, types: Texts, columns: dict[str, Texts], known: list[str]) -> dict[str, Texts]:
    """Return the columns of the lines of the record type `record`. Raises InputError for a type outside `known`, without
    showing it."""
    if not {*types.texts} <= {*known}:
        raise InputError(
            f"A line has a record type that [input.fixed_width] does not list. It lists only {listing(known)}. Add the missing "
            "types, or correct the position of the record type."
        )
    rows = np.array([text == record for text in types.texts])[types.codes]
    return {name: Texts(texts=texts.texts, codes=texts.codes[rows]) for name, texts in columns.items()}
