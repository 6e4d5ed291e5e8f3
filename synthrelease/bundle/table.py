"""data.csv and data.parquet: the released rows as bin labels, sorted, so that their order tells nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.candidates.candidate import Candidate
from synthrelease.domain.counts import Counts
from synthrelease.domain.schema import Layout
from synthrelease.errors import OutputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """The released rows as counts of cells, with the labels of the bins of every column."""

    labels: tuple[tuple[str, ...], ...]
    ordered: tuple[bool, ...]
    counts: Counts

    @classmethod
    def of(cls, candidate: Candidate) -> ReleasedTable:
        return cls(
            labels=tuple(binning.labels for binning in candidate.transformation.binnings),
            ordered=tuple(column.ordered for column in candidate.transformation.schema.columns),
            counts=candidate.counts,
        )

    @property
    def names(self) -> tuple[str, ...]:
        return self.counts.layout.columns

    def one_way(self, column: int) -> np.ndarray:
        """(n_bins,) how many rows each bin of a column has."""
        return self.counts.marginal((column,))

    def two_way(self, left: int, right: int) -> np.ndarray:
        """(n_bins of left, n_bins of right) counts of two columns, left before right."""
        return self.counts.marginal((left, right))


def labelled(candidate: Candidate) -> pd.DataFrame:
    """The released table: one line per row, bin labels as text, rows in increasing order of their bins."""
    return _frame(ReleasedTable.of(candidate))


def _frame(table: ReleasedTable) -> pd.DataFrame:
    import pandas as pd  # half a second to import: only when a table is written

    rows = table.counts.expand()
    return pd.DataFrame(
        {
            name: np.array(labels, dtype=object)[rows[:, index]]
            for index, (name, labels) in enumerate(zip(table.names, table.labels, strict=True))
        }
    )


def csv_bytes(table: ReleasedTable) -> bytes:
    """The released table as UTF-8 CSV with a header and "\\n" line ends on every system."""
    return _frame(table).to_csv(index=False, lineterminator="\n").encode("utf-8")


def parquet_bytes(table: ReleasedTable) -> bytes:
    """The released table as Parquet: every column a dictionary of all its labels, ordered where its bins are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = table.counts.expand()
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(rows[:, index].astype(np.int32)), pa.array(labels, pa.string()), ordered=order)
        for index, (labels, order) in enumerate(zip(table.labels, table.ordered, strict=True))
    ]
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(zip(table.names, arrays, strict=True))), sink, compression="snappy")
    return sink.getvalue()


class TableError(OutputError):
    """A table of a bundle that is not the one that its schema describes."""


def read_csv(content: bytes, names: Sequence[str], labels: Sequence[Sequence[str]], ordered: Sequence[bool]) -> ReleasedTable:
    """data.csv as counts.

    Raises
    ------
    TableError : when the header or a value is not one of the schema.
    """
    lines = _lines(content)
    if next(lines, []) != list(names):
        raise TableError(f"expected the columns {', '.join(names)} in the header, found others")
    return _table(np.array(list(lines), dtype=object), names, labels, ordered)


def _lines(content: bytes):
    try:
        yield from csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True)
    except (UnicodeDecodeError, csv.Error):
        pass
    else:
        return
    raise TableError("expected a CSV file in UTF-8, found something else")


def read_parquet(
    content: bytes, names: Sequence[str], labels: Sequence[Sequence[str]], ordered: Sequence[bool]
) -> ReleasedTable:
    """data.parquet as counts.

    Raises
    ------
    TableError : when the columns or a value are not those of the schema.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_table(io.BytesIO(content), use_threads=False)
        texts = [column.cast(pa.string()).to_numpy() for column in found.columns]
    except (pa.ArrowException, OSError):
        found, texts = None, []
    if found is None:
        raise TableError("expected a Parquet file, found something else")
    if found.column_names != list(names):
        raise TableError(f"expected the columns {', '.join(names)}, found others")
    types = [pa.dictionary(pa.int32(), pa.string(), ordered=order) for order in ordered]
    if found.schema.types != types:
        raise TableError("expected dictionaries of labels, ordered where the bins are, found others")
    return _table(np.stack(texts, axis=1).astype(object), names, labels, ordered)


def _table(rows: np.ndarray, names: Sequence[str], labels: Sequence[Sequence[str]], ordered: Sequence[bool]) -> ReleasedTable:
    """Counts of (n_rows, n_columns) labels."""
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise TableError(f"expected rows of {len(names)} values, found others")
    layout = Layout(columns=tuple(names), sizes=tuple(len(known) for known in labels))
    codes = np.zeros(len(rows), dtype=np.int64)
    for index, (name, known, stride) in enumerate(zip(names, labels, layout.strides, strict=True)):
        places = {label: place for place, label in enumerate(known)}
        digits = np.array([places.get(label, -1) for label in rows[:, index]], dtype=np.int64)
        if (digits < 0).any():
            line = int(np.argmax(digits < 0)) + 2
            raise TableError(f"expected a bin of {name!r} in line {line}, found something else")
        codes += digits * stride
    return ReleasedTable(labels=tuple(tuple(known) for known in labels), ordered=tuple(ordered), counts=Counts(layout, codes))
