"""Read data.csv and data.parquet in batches, and count the released rows by the bins of their schema."""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from synthrelease.data.counts import Counts, Tally, packed
from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked, of_member
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import OutputError, cut, listing, so_many
from synthrelease.published.base import Content, opened
from synthrelease.published.columns import ColumnPart
from synthrelease.settings.tables import SYNTHETIC, BundleTable

if TYPE_CHECKING:
    import pyarrow as pa

    from synthrelease.data.synthetic_table import SyntheticTable

# The rows of CSV and Parquet files as bin indices. The rows are read in batches, because a wide table has far more values than
# labels.

ROWS_PER_BATCH = 50_000
VALUES_PER_BATCH = 2**19
"""Largest number of values in a batch. A batch of a wide table has fewer rows."""
_BLOCK = 2**22  # Bytes of a CSV file that are read at once. No line may be longer than this.
MARK = "1"
"""The value of the column `synthetic` in every row."""


class TableError(OutputError):
    """Raised if a table of a bundle does not match its schema."""


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """The columns of a released table as a reader of its files needs them.

    Attributes
    ----------
    names, labels, ordered : for each column of the schema, its name, the labels of its bins, and whether these bins are
        ordered.
    weighted : whether a column of weights follows the other columns.
    marked : whether the last column is `synthetic`, which is 1 in every row.
    linked : the assignment of columns to roots and to members, which have two separate files, or None.
    key : the name of the key column, which is the first column, or empty.
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
        keyed = [*([self.key] if self.key else []), *self.names]
        return [*keyed, *([WEIGHT] if self.weighted else []), *([SYNTHETIC] if self.marked else [])]

    @property
    def layout(self) -> Layout:
        return Layout(columns=self.names, sizes=tuple(len(labels) for labels in self.labels))

    @property
    def rows_per_batch(self) -> int:
        return max(1, min(ROWS_PER_BATCH, VALUES_PER_BATCH // len(self.header)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsBatch:
    """A batch of consecutive rows of a file. If the table has members, each row is a root (such as a household) with all
    its members.

    Attributes
    ----------
    bins : (n_rows,) bin indices of each column, in the smallest sufficient integer type.
    weights : (n_rows,) weights of the rows, or None for a table without weights.
    keys : (n_rows,) the number of the root of each row. Empty for a table without members.
    """

    bins: list[np.ndarray]
    weights: np.ndarray | None = None
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.bins[0])

    def __getitem__(self, part: slice) -> RowsBatch:
        weights = None if self.weights is None else self.weights[part]
        return RowsBatch(bins=[bins[part] for bins in self.bins], weights=weights, keys=self.keys[part])

    @classmethod
    def joined(cls, batches: Iterable[RowsBatch], shape: TableShape) -> RowsBatch:
        none = cls(bins=[np.zeros(0, dtype=np.min_scalar_type(max(len(labels) - 1, 0))) for labels in shape.labels])
        batches = [none, *batches]
        bins = [np.concatenate(parts) for parts in zip(*(batch.bins for batch in batches), strict=True)]
        weights = [batch.weights for batch in batches if batch.weights is not None]
        keys = np.concatenate([batch.keys for batch in batches])
        return cls(bins=bins, weights=np.concatenate(weights) if weights else None, keys=keys)


def written(fields: Sequence[str]) -> bytes:
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue().encode("utf-8")


class LabelledBins:
    """A converter from the labels of one column, an Arrow dictionary in any order, to the bin indices of the rows."""

    def __init__(self, name: str, labels: Sequence[str]):
        self._name, self._places = name, {label: index for index, label in enumerate(labels)}
        self._kind = np.min_scalar_type(max(len(labels) - 1, 0))
        self._known: tuple[pa.Array, np.ndarray] | None = None

    def bins(self, column: pa.DictionaryArray, line: int) -> np.ndarray:
        """Return the (n_rows,) bin indices, in the smallest sufficient integer type.

        Raises
        ------
        TableError : if a string is not the label of a bin. The message states the line of the file; `line` is the line of
            the first row.
        """
        if self._known is None or not self._known[0].equals(column.dictionary):  # usually the dictionary of the previous batch
            texts = column.dictionary.to_pylist()
            self._known = column.dictionary, np.array([self._places.get(text, -1) for text in texts] + [-1], dtype=np.int64)
        of_texts, missing = self._known[1], len(self._known[1]) - 1
        if column.indices.null_count:  # pyarrow would import pandas to fill gaps, and also for `to_numpy`
            indices = np.array([missing if index is None else index for index in column.indices.to_pylist()])
        else:
            indices = np.from_dlpack(column.indices)
        if of_texts[:-1].min(initial=0) < 0 or column.indices.null_count:
            unknown = of_texts[indices] < 0
            if unknown.any():
                row = int(np.argmax(unknown))
                text, known = cut(str(column[row].as_py()), 40), listing(self._places)
                raise TableError(f"line {line + row} has {text!r}, which is not a bin of {self._name!r} ({known})")
        if np.array_equal(of_texts[:-1], np.arange(missing)):
            return indices.astype(self._kind)
        bins: np.ndarray = of_texts.astype(self._kind)[indices]
        return bins


def rows_of(batches: Iterator[pa.RecordBatch], shape: TableShape) -> Iterator[RowsBatch]:
    """Yield the rows of a file in batches, with bin indices instead of labels.

    Raises
    ------
    TableError : if a string is not a label, a weight is not a number of at least 0, a key is missing, or the column
        `synthetic` has a wrong value.
    """
    labelled, line = [LabelledBins(name, labels) for name, labels in zip(shape.names, shape.labels, strict=True)], 2
    for batch in batches:
        bins = [bins_of.bins(batch[name], line) for name, bins_of in zip(shape.names, labelled, strict=True)]
        if shape.marked and {str(mark) for mark in batch[SYNTHETIC].unique().to_pylist()} - {MARK}:
            raise TableError(f"the column {SYNTHETIC!r} must be {MARK} in every row")
        weights = _numbers(batch, WEIGHT) if shape.weighted else None
        if weights is not None and not ((weights >= 0) & (weights < np.inf)).all():
            raise TableError(f"a value of {WEIGHT!r} is not a number of at least 0")
        keys = _numbers(batch, shape.key) if shape.key else np.zeros(0, dtype=np.int64)
        yield RowsBatch(bins=bins, weights=weights, keys=keys)
        line += batch.num_rows


def _numbers(batch: pa.RecordBatch, name: str) -> np.ndarray:
    if batch[name].null_count:
        raise TableError(f"the column {name!r} has rows without a number")
    return np.from_dlpack(batch[name])


def _is_plain(file: BinaryIO) -> bool:
    """Return whether a file has an even number of quotation marks and no byte order mark. Arrow accepts other files, but
    some programs do not.
    """
    marked, quotes = file.read(len(BOM_UTF8)) == BOM_UTF8, 0
    file.seek(0)
    while block := file.read(_BLOCK):
        quotes += block.count(b'"')
    file.seek(0)
    return not marked and quotes % 2 == 0


def _other_columns(found: Sequence[str], expected: Sequence[str]) -> str:
    wrong = "are in the wrong order" if sorted(found) == sorted(expected) else "are wrong"
    return f"the columns {wrong}: {listing(found) or 'none'}. They must be {listing(expected)}"


def csv_batches(content: Content, shape: TableShape, first: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a CSV file in batches of Arrow, with dictionary-encoded strings.

    Parameters
    ----------
    first : names of further text columns before the columns of the shape.

    Raises
    ------
    TableError : if the header differs from the expected header, or a line is not CSV in UTF-8 or has more or fewer values
        than the header. Also if the file has a byte order mark or an unclosed quotation mark.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    texts: dict[str, Any] = dict.fromkeys([*first, *shape.names], pa.dictionary(pa.int32(), pa.string()))
    kinds = {shape.key: pa.int64(), WEIGHT: pa.float64(), SYNTHETIC: pa.string()} | texts
    header = [*first, *shape.header]
    numbers = {shape.key: "whole numbers", WEIGHT if shape.weighted else "": "numbers"}
    with_numbers = "".join(f", with {kind} as {name!r}" for name, kind in numbers.items() if name)
    problem = f"the lines cannot be read as CSV in UTF-8 with the columns {listing(header)}{with_numbers}"

    def ragged(row: arrow.InvalidRow) -> str:
        nonlocal problem
        problem = (
            f"line {row.number} has {so_many(row.actual_columns, 'value')}, but the header has {row.expected_columns} columns"
        )
        return "error"

    try:
        with opened(content) as file:
            if not _is_plain(file):
                raise TableError("the file has a byte order mark or an unclosed quotation mark")
            reader = arrow.open_csv(
                file,
                arrow.ReadOptions(use_threads=False, block_size=_BLOCK),
                arrow.ParseOptions(ignore_empty_lines=False, newlines_in_values=True, invalid_row_handler=ragged),
                arrow.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
            )
            if reader.schema.names != header:
                raise TableError(_other_columns(reader.schema.names, header))
            while (batch := next(reader, None)) is not None:
                yield batch
        return
    except (pa.ArrowException, OSError):
        pass
    raise TableError(problem)


# The files of a released table: one file for all rows, or one file for roots (such as households) and one file for their
# members.


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """A table of a release: all rows, only the roots (such as households), or only the members (such as persons).

    Attributes
    ----------
    stem : the file name without its extension.
    key : name of the key column of whole numbers, which comes first, or empty.
    columns : the columns of the schema in the table, with their names there. For members, these are the columns of the
        first member.
    of_members : whether each row of this table is a member (not a root).
    """

    stem: str
    key: str
    columns: tuple[ColumnPart, ...]
    of_members: bool = False

    def named(self, ending: str) -> str:
        return f"{self.stem}.{ending}"


def files_of(columns: Sequence[ColumnPart], linked: Linked | None, bundle: BundleTable) -> tuple[TableFile, ...]:
    """Return the files of a table: one file for all rows or, for linked tables, one for roots and one for members."""
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


# Roots and their members in two files, data.csv and members.csv. Roots and members are read as wide rows. The key of a root is
# its number, counted from 1 in the order of the file. The members of a root follow each other: the first member, the second
# member, and so on.


def shape_of_roots(shape: TableShape) -> TableShape:
    """Describe data.csv for linked tables: the key, and the columns of roots, including the number of members."""
    linked = _linked(shape)
    return _part(shape, linked.of_roots(shape.names), shape.weighted)


def shape_of_members(shape: TableShape) -> TableShape:
    """Describe members.csv: the key of the root, and the columns of one member."""
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
    """Return, for each column of a member, its indices for the first member, the second, and so on."""
    linked = _linked(shape)
    return [[shape.names.index(slot[column]) for slot in linked.slots] for column in range(len(linked.names))]


def _wide(of_roots: Iterator[RowsBatch], of_members: Iterator[RowsBatch], shape: TableShape) -> Iterator[RowsBatch]:
    """Join the files of roots and members into one batch, in which each row is a root with all its members.

    Raises
    ------
    TableError : if the keys of roots are not 1, 2, 3, ..., or if a root has more or fewer members than data.csv states.
    """
    linked, part = _linked(shape), shape_of_roots(shape)
    roots, members = RowsBatch.joined(of_roots, part), RowsBatch.joined(of_members, shape_of_members(shape))
    n = len(roots)
    if not np.array_equal(roots.keys, np.arange(1, n + 1)):
        raise TableError(f"the keys of the roots ({part.key!r}) are not 1, 2, 3 and so on")
    number = linked.numbers(roots.bins[part.names.index(linked.size)])
    of_row = np.repeat(np.arange(n), number)
    if not np.array_equal(members.keys[: len(of_row)], of_row + 1):
        raise TableError(
            "the members do not agree with the roots. The members of each root must follow one another, and their number must "
            f"equal the value of {linked.size!r} of the root"
        )
    if len(members) > len(of_row):
        raise TableError("the file of members has further rows after the members of the last root")
    columns = dict(zip((shape.names.index(name) for name in part.names), roots.bins, strict=True))
    place_of_row = np.arange(len(of_row)) - np.repeat(np.cumsum(number) - number, number)
    for bins, indices in zip(members.bins, slots_of(shape), strict=True):
        for slot, index in enumerate(indices):
            in_slot = place_of_row == slot
            columns[index] = np.full(n, len(shape.labels[index]) - 1, dtype=bins.dtype)
            columns[index][of_row[in_slot]] = bins[in_slot]
    yield RowsBatch(bins=[columns[index] for index in range(len(shape.names))], weights=roots.weights)


NOTICE = "Synthetic data. No row is a person."
"""The note at the beginning of a file, for formats that allow a note."""
METADATA = {b"description": NOTICE.encode("ascii")}


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """The distinct rows (cells) of the released table, each with its number of occurrences, and the labels of the bins.

    Attributes
    ----------
    weights : (n_cells,) weight of a row in each cell, or None for a table without weights.
    marked : whether the last column is `synthetic`, which is 1 in every row.
    linked : the assignment of columns to roots and to members, or None.
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
        return TableShape(
            names=self.names,
            labels=self.labels,
            ordered=self.ordered,
            weighted=self.weights is not None,
            marked=self.marked,
            linked=self.linked,
        )

    @property
    def names(self) -> tuple[str, ...]:
        return self.counts.layout.columns

    def cells_of_rows(self, most: int) -> Iterator[np.ndarray]:
        """Yield the indices of the distinct rows (cells) of all rows in order, in arrays of at most `most` rows."""
        total = self.counts.total
        ends = np.cumsum(self.counts.counts) if total > len(self.counts) else None
        for start in range(0, total, most):
            rows = np.arange(start, min(start + most, total))
            yield rows if ends is None else np.searchsorted(ends, rows, side="right")

    def of_roots(self) -> ReleasedTable:
        """Return the table without the columns of members, or this table if it has no members."""
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
        ends = [-1 if name in linked.whole else None for name in linked.names]  # without the bin of slots without a member
        labels = [self.labels[index][:end] for index, end in zip(slots[0], ends, strict=True)]
        layout = Layout(columns=linked.names, sizes=tuple(map(len, labels)))
        return ReleasedTable(
            labels=tuple(labels),
            ordered=tuple(self.ordered[index] for index in slots[0]),
            counts=Counts.of(layout, bins, np.concatenate([self.counts.counts[cells] for cells in filled])),
            marked=self.marked,
        )

    @cached_property
    def margins(self) -> list[np.ndarray]:
        """For every column, the (n_bins,) numbers of released rows in each bin."""
        return self.counts.margins()

    def two_way(self, left: int, right: int) -> np.ndarray:
        """Cross-tabulate two columns, given by their indices; `left` must be smaller than `right`."""
        return self.counts.marginal((left, right))


