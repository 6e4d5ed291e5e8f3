"""Rows of PostgreSQL and MariaDB are read alone: real servers, asked by every driver that is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from synthrelease.sources.source import USER
from tests.enclave.test_rows_alone import Rows, Values, check_rows_alone
from tests.helpers.rows import rows_of
from tests.helpers.servers import mariadb, postgresql

pytest.importorskip("sqlalchemy", reason="needs the extra database")
pytestmark = [pytest.mark.slow, pytest.mark.servers]

NUMBERS = ["1", "1.5", "1.50", "1.0", "97", "97.0", "9.5", "0", "0.1", "10000000000000000", "-9.00", "NULL"]
FEW = ["1", "1.5", "1.50", "97.0", "0.1", "10000000000000000", "NULL"]
"""Of types beside a wider one that has them all."""
WORDS = ["'x'", "' y'", "'1'", "'1.50'", "'1,5'", "'97'", "'é'", "''", "NULL"]
POSTGRESQL = {
    "numeric": [*NUMBERS, "'NaN'", "'Infinity'", "1e-7", "1e30"],
    "numeric(20, 3)": FEW,
    "double precision": [*NUMBERS, "'NaN'", "'Infinity'", "'-0'", "1e300"],
    "real": FEW,
    "bigint": ["1", "97", "9007199254740993", "NULL"],
    "text": WORDS,
    "character(6)": WORDS,
    "boolean": ["true", "false", "NULL"],
    "date": ["'1990-04-01'", "'0001-01-01'", "NULL"],
    "time": ["'13:45:00'", "'00:00:00.5'", "NULL"],
    "timestamp": ["'1990-04-01 13:45:00'", "NULL"],
    "timestamptz": ["'1990-04-01 13:45:00+02'", "'1990-04-01 11:45:00+00'", "'1990-12-01 13:45:00+02'", "NULL"],
    "uuid": ["'00000000-0000-0000-0000-000000000001'", "NULL"],
}
MARIADB = {
    "DECIMAL(30, 4)": NUMBERS,
    "DOUBLE": [*NUMBERS, "1e300", "123456.789"],
    "FLOAT": FEW,
    "BIGINT UNSIGNED": ["1", "97", "18446744073709551615", "NULL"],
    "VARCHAR(9)": WORDS,
    "TEXT": WORDS,
    "BOOLEAN": ["TRUE", "FALSE", "NULL"],
    "DATE": ["'1990-04-01'", "'0000-00-00'", "NULL"],
    "TIME(6)": ["'13:45:00'", "'30:00:00'", "'-01:00:00'", "NULL"],
    "DATETIME(6)": ["'1990-04-01 13:45:00'", "'1990-04-01 13:45:00.5'", "NULL"],
    "YEAR": ["1990", "NULL"],
    "ENUM('x', '1')": ["'x'", "'1'", "NULL"],
}


@pytest.fixture(scope="module")
def elephant() -> Iterator[str]:
    with postgresql() as address:
        yield address


@pytest.fixture(scope="module")
def sea_lion() -> Iterator[str]:
    with mariadb() as address:
        yield address


@pytest.mark.parametrize("kind", POSTGRESQL)
def test_rows_of_postgresql(elephant, monkeypatch, kind):
    psycopg = pytest.importorskip("psycopg", reason="needs the tools of the tests: requirements/test.txt")
    monkeypatch.setenv(USER, "steward")
    with psycopg.connect(f"postgresql://steward@{elephant}/postgres", autocommit=True) as connection:

        def read(some: Values, mark: str) -> Rows:
            connection.execute("DROP TABLE IF EXISTS registry")
            connection.execute(f"CREATE TABLE registry (v {kind})")
            connection.execute(f"INSERT INTO registry VALUES {', '.join(f'({value})' for value in some)}")
            return rows_of(f"postgresql+psycopg://{elephant}/postgres", mark)

        check_rows_alone(read, POSTGRESQL[kind], ",", places=3)


@pytest.mark.parametrize("kind", MARIADB)
def test_rows_of_mariadb(sea_lion, monkeypatch, kind):
    pymysql = pytest.importorskip("pymysql", reason="needs the tools of the tests: requirements/test.txt")
    monkeypatch.setenv(USER, "root")
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)  # the driver loads it at every connection, to a server without TLS, too
    host, port = sea_lion.split(":")
    with pymysql.connect(host=host, port=int(port), user="root", autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        cursor.execute("CREATE DATABASE IF NOT EXISTS registry CHARACTER SET utf8mb4")

        def read(some: Values, mark: str) -> Rows:
            cursor.execute("DROP TABLE IF EXISTS registry.births")
            cursor.execute(f"CREATE TABLE registry.births (v {kind})")
            cursor.execute(f"INSERT INTO registry.births VALUES {', '.join(f'({value})' for value in some)}")
            return rows_of(f"mysql+pymysql://{sea_lion}/registry", mark)

        check_rows_alone(read, MARIADB[kind], ",", places=3)
