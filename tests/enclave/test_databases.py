"""Tables of databases: which table, which columns, who may read them, and what is never said."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from synthrelease.enclave.databases import value_text
from synthrelease.errors import InputError
from synthrelease.resources import install
from synthrelease.sources.source import PASSWORD, USER, Source
from synthrelease.sources.tables import chosen_table, quoted
from synthrelease.studio.drafting.public_file import read_public_file

pytestmark = pytest.mark.slow

duckdb = pytest.importorskip("duckdb", reason="needs the extra database")
sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs the extra database")

NAME = 'the "births"; DROP TABLE x'
COLUMN = 'age" of, mother'


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    path = tmp_path / "registry.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {quoted(NAME)} ({quoted(COLUMN)}, sex TEXT)")
        connection.executemany(f"INSERT INTO {quoted(NAME)} VALUES (?, ?)", [(34, "F"), (2.0, None), (1.64, "M"), (None, "")])
        connection.execute("CREATE TABLE other (a)")
        connection.commit()
    return path


@pytest.fixture
def duckdb_file(tmp_path: Path) -> Path:
    path = tmp_path / "registry.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE {quoted(NAME)} ({quoted(COLUMN)} DOUBLE, sex TEXT)")
        connection.execute(f"INSERT INTO {quoted(NAME)} VALUES (34, 'F'), (2.0, NULL), (1.64, 'M'), (NULL, '')")
        connection.execute("CREATE SCHEMA registry; CREATE TABLE registry.registry.other (a INT)")
    return path


ROWS = {COLUMN: {"34": 1, "2": 1, "1.64": 1, None: 1}, "sex": {"F": 1, None: 1, "M": 1, "": 1}}


def test_a_table_is_read_by_every_way_to_its_database(sqlite_file, duckdb_file):
    ways = [
        sqlite_file, duckdb_file, f"sqlite:///{sqlite_file}", f"duckdb:///{duckdb_file}", f"sqlite+pysqlite:///{sqlite_file}",
    ]  # fmt: skip
    for way in ways:
        assert read_public_file(way, NAME).columns == ROWS, way


def test_values_of_all_kinds_have_the_texts_of_other_formats(tmp_path):
    path = tmp_path / "kinds.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE kinds AS SELECT 3::HUGEINT AS whole, 3.50::DECIMAL(9, 2) AS money, TRUE AS flag, "
            "DATE '1990-04-01' AS day, TIME '13:45:00' AS time, TIMESTAMP '1990-04-01 13:45:00' AS moment, "
            "'b'::ENUM('a', 'b') AS choice, 3.0::DOUBLE AS float, "
            "9007199254740993::BIGINT AS large, TIMESTAMPTZ '1990-04-01 23:30:00+00' AS there"
        )
    found = {name: next(iter(texts)) for name, texts in read_public_file(path).columns.items()}
    assert found == {
        "whole": "3", "money": "3.5", "flag": "True", "day": "1990-04-01", "time": "13:45:00", "moment": "1990-04-01 13:45:00",
        "choice": "b", "float": "3", "large": "9007199254740993", "there": "1990-04-01 23:30:00+00:00",
    }  # fmt: skip
    assert [value_text(value) for value in (3.0, 1.64, np.nan, Decimal("3.50"), b"SECRET", True)] == [
        "3", "1.64", None, "3.5", "\0", "True",
    ]  # fmt: skip


def message(way: str | Path, table: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_public_file(way, table)
    assert caught.value.__context__ is None
    return str(caught.value)


def test_a_table_that_is_not_named_or_not_there_is_told_with_the_tables_that_are(sqlite_file, duckdb_file):
    for way in (sqlite_file, f"sqlite+pysqlite:///{sqlite_file}"):
        assert f"The database has the tables 'other', {NAME!r}." in message(way)
        assert f"The database has no table 'othr'. Its tables are 'other', {NAME!r}. Did you mean 'other'?" in message(
            way, "othr"
        )
    assert "Did you mean 'registry.other'?" in message(duckdb_file, "Other")
    assert read_public_file(sqlite_file, NAME).input.table == NAME


def test_a_name_that_is_in_two_schemas_needs_its_schema():
    tables = [("a", "births"), ("b", "births"), ("b", "deaths")]
    assert chosen_table("b.births", tables) == ("b", "births")
    assert chosen_table("deaths", tables) == ("b", "deaths")
    assert chosen_table(None, tables[:1]) == ("a", "births")
    with pytest.raises(InputError, match="Several tables are called 'births'. Name one .*: 'a.births', 'b.births'"):
        chosen_table("births", tables)


def test_a_column_that_holds_no_single_values_is_refused(tmp_path):
    path = tmp_path / "kinds.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE kinds AS SELECT [1, 2] AS pair")
    assert (
        "column 'pair': A column can have numbers, texts, booleans, dates or times, but not the database type list."
        in message(path)
    )
    with closing(sqlite3.connect(tmp_path / "kinds.sqlite")) as connection:
        connection.execute("CREATE TABLE kinds (a BLOB)")
    found = message(f"sqlite+pysqlite:///{tmp_path / 'kinds.sqlite'}")
    assert "column 'a': A column can have numbers, texts, booleans, dates or times, but not the database type BLOB." in found


# --- Credentials


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://steward:SECRET-7461@server/registry",
        "postgresql://steward:SECRET/74@61@server/registry",
        "mysql+pymysql://server/registry?password=SECRET-7461",
        "mssql+pyodbc:///?odbc_connect=DRIVER;UID=x;PWD=SECRET-7461",
        "s3://steward:SECRET-7461@server/registry",
    ],
)
def test_a_uri_with_a_user_or_password_is_refused_and_not_shown(uri):
    with pytest.raises(InputError) as caught:
        Source.of(uri)
    assert f"environment variables {USER} and {PASSWORD}" in str(caught.value)
    for part in ("SECRET", "server", "steward", "61"):
        assert part not in str(caught.value)


def test_of_a_uri_the_beginning_alone_is_shown():
    source = Source.of("mssql+pyodbc://server/registry?driver=SECRET-7461", "births")
    assert str(source) == "mssql+pyodbc://..., table 'births'"
    assert "SECRET" not in repr(source)


def test_a_path_is_not_taken_for_a_uri():
    for path in ("C:\\data\\births.csv", "data/births.csv", "births.duckdb", "a:b.csv"):
        assert str(Source.of(path)) == path
        assert Source.of(path).path == Path(path)
    assert Source.of("sqlite:///C:/data/births.db").path == Path("C:/data/births.db")


def test_user_and_password_come_from_the_environment_and_an_error_of_the_library_is_not_shown(monkeypatch):
    monkeypatch.setenv(USER, "steward-7461")
    monkeypatch.setenv(PASSWORD, "SEC:RET/@7461")
    seen = []

    def refuse(url, **options):
        seen.append((url.username, url.password, options))
        raise ValueError(f"cannot connect to {url.render_as_string(hide_password=False)}")

    monkeypatch.setattr(sqlalchemy, "create_engine", refuse)
    found = message("postgresql://server/registry", "births")
    assert seen == [("steward-7461", "SEC:RET/@7461", {"hide_parameters": True})]
    assert "7461" not in found


def test_a_database_that_does_not_answer_is_told_without_what_the_library_says(tmp_path):
    way = f"sqlite+pysqlite:///{tmp_path / 'absent' / 'x.db'}"
    assert message(way, "births").startswith("sqlite+pysqlite://..., table 'births': Cannot connect to the database. Check ")


def test_a_driver_that_is_not_installed_is_named(monkeypatch):
    assert "The libraries for 'nobodys' databases are not installed." in message("nobodys://server/registry", "births")
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    assert message("postgresql://server/registry", "births").endswith(install("database"))


def test_a_duckdb_file_opens_nothing_but_itself(tmp_path):
    (tmp_path / "secret.csv").write_text("a\nSECRET-7461\n")
    path = tmp_path / "registry.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW births AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
    assert (
        message(path)
        == f"{path}: The DuckDB file cannot be read. It may be incomplete or damaged, or another program may be writing to it."
    )


@pytest.mark.parametrize("name", ["shillelagh", "gsheets"])
def test_a_driver_that_may_guess_types_from_rows_is_refused_before_anything_is_opened(name):
    why = "it may infer the type of a column from the first rows. Then one row would change how other rows are read."
    with pytest.raises(InputError, match=f"'{name}' cannot be used as a database: {why}"):
        Source.of(f"{name}://")


def test_a_text_of_sqlite_that_is_no_utf_8_is_one_that_no_specification_has(tmp_path):
    path = tmp_path / "registry.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE births (sex TEXT)")
        connection.execute("INSERT INTO births VALUES (CAST(x'46ff' AS TEXT)), ('F')")
        connection.commit()
    assert read_public_file(path).columns == {"sex": {"F\0": 1, "F": 1}}
