"""One table is read the same from every format; what a file says of its own columns is not; and files that cannot be read."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthrelease.data.schema import Schema
from synthrelease.enclave import reading
from synthrelease.enclave.ingest import ingest
from synthrelease.enclave.reading import batches
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source
from tests.helpers.people import Person, anything, no_old_men, read, schema_of, slow_counts, write_csv, write_parquet

pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra formats")
duckdb = pytest.importorskip("duckdb", reason="needs the extra database")

PEOPLE = [
    Person(age, sex, born, height)
    for age in (0, 34, 35, 61, 97, 120, None)
    for sex, born in ((True, date(1990, 4, 1)), (False, date(2000, 12, 31)), (None, date(1960, 1, 1)), (True, None))
    for height in (1.64, 2.0, None)
]
NAMES = ["age", "sex", "date_of_birth", "height"]


def frame(people: list[Person] = PEOPLE) -> pd.DataFrame:
    """The rows as statistical packages hold them: numbers with gaps are floats."""
    table = pd.DataFrame(people, columns=NAMES)
    table["age"] = table["age"].astype(float)
    table["sex"] = table["sex"].map({True: 1.0, False: 0.0})
    table["date_of_birth"] = table["date_of_birth"].astype(object).where(table["date_of_birth"].notna(), None)
    return table


def arrow(people: list[Person] = PEOPLE) -> pa.Table:
    kinds = {"age": pa.int64(), "sex": pa.bool_(), "date_of_birth": pa.date32(), "height": pa.float64()}
    columns = zip(kinds, zip(*people, strict=True), strict=True)
    return pa.table({name: pa.array(values, kinds[name]) for name, values in columns})


def folder(path: Path) -> None:
    path.mkdir()
    table = arrow()
    for number, start in enumerate(range(0, len(table), 30)):
        pq.write_table(table.slice(start, 30), path / f"part-{number}.parquet")
    (path / "_SUCCESS").touch()


def sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex INTEGER, date_of_birth TEXT, height REAL)")
        rows = [(age, sex, born and born.isoformat(), height) for age, sex, born, height in PEOPLE]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        connection.commit()


def duck(path: Path, people: list[Person] = PEOPLE) -> None:
    while True:  # by its bytes a file is one of DuckDB unless a line ends in them: its checksum is another in each file
        with duckdb.connect(str(path)) as connection:
            connection.register("given", arrow(people))
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
        if not set(path.read_bytes()[:24]) & set(b"\r\n"):
            break
        path.unlink()


SHORT = {"age": "AGE", "sex": "SEX", "date_of_birth": "BORN", "height": "HEIGHT"}
"""Old formats have short names in capital letters."""
WRITERS: dict[str, Callable[[Path], object]] = {
    "csv": lambda path: write_csv(path, PEOPLE),
    "csv.gz": lambda path: write_csv(path, PEOPLE, compressed=True),
    "parquet": lambda path: write_parquet(path, PEOPLE),
    "folder": folder,
    "sav": lambda path: pyreadstat.write_sav(frame(), path),
    "zsav": lambda path: pyreadstat.write_sav(frame(), path, compress=True),
    "por": lambda path: pyreadstat.write_por(frame().rename(columns=SHORT), path),
    "dta": lambda path: pyreadstat.write_dta(frame(), path),
    "old.dta": lambda path: pyreadstat.write_dta(frame(), path, version=10),
    "xpt": lambda path: pyreadstat.write_xport(frame(), path),
    "5.xpt": lambda path: pyreadstat.write_xport(frame().rename(columns=SHORT), path, file_format_version=5),
    "sqlite": sqlite,
    "duckdb": duck,
}


def schema_for(suffix: str, policy: InputTable) -> Schema:
    columns = []
    for name in ("age", "sex", "month", "height"):
        source = "date_of_birth" if name == "month" else name
        source = SHORT[source] if suffix in ("por", "5.xpt") else source
        columns += schema_of(
            name, policy=policy, outside="clip" if name in ("age", "height") else "error", source=source
        ).columns
    return Schema(columns=tuple(columns))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", WRITERS)
def test_one_table_is_read_the_same_from_every_format(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"people.{suffix}"
    WRITERS[suffix](path)
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 7)
    policy = InputTable(missing="drop")
    schema = schema_for(suffix, policy)
    assert read(path, schema, policy, no_old_men(schema)) == slow_counts(PEOPLE)
    parts = list(batches(path, schema, policy))
    assert [first for first, _ in parts][:2] == [1, 8]
    assert sum(len(next(iter(columns.values())).codes) for _, columns in parts) == len(PEOPLE)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", WRITERS)
def test_of_a_wide_table_fewer_rows_are_in_memory_at_a_time(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"people.{suffix}"
    WRITERS[suffix](path)
    monkeypatch.setattr(reading, "VALUES_PER_BATCH", 4 * 7 + 3)  # of four columns
    policy = InputTable(missing="drop")
    parts = [len(next(iter(columns.values())).codes) for _, columns in batches(path, schema_for(suffix, policy), policy)]
    assert max(parts) == 7
    assert sum(parts) == len(PEOPLE)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", WRITERS)
def test_a_whole_number_has_no_point_and_a_date_is_iso(tmp_path, suffix):
    path = tmp_path / f"people.{suffix}"
    WRITERS[suffix](path)
    policy = InputTable()
    ages, dates = set(), set()
    for _, columns in batches(path, schema_for(suffix, policy), policy):
        age, _, born, _ = columns.values()
        ages |= {age.texts[code] for code in age.codes}
        dates |= {born.texts[code] for code in born.codes}
    missing = {"" if "csv" in suffix else None}
    assert ages == {"0", "34", "35", "61", "97", "120"} | missing
    assert dates == {"1990-04-01", "2000-12-31", "1960-01-01"} | missing


# --- Labels and missing codes of statistical packages


def texts(path: Path, name: str, policy: InputTable | None = None) -> list[str | None]:
    found: list[str | None] = []
    for _, columns in batches(path, schema_of("age", source=name), policy or InputTable()):
        found += [columns[name].texts[code] for code in columns[name].codes]
    return found


def test_spss_gives_codes_not_labels_and_its_missing_codes_are_public_rules_to_decide(tmp_path):
    path = tmp_path / "people.sav"
    table = pd.DataFrame({"age": [34.0, 97.0, 98.0, np.nan]})
    labels = {"age": {97: "refused-SECRET-7461"}}
    pyreadstat.write_sav(table, path, variable_value_labels=labels, missing_ranges={"age": [97, {"lo": 98, "hi": 99}]})
    assert texts(path, "age") == ["34", "97", "98", None]
    policy = InputTable(missing="drop")
    assert sum(read(path, schema_of("age", policy=policy), policy).values()) == 3
    policy = InputTable(missing="drop", missing_values=("", "97", "98"))
    assert read(path, schema_of("age", policy=policy), policy) == {(3,): 1}


def test_stata_and_sas_write_a_missing_value_with_a_reason_as_a_point_and_a_letter(tmp_path):
    table = pd.DataFrame({"age": [34.0, "a", np.nan, "z"]}, dtype=object)
    pyreadstat.write_dta(table, tmp_path / "people.dta", missing_user_values={"age": ["a", "z"]})
    assert texts(tmp_path / "people.dta", "age") == ["34", ".a", None, ".z"]
    pyreadstat.write_xport(pd.DataFrame({"age": [34.0, 35.0, np.nan, 36.5]}), tmp_path / "people.xpt")
    content = (tmp_path / "people.xpt").read_bytes()
    thirty_five = bytes([0x42, 0x23, 0, 0, 0, 0, 0, 0])  # IBM's way to write 35; .B is its letter and zeros
    assert content.count(thirty_five) == 1
    (tmp_path / "people.xpt").write_bytes(content.replace(thirty_five, b"B" + bytes(7)))
    assert texts(tmp_path / "people.xpt", "age") == ["34", ".B", None, "36.5"]


def test_a_file_that_sas_wrote_is_read(tmp_path):
    for name in ("sample", "missing"):
        content = gzip.decompress((Path(__file__).parent / "sas" / f"{name}.sas7bdat.gz").read_bytes())
        (tmp_path / f"{name}.sas7bdat").write_bytes(content)
    path = tmp_path / "sample.sas7bdat"
    assert texts(path, "mynum") == ["1.1", "1.2", "-1000.3", "-1.4", "1000.3"]
    assert texts(path, "mydate") == ["2018-05-06", "1880-05-06", "1960-01-01", "1583-01-01", None]
    assert texts(path, "dtime")[0] == "2018-05-06 10:10:10"
    assert texts(path, "mytime") == ["10:10:10", "23:10:10", "00:00:00", "16:10:10", None]
    assert [texts(tmp_path / "missing.sas7bdat", f"var{number}") for number in (1, 7, 8, 9)] == [[".A"], ["._"], [None], ["1"]]


def test_a_portable_file_gives_its_missing_codes_too(tmp_path):
    path = tmp_path / "people.por"
    pyreadstat.write_por(pd.DataFrame({"AGE": [34.0, 97.0]}), path)
    lines = path.read_bytes().replace(b"\r\n", b"")
    assert lines.count(b"3/AGE5/8/2/5/8/2/") == 1
    with_missing = lines.replace(b"3/AGE5/8/2/5/8/2/", b"3/AGE5/8/2/5/8/2/837/")  # 97 in the base of 30
    path.write_bytes(b"".join(with_missing[at : at + 80].ljust(80, b"Z") + b"\r\n" for at in range(0, len(with_missing), 80)))
    assert texts(path, "AGE") == ["34", "97"]


def test_a_float_of_four_bytes_is_read_in_its_own_precision(tmp_path):
    pd.DataFrame({"h": np.array([1.64, 2.0], dtype=np.float32)}).to_stata(tmp_path / "people.dta", write_index=False)
    assert texts(tmp_path / "people.dta", "h") == ["1.64", "2"]


@pytest.mark.parametrize("suffix", ["sav", "dta", "xpt"])
def test_moments_times_and_impossible_dates(tmp_path, suffix):
    path = tmp_path / f"people.{suffix}"
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[suffix]
    shown = {
        "sav": {"moment": "DATETIME20", "time": "TIME8", "day": "DATE11"},
        "dta": {"moment": "%tc", "time": "%tcHH:MM:SS", "day": "%td"},
        "xpt": {"moment": "DATETIME20", "time": "TIME8", "day": "DATE9"},
    }[suffix]
    second = 1000 if suffix == "dta" else 1
    zero = 141428 * 86400 if suffix == "sav" else 3653 * 86400 * second  # 1970 or, for SPSS, as many days after 1582
    day = 86400 if suffix == "sav" else 1
    table = pd.DataFrame(
        {
            "moment": [float(zero + 3661 * second), 1e17],
            "time": [3661.0 * second, 90000.0 * second],
            "day": [float(zero // (86400 * second) * day), 1e9 * day],
        }
    )
    write(table, path, variable_format=shown)
    assert texts(path, "moment") == ["1970-01-01 01:01:01", "\0"]
    assert texts(path, "time") == ["01:01:01", str(90000 * second)]
    assert texts(path, "day")[1] == "\0"


def test_texts_of_an_old_file_are_read_in_the_declared_encoding(tmp_path):
    path = tmp_path / "people.dta"
    pyreadstat.write_dta(pd.DataFrame({"sex": ["Frau", "Mann"]}), path, version=10)
    path.write_bytes(path.read_bytes().replace(b"Frau", "Fräu".encode("latin-1")[:4]))
    assert texts(path, "sex", InputTable(encoding="latin-1")) == ["Fräu", "Mann"]


# --- Files that cannot be read


def message(path: Path | str, table: str | None = None, schema: Schema | None = None) -> str:
    schema = schema or schema_of()
    with pytest.raises(InputError) as caught:
        ingest(Source.of(path, table), schema, InputTable(), anything(schema))
    return str(caught.value)


@pytest.mark.parametrize("suffix", ["sav", "zsav", "por", "dta", "xpt", "sqlite", "duckdb"])
def test_a_file_that_is_cut_off_is_refused_without_a_value(tmp_path, suffix):
    path = tmp_path / "people"
    WRITERS[suffix](path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3 // 80 * 80 + 37])
    found = message(path, schema=schema_for(suffix, InputTable()))
    assert found.startswith(f"{path}: The ")
    assert "1.64" not in found


@pytest.mark.parametrize("suffix", ["sav", "dta", "xpt", "sqlite", "duckdb", "folder"])
def test_a_column_that_is_not_there_is_named(tmp_path, suffix):
    path = tmp_path / "people"
    WRITERS[suffix](path)
    schema = schema_of("age", source="agee")
    with pytest.raises(InputError, match=r"The header has none of the columns 'agee'\."):
        ingest(path, schema, InputTable(), anything(schema))


@pytest.mark.parametrize(
    ("module", "suffix", "extra"), [("pyreadstat.pyreadstat", "sav", "formats"), ("duckdb", "duckdb", "database")]
)
def test_a_library_that_is_not_installed_is_named_with_its_extra(tmp_path, monkeypatch, module, suffix, extra):
    path = tmp_path / "people"
    WRITERS[suffix](path)
    monkeypatch.setitem(__import__("sys").modules, module, None)
    found = message(path)
    assert f"The library {module.split('.')[0]} is needed for " in found
    assert found.endswith(f'Install the extra "{extra}" (docs/tutorial.md, Installing).')


def test_a_folder_of_parquet_is_refused_for_what_it_may_hide(tmp_path):
    path = tmp_path / "people"
    folder(path)
    pq.write_table(arrow().drop_columns(["height"]), path / "part-1.parquet")
    assert message(path).endswith(
        "The header lacks 'height'. The needed columns are 'age', 'sex', 'date_of_birth', 'height'. Set "
        "source for a column that has another name in the file. The problem is in file "
        "2 of 3, in the order of their names."
    )
    (path / "part-1.parquet").write_bytes(b"PAR1" + bytes(50))
    assert message(path).endswith("is incomplete or damaged. The problem is in file 2 of 3, in the order of their names.")
    (path / "part-1.parquet").write_text("age,sex\n")  # by its name it is no CSV
    assert message(path) == (
        f"{path}: The folder contains a file that is neither a Parquet nor a CSV file. Only Parquet and CSV files (.csv or "
        ".csv.gz) may be there."
    )
    (path / "part-1.parquet").unlink()
    (path / "sex=F").mkdir()
    found = message(path)
    assert found.startswith(f"{path}: The folder contains a folder. ")
    assert "A table that is divided into folders by the values of a column cannot be read." in found
    assert "sex=F" not in found


def test_letters_of_two_encodings_in_one_file_are_read_when_they_are_declared(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("age,sex\n1,Köln\n2,".encode() + "Köln\n3,Ġ€".encode() + b"\n4,K\xf6ln\n5,\x80\xe9\n6,\x81")
    assert texts(path, "sex", InputTable(encoding="mixed")) == ["Köln", "Köln", "Ġ€", "Köln", "€é", "\x81"]


def test_hebrew_letters_of_windows_are_read_when_they_are_declared(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("age,sex\n1,זכר\n2,נקבה\n".encode("windows-1255"))
    assert texts(path, "sex", InputTable(encoding="windows-1255")) == ["זכר", "נקבה"]
    path.write_text("age,sex\n1,מין\n", encoding="utf-8")
    advice = 'The file is not text in Windows-1255.*, or set encoding = "utf-8", "latin-1", "windows-1252" or "mixed" under'
    with pytest.raises(InputError, match=advice):
        texts(path, "sex", InputTable(encoding="windows-1255"))


def test_texts_of_latin_1_are_read_when_they_are_declared(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("age,sex,Größe\n34,é,1\n".encode("latin-1"))
    schema = schema_of("height", source="Größe")
    for encoding in ("latin-1", "windows-1252"):
        policy = InputTable(encoding=encoding)
        assert read(path, schema, policy) == {(1,): 1}
    path.write_bytes(b"Gr\x81\n1\n")
    policy = InputTable(encoding="windows-1252")
    with pytest.raises(InputError, match=r"The file is not text in Windows-1252\."):
        ingest(path, schema_of("height", source="Gr"), policy, anything(schema_of("height")))
