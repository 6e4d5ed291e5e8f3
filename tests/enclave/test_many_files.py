"""A table of many files has the counts of the one file that holds all rows."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from synthrelease.enclave import ingest as reading
from synthrelease.enclave.ingest import digest_of, ingest
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import CHANGED, Source
from tests.helpers.people import HEADER, ROW, Person, anything, no_old_men, schema_of, write_csv, write_parquet

PEOPLE = [Person(age % 130, age % 3 == 0, None, 0.01 * age) for age in range(300)]
POLICY = InputTable(missing="bin", outside="clip")
STRICT = InputTable(missing="error", outside="clip")


def schema(policy: InputTable = POLICY):
    return schema_of("age", "sex", "height", policy=policy)


def counts(path) -> dict:
    found = ingest(path, schema(), POLICY, no_old_men(schema()))._Door__counts  # type: ignore[attr-defined]
    cells = zip(*(bins.tolist() for bins in found.bins), strict=True)
    return dict(zip(cells, found.counts.tolist(), strict=True))


def message(path, policy: InputTable = POLICY) -> str:
    with pytest.raises(InputError) as caught:
        ingest(path, schema(policy), policy, anything(schema(policy)))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    return str(caught.value)


@pytest.fixture
def register(tmp_path: Path) -> Path:
    """A folder of CSV and Parquet files; the whole table is beside it, in all.csv."""
    folder = tmp_path / "register"
    folder.mkdir()
    write_csv(folder / "part-0.csv", PEOPLE[:90])
    write_csv(folder / "part-1.csv.gz", PEOPLE[90:100], compressed=True)
    write_parquet(folder / "part-2.parquet", PEOPLE[100:250])
    write_csv(folder / "part-3.csv", PEOPLE[250:])
    write_csv(folder / "_notes.csv", PEOPLE)
    write_csv(tmp_path / "all.csv", PEOPLE)
    return folder


@pytest.mark.parametrize("name", ["register", "register/part-*", "reg*/*-[0123].*"])
def test_a_folder_and_a_pattern_have_the_counts_of_one_file(register, name, monkeypatch):
    assert counts(register.parent / name) == counts(register.parent / "all.csv")
    monkeypatch.chdir(register.parent)
    source = Source.of(name)
    assert source.is_there()
    assert source.holds_files()
    assert (source.size(), len(digest_of(source))) == (sum(each.stat().st_size for each in register.glob("part*")), 64)
    assert counts(source) == counts(register.parent / "all.csv")


def test_a_pattern_that_fits_nothing_or_something_else_is_refused(register):
    assert not Source.of(register / "nothing-*.csv").is_there()
    (register / "part-9.txt").write_text("age\n")
    assert "The pattern matches a file that is neither a Parquet nor a CSV file. Only" in message(register / "part-*")


def test_the_first_file_that_cannot_be_read_is_told_without_its_name(register):
    (register / "part-1.csv").write_text(HEADER + ROW + "1,2\n")
    (register / "part-3.csv").write_text("age\n")
    found = message(register)
    assert "Data row 2 (counted without the header and blank lines) has 2 fields" in found
    assert found.endswith("The problem is in file 2 of 5, in the order of their names.")
    assert "part-" not in found


def test_what_does_not_fit_is_told_of_the_whole_table(register):
    (register / "part-4.csv").write_text(HEADER + ROW.replace("34", "SECRET"))
    (register / "part-5.csv").write_text(HEADER + ROW.replace("1.64", "SECRET"))
    found = message(register, STRICT)
    assert [line.strip().split(" has ")[0] for line in found.splitlines()[1:-1]] == ["Column 'age'", "Column 'height'"]
    assert "SECRET" not in found


@pytest.mark.parametrize("when", ["while it is counted", "after it was counted", "one more"])
def test_a_file_that_is_written_meanwhile_is_an_error(register, when, monkeypatch):
    part, count = register / "part-0.csv", reading.count_batches

    def writing(batches, *more):
        if when == "while it is counted":
            os.utime(part, ns=(1, 1))
        found = count(batches, *more)
        if when == "after it was counted":
            part.write_text(part.read_text() + ROW)
        if when == "one more":
            write_csv(register / "part-8.csv", PEOPLE[:1])
        return found

    monkeypatch.setattr(reading, "count_batches", writing)
    assert CHANGED in message(register)


def test_a_failure_that_nobody_foresaw_is_a_text_without_a_value(register, monkeypatch):
    def fail(*_):
        raise ValueError("SECRET-7461")

    monkeypatch.setattr(reading, "count_batches", fail)
    assert reading.UNFORESEEN in message(register)


def test_a_row_is_the_same_whatever_rows_are_beside_it(tmp_path):
    """The counts of a table are the sum of those of its rows, each a file by itself (theory 1.8, reading row by row)."""
    some = [*PEOPLE[::60], Person(34, None, None, None), Person(35, True, None, 1.5), Person(35, True, None, 1.5)]
    alone = Counter[tuple]()
    for number, person in enumerate(some):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_parquet(folder / "one.parquet", [person], age=pa.float64() if number % 2 else pa.string())
        alone.update(counts(folder))
    table = tmp_path / "table"
    table.mkdir()
    write_parquet(table / "0.parquet", some[::2], age=pa.string())
    write_parquet(table / "1.parquet", some[1::2], age=pa.float64())
    assert counts(table) == alone
