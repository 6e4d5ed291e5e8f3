"""data.csv and data.parquet, read back piece by piece: the released rows as counts of the bins of their schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.data.counts import Counts, Tally
from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import listing
from synthrelease.published.files import Content
from synthrelease.published.lines import (
    MARK,
    LabelledBins,
    NoLabel,
    OtherLines,
    RowsBatch,
    TableError,
    TableShape,
    count_lines,
    csv_lines,
    rows_of_table,
    written_rows,
)
from synthrelease.settings.tables import SYNTHETIC

if TYPE_CHECKING:
    import pyarrow as pa

    from synthrelease.data.synthetic_table import SyntheticTable

NOTICE = "Synthetic data. No row is a person."
"""What a file says of itself first, where its format has a place for it."""
METADATA = {b"description": NOTICE.encode("ascii")}
_ROOM = 2**27
"""Different rows, for more of which no room is kept beforehand: a file may hold line ends alone."""


class RowOrder:
    """Rows in the order of their cells, some at a time: which cells these are, and how often each stands among them.

    Parameters
    ----------
    counts : (n_cells,) how often each cell occurs.
    """

    def __init__(self, counts: np.ndarray):
        self._counts, self._ends = counts, np.cumsum(counts)
        self.total = int(self._ends[-1]) if len(counts) else 0

    def between(self, start: int, stop: int) -> tuple[slice, np.ndarray]:
        """Of the rows from `start` to before `stop`, which is above it: their cells, and how many of them are of each."""
        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right")
        cells = slice(int(first), int(last) + 1)
        times = self._counts[cells].copy()
        times[-1] -= self._ends[last] - stop
        times[0] -= start - (self._ends[first] - self._counts[first])
        return cells, times

    def batches(self, most: int) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows, at most so many at a time."""
        for start in range(0, self.total, most):
            yield self.between(start, min(start + most, self.total))


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """The released rows as counts of cells, with the labels of the bins of every column.

    `weights` are (n_cells,) those of a row of each cell, in the order of the cells; None where the table has none. `marked`:
    the last column says in every row that it is synthetic. `linked`: how its columns are those of roots and their members.
    """

    labels: tuple[tuple[str, ...], ...]
    ordered: tuple[bool, ...]
    counts: Counts
    weights: np.ndarray | None = None
    marked: bool = False
    linked: Linked | None = None

    @classmethod
    def of(cls, candidate: SyntheticTable) -> ReleasedTable:
        return cls(
            labels=tuple(binning.labels for binning in candidate.transformation.binnings),
            ordered=tuple(column.ordered for column in candidate.transformation.schema.columns),
            counts=candidate.counts,
            linked=candidate.transformation.schema.linked,
        )

    @property
    def shape(self) -> TableShape:
        """What its columns are."""
        weighted = self.weights is not None
        return TableShape(
            names=self.names,
            labels=self.labels,
            ordered=self.ordered,
            weighted=weighted,
            marked=self.marked,
            linked=self.linked,
        )

    @property
    def names(self) -> tuple[str, ...]:
        return self.counts.layout.columns

    def row_order(self) -> RowOrder:
        """Its rows, some at a time."""
        return RowOrder(self.counts.counts)

    def has(self, batches: Iterable[RowsBatch]) -> bool:
        """Whether these are its rows, in their order and with their weights."""
        order, done = self.row_order(), 0
        for batch in batches:
            rows = len(batch.bins[0])
            if done + rows > order.total:
                return False
            cells, times = order.between(done, done + rows)
            done += rows
            columns = list(zip(self.counts.bins, batch.bins, strict=True))
            if self.weights is not None and batch.weights is not None:
                columns.append((self.weights, batch.weights))
            once = len(times) == rows
            if not all(np.array_equal(own[cells] if once else np.repeat(own[cells], times), other) for own, other in columns):
                return False
        return done == order.total

    def of_roots(self) -> ReleasedTable:
        """The rows of roots with their own columns alone; without members the whole table."""
        linked = self.linked
        if linked is None:
            return self
        places = tuple(self.names.index(name) for name in linked.of_roots(self.names))
        bins = [self.counts.bins[place] for place in places]
        return ReleasedTable(
            labels=tuple(self.labels[place] for place in places),
            ordered=tuple(self.ordered[place] for place in places),
            counts=Counts.of(self.counts.layout.subset(places), bins, self.counts.counts),
            marked=self.marked,
        )

    def of_members(self) -> ReleasedTable | None:
        """The rows of members; None where there are none."""
        linked = self.linked
        if linked is None:
            return None
        number = linked.numbers(self.counts.bins[self.names.index(linked.size)])
        filled = [number > place for place in range(linked.most)]
        slots = [[self.names.index(name) for name in slot] for slot in linked.slots]
        bins = [
            np.concatenate([self.counts.bins[slot[column]][there] for slot, there in zip(slots, filled, strict=True)])
            for column in range(len(linked.names))
        ]
        labels = [self.labels[place] for place in slots[0]]
        labels = [each[:-1] if name in linked.whole else each for each, name in zip(labels, linked.names, strict=True)]
        layout = Layout(columns=linked.names, sizes=tuple(map(len, labels)))
        return ReleasedTable(
            labels=tuple(labels),
            ordered=tuple(self.ordered[place] for place in slots[0]),
            counts=Counts.of(layout, bins, np.concatenate([self.counts.counts[there] for there in filled])),
            marked=self.marked,
        )

    def one_way(self, column: int) -> np.ndarray:
        """(n_bins,) how many rows each bin of a column has."""
        return self._one_ways[column]

    @cached_property
    def _one_ways(self) -> list[np.ndarray]:
        return [self.counts.marginal((column,)) for column in range(len(self.names))]

    def two_way(self, left: int, right: int) -> np.ndarray:
        """(n_bins of left, n_bins of right) counts of two columns, left before right."""
        return self.counts.marginal((left, right))


