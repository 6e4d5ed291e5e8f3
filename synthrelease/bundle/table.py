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
from synthrelease.domain.margins import WEIGHT
from synthrelease.domain.schema import Layout
from synthrelease.errors import OutputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """The released rows as counts of cells, with the labels of the bins of every column.

    `weights` are (n_cells,) those of a row of each cell, in the order of the cells; None where the table has none.
    """

    labels: tuple[tuple[str, ...], ...]
    ordered: tuple[bool, ...]
    counts: Counts
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, candidate: Candidate) -> ReleasedTable:
        return cls(
            labels=tuple(binning.labels for binning in candidate.transformation.binnings),
            ordered=tuple(column.ordered for column in candidate.transformation.schema.columns),
            counts=candidate.counts,
        )

    @property
    def row_weights(self) -> np.ndarray | None:
        """(n_rows,) the weights of the rows, sorted as `Counts.expand` gives them."""
        return None if self.weights is None else np.repeat(self.weights, self.counts.counts)

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
    """The released table without weights: one line per row, bin labels as text, rows in increasing order of their bins."""
    return _frame(ReleasedTable.of(candidate))


def _frame(table: ReleasedTable) -> pd.DataFrame:
    import pandas as pd  # half a second to import: only when a table is written

    rows = table.counts.expand()
    texts = {
        name: np.array(labels, dtype=object)[rows[:, index]]
        for index, (name, labels) in enumerate(zip(table.names, table.labels, strict=True))
    }
    if table.row_weights is not None:
        texts[WEIGHT] = table.row_weights
    return pd.DataFrame(texts)


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
    columns = dict(zip(table.names, arrays, strict=True))
    if table.row_weights is not None:
        columns[WEIGHT] = pa.array(table.row_weights, pa.float64())
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="snappy")
    return sink.getvalue()


class TableError(OutputError):
    """A table of a bundle that is not the one that its schema describes."""


def read_csv(
    content: bytes,
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    ordered: Sequence[bool],
    weighted: bool = False,
) -> ReleasedTable:
    """data.csv as counts; with the weights that stand in its last column, where it is a weighted one.

    Raises
    ------
    TableError : when the header or a value is not one of the schema.
    """
    header = _header(names, weighted)
    lines = _lines(content)
    if next(lines, []) != header:
        raise TableError(f"expected the columns {', '.join(header)} in the header, found others")
    rows = np.array(list(lines), dtype=object)
    if rows.ndim != 2 or rows.shape[1] != len(header):
        raise TableError(f"expected rows of {len(header)} values, found others")
    weights = np.array([_weight(text) for text in rows[:, -1]]) if weighted else None
    return _table(rows[:, : len(names)], names, labels, ordered, weights)


def _header(names: Sequence[str], weighted: bool) -> list[str]:
    return [*names, *([WEIGHT] if weighted else [])]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TableError("expected a number in each line as weight, found something else") from None


def _lines(content: bytes):
    try:
        yield from csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True)
    except (UnicodeDecodeError, csv.Error):
        pass
    else:
        return
    raise TableError("expected a CSV file in UTF-8, found something else")


def read_parquet(
    content: bytes,
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    ordered: Sequence[bool],
    weighted: bool = False,
) -> ReleasedTable:
    """data.parquet as counts; with the weights that stand in its last column, where it is a weighted one.

    Raises
    ------
    TableError : when the columns or a value are not those of the schema.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_table(io.BytesIO(content), use_threads=False)
        texts = [column.cast(pa.string()).to_numpy() for column in found.columns[: len(names)]]
    except (pa.ArrowException, OSError):
        found, texts = None, []
    if found is None:
        raise TableError("expected a Parquet file, found something else")
    if found.column_names != _header(names, weighted):
        raise TableError(f"expected the columns {', '.join(_header(names, weighted))}, found others")
    types = [pa.dictionary(pa.int32(), pa.string(), ordered=order) for order in ordered]
    if found.schema.types != [*types, *([pa.float64()] if weighted else [])]:
        raise TableError("expected dictionaries of labels, ordered where the bins are, found others")
    weights = found.columns[-1].to_numpy() if weighted else None
    return _table(np.stack(texts, axis=1).astype(object), names, labels, ordered, weights)


def _table(
    rows: np.ndarray,
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    ordered: Sequence[bool],
    weights: np.ndarray | None,
) -> ReleasedTable:
    """Counts of (n_rows, n_columns) labels, and the weights of their cells."""
    layout = Layout(columns=tuple(names), sizes=tuple(len(known) for known in labels))
    bins = []
    for index, (name, known) in enumerate(zip(names, labels, strict=True)):
        places = {label: place for place, label in enumerate(known)}
        digits = np.array([places.get(label, -1) for label in rows[:, index]], dtype=np.int64)
        if (digits < 0).any():
            line = int(np.argmax(digits < 0)) + 2
            raise TableError(f"expected a bin of {name!r} in line {line}, found something else")
        bins.append(digits)
    counts = Counts(layout, layout.codes(bins))
    return ReleasedTable(
        labels=tuple(tuple(known) for known in labels),
        ordered=tuple(ordered),
        counts=counts,
        weights=None if weights is None else _of_cells(weights, bins, counts),
    )


def _of_cells(weights: np.ndarray, bins: Sequence[np.ndarray], counts: Counts) -> np.ndarray:
    """(n_cells,) the weight that all rows of each cell have."""
    order = np.lexsort(list(reversed(bins)))
    starts = np.concatenate([[0], np.cumsum(counts.counts)[:-1]])
    of_cells = weights[order][starts]
    if not np.array_equal(np.repeat(of_cells, counts.counts), weights[order]):
        raise TableError("expected the same weight for all rows that are equal, found others")
    return of_cells
