"""The lines of data.csv as bins: read in batches, since a table of many columns has far more texts than it has labels."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice

import numpy as np

from synthrelease.domain.margins import WEIGHT
from synthrelease.domain.schema import Layout
from synthrelease.errors import OutputError, cut, listing
from synthrelease.toml.bundle import SYNTHETIC

ROWS_PER_BATCH = 50_000
MARK = "1"
"""What stands in every row of the column `synthetic`, where a table has one."""


class TableError(OutputError):
    """A table of a bundle that is not the one that its schema describes."""


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """What the columns of a released table are.

    Attributes
    ----------
    names, labels, ordered : of the columns of the schema; `labels` are those of their bins, and `ordered` says whether these
        have an order.
    weighted : whether a column of weights follows.
    marked : whether the last column says in every row that it is synthetic.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    ordered: tuple[bool, ...]
    weighted: bool = False
    marked: bool = False

    @property
    def header(self) -> list[str]:
        """The names of all columns, in their order."""
        return [*self.names, *([WEIGHT] if self.weighted else []), *([SYNTHETIC] if self.marked else [])]

    @property
    def layout(self) -> Layout:
        """Names and numbers of bins of the columns of the schema."""
        return Layout(columns=self.names, sizes=tuple(len(known) for known in self.labels))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsBatch:
    """Some rows of a released table, in their order.

    Attributes
    ----------
    bins : for every column, (n_rows,) the bins, in the smallest type that holds them.
    weights : (n_rows,), None where the table has none.
    """

    bins: list[np.ndarray]
    weights: np.ndarray | None


def csv_lines(content: bytes) -> Iterator[list[str]]:
    """The fields of every line, the header first. Raises TableError where it is no CSV file in UTF-8."""
    try:
        yield from csv.reader(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline=""), strict=True)
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
    header = next(lines, [])
    if header != shape.header:
        raise TableError(f"expected the columns {listing(shape.header)} in the header, found {listing(header) or 'none'}")
    return rows_of_lines(lines, shape)


def rows_of_lines(lines: Iterable[Sequence[str]], shape: TableShape) -> Iterator[RowsBatch]:
    """Batches of the table whose lines these are, without a header. Raises TableError as `rows_of_table`."""
    places = [{label: place for place, label in enumerate(known)} for known in shape.labels]
    read, line = iter(lines), 2
    while rows := list(islice(read, ROWS_PER_BATCH)):
        yield _batch(rows, shape, places, line)
        line += len(rows)


def _batch(rows: list[Sequence[str]], shape: TableShape, places: list[dict[str, int]], line: int) -> RowsBatch:
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
        known = {text for text, number in numbers.items() if 0 <= number < math.inf}
        _check(texts, known, f"a number of at least 0 as {WEIGHT!r}", line)
        weights = np.array([numbers[text] for text in texts])
    bins = []
    for name, texts, place in zip(shape.names, columns, places, strict=True):
        _check(texts, place.keys(), f"a bin of {name!r} ({listing(place)})", line)
        kind = np.min_scalar_type(max(len(place) - 1, 0))
        bins.append(np.fromiter(map(place.__getitem__, texts), dtype=kind, count=len(texts)))
    return RowsBatch(bins=bins, weights=weights)


def _check(texts: Sequence[str], known: Set[str], expected: str, line: int) -> None:
    """Raises TableError where a text of a column is none of those that may stand there."""
    unknown = set(texts) - known
    if unknown:
        first = next(place for place, text in enumerate(texts) if text in unknown)
        raise TableError(f"expected {expected} in line {line + first}, found {cut(texts[first], 40)!r}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
