"""A row is read alone, at every door: what becomes of a table is the sum of what becomes of its rows, each a table by itself.

For every kind of column that a door has, each of its values takes the place of the first and of the last row of a table with
all the others: nothing may become of these that does not become of them alone (docs/theory.md, lemma 1.8). The texts are
compared, and the bins by rules of every kind, with a decimal point and with a decimal comma. A table of one row is read once
for each value.
"""

from __future__ import annotations

import gzip
import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthrelease.enclave import csv as csv_files
from synthrelease.enclave import reading, values
from synthrelease.enclave.databases import batches_of_rows
from tests.helpers.rows import POLICIES, Rows, rows_of, rows_of_pieces

pytestmark = pytest.mark.slow

pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra formats")
duckdb = pytest.importorskip("duckdb", reason="needs the extra database")
pytest.importorskip("sqlalchemy", reason="needs the extra database")

Values = Sequence[Any]
Read = Callable[[Values, str], Rows]
"""What becomes of a table with one column of these values, under this decimal mark."""
SUMMER, WINTER = timezone(timedelta(hours=2)), timezone(timedelta(hours=-5))
NOON = datetime(1990, 4, 1, 13, 45, tzinfo=SUMMER)

WHOLE = [1, 0, 97, -9, 10**16, 2**53 + 1, 2**53, None]
FLOATS = [1.0, 1.5, 9.5, 97.0, 1.25, 0.1, -0.0, 0.0, 1e16, 1e-7, 1e300, 0.1 + 0.2, math.inf, math.nan, None]
DECIMALS = [*map(Decimal, ("1.5", "1.50", "1", "1.00", "97", "97.0", "9.5", "0", "1E+16", "10000000000000000")), None]
WORDS = ["x", " y", "y", "1", "1.0", "1.5", "1,5", "1.50", "97", "97,0", "19", "é", "", "True", "1990-04-01", None]
MOMENTS = [NOON, NOON.astimezone(UTC), NOON.astimezone(WINTER), NOON.replace(tzinfo=None), None]
ODD = [timedelta(hours=13, minutes=45), timedelta(hours=30), UUID(int=1), *map(Decimal, ("NaN", "sNaN", "-Infinity")), 10**5000]
PYTHON = [*(*WHOLE, *FLOATS, *DECIMALS, *WORDS, *MOMENTS, *ODD), *(True, False, NOON.date(), NOON.time(), NOON.timetz(), b"x")]


def check_rows_alone(read: Read, values: Values, marks: str = ".,", places: int = 99) -> None:
    """Every value in the place of the first row, and of the last, of a table with all the others."""
    for mark in marks:
        alone = [read([value], mark) for value in values]
        others = sum(alone, Counter())
        for value, of_value in list(zip(values, alone, strict=True))[:places]:
            assert read([value, *values], mark) == others + of_value, f"first of all: {value!r}"
            assert read([*values, value], mark) == others + of_value, f"last of all: {value!r}"


# --- Files of texts

CSV = [
    *("x", " y", "y ", "1", "1.0", "1.", "01", "1.5", "1,5", "1.50", "97", "97,0", "9.5", "9,5", "19", "1e16", "1" + "0" * 16),
    *("-0", "-0.0", ".1", "é", "", "NA", "inf", "True", "1990-04-01", "1990-04-01 13:45:00", 'a "word"', "two\nlines"),
]


def csv_table(
    path: Path, values: Values, mark: str, codec: str, more: str = "", pack: Callable[[bytes], bytes] = bytes
) -> Path:
    """Texts between quotes where they need them; `more` stands in a second field of every row."""
    delimiter = POLICIES[mark].delimiter
    fields = ['"' + text.replace('"', '""') + '"' if {*' "\n', delimiter} & {*text} else text for text in values]
    text = "".join(f"{field}{delimiter}{more}\n" for field in ["v", *fields])
    path.write_bytes(pack(text.encode(codec)))
    return path


@pytest.mark.parametrize(
    ("encoding", "codec", "more", "pack"),
    [
        pytest.param("utf-8", "utf-8", "w", bytes, id="fast"),
        pytest.param("utf-8", "utf-8", '"quotes "" in quotes"', bytes, id="strict"),
        pytest.param("utf-8", "utf-8-sig", "w", gzip.compress, id="gzip"),
        pytest.param("mixed", "windows-1252", "w", bytes, id="mixed"),
    ],
)
def test_rows_of_csv(tmp_path, monkeypatch, encoding, codec, more, pack):
    def read(values: Values, mark: str) -> Rows:
        return rows_of(csv_table(tmp_path / "table.csv", values, mark, codec, more, pack), mark, encoding=encoding)

    check_rows_alone(read, CSV, places=9)
    monkeypatch.setattr(values, "MANY", 1)  # texts that are read at once
    check_rows_alone(read, CSV, ".", places=9)


def test_rows_of_csv_in_hebrew_letters(tmp_path):
    def read(values: Values, mark: str) -> Rows:
        return rows_of(csv_table(tmp_path / "table.csv", values, mark, "windows-1255"), mark, encoding="windows-1255")

    check_rows_alone(read, ["א", "אב", *(text for text in CSV if text.isascii())], ".", places=3)


