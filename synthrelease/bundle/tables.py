"""data.csv and data.parquet, piece by piece: the released rows as bin labels, sorted, so that their order tells nothing."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation
from synthrelease.data.weights import WEIGHT
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import (
    MARK,
    METADATA,
    KeyedRows,
    ReleasedTable,
    TableShape,
    shape_of_members,
    shape_of_roots,
    slots_of,
    written,
)
from synthrelease.settings.tables import SYNTHETIC, BundleTable


@dataclass(frozen=True, kw_only=True)
class AcceptedRows:
    """The released table, for what is made of it.

    Attributes
    ----------
    transformation : from atomic bins to the released ones.
    columns : with the released bins.
    rules : for released rows, on these bins.
    smallest : how often every released row occurs at least.
    bundle : how files are named and marked.
    """

    table: ReleasedTable
    transformation: Transformation
    columns: Sequence[ColumnPart]
    rules: Plausibility
    smallest: int
    bundle: BundleTable


# data.csv and members.csv, and the same as Parquet: roots and their members, piece by piece, with new keys.
#
# The key of a root is its place in the order of the wide rows, which tells nothing beside them; its members follow in
# the order of their slots.

_ROWS = 2**16
"""Roots at a time."""
NOTHING = 0xFF
"""A byte that is in no text in UTF-8: fills texts up to one length."""


@dataclass(frozen=True, eq=False)
class KeyedFile:
    """One of the two files: what its columns are, and its rows, some at a time."""

    shape: TableShape
    batches: Iterator[KeyedRows]


def roots_of(table: ReleasedTable) -> KeyedFile:
    """The rows of roots."""
    shape = shape_of_roots(table.shape)
    indices = [table.names.index(name) for name in shape.names]

    def batches() -> Iterator[KeyedRows]:
        for keys, cells in _rows(table):
            weights = None if table.weights is None else table.weights[cells]
            yield KeyedRows(keys=keys, bins=[table.counts.bins[index][cells] for index in indices], weights=weights)

    return KeyedFile(shape, batches())


def members_of(table: ReleasedTable) -> KeyedFile:
    """The rows of members, those of a root one after the other."""
    shape, linked = shape_of_members(table.shape), table.linked
    if linked is None:
        raise ValueError("a table without members has no file of them")
    columns, size = slots_of(table.shape), table.names.index(linked.size)

    def batches() -> Iterator[KeyedRows]:
        for keys, cells in _rows(table):
            number = linked.numbers(table.counts.bins[size][cells])
            of_row = np.repeat(np.arange(len(keys)), number)
            slot = np.arange(len(of_row)) - np.repeat(np.cumsum(number) - number, number)
            bins = []
            for indices in columns:
                slots = np.stack([table.counts.bins[index][cells] for index in indices], axis=1)
                bins.append(slots[of_row, slot])
            yield KeyedRows(keys=keys[of_row], bins=bins)

    return KeyedFile(shape, batches())


def _rows(table: ReleasedTable) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some roots at a time: their keys, and the cell of each."""
    done = 0
    for cells, times in table.row_order().batches(_ROWS):
        repeated = np.repeat(np.arange(cells.start, cells.stop), times)
        yield np.arange(done + 1, done + len(repeated) + 1), repeated
        done += len(repeated)


def keyed_csv(file: KeyedFile) -> Iterator[bytes]:
    """UTF-8 with a header and "\\n" line ends on every system."""
    shape = file.shape
    yield written(shape.header)
    mark = f",{MARK}\n".encode() if shape.marked else b"\n"
    ends = [b","] * (len(shape.names) - 1) + [b"," if shape.weighted else mark]
    texts = [
        filled([written([label, ""])[:-2] + end for label in labels]) for labels, end in zip(shape.labels, ends, strict=True)
    ]
    for rows in file.batches:
        parts = [filled([b"%d," % key for key in rows.keys.tolist()])]
        parts += [fields[bins] for fields, bins in zip(texts, rows.bins, strict=True)]
        if rows.weights is not None:
            parts.append(filled([repr(weight).encode() + mark for weight in rows.weights.tolist()]))
        lines = np.concatenate(parts, axis=1)
        yield lines[lines != NOTHING].tobytes()


def filled(texts: list[bytes]) -> np.ndarray:
    """(n_texts, longest) the bytes of texts, filled up to one length."""
    longest = max(map(len, texts), default=0)
    whole = b"".join(text.ljust(longest, bytes([NOTHING])) for text in texts)
    return np.frombuffer(whole, dtype=np.uint8).reshape(len(texts), longest)


_TEXTS = 2**12
"""Labels of neighbouring columns are put together to at most so many texts."""
_BYTES = 2**22
"""Bytes of data.csv that are read at a time, about."""
_ROWS_OF_A_GROUP, _VALUES_OF_A_GROUP = 2**20, 2**24
"""At most so many rows, and about so many values, are a group of rows of data.parquet."""


def row_files(document: ReleaseDocument, table: ReleasedTable, ending: str) -> dict[str, Iterator[bytes]]:
    """Return the files of rows, and of members, that every release has ("csv", "parquet"): by name, each as pieces."""
    if ending == "csv":
        pieces = [csv_pieces(table), *([keyed_csv(members_of(table))] if table.linked else [])]
    else:
        marked = document.bundle != BundleTable()
        pieces = [parquet_pieces(table, marked), *([_keyed_parquet(members_of(table), marked)] if table.linked else [])]
    return {file.named(ending): rows for file, rows in zip(document.table_files, pieces, strict=True)}


