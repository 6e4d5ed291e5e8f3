"""data.csv and data.parquet, read back: the released rows as counts of the bins of their schema."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.domain.counts import Counts, Tally
from synthrelease.domain.margins import WEIGHT
from synthrelease.errors import listing
from synthrelease.published.lines import MARK, RowsBatch, TableError, TableShape, csv_lines, rows_of_table
from synthrelease.toml.bundle import SYNTHETIC

if TYPE_CHECKING:
    import pyarrow as pa

    from synthrelease.domain.synthetic_table import SyntheticTable

_BATCH = 2**22
"""Bytes of data.csv that are taken apart to lines at a time, about."""


NOTICE = "Synthetic data. No row is a person."
"""What a file says of itself first, where its format has a place for it."""
METADATA = {b"description": NOTICE.encode("ascii")}


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """The released rows as counts of cells, with the labels of the bins of every column.

    `weights` are (n_cells,) those of a row of each cell, in the order of the cells; None where the table has none. `marked`:
    the last column says in every row that it is synthetic.
    """

    labels: tuple[tuple[str, ...], ...]
    ordered: tuple[bool, ...]
    counts: Counts
    weights: np.ndarray | None = None
    marked: bool = False

    @classmethod
    def of(cls, candidate: SyntheticTable) -> ReleasedTable:
        return cls(
            labels=tuple(binning.labels for binning in candidate.transformation.binnings),
            ordered=tuple(column.ordered for column in candidate.transformation.schema.columns),
            counts=candidate.counts,
        )

    @property
    def shape(self) -> TableShape:
        """What its columns are."""
        weighted = self.weights is not None
        return TableShape(names=self.names, labels=self.labels, ordered=self.ordered, weighted=weighted, marked=self.marked)

    @property
    def names(self) -> tuple[str, ...]:
        return self.counts.layout.columns

    def one_way(self, column: int) -> np.ndarray:
        """(n_bins,) how many rows each bin of a column has."""
        return self.counts.marginal((column,))

    def two_way(self, left: int, right: int) -> np.ndarray:
        """(n_bins of left, n_bins of right) counts of two columns, left before right."""
        return self.counts.marginal((left, right))


def read_csv(content: bytes, shape: TableShape) -> ReleasedTable:
    """data.csv as counts; with the weights that stand after its columns, where it is a weighted one.

    Raises
    ------
    TableError : when the header or a value is not one of the schema.
    """
    short, times = (content, None) if shape.weighted else _without_repetitions(content)
    try:
        return _table_of(csv_lines(short), shape, times)
    except TableError:
        if times is None:
            raise
    return _table_of(csv_lines(content), shape, None)  # for the number of the line


def _without_repetitions(content: bytes) -> tuple[bytes, np.ndarray | None]:
    """The header and each different line once, and how often; the content itself where a line end may stand inside a value.

    A released table repeats each of its lines as often as rows are equal, so that few are left to be taken apart.
    """
    if b'"' in content or b"\r" in content:
        return content, None
    times, start = Counter[bytes](), content.find(b"\n") + 1
    while 0 < start < len(content):
        stop = content.find(b"\n", start + _BATCH)
        stop = len(content) if stop < 0 else stop
        times.update(content[start:stop].removesuffix(b"\n").split(b"\n"))
        start = stop + 1
    header = content[: content.find(b"\n") + 1]
    if not times:
        return content, None
    return header + b"\n".join(times) + b"\n", np.fromiter(times.values(), dtype=np.int64, count=len(times))


def _table_of(lines: Iterator[Sequence[str]], shape: TableShape, times: np.ndarray | None) -> ReleasedTable:
    """The table of these lines, the header before them; `times` says how often each occurs, once when it is None."""
    counts, done, weighted = Tally(shape.layout), 0, list[RowsBatch]()
    for batch in rows_of_table(lines, shape):
        rows = len(batch.bins[0])
        counts.add(Counts.of(shape.layout, batch.bins, None if times is None else times[done : done + rows]))
        done += rows
        weighted += [batch] if shape.weighted else []
    if not done:
        raise TableError(f"expected rows of {len(shape.header)} values, found none")
    weights = np.concatenate([batch.weights for batch in weighted if batch.weights is not None]) if weighted else None
    return ReleasedTable(
        labels=shape.labels,
        ordered=shape.ordered,
        counts=counts.total(),
        weights=None if weights is None else _of_cells(counts.total(), [batch.bins for batch in weighted], weights),
        marked=shape.marked,
    )


def _of_cells(counts: Counts, batches: Sequence[Sequence[np.ndarray]], weights: np.ndarray) -> np.ndarray:
    """(n_cells,) the weight that all rows of each cell have, from the bins and the weights of the rows."""
    cells = np.concatenate([counts.find(bins) for bins in batches])
    of_cells = np.zeros(len(counts))
    of_cells[cells] = weights
    if not np.array_equal(of_cells[cells], weights):
        raise TableError("expected the same weight for all rows that are equal, found others")
    return of_cells


def read_parquet(content: bytes, shape: TableShape, says_synthetic: bool = False, n_rows: int | None = None) -> ReleasedTable:
    """data.parquet as counts; with the weights that stand after its columns, where it is a weighted one.

    Parameters
    ----------
    n_rows : how many rows it must have. What the file says of itself is compared before any row is read: equal rows take no
        bytes in it, and may take all memory when they are read.

    Raises
    ------
    TableError : when the columns, their number of rows or a value are not those of the schema.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(content))
        schema, footer = file.schema_arrow, file.metadata
    except (pa.ArrowException, OSError):
        file = None
    if file is None:
        raise TableError("expected a Parquet file, found something else")
    if schema.names != shape.header:
        raise TableError(f"expected the columns {listing(shape.header)}, found {listing(schema.names) or 'none'}")
    if schema.metadata != (METADATA if says_synthetic else None):
        raise TableError("expected the metadata that the program writes, found others")
    types = [pa.dictionary(pa.int32(), pa.string(), ordered=order) for order in shape.ordered]
    if schema.types != [*types, *([pa.float64()] if shape.weighted else []), *([pa.int8()] if shape.marked else [])]:
        raise TableError("expected dictionaries of labels, ordered where the bins are, found others")
    if not footer.num_rows:
        raise TableError(f"expected rows of {len(shape.header)} values, found none")
    _check_footer(footer, n_rows, sum(len(label.encode()) for known in shape.labels for label in known))
    try:
        found = file.read(use_threads=False)  # read_table would import pandas
    except (pa.ArrowException, OSError):
        found = None
    if found is None:
        raise TableError("expected a Parquet file, found something else")
    if shape.marked and not np.all(found[SYNTHETIC].to_numpy() == int(MARK)):
        raise TableError(f"expected {MARK} as {SYNTHETIC!r} in every row, found something else")
    columns = found.columns[: len(shape.names)]
    bins = [_bins(name, column, known) for name, column, known in zip(shape.names, columns, shape.labels, strict=True)]
    counts = Counts.of(shape.layout, bins)
    return ReleasedTable(
        labels=shape.labels,
        ordered=shape.ordered,
        counts=counts,
        weights=_of_cells(counts, [bins], found[WEIGHT].to_numpy()) if shape.weighted else None,
        marked=shape.marked,
    )


