"""data.csv is read back as the table that it was written from."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.bundle.tables import csv_pieces, files_of_rows
from synthrelease.data.counts import Counts
from synthrelease.published.table import ReleasedTable, TableError, TableShape, read_csv
from tests.helpers.small import layout_of

LAYOUT = layout_of(2, 3)
PLAIN = (("no", "yes"), ("0-4", "5-9", "10 or more"))
QUOTED = (("no", 'so "called"'), ("0,4", "5\n9", "ten"))


def shape_of(labels: tuple[tuple[str, ...], ...]) -> TableShape:
    return TableShape(names=LAYOUT.columns, labels=labels, ordered=(False, True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.booleans())
def test_a_written_table_is_read_back(codes: list[int], quoted: bool) -> None:
    counts = Counts(LAYOUT, np.array(codes))
    labels = QUOTED if quoted else PLAIN
    content = b"".join(csv_pieces(*files_of_rows(ReleasedTable(labels=labels, ordered=(False, True), counts=counts))))
    unsorted = b"\n".join([content.split(b"\n")[0], *content.split(b"\n")[:0:-1]]).replace(b"\n\n", b"\n")
    for text in [content] if quoted else [content, unsorted]:
        table = read_csv(text, shape_of(labels))
        assert (table.counts.codes.tolist(), table.counts.counts.tolist()) == (counts.codes.tolist(), counts.counts.tolist())


def test_another_header_is_refused() -> None:
    with pytest.raises(TableError, match="the columns are wrong"):
        read_csv(b"x,y\nno,0-4\n", shape_of(PLAIN))


@pytest.mark.parametrize(
    "text", ["\ufeffa,b\nno,0-4\n", 'a,b\nno,0-4\nno,"0-4', 'a,b\n"no,0-4\n'], ids=["mark", "end", "start"]
)
def test_what_other_readers_take_for_another_table_is_refused(text: str) -> None:
    """Arrow reads over a byte order mark, and ends open quotes where the file ends. R has another name, pandas an error."""
    with pytest.raises(TableError):
        read_csv(text.encode(), shape_of(PLAIN))


@pytest.mark.slow
def test_no_table_is_written_with_pandas() -> None:
    """Importing it takes half a second of a release. A new process, because others have imported it here."""
    code = (
        "import sys; from synthrelease.bundle.tables import files_of_rows, parquet_pieces; "
        "from synthrelease.published.table import ReleasedTable; "
        "from tests.helpers.small import World; "
        "table = ReleasedTable.of(World({'a': 2, 'b': 1}).candidate([0, 1, 5, 5])); "
        "print(len(b''.join(parquet_pieces(*files_of_rows(table)))), 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    size, loaded = done.stdout.split()
    assert int(size) > 100
    assert loaded == "False"
