"""data.csv and data.parquet: the released rows as bin labels, sorted, so that their order tells nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np

from synthrelease.domain.margins import WEIGHT
from synthrelease.published.lines import MARK, ROWS_PER_BATCH
from synthrelease.published.table import METADATA, ReleasedTable
from synthrelease.toml.bundle import SYNTHETIC


def csv_bytes(table: ReleasedTable) -> bytes:
    """The released table as UTF-8 CSV with a header and "\n" line ends on every system, rows in the order of their bins."""
    counts, lines = table.counts, list[str]()
    writer = csv.writer(CsvLines(lines), lineterminator="\n")
    writer.writerow(table.shape.header)
    written = ["".join(lines).encode("utf-8")]
    for start in range(0, len(counts), ROWS_PER_BATCH):
        batch = slice(start, start + ROWS_PER_BATCH)
        texts = [map(labels.__getitem__, bins[batch].tolist()) for labels, bins in zip(table.labels, counts.bins, strict=True)]
        if table.weights is not None:
            texts.append(map(repr, table.weights[batch].tolist()))
        if table.marked:
            texts.append(map(str, repeat(MARK, len(counts.counts[batch]))))
        lines.clear()
        writer.writerows(zip(*texts, strict=True))
        rows = [line * times for line, times in zip(lines, counts.counts[batch].tolist(), strict=True)]
        written.append("".join(rows).encode("utf-8"))
    return b"".join(written)


class CsvLines:
    """What a CSV writer writes to: the lines in a list."""

    def __init__(self, lines: list[str]):
        self.write = lines.append


def parquet_bytes(table: ReleasedTable, says_synthetic: bool = False) -> bytes:
    """The released table as Parquet: every column a dictionary of all its labels, ordered where its bins are.

    Parameters
    ----------
    says_synthetic : whether the metadata of the file say so.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [
        pa.DictionaryArray.from_arrays(
            _numbers(table.counts.rows(column).astype(np.int32), pa.int32()), _texts(labels), ordered=order
        )
        for column, (labels, order) in enumerate(zip(table.labels, table.ordered, strict=True))
    ]
    columns = dict(zip(table.names, arrays, strict=True))
    if table.weights is not None:
        columns[WEIGHT] = _numbers(np.repeat(table.weights, table.counts.counts).astype(float), pa.float64())
    if table.marked:
        columns[SYNTHETIC] = _numbers(np.full(table.counts.total, int(MARK), dtype=np.int8), pa.int8())
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, metadata=METADATA if says_synthetic else None), sink, compression="snappy")
    return sink.getvalue()


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
