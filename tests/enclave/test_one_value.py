"""The same value has the same bins from every format, however the format writes it, and the same text where it knows types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.enclave.test_rows_alone import PACKAGES, WRITERS, Rows, csv_table, duckdb, of_python, sqlite_table
from tests.helpers.rows import rows_of

NUMBERS = ["1", "0", "97", "-9", "19", "1.5", "9.5", "1.25", "0.1", "-0.75", "123456.789", "999999999", "10000000000000000"]
WORDS = ["x", " y", "y ", "1", "01", "1,5", "97", "9.50", "é", "1990-04-01", "1990-04-01 13:45:00", "zz"]
BORN = date(1990, 4, 1)


def as_text(folder: Path, text: str, mark: str) -> Iterator[Rows]:
    """A text, from formats that hold texts; old formats keep no spaces at an end."""
    yield rows_of(csv_table(folder / "csv", [text], mark, "utf-8"), mark)
    yield rows_of(csv_table(folder / "csv", [text], mark, "utf-8", '"quotes "" in quotes"'), mark)
    for way, kind in (("parquet", pa.string()), ("dictionaries", pa.string()), ("parquet", pa.large_string())):
        yield from arrow(folder, way, text, kind, mark)
    yield rows_of(sqlite_table(folder / "sqlite", [text]), mark)
    yield of_python([text], mark)
    if text == text.rstrip():
        for suffix in ("dta", "sav"):
            PACKAGES[suffix](pd.DataFrame({"v": [text]}), folder / suffix)
            yield rows_of(folder / suffix, mark)


def arrow(folder: Path, way: str, value: Any, kind: pa.DataType, mark: str) -> Iterator[Rows]:
    WRITERS[way](pa.table({"v": pa.array([value], kind)}), folder / way)
    yield rows_of(folder / way, mark)


def as_number(folder: Path, number: str, mark: str) -> Iterator[Rows]:
    """A number, from formats and types that know numbers."""
    exact, rounded = Decimal(number), float(number)
    yield from arrow(folder, "parquet", exact, pa.decimal128(30, 4), mark)
    yield from arrow(folder, "parquet", exact, pa.decimal128(38, 12), mark)
    yield from arrow(folder, "parquet", rounded, pa.float64(), mark)
    yield from arrow(folder, "dictionaries", rounded, pa.float64(), mark)
    if len(exact.as_tuple().digits) <= 6 or number.endswith("0000"):
        yield from arrow(folder, "parquet", rounded, pa.float32(), mark)
    values = [exact, rounded, exact * Decimal("1.0000")]
    if exact == int(exact):
        yield from arrow(folder, "parquet", int(exact), pa.int64(), mark)
        values.append(int(exact))
    for value in values:
        yield of_python([value], mark)
        if not isinstance(value, Decimal):
            yield rows_of(sqlite_table(folder / "sqlite", [value]), mark)
    yield rows_of(f"sqlite+pysqlite:///{sqlite_table(folder / 'sqlite', [rounded])}", mark)
    for suffix in ("dta", "sav", "xpt"):
        PACKAGES[suffix](pd.DataFrame({"v": [rounded]}), folder / suffix)
        yield rows_of(folder / suffix, mark)
    yield from in_duckdb(folder, [f"{number}::DOUBLE", f"{number}::DECIMAL(30, 4)"], mark)


def in_duckdb(folder: Path, values: list[str], mark: str) -> Iterator[Rows]:
    for value in values:
        (folder / "held.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(folder / "held.duckdb")) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT {value} AS v")
        yield rows_of(folder / "held.duckdb", mark)


def bins(rows: Rows) -> tuple[int, ...]:
    ((_, _, found),) = rows.elements()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_the_same_from_every_format(tmp_path, number, mark):
    typed = list(as_number(tmp_path, number, mark))
    assert {each for rows in typed for each in rows} == {(number, True, bins(typed[0]))}
    longer = number + ("0" if "." in number else ".00")
    for written in (number, longer):
        for rows in as_text(tmp_path, written.replace(".", mark), mark):
            assert bins(rows) == bins(typed[0]), written


@pytest.mark.slow
@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("word", WORDS)
def test_a_text_is_the_same_from_every_format(tmp_path, word, mark):
    found = list(as_text(tmp_path, word, mark))
    assert len({bins(rows) for rows in found}) == 1
    assert {typed for rows in found for _, typed, _ in rows} == {False}


def test_a_date_is_the_same_from_every_format(tmp_path):
    found = [of_python([BORN], ",")]
    found += arrow(tmp_path, "parquet", BORN, pa.date32(), ",")
    for suffix in ("dta", "sav", "xpt"):
        PACKAGES[suffix](pd.DataFrame({"v": pd.Series([BORN], dtype=object)}), tmp_path / suffix)
        found.append(rows_of(tmp_path / suffix, ","))
    found += in_duckdb(tmp_path, ["DATE '1990-04-01'"], ",")
    assert {each for rows in found for each in rows} == {("1990-04-01", True, bins(found[0]))}
    assert {bins(rows) for rows in as_text(tmp_path, "1990-04-01", ",")} == {bins(found[0])}


def test_a_moment_with_an_offset_is_the_one_of_its_column_in_a_file_and_that_of_utc_in_a_database(tmp_path):
    """Both are rules for the value alone: the zone of a column in Parquet is part of its type."""
    moment = pd.Timestamp("1990-04-01 13:45", tz="Europe/Berlin").to_pydatetime()
    pq.write_table(pa.table({"v": pa.array([moment], pa.timestamp("us", tz="Europe/Berlin"))}), tmp_path / "there")
    pq.write_table(pa.table({"v": pa.array([moment], pa.timestamp("us", tz="UTC"))}), tmp_path / "utc")
    texts = [next(iter(rows))[0] for rows in (rows_of(tmp_path / "there"), rows_of(tmp_path / "utc"), of_python([moment], "."))]
    assert texts == ["1990-04-01 13:45:00+02:00", "1990-04-01 11:45:00+00:00", "1990-04-01 11:45:00+00:00"]
