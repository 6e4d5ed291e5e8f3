"""data.csv and data.parquet: the released rows as bin labels, sorted, so that their order tells nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.candidates.candidate import Candidate
from synthrelease.domain.counts import Counts, Tally
from synthrelease.domain.schema import Layout
from synthrelease.errors import OutputError
from synthrelease.published.lines import ROWS_PER_PIECE, WrongLine, bins_of_lines

if TYPE_CHECKING:
    import pyarrow as pa


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


def csv_bytes(table: ReleasedTable) -> bytes:
    """The released table as UTF-8 CSV with a header and "\n" line ends on every system, rows in the order of their bins."""
    counts, lines = table.counts, list[str]()
    writer = csv.writer(_Lines(lines), lineterminator="\n")
    writer.writerow(table.names)
    written = ["".join(lines).encode("utf-8")]
    for start in range(0, len(counts), ROWS_PER_PIECE):
        piece = slice(start, start + ROWS_PER_PIECE)
        texts = [map(labels.__getitem__, bins[piece].tolist()) for labels, bins in zip(table.labels, counts.bins, strict=True)]
        lines.clear()
        writer.writerows(zip(*texts, strict=True))
        rows = [line * times for line, times in zip(lines, counts.counts[piece].tolist(), strict=True)]
        written.append("".join(rows).encode("utf-8"))
    return b"".join(written)


class _Lines:
    """What a CSV writer writes to: the lines in a list."""

    def __init__(self, lines: list[str]):
        self.write = lines.append


def parquet_bytes(table: ReleasedTable) -> bytes:
    """The released table as Parquet: every column a dictionary of all its labels, ordered where its bins are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [
        pa.DictionaryArray.from_arrays(
            pa.array(table.counts.rows(column).astype(np.int32)), pa.array(labels, pa.string()), ordered=order
        )
        for column, (labels, order) in enumerate(zip(table.labels, table.ordered, strict=True))
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
    layout = Layout(columns=tuple(names), sizes=tuple(len(known) for known in labels))
    counts = Tally(layout)
    try:
        for bins in bins_of_lines(lines, labels):
            counts.add(Counts.of(layout, bins))
    except WrongLine as wrong:
        problem = wrong
    else:
        if not len(counts.total()):
            raise TableError(f"expected rows of {len(names)} values, found none")
        return ReleasedTable(labels=tuple(tuple(known) for known in labels), ordered=tuple(ordered), counts=counts.total())
    if problem.column is None:
        raise TableError(f"expected rows of {len(names)} values, found others")
    raise TableError(f"expected a bin of {names[problem.column]!r} in line {problem.line}, found something else")


def _lines(content: bytes):
    try:
        yield from csv.reader(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline=""), strict=True)
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
    except (pa.ArrowException, OSError):
        found = None
    if found is None:
        raise TableError("expected a Parquet file, found something else")
    if found.column_names != list(names):
        raise TableError(f"expected the columns {', '.join(names)}, found others")
    types = [pa.dictionary(pa.int32(), pa.string(), ordered=order) for order in ordered]
    if found.schema.types != types:
        raise TableError("expected dictionaries of labels, ordered where the bins are, found others")
    if not found.num_rows:
        raise TableError(f"expected rows of {len(names)} values, found none")
    layout = Layout(columns=tuple(names), sizes=tuple(len(known) for known in labels))
    bins = [_bins(name, column, known) for name, column, known in zip(names, found.columns, labels, strict=True)]
    return ReleasedTable(labels=tuple(tuple(known) for known in labels), ordered=tuple(ordered), counts=Counts.of(layout, bins))


def _bins(name: str, column: pa.ChunkedArray, labels: Sequence[str]) -> np.ndarray:
    """(n_rows,) the bins of a column of Parquet, whose dictionary may hold the labels in any order."""
    whole, places = column.combine_chunks(), {label: place for place, label in enumerate(labels)}
    written = np.array([places.get(label, -1) for label in whole.dictionary.to_pylist()] + [-1], dtype=np.int64)
    bins = written[whole.indices.fill_null(len(written) - 1).to_numpy(zero_copy_only=False)]
    if (bins < 0).any():
        raise TableError(f"expected a bin of {name!r} in line {int(np.argmax(bins < 0)) + 2}, found something else")
    return bins
