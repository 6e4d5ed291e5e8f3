"""data.csv and data.parquet, read back piece by piece: the released rows as counts of the bins of their schema."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.data.counts import Counts, Tally
from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked, of_member
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import OutputError, cut, listing
from synthrelease.published.base import Content, opened
from synthrelease.published.columns import ColumnPart
from synthrelease.settings.tables import SYNTHETIC, BundleTable

if TYPE_CHECKING:
    import pyarrow as pa

    from synthrelease.data.synthetic_table import SyntheticTable

# The lines of data.csv as bins: read in batches, since a table of many columns has far more texts than it has labels. They are
# read by Python's `csv` (`rows_of_table`), which also finds what does not fit, and where. A large table is read from Parquet.

ROWS_PER_BATCH = 50_000
VALUES_PER_BATCH = 2**19
"""At most, so that fewer rows of a wide table are taken at a time."""
_BLOCK, _LONGEST = 2**21, 2**22
"""Bytes of data.csv that are looked at at a time, and of one line, at most about."""
MARK = "1"
"""The value of the column `synthetic` in every row."""


class TableError(OutputError):
    """A table of a bundle that is not the one that its schema describes."""


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """The columns of a released table.

    Attributes
    ----------
    names, labels, ordered : of the columns of the schema; `labels` are those of their bins, and `ordered` says whether these
        have an order.
    weighted : whether a column of weights follows.
    marked : whether the last column says in every row that it is synthetic.
    linked : how the columns are those of roots and their members, which are written into two files; None where they are not.
    key : the name of a column of numbers before all others; empty where there is none.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    ordered: tuple[bool, ...]
    weighted: bool = False
    marked: bool = False
    linked: Linked | None = None
    key: str = ""

    @property
    def header(self) -> list[str]:
        """The names of all columns, in their order."""
        keyed = [*([self.key] if self.key else []), *self.names]
        return [*keyed, *([WEIGHT] if self.weighted else []), *([SYNTHETIC] if self.marked else [])]

    @property
    def layout(self) -> Layout:
        """Names and numbers of bins of the columns of the schema."""
        return Layout(columns=self.names, sizes=tuple(len(labels) for labels in self.labels))

    @property
    def rows_per_batch(self) -> int:
        """Return how many rows are taken at a time."""
        return max(1, min(ROWS_PER_BATCH, VALUES_PER_BATCH // len(self.header)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsBatch:
    """Some rows of a released table, in their order.

    Attributes
    ----------
    bins : for every column, (n_rows,) the bins, in the smallest type that holds them.
    weights : (n_rows,) of each, None where the table has none.
    """

    bins: list[np.ndarray]
    weights: np.ndarray | None = None


def written(fields: Sequence[str]) -> bytes:
    """A line of data.csv, with quotes around what needs them."""
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue().encode("utf-8")


class NoLabel(LookupError):
    """A text that is no label; `row` is the first with one."""

    def __init__(self, row: int):
        self.row = row


class LabelledBins:
    """The bins of a column that Arrow holds as a dictionary of texts, with the labels in any order."""

    def __init__(self, labels: Sequence[str]):
        self._places = {label: index for index, label in enumerate(labels)}
        self._kind = np.min_scalar_type(max(len(labels) - 1, 0))
        self._known: tuple[pa.Array, np.ndarray] | None = None

    def bins(self, column: pa.DictionaryArray) -> np.ndarray:
        """(n_rows,) the bins, in the smallest type that holds them. Raises NoLabel."""
        if self._known is None or not self._known[0].equals(column.dictionary):  # most often that of the batch before
            texts = column.dictionary.to_pylist()
            self._known = column.dictionary, np.array([self._places.get(text, -1) for text in texts] + [-1], dtype=np.int64)
        of_texts, missing = self._known[1], len(self._known[1]) - 1
        if column.indices.null_count:  # pyarrow would import pandas to fill them, and also for `to_numpy`
            indices = np.array([missing if index is None else index for index in column.indices.to_pylist()])
        else:
            indices = np.from_dlpack(column.indices)
        if of_texts[:-1].min(initial=0) < 0 or column.indices.null_count:
            unknown = of_texts[indices] < 0
            if unknown.any():
                raise NoLabel(int(np.argmax(unknown)))
        if np.array_equal(of_texts[:-1], np.arange(missing)):
            return indices.astype(self._kind)
        bins: np.ndarray = of_texts.astype(self._kind)[indices]
        return bins


def count_lines(content: Content) -> int:
    """Return how many lines data.csv has at most."""
    with opened(content) as file:
        return 1 + sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


def csv_lines(content: Content) -> Iterator[list[str]]:
    """The fields of every line, the header first. Raises TableError where it is no CSV file in UTF-8."""
    try:
        with opened(content) as file:
            yield from csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""), strict=True)
    except (UnicodeDecodeError, csv.Error):
        pass
    else:
        return
    raise TableError("expected a CSV file in UTF-8, found something else")


