"""Reading Feather files (version 2, which is the Arrow IPC file) and Arrow streams in batches, their values as texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from synthrelease.enclave.arrow import batches_of_batches
from synthrelease.enclave.texts import Batch, check_header
from synthrelease.enclave.unpacked import check_feather
from synthrelease.sources.flat_tables import FILE, is_feather_file, opened_feather
from synthrelease.sources.tables import check_type


def feather_batches(path: Path, needed: Sequence[str], most_rows: int) -> Iterator[Batch]:
    """The batches of the file, each of at most so many rows and of one of its batches.

    A batch stands in memory as a whole, with the needed columns alone. Each is validated before a value is looked at, because
    the format itself says where in the file a value stands.

    Raises
    ------
    InputError : when the file lacks a column or has one of a type that holds no single values. Whatever the library raises for
        a damaged file (`reading.whole`).
    """
    schema = opened_feather(path).schema
    check_header(schema.names, needed)
    for name in needed:
        check_type(name, schema.field(name).type, "Arrow")
    check_feather(path, len(FILE) if is_feather_file(path) else 0, needed)
    yield from batches_of_batches(_batches(opened_feather(path, sorted(map(schema.names.index, needed)))), needed, most_rows)


def _batches(reader: Any) -> Iterator[Any]:
    numbered = hasattr(reader, "get_batch")
    for batch in (reader.get_batch(number) for number in range(reader.num_record_batches)) if numbered else reader:
        batch.validate(full=True)
        yield batch
