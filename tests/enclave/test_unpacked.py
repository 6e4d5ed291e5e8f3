"""What would fill the memory is refused before it is unpacked, and a text that is too long in every format."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthrelease.enclave.reading import batches
from synthrelease.errors import InputError
from synthrelease.sources import formats
from synthrelease.sources.tables import LONGEST_TEXT
from tests.enclave.test_rows_alone import PACKAGES, csv_table, of_python, sqlite_table
from tests.helpers.rows import POLICIES, rows_of, schema_of_one_column

LONG = "SECRET" + "é" * 300_000
WORDS = pa.array([LONG, "x", "x"], pa.large_string())
BESIDE = {"list": pa.array([[1], [2, 3], None]), "w": WORDS, "none": pa.nulls(3), "b": pa.array([{"c": 1}] * 3)}


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(batches(path, schema_of_one_column(".", "v"), POLICIES["."]))
    assert "SECRET" not in str(caught.value)
    return str(caught.value)


WRITERS = {
    "parquet": lambda table, path: pq.write_table(table, path, compression="zstd", use_dictionary=False),
    "plain": lambda table, path: pq.write_table(table, path, compression="none", use_dictionary=False),
}


@pytest.mark.parametrize("way", WRITERS)
def test_a_part_that_would_fill_the_memory_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, way):
    WRITERS[way](pa.table(BESIDE | {"v": WORDS}), tmp_path / "long")
    WRITERS[way](pa.table(BESIDE | {"v": pa.array(["x", "y", "z"])}), tmp_path / "short")
    monkeypatch.setattr(formats, "MOST_BYTES", 100_000)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("unpacked")

    assert rows_of(tmp_path / "short").total() == 3  # what is not needed may be long
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", refuse)
    assert message(tmp_path / "long").startswith("column 'v': The texts are too long")


@pytest.mark.parametrize("length", [LONGEST_TEXT, LONGEST_TEXT + 1])
def test_a_text_is_as_long_in_every_format(tmp_path, length):
    text = "é" * length
    words = pa.table({"v": pa.array(["x", text])})
    tables = {name: tmp_path / name for name in WRITERS}
    for name, path in tables.items():
        WRITERS[name](words, path)
    WRITERS["parquet"](pa.table({"v": words["v"].dictionary_encode()}), tmp_path / "dictionary")
    ways = [
        *tables.values(),
        tmp_path / "dictionary",
        csv_table(tmp_path / "csv", ["x", text], ".", "utf-8"),
        csv_table(tmp_path / "strict", ["x", text], ".", "utf-8", '"quotes "" in quotes"'),
        sqlite_table(tmp_path / "sqlite", ["x", text]),
    ]
    for way in ways:
        if length == LONGEST_TEXT:
            assert rows_of(way).total() == 2, way
        else:
            assert f"{LONGEST_TEXT:,} characters" in message(way), way
    if length > LONGEST_TEXT:
        with pytest.raises(InputError, match=f"more than {LONGEST_TEXT:,} characters"):
            of_python(["x", text], ".")


def test_a_text_of_a_csv_file_is_as_long_whatever_another_library_allows(tmp_path):
    before = csv.field_size_limit(10**9)
    try:
        found = message(csv_table(tmp_path / "csv", ["x", "y" * (LONGEST_TEXT + 1)], ".", "utf-8"))
        assert f"{LONGEST_TEXT:,} characters" in found
        assert csv.field_size_limit() == 10**9
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("suffix", ["dta", "sav"])
def test_wide_columns_of_statistical_packages_come_in_small_pieces(tmp_path, monkeypatch, suffix):
    PACKAGES[suffix](pd.DataFrame({"v": ["x" * 500] * 20}), tmp_path / "t")
    monkeypatch.setattr("synthrelease.enclave.statistical.MOST_BYTES", 2_000)
    sizes = [len(part["v"].codes) for _, part in batches(tmp_path / "t", schema_of_one_column(".", "v"), POLICIES["."])]
    assert (max(sizes) <= 4, sum(sizes)) == (True, 20)