def read_csv(content: Content, shape: TableShape, members: Content = b"") -> ReleasedTable:
    """data.csv as counts; with the weights that stand after its columns, where it is a weighted one.

    Parameters
    ----------
    members : members.csv, where rows are roots with their members.

    Raises
    ------
    TableError : when the header or a value is not one of the schema.
    """
    most = min(count_lines(content), _ROOM)
    if shape.linked is not None:
        from synthrelease.published.linked import linked_csv

        return table_of(linked_csv(content, members, shape), shape, most)
    try:
        return table_of(written_rows(content, shape), shape, most)
    except OtherLines:
        return table_of(rows_of_table(csv_lines(content), shape), shape, most)


def read_parquet(
    content: Content, shape: TableShape, says_synthetic: bool, n_rows: int, members: Content = b""
) -> ReleasedTable:
    """data.parquet as counts. Raises TableError as `parquet_rows`."""
    return table_of(parquet_rows(content, shape, says_synthetic, n_rows, members), shape, min(n_rows, _ROOM))


def table_of(batches: Iterable[RowsBatch], shape: TableShape, most: int = 0) -> ReleasedTable:
    """The table of these rows.

    Parameters
    ----------
    most : how many of them there may be in the order of their cells, for which no memory is taken twice.

    Raises
    ------
    TableError : where there are none, or equal ones have different weights.
    """
    in_order, others, weighted = _InOrder(shape.layout, most), Tally(shape.layout), list[RowsBatch]()
    for batch in batches:
        counts = Counts.of(shape.layout, batch.bins, batch.times)
        if not in_order.append(counts):
            others.add(counts)
        weighted += [batch] if shape.weighted else []
    total, rest = in_order.table(), others.total()
    total = total + rest if len(rest) else total
    if not len(total):
        raise TableError(f"expected rows of {len(shape.header)} values, found none")
    return ReleasedTable(
        labels=shape.labels,
        ordered=shape.ordered,
        counts=total,
        weights=_of_cells(total, weighted) if shape.weighted else None,
        marked=shape.marked,
        linked=shape.linked,
    )


class _InOrder:
    """Cells that come in their order, as those of a released table do: put where they stay, and never sorted again.

    Parameters
    ----------
    most : how many there is room for. The system gives memory to those alone that come.
    """

    def __init__(self, layout: Layout, most: int):
        self._layout, self._end = layout, 0
        self._words, self._counts = [np.empty(most, dtype=np.int64) for _ in layout.words], np.empty(most, dtype=np.int64)

    def append(self, table: Counts) -> bool:
        """Put the cells of a table, which is not empty, behind the others; False where they do not belong or fit there."""
        words = table.words
        first = [int(word[0]) for word in words]
        last = [int(word[self._end - 1]) for word in self._words] if self._end else [-1]
        again = int(first == last)
        end = self._end + len(table) - again
        if first < last or end > len(self._counts):
            return False
        if again:
            self._counts[self._end - 1] += table.counts[0]
        for own, new in zip((*self._words, self._counts), (*words, table.counts), strict=True):
            own[self._end : end] = new[again:]
        self._end = end
        return True

    def table(self) -> Counts:
        """All cells that were put there."""
        words = tuple(own[: self._end] for own in self._words)
        return Counts.known(self._layout, self._counts[: self._end], words=words)


