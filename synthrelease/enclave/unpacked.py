"""How much memory a part of an Arrow file will take, told from what the file says of it, before it is unpacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from synthrelease.sources.flat_tables import FlatTable, buffers_of, check_unpacked

_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
_MESSAGE_TYPE, _MESSAGE = 1, 2
_ROWS, _BUFFERS, _PACKED = 0, 2, 3
_OF_DICTIONARY = 1
"""Places of fields in the tables of Arrow's format (Message.fbs)."""


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