def rows_of_table(lines: Iterator[Sequence[str]], shape: TableShape) -> Iterator[RowsBatch]:
    """Batches of the table whose lines these are, the header before them.

    Raises
    ------
    TableError : for another header, and at the first batch with a line that does not fit.
    """
    _check_header(next(lines, []), shape)
    return rows_of_lines(lines, shape)


def rows_of_lines(lines: Iterable[Sequence[str]], shape: TableShape) -> Iterator[RowsBatch]:
    """Batches of the table whose lines these are, without a header. Raises TableError as `rows_of_table`."""
    indices = [{label: index for index, label in enumerate(labels)} for labels in shape.labels]
    read, line = iter(lines), 2
    while rows := list(islice(read, shape.rows_per_batch)):
        yield _batch(rows, shape, indices, line)
        line += len(rows)


def _batch(rows: list[Sequence[str]], shape: TableShape, indices: list[dict[str, int]], line: int) -> RowsBatch:
    """The rows from a line on. Raises TableError."""
    size = len(shape.header)
    ragged = next((i for i, row in enumerate(rows) if len(row) != size), None)
    if ragged is not None:
        raise TableError(f"expected rows of {size} values, found one of {len(rows[ragged])} in line {line + ragged}")
    columns, weights = list(zip(*rows, strict=True)), None
    if shape.marked:
        _check(columns.pop(), {MARK}, f"{MARK} as {SYNTHETIC!r}", line)
    if shape.weighted:
        texts = columns.pop()
        numbers = {text: _number(text) for text in set(texts)}
        weights_known = {text for text, number in numbers.items() if 0 <= number < math.inf}
        _check(texts, weights_known, f"a number of at least 0 as {WEIGHT!r}", line)
        weights = np.array([numbers[text] for text in texts])
    bins = []
    for name, texts, index in zip(shape.names, columns, indices, strict=True):
        _check(texts, index.keys(), f"a bin of {name!r} ({listing(index)})", line)
        kind = np.min_scalar_type(max(len(index) - 1, 0))
        bins.append(np.fromiter(map(index.__getitem__, texts), dtype=kind, count=len(texts)))
    return RowsBatch(bins=bins, weights=weights)