def _of_cells(counts: Counts, batches: Sequence[RowsBatch]) -> np.ndarray:
    """(n_cells,) the weight that all rows of each cell have."""
    cells = counts.find([np.concatenate(bins) for bins in zip(*(batch.bins for batch in batches), strict=True)])
    weights = np.concatenate([batch.weights for batch in batches if batch.weights is not None])
    of_cells = np.zeros(len(counts))
    of_cells[cells] = weights
    if not np.array_equal(of_cells[cells], weights):
        raise TableError("expected the same weight for all rows that are equal, found others")
    return of_cells


def parquet_rows(
    content: Content, shape: TableShape, says_synthetic: bool = False, n_rows: int | None = None, members: Content = b""
) -> Iterator[RowsBatch]:
    """Batches of the rows of data.parquet, in their order; with the weights after its columns, where it is a weighted one.

    Parameters
    ----------
    n_rows : how many rows it must have. What the file says of itself is compared before any row is read: equal rows take no
        bytes in it, and may take all memory when they are read.
    members : members.parquet, where rows are roots with their members.

    Raises
    ------
    TableError : when the columns, their number of rows or a value are not those of the schema.
    """
    if shape.linked is not None:
        from synthrelease.published.linked import linked_parquet, shape_of_members, shape_of_roots

        most = None if n_rows is None else n_rows * shape.linked.most
        of_roots = _parquet_batches(content, shape_of_roots(shape), says_synthetic, n_rows)
        of_members = _parquet_batches(members, shape_of_members(shape), says_synthetic, most=most)
        yield from linked_parquet(of_roots, of_members, shape)
        return
    places, line = [LabelledBins(labels) for labels in shape.labels], 2
    for batch in _parquet_batches(content, shape, says_synthetic, n_rows):
        if shape.marked and not np.all(batch[SYNTHETIC].to_numpy(zero_copy_only=False) == int(MARK)):
            raise TableError(f"expected {MARK} as {SYNTHETIC!r} in every row, found something else")
        bins = []
        for name, known, column in zip(shape.names, places, batch.columns, strict=False):
            try:
                bins.append(known.bins(column))
            except NoLabel as found:
                row = line + found.row
                raise TableError(f"expected a bin of {name!r} in line {row}, found something else") from None
        yield RowsBatch(bins=bins, weights=batch[WEIGHT].to_numpy(zero_copy_only=False) if shape.weighted else None)
        line += batch.num_rows


def _parquet_batches(
    content: Content, shape: TableShape, says_synthetic: bool, n_rows: int | None = None, most: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The batches of one file. Raises TableError for other columns, and for another number of rows, or more than `most`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        source = pa.BufferReader(content) if isinstance(content, bytes) else pa.OSFile(str(content.path))
        file = pq.ParquetFile(source, buffer_size=_BUFFER)
        schema, footer = file.schema_arrow, file.metadata
    except (pa.ArrowException, OSError):
        file = None
    if file is None:
        raise TableError("expected a Parquet file, found something else")
    if schema.names != shape.header:
        raise TableError(f"expected the columns {listing(shape.header)}, found {listing(schema.names) or 'none'}")
    if schema.metadata != (METADATA if says_synthetic else None):
        raise TableError("expected the metadata that the program writes, found others")
    types = [pa.int64()] if shape.key else []
    types += [pa.dictionary(pa.int32(), pa.string(), ordered=order) for order in shape.ordered]
    if schema.types != [*types, *([pa.float64()] if shape.weighted else []), *([pa.int8()] if shape.marked else [])]:
        raise TableError("expected dictionaries of labels, ordered where the bins are, found others")
    if not footer.num_rows and most is None:
        raise TableError(f"expected rows of {len(shape.header)} values, found none")
    if most is not None and footer.num_rows > most:
        raise TableError(f"expected at most {most} rows, found {footer.num_rows}")
    _check_footer(footer, n_rows, sum(len(label.encode()) for known in shape.labels for label in known))
    batches = file.iter_batches(shape.rows_per_batch)
    while (batch := _next(batches)) is not None:
        yield batch


def _next(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """The next batch of a Parquet file, None after the last. Raises TableError."""
    import pyarrow as pa

    try:
        return next(batches, None)
    except (pa.ArrowException, OSError):
        pass
    raise TableError("expected a Parquet file, found something else")


_BUFFER = 2**16
"""Bytes of each column that are read at a time."""
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
