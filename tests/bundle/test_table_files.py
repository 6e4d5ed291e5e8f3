"""data.csv and data.parquet in pieces are what they are as a whole, whatever stands in them."""

from __future__ import annotations

import csv
import io
import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.bundle import tables as table_files
from synthrelease.bundle.tables import csv_pieces, files_of_rows, parquet_pieces
from synthrelease.data.counts import Counts
from synthrelease.published import table as lines
from synthrelease.published.table import METADATA, ReleasedTable, read_csv
from synthrelease.published.verify.alone import _same
from tests.helpers.published import read_parquet
from tests.helpers.small import layout_of

TEXTS = ("", "no", "ja, nein", 'so "called"', " lead", "é", "日本語", "10 or more", "NA", "null", '"', "#", "0" * 40)
BROKEN = ("5\n9", "x\ry", "\ufeffx")
"""Labels with line ends, and one that begins as a file may."""


@st.composite
def tables(draw: st.DrawFn, texts: tuple[str, ...] = TEXTS) -> ReleasedTable:
    """Some rows of up to four columns, some of them again and again, perhaps weighted and marked."""
    labels = draw(st.lists(st.lists(st.sampled_from(texts), min_size=1, max_size=5, unique=True), min_size=1, max_size=4))
    rows, seed = draw(st.integers(1, 12)), draw(st.integers(0, 10**6))
    generator, layout = np.random.default_rng(seed), layout_of(*map(len, labels))
    counts = Counts.of(layout, [generator.integers(0, size, rows) for size in layout.sizes], generator.integers(1, 5, rows))
    weights = generator.choice([0.5, 1.0, 1 / 3, 1e-7, 123456.789], len(counts)) if draw(st.booleans()) else None
    ordered = tuple(generator.integers(0, 2, len(labels)).astype(bool).tolist())
    return ReleasedTable(
        labels=tuple(map(tuple, labels)), ordered=ordered, counts=counts, weights=weights, marked=draw(st.booleans())
    )


def csv_by_the_library(table: ReleasedTable) -> bytes:
    """Row by row: the reference."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.shape.header)
    weights = [None] * table.counts.total if table.weights is None else np.repeat(table.weights, table.counts.counts).tolist()
    for bins, weight in zip(table.counts.expand().tolist(), weights, strict=True):
        row = [labels[place] for labels, place in zip(table.labels, bins, strict=True)]
        writer.writerow([*row, *([] if weight is None else [repr(weight)]), *(["1"] if table.marked else [])])
    return text.getvalue().encode()


@settings(max_examples=120, deadline=None)
@given(tables((*TEXTS, *BROKEN)), st.sampled_from([1, 3, 50_000]), st.sampled_from([1, 2, 2**20]))
def test_the_text_is_that_of_the_library_in_batches_of_any_size(table: ReleasedTable, rows: int, group: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_files, "_ROWS", rows)
        patch.setattr(table_files, "_VALUES_AT_ONCE", 3 * rows)
        patch.setattr(table_files, "_ROWS_OF_A_GROUP", group)
        assert b"".join(csv_pieces(*files_of_rows(table))) == csv_by_the_library(table)


@settings(max_examples=60, deadline=None)
@given(tables((*TEXTS, *BROKEN)), st.booleans())
def test_parquet_is_what_the_library_writes_of_the_whole(table: ReleasedTable, says_synthetic: bool) -> None:
    columns = {
        name: pa.DictionaryArray.from_arrays(
            pa.array(table.counts.rows(place).astype(np.int32)), pa.array(labels), ordered=order
        )
        for place, (name, labels, order) in enumerate(zip(table.names, table.labels, table.ordered, strict=True))
    }
    if table.weights is not None:
        columns["weight"] = pa.array(np.repeat(table.weights, table.counts.counts))
    if table.marked:
        columns["synthetic"] = pa.array(np.ones(table.counts.total, dtype=np.int8))
    sink, whole = io.BytesIO(), pa.table(columns, metadata=METADATA if says_synthetic else None)
    pq.write_table(whole, sink, write_statistics=whole.column_names[:1])
    assert b"".join(parquet_pieces(*files_of_rows(table), says_synthetic)) == sink.getvalue()


@settings(max_examples=60, deadline=None)
@given(tables((*TEXTS, "5\n9")), st.sampled_from([1, 3, 2**20]), st.sampled_from([1, 4, 50_000]))
def test_both_are_read_back_in_batches_of_any_size(table: ReleasedTable, group: int, rows: int) -> None:
    """Parquet also where its rows are several groups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "ROWS_PER_BATCH", rows)
        patch.setattr(lines, "_BLOCK", max(rows, 400))  # no line is longer
        patch.setattr(table_files, "_ROWS_OF_A_GROUP", group)
        text, parquet = (b"".join(pieces(*files_of_rows(table))) for pieces in (csv_pieces, parquet_pieces))
        assert pq.ParquetFile(io.BytesIO(parquet)).num_row_groups == -(-table.counts.total // group)
        for found in (read_csv(text, table.shape), read_parquet(parquet, table.shape, n_rows=table.counts.total)):
            assert found.counts.same_as(table.counts)
            assert table.weights is None or np.array_equal(found.weights, table.weights)


def test_other_rows_another_order_and_other_weights_are_not_the_same_table() -> None:
    counts = Counts.of(layout_of(2, 3), [np.array([0, 0, 1]), np.array([0, 2, 1])], np.array([2, 1, 3]))
    table = ReleasedTable(labels=(("a", "b"), ("x", "y", "z")), ordered=(False, True), counts=counts, weights=np.ones(3))

    def same(other: ReleasedTable) -> bool:
        content = b"".join(parquet_pieces(*files_of_rows(other)))
        return _same(table, read_parquet(content, table.shape))

    assert same(table)
    assert not same(replace(table, weights=np.array([1.0, 2.0, 1.0])))
    for more in ([2, 1, 4], [2, 1, 2], [1, 2, 3]):
        assert not same(replace(table, counts=counts.with_counts(np.array(more))))
    assert not same(replace(table, labels=(("b", "a"), ("x", "y", "z"))))


def test_the_threads_that_make_a_csv_file_end_with_it_also_where_only_its_beginning_is_read() -> None:
    table = ReleasedTable(labels=(("a", "b"),), ordered=(False,), counts=Counts.of(layout_of(2), [np.arange(40) % 2]))
    before = threading.active_count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_files, "_VALUES_AT_ONCE", 4)
        pieces = csv_pieces(*files_of_rows(table))
        assert [next(pieces) for _ in range(3)][1:] == [b"a\n" * 4] * 2
        assert threading.active_count() > before
        pieces.close()
    assert threading.active_count() == before
