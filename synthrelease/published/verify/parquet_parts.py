"""Check that the parts of a Parquet file leave no gaps in which bytes could be hidden.

Readers follow the offsets in the footer, so they do not see extra bytes before the footer, between columns, or after the
last page of a column. The layout follows https://parquet.apache.org/docs/file-format/: "PAR1", the pages of each column,
the footer, its length, "PAR1".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from synthrelease.published.base import Content, opened

MAGIC = b"PAR1"
_HEADER = 2**16  # Largest number of bytes of a page's header. It may contain the smallest and the largest label.
_DICTIONARY, _DATA, _DATA_2 = 2, 0, 3  # Numbers of the page types
_VARINT = 10  # Largest number of bytes of an integer of variable length


class OtherBytes(Exception):
    """Raised if the bytes at the position of a page are not a page."""


def room_problems(content: Content) -> Iterator[str]:
    """Yield a sentence if a Parquet file, whose rows must be readable, hides bytes between columns, pages and footer.

    Some bytes are not checked: values in statistics, bytes after the values of a page, and bytes between fields of the
    footer.
    """
    import pyarrow.parquet as pq

    with opened(content) as file:
        footer = pq.ParquetFile(file, pre_buffer=False).metadata
        size = file.seek(0, 2)
        file.seek(size - 8)
        length, end = int.from_bytes(file.read(4), "little"), file.read(4)
        file.seek(0)
        position, last = len(MAGIC), size - 8 - length
        if file.read(len(MAGIC)) != MAGIC or end != MAGIC or footer.serialized_size != length:
            yield "there is more than one footer between the columns and the end"
            return
        if not re.fullmatch(r"parquet-cpp-arrow version [0-9.]{1,20}(-SNAPSHOT)?", footer.created_by or ""):
            yield "the footer does not name the library pyarrow as the writer of the file"
        for group in range(footer.num_row_groups):
            for column in range(footer.num_columns):
                chunk = footer.row_group(group).column(column)
                begins = min(offset for offset in (chunk.dictionary_page_offset, chunk.data_page_offset) if offset is not None)
                try:
                    values, ends = _pages(file, position, position + chunk.total_compressed_size)
                except OtherBytes:
                    values, ends = -1, -1
                if begins != position or ends != position + chunk.total_compressed_size or values != chunk.num_values:
                    yield "there are other bytes between or behind the columns and pages"
                    return
                position = ends
        if position != last:
            yield f"there are {last - position} bytes between the last column and the footer"


def _pages(file: BinaryIO, position: int, end: int) -> tuple[int, int]:
    """Read all page headers of a column. Return the number of values, and the position at which the last page ends."""
    values, first = 0, True
    while position < end:
        file.seek(position)
        header, length = read_struct(file.read(min(_HEADER, end - position)))
        kind = header.get(1)
        if kind == _DICTIONARY and first:
            pass
        elif kind in (_DATA, _DATA_2):
            values += header[5 if kind == _DATA else 8][1]
        else:
            raise OtherBytes
        if header[3] < 0:
            raise OtherBytes
        position, first = position + length + header[3], False
    return values, position


def read_struct(content: bytes) -> tuple[dict[int, Any], int]:
    """Return the fields of a structure in Thrift's compact protocol by their numbers, and its length in bytes.

    Raises
    ------
    OtherBytes : when the bytes are not such a structure. Lists, sets and maps, which page headers do not have, are not
        supported.
    """
    try:
        return _struct(content, 0)
    except IndexError:
        raise OtherBytes from None


def _struct(content: bytes, position: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    if depth > 4:
        raise OtherBytes
    fields, number = dict[int, Any](), 0
    while (head := content[position]) != 0:
        position += 1
        if head >> 4:
            number += head >> 4
        else:
            number, position = _signed(content, position)
        fields[number], position = _value(content, position, head & 15, depth)
    return fields, position + 1


def _value(content: bytes, position: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, position
    if kind == 3:
        return content[position], position + 1
    if kind in (4, 5, 6):
        return _signed(content, position)
    if kind == 8:
        length, position = _unsigned(content, position)
        if position + length > len(content):
            raise OtherBytes
        return content[position : position + length], position + length
    if kind == 12:
        return _struct(content, position, depth + 1)
    raise OtherBytes


def _signed(content: bytes, position: int) -> tuple[int, int]:
    number, position = _unsigned(content, position)
    return (number >> 1) ^ -(number & 1), position


def _unsigned(content: bytes, position: int) -> tuple[int, int]:
    number = 0
    for shift in range(_VARINT):
        byte = content[position + shift]
        number |= (byte & 127) << (7 * shift)
        if byte < 128:
            return number, position + shift + 1
    raise OtherBytes