def csv_pieces(table: ReleasedTable) -> Iterator[bytes]:
    """The released table as UTF-8 CSV with a header and "\\n" line ends on every system, rows in the order of their bins."""
    if table.linked is not None:
        yield from keyed_csv(roots_of(table))
        return
    yield written(table.shape.header)
    mark = f",{MARK}\n".encode() if table.marked else b"\n"
    texts = list(_column_texts(table, mark))
    width = sum(column_texts.texts.shape[1] for column_texts in texts) + (0 if table.weights is None else 32)
    for cells, times in table.row_order().batches(max(1, min(table.shape.rows_per_batch, _BYTES // width))):
        parts = [column_texts.of([bins[cells] for bins in table.counts.bins]) for column_texts in texts]
        if table.weights is not None:
            weights, which = np.unique(table.weights[cells], return_inverse=True)
            parts.append(filled([repr(weight).encode() + mark for weight in weights.tolist()])[which])
        lines = np.concatenate(parts, axis=1)
        filled_in = lines != NOTHING
        text = lines[filled_in].tobytes()
        if len(times) < int(times.sum()):
            ends = np.cumsum(filled_in.sum(axis=1)).tolist()
            starts = [0, *ends[:-1]]
            text = b"".join(text[a:b] * n for a, b, n in zip(starts, ends, times.tolist(), strict=True))
        yield text


@dataclass(frozen=True, eq=False)
class _Texts:
    """The texts of a line for the bins of neighbouring columns.

    Attributes
    ----------
    columns, sizes : their places, and how many bins each has.
    texts : (product of the sizes, longest) bytes of each combination of their labels, with what follows it.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    texts: np.ndarray

    def of(self, bins: Sequence[np.ndarray]) -> np.ndarray:
        """(n_cells, longest) bytes of the cells with these bins."""
        codes = bins[self.columns[0]].astype(np.int64)
        for column, size in zip(self.columns[1:], self.sizes[1:], strict=True):
            codes = codes * size + bins[column]
        rows: np.ndarray = np.take(self.texts, codes, axis=0)
        return rows


def _column_texts(table: ReleasedTable, mark: bytes) -> Iterator[_Texts]:
    """Yield the texts of all columns, in their order."""
    alone, last = len(table.shape.header) == 1, len(table.labels) - 1
    columns, sizes, texts = list[int](), list[int](), [b""]
    for index, labels in enumerate(table.labels):
        if columns and len(texts) * len(labels) > _TEXTS:
            yield _Texts(tuple(columns), tuple(sizes), filled(texts))
            columns, sizes, texts = [], [], [b""]
        end = mark if index == last and table.weights is None else b","
        fields = [(written([text]) if alone else written([text, ""])[:-1])[:-1] + end for text in labels]
        columns.append(index)
        sizes.append(len(labels))
        texts = [start + field for start in texts for field in fields]
    yield _Texts(tuple(columns), tuple(sizes), filled(texts))


def parquet_pieces(table: ReleasedTable, says_synthetic: bool = False) -> Iterator[bytes]:
    """The released table as Parquet: every column a dictionary of all its labels, ordered where its bins are.

    Parameters
    ----------
    says_synthetic : whether the metadata of the file say so.
    """
    if table.linked is not None:
        yield from _keyed_parquet(roots_of(table), says_synthetic)
        return
    columns, order = len(table.shape.header), table.row_order()

    def batches() -> Iterator[KeyedRows]:
        for cells, times in order.batches(min(_ROWS_OF_A_GROUP, max(1, _VALUES_OF_A_GROUP // columns))):
            once = len(times) == times.sum()
            yield KeyedRows(
                keys=np.zeros(0, dtype=np.int64),
                bins=[bins[cells] if once else np.repeat(bins[cells], times) for bins in table.counts.bins],
                weights=None if table.weights is None else np.repeat(table.weights[cells], times).astype(float),
            )

    yield from _keyed_parquet(KeyedFile(table.shape, batches()), says_synthetic)


def _keyed_parquet(file: KeyedFile, says_synthetic: bool) -> Iterator[bytes]:
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
    sorted_by = schema.names[:1]  # least and largest value tell a reader what to skip in the columns that rows are sorted by
    with pq.ParquetWriter(sink, schema, compression="snappy", write_statistics=sorted_by) as writer:
        for rows in file.batches:
            arrays = [_numbers(rows.keys, pa.int64())] if shape.key else []
            arrays += [
                pa.DictionaryArray.from_arrays(_numbers(bins.astype(np.int32), pa.int32()), texts, ordered=order)
                for bins, texts, order in zip(rows.bins, labels, shape.ordered, strict=True)
            ]
            if rows.weights is not None:
                arrays.append(_numbers(rows.weights.astype(float), pa.float64()))
            if shape.marked:
                arrays.append(_numbers(np.full(len(rows.bins[0]), int(MARK), dtype=np.int8), pa.int8()))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield _taken(sink)
    yield _taken(sink)


def _taken(sink: io.BytesIO) -> bytes:
    """Return what was written to it since the last time."""
    content = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return content


def _numbers(values: np.ndarray, kind: Any) -> Any:
    """An Arrow array of these numbers, none missing, over their own memory. `pa.array` would import pandas for it."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _texts(labels: Sequence[str]) -> Any:
    """An Arrow array of texts, none missing, without pandas, too."""
    import pyarrow as pa

    encoded = [label.encode() for label in labels]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
