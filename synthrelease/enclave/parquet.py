"""Reading a Parquet file in batches, their values as texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from synthrelease.connections.column_types import check_type, is_text
from synthrelease.connections.files import File
from synthrelease.connections.flat_tables import check_parquet
from synthrelease.enclave.ahead import Ahead
from synthrelease.enclave.arrow import column_texts
from synthrelease.enclave.texts import Batch, Texts, check_header
from synthrelease.errors import InputError

_DAMAGED = "expected a whole Parquet file, found one that is cut off, damaged or unreadable."


def parquet_batches(file: File, needed: Sequence[str], most_rows: int, most_bytes: int) -> Iterator[Batch]:
    """The batches of a file, each of at most so many rows, and bytes as far as the file tells how many it holds.

    Raises
    ------
    InputError : when the file cannot be read, lacks a column or has one of a type that holds no single values.
    """
    import pyarrow.parquet as pq

    def texts_of(batch: Any) -> dict[str, Texts]:
        return {name: column_texts(name, batch.column(name)) for name in needed}

    row, problem = 1, None
    try:
        with file.open("rb") as source, pq.ParquetFile(source) as opened:
            schema = opened.schema_arrow
            check_header(schema.names, needed)
            for name in needed:
                check_type(name, schema.field(name).type, "Parquet")
        # as dictionaries, in which a long text that many rows share stands once
        texts = [name for name in needed if is_text(schema.field(name).type)]
        with file.open("rb") as source, pq.ParquetFile(source, read_dictionary=texts) as opened:
            check_parquet(opened.metadata, needed)
            size = _rows_per_batch(opened.metadata, most_rows, most_bytes)
            batches = opened.iter_batches(batch_size=size, columns=list(needed), use_threads=False)
            with Ahead(texts_of, lambda: next(batches, None)) as ahead:
                for batch, columns in ahead:
                    yield row, columns
                    row += batch.num_rows
    except InputError:
        raise
    except MemoryError:
        problem = "expected rows that fit into the memory of this machine, found longer ones."
    except Exception:  # a damaged file makes the library fail in many ways
        problem = _DAMAGED
    if problem:
        raise InputError(problem)


def _rows_per_batch(metadata: Any, most_rows: int, most_bytes: int) -> int:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=0.0)
    return int(max(1, min(most_rows, most_bytes / max(1.0, size))))