@pytest.mark.parametrize("size", range(3, 23))
def test_rows_of_csv_with_a_return_at_the_border_of_a_block(tmp_path, monkeypatch, size):
    """A lone CR stays what it is between quotes, and ends a row elsewhere, wherever a block of the file ends."""
    lines = ['"a\rb"', "é", '"\r\r"', "x\r1", '"12345\r"']

    def read(some: Sequence[str]) -> Rows:
        (tmp_path / "table.csv").write_bytes("".join(f"{line}\n" for line in ["v", *some]).encode())
        return rows_of(tmp_path / "table.csv")

    whole = sum((read([line]) for line in lines), Counter())
    monkeypatch.setattr(csv_files, "BLOCK", size)
    monkeypatch.setattr(csv_files, "_FIRST", size)
    assert read(lines) == whole


# --- Files of Arrow

KINDS = {
    "whole": (pa.int64(), WHOLE),
    "narrow": (pa.int8(), [1, 97, -9, None]),
    "unsigned": (pa.uint64(), [2**64 - 1, 1, 2**53 + 1, None]),
    "floats": (pa.float64(), FLOATS),
    "short": (pa.float32(), [1.5, 0.1, 97.0, 1e16, -0.0, math.nan, None]),
    "half": (pa.float16(), [np.float16(value) for value in (1.5, 0.1, 97.0, math.nan)]),
    "decimals": (pa.decimal128(30, 2), [None if value is None else value.quantize(Decimal("0.01")) for value in DECIMALS]),
    "words": (pa.string(), WORDS),
    "large words": (pa.large_string(), WORDS),
    "truth": (pa.bool_(), [True, False, None]),
    "days": (pa.date32(), [NOON.date(), date(1, 1, 1), None]),
    "times": (pa.time64("us"), [time(13, 45), time(0, 0, 0, 1), None]),
    "moments": (pa.timestamp("us"), [datetime(1990, 4, 1, 13, 45), datetime(1990, 4, 1), None]),
    "moments there": (pa.timestamp("us", tz="Europe/Berlin"), [NOON, datetime(1990, 12, 1, tzinfo=UTC), None]),
    "names": (pa.uuid(), [bytes(15) + b"\1", bytes(16), None]),
    "nothing": (pa.null(), [None]),
}
WRITERS: dict[str, Callable[[pa.Table, Path], object]] = {
    "parquet": pq.write_table,
    "dictionaries": lambda table, path: pq.write_table(pa.table({"v": table["v"].dictionary_encode()}), path),
}


@pytest.mark.parametrize("way", WRITERS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_arrow(tmp_path, monkeypatch, way, kind):
    kind, of_kind = KINDS[kind]
    if way == "dictionaries" and kind in (pa.float16(), pa.null(), pa.uuid()):
        pytest.skip("pyarrow writes no dictionaries of these")

    def read(some: Values, mark: str) -> Rows:
        WRITERS[way](pa.table({"v": pa.array(some, kind)}), tmp_path / "table")
        return rows_of(tmp_path / "table", mark)

    check_rows_alone(read, of_kind, places=5)
    monkeypatch.setattr(values, "MANY", 1)
    check_rows_alone(read, of_kind, places=1)


# --- Statistical packages

PACKAGES: dict[str, Callable[..., object]] = {
    "dta": pyreadstat.write_dta,
    "sav": pyreadstat.write_sav,
    "xpt": pyreadstat.write_xport,
    "por": lambda frame, path: pyreadstat.write_por(frame.rename(columns=str.upper), path),
}
SMALL = [value for value in FLOATS if value is None or abs(value) < 1e30]


@pytest.mark.parametrize("suffix", PACKAGES)
@pytest.mark.parametrize("kind", ["numbers", "words"])
def test_rows_of_statistical_packages(tmp_path, monkeypatch, suffix, kind):
    some = SMALL if kind == "numbers" else [each for each in WORDS if each is not None and (each.isascii() or suffix != "por")]

    def read(some: Values, mark: str) -> Rows:
        frame = pd.DataFrame({"v": pd.Series(some, dtype=float if kind == "numbers" else object)})
        PACKAGES[suffix](frame, tmp_path / "table")
        return rows_of(tmp_path / "table", mark, name="V" if suffix == "por" else "v")

    check_rows_alone(read, some, places=3)
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 3)
    check_rows_alone(read, some, ".", places=1)


@pytest.mark.parametrize("suffix", ["dta", "sav"])
def test_rows_of_statistical_packages_with_declared_missing_values(tmp_path, suffix):
    """A letter in one row makes objects of Python of all numbers of the column."""

    def read(some: Values, mark: str) -> Rows:
        frame = pd.DataFrame({"v": pd.Series(some, dtype=object)})
        if suffix == "dta":
            pyreadstat.write_dta(frame, tmp_path / "table", missing_user_values={"v": ["a"]})
        else:
            pyreadstat.write_sav(pd.DataFrame({"v": [99.0 if value == "a" else value for value in some]}), tmp_path / "table",
                                 missing_ranges={"v": [99.0]})  # fmt: skip
        return rows_of(tmp_path / "table", mark)

    check_rows_alone(read, [1.0, 1.5, "a", 97.0, -0.0, 1e16])