def read_csv(content: Content, shape: TableShape, members: Content = b"") -> ReleasedTable:
    """Read data.csv, and return its rows as counts, with weights if the table has weights.

    Parameters
    ----------
    members : members.csv, if the rows are roots with members.

    Raises
    ------
    TableError : if the header or a value does not fit the schema.
    """
    return table_of(csv_rows(content, shape, members), shape)


def read_parquet(
    content: Content, shape: TableShape, says_synthetic: bool, n_rows: int, members: Content = b""
) -> ReleasedTable:
    return table_of(parquet_rows(content, shape, says_synthetic, n_rows, members), shape)


def csv_rows(content: Content, shape: TableShape, members: Content = b"") -> Iterator[RowsBatch]:
    """Yield the rows of data.csv in batches and in order, each root together with its members.

    Raises
    ------
    TableError : as in `read_csv`.
    """
    if shape.linked is None:
        return rows_of(csv_batches(content, shape), shape)
    roots, of_members = shape_of_roots(shape), shape_of_members(shape)
    read_members = rows_of(csv_batches(members, of_members), of_members)
    return _wide(rows_of(csv_batches(content, roots), roots), read_members, shape)


def table_of(batches: Iterable[RowsBatch], shape: TableShape) -> ReleasedTable:
    """Count how often each distinct row occurs in these batches.

    Raises
    ------
    TableError : if there are no rows, or equal rows have different weights.
    """
    tally, weighted = Tally(shape.layout), list[RowsBatch]()
    for batch in batches:
        tally.add(packed(shape.layout, batch.bins))
        weighted += [batch] if shape.weighted else []
    total = tally.total()
    if not len(total):
        raise TableError("the table has no rows")
    return ReleasedTable(
        labels=shape.labels,
        ordered=shape.ordered,
        counts=total,
        weights=_of_cells(total, RowsBatch.joined(weighted, shape)) if shape.weighted else None,
        marked=shape.marked,
        linked=shape.linked,
    )


