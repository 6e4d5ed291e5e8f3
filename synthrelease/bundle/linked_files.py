"""data.csv and members.csv, and the same as Parquet: roots and their members, piece by piece, with new keys.

The key of a root is its place in the order of the wide rows, which tells nothing beside them; its members follow in
the order of their slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from synthrelease.published.table import (
    MARK,
    KeyedRows,
    ReleasedTable,
    TableShape,
    shape_of_members,
    shape_of_roots,
    slots_of,
    written,
)

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
    places = [table.names.index(name) for name in shape.names]

    def batches() -> Iterator[KeyedRows]:
        for keys, cells in _rows(table):
            weights = None if table.weights is None else table.weights[cells]
            yield KeyedRows(keys=keys, bins=[table.counts.bins[place][cells] for place in places], weights=weights)

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
            for places in columns:
                slots = np.stack([table.counts.bins[place][cells] for place in places], axis=1)
                bins.append(slots[of_row, slot])
            yield KeyedRows(keys=keys[of_row], bins=bins)

    return KeyedFile(shape, batches())


def _rows(table: ReleasedTable) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some roots at a time: their keys, and the cell of each."""
    done = 0
    for cells, times in table.row_order().batches(_ROWS):
        found = np.repeat(np.arange(cells.start, cells.stop), times)
        yield np.arange(done + 1, done + len(found) + 1), found
        done += len(found)


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
        parts += [known[bins] for known, bins in zip(texts, rows.bins, strict=True)]
        if rows.weights is not None:
            parts.append(filled([repr(weight).encode() + mark for weight in rows.weights.tolist()]))
        lines = np.concatenate(parts, axis=1)
        yield lines[lines != NOTHING].tobytes()


def filled(texts: list[bytes]) -> np.ndarray:
    """(n_texts, longest) the bytes of texts, filled up to one length."""
    longest = max(map(len, texts), default=0)
    whole = b"".join(text.ljust(longest, bytes([NOTHING])) for text in texts)
    return np.frombuffer(whole, dtype=np.uint8).reshape(len(texts), longest)
