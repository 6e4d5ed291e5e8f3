"""Roots and their members in two files: data.csv and members.csv, both with a key first, read back as wide rows.

A key is the number of a root, from 1 in the order of the file; the members of a root stand one after the other, in the order of
its slots. So both files are read side by side, piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.data.linked import Linked
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import listing
from synthrelease.published.files import Content, opened
from synthrelease.published.lines import MARK, LabelledBins, NoLabel, RowsBatch, TableError, TableShape
from synthrelease.settings.tables import SYNTHETIC

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 2**22
"""Bytes of a CSV file that are taken at a time."""


def shape_of_roots(shape: TableShape) -> TableShape:
    """What the columns of data.csv are: the key, those of roots, the number of members among them."""
    linked = _linked(shape)
    return _part(shape, linked.of_roots(shape.names), shape.weighted)


def shape_of_members(shape: TableShape) -> TableShape:
    """What the columns of members.csv are: the key of the root, and those of a member."""
    linked = _linked(shape)
    return replace(_part(shape, linked.slots[0], weighted=False), names=linked.names)


def _part(shape: TableShape, names: Sequence[str], weighted: bool) -> TableShape:
    places = [shape.names.index(name) for name in names]
    return replace(
        shape,
        names=tuple(names),
        labels=tuple(shape.labels[place] for place in places),
        ordered=tuple(shape.ordered[place] for place in places),
        weighted=weighted,
        linked=None,
        key=_linked(shape).key,
    )


def _linked(shape: TableShape) -> Linked:
    if shape.linked is None:
        raise ValueError("a table without members is one file")
    return shape.linked


def slots_of(shape: TableShape) -> list[list[int]]:
    """For each column of members, where it stands in the wide row: one place for each slot."""
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
            arrow.ReadOptions(use_threads=False, block_size=_BLOCK),
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


def _check_header(names: list[str], shape: TableShape) -> None:
    if names != shape.header:
        raise TableError(f"expected the columns {listing(shape.header)} in the header, found {listing(names) or 'none'}")


def _keyed(batches: Iterator[pa.RecordBatch], shape: TableShape) -> Iterator[KeyedRows]:
    """Batches with bins in place of labels."""
    import pyarrow as pa

    places = [LabelledBins(labels) for labels in shape.labels]
    for batch in batches:
        bins = []
        for name, known in zip(shape.names, places, strict=True):
            column = batch[name]
            try:
                bins.append(known.bins(column if pa.types.is_dictionary(column.type) else column.dictionary_encode()))
            except NoLabel as found:
                key = batch[shape.key][found.row].as_py()
                raise TableError(f"expected a bin of {name!r} where {shape.key} is {key}, found something else") from None
        if shape.marked and {str(each) for each in batch[SYNTHETIC].unique().to_pylist()} - {MARK}:
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
    own = shape_of_roots(shape)
    waiting = _Waiting(members, shape_of_members(shape))
    columns = slots_of(shape)
    for batch in roots:
        n = len(batch.keys)
        if not np.array_equal(batch.keys, np.arange(done + 1, done + n + 1)):
            raise TableError(f"expected {own.key!r} to be 1, 2, 3 and so on, found other keys")
        found: list[np.ndarray] = [np.empty(0)] * len(shape.names)
        for name, bins in zip(own.names, batch.bins, strict=True):
            found[shape.names.index(name)] = bins
        number = linked.numbers(batch.bins[own.names.index(linked.size)])
        rows = waiting.take(int(number.sum()))
        if not np.array_equal(rows.keys, np.repeat(batch.keys, number)):
            raise TableError(
                f"expected the members of each root one after the other, as many as {linked.size!r} says, found others"
            )
        of_row = np.repeat(np.arange(n), number)
        place_of_row = np.arange(len(of_row)) - np.repeat(np.cumsum(number) - number, number)
        for bins, places in zip(rows.bins, columns, strict=True):
            for slot, place in enumerate(places):
                column = np.full(n, len(shape.labels[place]) - 1, dtype=bins.dtype)
                here = place_of_row == slot
                column[of_row[here]] = bins[here]
                found[place] = column
        yield RowsBatch(bins=found, weights=batch.weights)
        done += n
    if waiting.more():
        raise TableError("expected no member after those of the last root, found more")


class _Waiting:
    """Rows that come in batches, and are taken in any number."""

    def __init__(self, batches: Iterator[KeyedRows], shape: TableShape):
        kinds = [np.min_scalar_type(max(len(labels) - 1, 0)) for labels in shape.labels]
        self._batches = batches
        self._left = KeyedRows(keys=np.zeros(0, dtype=np.int64), bins=[np.zeros(0, dtype=kind) for kind in kinds])

    def take(self, n: int) -> KeyedRows:
        """The next rows, fewer where there are no more."""
        parts = [self._left]
        while sum(len(part.keys) for part in parts) < n and (more := next(self._batches, None)) is not None:
            parts.append(more)
        whole = KeyedRows(
            keys=np.concatenate([part.keys for part in parts]),
            bins=[np.concatenate(bins) for bins in zip(*(part.bins for part in parts), strict=True)],
        )
        self._left = whole[n:]
        return whole[:n]

    def more(self) -> bool:
        """Whether any are left."""
        return bool(len(self._left.keys)) or any(len(batch.keys) for batch in self._batches)
