"""Write the released rows as bin labels into data.csv and data.parquet, block by block. They are sorted, so that their
order reveals nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from synthrelease.data.ahead import Ahead
from synthrelease.data.counts import rows_at, word_of
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation
from synthrelease.data.weights import WEIGHT
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import (
    MARK,
    METADATA,
    ReleasedTable,
    RowsBatch,
    TableShape,
    shape_of_members,
    shape_of_roots,
    slots_of,
    written,
)
from synthrelease.settings.tables import SYNTHETIC, BundleTable


@dataclass(frozen=True, kw_only=True)
class AcceptedRows:
    """The accepted rows, with everything that is needed to write them to files.

    Attributes
    ----------
    transformation : the map from the finest bins of each column to the released bins.
    columns : the columns with their released bins.
    rules : the plausibility rules for released rows, on these bins.
    smallest : the smallest number of times that a released row can occur.
    bundle : the names of the files, and whether the files are marked as synthetic.
    """

    table: ReleasedTable
    transformation: Transformation
    columns: Sequence[ColumnPart]
    rules: Plausibility
    smallest: int
    bundle: BundleTable


# The rows of a table, or of roots (such as households) and their members with new keys, one batch at a time.
#
# The key of a root is its position in the sorted wide rows, which reveals nothing more. Members follow in order: the first
# member of a root, the second member, and so on.

_ROWS = 2**16  # Number of rows of a CSV file, or of roots of any file, in one batch
_TEXTS_TOGETHER = 2**10  # Largest number of combinations of the labels of neighbouring columns that become texts together
_VALUES_AT_ONCE = 2**20  # Approximate number of values of a CSV file that each of several threads converts to texts at a time
# Largest number of rows, and approximate largest number of values, in a row group of data.parquet.
_ROWS_OF_A_GROUP, _VALUES_OF_A_GROUP = 2**20, 2**24


@dataclass(frozen=True, eq=False)
class RowsOfFile:
    """The content of one file with rows: a description of its columns, and lazy batches of rows."""

    shape: TableShape
    batches: Iterator[RowsBatch]


def files_of_rows(table: ReleasedTable) -> tuple[RowsOfFile, ...]:
    """Return the file of a table or, for linked tables, of roots and of members, with the members of a root together."""
    if (linked := table.linked) is None:
        return (RowsOfFile(table.shape, _rows(table)),)
    of_roots, of_members, size = shape_of_roots(table.shape), shape_of_members(table.shape), table.names.index(linked.size)
    roots, slots = [table.names.index(name) for name in of_roots.names], slots_of(table.shape)

    def members() -> Iterator[RowsBatch]:
        for keys, cells in _roots(table):
            some = rows_at(table.counts.bins, cells)
            number = linked.numbers(some[size])
            of_row = np.repeat(np.arange(len(keys)), number)
            slot = np.arange(len(of_row)) - np.repeat(np.cumsum(number) - number, number)
            bins = [np.stack([some[index] for index in indices], axis=1) for indices in slots]
            yield RowsBatch(bins=[of_slots[of_row, slot] for of_slots in bins], keys=keys[of_row])

    batches = (replace(_batch(table, roots, cells), keys=keys) for keys, cells in _roots(table))
    return RowsOfFile(of_roots, batches), RowsOfFile(of_members, members())


def _rows(table: ReleasedTable) -> Iterator[RowsBatch]:
    for cells in table.cells_of_rows(min(_ROWS_OF_A_GROUP, max(1, _VALUES_OF_A_GROUP // len(table.shape.header)))):
        yield _batch(table, range(len(table.names)), cells)


def _roots(table: ReleasedTable) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for each batch, the numbers of the roots (from 1), and the index of the distinct row (cell) that each equals."""
    done = 0
    for cells in table.cells_of_rows(_ROWS):
        yield np.arange(done + 1, done + len(cells) + 1), cells
        done += len(cells)


def _batch(table: ReleasedTable, columns: Sequence[int], cells: np.ndarray) -> RowsBatch:
    weights = None if table.weights is None else table.weights[cells].astype(float)
    some = rows_at(table.counts.bins, cells)
    return RowsBatch(bins=[some[column] for column in columns], weights=weights)


