"""Hostile files of Stata, SAS, SPSS, SQLite and DuckDB: odd values and types, and damage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

NUMBERS = (34.0, 0.0, -1.0, 1.64, np.nan, 1e30, 2.0**53 + 2, 1e-30)


def _frame(draw: Random, token: str) -> pd.DataFrame:
    n = draw.choice((1, 3, 40))
    numbers = [draw.choice(NUMBERS) for _ in range(n)]
    texts = [draw.choice((token, "F", "M", "", "34", "=1+1", "x" * 200)) for _ in range(n)]
    good: dict[str, Any] = {"age": 34.0, "sex": "F", "date_of_birth": "1990-04-01", "height": 1.64}
    for name in draw.sample(sorted(good), k=draw.randrange(1, 4)):
        good[name] = draw.choice((numbers, texts))
    return pd.DataFrame({name: value if isinstance(value, list) else [value] * n for name, value in good.items()})


def _statistical(draw: Random, token: str, path: Path) -> None:
    import pyreadstat

    table = _frame(draw, token)
    shown = {name: draw.choice(("DATE11", "DATETIME20", "TIME8", "F8.2")) for name in table if table[name].dtype == float}
    kind = draw.randrange(4)
    if kind == 0:
        labels = {"age": {34: token}} if table["age"].dtype == float else None
        pyreadstat.write_sav(table, path, compress=draw.random() < 0.5, variable_format=shown, variable_value_labels=labels)
    elif kind == 1:
        shown = {name: draw.choice(("%td", "%tc", "%tcHH:MM:SS", "%9.0g", "%tw")) for name in shown}
        pyreadstat.write_dta(table, path, version=draw.choice((8, 10, 13, 14, 15)), file_label=token, variable_format=shown)
    elif kind == 2:
        pyreadstat.write_xport(table, path, file_label=token[:8], variable_format=shown)
    else:
        pyreadstat.write_por(table.rename(columns={"date_of_birth": "born"}), path, variable_format=shown)


def _sqlite(draw: Random, token: str, path: Path) -> None:
    values = (34, "F", "1990-04-01", 1.64, None, token, token.encode(), 2**62, -0.0, 1e308, "\0", "x" * 100_000)
    name = draw.choice(("people", 'a"b', "", "select"))  # names of tables are shown
    with closing(sqlite3.connect(path)) as connection:
        quoted = '"' + name.replace('"', '""') + '"'
        connection.execute(f"CREATE TABLE {quoted} (age, sex, date_of_birth, height{draw.choice(('', ', more'))})")
        columns = "age, sex, date_of_birth, height"
        rows = [(34, "F", "1990-04-01", 1.64)] * 3 + [
            tuple(draw.choice(values) for _ in range(4)) for _ in range(draw.randrange(3))
        ]
        connection.executemany(f"INSERT INTO {quoted} ({columns}) VALUES (?, ?, ?, ?)", rows)
        if draw.randrange(4) == 0:
            connection.execute(
                "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n"
            )
        connection.commit()


def _duckdb(draw: Random, token: str, path: Path) -> None:
    import duckdb

    age = draw.choice(
        ("34", "34::HUGEINT", "[34]", f"'{token}'", "NULL", "{'a': 34}", "'nan'::DOUBLE", "34.0::DECIMAL(38, 10)")
    )
    born = draw.choice(("DATE '1990-04-01'", "TIMESTAMPTZ '1990-04-01'", "'infinity'::DATE", f"'{token}'", "INTERVAL 1 DAY"))
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT {age} AS age, 'F' AS sex, {born} AS date_of_birth, 1.64 AS height")


def other_file(draw: Random, token: str) -> bytes:
    """One hostile file."""
    make = draw.choice((_statistical, _statistical, _sqlite, _duckdb))
    with TemporaryDirectory() as name:
        path = Path(name) / "made"
        make(draw, token, path)
        content = bytearray(path.read_bytes())
    kind = draw.randrange(10)
    if kind < 3:
        for _ in range(draw.choice((1, 1, 3, 30))):
            content[draw.randrange(len(content))] = draw.randrange(256)
    elif kind == 3:
        content = content[: draw.randrange(len(content))]
    return bytes(content)
