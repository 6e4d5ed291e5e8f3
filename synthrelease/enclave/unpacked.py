"""How much memory a part of an Arrow or Parquet file will take, told from what the file says of it, before it is unpacked.

A text of 1.5 GB takes 46 KB of a packed file. A part in which a column takes more than `MOST_BYTES`, and more than
`BYTES_PER_ROW` a row, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from synthrelease.connections.flat_tables import FlatTable, buffers_of
from synthrelease.enclave.texts import LONGEST_TEXT
from synthrelease.errors import InputError

MOST_BYTES = 2**27
BYTES_PER_ROW = 256
_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
_MESSAGE_TYPE, _MESSAGE = 1, 2
_ROWS, _BUFFERS, _PACKED = 0, 2, 3
_OF_DICTIONARY = 1
"""Places of fields in the tables of Arrow's format (Message.fbs)."""


def check_unpacked(name: str | None, n_bytes: int, n_rows: int) -> None:
    """Raises InputError for a column that takes too much memory in a part of so many rows."""
    if n_bytes > max(MOST_BYTES, BYTES_PER_ROW * n_rows):
        raise InputError(
            f"{_named(name)}: expected texts of at most {LONGEST_TEXT} characters, most of them short, found a part of the "
            f"file in which it takes more than {MOST_BYTES // 2**20} MB of memory, and more than {BYTES_PER_ROW} bytes a row."
        )


def _named(name: str | None) -> str:
    return "a column" if name is None else f"column {name!r}"


def check_parquet(metadata: Any, needed: Sequence[str]) -> None:
    """By the facts about a Parquet file."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            part = group.column(place)
            if part.path_in_schema in needed:
                check_unpacked(part.path_in_schema, part.total_uncompressed_size, group.num_rows)


def check_feather(path: Path, start: int, needed: Sequence[str]) -> None:
    """By the messages of an Arrow file, which begin at `start`. Raises what a damaged file makes the library raise."""
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(str(path)) as file:
        schema = ipc.open_stream(_rest(file, start)).schema
        columns = buffers_of(schema)
        reader = ipc.MessageReader.open_stream(_rest(file, start))
        for message in iter(reader):
            table = FlatTable.first(message.metadata)
            kind, inside = table.byte(_MESSAGE_TYPE), table.table(_MESSAGE)
            if kind == _DICTIONARY_BATCH:
                batch = inside.table(_OF_DICTIONARY)
                check_unpacked(None, sum(_sizes(batch, message.body)), batch.number(_ROWS))
            elif kind == _RECORD_BATCH:
                sizes = list(_sizes(inside, message.body))
                if columns[-1][2] != len(sizes):  # of a type whose buffers are not known here: all together
                    check_unpacked(None, sum(sizes), inside.number(_ROWS))
                    continue
                for name, first, last in columns:
                    if name in needed:
                        check_unpacked(name, sum(sizes[first:last]), inside.number(_ROWS))


def _rest(file: Any, start: int) -> Any:
    file.seek(start)
    return file


def _sizes(batch: FlatTable, body: Any) -> Iterator[int]:
    """Bytes of each buffer of a batch when it is unpacked, which stand before a packed one."""
    packed = batch.has(_PACKED)
    for offset, length in batch.pairs(_BUFFERS):
        whole = int.from_bytes(body[offset : offset + 8].to_pybytes(), "little", signed=True) if packed and length else -1
        yield length if whole < 0 else whole