def _of_cells(counts: Counts, rows: RowsBatch) -> np.ndarray:
    """Return the (n_cells,) weights of the distinct rows of a table. Equal rows must have the same weight."""
    cells, of_cells, weights = counts.find(rows.bins), np.zeros(len(counts)), np.asarray(rows.weights)
    of_cells[cells] = weights
    if not np.array_equal(of_cells[cells], weights):
        raise TableError("equal rows have different weights")
    return of_cells


def parquet_rows(
    content: Content, shape: TableShape, says_synthetic: bool = False, n_rows: int | None = None, members: Content = b""
) -> Iterator[RowsBatch]:
    """Yield batches of the rows of data.parquet in order, with weights if the table has weights.

    Parameters
    ----------
    n_rows : number of rows that the footer must state. It is checked before any row is read, because many equal rows take
        hardly any space in a file, but could fill the memory.
    members : members.parquet, if the rows are roots with members.

    Raises
    ------
    TableError : if the columns, the number of rows or a value does not fit the schema.
    """
    if shape.linked is None:
        return rows_of(_parquet_batches(content, shape, says_synthetic, n_rows), shape)
    most = None if n_rows is None else n_rows * shape.linked.most
    roots, of_members = shape_of_roots(shape), shape_of_members(shape)
    read_roots = rows_of(_parquet_batches(content, roots, says_synthetic, n_rows), roots)
    return _wide(read_roots, rows_of(_parquet_batches(members, of_members, says_synthetic, most=most), of_members), shape)


