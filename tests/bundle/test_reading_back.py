"""data.csv is read with each of its different lines once: the same table, and the same words about a line that does not fit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.bundle.tables import csv_pieces
from synthrelease.data.counts import Counts
from synthrelease.published import table as lines
from synthrelease.published.table import ReleasedTable, TableError, TableShape, csv_lines, read_csv, rows_of_table, table_of
from tests.helpers.small import layout_of

LAYOUT = layout_of(2, 3)
PLAIN = (("no", "yes"), ("0-4", "5-9", "10 or more"))
QUOTED = (("no", 'so "called"'), ("0,4", "5\n9", "ten"))


def shape_of(labels: tuple[tuple[str, ...], ...]) -> TableShape:
    return TableShape(names=LAYOUT.columns, labels=labels, ordered=(False, True))


def line_by_line(content: bytes, labels: tuple[tuple[str, ...], ...]) -> ReleasedTable:
    """Without leaving repetitions out: the reference."""
    return table_of(rows_of_table(csv_lines(content), shape_of(labels)), shape_of(labels))


def outcome(read: ReleasedTable | TableError) -> object:
    return str(read) if isinstance(read, TableError) else (read.labels, read.counts.codes.tolist(), read.counts.counts.tolist())


def both(content: bytes, labels: tuple[tuple[str, ...], ...]) -> tuple[object, object]:
    found = []
    for read in (lambda: read_csv(content, shape_of(labels)), lambda: line_by_line(content, labels)):
        try:
            found.append(outcome(read()))
        except TableError as error:
            found.append(outcome(error))
    return found[0], found[1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.booleans(), st.sampled_from([1, 7, 40, 2**22]))
def test_a_written_table_is_read_back(codes: list[int], quoted: bool, piece: int) -> None:
    counts = Counts(LAYOUT, np.array(codes))
    labels = QUOTED if quoted else PLAIN
    content = b"".join(csv_pieces(ReleasedTable(labels=labels, ordered=(False, True), counts=counts)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", piece)
        found, reference = both(content, labels)
        unsorted = b"\n".join([content.split(b"\n")[0], *content.split(b"\n")[:0:-1]]).replace(b"\n\n", b"\n")
        assert quoted or both(unsorted, labels) == (found, reference)
    assert found == reference == (labels, counts.codes.tolist(), counts.counts.tolist())


HEADER = ",".join(LAYOUT.columns).encode()


@pytest.mark.parametrize(
    "rest",
    [
        b"", b"\n", b"\nno,0-4\n\n", b"\n\nno,0-4\n", b"\nno,0-4\n\nyes,5-9\n", b"\nno,0-4\nno,0-4\nno,0-5\nno,0-4\n",
        b"\nno,0-4,\nno,0-4\n", b"\nno\n", b"\nno,0-4\nyes,5-9", b"\r\nno,0-4\r\nyes,5-9\r\n", b"\nno,0-4\rno,0-4\n",
        b'\nno,"0-4"\nno,0-4\n', b'\nno,"0-4\n', b"\nno,0-4\n\xff,0-4\n", b"\nno,0-4\n \n",
        b"\n\xef\xbb\xbfno,0-4\n", b"\nno,0-4\n,\n", b"\nno,\x00\n",
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_as_line_by_line(rest: bytes) -> None:
    """Blank lines, other line ends, quotes, missing and additional fields, bytes that are no text, no rows."""
    found, reference = both(HEADER + rest, PLAIN)
    assert found == reference


def test_another_header_is_refused() -> None:
    found, reference = both(b"x,y\nno,0-4\n", PLAIN)
    assert found == reference
    assert "header" in str(found)


@pytest.mark.slow
def test_no_table_is_written_with_pandas() -> None:
    """Importing it takes half a second of a release. A new process, because others have imported it here."""
    code = (
        "import sys; from synthrelease.bundle.tables import parquet_pieces; "
        "from synthrelease.published.table import ReleasedTable; "
        "from tests.helpers.small import World; "
        "table = ReleasedTable.of(World({'a': 2, 'b': 1}).candidate([0, 1, 5, 5])); "
        "print(len(b''.join(parquet_pieces(table))), 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    size, loaded = done.stdout.split()
    assert int(size) > 100
    assert loaded == "False"
