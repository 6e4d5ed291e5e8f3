"""data.parquet of a bundle: what its footer says is compared with release.json before a row is read."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthrelease.bundle.tables import files_of_rows, parquet_pieces
from synthrelease.published.table import ReleasedTable, TableError, TableShape
from tests.helpers.published import read_parquet
from tests.helpers.small import World

NAMES, LABELS, ORDERED = ["a", "b"], [["0", "1"], ["x"]], [True, False]
SHAPE = TableShape(names=("a", "b"), labels=(("0", "1"), ("x",)), ordered=(True, False))


@pytest.fixture
def allocated() -> Iterator[pa.MemoryPool]:
    """What Arrow takes while a test runs."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    yield pool
    pa.set_memory_pool(before)


def columns(n_rows: int, labels: list[list[str]] = LABELS) -> pa.Table:
    kinds = [pa.dictionary(pa.int32(), pa.string(), ordered=order) for order in ORDERED]
    arrays = [
        pa.DictionaryArray.from_arrays(_zeros(n_rows), pa.array(texts), ordered=order)
        for texts, order in zip(labels, ORDERED, strict=True)
    ]
    return pa.table(dict(zip(NAMES, arrays, strict=True)), schema=pa.schema(list(zip(NAMES, kinds, strict=True))))


def _zeros(n_rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), n_rows, [None, pa.py_buffer(bytes(4 * n_rows))])


def repeated(n_rows: int, times: int) -> bytes:
    """Equal rows, which take nearly no bytes."""
    sink, table = io.BytesIO(), columns(n_rows)
    with pq.ParquetWriter(sink, table.schema, compression="zstd") as writer:
        for _ in range(times):
            writer.write_table(table, row_group_size=n_rows)
    return sink.getvalue()


@pytest.mark.slow
def test_forty_million_equal_rows_in_a_small_file(allocated):
    """Read whole they took 4.3 GB. What has no number to compare with is read."""
    content = repeated(2_000_000, 20)
    assert len(content) < 700_000
    assert pq.ParquetFile(io.BytesIO(content)).metadata.num_rows == 40_000_000
    before = allocated.max_memory()
    with pytest.raises(TableError, match="the table has 40,000,000 rows, but release.json states 400"):
        read_parquet(content, SHAPE, n_rows=400)
    assert allocated.max_memory() - before < 2**22


@pytest.mark.slow
def test_a_label_that_is_a_book_is_not_read(allocated):
    sink = io.BytesIO()
    pq.write_table(columns(400, [["0", "1" * 50_000_000], ["x"]]), sink, compression="zstd")
    assert len(sink.getvalue()) < 20_000
    before = allocated.max_memory()
    with pytest.raises(TableError, match="does not have one value for each row and column"):
        read_parquet(sink.getvalue(), SHAPE, n_rows=400)
    assert allocated.max_memory() - before < 2**22


def test_texts_in_place_of_dictionaries_are_refused_before_they_are_read(allocated):
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": ["0" * 1000] * 20_000, "b": ["x"] * 20_000}), sink, compression="zstd")
    before = allocated.max_memory()
    with pytest.raises(TableError, match="has the type string. It must have the type dictionary"):
        read_parquet(sink.getvalue(), SHAPE, n_rows=20_000)
    assert allocated.max_memory() - before < 2**22


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [1, 3, 70_000, 2_000_000])
def test_what_the_program_writes_is_read_whatever_its_size(n_rows):
    """The bytes that a table may take are an upper bound."""
    world = World({"a": 300, "b": 7})
    table = ReleasedTable.of(world.candidate([row * 7919 % 2100 for row in range(n_rows)]))
    read = read_parquet(b"".join(parquet_pieces(*files_of_rows(table))), table.shape, n_rows=n_rows)
    assert read.counts.same_as(table.counts)
