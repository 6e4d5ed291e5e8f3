"""The lines of data.csv as bins: read in batches, since a table of many columns has far more texts than it has labels.

Lines that are as this program writes them are taken apart by pyarrow (`written_rows`). Whatever else stands there is read line
by line, by Python's `csv` (`rows_of_table`), which also finds what does not fit, and where.
"""

from __future__ import annotations

import csv
import io
import math
import operator
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import OutputError, cut, listing
from synthrelease.published.files import Content, opened
from synthrelease.settings.tables import SYNTHETIC

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 50_000
VALUES_PER_BATCH = 2**19
"""At most, so that fewer rows of a wide table are taken at a time."""
_BLOCK, _LONGEST = 2**21, 2**22
"""Bytes of data.csv that are looked at at a time, and of one line, at most about."""
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
        own = [*([self.key] if self.key else []), *self.names]
        return [*own, *([WEIGHT] if self.weighted else []), *([SYNTHETIC] if self.marked else [])]

    @property
    def layout(self) -> Layout:
        """Names and numbers of bins of the columns of the schema."""
        return Layout(columns=self.names, sizes=tuple(len(known) for known in self.labels))

    @property
    def rows_per_batch(self) -> int:
        """How many rows are taken at a time."""
        return max(1, min(ROWS_PER_BATCH, VALUES_PER_BATCH // len(self.header)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsBatch:
    """Some rows of a released table, in their order.

    Attributes
    ----------
    bins : for every column, (n_rows,) the bins, in the smallest type that holds them.
    weights : (n_rows,) of each, None where the table has none.
    times : (n_rows,) how often each of them stands there, one after the other; once when it is None.
    """

    bins: list[np.ndarray]
    weights: np.ndarray | None = None
    times: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """With all repetitions."""
        return len(self.bins[0]) if self.times is None else int(self.times.sum())

    def repeated(self, values: np.ndarray) -> np.ndarray:
        """(n_rows,) values of its rows, with all repetitions."""
        return values if self.times is None else np.repeat(values, self.times)


def written(fields: Sequence[str]) -> bytes:
    """A line of data.csv, with quotes around what needs them."""
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue().encode("utf-8")


class OtherLines(ValueError):
    """Lines that are not all as this program writes them."""


def written_rows(content: Content, shape: TableShape) -> Iterator[RowsBatch]:
    """Batches of the rows of data.csv in their order, equal ones that stand one after the other taken together.

    Raises
    ------
    OtherLines : where a line is not as this program writes them. What it is, `rows_of_table` tells.
    """
    apart, lines, times, most = _TakenApart(shape), list[bytes](), list[int](), shape.rows_per_batch
    with opened(content) as file:
        header = written(shape.header)
        if file.read(len(header)) != header:
            raise OtherLines
        while block := file.read(_BLOCK):
            found = (block + file.readline(_LONGEST)).removesuffix(b"\n").split(b"\n")
            other = np.fromiter(map(operator.ne, found, [None, *found]), dtype=bool, count=len(found))
            starts = np.flatnonzero(other)
            lines += found if len(starts) == len(found) else map(found.__getitem__, starts.tolist())
            times += np.diff(starts, append=len(found)).tolist()
            if len(lines) >= most:
                yield apart.rows(lines, times)
                lines, times = [], []
    if lines:
        yield apart.rows(lines, times)


class _TakenApart:
    """Lines as bins, by the parser of pyarrow.

    A label may be written in several ways, of which this program uses one. The bytes of these add up to those of the lines
    where each is written so; else something was left out or put in that the parser did not mind.
    """

    def __init__(self, shape: TableShape):
        import pyarrow as pa
        from pyarrow import csv as arrow

        alone = len(shape.header) == 1
        texts = [[written([label] if alone else [label, ""]) for label in labels] for labels in shape.labels]
        if any(b"\n" in text[:-1] or b"\r" in text for of_column in texts for text in of_column):
            raise OtherLines
        self._shape, self._arrow = shape, arrow
        self._lengths = [np.array([len(text) - (not alone) for text in of_column]) for of_column in texts]  # with its comma
        self._places = [LabelledBins(labels) for labels in shape.labels]
        names = [str(place) for place in range(len(shape.header))]
        label = pa.dictionary(pa.int32(), pa.string())
        kinds = [label] * len(shape.names) + [pa.string()] * shape.weighted + [label] * shape.marked
        self._read = arrow.ReadOptions(column_names=names, use_threads=False, block_size=2**31 - 1)
        self._parse = arrow.ParseOptions(ignore_empty_lines=False)
        self._convert = arrow.ConvertOptions(column_types=dict(zip(names, kinds, strict=True)), null_values=[])

    def rows(self, lines: list[bytes], times: list[int]) -> RowsBatch:
        """The rows of these lines, with how often each stands there. Raises OtherLines."""
        import pyarrow as pa

        text = b"\n".join([*lines, b""])
        try:
            found = self._arrow.read_csv(pa.py_buffer(text), self._read, self._parse, self._convert)
            columns = [column.combine_chunks() for column in found.columns]
            marks = columns.pop().dictionary.to_pylist() if self._shape.marked else [MARK]
            weights = _Weights.of(columns.pop()) if self._shape.weighted else None
            bins = [places.bins(column) for places, column in zip(self._places, columns, strict=True)]
        except (pa.ArrowException, NoLabel):
            raise OtherLines from None
        length = sum(int(lengths[of].sum()) for lengths, of in zip(self._lengths, bins, strict=True))
        length += (0 if weights is None else weights.length) + len(bins[0]) * len(f"{MARK},") * self._shape.marked
        if length != len(text) or len(bins[0]) != len(lines) or marks != [MARK]:
            raise OtherLines
        return RowsBatch(bins=bins, weights=None if weights is None else weights.numbers, times=np.array(times))


@dataclass(frozen=True, eq=False)
class _Weights:
    """A column of weights, and the bytes of its texts with a comma after each."""

    numbers: np.ndarray
    length: int

    @classmethod
    def of(cls, texts: pa.Array) -> _Weights:
        """Raises OtherLines for what is no weight."""
        import pyarrow.compute as pc

        numbers = np.from_dlpack(texts.cast("float64"))
        if not (numbers >= 0).all() or np.isinf(numbers).any():
            raise OtherLines
        return cls(numbers, int(pc.sum(pc.binary_length(texts)).as_py()) + len(texts))


class NoLabel(LookupError):
    """A text that is no label; `row` is the first with one."""

    def __init__(self, row: int):
        self.row = row


class LabelledBins:
    """The bins of a column that Arrow holds as a dictionary of texts, with the labels in any order."""

    def __init__(self, labels: Sequence[str]):
        self._places = {label: place for place, label in enumerate(labels)}
        self._kind = np.min_scalar_type(max(len(labels) - 1, 0))
        self._known: tuple[pa.Array, np.ndarray] | None = None

    def bins(self, column: pa.DictionaryArray) -> np.ndarray:
        """(n_rows,) the bins, in the smallest type that holds them. Raises NoLabel."""
        if self._known is None or not self._known[0].equals(column.dictionary):  # most often that of the batch before
            texts = column.dictionary.to_pylist()
            self._known = column.dictionary, np.array([self._places.get(text, -1) for text in texts] + [-1], dtype=np.int64)
        places, missing = self._known[1], len(self._known[1]) - 1
        if column.indices.null_count:  # pyarrow would import pandas to fill them, and also for `to_numpy`
            found = np.array([missing if place is None else place for place in column.indices.to_pylist()])
        else:
            found = np.from_dlpack(column.indices)
        if places[:-1].min(initial=0) < 0 or column.indices.null_count:
            unknown = places[found] < 0
            if unknown.any():
                raise NoLabel(int(np.argmax(unknown)))
        if np.array_equal(places[:-1], np.arange(missing)):
            return found.astype(self._kind)
        bins: np.ndarray = places.astype(self._kind)[found]
        return bins


def count_lines(content: Content) -> int:
    """How many lines data.csv has at most."""
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
    header = next(lines, [])
    if header != shape.header:
        raise TableError(f"expected the columns {listing(shape.header)} in the header, found {listing(header) or 'none'}")
    return rows_of_lines(lines, shape)


def rows_of_lines(lines: Iterable[Sequence[str]], shape: TableShape) -> Iterator[RowsBatch]:
    """Batches of the table whose lines these are, without a header. Raises TableError as `rows_of_table`."""
    places = [{label: place for place, label in enumerate(known)} for known in shape.labels]
    read, line = iter(lines), 2
    while rows := list(islice(read, shape.rows_per_batch)):
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
