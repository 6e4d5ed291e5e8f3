"""Reading Feather files (version 2, which is the Arrow IPC file) and Arrow streams in batches, their values as texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from synthrelease.connections.column_types import check_type
from synthrelease.enclave.arrow import column_texts
from synthrelease.enclave.texts import Batch, check_header
from synthrelease.enclave.unpacked import check_feather
from synthrelease.errors import InputError

FILE, STREAM = b"ARROW1\0\0", b"\xff\xff\xff\xff"
_DAMAGED = "expected a whole Feather file, found one that is cut off, damaged or unreadable."


def feather_batches(path: Path, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    """The batches of the file, each of at most so many rows and of one of its batches.

    A batch stands in memory as a whole, with the needed columns alone. Each is validated before a value is looked at, because
    the format itself says where in the file a value stands.

    Raises
    ------
    InputError : when the file cannot be read, lacks a column or has one of a type that holds no single values.
    """
    row, problem = 1, None
    try:
        schema = opened_feather(path).schema
        check_header(schema.names, needed)
        for name in needed:
            check_type(name, schema.field(name).type, "Arrow")
        check_feather(path, len(FILE) if _is_file(path) else 0, needed)
        for batch in _batches(opened_feather(path, sorted(map(schema.names.index, needed)))):
            batch.validate(full=True)
            for start in range(0, batch.num_rows, most_rows):
                part = batch.slice(start, most_rows)
                yield row, {name: column_texts(name, part.column(name)) for name in needed}
                row += part.num_rows
    except InputError:
        raise
    except MemoryError:
        problem = "expected batches of rows that fit into the memory of this machine, found longer ones."
    except Exception:  # a damaged file makes the library fail in many ways
        problem = _DAMAGED
    if problem:
        raise InputError(problem)


def opened_feather(path: Path, fields: list[int] | None = None) -> Any:
    import pyarrow as pa
    from pyarrow import ipc

    options = ipc.IpcReadOptions(included_fields=fields)
    return (ipc.open_file if _is_file(path) else ipc.open_stream)(pa.OSFile(str(path)), options=options)


def _is_file(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(STREAM)) != STREAM


def _batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "get_batch"):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)