_BYTES_OF_A_VALUE = 32
"""At most, in Parquet pages of dictionaries before they are compressed, with what stands around them."""


def _check_footer(footer: Any, n_rows: int | None, label_bytes: int) -> None:
    """Raises TableError when the rows and bytes of which the file speaks are not those of a released table."""
    groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
    in_groups = sum(group.num_rows for group in groups)
    values = {group.column(place).num_values - group.num_rows for group in groups for place in range(group.num_columns)}
    if n_rows is not None and footer.num_rows != n_rows:
        raise TableError(f"expected {n_rows} rows, found {footer.num_rows}")
    most = (footer.num_rows + 1000) * footer.num_columns * _BYTES_OF_A_VALUE + len(groups) * 4 * label_bytes
    if in_groups != footer.num_rows or values - {0} or sum(group.total_byte_size for group in groups) > most:
        raise TableError("expected a Parquet file of as many values as rows, found another")


def _bins(name: str, column: pa.ChunkedArray, labels: Sequence[str]) -> np.ndarray:
    """(n_rows,) the bins of a column of Parquet, whose dictionary may hold the labels in any order."""
    whole, places = column.combine_chunks(), {label: place for place, label in enumerate(labels)}
    written = np.array([places.get(label, -1) for label in whole.dictionary.to_pylist()] + [-1], dtype=np.int64)
    if whole.indices.null_count:  # pyarrow would import pandas to fill them, and also for `to_numpy`
        missing = len(written) - 1
        found = np.array([missing if place is None else place for place in whole.indices.to_pylist()])
    else:
        found = np.from_dlpack(whole.indices)
    bins = written[found]
    if (bins < 0).any():
        raise TableError(f"expected a bin of {name!r} in line {int(np.argmax(bins < 0)) + 2}, found something else")
    return bins