def _parquet_batches(
    content: Content, shape: TableShape, says_synthetic: bool, n_rows: int | None = None, most: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one Parquet file in batches. More than `most` rows raise a TableError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        source = pa.BufferReader(content) if isinstance(content, bytes) else pa.OSFile(str(content.path))
        file = pq.ParquetFile(source, buffer_size=_BUFFER)
        schema, footer = file.schema_arrow, file.metadata
    except (pa.ArrowException, OSError):
        raise TableError("the file cannot be read as a Parquet file") from None
    if schema.names != shape.header:
        raise TableError(_other_columns(schema.names, shape.header))
    if schema.metadata != (METADATA if says_synthetic else None):
        raise TableError("its metadata differ from the metadata that synthrelease writes")
    types = [pa.int64()] if shape.key else []
    types += [pa.dictionary(pa.int32(), pa.string(), ordered=order) for order in shape.ordered]
    types += [*([pa.float64()] if shape.weighted else []), *([pa.int8()] if shape.marked else [])]
    for name, found, expected in zip(schema.names, schema.types, types, strict=True):
        if found != expected:
            raise TableError(f"the column {name!r} has the type {found}. It must have the type {expected}")
    if not footer.num_rows and most is None:
        raise TableError("the table has no rows")
    if most is not None and footer.num_rows > most:
        raise TableError(f"the table has {so_many(footer.num_rows, 'row')}, but at most {most:,} are possible")
    _check_footer(footer, n_rows, sum(len(label.encode()) for labels in shape.labels for label in labels))
    batches = file.iter_batches(shape.rows_per_batch)
    while (batch := _next(batches)) is not None:
        yield batch


def _next(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    import pyarrow as pa

    try:
        return next(batches, None)
    except (pa.ArrowException, OSError):
        raise TableError("the file cannot be read as a Parquet file") from None


_BUFFER = 2**16  # Bytes of each column that are read at once
_BYTES_OF_A_VALUE = 32  # Largest number of bytes for a value in uncompressed dictionary pages of Parquet, including headers


def _check_footer(footer: Any, n_rows: int | None, label_bytes: int) -> None:
    """Refuse a Parquet file whose footer states numbers of rows and bytes that no released table can have."""
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    in_groups = sum(group.num_rows for group in groups)
    values = {group.column(index).num_values - group.num_rows for group in groups for index in range(group.num_columns)}
    if n_rows is not None and footer.num_rows != n_rows:
        raise TableError(f"the table has {so_many(footer.num_rows, 'row')}, but release.json states {n_rows:,}")
    most = (footer.num_rows + 1000) * footer.num_columns * _BYTES_OF_A_VALUE + len(groups) * 4 * label_bytes
    if in_groups != footer.num_rows or values - {0} or sum(group.total_byte_size for group in groups) > most:
        raise TableError("the file does not have one value for each row and column")