@pytest.mark.parametrize("name", ["mychar", "mynum", "mydate", "dtime", "mytime"])
def test_rows_of_a_file_of_sas(tmp_path, monkeypatch, name):
    """No free program writes them. In one that SAS wrote rows are read by themselves as pieces of one row."""
    path = tmp_path / "sample.sas7bdat"
    path.write_bytes(gzip.decompress((Path(__file__).parent / "sas" / f"{path.name}.gz").read_bytes()))
    whole = rows_of(path, name=name)
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 1)
    assert rows_of(path, name=name) == whole


# --- Databases


def sqlite_table(path: Path, values: Values, kind: str = "") -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t (v {kind})")
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
        connection.commit()
    return path


@pytest.mark.parametrize("kind", ["", "INTEGER", "REAL", "NUMERIC", "TEXT"])
@pytest.mark.parametrize("way", ["{}", "sqlite+pysqlite:///{}"])
def test_rows_of_sqlite(tmp_path, way, kind):
    """Any column of SQLite may hold values of all types."""
    any_type = [10**16, 1e16, 1, 1.0, 0.5, 97, 97.0, 123456.789, "1", "1.5", "1,5", "x", None, -0.0, 2**53 + 1, b"x", math.inf]

    def read(some: Values, mark: str) -> Rows:
        return rows_of(way.format(sqlite_table(tmp_path / "table.sqlite", some, kind)), mark)

    check_rows_alone(read, any_type, places=6)


def test_rows_of_sqlite_with_bytes_that_are_no_text(tmp_path):
    def read(some: Values, mark: str) -> Rows:
        path = sqlite_table(tmp_path / "table.sqlite", some)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE t SET v = CAST(v AS TEXT) WHERE typeof(v) = 'blob'")
            connection.commit()
        return rows_of(path, mark)

    check_rows_alone(read, [b"x\xff", "x", b"\xff", b"1\0", "1", 1, "é"])


DUCKDB = {
    "DOUBLE": FLOATS, "FLOAT": [1.5, 0.1, None], "DECIMAL(20, 2)": [Decimal("1.5"), Decimal("97"), None], "HUGEINT": WHOLE,
    "VARCHAR": WORDS, "TIMESTAMPTZ": MOMENTS[:3], "TIME": [time(13, 45), None], "DATE": [NOON.date(), None],
    "BOOLEAN": [True, None],
}  # fmt: skip


@pytest.mark.parametrize("kind", DUCKDB)
def test_rows_of_duckdb(tmp_path, kind):
    def read(some: Values, mark: str) -> Rows:
        path = tmp_path / "table.duckdb"
        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE t (v {kind})")
            connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in some])
        return rows_of(path, mark)

    check_rows_alone(read, DUCKDB[kind], ",", places=2)


def of_python(values: Values, mark: str, most_rows: int = 1000, at_once: int = 1000) -> Rows:
    batches = [[(value,) for value in values[start : start + at_once]] for start in range(0, len(values), at_once)]
    return rows_of_pieces(list(batches_of_rows(batches, ["v"], most_rows)), mark)


def test_rows_of_values_of_python():
    """What a driver may hand over, also what Python calls equal."""
    check_rows_alone(of_python, PYTHON, places=99)


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.sampled_from(PYTHON), max_size=30), at_once=st.integers(1, 5), most_rows=st.integers(1, 12))
@example(values=[Decimal("1.5"), Decimal("1.50"), 1.5], at_once=1, most_rows=12)
@example(values=[10**16, 1e16, Decimal("1E+16"), True, 1, 1.0], at_once=5, most_rows=12)
@example(values=["1.5", 1.5, "1,5"], at_once=5, most_rows=1)
def test_rows_of_values_of_python_in_pieces(values, at_once, most_rows):
    for mark in ".,":
        assert of_python(values, mark, most_rows, at_once) == sum((of_python([value], mark) for value in values), Counter())


# --- Tables of many files


def test_rows_of_many_files(tmp_path):
    """Each file has types of its own; a row is the same one in the file of its own and in one with others."""
    arrays = [
        pa.array([1, 97]),
        pa.array([1.0, 9.5]),
        pa.array([Decimal("1.50")]),
        pa.array(["1", "x"]),
        pa.array([1.5], pa.float32()),
    ]
    folder, alone = tmp_path / "table", Counter[Any]()
    folder.mkdir()
    for number, array in enumerate(arrays):
        pq.write_table(pa.table({"v": array}), folder / f"{number}.parquet")
        for value in array:
            pq.write_table(pa.table({"v": pa.array([value.as_py()], array.type)}), tmp_path / "one.parquet")
            alone += rows_of(tmp_path / "one.parquet", ",")
    csv_table(folder / "9.csv", ["1,5", "x"], ",", "utf-8")
    for text in ("1,5", "x"):
        alone += rows_of(csv_table(tmp_path / "one.csv", [text], ",", "utf-8"), ",")
    assert rows_of(folder, ",") == alone
