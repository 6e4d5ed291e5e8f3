"""Lines that are read fast give what Python's csv gives, and whatever is not plain is left to it."""

from __future__ import annotations

import gzip
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthrelease.enclave.csv import PlainReader, csv_batches
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable

FIELDS = st.sampled_from(
    ["", "1", " 1", "1 ", '"1"', '""', '" 1"', '"a,b"', '"a\nb"', '"a""b"', '1"', '"1"2', '"', "é", "\0", "\r", " "]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", ""])
LINES = st.lists(st.tuples(st.lists(FIELDS, min_size=1, max_size=3).map(",".join), ENDS).map("".join), max_size=6).map("".join)


def rows_or_message(path: Path, needed: list[str], policy: InputTable | None = None) -> object:
    """The rows of needed columns in order, or the message of the refusal."""
    rows: list[tuple[str | None, ...]] = []
    try:
        for first, piece in csv_batches(path, needed, policy or InputTable(), False, 3, 40):
            assert first == len(rows) + 1
            rows += zip(*([texts.texts[code] for code in texts.codes] for texts in piece.values()), strict=True)
    except InputError as error:
        return str(error)
    return rows


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(lines=LINES, needed=st.sampled_from([["x", "y"], ["y"]]))
@example(lines="".join(f"{i % 3},{i}\n" for i in range(60)) + '1,"2\n3"\n' + "4,5\n" * 60 + "6\n", needed=["x", "y"])
@example(lines="1,2\n" * 60 + "3,é\r\n\r\n" + " 1,2\r\n" * 60 + '"1","2"\n' * 30, needed=["y"])
@example(lines="1,2\r" * 60 + "3\n", needed=["y"])
@example(lines="\ufeff1,2\n", needed=["x"])
@example(lines='1,2\n3,"4\n', needed=["x"])
@example(lines="1,2\n" * 30 + "3\n", needed=["y"])
def test_fast_and_slow_lines_give_the_same_rows_and_messages(tmp_path_factory, lines, needed):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    path.write_bytes(("x,y\n" + lines).encode())
    fast = rows_or_message(path, needed)
    with patch.object(PlainReader, "columns", lambda *_: None):
        assert fast == rows_or_message(path, needed)


@pytest.mark.parametrize(
    "text",
    ["1,2\n3,4", '"1",2\r\n3," 4 5"\r\n'.replace('" ', '"'), '"a,b","c;d"\n', "é, 2\n", '"",\n'],
    ids=["no last end", "quotes", "delimiters in quotes", "spaces", "empty"],
)
def test_plain_lines_are_read_fast(text):
    assert PlainReader(",", 2, [0, 1], 1000).columns(text.encode()) is not None


@pytest.mark.parametrize(
    ("text", "width"),
    [
        pytest.param("1\n2\n", 1, id="one column, where blank lines count"),
        pytest.param("1,2\n\n3,4\n", 2, id="blank line"),
        pytest.param("1,2\n\r\n3,4\n", 2, id="blank line of Windows"),
        pytest.param("\n1,2\n", 2, id="blank first line"),
        pytest.param("1,2\r3,4\n", 2, id="line end of old Macs"),
        pytest.param("1,\0\n", 2, id="zero byte"),
        pytest.param('1,"2\n3,4"\n', 2, id="line end in quotes"),
        pytest.param('1,"2""3"\n', 2, id="quote in quotes"),
        pytest.param('1,2"\n', 2, id="one quote"),
        pytest.param('1,2"3"\n', 2, id="quotes inside a field"),
        pytest.param('1,"2"3\n', 2, id="text after a closing quote"),
        pytest.param('1, "2"\n', 2, id="space before a quote"),
        pytest.param('1," 2"\n', 2, id="space after a quote"),
        pytest.param("1,2\n3\n", 2, id="short row"),
        pytest.param("1,2,3\n", 2, id="long row"),
        pytest.param(f"1,{'2' * 100}\n", 2, id="long line"),
        pytest.param("\ufeff1,2\n", 2, id="byte order mark"),
    ],
)
def test_other_lines_are_left_to_csv(text, width):
    assert PlainReader(",", width, [0], 100).columns(text.encode()) is None


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.tuples(st.sampled_from(["é,1", "a,ü", '"b",2', '"c\nd",3', "x", "1,2"]), ENDS).map("".join), max_size=40),
    encoding=st.sampled_from(["utf-8", "latin-1", "windows-1252", "mixed"]),
    written=st.sampled_from(["same", "stray"]),
)
def test_fast_and_slow_lines_agree_in_every_encoding(tmp_path_factory, lines, encoding, written):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    content = ("x,y\n" + "".join(lines)).encode("utf-8" if encoding == "mixed" else encoding)
    path.write_bytes(content + (b"\xfc,1\n" * 3 if written == "stray" else b""))
    policy = InputTable(encoding=encoding)
    fast = rows_or_message(path, ["x", "y"], policy)
    with patch.object(PlainReader, "columns", lambda *_: None):
        assert fast == rows_or_message(path, ["x", "y"], policy)


def test_damage_is_told_after_what_is_wrong_before_it(tmp_path):
    """However far the threads have read, the message is that of the first part of the file with a mistake."""
    path = tmp_path / "table.csv.gz"
    content = gzip.compress(b"x,y\n" + b"1,2\n" * 70_000 + b"3\n" + b"1,2\n" * 300_000)
    path.write_bytes(content[:-30])
    with pytest.raises(InputError, match=r"Data row 70001 \(.*\) has 1 field, but the header has 2\."):
        list(csv_batches(path, ["x"], InputTable(), True, 10**6, 2**16))


def test_a_bad_row_behind_many_plain_blocks_is_named_by_its_number(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1000 + b'3,"4"5\n'))
    with pytest.raises(InputError, match=r"Data row 1001 \(.*\) contains an open quote, or text after a closing quote\."):
        list(csv_batches(path, ["x"], InputTable(), True, 100, 500))
