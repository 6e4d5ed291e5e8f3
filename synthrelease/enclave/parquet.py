"""Reading a Parquet file in batches, their values as texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from synthrelease.enclave.ahead import Ahead
from synthrelease.enclave.arrow import column_texts
from synthrelease.enclave.texts import Batch, Texts, check_header
from synthrelease.sources.flat_tables import check_parquet, rows_within
from synthrelease.sources.source import File
from synthrelease.sources.tables import check_type, is_text


def parquet_batches(file: File, needed: Sequence[str], most_rows: int, most_bytes: int) -> Iterator[Batch]:
    """The batches of a file, each of at most so many rows, and bytes as far as the file tells how many it holds.

    Raises
    ------
    InputError : when the file lacks a column or has one of a type that holds no single values. Whatever the library raises for
        a damaged file (`reading.whole`).
    """
    import pyarrow.parquet as pq

    def texts_of(batch: Any) -> dict[str, Texts]:
        return {name: column_texts(name, batch.column(name)) for name in needed}

    with file.open("rb") as source, pq.ParquetFile(source) as opened:
        schema = opened.schema_arrow
        check_header(schema.names, needed)
        for name in needed:
            check_type(name, schema.field(name).type, "Parquet")
    # as dictionaries, in which a long text that many rows share stands once
    texts = [name for name in needed if is_text(schema.field(name).type)]
    with file.open("rb") as source, pq.ParquetFile(source, read_dictionary=texts) as opened:
        check_parquet(opened.metadata, needed)
        size = rows_within(opened.metadata, most_rows, most_bytes)
        batches = opened.iter_batches(batch_size=size, columns=list(needed), use_threads=False)
        with Ahead(texts_of, lambda: next(batches, None)) as ahead:
            row = 1
            for batch, columns in ahead:
                yield row, columns
                row += batch.num_rows