def _check(texts: Sequence[str], allowed: Set[str], expected: str, line: int) -> None:
    """Raise TableError where a text of a column is none of those that may stand there."""
    unknown = set(texts) - allowed
    if unknown:
        first = next(index for index, text in enumerate(texts) if text in unknown)
        raise TableError(f"expected {expected} in line {line + first}, found {cut(texts[first], 40)!r}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


# The files of a released table: one; or that of roots and that of their members, with their columns.


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """One of the tables of a release, in every format under one name.

    Attributes
    ----------
    stem : the name before its ending.
    key : the name of a column of whole numbers before all others; empty where there is none.
    columns : of the schema, under the names that they have in this table; of members those of the first one.
    of_members : whether its rows are members.
    """

    stem: str
    key: str
    columns: tuple[ColumnPart, ...]
    of_members: bool = False

    def named(self, ending: str) -> str:
        """The file in one format."""
        return f"{self.stem}.{ending}"


def files_of(columns: Sequence[ColumnPart], linked: Linked | None, bundle: BundleTable) -> tuple[TableFile, ...]:
    """The files of a table with these columns."""
    if linked is None:
        return (TableFile(stem=bundle.stem, key="", columns=tuple(columns)),)
    by_name = {column.name: column for column in columns}
    roots = tuple(by_name[name] for name in linked.of_roots(by_name))
    members = []
    for plain, name in zip(linked.names, linked.slots[0], strict=True):
        column = by_name[name]
        bins = [bin_ for bin_ in column.bins if not (bin_.missing and plain in linked.whole)]
        described = column.description.removesuffix(of_member(1))
        members.append(column.model_copy(update={"name": plain, "bins": bins, "description": described}))
    return (
        TableFile(stem=bundle.stem, key=linked.key, columns=roots),
        TableFile(stem=bundle.named("members"), key=linked.key, columns=tuple(members), of_members=True),
    )


# Roots and their members in two files, data.csv and members.csv, read back as wide rows. A key is the number of a root, from
# 1 in the order of the file; the members of a root stand one after the other, in the order of its slots. So both files are
# read side by side, piece by piece.

_LINKED_BLOCK = 2**22
"""Bytes of a CSV file that are taken at a time."""


def shape_of_roots(shape: TableShape) -> TableShape:
    """Return what the columns of data.csv are: the key, those of roots, the number of members among them."""
    linked = _linked(shape)
    return _part(shape, linked.of_roots(shape.names), shape.weighted)


def shape_of_members(shape: TableShape) -> TableShape:
    """Return what the columns of members.csv are: the key of the root, and those of a member."""
    linked = _linked(shape)
    return replace(_part(shape, linked.slots[0], weighted=False), names=linked.names)


def _part(shape: TableShape, names: Sequence[str], weighted: bool) -> TableShape:
    indices = [shape.names.index(name) for name in names]
    return replace(
        shape,
        names=tuple(names),
        labels=tuple(shape.labels[index] for index in indices),
        ordered=tuple(shape.ordered[index] for index in indices),
        weighted=weighted,
        linked=None,
        key=_linked(shape).key,
    )


def _linked(shape: TableShape) -> Linked:
    if shape.linked is None:
        raise ValueError("a table without members is one file")
    return shape.linked


def slots_of(shape: TableShape) -> list[list[int]]:
    """Return for each column of members where it stands in the wide row: one place for each slot."""
    linked = _linked(shape)
    return [[shape.names.index(slot[column]) for slot in linked.slots] for column in range(len(linked.names))]


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyedRows:
    """Some rows of one of the files.

    Attributes
    ----------
    keys : (n_rows,) whole numbers.
    bins : for every column, (n_rows,).
    weights : (n_rows,), None where the file has none.
    """

    keys: np.ndarray
    bins: list[np.ndarray]
    weights: np.ndarray | None = None

    def __getitem__(self, part: slice) -> KeyedRows:
        weights = None if self.weights is None else self.weights[part]
        return KeyedRows(keys=self.keys[part], bins=[bins[part] for bins in self.bins], weights=weights)


def linked_csv(roots: Content, members: Content, shape: TableShape) -> Iterator[RowsBatch]:
    """Batches of the wide rows of data.csv and members.csv.

    Raises
    ------
    TableError : for other headers, values that the schema does not have, keys that are not 1, 2, 3, ..., and members that no
        root counts.
    """
    with ExitStack() as stack:
        yield from _wide(_csv(roots, shape_of_roots(shape), stack), _csv(members, shape_of_members(shape), stack), shape)


def linked_parquet(
    roots: Iterator[pa.RecordBatch], members: Iterator[pa.RecordBatch], shape: TableShape
) -> Iterator[RowsBatch]:
    """Batches of the wide rows of data.parquet and members.parquet, from those of each. Raises TableError as `linked_csv`."""
    yield from _wide(_keyed(roots, shape_of_roots(shape)), _keyed(members, shape_of_members(shape)), shape)


def _csv(content: Content, shape: TableShape, stack: ExitStack) -> Iterator[KeyedRows]:
    return _keyed(_csv_batches(content, shape, stack), shape)


def _csv_batches(content: Content, shape: TableShape, stack: ExitStack) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    kinds: dict[str, Any] = dict.fromkeys(shape.names, pa.string()) | {shape.key: pa.int64()}
    kinds |= ({WEIGHT: pa.float64()} if shape.weighted else {}) | ({SYNTHETIC: pa.string()} if shape.marked else {})
    try:
        file = stack.enter_context(opened(content))
        reader = arrow.open_csv(
            file,
            arrow.ReadOptions(use_threads=False, block_size=_LINKED_BLOCK),
            arrow.ParseOptions(ignore_empty_lines=False),
            arrow.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
        )
        _check_header(reader.schema.names, shape)
        while (batch := next(reader, None)) is not None:
            yield batch
        return
    except (pa.ArrowException, OSError):
        pass
    raise TableError(f"expected lines of {listing(shape.header)}, with whole numbers as {shape.key!r}, found something else")


def _check_header(names: Sequence[str], shape: TableShape) -> None:
    if names != shape.header:
        raise TableError(f"expected the columns {listing(shape.header)} in the header, found {listing(names) or 'none'}")


def _keyed(batches: Iterator[pa.RecordBatch], shape: TableShape) -> Iterator[KeyedRows]:
    """Batches with bins in place of labels."""
    import pyarrow as pa

    labelled = [LabelledBins(labels) for labels in shape.labels]
    for batch in batches:
        bins = []
        for name, bins_of in zip(shape.names, labelled, strict=True):
            column = batch[name]
            try:
                bins.append(bins_of.bins(column if pa.types.is_dictionary(column.type) else column.dictionary_encode()))
            except NoLabel as found:
                key = batch[shape.key][found.row].as_py()
                raise TableError(f"expected a bin of {name!r} where {shape.key} is {key}, found something else") from None
        if shape.marked and {str(mark) for mark in batch[SYNTHETIC].unique().to_pylist()} - {MARK}:
            raise TableError(f"expected {MARK} as {SYNTHETIC!r} in every row, found something else")
        if batch[shape.key].null_count:
            raise TableError(f"expected a whole number as {shape.key!r} in every row, found something else")
        yield KeyedRows(
            keys=np.from_dlpack(batch[shape.key]),
            bins=bins,
            weights=np.from_dlpack(batch[WEIGHT]) if shape.weighted else None,
        )


def _wide(roots: Iterator[KeyedRows], members: Iterator[KeyedRows], shape: TableShape) -> Iterator[RowsBatch]:
    """Both files side by side."""
    linked, done = _linked(shape), 0
    of_roots = shape_of_roots(shape)
    waiting = _Waiting(members, shape_of_members(shape))
    columns = slots_of(shape)
    for batch in roots:
        n = len(batch.keys)
        if not np.array_equal(batch.keys, np.arange(done + 1, done + n + 1)):
            raise TableError(f"expected {of_roots.key!r} to be 1, 2, 3 and so on, found other keys")
        columns_of_row: list[np.ndarray] = [np.empty(0)] * len(shape.names)
        for name, bins in zip(of_roots.names, batch.bins, strict=True):
            columns_of_row[shape.names.index(name)] = bins
        number = linked.numbers(batch.bins[of_roots.names.index(linked.size)])
        rows = waiting.take(int(number.sum()))
        if not np.array_equal(rows.keys, np.repeat(batch.keys, number)):
            raise TableError(
                f"expected the members of each root one after the other, as many as {linked.size!r} says, found others"
            )
        of_row = np.repeat(np.arange(n), number)
        place_of_row = np.arange(len(of_row)) - np.repeat(np.cumsum(number) - number, number)
        for bins, indices in zip(rows.bins, columns, strict=True):
            for slot, index in enumerate(indices):
                column = np.full(n, len(shape.labels[index]) - 1, dtype=bins.dtype)
                in_slot = place_of_row == slot
                column[of_row[in_slot]] = bins[in_slot]
                columns_of_row[index] = column
        yield RowsBatch(bins=columns_of_row, weights=batch.weights)
        done += n
    if waiting.more():
        raise TableError("expected no member after the members of the last root, found more")


class _Waiting:
    """Rows that come in batches, and are taken in any number."""

    def __init__(self, batches: Iterator[KeyedRows], shape: TableShape):
        kinds = [np.min_scalar_type(max(len(labels) - 1, 0)) for labels in shape.labels]
        self._batches = batches
        self._left = KeyedRows(keys=np.zeros(0, dtype=np.int64), bins=[np.zeros(0, dtype=kind) for kind in kinds])

    def take(self, n: int) -> KeyedRows:
        """The next rows, fewer where there are no more."""
        parts = [self._left]
        while sum(len(part.keys) for part in parts) < n and (batch := next(self._batches, None)) is not None:
            parts.append(batch)
        whole = KeyedRows(
            keys=np.concatenate([part.keys for part in parts]),
            bins=[np.concatenate(bins) for bins in zip(*(part.bins for part in parts), strict=True)],
        )
        self._left = whole[n:]
        return whole[:n]

    def more(self) -> bool:
        """Return whether any are left."""
        return bool(len(self._left.keys)) or any(len(batch.keys) for batch in self._batches)


NOTICE = "Synthetic data. No row is a person."
"""The note at the beginning of a file, in formats that allow one."""
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
        """Return of the rows from `start` to before `stop`, which is above it, their cells, and how many of them are of
        each."""
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
        """Return what its columns are."""
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
        """Return the rows of the table, some at a time."""
        return RowOrder(self.counts.counts)

    def has(self, batches: Iterable[RowsBatch]) -> bool:
        """Return whether these are its rows, in their order and with their weights."""
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
            if not all(
                np.array_equal(values[cells] if once else np.repeat(values[cells], times), values_there)
                for values, values_there in columns
            ):
                return False
        return done == order.total

    def of_roots(self) -> ReleasedTable:
        """The rows of roots with their own columns alone; without members the whole table."""
        linked = self.linked
        if linked is None:
            return self
        indices = tuple(self.names.index(name) for name in linked.of_roots(self.names))
        bins = [self.counts.bins[index] for index in indices]
        return ReleasedTable(
            labels=tuple(self.labels[index] for index in indices),
            ordered=tuple(self.ordered[index] for index in indices),
            counts=Counts.of(self.counts.layout.subset(indices), bins, self.counts.counts),
            marked=self.marked,
        )

    def of_members(self) -> ReleasedTable | None:
        """The rows of members; None where there are none."""
        linked = self.linked
        if linked is None:
            return None
        number = linked.numbers(self.counts.bins[self.names.index(linked.size)])
        filled = [number > index for index in range(linked.most)]
        slots = [[self.names.index(name) for name in slot] for slot in linked.slots]
        bins = [
            np.concatenate([self.counts.bins[slot[column]][cells] for slot, cells in zip(slots, filled, strict=True)])
            for column in range(len(linked.names))
        ]
        labels = [self.labels[index] for index in slots[0]]
        labels = [
            labels_of[:-1] if name in linked.whole else labels_of for labels_of, name in zip(labels, linked.names, strict=True)
        ]
        layout = Layout(columns=linked.names, sizes=tuple(map(len, labels)))
        return ReleasedTable(
            labels=tuple(labels),
            ordered=tuple(self.ordered[index] for index in slots[0]),
            counts=Counts.of(layout, bins, np.concatenate([self.counts.counts[cells] for cells in filled])),
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
        return table_of(linked_csv(content, members, shape), shape, most)
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
    in_order, unsorted, weighted = _InOrder(shape.layout, most), Tally(shape.layout), list[RowsBatch]()
    for batch in batches:
        counts = Counts.of(shape.layout, batch.bins)
        if not in_order.append(counts):
            unsorted.add(counts)
        weighted += [batch] if shape.weighted else []
    total, rest = in_order.table(), unsorted.total()
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
        for array, new in zip((*self._words, self._counts), (*words, table.counts), strict=True):
            array[self._end : end] = new[again:]
        self._end = end
        return True

    def table(self) -> Counts:
        """All cells that were put there."""
        words = tuple(array[: self._end] for array in self._words)
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
        most = None if n_rows is None else n_rows * shape.linked.most
        of_roots = _parquet_batches(content, shape_of_roots(shape), says_synthetic, n_rows)
        of_members = _parquet_batches(members, shape_of_members(shape), says_synthetic, most=most)
        yield from linked_parquet(of_roots, of_members, shape)
        return
    labelled, line = [LabelledBins(labels) for labels in shape.labels], 2
    for batch in _parquet_batches(content, shape, says_synthetic, n_rows):
        if shape.marked and not np.all(batch[SYNTHETIC].to_numpy(zero_copy_only=False) == int(MARK)):
            raise TableError(f"expected {MARK} as {SYNTHETIC!r} in every row, found something else")
        bins = []
        for name, bins_of, column in zip(shape.names, labelled, batch.columns, strict=False):
            try:
                bins.append(bins_of.bins(column))
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
    _check_footer(footer, n_rows, sum(len(label.encode()) for labels in shape.labels for label in labels))
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
    """Raise TableError when the rows and bytes of which the file speaks are not those of a released table."""
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    in_groups = sum(group.num_rows for group in groups)
    values = {group.column(index).num_values - group.num_rows for group in groups for index in range(group.num_columns)}
    if n_rows is not None and footer.num_rows != n_rows:
        raise TableError(f"expected {n_rows} rows, found {footer.num_rows}")
    most = (footer.num_rows + 1000) * footer.num_columns * _BYTES_OF_A_VALUE + len(groups) * 4 * label_bytes
    if in_groups != footer.num_rows or values - {0} or sum(group.total_byte_size for group in groups) > most:
        raise TableError("expected a Parquet file of as many values as rows, found another")