def row_files(document: ReleaseDocument, table: ReleasedTable, ending: str) -> dict[str, Iterator[bytes]]:
    """Encode the released rows as CSV or Parquet, as an iterable of bytes for each file name.

    Parameters
    ----------
    ending : "csv" or "parquet".
    """
    marked = document.bundle != BundleTable()
    return {
        file.named(ending): csv_pieces(rows) if ending == "csv" else parquet_pieces(rows, marked)
        for file, rows in zip(document.table_files, files_of_rows(table), strict=True)
    }


def csv_pieces(file: RowsOfFile) -> Iterator[bytes]:
    """Yield blocks of UTF-8 CSV, with a header and "\\n" line ends on every system."""
    import pyarrow as pa
    from pyarrow import compute

    shape = file.shape
    yield written(shape.header)
    end = f",{MARK}\n" if shape.marked else "\n"
    ends = [","] * (len(shape.names) - 1) + ["," if shape.weighted else end]
    nothing = _texts([""])[0]  # a Python string would load pandas
    alone = len(shape.header) == 1  # an empty label is quoted only in a table of one column
    fields = [
        [written([label] if alone else [label, ""]).decode()[: -1 if alone else -2] + ending for label in labels]
        for labels, ending in zip(shape.labels, ends, strict=True)
    ]
    groups = shape.layout.words_within(_TEXTS_TOGETHER)
    texts = [_texts(list(map("".join, product(*(fields[column] for column in columns))))) for columns in groups]
    few = max(1, min(_ROWS, _VALUES_AT_ONCE // len(shape.header)))
    parts = (batch[start : start + few] for batch in file.batches for start in range(0, len(batch), few))

    def piece_of(rows: RowsBatch) -> bytes:
        columns = [_texts([f"{key}," for key in rows.keys.tolist()])] if shape.key else []
        codes = (word_of(shape.layout, rows.bins, group, np.int32) for group in groups)
        columns += [of.take(_numbers(of_rows, pa.int32())) for of, of_rows in zip(texts, codes, strict=True)]
        columns += [] if rows.weights is None else [_texts([f"{weight!r}{end}" for weight in rows.weights.tolist()])]
        return compute.binary_join_element_wise(*columns, nothing).buffers()[2].to_pybytes()

    with Ahead(piece_of, lambda: next(parts, None)) as ahead:
        yield from (piece for _, piece in ahead)


def parquet_pieces(file: RowsOfFile, says_synthetic: bool = False) -> Iterator[bytes]:
    """Yield blocks of Parquet. Every column has a dictionary of all its labels, ordered if the bins are.

    Parameters
    ----------
    says_synthetic : whether the metadata of the file state that the rows are synthetic.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    shape, labels = file.shape, [_texts(labels_) for labels_ in file.shape.labels]
    columns = [pa.field(shape.key, pa.int64())] if shape.key else []
    columns += [
        pa.field(name, pa.dictionary(pa.int32(), pa.string(), ordered=order))
        for name, order in zip(shape.names, shape.ordered, strict=True)
    ]
    columns += [pa.field(WEIGHT, pa.float64())] if shape.weighted else []
    columns += [pa.field(SYNTHETIC, pa.int8())] if shape.marked else []
    schema, sink = pa.schema(columns, metadata=METADATA if says_synthetic else None), io.BytesIO()
    sorted_by = schema.names[:1]  # Parquet statistics help a reader only in the column by which rows are sorted
    with pq.ParquetWriter(sink, schema, compression="snappy", write_statistics=sorted_by) as writer:
        for rows in file.batches:
            arrays = [_numbers(rows.keys, pa.int64())] if shape.key else []
            arrays += [
                pa.DictionaryArray.from_arrays(_numbers(bins.astype(np.int32), pa.int32()), texts, ordered=order)
                for bins, texts, order in zip(rows.bins, labels, shape.ordered, strict=True)
            ]
            arrays += [] if rows.weights is None else [_numbers(rows.weights.astype(float), pa.float64())]
            arrays += [_numbers(np.full(len(rows), int(MARK), dtype=np.int8), pa.int8())] if shape.marked else []
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            del arrays  # before the next batch is made
            yield _taken(sink)
    yield _taken(sink)


def _taken(sink: io.BytesIO) -> bytes:
    content = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return content


def _numbers(values: np.ndarray, kind: Any) -> Any:
    """Convert numbers to an Arrow array that shares their memory, without `pa.array`, which would import pandas."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _texts(labels: Sequence[str]) -> Any:
    """Convert strings to an Arrow array, without `pa.array`, which would import pandas."""
    import pyarrow as pa

    encoded = [label.encode() for label in labels]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
