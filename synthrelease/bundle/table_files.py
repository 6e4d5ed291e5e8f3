"""data.csv and data.parquet, piece by piece: the released rows as bin labels, sorted, so that their order tells nothing."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthrelease.domain.margins import WEIGHT
from synthrelease.published.lines import MARK, written
from synthrelease.published.table import METADATA, ReleasedTable
from synthrelease.toml.bundle import SYNTHETIC

_TEXTS = 2**12
"""Labels of neighbouring columns are put together to at most so many texts."""
_BYTES = 2**22
"""Of data.csv at a time, at most about."""
_NOTHING = 0xFF
"""A byte that is in no text in UTF-8: fills texts up to one length."""
_ROWS_OF_A_GROUP, _VALUES_OF_A_GROUP = 2**20, 2**24
"""At most so many rows, and about so many values, are a group of rows of data.parquet."""


def csv_pieces(table: ReleasedTable) -> Iterator[bytes]:
    """The released table as UTF-8 CSV with a header and "\\n" line ends on every system, rows in the order of their bins."""
    yield written(table.shape.header)
    mark = f",{MARK}\n".encode() if table.marked else b"\n"
    texts = list(_column_texts(table, mark))
    width = sum(each.texts.shape[1] for each in texts) + (0 if table.weights is None else 32)
    for cells, times in table.row_order().batches(max(1, min(table.shape.rows_per_batch, _BYTES // width))):
        parts = [each.of([bins[cells] for bins in table.counts.bins]) for each in texts]
        if table.weights is not None:
            weights, which = np.unique(table.weights[cells], return_inverse=True)
            parts.append(_filled([repr(weight).encode() + mark for weight in weights.tolist()])[which])
        lines = np.concatenate(parts, axis=1)
        there = lines != _NOTHING
        text = lines[there].tobytes()
        if len(times) < int(times.sum()):
            ends = np.cumsum(there.sum(axis=1)).tolist()
            starts = [0, *ends[:-1]]
            text = b"".join(text[a:b] * n for a, b, n in zip(starts, ends, times.tolist(), strict=True))
        yield text


@dataclass(frozen=True, eq=False)
class _Texts:
    """What stands in a line for the bins of neighbouring columns.

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
        found: np.ndarray = np.take(self.texts, codes, axis=0)
        return found


def _column_texts(table: ReleasedTable, mark: bytes) -> Iterator[_Texts]:
    """Of all columns, in their order."""
    alone, last = len(table.shape.header) == 1, len(table.labels) - 1
    columns, sizes, texts = list[int](), list[int](), [b""]
    for place, labels in enumerate(table.labels):
        if columns and len(texts) * len(labels) > _TEXTS:
            yield _Texts(tuple(columns), tuple(sizes), _filled(texts))
            columns, sizes, texts = [], [], [b""]
        end = mark if place == last and table.weights is None else b","
        fields = [(written([text]) if alone else written([text, ""])[:-1])[:-1] + end for text in labels]
        columns.append(place)
        sizes.append(len(labels))
        texts = [before + field for before in texts for field in fields]
    yield _Texts(tuple(columns), tuple(sizes), _filled(texts))


def _filled(texts: Sequence[bytes]) -> np.ndarray:
    """(n_texts, longest) the bytes of texts, filled up to one length."""
    longest = max(map(len, texts))
    whole = b"".join(text.ljust(longest, bytes([_NOTHING])) for text in texts)
    return np.frombuffer(whole, dtype=np.uint8).reshape(len(texts), longest)


def parquet_pieces(table: ReleasedTable, says_synthetic: bool = False) -> Iterator[bytes]:
    """The released table as Parquet: every column a dictionary of all its labels, ordered where its bins are.

    Parameters
    ----------
    says_synthetic : whether the metadata of the file say so.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = [_texts(known) for known in table.labels]
    columns = [
        pa.field(name, pa.dictionary(pa.int32(), pa.string(), ordered=order))
        for name, order in zip(table.names, table.ordered, strict=True)
    ]
    columns += [pa.field(WEIGHT, pa.float64())] if table.weights is not None else []
    columns += [pa.field(SYNTHETIC, pa.int8())] if table.marked else []
    schema, sink = pa.schema(columns, metadata=METADATA if says_synthetic else None), io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression="snappy") as writer:
        for cells, times in table.row_order().batches(min(_ROWS_OF_A_GROUP, max(1, _VALUES_OF_A_GROUP // len(columns)))):
            arrays = [
                pa.DictionaryArray.from_arrays(
                    _numbers(np.repeat(bins[cells].astype(np.int32), times), pa.int32()), texts, ordered=order
                )
                for bins, texts, order in zip(table.counts.bins, labels, table.ordered, strict=True)
            ]
            if table.weights is not None:
                arrays.append(_numbers(np.repeat(table.weights[cells], times).astype(float), pa.float64()))
            if table.marked:
                arrays.append(_numbers(np.full(times.sum(), int(MARK), dtype=np.int8), pa.int8()))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield _taken(sink)
    yield _taken(sink)


def _taken(sink: io.BytesIO) -> bytes:
    """What was written to it since the last time."""
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
